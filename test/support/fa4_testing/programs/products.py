# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products as tile programs for a chip whose MMAs accumulate in registers, C = max(A B, 0): one for each shape of
a tile, transposition of an operand, and element type."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4_testing import gpu

# Ragged in all dimensions; multiples of 8, because rows begin at 16 bytes.
SIZES = {"M": 104, "N": 136, "K": 264}
# Of the largest result: what a rounding to each type may be off.
BOUNDS = {"f32": 1e-5, "f16": 6e-4, "bf16": 4e-3}


@dataclass(frozen=True)
class Product:
    """A tile of `m` x `n`, computed `k` at a time. The first dimension of a transposed A is K, of a transposed B is N."""

    m: int
    n: int
    k: int = 64
    transpose_a: bool = False
    transpose_b: bool = False
    dtype: str = "bf16"
    result: str = "bf16"

    def __str__(self):
        letters = "t" * self.transpose_a + "A" + "t" * self.transpose_b + "B"
        return f"{self.m}x{self.n}x{self.k}-{letters}-{self.dtype}-{self.result}"

    @staticmethod
    def _operand(name, first, second, is_transposed):
        return f"transpose {name}" if is_transposed else name, (second, first) if is_transposed else (first, second)

    def text(self):
        a, (a0, a1) = self._operand("%ta", "M", "K", self.transpose_a)
        b, (b0, b1) = self._operand("%tb", "K", "N", self.transpose_b)
        tile, at = {"M": self.m, "N": self.n, "K": self.k}, {"M": "%row", "N": "%col", "K": "%i"}
        ta, tb = (f"vector<{tile[x]}x{tile[y]}x{self.dtype}>" for x, y in ((a0, a1), (b0, b1)))
        acc, out = f"vector<{self.m}x{self.n}xf32>", f"vector<{self.m}x{self.n}x{self.result}>"
        narrow = "" if self.result == "f32" else f"%narrow = arith.truncf %y : {acc} to {out}"
        return f"""tile.kernel @product(
    %a: memref<?x?x{self.dtype}> {{tile.name = "A", tile.dims = ["{a0}", "{a1}"]}},
    %b: memref<?x?x{self.dtype}> {{tile.name = "B", tile.dims = ["{b0}", "{b1}"]}},
    %c: memref<?x?x{self.result}> {{tile.name = "C", tile.dims = ["M", "N"], tile.output = "once"}})
    attributes {{chip = "sm_90a", grid = [#tile.extent<"M" by {self.m}>, #tile.extent<"N" by {self.n}>]}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant {self.m} : index
  %n = arith.constant {self.n} : index
  %step = arith.constant {self.k} : index
  %zero = arith.constant dense<0.0> : {acc}
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %m : index
  %col = arith.muli %tn, %n : index
  %k = memref.dim %a, {"%c0" if self.transpose_a else "%c1"} : memref<?x?x{self.dtype}>
  %sum = scf.for %i = %c0 to %k step %step iter_args(%acc = %zero) -> ({acc}) {{
    %ta = tile.load %a[{at[a0]}, {at[a1]}] : memref<?x?x{self.dtype}> -> {ta}
    %tb = tile.load %b[{at[b0]}, {at[b1]}] : memref<?x?x{self.dtype}> -> {tb}
    %next = tile.mma {a}, {b} acc %acc : {ta}, {tb} -> {acc}
    scf.yield %next : {acc}
  }}
  %y = arith.maximumf %sum, %zero : {acc}
  {narrow}
  tile.store %{"narrow" if narrow else "y"}, %c[%row, %col] : {out}, memref<?x?x{self.result}>
}}
"""

    def check(self, folder: Path, seeds=(0, 1)):
        """Compiles and simulates the product with all checks, and compares it with numpy's. Raises AssertionError."""
        kernel = gpu.compile(self.text(), folder, options=["--from=tile"])
        rng = np.random.default_rng(0)
        m, n, k = SIZES.values()
        a, b = (rng.standard_normal(shape).astype(gpu.DTYPES[self.dtype]) for shape in ((m, k), (k, n)))
        operands = {"A": a.T.copy() if self.transpose_a else a, "B": b.T.copy() if self.transpose_b else b}
        (c,) = gpu.simulate(kernel, operands, ["C"], seeds=seeds)
        exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
        assert abs(c.astype(np.float64) - exact).max() <= BOUNDS[self.result] * exact.max()
