# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of static-vs-fa4, which starts this: registers, spills, and the loops
of FlashAttention-4's kernels and of ours, from one ptxas and one nvdisasm.

The bars are FlashAttention-4's own figures, of the cubin that it ships (CuTe-DSL
assembles it); what ptxas makes of its PTX here is printed beside. For the
comparison our kernel emulates as many exponentials as FlashAttention-4's; what
fa4-compile does by default is printed, too, and must not spill."""
import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import gpu, sass
from fa4_testing.cpu import CompileError, ToolNotFoundError

KERNELS = ("hd64-full", "hd64-causal", "hd128-full", "hd128-causal")


@dataclass
class Figures:
    registers: int | None = None
    spills: int | None = None  # bytes stored and loaded
    stack: int | None = None
    instructions: int = 0
    softmax: float | None = None  # per 128 elements
    ex2: float | None = None
    emulated: int | None = None
    masked: float | None = None  # per 128 elements
    mma: float | None = None  # per 32 MMAs


def assemble(ptxas, ptx, cubin, chip):
    """What ptxas says of registers, spills and stack."""
    try:
        said = gpu.assemble(ptx, chip, ptxas, cubin)
    except CompileError as error:
        sys.exit(f"static-vs-fa4: {error}")
    return Figures(said.registers, said.spill_stores + said.spill_loads, said.stack)


def disassemble(nvdisasm, cubin, figures):
    text = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    Path(cubin).with_suffix(".sass").write_text(text)
    function = max(sass.parse(text), key=len)
    figures.instructions = len(function)
    # A kernel may have a loop for each of several roles: the worst one counts.
    loops = sass.exponential_loops(function)
    if plain := [loop for loop in loops if not loop.masked]:
        main = max(plain, key=lambda loop: loop.instructions)
        figures.softmax, figures.ex2, figures.emulated = main.instructions, main.ex2, main.emulated
    figures.masked = max((loop.instructions for loop in loops if loop.masked), default=None)
    if loops := sass.mma_loops(function):
        most = max(mmas for _, mmas in loops)
        figures.mma = max(32 * instructions / mmas for instructions, mmas in loops if mmas == most)
    return figures


def ours(kernel, folder, options, more, emulated=None):
    """Figures of what fa4-compile makes of the op."""
    head_dim, mask = re.fullmatch(r"hd(\d+)-(full|causal)", kernel).groups()
    op = gpu.Op(head_dim=int(head_dim), mask=mask)
    flags = [f"--exp-fraction={emulated / 128}"] if emulated is not None else []
    try:
        compiled = gpu.compile(op.mlir(), folder, options.chip, "ptx", ["--verify-ptx=false", *flags, *more])
    except (CompileError, ToolNotFoundError) as error:
        sys.exit(f"static-vs-fa4: {kernel}: {error}")
    figures = assemble(options.ptxas, compiled.ptx, compiled.cubin, options.chip)
    return disassemble(options.nvdisasm, compiled.cubin, figures)


def theirs(kernel, folder, options):
    """Figures of FlashAttention-4: as shipped, and by the ptxas of this run."""
    folder.mkdir(parents=True)
    shipped, here = folder / "shipped.cubin", folder / "here.cubin"
    shipped.write_bytes(Path(options.theirs, kernel + ".cubin").read_bytes())
    figures = assemble(options.ptxas, f"{options.theirs}/{kernel}.ptx", here, "sm_100a")
    return (disassemble(options.nvdisasm, shipped, Figures()),
            disassemble(options.nvdisasm, here, figures))


COLUMNS = [("regs", "registers"), ("spills", "spills"), ("stack", "stack"), ("softmax/128", "softmax"),
           ("ex2", "ex2"), ("emulated", "emulated"), ("masked/128", "masked"), ("MMA loop/32", "mma"),
           ("kernel", "instructions")]


def show(value):
    return "-" if value is None else f"{value:.0f}"


def row(name, figures):
    cells = (f"{show(getattr(figures, field)):>{max(len(head), 6)}}" for head, field in COLUMNS)
    print(f"{name:36}" + " ".join(cells), flush=True)


def local_memory(kernel, mine):
    yield f"{kernel}: spilled bytes", mine.spills, 0
    yield f"{kernel}: stack bytes", mine.stack, 0


def bars(kernel, fa4, mine):
    """(what, ours, at most) for each bar of one kernel."""
    yield f"{kernel}: softmax loop, {fa4.emulated} emulated", mine.softmax, fa4.softmax
    if fa4.masked is not None:
        yield f"{kernel}: masked block", mine.masked, fa4.masked
    yield f"{kernel}: MMA loop per 32 MMAs", mine.mma, fa4.mma
    # As many emulated as asked for, or the comparison is none.
    yield f"{kernel}: MUFU.EX2 per 128", mine.ex2, fa4.ex2


def judge(rows):
    """Prints the bars; whether all are met."""
    print(f"\n{'bar':44} {'ours':>7} {'FA4':>7} {'ratio':>6}")
    good = True
    for what, value, limit in rows:
        met = value is not None and value <= limit
        good &= met
        ratio = f"{value / limit:6.3f}" if value is not None and limit else f"{'':6}"
        missing = "not found" if value is None else "MISSED"
        print(f"{what:44} {show(value):>7} {show(limit):>7} {ratio}  {'ok' if met else missing}")
    return good


def main():
    parser = argparse.ArgumentParser(prog="static-vs-fa4", description=__doc__.split("\n\n")[0])
    parser.add_argument("--theirs", required=True, help="folder that compile_fa4.py has written")
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--nvdisasm", required=True)
    parser.add_argument("--chip", default="sm_100a")
    parser.add_argument("--kernel", action="append", choices=KERNELS, help="only this one")
    parser.add_argument("--keep", help="folder for PTX, cubins and SASS")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="for fa4-compile")
    options = parser.parse_args()
    version = subprocess.run([options.ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    print("ptxas", re.search(r"V[\d.]+", version)[0], "for both; FlashAttention-4 4.0.0b36\n")
    print(f"{'':36}" + " ".join(f"{head:>6}" for head, _ in COLUMNS))
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        folder = Path(options.keep or scratch)
        rows = []
        for kernel in options.kernel or KERNELS:
            shipped, here = theirs(kernel, folder / kernel / "fa4", options)
            row(f"{kernel} FA4 as shipped", shipped)
            row(f"{kernel} FA4, this ptxas", here)
            mine = ours(kernel, folder / kernel / "same", options, options.options, shipped.emulated)
            row(f"{kernel} ours, as many emulated", mine)
            default = ours(kernel, folder / kernel / "default", options, options.options)
            row(f"{kernel} ours, default", default)
            rows += [*local_memory(kernel, mine), *local_memory(f"{kernel}, default", default)]
            rows += bars(kernel, shipped, mine)
        good = judge(rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
