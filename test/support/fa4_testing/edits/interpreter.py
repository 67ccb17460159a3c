# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel of the tile dialect computes, at any level from `tile` to `unroll`,
read off its operations and nothing else.

    outputs = run(kernel, {"B": 1, "Sq": 256, ...}, {"q": q, "k": k, "v": v})

Roles run as coroutines, and a channel is a queue of values: its buffers, barriers
and places do not matter, as they do not to a kernel whose protocol is right. A
queue is never full. A CTA that goes on from work tile to work tile (`tile.work`) runs
all of them in this way, and channels keep their state from one to the next: to other CTAs
nothing is left, and the `order` of the tiles does not matter either. The CTAs of a cluster run at the same time. What a role that is distributed holds has one more dimension,
in front: its threads; what a role of the leader holds has the CTAs there, or one value for all of them. Arithmetic is that of numpy on f32, bf16, f16, int32 and, for
`index`, int64."""

import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from fa4_testing.edits.generic import Block, Op, split


class MeaninglessError(Exception):
    """The kernel has no meaning: it hangs, reads what is not there, or does what
    the dialect leaves undefined."""


class HangError(MeaninglessError):
    """Roles wait for each other in a circle, in the order in which the file has their
    operations."""


class UndefinedError(Exception):
    """The kernel does something for these inputs that the dialect leaves undefined,
    as to divide by zero: whatever it does then is right."""


DTYPES = {
    "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "index": np.int64,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "i128": np.int64,  # Opaque: the response to a request, of which the number of a tile is kept.
}  # fmt: skip
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
LANES = 32  # In a warp.
VECTOR_WARPS = 4  # Of a vector role that does not say how many it has.


def type_of(text: str) -> tuple[tuple, np.dtype]:
    """Shape and element type of `f32` or `vector<128x64xf32>`."""
    match = re.fullmatch(r"vector<((?:\d+x)*)(\w+)>", text)
    shape, element = match.groups() if match else ("", text)
    return tuple(int(n) for n in shape.split("x") if n), np.dtype(DTYPES[element])


def _integers(text: str) -> list[int]:
    """Of `array<i64: 1, 3>` or `[1, 3]`."""
    return [int(n) for n in re.findall(r"-?\d+", text.split(":", 1)[-1])]


def _number(text: str, dtype):
    if text in ("true", "false"):
        return dtype.type(text == "true")
    if text.startswith("0x") and dtype.kind != "i":
        return np.array(int(text, 16), _UNSIGNED[dtype.itemsize]).view(dtype)[()]
    return np.array(float(text) if dtype.kind not in "ib" else int(text), dtype)[()]


def constant(text: str):
    """Of `1 : index`, `true`, `dense<0.0> : vector<128xf32>`, `0xFF800000 : f32`."""
    if text in ("true", "false"):
        return np.array([text == "true"])
    value, _, type = text.rpartition(" : ")
    shape, dtype = type_of(type)
    if not value.startswith("dense<"):
        return np.array([_number(value, dtype)], dtype)
    inner = value[6:-1]
    if inner.startswith('"'):
        raise NotImplementedError(text[:80])
    flat = np.array([_number(n, dtype) for n in re.findall(r"[^\[\],\s]+", inner)], dtype)
    return np.broadcast_to(flat, shape)[None] if flat.size == 1 else flat.reshape(1, *shape)


# ---------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------


def _unsigned(function):
    def apply(*operands):
        dtype = operands[0].dtype
        other = np.uint32 if dtype == np.int64 else _UNSIGNED[dtype.itemsize]  # index has 32 bits
        result = function(*(x.astype(other) for x in operands))
        return result if result.dtype == np.bool_ else result.astype(dtype)

    return apply


def _divide(a, b):
    if not np.all(b):
        raise UndefinedError("division by zero")
    return a // b


def _truncated(a, b):
    return np.sign(a) * np.sign(b) * _divide(np.abs(a), np.abs(b))


def _maxnum(a, b):
    return np.fmax(a, b)


_BINARY = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "floordivsi": _divide, "ceildivsi": lambda a, b: -_divide(-a, b),
    "divsi": _truncated, "divui": _unsigned(_divide), "remsi": lambda a, b: a - b * _truncated(a, b),
    "remui": _unsigned(lambda a, b: a - b * _divide(a, b)), "ceildivui": _unsigned(lambda a, b: _divide(a + b - 1, b)),
    "minsi": np.minimum, "maxsi": np.maximum, "minui": _unsigned(np.minimum), "maxui": _unsigned(np.maximum),
    "shli": np.left_shift, "shrsi": np.right_shift, "shrui": _unsigned(np.right_shift),
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
    "maxnumf": _maxnum, "minnumf": np.fmin, "maximumf": np.maximum, "minimumf": np.minimum,
}  # fmt: skip
_CMPI = [
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    _unsigned(np.less), _unsigned(np.less_equal), _unsigned(np.greater), _unsigned(np.greater_equal),
]  # fmt: skip
_CMPF = [np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal]
_UNARY = {
    "arith.negf": np.negative, "math.exp2": np.exp2, "math.log2": np.log2, "math.absf": np.abs, "math.tanh": np.tanh,
    "math.exp": np.exp, "math.log": np.log, "math.sqrt": np.sqrt, "math.floor": np.floor, "math.ceil": np.ceil,
    "math.trunc": np.trunc, "math.roundeven": np.round, "math.rsqrt": lambda x: 1 / np.sqrt(x), "tile.copy": np.array,
}  # fmt: skip
_CASTS = ("truncf", "extf", "index_cast", "sitofp", "trunci", "extsi", "extui", "uitofp", "index_castui")


def _cmpf(predicate, a, b):
    """The predicates of arith.cmpf, in their order."""
    if predicate in (0, 15):
        return np.full(np.broadcast(a, b).shape, predicate == 15)
    nan = np.isnan(a) | np.isnan(b)
    if predicate in (7, 14):
        return nan if predicate == 14 else ~nan
    # oeq ogt oge olt ole one are 1 to 6, their unordered kin 8 to 13.
    ordered = _CMPF[(predicate - 1) % 7](a, b)
    return ordered & ~nan if predicate < 7 else ordered | nan


def _polynomial(op, x):
    """tile.exp2: some pairs of columns are 2^n p(f)."""
    result = np.exp2(x)
    shape, _ = type_of(op.result_types[0])
    pairs = np.array(_integers(op.properties["pairs"]), int)
    chosen = np.zeros(shape[-1], bool)
    chosen[np.concatenate([2 * pairs, 2 * pairs + 1])] = True
    if not (x[..., chosen] < 128).all():
        raise UndefinedError("a polynomial's operand is not below 128")
    low = np.maximum(x, np.float32(-127))
    whole = np.floor(low)
    fraction, value = (low - whole).astype(np.float32), np.float32(0)
    coefficients = split(op.properties["coefficients"].split(":", 1)[1].rstrip("> "))
    for c in reversed(coefficients):
        value = (value + _number(c, np.dtype(np.float32))) * fraction
    power = np.ldexp(1 + value, np.clip(whole, -127, 128).astype(np.int32))
    return np.where(chosen, power, result).astype(np.float32)


# ---------------------------------------------------------------------------
# Channels
# ---------------------------------------------------------------------------


@dataclass
class Channel:
    """`items` are what was committed; `taken` is how many each role has waited
    for. `type` is shape and element type of a value. `of_ctas` is the same channel of each
    CTA of the cluster."""

    label: str
    type: tuple
    items: list = field(default_factory=list)
    owner: "Channel | None" = None  # in_place_of
    of_ctas: list = field(default_factory=list)


@dataclass
class RoleState:
    """Of the channels that a role uses: position, current value, value to be. `leads` says that the role is one of the
    leader, which acts for all CTAs of the cluster."""

    lanes: int
    leads: bool = False
    taken: dict = field(default_factory=dict)
    current: dict = field(default_factory=dict)
    pending: dict = field(default_factory=dict)


def _undefined(channel):
    shape, dtype = channel.type
    return np.full(shape, np.nan if dtype.kind != "i" else 0, dtype)


# Dialects whose operations wait for nobody.
_PURE = ("arith.", "math.", "vector.")


# ---------------------------------------------------------------------------
# Clusters
# ---------------------------------------------------------------------------


def _run_in_turns(coroutines):
    """Each in its turn; a round in which nobody gets on is a hang."""
    waiting = deque(coroutines)
    while waiting:
        before, moved = len(waiting), False
        for coroutine in list(waiting):
            try:
                moved |= next(coroutine)
            except StopIteration:
                waiting.remove(coroutine)
        if len(waiting) == before and not moved:
            raise HangError("the roles hang")


class Cluster:
    """CTAs that run at the same time. `works` reports whether they work together, as the kernel says: they may also be
    CTAs of a kernel without clusters, which are given the bounds that they would have in one."""

    def __init__(self, kernel, size, launch):
        self.kernel = kernel
        self.works = "cluster" in kernel.properties
        self.has_roles = any(op.name == "tile.role" for op in kernel.walk())
        self.ctas = [Cta(kernel, self, rank, launch) for rank in range(size)]
        self.requested = 0  # The number of the last work tile that somebody got.
        self._meetings = {}

    def run(self, tiles):
        """For each CTA, its work tiles, of which each is a tuple of coordinates."""
        for cta, of_cta in zip(self.ctas, tiles):
            cta.tiles = of_cta
        _run_in_turns([cta.program() for cta in self.ctas])
        for channels in zip(*(cta.channels.values() for cta in self.ctas)):
            for channel in channels:
                channel.of_ctas = list(channels)
        _run_in_turns([role for cta in self.ctas for role in cta.roles()])

    def meet(self, cta, op, value):
        """A coroutine: the values with which all CTAs come to the operation for the same time."""
        number = cta.visits[op]
        cta.visits[op] += 1
        meeting = self._meetings.setdefault((op, number), {})
        meeting[cta.rank] = value
        got_on = True
        while len(meeting) < len(self.ctas):
            yield got_on
            got_on = False
        return [meeting[rank] for rank in range(len(self.ctas))]


# ---------------------------------------------------------------------------
# One CTA
# ---------------------------------------------------------------------------


# The operations whose f32 results a machine may have rounded otherwise.
_ROUNDED = {
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.exp2", "math.log2", "math.fma", "math.tanh", "tile.exp2",
    "tile.mma", "tile.rescale", "vector.multi_reduction", "vector.reduction",
}  # fmt: skip


def _flushed(x):
    if x is None or x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < 2.0**-126, np.float32(0), x)


def _threads(role):
    """The number of threads that run a role's body."""
    if "issuer" in role.properties["kind"]:
        return 1
    return LANES * (role.integer("warps") if "warps" in role.properties else VECTOR_WARPS)


@dataclass
class Launch:
    """What all CTAs have in common. `memory` is name of an argument's value -> array; `written` counts the writes of
    each element of outputs; `turns` has what work tiles say of the turns that they take at a place."""

    memory: dict
    scalars: dict
    written: dict
    noise: np.random.Generator | None = None
    turns: dict = field(default_factory=lambda: defaultdict(list))


class Cta:
    """Runs a kernel for some work tiles."""

    def __init__(self, kernel, cluster, rank, launch):
        self.kernel, self.cluster, self.rank, self.launch = kernel, cluster, rank, launch
        self.memory, self.written, self.noise = launch.memory, launch.written, launch.noise
        self.tiles = []
        self.shared = dict(launch.scalars)
        self.channels = {}
        self.visits = Counter()

    def program(self):
        """A coroutine: all but the roles."""
        state = RoleState(1)
        for op in self.kernel.regions[0][0].ops:
            if op.name != "tile.role":
                yield from self._op(op, self.shared, state, None)

    def roles(self):
        """The coroutines of the roles that this CTA runs."""
        found = []
        for op in self.kernel.regions[0][0].ops:
            leads = self.cluster.works and "leader" in op.properties
            if op.name == "tile.role" and not (leads and self.rank):
                state = RoleState(_threads(op), leads)
                found.append(self._block(op.regions[0][0], dict(self.shared), state, None))
        return found

    def _meet(self, op, state, value):
        """See Cluster.meet. A role of the leader meets nobody."""
        if state.leads:
            raise MeaninglessError(f"{op.name} of all CTAs, in a role of one")
        return (yield from self.cluster.meet(self, op, value))

    def _block(self, block: Block, values, state, mask):
        """A coroutine, which yields whether it has got on since it last did; gives
        the operands of the terminator."""
        for op in block.ops:
            if op.name in ("scf.yield", "tile.next"):
                return [values[name] for name in op.operands]
            if op.name.startswith(_PURE):
                results = self._pure(op, [values.get(name) for name in op.operands])
                if len(op.results) == 1:
                    values[op.results[0]] = results
                else:
                    values.update(zip(op.results, results))
            else:
                yield from self._op(op, values, state, mask)
        return []

    def _op(self, op: Op, values, state, mask):
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        operands = [values.get(name) for name in op.operands]
        if handler is None:
            results = self._pure(op, operands)
        else:
            results = yield from handler(op, operands, values, state, mask)
        for name, result in zip(op.results, results if isinstance(results, list) else [results]):
            values[name] = result

    # -- Control flow --------------------------------------------------------

    def _scf_for(self, op, operands, values, state, mask):
        lower, upper, step = (_one(x, "a loop's bound") for x in operands[:3])
        if step <= 0:
            raise MeaninglessError("a loop's step is not positive")
        carried = operands[3:]
        block = op.regions[0][0]
        for induction in range(lower, upper, step):
            names = [name for name, _ in block.arguments]
            values.update(zip(names, [np.array([induction]), *carried]))
            carried = yield from self._block(block, values, state, mask)
        return carried

    def _scf_if(self, op, operands, values, state, mask):
        condition = operands[0]
        branches = [region[0] if region else Block() for region in op.regions]
        branches += [Block()] * (2 - len(branches))
        if condition.size == 1:
            return (yield from self._block(branches[0 if condition.item() else 1], values, state, mask))
        results = []
        for branch, where in zip(branches, (condition, ~condition)):
            inner = where if mask is None else where & mask
            results.append((yield from self._block(branch, values, state, inner)))
        return [np.where(_like(condition, a), a, b) for a, b in zip(*results)]

    # -- Kernel --------------------------------------------------------------

    def _tile_work_tile(self, op, operands, values, state, mask):
        (coordinates,) = self.tiles
        return [np.array([c]) for c in coordinates]
        yield

    def _tile_work(self, op, operands, values, state, mask):
        block, number = op.regions[0][0], 0
        names = [name for name, _ in block.arguments]
        while 0 <= number < len(self.tiles):
            values.update(zip(names, [np.array([c]) for c in self.tiles[number]]))
            following = yield from self._block(block, values, state, mask)
            if following:
                number = _one(following[0], "the number of the next work tile")
            else:
                number = number + 1 if number + 1 < len(self.tiles) else -1
        if number != -1:
            raise MeaninglessError(f"the next work tile is number {number} of {len(self.tiles)}")
        return []

    def _tile_request(self, op, operands, values, state, mask):
        """Takes the next of the tiles, or says -1."""
        cluster = self.cluster
        if cluster.works and not state.leads:
            raise MeaninglessError("a request by each CTA of a cluster")
        if cluster.requested == -1:
            raise MeaninglessError("a request after one that got nothing")
        cluster.requested = cluster.requested + 1 if cluster.requested + 1 < len(self.tiles) else -1
        return np.array([cluster.requested])
        yield

    def _tile_response(self, op, operands, values, state, mask):
        return operands[0]
        yield

    def _bound(self, op, operands, state, widest):
        """CTAs that work together have the wider one of their bounds."""
        values = yield from self._meet(op, state, _one(operands[0], "a bound"))
        return np.array([widest(values)])

    def _tile_at_most(self, op, operands, values, state, mask):
        return (yield from self._bound(op, operands, state, min))

    def _tile_at_least(self, op, operands, values, state, mask):
        return (yield from self._bound(op, operands, state, max))

    def _tile_row(self, op, operands, values, state, mask):
        return np.arange(state.lanes)
        yield

    def _memref_dim(self, op, operands, values, state, mask):
        shape = self.memory[op.operands[0]].shape
        dim = _one(operands[1], "a dimension")
        if not 0 <= dim < len(shape):
            raise MeaninglessError("a dimension that is not there")
        return np.array([shape[dim]])
        yield

    # -- Memory --------------------------------------------------------------

    def _places(self, op, array, indices, shape):
        """Slices of the tensor and of the tile that are in bounds."""
        dims = tile_dims(op, array.ndim, len(shape))
        rank = array.ndim
        there, here = [], [None] * len(shape)
        for dim in range(rank):
            start = _one(indices[dim], "an index")
            size = shape[dims.index(dim)] if dim in dims else 1
            first, last = max(start, 0), min(start + size, array.shape[dim])
            there.append(slice(first, max(last, first)))
            if dim in dims:
                here[dims.index(dim)] = slice(first - start, max(last, first) - start)
        return tuple(there), tuple(here), dims

    @staticmethod
    def _in_front(there, here, dims, end):
        """The slices without what is at `end` and behind in the tile's first dimension."""
        there, here, dim = list(there), list(here), dims[0]
        omitted = min(max(there[dim].stop - end, 0), there[dim].stop - there[dim].start)
        there[dim] = slice(there[dim].start, there[dim].stop - omitted)
        here[0] = slice(here[0].start, here[0].stop - omitted)
        return tuple(there), tuple(here)

    def _tile_load(self, op, operands, values, state, mask):
        array = self.memory[op.operands[0]]
        shape, dtype = type_of(op.result_types[0])
        there, here, dims = self._places(op, array, operands[1:], shape)
        tile = np.zeros(shape, dtype)
        part = array[there]
        others = tuple(d for d in range(array.ndim) if d not in dims)
        if 0 not in part.shape:
            part = part.squeeze(others).transpose(np.argsort(np.argsort(dims)))
            tile[here] = part
        if "split" in op.properties:
            tile = yield from self._of_all(op, state, tile)
        return tile[None]

    def _of_all(self, op, state, tile):
        """The tile of which each CTA loads its part."""
        if not self.cluster.works:
            raise MeaninglessError("a part of a tile without other CTAs")
        tiles = yield from self._meet(op, state, tile)
        axis = op.integer("split")
        size, rest = divmod(tile.shape[axis], len(tiles)) if 0 <= axis < tile.ndim else (0, 1)
        if rest:
            raise MeaninglessError("the parts of a tile are not equal")
        parts = [other.take(range(rank * size, rank * size + size), axis) for rank, other in enumerate(tiles)]
        return np.concatenate(parts, axis)

    def _tile_load_scalar(self, op, operands, values, state, mask):
        """The same for all threads; 0 out of bounds."""
        array = self.memory[op.operands[0]]
        place = tuple(_one(index, "an index") for index in operands[1:])
        is_there = all(0 <= index < size for index, size in zip(place, array.shape))
        return np.array([array[place] if is_there else 0], type_of(op.result_types[0])[1])
        yield

    def _tile_load_rows(self, op, operands, values, state, mask):
        """0 out of bounds."""
        array = self.memory[op.operands[0]]
        place = [int(_one(index, "an index")) for index in operands[1:]]
        shape, dtype = type_of(op.result_types[0])
        dim = int(op.properties["dim"].split(":")[0])
        result = np.zeros(shape, dtype)
        for row in range(shape[0]):
            at = (*place[:dim], place[dim] + row, *place[dim + 1 :])
            if all(0 <= index < size for index, size in zip(at, array.shape)):
                result[row] = array[at]
        return result[None]
        yield

    def _tile_store(self, op, operands, values, state, mask):
        name = op.operands[1]
        array = self.memory[name]
        tile = operands[0][0]
        indices = operands[2 : 2 + array.ndim]
        if any(_one(index, "an index") < 0 for index in indices):
            raise MeaninglessError("a store in front of the tensor")
        there, here, dims = self._places(op, array, indices, tile.shape)
        if op.name == "tile.store" and len(operands) > 2 + array.ndim:
            there, here = self._in_front(there, here, dims, _one(operands[-1], "the row that a store ends at"))
        part = tile[here].transpose(np.argsort(dims))
        if 0 not in array[there].shape:
            view = part.reshape([n.stop - n.start for n in there])
            array[there] = array[there] + view if op.name == "tile.reduce_add" else view
            self.written[name][there] += 1
        return []
        yield

    _tile_reduce_add = _tile_store

    def _tile_put(self, op, operands, values, state, mask):
        name, dim = op.operands[1], op.integer("dim")
        array = self.memory[name]
        value = np.broadcast_to(operands[0], state.lanes)
        places = [np.broadcast_to(x, state.lanes).copy() for x in operands[2 : 2 + array.ndim]]
        places[dim] += np.arange(state.lanes)
        active = (places[dim] >= 0) & (places[dim] < array.shape[dim])
        if len(operands) > 2 + array.ndim:
            active &= places[dim] < operands[-1]
        active &= True if mask is None else mask
        places = tuple(p[active] for p in places)
        if any((p < 0).any() or (p >= n).any() for p, n in zip(places, array.shape)):
            raise MeaninglessError("tile.put out of bounds")
        array[places] = value[active]
        np.add.at(self.written[name], places, 1)
        return []
        yield

    # -- Turns ---------------------------------------------------------------

    def _tile_await_turn(self, op, operands, values, state, mask):
        """In any order: what is added does not depend on it. See `_check_turns`."""
        rank = len(operands) - 4
        place = tuple(_one(index, "an index") for index in operands[1 : 1 + rank])
        last = (*place[:-1], place[-1] + op.integer("parts", 1) - 1)
        if any(not 0 <= i <= j < size for i, j, size in zip(place, last, self.memory[op.operands[0]].shape)):
            raise MeaninglessError("a turn out of bounds")
        self.launch.turns[op.operands[0], place].append([_one(x, "a turn") for x in operands[1 + rank :]])
        return None
        yield

    def _tile_pass_turn(self, op, operands, values, state, mask):
        return []
        yield

    # -- Channels ------------------------------------------------------------

    def _tile_channel(self, op, operands, values, state, mask):
        shape, dtype = type_of(op.result_types[0].removeprefix("!tile.channel<").removesuffix(">"))
        # The operands are `in_place_of` and `after`, of which only the former hands values on.
        in_place, _ = _integers(op.properties["operandSegmentSizes"])
        channel = Channel(op.properties["label"], (shape, dtype), owner=operands[0] if in_place else None)
        channel.items = [_undefined(channel) for _ in range(op.integer("initial", 0))]
        self.channels[op] = channel
        return [channel]
        yield

    def _tile_acquire(self, op, operands, values, state, mask):
        return []
        yield

    _tile_release = _tile_fence = _tile_keep_order = _tile_acquire

    def _tile_wait(self, op, operands, values, state, mask):
        channel = operands[0]
        channels = channel.of_ctas if state.leads else [channel]
        number = state.taken.get(id(channel), 0)
        got_on = True
        while any(len(each.items) <= number for each in channels):
            yield got_on
            got_on = False
        state.taken[id(channel)] = number + 1
        state.current[id(channel)] = channel.items[number]
        if not op.results:
            return []
        # A scalar is the leader's own.
        shape, _ = channel.type
        return [np.stack([each.items[number] for each in (channels if shape else [channel])])]

    def _begin(self, channel, state):
        """The value that the role will commit: what it has been handed, where that
        is of the same type."""
        if id(channel) not in state.pending:
            owner = channel.owner
            same = [c for c in state.current if owner is not None and c == id(owner)]
            if same and owner.type == channel.type:
                state.pending[id(channel)] = state.current[same[0]].copy()
            else:
                state.pending[id(channel)] = _undefined(channel)
        return state.pending[id(channel)]

    def _tile_commit(self, op, operands, values, state, mask):
        channel = operands[0]
        if len(operands) == 2:
            channels = channel.of_ctas if state.leads else [channel]
            for each, value in zip(channels, np.broadcast_to(operands[1], (len(channels), *operands[1].shape[1:]))):
                each.items.append(value)
        else:
            channel.items.append(self._begin(channel, state))
            state.pending.pop(id(channel))
        return []
        yield

    def _tile_read(self, op, operands, values, state, mask):
        channel = operands[0]
        shape, _ = type_of(op.result_types[0])
        if id(channel) in state.current:
            value = state.current[id(channel)]
        else:
            value = self._begin(channel, state)
        column = op.integer("column", 0)
        if "all" in op.properties:
            flat = value.reshape(-1) if value.ndim > 1 else value
            return [flat[None, column : column + shape[0]] if shape else flat[column : column + 1]]
        if value.ndim == 1:
            return [value]
        if self._is_folded(value, state):
            value = np.concatenate(np.split(value, 2, axis=1))
        return [value[:, column : column + shape[0]] if shape else value[:, column]]
        yield

    def _is_folded(self, tile, state):
        """Whether threads hold half a row of the tile each: those behind its last row, the second half."""
        return self.cluster.works and 2 * tile.shape[0] == state.lanes and tile.shape[1] % 2 == 0

    def _tile_write(self, op, operands, values, state, mask):
        value, channel = operands
        target = self._begin(channel, state)
        column = op.integer("column", 0)
        shape, _ = type_of(op.operand_types[0])
        where = slice(None) if mask is None else mask
        if target.ndim == 1:
            target[where] = np.broadcast_to(value, target.shape)[where]
        else:
            columns = slice(column, column + (shape[0] if shape else 1))
            value = value if shape else value[:, None]
            halves = np.split(target, 2, axis=1) if self._is_folded(target, state) else [target]
            full = np.broadcast_to(value, (target.shape[0] * len(halves), columns.stop - columns.start))
            for number, half in enumerate(halves):
                rows = slice(number * len(half), (number + 1) * len(half))
                active = slice(None) if mask is None else mask[rows]
                half[active, columns] = full[rows][active]
        return []
        yield

    def _tile_any(self, op, operands, values, state, mask):
        condition = np.broadcast_to(operands[0], state.lanes)
        if mask is not None:
            condition = condition & mask
        return np.repeat(condition.reshape(-1, LANES).any(1), LANES)
        yield

    # -- MMAs ----------------------------------------------------------------

    def _tile_mma(self, op, operands, values, state, mask):
        """In a cluster, CTAs issue it together; each has the product of its own values."""
        if self.cluster.works and not self.cluster.has_roles:
            yield from self._meet(op, state, None)
        elif self.cluster.works and not state.leads:
            raise MeaninglessError("an MMA by each CTA of a cluster")
        return self._pure(op, operands)

    def _tile_exchange(self, op, operands, values, state, mask):
        """The rows of both tiles, and of their columns this CTA's half."""
        if not self.cluster.works or len(self.cluster.ctas) != 2:
            raise MeaninglessError("an exchange without another CTA")
        tiles = yield from self._meet(op, state, operands[0][0])
        return np.concatenate([np.split(tile, 2, axis=1)[self.rank] for tile in tiles])[None]

    # -- Values --------------------------------------------------------------

    def _pure(self, op, operands):
        # Kernels are compiled to .ftz instructions, which take and give subnormal numbers as 0.
        # MMAs keep them.
        flushes = op.name in _ROUNDED and op.name != "tile.mma"
        results = self._exact(op, [_flushed(x) for x in operands] if flushes else operands)
        if self.noise and op.name in _ROUNDED and results.dtype == np.float32:
            # The compiler may give exponentials to a polynomial, which is off by up to 2^-13, in
            # one direction for numbers that are alike.
            error = 2.0**-23 * self.noise.uniform(-1, 1, results.shape)
            error += 2.0**-13 if op.name == "math.exp2" and results.ndim > 2 else 0
            results = (results * (1 + error)).astype(np.float32)
        return _flushed(results) if flushes else results

    def _exact(self, op, operands):
        dialect, name = op.name.split(".", 1)
        if op.name == "arith.constant":
            return constant(op.properties["value"])
        if op.name in _UNARY:
            return _UNARY[op.name](operands[0]).astype(operands[0].dtype)
        if dialect == "arith" and name in _BINARY:
            result = _BINARY[name](*operands)
            return result.astype(operands[0].dtype, copy=False)
        function = getattr(self, f"pure_{dialect}_{name}", None)
        if function:
            return function(op, operands)
        if dialect == "arith" and name in _CASTS:
            return _cast(name, operands[0], type_of(op.result_types[0])[1])
        raise NotImplementedError(op.name)

    def pure_arith_cmpi(self, op, operands):
        return _CMPI[op.integer("predicate")](*operands)

    def pure_arith_cmpf(self, op, operands):
        return _cmpf(op.integer("predicate"), *operands)

    def pure_arith_select(self, op, operands):
        condition, a, b = operands
        return np.where(_like(condition, a if a.ndim >= b.ndim else b), a, b)

    def pure_math_fma(self, op, operands):
        a, b, c = (x.astype(np.float64) for x in operands)
        return (a * b + c).astype(operands[0].dtype)

    def pure_tile_exp2(self, op, operands):
        return _polynomial(op, operands[0])

    def pure_tile_rescale(self, op, operands):
        value, factor = operands
        if np.any((value == 0) & ~np.isfinite(factor[..., None])):
            raise UndefinedError("the factor of a zero is not finite")
        return np.where(factor[..., None] == 1, value, value * factor[..., None])

    def pure_tile_mma(self, op, operands):
        segments = _integers(op.properties["operandSegmentSizes"])
        a, b = (x.astype(np.float32) for x in operands[:2])
        a = a.swapaxes(1, 2) if "transpose_a" in op.properties else a
        b = b.swapaxes(1, 2) if "transpose_b" in op.properties else b
        result = a @ b
        if segments[2] and (not segments[3] or operands[3].item()):
            result = result + operands[2]
        return result

    def pure_vector_step(self, op, operands):
        return np.arange(type_of(op.result_types[0])[0][0])[None]

    def pure_vector_broadcast(self, op, operands):
        x = operands[0]
        shape, _ = type_of(op.result_types[0])
        inner = x.shape[1:]
        x = x.reshape(x.shape[0], *[1] * (len(shape) - len(inner)), *inner)
        return np.broadcast_to(x, (x.shape[0], *shape))

    def pure_vector_shape_cast(self, op, operands):
        x = operands[0]
        return x.reshape(x.shape[0], *type_of(op.result_types[0])[0])

    def pure_arith_bitcast(self, op, operands):
        return self.pure_vector_bitcast(op, operands)

    def pure_vector_bitcast(self, op, operands):
        shape, dtype = type_of(op.result_types[0])
        x = np.ascontiguousarray(operands[0])
        return x.view(dtype).reshape(x.shape[0], *shape)

    def pure_vector_extract_strided_slice(self, op, operands):
        offsets, sizes = _integers(op.properties["offsets"]), _integers(op.properties["sizes"])
        return operands[0][(slice(None), *(slice(o, o + n) for o, n in zip(offsets, sizes)))]

    def pure_vector_insert_strided_slice(self, op, operands):
        part, whole = operands
        offsets = _integers(op.properties["offsets"])
        lanes = max(len(part), len(whole))
        result = np.broadcast_to(whole, (lanes, *whole.shape[1:])).copy()
        result[(slice(None), *(slice(o, o + n) for o, n in zip(offsets, part.shape[1:])))] = part
        return result

    def _position(self, op, operands):
        position = _integers(op.properties["static_position"])
        if any(n == -1 for n in position):
            raise UndefinedError("an element at the poison position")
        if any(n < 0 for n in position):
            raise NotImplementedError("a position that is not static")
        return tuple(position)

    def pure_vector_extract(self, op, operands):
        return operands[0][(slice(None), *self._position(op, operands))]

    def pure_vector_insert(self, op, operands):
        value, whole = operands[:2]
        result = np.broadcast_to(whole, (max(len(value), len(whole)), *whole.shape[1:])).copy()
        result[(slice(None), *self._position(op, operands))] = value
        return result

    def pure_vector_from_elements(self, op, operands):
        shape, dtype = type_of(op.result_types[0])
        lanes = max(map(len, operands))
        flat = np.stack([np.broadcast_to(x, lanes) for x in operands], 1)
        return flat.reshape(lanes, *shape).astype(dtype, copy=False)

    def pure_vector_to_elements(self, op, operands):
        flat = operands[0].reshape(len(operands[0]), -1)
        return [flat[:, n] for n in range(flat.shape[1])]

    def pure_vector_reduction(self, op, operands):
        return _reduced(op, operands, (1,))

    def pure_vector_multi_reduction(self, op, operands):
        return _reduced(op, operands, tuple(d + 1 for d in _integers(op.properties["reduction_dims"])))


_REDUCTIONS = {
    "add": np.add, "maxnumf": np.fmax, "maximumf": np.maximum, "minnumf": np.fmin, "minimumf": np.minimum,
    "mul": np.multiply, "maxsi": np.maximum, "minsi": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
}  # fmt: skip


def _reduced(op, operands, axes):
    kind = re.search(r"kind<(\w+)>", op.properties["kind"])[1]
    function = _REDUCTIONS[kind]
    result = function.reduce(operands[0], axis=axes)
    return function(result, operands[1]) if len(operands) > 1 else result


def _cast(name, x, dtype):
    if name in ("extui", "uitofp", "index_castui") and x.dtype != np.bool_:
        x = x.view(_UNSIGNED[x.dtype.itemsize]) if x.flags.c_contiguous else x.astype(_UNSIGNED[x.dtype.itemsize])
    if name in ("extsi", "sitofp") and x.dtype == np.bool_:
        x = -x.astype(np.int8)
    return x.astype(dtype)


def _one(value, what):
    """A number that all threads agree on."""
    if value is None or value.size != 1:
        raise MeaninglessError(f"{what} differs among threads")
    return int(value.item())


def _like(condition, value):
    return condition.reshape(condition.shape + (1,) * (value.ndim - condition.ndim))


def arithmetic(op: Op, operands: list) -> np.ndarray:
    """The result of an operation of arith, on numbers of any lanes. Raises NotImplementedError for
    other operations, UndefinedError where the result is not defined."""
    return Cta(op, None, 0, Launch({}, {}, {}))._exact(op, operands)


def tile_dims(op: Op, rank: int, tile_rank: int) -> list[int]:
    """The dimensions of a tensor that a tile.load, tile.store or tile.reduce_add moves a tile of: by default the last ones."""
    dims = op.properties.get("dims")
    return _integers(dims) if dims else list(range(rank - tile_rank, rank))


# ---------------------------------------------------------------------------
# A launch
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Argument:
    name: str  # tile.name
    dims: tuple  # tile.dims; empty for scalars
    value: str
    type: str


def arguments_of(kernel: Op) -> list[Argument]:
    texts = split(kernel.properties["arg_attrs"][1:-1])
    block = kernel.regions[0][0]
    result = []
    for text, (value, type) in zip(texts, block.arguments):
        name = re.search(r'tile\.name = "(\w+)"', text)[1]
        dims = re.search(r"tile\.dims = \[(.*?)\]", text)
        result.append(Argument(name, tuple(re.findall(r'"(.+?)"', dims[1])) if dims else (), value, type))
    return result


def grid_of(kernel: Op, sizes: dict) -> tuple:
    extents = re.findall(r'#tile\.extent<"(\w+)"(?: by (\d+))?>', kernel.properties["grid"])
    counts = [int(sizes.get(name, name if name.isdigit() else 0)) for name, _ in extents]
    return tuple(-(-n // int(tile or 1)) for n, (_, tile) in zip(counts, extents))


def cluster_of(kernel: Op) -> tuple | None:
    """Its size, and its axis of the grid."""
    text = kernel.properties.get("cluster")
    return tuple(int(re.search(rf"{name} = (-?\d+)", text)[1]) for name in ("size", "axis")) if text else None


def _clusters(grid, size, axis):
    """For each cluster, the coordinates of the work tile of each CTA. Those of the last clusters may be behind the grid."""
    if size < 1 or (size > 1 and not 0 <= axis < len(grid)):
        raise MeaninglessError("a cluster along no axis of the grid")
    counts = [-(-n // size) if dim == axis else n for dim, n in enumerate(grid)]
    for first in np.ndindex(*counts):
        yield [tuple(n * size + rank if dim == axis else n for dim, n in enumerate(first)) for rank in range(size)]


def _check_turns(turns):
    """All who come to a place say the same of it, and each of those whose turn it is there comes once."""
    for who in turns.values():
        bounds = {tuple(bounds) for _, *bounds in who}
        first, last = min(bounds)
        tiles = sorted(tile for tile, *_ in who)
        if len(bounds) != 1 or last - first + 1 != len(tiles) or tiles != list(range(first, last + 1)):
            raise MeaninglessError("those who take turns at a place are not those of whom it is the turn")


@dataclass(frozen=True)
class Result:
    """`arrays` are name -> output; `written` how often each element was."""

    arrays: dict
    written: dict


def run(kernel: Op, sizes: dict, inputs: dict, outputs: dict, noise=None, together: int | None = None) -> Result:
    """Runs all work tiles. `sizes` and scalars are by their names; `inputs` and
    `outputs` are name -> array, the latter of the right shape, of any content.
    With `noise`, a random generator, f32 arithmetic is off by up to its last bit and
    exponentials by as much as a polynomial's, which shows how much the results hang on it. With `together`, work tiles that
    are neighbours along this axis of the grid have the bounds (`tile.at_most`) that they would have in a cluster, in a
    kernel that has none. Raises MeaninglessError."""
    memory, scalars, written = {}, {}, {}
    arguments = arguments_of(kernel)
    for argument in arguments:
        if argument.type.startswith("memref"):
            array = inputs.get(argument.name)
            if array is None:
                like = outputs[argument.name]
                array = np.full_like(like, 0 if like.dtype.kind == "i" else np.nan)
            memory[argument.value] = np.array(array)
            written[argument.value] = np.zeros(array.shape, np.int32)
        else:
            _, dtype = type_of(argument.type)
            scalars[argument.value] = np.array([sizes[argument.name]], dtype)
    with np.errstate(all="ignore"):
        launch = Launch(memory, scalars, written, noise)
        size, axis = cluster_of(kernel) or ((1, 0) if together is None else (2, together))
        clusters = list(_clusters(grid_of(kernel, sizes), size, axis))
        goes_on = any(op.name == "tile.work" for op in kernel.walk())
        for part in [clusters] * bool(clusters) if goes_on else [[cluster] for cluster in clusters]:
            Cluster(kernel, size, launch).run(list(zip(*part)))
        if together is None:
            _check_turns(launch.turns)
    names = {a.name: a.value for a in arguments if a.name in outputs}
    return Result({n: memory[v] for n, v in names.items()}, {n: written[v] for n, v in names.items()})
