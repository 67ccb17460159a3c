# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the tile dialect that the tests hold in files, with what they compute:
a matrix product, a product in a branch, the gradient of attention. Each has inputs to
draw and its results in float64. As a command (bench/tile-programs), simulates all of them
with all checks, and the gradients at many sizes."""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4 import gpu, reference

BF16 = gpu.DTYPES["bf16"]
F32 = np.dtype(np.float32)


@dataclass(frozen=True)
class TileProgram:
    """A kernel in a file of the tests.

    draw     gives the inputs, {name: array}, of a random generator
    results  of each array that the kernel writes, the dtype
    meaning  of the inputs: {name: (in float64, in the dtype of the inputs)}, each as the
             kernel should leave the array
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
        """Compiles the kernel to PTX, which ptxas must assemble without spills where there is a ptxas."""
        options = [f"--from={self.start}", *self.options]
        return gpu.compile(self.text, Path(folder), self.chip, options=options)

    def simulate(self, kernel, seeds):
        """What the kernel writes, {name: array}, with all of the simulator's checks."""
        inputs = self.draw(np.random.default_rng(0))
        return gpu.simulate(kernel, inputs, self.results, seeds=seeds, options=["--threads", "1", *self.scalars])

    def check(self, results):
        """FlashAttention's rule for each result. Raises AssertionError."""
        inputs = self.draw(np.random.default_rng(0))
        for name, (exact, same_dtype) in self.meaning(inputs).items():
            reference.check(results[name], exact, same_dtype, name)


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


def tile_programs() -> list[TileProgram]:
    """All of them, at sizes that leave the last tiles part full."""
    return [
        gemm(300, 136, 264),
        _gemm(300, 136, 64, lambda c: c / 2, "conditional", "test/Pipelines/Inputs/conditional.mlir", scalars=("on=1",)),
        _late_uses(),
        gradient(64, 200, 100, "gradient", GRADIENTS[64]),
        gradient(128, 200, 100, "gradient-hd128", GRADIENTS[128]),
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
    for program in tile_programs() + gradients():
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
