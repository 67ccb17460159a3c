# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's passes between the levels of a kernel. Other compilers run
canonicalization, CSE and the like wherever they please; after any of them, at
any level, a kernel must still verify, be proven, compile, and compute the same
numbers. `bench/passes` is the command line.

A *trial* is a kernel and what runs at each of its levels: in the table one
pass at one level, in random trials several passes at several levels. The
kernel is compiled level by level, with the passes in between. If the PTX is
another than without them, it is simulated with all checks. What it writes must
be what the plain kernel writes, bit by bit; or, where a pass has changed what a
heuristic counts or how the op's mask is said, be as close to float64 as the plain
kernel has to be."""

import argparse
import concurrent.futures
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fa4_testing import gpu
from fa4_testing.programs import forms
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Failed, Program, Sizes, compare
from fa4_testing.programs.tile_programs import GRADIENTS, TileProgram, gradient, tile_programs
from fa4.reference import Mask
from fa4.tools import missing_tool

# What upstream lets run anywhere.
PASSES = (
    "canonicalize", "cse", "sccp", "loop-invariant-code-motion", "control-flow-sink",
    "symbol-dce", "remove-dead-values",
)  # fmt: skip
PROOF = "tile.kernel(tile-verify-protocol)"
# From the first level with roles to the last that has any.
PROVEN = ("warp-specialize", "unroll")
SEEDS = (0, 1)


# What a trial may come to.
SAME_PTX, SAME_BITS, CLOSE = VERDICTS = ("same PTX", "same bits", "close")


class Refused(Exception):
    """A trial that failed; the first word says where."""


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Attention:
    """An `attn.sdpa` or its gradient, and a call of it."""

    name: str
    program: Program | Gradient
    start: str = "op"  # the level of the text

    @property
    def text(self):
        return self.program.mlir()

    @property
    def chip(self):
        return self.program.chip

    @property
    def options(self):
        return self.program.options

    @property
    def first(self):
        """The first level at which passes run. Canonicalization of an op drops captures
        that no region uses, and the manifest numbers those that are left."""
        used = repr((self.program.score, self.program.visible))
        all_used = all(f"('capture', {n}," in used for n in range(len(self.program.captures)))
        return "op" if all_used else "tile"

    @property
    def is_gradient(self):
        return isinstance(self.program, Gradient)

    def simulate(self, kernel, seeds):
        if self.is_gradient:
            return self.program.simulate(kernel, self.program.draw_with(0), seeds)
        arrays = self.program.draw(0)
        dtypes = {"out": arrays[0].dtype, "lse": np.dtype(np.float32)}
        return gpu.simulate(
            kernel,
            dict(zip("qkv", arrays)) | self.program.vectors(),
            {name: dtypes[name] for name in self.program.results},
            seeds=seeds,
            options=["--threads", "1", *self.program.call(kernel)],
        )

    def check(self, results):
        if self.is_gradient:
            self.program.check(self.program.draw_with(0), results)
        else:
            compare(self.program, [results], self.program.draw(0))


# On pairs of CTAs: an odd number of work tiles or an even one, one of them, clusters that go on to others, by
# request too; loops that both CTAs make, with keys that one of them does not see or none does.
PAIRED = {
    "hd64": Program(head_dim=64, sizes=Sizes(1, 600, 200, 1, 1)),
    "hd64, causal, static": Program(head_dim=64, mask=Mask.causal("bottom_right"), sizes=Sizes(1, 800, 500), options=("--schedule=static",)),
    "hd128, window, lpt": Program(head_dim=128, mask=Mask("top_left", 140, 130), sizes=Sizes(1, 500, 400), dtype="f16", options=("--schedule=lpt",)),
    "hd128, softcap, clc": Program(head_dim=128, sizes=Sizes(1, 600, 200, 2, 1), options=("--schedule=clc",), **forms.SCORE_MODS["softcap"]),
    "hd128, one block": Program(head_dim=128, sizes=Sizes(1, 100, 128), static=forms.ALL),
    "hd192, clc": Program(head_dim=192, head_dim_v=128, sizes=Sizes(1, 600, 200), options=("--schedule=clc",)),
    "hd192, causal, mask_mod": Program(head_dim=192, head_dim_v=128, mask=Mask.causal("top_left"), sizes=Sizes(1, 300, 290), **forms.MASK_MODS["blocks"]),
    "hd256, causal, static": Program(head_dim=256, mask=Mask.causal("top_left"), sizes=Sizes(1, 400, 300), options=("--schedule=static",)),
    "hd256, no keys": Program(head_dim=256, mask=Mask("top_left", None, -200), sizes=Sizes(1, 330, 100)),
    "gradient": Gradient(head_dim=64, sizes=Sizes(1, 140, 300, 1, 2)),
    "gradient, causal, clc": Gradient(head_dim=64, mask=Mask.causal("bottom_right"), sizes=Sizes(1, 200, 600), options=("--schedule=clc",)),
    "gradient, hd128": Gradient(head_dim=128, sizes=Sizes(1, 140, 300), **forms.SCORE_MODS["softcap"]),
    "gradient, hd128, deterministic": Gradient(head_dim=128, mask=Mask.causal("top_left"), sizes=Sizes(1, 300, 390), deterministic=True),
    "gradient, hd96, static, deterministic": Gradient(head_dim=96, mask=Mask("bottom_right", 150, 20), sizes=Sizes(1, 300, 600), deterministic=True, options=("--schedule=static",)),
    "gradient, hd192": Gradient(head_dim=192, head_dim_v=128, mask=Mask.causal("bottom_right"), sizes=Sizes(1, 140, 260)),
}  # fmt: skip


def paired() -> list:
    """The kernels on pairs of CTAs: those of ops, and the main kernels of gradients as tile programs."""
    on = ("--pairs=on",)
    found = [Attention(f"pairs-{name}", replace(form, options=(*form.options, *on))) for name, form in PAIRED.items()]
    return found + [gradient(dim, 200, 300, f"pairs-main-hd{dim}", file, options=on) for dim, file in GRADIENTS.items()]


def kernels() -> list:
    """All kernels of the tests: each form of the op, and tile programs that are no
    attention."""
    found = [
        Attention(name, Program(**(forms.DEFAULT | changes))) for name, changes in forms.CASES.items()
    ]
    for dtype, head_dim in (("bf16", 128), ("f16", 64)):
        for mask in gpu.MASKS:
            sizes = Sizes(1, 140, 300, 1, 2)
            program = Program(dtype=dtype, head_dim=head_dim, mask=gpu.MASKS[mask], sizes=sizes)
            found.append(Attention(f"plain-{mask}-hd{head_dim}-{dtype}", program))
    for keys, mask in ((256, "full"), (384, "causal")):
        # Canonicalization unrolls loops of one pass, which pipelines leave of short ones.
        sizes = Sizes(1, 140, keys, 1, 2)
        program = Program(head_dim=128, mask=gpu.MASKS[mask], sizes=sizes, static=forms.ALL)
        found.append(Attention(f"static-{mask}-{keys}", program))
    found += tile_programs()
    return found + paired()


# A mask in the loop's bounds and in its blocks, regions and captures, a short and a
# long row, no loop at all, no attention, roles in which much may move, CTAs that go on from
# tile to tile, pairs of CTAs that do so, exchange halves and take turns.
QUICK = (
    "plain-causal-hd128-bf16", "mask-with score_mod", "score-scaled by a capture", "gemm", "late-uses",
    "layout-one static block, causal", "heads-hd 32, f16, causal", "gradient",
    "gradient-hd128", "schedule-static, causal", "schedule-clc, full",
    "pairs-hd192, clc", "pairs-hd64, causal, static", "pairs-main-hd128", "pairs-gradient, hd128, deterministic",
)  # fmt: skip


# ---------------------------------------------------------------------------
# Levels
# ---------------------------------------------------------------------------


@functools.cache
def levels() -> tuple[str, ...]:
    """From the op to the LLVM dialect, as fa4-compile names them; before the last
    one what tile-to-nvvm leaves, which the same level turns into LLVM's dialect."""
    *above, last = gpu.levels()
    return ("op", *above, "tile-to-nvvm", last)


def step(before: str, after: str, kernel) -> str:
    """The passes from one level to the next, as text for --pass-pipeline."""
    if after == "tile-to-nvvm":
        return "tile-to-nvvm"
    if before == "tile-to-nvvm":
        return "convert-nvvm-to-llvm,reconcile-unrealized-casts"
    # Kernels say themselves which chip they are for.
    start = f"chip={kernel.chip}" if before == "op" else f"from={before}"
    given = (option.removeprefix("--") for option in kernel.options)
    return f"attn-to-nvvm{{{' '.join([start, f'to={after}', *given])}}}"


def is_proven(level: str) -> bool:
    first, last = map(levels().index, PROVEN)
    return first <= levels().index(level) <= last


@dataclass(frozen=True)
class Trial:
    """What runs at which level: (level, passes) in the levels' order."""

    inserted: tuple

    def __str__(self):
        return "; ".join(f"{level}: {', '.join(passes)}" for level, passes in self.inserted)

    def pipeline(self, start, stop, kernel):
        """From the level of the file to the last one."""
        inserted = dict(self.inserted)
        parts, all = [], levels()
        for number in range(all.index(start), all.index(stop) + 1):
            level = all[number]
            if level != start:
                parts.append(step(all[number - 1], level, kernel))
            if level in inserted:
                parts += inserted[level]
                parts += [PROOF] if is_proven(level) else []
        return f"builtin.module({','.join(parts)})"


def table_trials(stop="nvvm", start="op") -> list[Trial]:
    all = levels()
    return [
        Trial(((level, (name,)),))
        for level in all[all.index(start) : all.index(stop) + 1]
        for name in PASSES
    ]


def draw_trial(rng, stop="nvvm", start="op") -> Trial:
    """Up to four passes at each of some levels, some of them inside the kernel."""
    all = levels()
    inserted = []
    for level in all[all.index(start) : all.index(stop) + 1]:
        if rng.random() < 0.4:
            continue
        names = [str(name) for name in rng.choice(PASSES, rng.integers(1, 5))]
        if level not in ("op", "tile-to-nvvm", "nvvm"):
            names = [f"tile.kernel({name})" if rng.random() < 0.3 else name for name in names]
        inserted.append((level, tuple(names)))
    return Trial(tuple(inserted))


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


def fa4_opt(source: Path, target: Path, pipeline: str):
    """Raises Refused with the tool's message."""
    command = [gpu.find_tool("fa4-opt"), source, f"--pass-pipeline={pipeline}", "-o", target]
    done = subprocess.run(
        [*command, "--mlir-print-op-on-diagnostic=false"], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        message = done.stderr.strip()[:1500]
        raise Refused(f"fa4-opt ({done.returncode}): {message}")


class Subject:
    """A kernel without any pass in between: the file of each level, and what it
    writes."""

    def __init__(self, kernel, folder: Path):
        self.kernel, self.folder = kernel, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.files = {kernel.start: folder / f"{kernel.start}.mlir"}
        self.files[kernel.start].write_text(kernel.text)
        self.simulated = {}  # digest of the PTX -> verdict
        self._lower()
        self.stop = list(self.files)[-1]
        plain = self.compile(self.files[self.stop], folder / "plain")
        self.results = kernel.simulate(plain, SEEDS)
        kernel.check(self.results)
        self.simulated[self.digest(plain)] = SAME_PTX

    def _lower(self):
        """Makes the file of each level, without further passes."""
        all, first = levels(), levels().index(self.kernel.start)
        for before, after in zip(all[first:], all[first + 1 :]):
            target = self.folder / f"{after}.mlir"
            fa4_opt(self.files[before], target, f"builtin.module({step(before, after, self.kernel)})")
            self.files[after] = target

    def compile(self, file, folder):
        try:
            # Numbers are judged here; registers are where kernels are compiled as users do.
            options = ["--from=nvvm", "--verify-ptx=false"]
            return gpu.compile_any(file.read_text(), folder, self.kernel.chip, options=options)
        except gpu.CompileError as error:
            raise Refused(f"fa4-compile: {error}") from None

    @staticmethod
    def digest(kernel):
        return hashlib.sha256(b"".join(path.read_bytes() for path in gpu.ptx_files(kernel))).hexdigest()

    def run(self, trial: Trial) -> str:
        """One of SAME_PTX, SAME_BITS, CLOSE. Raises Refused."""
        first = trial.inserted[0][0]
        with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
            source = self.files[first]
            if len(trial.inserted) == 1:
                # Passes that change nothing have no need of what comes behind them.
                source = Path(scratch, "passed.mlir")
                fa4_opt(self.files[first], source, trial.pipeline(first, first, self.kernel))
                if source.read_text() == self.files[first].read_text():
                    return SAME_PTX
                trial = Trial(())  # They have run, and have been proven.
            lowered = Path(scratch, "lowered.mlir")
            fa4_opt(source, lowered, trial.pipeline(first, self.stop, self.kernel))
            if lowered.read_text() == self.files[self.stop].read_text():
                return SAME_PTX
            made = self.compile(lowered, Path(scratch, "ptx"))
            digest = self.digest(made)
            if digest not in self.simulated:
                self.simulated[digest] = self._judge(made)
        verdict = self.simulated[digest]
        if verdict not in VERDICTS:
            raise Refused(verdict)
        return verdict

    def _judge(self, made):
        """SAME_BITS, CLOSE, or what is wrong with the kernel."""
        try:
            results = self.kernel.simulate(made, SEEDS)
        except gpu.SimulationError as error:
            return f"simulate: {error}"
        if all(results[name].tobytes() == plain.tobytes() for name, plain in self.results.items()):
            return SAME_BITS
        # Of what is no attention, no pass changes the work that is counted.
        if isinstance(self.kernel, TileProgram):
            return "compare: other numbers"
        try:
            self.kernel.check(results)
        except AssertionError as error:
            return f"compare: {error}"
        return CLOSE


# ---------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    kernel: str
    trial: Trial
    verdict: str = ""  # of VERDICTS; empty: it failed
    error: str = ""


def run_kernel(kernel, of_table: slice, drawn: int, seed: int, folder: Path) -> list[Outcome]:
    """The trials of the table that `of_table` takes, and `drawn` random ones."""
    place = folder / re.sub(r"\W+", "-", kernel.name)
    try:
        subject = Subject(kernel, place)
    except (Refused, Failed, gpu.SimulationError, AssertionError) as error:
        return [Outcome(kernel.name, Trial(()), error=f"without passes: {error}")]
    trials = table_trials(subject.stop, kernel.first)[of_table]
    for number in range(drawn):
        rng = np.random.default_rng([seed, zlib.crc32(kernel.name.encode()), number])
        trials.append(draw_trial(rng, subject.stop, kernel.first))
    outcomes = []
    for trial in trials:
        try:
            outcomes.append(Outcome(kernel.name, trial, verdict=subject.run(trial)))
        except (Refused, subprocess.TimeoutExpired) as error:
            outcomes.append(Outcome(kernel.name, trial, error=str(error)))
    shutil.rmtree(place)
    return outcomes


def run_named(name: str, *arguments) -> list[Outcome]:
    """run_kernel of the kernel of that name, for another process: kernels hold functions."""
    return run_kernel(next(kernel for kernel in kernels() if kernel.name == name), *arguments)


def quick(number: int) -> slice:
    """Of the table, for the kernel of this number in QUICK: all of them together run
    each pass at each level about once."""
    return slice(number, None, len(QUICK))


def table(outcomes: Sequence[Outcome]) -> str:
    """Of each pass at each level, how many trials came to each of VERDICTS, and how
    many failed."""
    counts = {}
    for outcome in outcomes:
        if len(outcome.trial.inserted) == 1:
            of = counts.setdefault(outcome.trial.inserted[0], Counter())
            of[outcome.verdict] += 1
    heads = {"loop-invariant-code-motion": "licm", "control-flow-sink": "sink", "remove-dead-values": "dead-values"}
    lines = [f"{'level':<16}" + "".join(f" {heads.get(name, name):>14}" for name in PASSES)]
    for level in levels():
        cells = []
        for name in PASSES:
            of = counts.get((level, (name,)), Counter())
            text = "/".join(str(of[verdict]) for verdict in VERDICTS) if of else "-"
            cells.append(text + (f" {of['']} FAILED" if of[""] else ""))
        lines.append(f"{level:<16}" + "".join(f" {cell:>14}" for cell in cells))
    return "\n".join(lines)


def parse(words):
    parser = argparse.ArgumentParser(prog="passes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a cross-section, as in the tests")
    parser.add_argument("--kernel", metavar="REGEX", default="", help="only kernels whose name has a match")
    parser.add_argument("--random", type=int, metavar="N", help="random trials of each kernel (default: 10, --quick: 2)")
    parser.add_argument("--seed", type=int, default=0, help="of the random trials (default: 0)")
    parser.add_argument("--no-table", action="store_true", help="random trials only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: processors)")
    options = parser.parse_args(words)
    if options.random is None:
        options.random = 2 if options.quick else 10
    return options


def run_all(chosen, options, folder):
    """Yields the outcomes of one kernel after another."""
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = []
        for number, kernel in enumerate(chosen):
            of_table = slice(0, 0) if options.no_table else quick(number) if options.quick else slice(None)
            arguments = (kernel.name, of_table, options.random, options.seed, folder)
            running.append(pool.submit(run_named, *arguments))
        for future in concurrent.futures.as_completed(running):
            yield future.result()


def main(words=None):
    options = parse(words)
    if missing := missing_tool("fa4-compile", "fa4-opt", "fa4-sim"):
        print(f"passes: {missing}", file=sys.stderr)
        return 2
    chosen = [
        kernel
        for kernel in kernels()
        if re.search(options.kernel, kernel.name) and (not options.quick or kernel.name in QUICK)
    ]
    started, outcomes = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="fa4-passes-") as scratch:
        for some in run_all(chosen, options, Path(scratch)):
            outcomes += some
            for outcome in some:
                if outcome.error:
                    print(f"FAILED {outcome.kernel}, {outcome.trial}: {outcome.error}", flush=True)
    print(table(outcomes))
    failed = sum(bool(outcome.error) for outcome in outcomes)
    counts = Counter(outcome.verdict for outcome in outcomes if not outcome.error)
    several = sum(len(outcome.trial.inserted) > 1 for outcome in outcomes)
    print(f"a cell: trials with {', with '.join(VERDICTS)}")
    print(f"{len(outcomes)} trials of {len(chosen)} kernels, {several} of them at several levels, "
          f"{time.monotonic() - started:.0f} s: {', '.join(f'{counts[v]} {v}' for v in VERDICTS)}, {failed} failed")  # fmt: skip
    return 1 if failed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
