# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When a kernel would finish if each work tile took as long as its passes say: a model of
the SMs that work on the tiles of one launch.

Work tiles come from the kernel, as fa4-compile writes it at the level assign-work (`TileKernel`): their
order from its `#tile.order`, the passes of a tile from the arithmetic of its loops' bounds, the keys and values that a
tile reads from the indices of its loads. What a pass and the rest of a tile cost is given (`Costs`).
`simulate` then lets the SMs work on the tiles as the kernel's schedule says."""

import heapq
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fa4_testing import gpu
from fa4_testing.edits import interpreter
from fa4_testing.edits.generic import Block, Op, parse

# Their CTAs work on several tiles.
PERSISTENT = ("static", "clc")


class UnsupportedKernelError(ValueError):
    """The kernel's work does not follow from sizes and coordinates, or not in a way
    that this model understands."""


# ---------------------------------------------------------------------------
# The order of work tiles
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """`#tile.order`: the fields are its parameters. docs/reference/TileDialect.md defines the function."""

    axis: int = 0
    descending: bool = False
    cache_bytes: int = 0
    group_bytes: int = 1
    size: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Order":
        """Of `#tile.order<axis = 1, descending = true, size = "Sk">`. Raises ValueError for another text."""
        match = re.fullmatch(r"#tile\.order<(.*)>", text)
        if not match:
            raise ValueError(f"no #tile.order: {text}")
        read = {"axis": int, "descending": "true".__eq__, "cache_bytes": int, "group_bytes": int, "size": str}
        pairs = [part.split(" = ") for part in match[1].split(", ") if part]
        return cls(**{name: read[name](value.strip('"')) for name, value in pairs})

    def width(self, groups: int, sizes: dict) -> int:
        """How many groups are worked on side by side, unless fewer are left."""
        if not self.cache_bytes:
            return 1
        group = self.group_bytes * (sizes[self.size] if self.size else 1)
        return min(max(self.cache_bytes // group, 1), groups)

    def coordinates(self, numbers: np.ndarray, extents: tuple, sizes: dict) -> np.ndarray:
        """The coordinates of work tiles: an array with a row for each number, a column for each of the grid's `extents`."""
        blocks = extents[self.axis]
        others = [n for axis, n in enumerate(extents) if axis != self.axis]
        groups = int(np.prod(others, dtype=np.int64))
        width = self.width(groups, sizes)
        # Counted from the end, so that the first section is the one with fewer groups.
        section, rest = np.divmod(groups * blocks - 1 - numbers, width * blocks)
        present = np.minimum(width, groups - section * width)
        block, group = rest // present, groups - 1 - section * width - rest % present
        if not self.descending:
            block = blocks - 1 - block
        columns = list(np.unravel_index(group, others, order="F")) if others else []
        columns.insert(self.axis, block)
        return np.stack(columns, axis=1)


# ---------------------------------------------------------------------------
# The kernel
# ---------------------------------------------------------------------------


class TileKernel:
    """A kernel of the level assign-work, from the module in generic form. All methods take the launch's
    sizes by their names. Raises UnsupportedKernelError where the module has not one kernel."""

    def __init__(self, text: str):
        kernels = [op for op in parse(text).walk() if op.name == "tile.kernel"]
        if len(kernels) != 1:
            raise UnsupportedKernelError(f"the module has {len(kernels)} kernels, expected one")
        self.kernel: Op = kernels[0]
        schedule = self.kernel.properties.get("schedule", "#tile.schedule<grid>")
        self.schedule: str = re.search(r"<(\w+)>", schedule)[1]
        order = self.kernel.properties.get("order")
        self.order = Order.parse(order) if order else Order()

    @cached_property
    def _work_block(self) -> Block:
        body = self.kernel.regions[0][0]
        works = [op for op in body.ops if op.name == "tile.work"]
        return works[0].regions[0][0] if works else body

    @cached_property
    def loops(self) -> list[Op]:
        """The loops of the work on a tile."""
        loops = [op for op in self._work_block.ops if op.name == "scf.for"]
        if any(inner.name == "scf.for" for loop in loops for inner in loop.walk() if inner is not loop):
            raise UnsupportedKernelError("the kernel has a loop in a loop, whose passes are not counted")
        return loops

    def tiles(self, sizes: dict) -> np.ndarray:
        """The coordinates of all work tiles, in the order in which they are started."""
        extents = interpreter.grid_of(self.kernel, sizes)
        numbers = np.arange(np.prod(extents, dtype=np.int64))
        if self.schedule == "grid":
            return np.stack(np.unravel_index(numbers, extents, order="F"), axis=1)
        return self.order.coordinates(numbers, extents, sizes)

    def passes(self, tiles: np.ndarray, sizes: dict) -> np.ndarray:
        """How many passes the loops of each of these work tiles make."""
        values = _Values(self, tiles, sizes)
        total = np.zeros(len(tiles), np.int64)
        for loop in self.loops:
            lower, upper, step = (values[name] for name in loop.operands[:3])
            if np.any(step <= 0):
                raise UnsupportedKernelError("the step of a loop is not positive")
            total += np.maximum(-((lower - upper) // step), 0)
        return total

    def reads(self, tiles: np.ndarray, sizes: dict) -> list["Reads"]:
        """What the loops of these work tiles read, for each load in a loop."""
        values = _Values(self, tiles, sizes)
        found = []
        for loop in self.loops:
            values.set(loop.regions[0][0].arguments[0][0], values[loop.operands[0]])
            loads = [op for op in loop.walk() if op.name == "tile.load"]
            found += [self._read(load, loop, values, len(tiles), sizes) for load in loads]
        return found

    def _read(self, load, loop, values, count, sizes):
        shape, dtype = interpreter.type_of(load.result_types[0])
        argument = {a.value: a for a in interpreter.arguments_of(self.kernel)}[load.operands[0]]
        dims = interpreter.tile_dims(load, len(argument.dims), len(shape))
        induction = loop.regions[0][0].arguments[0][0]
        size, fixed = dtype.itemsize, [np.zeros(count, np.int64)]
        for dim, index in enumerate(load.operands[1:]):
            moves = values.depends_on(index, induction)
            if moves:
                size *= _size(argument.dims[dim], sizes)
            else:
                size *= shape[dims.index(dim)] if dim in dims else 1
                fixed.append(np.broadcast_to(values[index], count))
        return Reads(np.unique(np.stack(fixed, axis=1), axis=0, return_inverse=True)[1].reshape(-1), size)


@dataclass(frozen=True)
class Reads:
    """`groups` is a number for each work tile: tiles with the same one read the same elements, if not equally many of them.
    `size` is the bytes of the whole dimension along which the loop goes."""

    groups: np.ndarray
    size: int


def _size(name: str, sizes: dict) -> int:
    return int(name) if name.isdigit() else sizes[name]


class _Values:
    """The integers that a kernel computes from sizes and coordinates, for all work tiles at once: arrays of one number a tile,
    or of one number for all."""

    def __init__(self, kernel: TileKernel, tiles: np.ndarray, sizes: dict):
        self.sizes, self.tiles = sizes, tiles
        self.arguments = {a.value: a for a in interpreter.arguments_of(kernel.kernel)}
        self.sources = {result: op for op in kernel.kernel.walk() for result in op.results}
        self.known = {name: np.array([sizes[a.name]]) for name, a in self.arguments.items() if a.name in sizes}
        self.known |= {name: tiles[:, n] for n, (name, type) in enumerate(kernel._work_block.arguments) if type == "index"}

    def set(self, name, value):
        self.known[name] = value

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.known:
            op = self._source(name)
            if op.name == "tile.work_tile":
                self.known |= dict(zip(op.results, self.tiles.T))
            elif op.name == "memref.dim":
                dims = self.arguments[op.operands[0]].dims
                self.known[name] = np.array([_size(dims[self[op.operands[1]].item()], self.sizes)])
            else:
                self.known[name] = interpreter.arithmetic(op, [self[operand] for operand in op.operands])
        return self.known[name]

    def _source(self, name):
        op = self.sources.get(name)
        if op is None or not (op.name.startswith("arith.") or op.name in ("tile.work_tile", "memref.dim")):
            what = op.name if op else "an argument of a block"
            raise UnsupportedKernelError(f"the work of a tile depends on {name}, the result of {what}, "
                                         "and not on sizes and coordinates alone")  # fmt: skip
        return op

    def depends_on(self, name: str, other: str) -> bool:
        """Whether the value is computed from the other one."""
        op = self.sources.get(name)
        return name == other or bool(op) and any(self.depends_on(operand, other) for operand in op.operands)


# ---------------------------------------------------------------------------
# The model
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """Cycles of an SM. A pass takes `cycles`. A CTA that starts needs `start` until its roles run. A tile needs `fill`
    from there to the steady state of its loop, and `drain` from the end of the loop until its results are stored. The share
    `overlap` of `fill` and `drain` is hidden where a CTA goes on with another tile."""

    cycles: float
    start: float = 0
    fill: float = 0
    drain: float = 0
    overlap: float = 0

    def per_tile(self, passes: np.ndarray, schedule: str) -> np.ndarray:
        """What each tile costs an SM; in CTAs with several tiles, what each but the first costs."""
        if schedule in PERSISTENT:
            return passes * self.cycles + (1 - self.overlap) * (self.fill + self.drain)
        return passes * self.cycles + self.start + self.fill + self.drain

    def per_cta(self, schedule: str) -> float:
        """What each CTA costs beside its tiles."""
        return self.start + self.overlap * (self.fill + self.drain) if schedule in PERSISTENT else 0.0

    def bound(self, passes: np.ndarray, schedule: str, sms: int) -> float:
        """No assignment of the tiles to SMs finishes earlier."""
        tiles = self.per_tile(passes, schedule)
        return self.per_cta(schedule) + max(tiles.sum() / sms, tiles.max())


@dataclass(frozen=True)
class Timeline:
    """`begin` and `end` of each work tile, in cycles, with the end of its loops, and the SM that worked on the tile."""

    begin: np.ndarray
    loops_end: np.ndarray
    end: np.ndarray
    sm: np.ndarray

    @property
    def finish(self) -> float:
        return float(self.end.max())

    def most_at_once(self, groups: np.ndarray) -> int:
        """The most groups that tiles read at one moment, until their loops end; `groups` is a number for each tile."""
        # At equal times tiles end before others begin.
        events = [(time, 0, group) for time, group in zip(self.loops_end, groups)]
        events += [(time, 1, group) for time, group in zip(self.begin, groups)]
        running, most = Counter(), 0
        for _, begins, group in sorted(events):
            running[group] += 1 if begins else -1
            if not running[group]:
                del running[group]
            most = max(most, len(running))
        return most


def simulate(schedule: str, passes: np.ndarray, costs: Costs, sms: int, ahead: bool = True) -> Timeline:
    """Lets the SMs, each of which has room for one CTA, work on tiles with these passes, in the order of the tiles'
    numbers. `grid` and `lpt`: CTAs start in the order of their numbers, each on the SM that is free first. `static`:
    a CTA has every sms-th tile. `clc`: a CTA gets the first tile that nobody has; with `ahead`, as the kernels do, it asks
    when it begins the tile before, otherwise when it could begin with the answer. Hardware may answer with any
    CTA that has not started; the model takes it to be the one with the smallest number."""
    if schedule not in gpu.SCHEDULES:
        raise ValueError(f"there is no schedule {schedule}")
    count, tile = len(passes), costs.per_tile(passes, schedule)
    ctas = min(sms, count)
    first = costs.start if schedule in PERSISTENT else 0.0
    hidden = costs.per_cta(schedule) - first
    begin, sm = np.zeros(count), np.zeros(count, int)
    after = [first] * ctas  # When each SM can begin its next tile.
    waiting = []  # When each SM takes its next tile.
    for number in range(count):
        if number < ctas or schedule == "static":
            sm[number] = number % ctas
        else:
            sm[number] = heapq.heappop(waiting)[1]
        begin[number] = after[sm[number]]
        after[sm[number]] += tile[number]
        taken = begin[number] if schedule == "clc" and ahead else after[sm[number]]
        heapq.heappush(waiting, (taken, sm[number]))
    end = begin + tile + hidden
    return Timeline(begin, end - costs.drain, end, sm)
