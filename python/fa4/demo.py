# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile an MLIR file that has one attn.sdpa to a GPU kernel, run its PTX in the
simulator on random input, and hold the result to the float64 reference. Then the
same on the CPU path, which serves as the op's executable definition."""

import argparse
import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from fa4 import cpu, gpu, reference
from fa4.grid import LSE_TOLERANCE

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "causal_gqa.mlir"
# Where the kernel's files go; emptied first.
FOLDER = gpu.ROOT / "build" / "demo"
# What the demo keeps of the way down.
LEVELS = ("tile", "warp-specialize", "schedule", "allocate", "nvvm")
# Simulated orders of asynchronous work for each call.
SCHEDULES = 3
# For sizes that neither the file nor --sizes gives.
SIZES = {"B": 1, "Sq": 256, "Sk": 256, "Hq": 8, "Hkv": 2, "D": 64, "Dv": 64}
# One compiled kernel runs all of them.
CALLS = [{}, {"B": 2, "Sq": 100, "Sk": 333}, {"Sq": 33, "Sk": 20}]


class DemoError(Exception):
    """The demo cannot run the file, or not with this option."""


def parse_sizes(text):
    """Parses sizes such as 'B=2,Sq=100' to a dict."""
    sizes = dict(re.findall(r"(\w+)=(\d+)(?=,|$)", text))
    if not sizes.keys() <= SIZES.keys() or len(sizes) != len(text.split(",")):
        known = ", ".join(SIZES)
        raise argparse.ArgumentTypeError(f"expected NAME=N,... of {known}, got {text}")
    return {name: int(n) for name, n in sizes.items()}


def find_form(text):
    """Returns the reference's keywords for the attn.sdpa in `text`, or None if the op
    is no plain one."""
    text = re.sub(r"//.*", "", text)
    ops = re.findall(r"attn\.sdpa\b(.*?):", text, flags=re.DOTALL)
    if len(ops) != 1 or "attn.sdpa_backward" in text or "attn.yield" in text:
        raise DemoError("needs exactly one attn.sdpa, without regions")
    clauses = re.findall(r"(\w+)\s*(?=[<(])", ops[0])
    if unknown := set(clauses) - {"layout", "mask", "scale"}:
        raise DemoError(f"cannot make up operands for {', '.join(sorted(unknown))}")
    form = {"layout": re.search(r"layout<(\w+)>", ops[0])[1]}
    if mask := re.search(r"mask<(.*?)>", ops[0]):
        bounds = {n: int(x) for n, x in re.findall(r"(\w+) = (-?\d+)", mask[1])}
        if "causal" in mask[1]:
            bounds["right"] = 0
        form["mask"] = reference.Mask(mask[1].split(",")[-1].strip(), **bounds)
    if scale := re.search(r"scale\((.*?)\)", ops[0]):
        form["scale"] = float(scale[1])
    return form


def bind_sizes(function, layout, given):
    """Returns all sizes: those of the types first, then `given`, then the defaults."""
    if len(function.arguments) != 3 or len(function.results) not in (1, 2):
        raise DemoError("the function must take q, k, v and return out or out, lse")
    sizes = SIZES | given
    names = [{"b": "B", "s": "Sq", "h": "Hq", "d": "D"},
             {"b": "B", "s": "Sk", "h": "Hkv", "d": "D"},
             {"b": "B", "s": "Sk", "h": "Hkv", "d": "Dv"}]  # fmt: skip
    letters = [[name[c] for c in layout] for name in names]
    for argument, axes in zip(function.arguments, letters):
        sizes |= {axis: n for axis, n in zip(axes, argument.shape) if n is not None}
    shapes = [tuple(sizes[axis] for axis in axes) for axes in letters]
    return sizes, shapes


def draw(function, form, given, rng):
    """Draws random q, k, v for one call, and prints its sizes."""
    sizes, shapes = bind_sizes(function, form["layout"], given)
    print(", ".join(f"{name} = {n}" for name, n in sizes.items()))
    return [
        rng.standard_normal(shape).astype(cpu.dtype_of(argument.element))
        for shape, argument in zip(shapes, function.arguments)
    ]


def check(results, inputs, form, lse_tolerance=0.0):
    """Prints a line for each result. Returns whether all of them are near enough to the
    reference."""
    exact = reference.sdpa(*inputs, **form)
    near = reference.sdpa_same_dtype(*inputs, out_dtype=results[0].dtype, **form)
    good = True
    for name, result, ref, pt in zip(("out", "lse"), results, exact, near):
        floor = reference.rounding_floor(ref, result.dtype)
        floor += lse_tolerance if name == "lse" else 0.0
        try:
            errors = reference.check(result, ref, pt, name, floor)
            print(
                f"  {name} {str(result.shape):20} {result.dtype!s:9}"
                f" max error {errors.out:.2e}, allowed {errors.bound:.2e}: ok"
            )
        except AssertionError as error:
            print(f"  {error}: FAILED")
            good = False
    return good


def timed(call, *arguments, **options):
    """Returns the call's result, and the seconds that the call took."""
    start = time.perf_counter()
    result = call(*arguments, **options)
    return result, time.perf_counter() - start


# ---------------------------------------------------------------------------
# The two ways
# ---------------------------------------------------------------------------


def heading(text):
    print(f"\n== {text} ==\n")


def compile_for_gpu(text, chip):
    """Compiles the kernel. Returns the kernel with the compiler's tables, and how long
    each step took."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    kernel, seconds = timed(gpu.compile, text, FOLDER, chip, "ptx", ["--verify-ptx=false"])
    took = f"op to PTX for {chip} in {seconds:.2f} s"
    wanted = [*LEVELS, "ptx"]
    if gpu.find_ptxas():
        wanted.append("cubin")
    kernel, seconds = timed(
        gpu.compile, text, FOLDER, chip, ",".join(wanted), ["--report"]
    )
    if "cubin" in wanted:
        return kernel, f"{took}, to the cubin in {seconds:.2f} s (whole processes)"
    return kernel, f"{took} (the whole process); no cubin, as there is no ptxas here"


def show_kernel(kernel, took):
    """Prints the compiler's decisions and the files that it wrote."""
    print(kernel.report.rstrip())
    print(f"\nin {kernel.ptx.parent}, some of the levels and what came out:")
    for suffix in (*(f".{level}.mlir" for level in LEVELS), ".ptx", ".json", ".cubin"):
        file = kernel.ptx.with_suffix(suffix)
        if file.exists():
            print(f"  {file.stat().st_size:9,} bytes  {file.name}")
    print(took)


def run_on_gpu(text, functions, form, options, rng):
    """Compiles to PTX and simulates. Returns whether all calls are near enough to the
    reference, or None if the op has no kernel."""
    try:
        kernel, took = compile_for_gpu(text, options.chip)
    except cpu.CompileError as error:
        print(f"{error}\n\nno GPU kernel for this op (see docs/support-matrix.md)")
        return None
    heading("what the compiler decided")
    show_kernel(kernel, took)
    heading("the PTX in the simulator, with all checks, against float64")
    good = True
    for given in options.sizes or CALLS:
        inputs = draw(functions[0], form, given, rng)
        names = ("out", "lse")[: len(functions[0].results)]
        dtypes = (cpu.dtype_of(result.element) for result in functions[0].results)
        try:
            results, seconds = timed(
                gpu.simulate,
                kernel,
                dict(zip("qkv", inputs)),
                dict(zip(names, dtypes)),
                seeds=(0, SCHEDULES - 1),
            )
        except gpu.SimulationError as error:
            print(f"  {error}: FAILED")
            good = False
            continue
        print(
            f"  {SCHEDULES} schedules in {seconds:.1f} s:"
            " no race, no missing fence, no hang"
        )
        # The special function unit's logarithm; the op's dtype has no say in it.
        good &= check(
            [results[name] for name in names], inputs, form, LSE_TOLERANCE
        )
    return good


def run_on_cpu(function, form, calls, rng):
    good = True
    for given in calls:
        inputs = draw(function, form, given, rng)
        results, seconds = timed(function, *inputs)
        print(f"  ran in {seconds:.3f} s")
        results = results if isinstance(results, tuple) else (results,)
        good &= check(results, inputs, form)
    return good


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m fa4.demo", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE,
                        help="default: docs/examples/causal_gqa.mlir")  # fmt: skip
    parser.add_argument("--sizes", type=parse_sizes, action="append", metavar="NAME=N,...",
                        help=f"sizes of a call, of {', '.join(SIZES)}; may be repeated")  # fmt: skip
    parser.add_argument("--chip", default="sm_100a", help="sm_100a or sm_103a")
    parser.add_argument("--seed", type=int, help="of the random input")
    parser.add_argument("--fa4-opt", help="path of fa4-opt")
    parser.add_argument("--llvm-bin", help="folder of LLVM's tools")
    options = parser.parse_args(argv)
    seed = np.random.SeedSequence().entropy % 2**32
    seed = seed if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    try:
        text = options.file.read_text()
        heading("the op")
        print(f"{options.file}:\n\n{text}")
        tools = cpu.Tools.find(options.fa4_opt, options.llvm_bin)
        module, seconds = timed(cpu.compile, options.file, tools=tools)
        form = find_form(text)
        functions = list(module.functions.values())
        if len(functions) != 1:
            raise DemoError(f"needs one function, found {len(functions)}")
        good = run_on_gpu(text, functions, form, options, rng)
        heading("the CPU path, against the same reference")
        print(f"compiled in {seconds:.2f} s")
        # One call tells as much as several where the kernel has been checked.
        calls = options.sizes or (CALLS if good is None else CALLS[1:2])
        good = run_on_cpu(functions[0], form, calls, rng) and good is not False
    except OSError as error:
        print(f"fa4.demo: {options.file}: {error.strerror}", file=sys.stderr)
        return 1
    except (DemoError, cpu.ToolNotFoundError, cpu.CompileError) as error:
        print(f"fa4.demo: {options.file}: {error}", file=sys.stderr)
        return 1
    print(
        "\nallowed is FlashAttention's rule: max |x - float64| <= 2 max |same dtype -"
        f" float64|\n(the kernel's lse: {LSE_TOLERANCE:g} more). Seed {seed}"
    )
    print("all results are within it" if good else "FAILED: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
