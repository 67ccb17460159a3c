# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation suite: small faults in attention's kernels, in the protocol of
their roles and channels, in the IR of the NVVM dialect and in PTX, and which
layer finds each of them: the operations' rules, the static verifier, the
explorer, the simulator with all checks, numbers, ptxas.

Exit status 1 when a mutant is neither found nor known to be equivalent, when
verifier and explorer disagree, or when the simulator finds something in a mutant
that both accept; 2 when nothing could be run.

What has been judged is kept in build/mutants. With --resume, a text of PTX is not
simulated again if its verdict is there, of the same simulator and calls."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import sys
import threading
import time
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from fa4_testing import gpu, results
from fa4_testing.cpu import CompileError, ToolNotFoundError
from fa4_bench.grid_run import hours
from fa4_testing.mutation import channel_mutants, equivalents, faults, ir_faults, mutants, page
from fa4_testing.mutation.mutants import Outcome, Verdict
from fa4_testing.revision import digest

FOLDER = gpu.ROOT / "build" / "mutants"
LEVELS = page.FAMILIES[""].levels
# One of so many mutants is in the quick sample, which takes the first calls only.
QUICK = {"nvvm": 120, "ptx": 40}
# One of so many of the mutants that the protocol's proof rejects is simulated, too.
REJECTED = 4


class UnknownError(Exception):
    """Not judged: --known, and nobody has done so yet; or it takes ptxas, which is
    not there."""


class Judge:
    """Judges PTX texts of a page.Family, whose module has the calls, and remembers the
    verdicts."""

    def __init__(self, file, options):
        self.family = page.FAMILIES[options.family]
        self.source = source = self.family.source
        self.ptxas = None if options.quick else gpu.find_ptxas()
        if not self.ptxas and not options.quick:
            raise ToolNotFoundError("ptxas not found: it says what register budgets are too small")
        self.calls = source.QUICK_CALLS if options.quick else source.CALLS
        self.phase_calls = self.calls + ([] if options.quick else source.PHASE_CALLS)
        self.column_calls = self.calls + ([] if options.quick else source.COLUMN_CALLS)
        lists = (self.phase_calls, self.column_calls, bool(self.ptxas))
        if options.quick:
            lists += (source.CALLS, source.PHASE_CALLS, source.COLUMN_CALLS)
        self.key = [digest(gpu.find_tool("fa4-sim")), zlib.crc32(repr(lists).encode())]
        self.compiler = digest(gpu.find_tool("fa4-compile"))
        self.only_known = options.known
        self.is_quick = options.quick
        self.explained = options.explained
        self.known, self.lock = {}, threading.Lock()
        self.in_ptx = {}  # Kernel and text -> fault in PTX.
        keep = options.resume or options.known
        for line in file.read_text().splitlines() if keep and file.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # The end of a run that was broken off.
            if entry["key"] in (self.key, None):
                self.known[entry["of"]] = entry["says"]
        self.out = open(file, "a" if keep else "w")

    def _remembered(self, name, compute, simulates=True):
        if name not in self.known:
            if simulates and self.only_known:
                raise UnknownError
            says = compute()
            with self.lock:
                self.known[name] = says
                # What simulates nothing hangs on neither the simulator nor the calls: the name says all.
                key = self.key if simulates else None
                self.out.write(json.dumps({"key": key, "of": name, "says": says}) + "\n")
                self.out.flush()
        return self.known[name]

    def verdict(self, subject, name, text, operator) -> Verdict:
        """`name` is the fingerprint of the text that `text` makes."""
        calls = self.calls
        if operator in mutants.PHASE_OPERATORS:
            calls, name = self.phase_calls, name + "+phases"
        elif operator in mutants.COLUMN_OPERATORS:
            calls, name = self.column_calls, name + "+columns"
        return Verdict(**self._remembered(name, lambda: asdict(subject.judge(text(), calls, self.ptxas))))

    def survivor(self, subject, name, text, operator) -> Verdict:
        """Of a mutant that few calls have not found: what all calls and ptxas say, as
        without --quick. Raises UnknownError where there is no ptxas to ask."""
        if not self.is_quick:
            return Verdict()
        calls = self.source.CALLS
        if operator in mutants.PHASE_OPERATORS:
            calls = calls + self.source.PHASE_CALLS
        elif operator in mutants.COLUMN_OPERATORS:
            calls = calls + self.source.COLUMN_CALLS
        ptxas = gpu.find_ptxas()
        with self.lock:
            subject.prepare(calls)
        says = self._remembered(f"{name}+{len(calls)}", lambda: asdict(subject.judge(text(), calls, ptxas)))
        if not says["layer"] and not ptxas:
            raise UnknownError
        return Verdict(**says)

    def compiled(self, ir, level) -> tuple[str, str]:
        """Returns the fingerprint of a module's PTX, or the compiler's refusal."""
        name = hashlib.sha256(f"{self.compiler} {level} {ir}".encode()).hexdigest()[:16]

        def compile():
            try:
                return mutants.fingerprint(mutants.compile_from(ir, level)), ""
            except CompileError as error:
                return "", str(error).splitlines()[0]

        return tuple(self._remembered(name, compile))

    def channel(self, source, file, options, fences) -> list[channel_mutants.ChannelMutant]:
        """What fa4-mutate says of all mutants of a file."""
        tool = digest(gpu.find_tool("fa4-mutate"))
        name = hashlib.sha256(f"{tool} {fences} {options} {file.read_text()}".encode()).hexdigest()[:16]

        def ask():
            return [vars(m) | {"file": ""} for m in channel_mutants.mutants_of(source, file, *options, fences=fences)]

        return [channel_mutants.ChannelMutant(**m) for m in self._remembered(name, ask, simulates=False)]

    def is_executed(self, subject, fault) -> bool:
        name = mutants.fingerprint("\n".join(fault.trap(subject.lines)))
        return self._remembered(name, lambda: subject.is_executed(fault, self.calls))

    def believes(self, subject, fault) -> bool:
        """Whether a reason that the text gives is enough: of deletions it never is."""
        return fault.operator != "delete" and zlib.crc32(f"{subject.name}:{fault}".encode()) % self.explained != 0

    def ptx(self, subject, fault) -> Verdict:
        text = "\n".join(fault.apply(subject.lines))
        return self.verdict(subject, mutants.fingerprint(text), lambda: text, fault.operator)


# ---------------------------------------------------------------------------
# Faults in texts
# ---------------------------------------------------------------------------


@dataclass
class Kernel:
    """A subject, with everything that is needed to judge its faults."""

    subject: mutants.Subject
    judge: Judge

    @cached_property
    def name(self):
        return mutants.fingerprint("\n".join(self.subject.lines))

    @cached_property
    def context(self):
        file = self.subject.level(mutants.PROTOCOL_LEVELS[0])

        def ask(kind):
            return file, self.subject.entry, self.judge.channel(self.subject.name, file, [kind], fences=False)

        unfenced = channel_mutants.unfenced_of(*ask(channel_mutants.UNFENCED))
        # In PTX few hand-overs of shared memory have fences of tensor memory, which for the verifier they all have.
        waits = channel_mutants.waits_of(*ask(channel_mutants.WEAKENED_UNFENCED if unfenced else channel_mutants.WEAKENED))
        ahead = channel_mutants.waits_of(*ask(channel_mutants.AHEAD))
        return equivalents.Context(self.subject.lines, waits, ahead, unfenced)

    @cached_property
    def deletions(self):
        return {fault.line: fault for fault in faults.faults_of(self.subject.lines, ("delete",))}

    @cached_property
    def ir(self):
        return self.subject.level("nvvm").read_text().split("\n")

    @cached_property
    def in_ptx(self):
        """Line of an operation -> instruction."""
        return ir_faults.in_ptx(self.ir, self.context.units)

    def reason(self, judge, fault):
        """Of a fault in PTX that nothing finds."""
        executed = judge.is_executed(self.subject, fault)
        if edges := equivalents.edges_around(fault, self.context):
            if not any(judge.is_executed(self.subject, replace(fault, line=edge)) for edge in edges):
                self.context.over.add(fault.line)
        release = equivalents.release_behind(fault.line, self.context)
        unawaited = release is not None and not judge.ptx(self.subject, self.deletions[release.line]).layer
        deletion, without = self.deletions.get(fault.line), None
        if deletion and fault.operator != "delete":
            without = judge.ptx(self.subject, deletion).layer
        return equivalents.reason(fault, self.context, executed, without, unawaited)


def judge_ptx(judge, kernel, fault):
    text = "\n".join(fault.apply(kernel.subject.lines))
    name = mutants.fingerprint(text)
    # A mutant of its own, so that none in IR is.
    judge.in_ptx.setdefault((kernel.subject.name, name), fault)
    if judge.believes(kernel.subject, fault) and (reason := equivalents.plain_reason(fault, kernel.context)):
        return _outcome("ptx", kernel, fault, Verdict(), reason)
    verdict = judge.ptx(kernel.subject, fault)
    reason = None if verdict.layer else kernel.reason(judge, fault)
    if not verdict.layer and not reason:
        verdict = judge.survivor(kernel.subject, name, lambda: text, fault.operator)
    return _outcome("ptx", kernel, fault, verdict, reason)


def judge_ir(judge, kernel, fault):
    """Of a fault in IR. One that is in PTX, too, counts there."""
    ir = "\n".join(fault.apply(kernel.ir))
    name, refused = judge.compiled(ir, "nvvm")
    if refused:
        return _outcome("nvvm", kernel, fault, Verdict("compiler", "refused", refused))
    if name == kernel.name:
        return _outcome("nvvm", kernel, fault, Verdict(), "LLVM makes the same kernel of it")
    if other := judge.in_ptx.get((kernel.subject.name, name)):
        return _outcome("nvvm", kernel, fault, Verdict("same", str(other)))
    verdict = judge.verdict(kernel.subject, name, lambda: mutants.compile_from(ir, "nvvm"), fault.operator)
    reason = None
    if not verdict.layer and (unit := kernel.in_ptx.get(fault.line)):
        reason = kernel.reason(judge, ir_faults.as_ptx_fault(fault, unit, kernel.context))
    if not verdict.layer and not reason:
        verdict = judge.survivor(kernel.subject, name, lambda: mutants.compile_from(ir, "nvvm"), fault.operator)
    return _outcome("nvvm", kernel, fault, verdict, reason)


def _outcome(level, kernel, fault, verdict, reason=None):
    source, name = kernel.subject.name, str(fault)
    return Outcome(level, source, fault.operator, name, fault.original, verdict.layer, verdict.kind, reason)


# ---------------------------------------------------------------------------
# Faults in the protocol
# ---------------------------------------------------------------------------


def judge_channel(judge, mutant, subject, ir):
    """`ir`: of the mutant, where there is one to be compiled on and simulated."""
    reason = channel_mutants.reason(mutant) if mutant.accepted else None
    outcome = Outcome("channel", mutant.source, mutant.operator, str(mutant.number), mutant.text, mutant.layer,
                      mutant.rule, reason, mutant.disagreement)  # fmt: skip
    if ir:
        level = mutant.source.rsplit("-", 1)[1]
        try:
            name, refused = judge.compiled(ir, level)
            if refused:
                outcome.simulated = Verdict("compiler", "refused", refused)
            else:
                outcome.simulated = judge.verdict(subject, name, lambda: mutants.compile_from(ir, level), mutant.operator)
        except UnknownError:
            pass
    return outcome


# ---------------------------------------------------------------------------
# The suite
# ---------------------------------------------------------------------------


class Suite:
    def __init__(self, options):
        self.options = options
        family = options.family and f"{options.family}-"
        self.folder = FOLDER / (family + ("quick" if options.quick else "full"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.asked = {}  # Level -> number of mutants, judged or not.
        self.judge = Judge(self.folder / "verdicts.jsonl", options)
        subjects = self.judge.source.SUBJECTS
        made = {name: make for name, make in subjects.items() if re.search(options.kernel, name)}
        self.left_out = [name for name in subjects if name not in made]
        self.left_out += ["the programs of the tests"] if options.kernel and not options.family else []
        self.kernels = [Kernel(make(self.folder / name), self.judge) for name, make in made.items()]
        for kernel in self.kernels:
            kernel.subject.prepare(self.judge.phase_calls + self.judge.column_calls)

    def chosen(self, level, name):
        share = self.options.sample or (QUICK[level] if self.options.quick else 1)
        return zlib.crc32(name.encode()) % share == 0

    def run(self, level):
        """Returns the outcome of each mutant."""
        tasks = getattr(self, level)()
        print(f"{level}: {len(tasks)} mutants", flush=True)
        started = shown = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            running = [pool.submit(*task) for task in tasks]
            for number, _ in enumerate(concurrent.futures.as_completed(running), 1):
                if time.monotonic() > shown + 30:
                    shown = time.monotonic()
                    print(f"  ... {number} of {len(tasks)} after {hours(shown - started)}", flush=True)
        done = [future for future in running if not isinstance(future.exception(), UnknownError)]
        self.asked[level] = len(tasks)
        return [future.result() for future in done]

    def _faults(self, level, faults_of):
        return [
            (kernel, fault)
            for kernel in self.kernels
            for fault in faults_of(kernel)
            if self.chosen(level, f"{kernel.subject.name}:{fault}") and (self.judge.ptxas or not fault.is_budget)
        ]

    def ptx(self):
        found = self._faults("ptx", lambda kernel: faults.faults_of(kernel.subject.lines))
        return [(judge_ptx, self.judge, *task) for task in found]

    def nvvm(self):
        found = self._faults("nvvm", lambda kernel: ir_faults.faults_of(kernel.ir))
        return [(judge_ir, self.judge, *task) for task in found]

    def channel(self):
        tasks = []
        for kernel in self.kernels:
            for level in mutants.PROTOCOL_LEVELS[: 1 if self.options.quick else None]:
                file = kernel.subject.level(level)
                source = f"{kernel.subject.name}-{level}"
                subject = kernel.subject if kernel.subject.is_alone else None
                tasks += self._of_file(source, file, subject, fences=level == mutants.FENCE_LEVEL)
        if not self.options.quick and not self.options.kernel and not self.options.family:
            for name, file in channel_mutants.programs(self.folder).items():
                tasks += self._of_file(name, file, None)
        return tasks

    def _of_file(self, source, file, subject, fences=False):
        ranges = self.judge.source.QUICK_RANGES if self.options.quick else ("0:1000000",)
        texts = {}
        for only in ranges if subject else ():
            texts |= channel_mutants.emit(file, only, fences)
        if self.options.quick:
            found = [m for only in ranges for m in self.judge.channel(source, file, [f"--only={only}"], fences)]
        else:
            found = self.judge.channel(source, file, [], fences)
            found = [mutant for mutant in found if self.chosen("channel", mutant.name)]
        for mutant in found:
            if not mutant.accepted and zlib.crc32(mutant.name.encode()) % REJECTED:
                texts.pop(mutant.number, None)
        return [(judge_channel, self.judge, mutant, subject, texts.get(mutant.number)) for mutant in found]


# ---------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = parser.add_argument
    add("--level", choices=LEVELS, action="append", help="only this one (may be repeated)")
    add("--kernel", metavar="REGEX", default="", help="only kernels whose name has a match, e.g. hd64-causal")
    for name, family in page.FAMILIES.items():
        if name:
            add(f"--{name}", dest="family", action="store_const", const=name, default="", help=f"{family.subject}, in PTX, instead")
    add("--quick", action="store_true", help="a fixed small sample of them, with few calls of those that these find")
    add("--sample", type=int, metavar="N", help="about one of N")
    add("--explained", type=int, metavar="N", default=1,
        help="of those in PTX, besides deletions, that their text alone explains, simulate about one of N (default: all)")
    add("--resume", action="store_true", help="only what has no verdict yet")
    add("--known", action="store_true", help="only what has a verdict: simulates nothing")
    add("--write", action="store_true", help="write the page in bench/results; the tree must have no changes")
    add("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(argv)
    if options.explained < 1:
        parser.error(f"--explained takes a positive number, got {options.explained}")
    levels = page.FAMILIES[options.family].levels
    options.level = options.level or list(levels)
    if not set(options.level) <= set(levels):
        parser.error(f"with --{options.family} there is the level {' and '.join(levels)} alone")
    return options


def is_spill(outcome):
    """How many registers a role needs is not the protocol's matter; what spills is
    refused, but right."""
    return outcome.operator == "registers" and outcome.simulated.kind == "spills"


def failures(outcomes):
    """(what, outcome) of each that misses the bar."""
    for outcome in outcomes:
        if outcome.disagreement:
            yield "DISAGREEMENT", outcome
        elif not outcome.layer and not outcome.reason:
            yield "OPEN", outcome
        elif not outcome.layer and outcome.simulated and outcome.simulated.layer and not is_spill(outcome):
            yield f"ACCEPTED, BUT {outcome.simulated.layer} ({outcome.simulated.kind})", outcome


def main(argv=None):
    options = parse_arguments(argv)
    try:
        commit = results.clean_commit() if options.write else ""
        suite = Suite(options)
    except (ToolNotFoundError, results.DirtyTreeError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    outcomes = {}
    for level in options.level:
        outcomes[level] = suite.run(level)
        print(page.table(level, outcomes[level]))
        for reason, count in Counter(o.reason for o in outcomes[level] if o.reason).most_common():
            print(f"  {count} equivalent: {reason}")
    failed = [pair for level in outcomes.values() for pair in failures(level)]
    for what, outcome in failed:
        print(f"{what} {outcome.level}:{outcome.source}:{outcome.name} {outcome.text}")
    if options.write:
        text = page.page(outcomes, failed, suite.asked, suite.left_out, options, commit)
        print(f"wrote bench/results/{results.write(page.FAMILIES[options.family].page, text).name}")
    count = sum(map(len, outcomes.values()))
    print(f"{count} mutants, {len(failed)} neither found nor explained")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
