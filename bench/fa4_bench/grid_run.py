# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correctness grid of forward attention, or with --gradient of its gradient: compiles each
form of the op once, simulates FlashAttention's test sizes with all checks, and holds the results to
its rule. Exit status 1 when a case fails, 2 when nothing could be run.

Results are kept in build/grid. With --resume, a case is not run again if its
result is there, of the same kernel, simulator and seeds; shards that ran
elsewhere are joined by copying their results-*.jsonl to that folder."""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import re
import sys
import time
import zlib
from dataclasses import replace

from fa4_bench import gradient_grid
from fa4_testing import gpu, grid, results
from fa4_testing.cpu import CompileError, ToolNotFoundError
from fa4_testing.revision import digest

SCHEDULES = {"quick": 2, "full": 4}


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


class Kernels:
    """Compiles each form once. A form that cannot be compiled has a message instead of
    a kernel."""

    def __init__(self, cases, folder, options):
        self.folder, self.options = folder, options
        self.simulator = "card" if options.card else digest(gpu.find_tool("fa4-sim"))
        self.made, self.refused, self.digests = {}, {}, {}
        ops = grid_of(options).operations(cases)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for op, result in zip(ops, pool.map(self.compile, ops)):
                if isinstance(result, str):
                    self.refused[op] = result
                    continue
                self.made[op] = result
                files = result.ptx if options.gradient else [result.ptx]
                self.digests[op] = digest(*files, result.manifest)

    def folder_of(self, op):
        name = f"{zlib.crc32(repr(op).encode()):08x}" if self.options.gradient else op.name
        return self.folder / self.options.chip / name

    def compile(self, op):
        folder, own = self.folder_of(op), self.options.options
        if self.options.card:
            return self.find(folder)
        try:
            if self.options.compile_only:
                return self.compile_for_card(op, folder)
            if self.options.gradient:
                return replace(op, chip=self.options.chip, options=(*op.options, *own)).compile(folder)
            return gpu.compile(op.mlir(), folder, self.options.chip, options=[*op.options, *own])
        except CompileError as error:
            return str(error)

    def compile_for_card(self, op, folder):
        """Compiles to cubins, beside the files that `find` reads; leaves no PTX there, which is larger. Gradients may spill, as
        where they are simulated."""
        compile = gpu.compile_launches if self.options.gradient else gpu.compile
        made = compile(op.mlir(), folder, self.options.chip, emit="ptx,cubin",
                       options=["--allow-spills"] * self.options.gradient + [*op.options, *self.options.options])  # fmt: skip
        for path in folder.glob("*.ptx"):
            path.write_text("")
        (folder / "manifest").write_text(made.manifest.name)
        return made

    def find(self, folder):
        """The kernel that --compile-only has left in a folder."""
        name = folder / "manifest"
        if not name.is_file():
            return f"{folder} has no kernel: it is made by --compile-only, on a machine with fa4-compile"
        manifest = folder / name.read_text()
        if self.options.gradient:
            return gpu.Launches(manifest, tuple(sorted(folder.glob("*.cubin"))))
        return gpu.Kernel(manifest, manifest.with_suffix(".cubin"), manifest.with_suffix(".cubin"))

    def key(self, case):
        """Returns everything besides the case on which a result depends."""
        options = self.options
        return [self.digests.get(case.op), self.simulator, options.seeds, options.data_seed, options.chip]


# ---------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------


def results_file(folder, options):
    index, count = options.shard
    return folder / (f"results-{index}-of-{count}.jsonl" if count > 1 else "results.jsonl")


def read_results(folder, kernels, cases):
    """Maps each case to its last result with these kernels."""
    wanted = {str(case): case for case in cases}
    found = {}
    files = sorted(folder.glob("results*.jsonl"), key=os.path.getmtime)
    for line in (line for file in files for line in file.read_text().splitlines()):
        try:
            result = json.loads(line)
        except ValueError:
            continue  # The end of a run that was broken off.
        case = wanted.get(result["case"])
        if case and result["key"] == kernels.key(case):
            found[case] = result
    return found


def run_one(case, kernel, key, options):
    started = time.monotonic()
    result = {"case": str(case), "key": key}
    try:
        outcome = grid_of(options).run_case(case, kernel, options.seeds, options.data_seed, options.timeout)
        result |= {name: list(getattr(outcome, name)) for name in outcome._fields}
    except (gpu.SimulationError, AssertionError) as error:
        result["error"] = str(error)
    return result | {"seconds": time.monotonic() - started}


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------


def ratio(result):
    """Returns the error of out, or the largest one of a gradient, as a fraction of the allowed one."""
    errors = [result[name] for name in ("out", "dq", "dk", "dv") if name in result]
    return max(error / bound if bound else 0.0 for error, _, bound in errors)


def table(cases, results):
    """Makes a table with a line for each form and choice of heads."""
    groups = {}
    for case in cases:
        groups.setdefault((case.head_dim, case.mask, case.dtype, case.heads), []).append(case)
    lines = [
        "| head dim | mask | dtype | heads | cases | passed | error / allowed, worst | of | LSE error, worst |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for group, members in sorted(groups.items()):
        done = [(case, results[case]) for case in members if case in results]
        good = [(case, result) for case, result in done if "error" not in result]
        worst, of, lse = "-", "-", "-"
        if good:
            case, result = max(good, key=lambda pair: ratio(pair[1]))
            worst = f"{ratio(result):.2f}"
            of = f"{case.pair[0]} x {case.pair[1]} {case.inputs}"
            lse = f"{max(result['lse'][0] for _, result in good):.1e}"
        lines.append(f"| {' | '.join(map(str, group))} | {len(members)} | {len(good)} | {worst} | {of} | {lse} |")
    return "\n".join(lines)


def page(cases, done, options, commit):
    """Returns the page. `done`: case -> its result; `commit`: the one that was measured."""
    failed = [case for case in cases if "error" in done.get(case, {})]
    command = "./bench/grid" + (" --quick" if options.quick else "") + " --write"
    state = f"{len(cases) - len(failed) - missing(cases, done)} of {len(cases)} cases passed on {options.chip}"
    if absent := missing(cases, done):
        state += f", {absent} were not run"
    text = results.head("The correctness grid", state, command, commit) + f"""\
Each case is simulated with all checks under {options.seeds} schedules; the {len(grid.INPUTS)} kinds of input of a form and
size have {options.seeds * len(grid.INPUTS)} different ones. A case passes if there is no finding, if
max |out - float64| <= 2 max |same dtype - float64| + floor (FlashAttention's rule), and if the LSE is within 1e-3 and
the rounding of f32. Rows that see no key are those of causal masks where Sq > Sk.

- Kinds of input: {', '.join(grid.INPUTS)}.
- Layouts: {', '.join(grid.LAYOUTS)}.
- Heads (query, key/value): {', '.join(f'{name} {pair[0]}, {pair[1]}' for name, pair in grid.HEADS.items())}.
- Where Sq Sk > {grid.QUICK_WORK}, in one of the layouts: {', '.join(f'{name} {pair[0]}, {pair[1]}' for name, pair in grid.LARGE_HEADS.items())}.

{table(cases, done)}
"""
    if failed:
        text += "\n## Failures\n\n"
        text += "\n".join(f"- `{case}`: {done[case]['error'].splitlines()[0]}" for case in failed[:20])
        text += f"\n- and {len(failed) - 20} more" if len(failed) > 20 else ""
        text += "\n"
    return text


def missing(cases, results):
    return sum(case not in results for case in cases)


# ---------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------


def parse_shard(text):
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"expected I/N with 1 <= I <= N, got {text}")
    return int(match[1]), int(match[2])


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="grid", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes, any two parameter values together once")
    add("--gradient", action="store_true", help="the grid of the gradient")
    add("--pairs", action="store_true", help="kernels of pairs of CTAs, of the forms that have them")
    add("--wide", action="store_true", help="head dims above 128")
    add("--chip", default="sm_100a")
    add("--case", metavar="REGEX", help="only cases whose name has a match, e.g. hd128-causal-bf16")
    add("--shard", type=parse_shard, default=(1, 1), metavar="I/N", help="the I-th of N parts of the cases")
    add("--resume", action="store_true", help="only what has no result yet")
    add("--write", action="store_true", help="write bench/results/grid.md from all results that are there; the tree must have no changes")
    add("--seeds", type=int, help="schedules of each case (default: 4, --quick: 2)")
    add("--data-seed", type=int, default=0, help="of the inputs")
    add("--jobs", type=int, default=os.cpu_count())
    add("--timeout", type=float, default=900, help="seconds a case")
    add("--compile-only", action="store_true", help="only compile to build/grid, for a machine with a card")
    add("--card", action="store_true", help="run on the first GPU what --compile-only has made, in place of simulating it; with --chip=sm_90a")
    add("--dry-run", action="store_true", help="only say how many cases, and how long they take")
    add("--verbose", action="store_true", help="a line for each case")
    add("--options", nargs=argparse.REMAINDER, default=[], help="for fa4-compile")
    options = parser.parse_args(argv)
    options.seeds = options.seeds or SCHEDULES["quick" if options.quick else "full"]
    if options.card:
        options.seeds = 1
    if options.card and (options.chip != "sm_90a" or options.write):
        parser.error("--card is for --chip=sm_90a, whose cards are at hand, and writes no page")
    if options.write and (options.gradient or options.pairs or options.wide):
        parser.error("--write is for the grid of forward attention with head dims up to 128")
    if options.gradient and options.pairs and options.wide:
        parser.error("--pairs is for head dims up to 128 of gradients: those above have pairs by themselves")
    return options


def grid_of(options):
    return gradient_grid if options.gradient else grid


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.1f} min"


def estimate(cases, options):
    total = sum(case.seconds(options.seeds) for case in cases)
    return f"{len(cases)} cases, about {hours(total / options.jobs)} with {options.jobs} processes"


def make_pool(options):
    """Processes that run cases: with fa4-sim, or all on one card, where they start with nothing of this one's CUDA."""
    if not options.card:
        return concurrent.futures.ProcessPoolExecutor(options.jobs)
    from fa4_bench.hopper import card

    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context, initializer=card.take_over)


def run_all(cases, kernels, folder, options):
    """Runs the cases that are left, and prints a line for each failure."""
    done = read_results(folder, kernels, cases) if options.resume else {}
    todo = [case for case in cases if case not in done and case.op in kernels.made]
    print(estimate(todo, options) + (f"; {len(done)} are there already" if done else ""), flush=True)
    file = results_file(folder, options)
    started = shown = time.monotonic()
    finished = 0
    with (
        open(file, "a" if options.resume else "w") as out,
        make_pool(options) as pool,
    ):
        running = {
            pool.submit(run_one, case, kernels.made[case.op], kernels.key(case), options): case
            for case in todo
        }
        for future in concurrent.futures.as_completed(running):
            result, finished = future.result(), finished + 1
            out.write(json.dumps(result) + "\n")
            out.flush()
            if "error" in result:
                print(f"FAILED {result['case']}: {result['error']}", flush=True)
            elif options.verbose:
                lse = f"LSE {result['lse'][0]:.1e}, " if "lse" in result else ""
                print(f"ok     {result['case']} {ratio(result):.2f} of the allowed error, "
                      f"{lse}{result['seconds']:.1f} s", flush=True)  # fmt: skip
            if time.monotonic() > shown + 30:
                shown = time.monotonic()
                print(f"  ... {finished} of {len(todo)} after {hours(shown - started)}", flush=True)


def main(argv=None):
    # The grid is about numbers; test_ptxas and the kernels' own tests look for spills.
    os.environ.setdefault("FA4_VERIFY_PTX", "0")
    options = parse_arguments(argv)
    try:
        commit = results.clean_commit() if options.write else ""
    except results.DirtyTreeError as error:
        print(f"grid: {error}", file=sys.stderr)
        return 2
    cases_of = grid_of(options)
    choose = cases_of.quick_cases if options.quick else cases_of.full_cases
    values = cases_of.PARAMETERS | (cases_of.PAIRED if options.pairs else {}) | (cases_of.WIDE if options.wide else {})
    if options.chip == "sm_90a" and not options.gradient:
        values |= grid.HOPPER
    try:
        everything = choose(values, options.pairs)
    except ToolNotFoundError as error:
        print(f"grid: {error}", file=sys.stderr)
        return 2
    cases = [case for case in everything if not options.case or re.search(options.case, str(case))]
    cases = cases[options.shard[0] - 1 :: options.shard[1]]
    if options.dry_run or not cases:
        print(estimate(cases, options))
        return 0 if cases else 2
    folder = gpu.ROOT / "build" / "grid" / ("gradient-" * options.gradient + "pairs-" * options.pairs + "wide-" * options.wide + ("quick" if options.quick else "full"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        kernels = Kernels(everything if options.write else cases, folder, options)
    except ToolNotFoundError as error:
        print(f"grid: {error}", file=sys.stderr)
        return 2
    for op, message in kernels.refused.items():
        print(f"FAILED {op if options.gradient else op.name}: {message}", flush=True)
    if options.compile_only:
        print(f"{len(kernels.made)} kernels are in {folder}, {len(kernels.refused)} were refused")
        return 1 if kernels.refused else 0
    run_all(cases, kernels, folder, options)
    done = read_results(folder, kernels, cases)
    failed = [case for case in cases if "error" in done.get(case, {"error": "not compiled"})]
    passed = len(cases) - len(failed)
    if passed:
        worst = max((case for case in cases if case not in failed), key=lambda case: ratio(done[case]))
        print(f"worst error: {ratio(done[worst]):.2f} of what is allowed, {worst}")
    how = "on a card" if options.card else f"{options.seeds} schedules each"
    print(f"{passed} of {len(cases)} cases passed on {options.chip}, {how}")
    if options.write:
        results.write("grid", page(everything, read_results(folder, kernels, everything), options, commit))
        print("wrote bench/results/grid.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
