# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of `attn.sdpa_backward` in any form that has kernels, from its text to the
comparison of what the simulator wrote with float64.

    gradient = Gradient(head_dim=64, sizes=Sizes(2, 8, 300, 4, 2), mask=Mask.causal("top_left"))
    gradient.run(Path("out"))        # compiled, simulated, compared
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4 import gpu, reference
from fa4.programs.program import ROWS, Sizes, clauses_of, letters_of
from fa4.reference import Mask

RESULTS = ("dq", "dk", "dv")


@dataclass(frozen=True)
class Gradient:
    """One form of the op, and a call. Sizes are dynamic but for the head dim and the
    letters (B, Sq, Sk, Hq, Hkv) in `static`. A launch needs rows of the LSE at
    multiples of 16 bytes, so that `sizes.sq` is a multiple of 4."""

    head_dim: int = 64
    dtype: str = "bf16"
    layout: str = "bshd"
    sizes: Sizes = Sizes()
    mask: Mask | None = None
    scale: float | None = None
    dlse: bool = False
    kind: str = "memref"  # or "tensor"
    static: frozenset = frozenset()
    chip: str = "sm_100a"
    options: tuple = ()

    # -- Text ----------------------------------------------------------------

    def letters(self, operand):
        return letters_of(operand, self.layout)

    def shape(self, operand):
        return self.sizes.shape(self.letters(operand), self.head_dim)

    def type(self, operand):
        static = self.static | {"D"}
        sizes = zip(self.shape(operand), self.letters(operand))
        shape = "".join(f"{size if letter in static else '?'}x" for size, letter in sizes)
        return f"{self.kind}<{shape}{'f32' if operand in ROWS else self.dtype}>"

    @property
    def inputs(self):
        return ("q", "k", "v", "out", "dout", "lse") + ("dlse",) * self.dlse

    def mlir(self):
        isBuffer = self.kind == "memref"
        arguments = ", ".join(f"%{x}: {self.type(x)}" for x in self.inputs + RESULTS * isBuffer)
        clauses = clauses_of(self.layout, self.mask, self.scale)
        types = [self.type(x) for x in RESULTS]
        given = ", ".join(self.type(x) for x in self.inputs[:6])
        dlse = f" dlse(%dlse : {self.type('dlse')})" if self.dlse else ""
        op = f"attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse){dlse} {clauses}"
        if isBuffer:
            listed = ", ".join(f"%{x}" for x in RESULTS)
            body = f"{op}\n    outs({listed} : {', '.join(types)})\n    : {given}\n  return"
            return f"func.func @gradient({arguments}) {{\n  {body}\n}}\n"
        body = f"%g:3 = {op}\n    : {given}\n    -> {', '.join(types)}\n  return %g#0, %g#1, %g#2 : {', '.join(types)}"
        return f"func.func @gradient({arguments}) -> ({', '.join(types)}) {{\n  {body}\n}}\n"

    # -- Numbers -------------------------------------------------------------

    @property
    def form(self):
        return {"layout": self.layout, "mask": self.mask, "scale": self.scale}

    def draw(self, rng):
        """Returns the inputs, {name: array}. `out` and `lse` are those of the forward op; the
        gradient of an LSE of -inf is 0."""
        dtype = gpu.DTYPES[self.dtype]
        given = {x: rng.standard_normal(self.shape(x)).astype(dtype) for x in ("q", "k", "v", "dout")}
        out, lse = reference.sdpa(given["q"], given["k"], given["v"], **self.form)
        given |= {"out": out.astype(dtype), "lse": lse.astype(np.float32)}
        if self.dlse:
            dlse = rng.standard_normal(lse.shape).astype(np.float32)
            given["dlse"] = np.where(np.isfinite(lse), dlse, np.float32(0))
        return given

    def check(self, given, results):
        """FlashAttention's rule. Raises AssertionError."""
        call = [given[x] for x in ("q", "k", "v", "dout")]
        exact = reference.sdpa_backward(*call, dlse=given.get("dlse"), **self.form)
        narrow = reference.sdpa_backward_same_dtype(*call, dlse=given.get("dlse"), **self.form)
        for name in RESULTS:
            reference.check(results[name], getattr(exact, name), getattr(narrow, name).astype(np.float64), name)

    def run(self, folder: Path, seeds=(0, 0), seed=0):
        """Compiles to `folder`, simulates with all checks under each seed, and compares. Raises
        CompileError, SimulationError or AssertionError."""
        launches = gpu.compile_launches(self.mlir(), folder, self.chip, options=self.options)
        given = self.draw(np.random.default_rng([seed, zlib.crc32(repr(self).encode())]))
        results = gpu.simulate(launches, given, RESULTS, seeds=seeds, options=["--threads", "1"])
        self.check(given, dict(zip(RESULTS, results)))
