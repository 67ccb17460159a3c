# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the tile dialect that the tests hold in files, with what they compute:
a matrix product, a product in a branch, the gradient of attention, attention of a packed batch.
Each has inputs to draw and its results in float64. As a command (bench/tile-programs),
simulates all of them with all checks, and the gradients and packed batches at many sizes."""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4 import reference
from fa4_testing import gpu, grid

BF16 = gpu.DTYPES["bf16"]
F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class TileProgram:
    """A kernel in a file of the tests.

    draw     gives the inputs, {name: array}, of a random generator
    results  of each array that the kernel writes, the dtype
    meaning  of the inputs: {name: (in float64, in the dtype of the inputs)}, each as the
             kernel should leave the array, and perhaps an error that is allowed besides
    scalars  what fa4-sim is given besides: sizes that no array has, arguments
    start    the level of the file"""

    name: str
    file: str
    draw: Callable
    results: dict
    meaning: Callable
    scalars: tuple = ()
    start: str = "tile"
    chip: str = "sm_100a"
    options: tuple = ()

    @property
    def first(self):
        """The first level at which passes run."""
        return self.start

    @property
    def text(self):
        return (gpu.ROOT / self.file).read_text()

    def compile(self, folder):
        """Compiles the kernel to PTX, which ptxas must assemble without spills, where there is a ptxas."""
        options = [f"--from={self.start}", *self.options]
        return gpu.compile(self.text, Path(folder), self.chip, options=options)

    def simulate(self, kernel, seeds):
        """What the kernel writes, {name: array}, with all of the simulator's checks."""
        inputs = self.draw(np.random.default_rng(0))
        return gpu.simulate(kernel, inputs, self.results, seeds=seeds, options=["--threads", "1", *self.scalars])

    def check(self, results):
        """FlashAttention's rule for each result. Raises AssertionError."""
        inputs = self.draw(np.random.default_rng(0))
        for name, (exact, same_dtype, *floor) in self.meaning(inputs).items():
            reference.check(results[name], exact, same_dtype, name, *floor)


def _normal(rng, *shape):
    return rng.standard_normal(shape).astype(BF16)


def _wide(inputs, dtype):
    return [array.astype(dtype) for array in inputs.values()]


# ---------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------


def _gemm(m, n, k, scale_of, name, file, **rest):
    """C = scale_of(A B), rounded to bf16."""

    def draw(rng):
        return {"A": _normal(rng, m, k), "B": _normal(rng, k, n)}

    def meaning(inputs):
        exact, narrow = (scale_of(a @ b) for a, b in (_wide(inputs, np.float64), _wide(inputs, F32)))
        return {"C": (exact, narrow.astype(BF16).astype(np.float64))}

    return TileProgram(name, file, draw, {"C": BF16}, meaning, **rest)


def gemm(m, n, k, name="gemm", **rest):
    """C = max(A B / 2, 0). `n` and `k` are multiples of 8."""
    return _gemm(m, n, k, lambda c: np.maximum(c / 2, 0), name, "test/Pipelines/gemm.mlir", **rest)


def _late_uses(rows=300):
    """y = x x^T of the first 128 rows of each 256, and 2 for the other 128, where n = 1."""

    def draw(rng):
        return {"x": _normal(rng, rows, 64)}

    def meaning(inputs):
        def stored(dtype):
            (x,) = _wide(inputs, dtype)
            y = np.full((rows, 128), 2, dtype)
            for first in range(0, rows, 256):
                part = np.zeros((128, 64), dtype)
                part[: len(x[first : first + 128])] = x[first : first + 128]
                y[first : first + 128] = (part @ part.T)[: len(y[first : first + 128])]
            return y

        return {"y": (stored(np.float64), stored(F32).astype(np.float64))}

    file = "test/Pipelines/Inputs/late-uses.mlir"
    # Its lanes would hold two rows of 128 numbers across a branch, more than a thread has registers, if they read both early.
    return TileProgram("late-uses", file, draw, {"y": F32}, meaning, scalars=("n=1",), start="schedule")


# ---------------------------------------------------------------------------
# The gradient of attention
# ---------------------------------------------------------------------------


def gradient(head_dim, queries, keys, name, file, heads=1, **rest):
    """dQ (f32 sums, without the scale), dK and dV of full attention from the LSE and
    delta = rowsum(dO * O), which another kernel computes."""

    def draw(rng):
        given = {x: _normal(rng, 1, n, heads, head_dim) for x, n in zip("qkv", (queries, keys, keys))}
        given["dout"] = _normal(rng, 1, queries, heads, head_dim)
        out, lse = reference.sdpa(given["q"], given["k"], given["v"], layout="bshd")
        delta = (given["dout"].astype(np.float64) * out).sum(axis=-1).transpose(0, 2, 1)
        return given | {"lse": lse.astype(F32), "delta": delta.astype(F32)}

    def meaning(inputs):
        given = [inputs[x] for x in ("q", "k", "v", "dout")]
        exact = reference.sdpa_backward(*given, layout="bshd")
        narrow = reference.sdpa_backward_same_dtype(*given, layout="bshd")
        scale = head_dim**-0.5
        meant = {x: (getattr(exact, x), getattr(narrow, x).astype(np.float64)) for x in ("dq", "dk", "dv")}
        return meant | {"dq": tuple(dq / scale for dq in meant["dq"])}

    return TileProgram(name, file, draw, {"dq": F32, "dk": BF16, "dv": BF16}, meaning, **rest)


# Head dim -> the file of the gradient.
GRADIENTS = {64: "test/Pipelines/backward-program.mlir", 128: "test/Dialect/Tile/backward-program.mlir"}
# Numbers of queries and of keys: whole blocks, parts of blocks, less than a block, several blocks of each. A launch needs
# rows of the LSE at multiples of 16 bytes.
GRADIENT_SIZES = ((128, 128), (200, 100), (100, 300), (4, 5), (520, 7), (4, 260), (384, 256))


def gradients() -> list[TileProgram]:
    """The gradient at all head dims and sizes, and with two heads."""
    found = []
    for head_dim, file in GRADIENTS.items():
        for queries, keys in GRADIENT_SIZES:
            found.append(gradient(head_dim, queries, keys, f"gradient-hd{head_dim}-{queries}x{keys}", file))
        found.append(gradient(head_dim, 136, 140, f"gradient-hd{head_dim}-heads", file, heads=2))
    return found


def scalars(counts=(2, 0, -1, 3, 9), flags=(0, 1, 2**32, 2**32, -(2**32)), most=3):
    """y[b] = scales[b, 1] times the sum of the first counts[b] tiles of x[b], negated where flags[b] > 0."""

    def draw(rng):
        batch = len(counts)
        given = {"x": rng.standard_normal((batch, most, 128, 64)).astype(F32)}
        given["scales"] = rng.standard_normal((batch, 2)).astype(F32)
        return given | {"counts": np.array(counts, np.int32), "flags": np.array(flags, np.int64)}

    def meaning(inputs):
        def scaled(dtype):
            x, scales = (inputs[name].astype(dtype) for name in ("x", "scales"))
            factors = np.where(inputs["flags"] > 0, -scales[:, 1], scales[:, 1])
            sums = [tiles[: max(count, 0)].sum(0) for tiles, count in zip(x, counts)]
            return np.stack([sum * factor for sum, factor in zip(sums, factors)])

        return {"y": (scaled(np.float64), scaled(F32).astype(np.float64))}

    file = "test/Pipelines/Inputs/scalar-channels.mlir"
    return TileProgram("scalars", file, draw, {"y": F32}, meaning, scalars=("sm_count=2",), start="warp-specialize")


# ---------------------------------------------------------------------------
# Attention of a packed batch
# ---------------------------------------------------------------------------


def packed(name, starts, ends, total, queries=140, schedule="grid", **rest):
    """Attention to keys and values of which sequence b has the rows starts[b] to ends[b] of `total`. Numbers out of
    bounds count as the nearest that are not. `queries` is a multiple of 4."""

    def draw(rng):
        given = {"q": _normal(rng, len(starts), queries, 2, 64)}
        given |= {x: _normal(rng, total, 2, 64) for x in "kv"}
        return given | {"starts": np.array(starts, np.int32), "ends": np.array(ends, np.int32)}

    def meaning(inputs):
        exact, narrow = ([], []), ([], [])
        for b, (start, end) in enumerate(zip(starts, ends)):
            start = min(max(start, 0), total)
            rows = slice(start, min(max(end, start), total))
            given = (inputs["q"][b : b + 1], inputs["k"][None, rows], inputs["v"][None, rows])
            for found, function in ((exact, reference.sdpa), (narrow, reference.sdpa_same_dtype)):
                for part, array in zip(found, function(*given, layout="bshd")):
                    part.append(array)
        (out, lse), (narrow_out, narrow_lse) = (map(np.concatenate, found) for found in (exact, narrow))
        floor = grid.LSE_TOLERANCE + reference.rounding_floor(lse, F32)
        return {"out": (out, narrow_out.astype(np.float64)), "lse": (lse, narrow_lse, floor)}

    file = "test/Pipelines/Inputs/packed-attention.mlir"
    return TileProgram(name, file, draw, {"out": BF16, "lse": F32}, meaning, **_scheduled(schedule), **rest)


def _scheduled(schedule):
    """Members of a TileProgram with this schedule."""
    # Few enough SMs for a CTA to have several work tiles.
    scalars = ("sm_count=2",) if schedule == "static" else ()
    return dict(options=(f"--schedule={schedule}",), scalars=scalars)


def varlen(name, lengths, schedule="grid", **rest):
    """Causal attention of sequences of (queries, keys), all of them packed, with masks aligned to the ends."""
    ends = {x: np.cumsum([length[n] for length in lengths]) for n, x in enumerate("qk")}
    starts = {x: ends[x] - [length[n] for length in lengths] for n, x in enumerate("qk")}
    totals = {x: max(int(ends[x][-1]), 1) for x in "qk"}
    tiles = [(b, i) for b, (queries, _) in enumerate(lengths) for i in range(-(-queries // 256))]

    def draw(rng):
        given = {"q": _normal(rng, totals["q"], 2, 64)}
        given |= {x: _normal(rng, totals["k"], 2, 64) for x in "kv"}
        for x in "qk":
            given |= {f"{x}_starts": starts[x].astype(np.int32), f"{x}_ends": ends[x].astype(np.int32)}
        return given | {"tiles": np.array(tiles, np.int32)}

    def meaning(inputs):
        results = []
        for function in (reference.sdpa, reference.sdpa_same_dtype):
            out, lse = np.zeros((totals["q"], 2, 64)), np.zeros((2, totals["q"]))
            for b in range(len(lengths)):
                q, k = (slice(starts[x][b], ends[x][b]) for x in "qk")
                given = (inputs["q"][None, q], inputs["k"][None, k], inputs["v"][None, k])
                mask = reference.Mask.causal("bottom_right")
                (out[q],), (lse[:, q],) = function(*given, layout="bshd", mask=mask)
            results.append((out, lse))
        (out, lse), (narrow_out, narrow_lse) = results
        floor = grid.LSE_TOLERANCE + reference.rounding_floor(lse, F32)
        return {"out": (out, narrow_out), "lse": (lse, narrow_lse, floor)}

    file = "test/Pipelines/Inputs/varlen-attention.mlir"
    return TileProgram(name, file, draw, {"out": BF16, "lse": F32}, meaning, **_scheduled(schedule), **rest)


def packed_of(name, lengths, **rest):
    """The sequences lie one behind the other."""
    ends = np.cumsum(lengths)
    return packed(name, ends - lengths, ends, max(int(ends[-1]), 1), **rest)


# No keys, one, part of a block, whole blocks, a block and a part.
PACKED_LENGTHS = (0, 1, 100, 128, 256, 300, 0)
# Queries and keys: as many, none of either, one, whole tiles, more queries than keys, and fewer.
VARLEN_LENGTHS = ((100, 100), (0, 50), (70, 0), (1, 300), (256, 256), (300, 120), (5, 129), (257, 400))


def packed_batches() -> list[TileProgram]:
    """Batches with each schedule; of one sequence; of nothing but empty sequences; and with numbers that are out of bounds."""
    found = [packed_of(f"packed-{schedule}", PACKED_LENGTHS, schedule=schedule) for schedule in grid.SCHEDULES]
    found += [packed_of(f"packed-one-{length}", (length,), queries=260) for length in (0, 1, 127, 129, 384)]
    for schedule in grid.SCHEDULES:
        found.append(varlen(f"varlen-{schedule}", VARLEN_LENGTHS, schedule))
    found += [varlen(f"varlen-one-{q}x{k}", ((q, k),)) for q, k in ((1, 1), (255, 257), (256, 256), (520, 7), (3, 0))]
    found.append(packed_of("packed-empty", (0, 0, 0), schedule="clc"))
    found.append(packed("packed-out-of-bounds", (-5, 90, 300, 7), (20, 1000, 400, -3), 150))
    return found


def tile_programs() -> list[TileProgram]:
    """All of them, at sizes that leave the last tiles part full."""
    return [
        gemm(300, 136, 264),
        _gemm(300, 136, 64, lambda c: c / 2, "conditional", "test/Pipelines/Inputs/conditional.mlir", scalars=("on=1",)),
        _late_uses(),
        gradient(64, 200, 100, "gradient", GRADIENTS[64]),
        gradient(128, 200, 100, "gradient-hd128", GRADIENTS[128]),
        packed_of("packed", (130, 0, 7)),
        packed_of("packed-tiles", (7, 130), schedule="clc"),
        varlen("varlen", ((100, 130), (7, 40), (260, 90))),
        scalars(),
    ]


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="tile-programs", description="Simulates the tests' tile programs with all checks.")
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="seeds of the simulator for each program")
    parser.add_argument("--kernel", default="", metavar="REGEX", help="only programs whose name has a match")
    arguments = parser.parse_args(words)
    failures = count = 0
    for program in tile_programs() + gradients() + packed_batches():
        if not re.search(arguments.kernel, program.name):
            continue
        count += 1
        begin, outcome = time.monotonic(), "ok"
        try:
            with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
                kernel = program.compile(folder)
                program.check(program.simulate(kernel, (0, arguments.seeds - 1)))
        except (gpu.CompileError, gpu.SimulationError, AssertionError) as error:
            outcome = f"FAILED: {error}"
            failures += 1
        print(f"{program.name}: {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)
    print(f"{count} programs, {arguments.seeds} seeds each, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
