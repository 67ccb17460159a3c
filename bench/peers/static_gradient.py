# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of static-vs-fa4 --gradient, which starts this: the loop of the
gradient's main kernel in machine code per 64 elements, registers, spills and
stack, beside FlashAttention-4's. One ptxas assembles both.

An element becomes a P and a dS, which one F2FP converts in pairs of two: 64 F2FP
are 64 elements. FlashAttention-4's loop is one way for all blocks; ours has a
way without selects for blocks that are not masked, and both are held to it."""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from static_vs_fa4 import judge

from fa4_testing import gpu, sass
from fa4_testing.cpu import CompileError, ToolNotFoundError
from fa4_testing.programs.forms import capped
from fa4_testing.programs.mods import S, f32
from fa4_bench.timing import versus_gradient
from fa4_bench.timing.shapes import GRADIENTS, SOFTCAPS, choose


@dataclass
class Figures:
    registers: int
    spills: int  # bytes stored and loaded
    stack: int
    plain: float | None = None  # instructions per 64 elements
    masked: float | None = None

    @property
    def loop(self):
        """The shortest way through the loop."""
        return min((each for each in (self.plain, self.masked) if each is not None), default=None)


def worst(loops):
    """(plain, masked): the longest way of each kind among a kernel's loops, or None."""
    kinds = ([loop.instructions for loop in loops if loop.masked == masked] for masked in (False, True))
    return tuple(max(kind, default=None) for kind in kinds)


def figures(ptx, folder, options):
    """Figures of the file's only kernel, or of its longest."""
    cubin = folder / (ptx.stem + ".cubin")
    said = gpu.assemble(ptx, "sm_100a", options.ptxas, cubin)
    text = subprocess.run([options.nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    function = max(sass.parse(text), key=len)
    plain, masked = worst(sass.exponential_loops(function))
    return Figures(said.registers, said.spill_stores + said.spill_loads, said.stack, plain, masked)


def bars(kernel, theirs, mine):
    """(what, ours, at most) for each bar; `theirs` is {name: Figures}."""
    yield f"{kernel}: spilled bytes", mine.spills, 0
    yield f"{kernel}: stack bytes", mine.stack, 0
    for name, fa4 in theirs.items():
        yield f"{kernel}: loop, beside {name}", mine.loop, fa4.loop
        if mine.masked is not None and fa4.masked is not None:
            yield f"{kernel}: masked block, beside {name}", mine.masked, fa4.masked


def row(name, found):
    cells = (found.registers, found.spills, found.stack, found.plain, found.masked)
    return f"{name:32}" + " ".join(f"{'-' if cell is None else format(cell, '.0f'):>9}" for cell in cells)


def compare(shape, folder, options):
    """Prints the rows of a kernel; returns its bars."""
    folder.mkdir()
    kernel = f"hd{shape.head_dim}-{shape.mask}"
    theirs = {}
    for launched in shape.launches:
        main = options.records / launched.name / "launch-1.ptx"
        theirs["FA4, pairs" if launched.pairs else "FA4, one CTA"] = figures(main, folder, options)
    ours = versus_gradient.compile_form(shape.head_dim, shape.mask, folder, options.options, head_dim_v=shape.value_dim)
    main = next(ptx for ptx in ours.ptx if ptx.stem == "gradient_kernel")
    mine = figures(main, folder, options)
    for name, found in [*theirs.items(), ("ours", mine)]:
        print(row(f"{kernel} {name}", found), flush=True)
    small = {ptx.stem: figures(ptx, folder, options) for ptx in ours.ptx if ptx != main}
    # Lanes of a pair arrive at the other CTA's mbarriers: as those of the same kind do.
    held_to = {name: fa4 for name, fa4 in theirs.items() if name == "FA4, pairs"} if "cta_group::2" in main.read_text() else theirs
    rows = list(bars(kernel, held_to, mine))
    for name, found in small.items():
        rows += [(f"{kernel}: {name}, spilled and stack", found.spills + found.stack, 0)]
    return rows


def compare_softcap(launched, folder, options):
    """The same with capped scores. Ours derives the gradient of the score_mod; FlashAttention-4's is written by hand."""
    kernel = f"hd{launched.head_dim}-{launched.mask}-softcap"
    theirs = figures(options.records / launched.name / "launch-1.ptx", folder, options)
    score = capped(S, f32(launched.softcap))
    ours = versus_gradient.compile_form(launched.head_dim, launched.mask, folder, options.options, score=score)
    mine = figures(next(ptx for ptx in ours.ptx if ptx.stem == "gradient_kernel"), folder, options)
    print(row(f"{kernel} FA4, one CTA", theirs))
    print(row(f"{kernel} ours", mine), flush=True)
    # The tanh of theirs has selects, as masks have: whichever way its loop is told.
    return [*bars(kernel, {}, mine), (f"{kernel}: loop, beside FA4, one CTA", mine.loop, theirs.loop)]


def main():
    parser = argparse.ArgumentParser(prog="static-vs-fa4 --gradient", description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--ptxas", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--nvdisasm", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--gradient", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="for fa4-compile")
    options = parser.parse_args()
    print(f"{'per 64 elements':32}" + " ".join(f"{head:>9}" for head in ("regs", "spills", "stack", "loop", "masked")))
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        rows = []
        for shape in choose("-4k$", False, GRADIENTS):
            rows += compare(shape, Path(scratch, shape.name), options)
        for launched in SOFTCAPS:
            Path(scratch, launched.name).mkdir()
            rows += compare_softcap(launched, Path(scratch, launched.name), options)
    return 0 if judge(rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CompileError, ToolNotFoundError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"static-vs-fa4: {error}")
