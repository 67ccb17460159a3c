# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile an MLIR file that has one attn.sdpa, and maybe its gradient, attn.sdpa_backward, to GPU
kernels, run their PTX in the simulator on random input, and hold the results to the float64
reference. Then the same on the CPU path, which serves as the ops' executable definition."""

import argparse
import json
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fa4 import reference
from fa4_testing import cpu, gpu
from fa4_testing.grid import LSE_TOLERANCE

_FOLDER = Path(__file__).parents[3] / "docs" / "examples"
EXAMPLES = (_FOLDER / "causal_gqa.mlir", _FOLDER / "training_step.mlir")
# Where the kernels' files go, in a folder for each input; emptied first.
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


@dataclass(frozen=True)
class Task:
    """What a function computes. `form` has the reference's keywords. A training step
    (`has_gradient`) also takes dout, and also returns dq, dk and dv."""

    form: dict
    has_gradient: bool

    @property
    def arguments(self):
        return ("q", "k", "v", "dout") if self.has_gradient else ("q", "k", "v")

    def results(self, function):
        """Returns the names of the function's results. Raises DemoError if the function does not
        have the task's arguments and results."""
        gradients = ("dq", "dk", "dv") if self.has_gradient else ()
        forms = [("out", *gradients), ("out", "lse", *gradients)]
        for names in forms:
            if len(names) == len(function.results) and len(function.arguments) == len(self.arguments):
                return names
        returned = " or ".join(", ".join(names) for names in forms)
        raise DemoError(f"the function must take {', '.join(self.arguments)} and return {returned}")


def find_form(clauses):
    """Returns the reference's keywords for the clauses of an op, a dict of name -> text."""
    form = {"layout": clauses["layout"]}
    if "mask" in clauses:
        bounds = {n: int(x) for n, x in re.findall(r"(\w+) = (-?\d+)", clauses["mask"])}
        if "causal" in clauses["mask"]:
            bounds["right"] = 0
        form["mask"] = reference.Mask(clauses["mask"].split(",")[-1].strip(), **bounds)
    if "scale" in clauses:
        form["scale"] = float(clauses["scale"])
    return form


def find_task(text):
    """Reads the ops of the module `text`: one attn.sdpa, and maybe its gradient."""
    text = re.sub(r"//.*", "", text)
    ops = re.findall(r"attn\.(sdpa|sdpa_backward)\b(.*?):", text, flags=re.DOTALL)
    kinds = [kind for kind, _ in ops]
    if kinds not in (["sdpa"], ["sdpa", "sdpa_backward"]) or "attn.yield" in text:
        raise DemoError("needs exactly one attn.sdpa, at most one attn.sdpa_backward behind it, and no regions")
    forms = []
    for kind, op in ops:
        clauses = {name: angle or round_ for name, angle, round_ in re.findall(r"(\w+)\s*(?:<(.*?)>|\((.*?)\))", op)}
        operands = {"out", "dout", "lse"} if kind == "sdpa_backward" else set()
        if unknown := set(re.findall(r"(\w+)\s*(?=[<(])", op)) - {"layout", "mask", "scale"} - operands:
            raise DemoError(f"cannot make up operands for {', '.join(sorted(unknown))}")
        forms.append(find_form(clauses))
    if forms[0] != forms[-1]:
        raise DemoError("the layout, mask and scale of attn.sdpa_backward must be those of attn.sdpa")
    return Task(forms[0], len(ops) == 2)


def bind_sizes(function, layout, given):
    """Returns all sizes, those of the types first, then `given`, then the defaults, and the shapes of
    the arguments."""
    sizes = SIZES | given
    names = [{"b": "B", "s": "Sq", "h": "Hq", "d": "D"},
             {"b": "B", "s": "Sk", "h": "Hkv", "d": "D"},
             {"b": "B", "s": "Sk", "h": "Hkv", "d": "Dv"},
             {"b": "B", "s": "Sq", "h": "Hq", "d": "Dv"}]  # fmt: skip
    letters = [[name[c] for c in layout] for name in names]
    for argument, axes in zip(function.arguments, letters):
        sizes |= {axis: n for axis, n in zip(axes, argument.shape) if n is not None}
    shapes = [tuple(sizes[axis] for axis in axes) for axes in letters]
    return sizes, shapes


def draw(function, task, given, rng):
    """Draws random arguments for one call, and prints its sizes. Returns name -> array."""
    sizes, shapes = bind_sizes(function, task.form["layout"], given)
    print(", ".join(f"{name} = {n}" for name, n in sizes.items()))
    return {
        name: rng.standard_normal(shape).astype(cpu.dtype_of(argument.element))
        for name, shape, argument in zip(task.arguments, shapes, function.arguments)
    }


def references(results, inputs, task):
    """Returns the float64 results and those of the same dtype, each as name -> array."""
    q, k, v, *dout = inputs.values()
    exact = dict(zip(("out", "lse"), reference.sdpa(q, k, v, **task.form)))
    near = dict(zip(("out", "lse"), reference.sdpa_same_dtype(q, k, v, out_dtype=results["out"].dtype, **task.form)))
    if task.has_gradient:
        exact |= reference.sdpa_backward(q, k, v, *dout, **task.form)._asdict()
        near |= reference.sdpa_backward_same_dtype(q, k, v, *dout, **task.form)._asdict()
    return exact, near


def check(results, inputs, task, lse_tolerance=0.0):
    """Prints a line for each of `results`, name -> array. Returns whether all of them are near
    enough to the reference."""
    exact, near = references(results, inputs, task)
    good = True
    for name, result in results.items():
        floor = reference.rounding_floor(exact[name], result.dtype)
        floor += lse_tolerance if name == "lse" else 0.0
        try:
            errors = reference.check(result, exact[name], near[name], name, floor)
            print(
                f"  {name:3} {str(result.shape):20} {result.dtype!s:9}"
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


def wanted_files():
    """Returns what fa4-compile is to emit: levels, PTX, and the cubin where there is a ptxas."""
    return (*LEVELS, "ptx", *(["cubin"] if gpu.find_ptxas() else []))


def compile_for_gpu(text, task, folder, chip):
    """Compiles the kernels to `folder`. Returns them, and how long each step took."""
    shutil.rmtree(folder, ignore_errors=True)
    fast, wanted = ["--verify-ptx=false"], ",".join(wanted_files())
    if task.has_gradient:
        kernel, to_ptx = timed(gpu.compile_launches, text, folder, chip, fast)
        kernel, to_all = timed(gpu.compile_launches, text, folder, chip, emit=wanted)
    else:
        kernel, to_ptx = timed(gpu.compile, text, folder, chip, options=fast)
        kernel, to_all = timed(gpu.compile, text, folder, chip, wanted, ["--report"])
    took = f"op to PTX for {chip} in {to_ptx:.2f} s"
    if "cubin" in wanted_files():
        return kernel, f"{took}, to the cubin in {to_all:.2f} s (whole processes)"
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


def show_launches(launches, took):
    """Prints the launches and the memory that is theirs alone, as the manifest has them, and the files."""
    manifest = json.loads(launches.manifest.read_text())
    tensors = manifest["tensors"]
    print(f"launches of {launches.manifest.name}, in order:")
    for number, launch in enumerate(manifest["launches"]):
        print(f"  {number}  {launch['entry']}, grid {' x '.join(map(str, launch['grid']))}, {launch['block'][0]} threads")
    print("workspaces, which exist between launches only:")
    for name, tensor in tensors.items():
        if tensor["role"] == "workspace":
            print(f"  {name:10} {tensor['dtype']} [{', '.join(tensor['shape'])}]")
    print(f"\nin {launches.manifest.parent}, the IR of all kernels at some levels, and what came out:")
    for name in launches.written:
        print(f"  {(launches.manifest.parent / name).stat().st_size:9,} bytes  {name}")
    print(took)


def run_on_gpu(text, functions, task, folder, options, rng):
    """Compiles to PTX and simulates. Returns whether all calls are near enough to the
    reference, or None if the op has no kernel."""
    try:
        kernel, took = compile_for_gpu(text, task, folder, options.chip)
    except cpu.CompileError as error:
        print(f"{error}\n\nno GPU kernel for this op (see docs/support-matrix.md)")
        return None
    heading("what the compiler decided")
    (show_launches if task.has_gradient else show_kernel)(kernel, took)
    heading("the PTX in the simulator, with all checks, against float64")
    good = True
    names = task.results(functions[0])
    dtypes = {name: cpu.dtype_of(result.element) for name, result in zip(names, functions[0].results)}
    for given in options.sizes or CALLS:
        inputs = draw(functions[0], task, given, rng)
        try:
            results, seconds = timed(gpu.simulate, kernel, inputs, dtypes, seeds=(0, SCHEDULES - 1))
        except gpu.SimulationError as error:
            print(f"  {error}: FAILED")
            good = False
            continue
        print(
            f"  {SCHEDULES} schedules in {seconds:.1f} s:"
            " no race, no missing fence, no hang"
        )
        # The special function unit's logarithm; the op's dtype has no say in it.
        good &= check(results, inputs, task, LSE_TOLERANCE)
    return good


def run_on_cpu(function, task, calls, rng):
    good = True
    for given in calls:
        inputs = draw(function, task, given, rng)
        results, seconds = timed(function, *inputs.values())
        print(f"  ran in {seconds:.3f} s")
        results = results if isinstance(results, tuple) else (results,)
        good &= check(dict(zip(task.results(function), results)), inputs, task)
    return good


def run_file(file, options, rng):
    """Runs one file both ways. Returns whether all results are near enough to the reference.
    Raises DemoError, or what the compilers raise."""
    text = file.read_text()
    heading("the ops" if "sdpa_backward" in text else "the op")
    print(f"{file}:\n\n{text}")
    tools = cpu.Tools.find(options.fa4_opt, options.llvm_bin)
    module, seconds = timed(cpu.compile, file, tools=tools)
    task = find_task(text)
    functions = list(module.functions.values())
    if len(functions) != 1:
        raise DemoError(f"needs one function, found {len(functions)}")
    task.results(functions[0])
    good = run_on_gpu(text, functions, task, FOLDER / file.stem, options, rng)
    heading("the CPU path, against the same reference")
    print(f"compiled in {seconds:.2f} s")
    # One call tells as much as several where the kernel has been checked.
    calls = options.sizes or (CALLS if good is None else CALLS[1:2])
    return run_on_cpu(functions[0], task, calls, rng) and good is not False


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m fa4_testing.demo", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="file",
                        help="default: causal_gqa.mlir and training_step.mlir of docs/examples")  # fmt: skip
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
    good = True
    for file in options.files or EXAMPLES:
        try:
            good &= run_file(file, options, rng)
        except OSError as error:
            print(f"fa4_testing.demo: {file}: {error.strerror}", file=sys.stderr)
            return 1
        except (DemoError, cpu.ToolNotFoundError, cpu.CompileError) as error:
            print(f"fa4_testing.demo: {file}: {error}", file=sys.stderr)
            return 1
    print(
        "\nallowed is FlashAttention's rule: max |x - float64| <= 2 max |same dtype -"
        f" float64|\n(the kernel's lse: {LSE_TOLERANCE:g} more). Seed {seed}"
    )
    print("all results are within it" if good else "FAILED: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
