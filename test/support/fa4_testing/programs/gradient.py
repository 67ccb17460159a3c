# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of `attn.sdpa_backward` in any form that has kernels, from its text to the
comparison of what the simulator wrote with float64.

    gradient = Gradient(head_dim=64, sizes=Sizes(2, 7, 300, 4, 2), mask=Mask.causal("top_left"))
    gradient.run(Path("out"))        # compiled, simulated, compared
"""

import itertools
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4 import reference
from fa4_testing import gpu, grid
from fa4_testing.programs import mods
from fa4_testing.programs.program import QUERY_LISTS, STAGES, Failed, Form, clauses_of, seeds_by_policy, without_spills


@dataclass(frozen=True)
class Gradient(Form):
    """A call of `attn.sdpa_backward`."""

    dlse: bool = False
    dsinks: bool = False
    deterministic: bool = False
    wrt: tuple = ()  # Numbers of the captures whose gradients are results.

    # -- Text ----------------------------------------------------------------

    def element(self, operand):
        if operand.startswith("dcapture"):
            return "f32"
        return super().element(operand)

    @property
    def beside(self):
        return super().beside + QUERY_LISTS * bool(self.lists)

    @property
    def operands(self):
        return ("q", "k", "v", "out", "dout", "lse") + ("dlse",) * self.dlse + self.beside

    @property
    def results(self):
        return ("dq", "dk", "dv") + ("dsinks",) * self.dsinks + self.dcaptures

    @property
    def dcaptures(self):
        return tuple(f"dcapture{n}" for n in self.wrt)

    def mlir(self):
        isBuffer = self.kind == "memref"
        arguments = [f"%{x}: {self.type(x)}" for x in self.operands + self.results * isBuffer]
        arguments += [f"%c{n}: {type}" for n, (type, _) in enumerate(self.captures)]
        dlse = f" dlse(%dlse : {self.type('dlse')})" if self.dlse else ""
        clauses = clauses_of(self.layout, self.mask, self.scale) + " deterministic" * self.deterministic
        clauses += self.beside_clauses()
        clauses += self.captures_clause() + (f" wrt [{', '.join(map(str, self.wrt))}]" if self.wrt else "")
        types = ", ".join(self.type(x) for x in self.results)
        given = ", ".join(self.type(x) for x in self.operands[:6])
        op = f"attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse){dlse} {clauses}"
        head = f"func.func @gradient({', '.join(arguments)})"
        if isBuffer:
            names = ", ".join(f"%{x}" for x in self.results)
            return f"{head} {{\n  {op}\n    outs({names} : {types})\n    : {given}{self.regions()}\n  return\n}}\n"
        count = len(self.results)
        names = ", ".join(f"%g#{n}" for n in range(count))
        body = f"%g:{count} = {op}\n    : {given}\n    -> {types}{self.regions()}\n  return {names} : {types}"
        return f"{head} -> ({types}) {{\n  {body}\n}}\n"

    # -- Numbers -------------------------------------------------------------

    def draw(self, rng):
        """Returns the operands, {name: array}. `out` and `lse` are those of the forward op; the
        gradient of an LSE of -inf is 0."""
        dtype = gpu.DTYPES[self.dtype]
        given = {x: rng.standard_normal(self.shape(x)).astype(dtype) for x in ("q", "k", "v", "dout")}
        grid.hide_keys(self.layout, given | self.arrays_beside())
        out, lse = reference.sdpa(given["q"], given["k"], given["v"], **self.form())
        given |= {"out": out.astype(dtype), "lse": lse.astype(np.float32)} | self.arrays_beside() | self.vectors()
        if self.lists:
            given |= self.lists.query_arrays(self.sizes, given, rng)
        if self.dlse:
            dlse = rng.standard_normal(lse.shape).astype(np.float32)
            given["dlse"] = np.where(np.isfinite(lse), dlse, np.float32(0))
        return given

    def derivative(self):
        """The same of gradients alone."""
        if self.score is None:
            return {}
        return {
            "score_mod_grad": mods.derivative_function(self.score),
            "capture_grad": mods.capture_derivative_function(self.score),
        }

    def check(self, given, results):
        """FlashAttention's rule. Returns name -> `reference.Errors`. Raises AssertionError."""
        call = [given[x] for x in ("q", "k", "v", "dout")]
        form = self.form() | self.derivative() | {"dlse": given.get("dlse")}
        exact = reference.sdpa_backward(*call, **form)
        narrow = reference.sdpa_backward_same_dtype(*call, **form)
        if self.dsinks:
            # Sums in f32 of what was given: too few numbers for a rule about the largest error.
            said = reference.sdpa_backward(*call, out=given["out"], lse=given["lse"], **form).dsinks
            reference.check_rounded(results["dsinks"], said, 1e-5 * (1 + np.abs(said).max()), "dsinks")
        if self.wrt:
            self.check_captures(results, reference.sdpa_backward(*call, **form, wrt=self.wrt, out=given["out"], lse=given["lse"]))
        return {
            name: reference.check(results[name], getattr(exact, name), getattr(narrow, name).astype(np.float64), name)
            for name in ("dq", "dk", "dv")
        }

    def check_captures(self, results, said):
        """Sums in f32 of what was given: too few numbers for a rule about the largest error. Each row's sum is
        exact up to a few units of f32 in its terms, and up to kinks that lie within the rounding errors of scores."""
        of_each = zip(self.dcaptures, said.dcaptures, said.capture_slopes, said.capture_doubts, strict=True)
        for name, expected, slope, doubts in of_each:
            assert np.isfinite(doubts).all(), f"{name}: the reference has no bound of what a kink may change"
            allowed = 2e-5 * max(1, slope) * self.sizes.b * self.sizes.sq + doubts
            reference.check_rounded(results[name], expected, allowed, name)

    # -- Running -------------------------------------------------------------

    def compile(self, folder: Path):
        """A kernel may spill. Raises CompileError."""
        options = ["--verify-ptx=false", *self.options]
        return gpu.compile_launches(self.mlir(), folder, self.chip, options=options)

    def simulate(self, launches, given, seeds=(0, 0), policy="random", timeout=None, threads=1, check=True):
        """Simulates under each seed, unless told otherwise with all checks, and returns what the last run
        wrote, {name: array}. `threads` work on CTAs at the same time. Raises SimulationError."""
        options = ["--threads", str(threads), f"--policy={policy}", *self.call(launches)]
        # What no kernel reads is not in the manifest.
        tensors = json.loads(launches.manifest.read_text())["tensors"]
        read = {name: array for name, array in given.items() if name in tensors}
        results = gpu.simulate(launches, read, self.results, seeds=seeds, check=check, options=options, timeout=timeout)
        return dict(zip(self.results, results))

    def check_order(self, launches, given, runs, timeout=None):
        """Whether a deterministic gradient has the bits of all `runs` and of one more, in which asynchronous work
        is done early and several CTAs are at work. Raises AssertionError or SimulationError."""
        if not self.deterministic:
            return
        first, *others = [*runs, self.simulate(launches, given, policy="eager", timeout=timeout, threads=3, check=False)]
        for name, other in itertools.product(self.results, others):
            bits = [np.ascontiguousarray(x[name]).view(f"u{x[name].itemsize}") for x in (first, other)]
            differing = np.count_nonzero(bits[0] != bits[1])
            assert not differing, f"{differing} of {bits[0].size} elements of {name} have other bits in another order"

    def run(self, folder: Path, seeds=(0, 0), seed=0):
        """Compiles to `folder`, simulates, and compares. Raises CompileError, SimulationError or AssertionError."""
        launches = self.compile(folder)
        given = self.draw_with(seed)
        return self.check(given, self.simulate(launches, given, seeds))

    def draw_with(self, seed):
        return self.draw(np.random.default_rng([seed, zlib.crc32(repr(self).encode())]))


def run(
    gradient: Gradient,
    folder: Path,
    seeds: tuple[int, int] = (0, 1),
    ptxas: bool = False,
    data_seed: int = 0,
    timeout: float | None = 300,
    text: str | None = None,
    until: str = STAGES[-1],
):
    """As `fa4_testing.programs.program.run`, of a gradient, whose protocols are proven by fa4-compile. Raises Failed."""
    last = STAGES.index(until)

    def compile(option):
        return gpu.compile_launches(text or gradient.mlir(), folder, gradient.chip, options=[option, *gradient.options])

    try:
        launches = compile("--verify-ptx=false")
    except gpu.CompileError as error:
        raise Failed("compile", str(error)) from None
    spills = ""
    if ptxas and last >= STAGES.index("ptxas"):
        launches, spills = without_spills(launches, compile, gradient.chip)
    if last < STAGES.index("simulate"):
        return
    given = gradient.draw_with(data_seed)
    try:
        runs = [gradient.simulate(launches, given, drawn, policy, timeout) for policy, drawn in seeds_by_policy(seeds)]
        gradient.check_order(launches, given, runs, timeout)
        for results in runs if text is None else ():
            gradient.check(given, results)
    except gpu.SimulationError as error:
        raise Failed("simulate", str(error)) from None
    except AssertionError as error:
        raise Failed("compare", str(error)) from None
    if spills:
        raise Failed("spills", spills)
