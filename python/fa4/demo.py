# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile an MLIR file that has one attn.sdpa for the CPU, run it on random
input, and hold the result to the float64 reference."""

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np

from fa4 import cpu, reference

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "causal_gqa.mlir"
# For sizes that neither the file nor --sizes gives.
SIZES = {"B": 1, "Sq": 256, "Sk": 256, "Hq": 8, "Hkv": 2, "D": 64, "Dv": 64}
# One compiled function runs all of them.
CALLS = [{}, {"B": 2, "Sq": 100, "Sk": 333}, {"Sq": 33, "Sk": 20}]


class DemoError(Exception):
    """The file or an option is not what the demo can run."""


def parse_sizes(text):
    """'B=2,Sq=100' as a dict."""
    sizes = dict(re.findall(r"(\w+)=(\d+)(?=,|$)", text))
    if not sizes.keys() <= SIZES.keys() or len(sizes) != len(text.split(",")):
        known = ", ".join(SIZES)
        raise argparse.ArgumentTypeError(f"expected NAME=N,... of {known}, got {text}")
    return {name: int(n) for name, n in sizes.items()}


def find_form(text):
    """The reference's keywords for the attn.sdpa in `text`, if it is a plain one."""
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
    """All sizes: the types' first, then `given`, then the defaults."""
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


def run(function, form, given, rng):
    """One call; prints a line a result, returns whether all are near enough."""
    sizes, shapes = bind_sizes(function, form["layout"], given)
    print(", ".join(f"{name} = {n}" for name, n in sizes.items()))
    q, k, v = (
        rng.standard_normal(shape).astype(cpu.dtype_of(argument.element))
        for shape, argument in zip(shapes, function.arguments)
    )
    start = time.perf_counter()
    results = function(q, k, v)
    print(f"  ran in {time.perf_counter() - start:.3f} s")
    results = results if isinstance(results, tuple) else (results,)
    exact = reference.sdpa(q, k, v, **form)
    near = reference.sdpa_same_dtype(q, k, v, out_dtype=results[0].dtype, **form)
    good = True
    for name, result, ref, pt in zip(("out", "lse"), results, exact, near):
        try:
            errors = reference.check(result, ref, pt, name)
            print(
                f"  {name} {str(result.shape):20} {result.dtype!s:9}"
                f" max error {errors.out:.2e}, allowed {errors.bound:.2e}: ok"
            )
        except AssertionError as error:
            print(f"  {error}: FAILED")
            good = False
    return good


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m fa4.demo", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE,
                        help="default: docs/examples/causal_gqa.mlir")  # fmt: skip
    parser.add_argument("--sizes", type=parse_sizes, action="append", metavar="NAME=N,...",
                        help=f"sizes of a call, of {', '.join(SIZES)}; may be repeated")  # fmt: skip
    parser.add_argument("--seed", type=int, help="of the random input")
    parser.add_argument("--fa4-opt", help="path of fa4-opt")
    parser.add_argument("--llvm-bin", help="folder of LLVM's tools")
    options = parser.parse_args(argv)
    seed = np.random.SeedSequence().entropy % 2**32
    seed = seed if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    try:
        text = options.file.read_text()
        print(f"{options.file}:\n\n{text}")
        tools = cpu.Tools.find(options.fa4_opt, options.llvm_bin)
        start = time.perf_counter()
        module = cpu.compile(options.file, tools=tools)
        print(
            f"compiled for the CPU in {time.perf_counter() - start:.2f} s; seed {seed}"
        )
        form = find_form(text)
        functions = list(module.functions.values())
        if len(functions) != 1:
            raise DemoError(f"needs one function, found {len(functions)}")
        calls = options.sizes or CALLS
        good = [run(functions[0], form, sizes, rng) for sizes in calls]
    except OSError as error:
        print(f"fa4.demo: {options.file}: {error.strerror}", file=sys.stderr)
        return 1
    except (DemoError, cpu.ToolNotFoundError, cpu.CompileError) as error:
        print(f"fa4.demo: {options.file}: {error}", file=sys.stderr)
        return 1
    print("FlashAttention's rule: max |x - float64| <= 2 max |same dtype - float64|")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
