# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation suite: small faults in forward attention's kernels, in the protocol of
their roles and channels, in the IR of the NVVM dialect and in PTX, and which
layer finds each of them. Exit status 1 when one is neither found nor known to be
equivalent, 2 when nothing could be run.

Results are kept in build/mutants. With --resume, a mutant is not judged again
if its result is there, of the same kernel, tools and calls."""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import time
import zlib
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass

from fa4 import equivalents, faults, gpu, ir_faults, mutants
from fa4.cpu import ToolNotFoundError
from fa4.grid_run import digest, hours

SUBJECTS = [gpu.Op(head_dim, mask) for head_dim in (64, 128) for mask in ("full", "causal")]
LEVELS = ("channel", "nvvm", "ptx")
# One of so many mutants is in the quick sample.
QUICK = {"nvvm": 300, "ptx": 150}


@dataclass
class Mutant:
    level: str
    subject: mutants.Subject
    fault: faults.Fault

    @property
    def name(self):
        return f"{self.level}:{self.subject.name}:{self.fault}"

    def text(self):
        """Of the PTX. Raises CompileError."""
        if self.level == "ptx":
            return "\n".join(self.fault.apply(self.subject.lines))
        return ir_faults.compile(self.subject, self.fault)


def mutants_of(level, subject):
    if level == "ptx":
        found = faults.faults_of(subject.lines)
    else:
        found = ir_faults.faults_of(subject.level("nvvm").read_text().split("\n"))
    return [Mutant(level, subject, fault) for fault in found]


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


def judge(mutant: Mutant, ptxas: str | None) -> dict:
    started = time.monotonic()
    subject, fault = mutant.subject, mutant.fault
    result = {"name": mutant.name, "original": fault.original}
    try:
        text = mutant.text()
    except gpu.CompileError as error:
        verdict = mutants.Verdict("compiler", "refused", str(error).splitlines()[0][:160])
    else:
        result["ptx"] = mutants.fingerprint(text)
        calls = mutants.CALLS + (mutants.LONG_CALLS if fault.operator == "count" else [])
        verdict = subject.judge(text, calls, ptxas)
        if not verdict.layer and mutant.level == "ptx":
            result["executed"] = subject.is_executed(fault)
    return result | asdict(verdict) | {"seconds": round(time.monotonic() - started, 2)}


def read_results(file, key):
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            result = json.loads(line)
        except ValueError:
            continue  # The end of a run that was broken off.
        if result["key"] == key(result):
            found[result["name"]] = result
    return found


class Suite:
    """The mutants of the simulated levels, and their results."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        ops = [op for op in SUBJECTS if re.search(options.kernel, f"hd{op.head_dim}-{op.mask}")]
        self.subjects = [mutants.Subject(op, folder / op.name) for op in ops]
        self.ptxas = gpu.find_ptxas()
        self.tools = digest(gpu.find_tool("fa4-sim"))
        self.digests = {s.name: digest(s.kernel.ptx, s.kernel.manifest) for s in self.subjects}
        self.calls = zlib.crc32(repr((mutants.CALLS, mutants.LONG_CALLS)).encode())

    def key(self, result):
        """What a result depends on, besides the mutant."""
        return [self.digests.get(result["name"].split(":")[1]), self.tools, self.calls, bool(self.ptxas)]

    def sample(self, level):
        found = [m for s in self.subjects for m in mutants_of(level, s)]
        share = self.options.sample or (QUICK[level] if self.options.quick else 1)
        return [m for m in found if zlib.crc32(m.name.encode()) % share == 0]

    def run(self, level):
        """Mutant -> result, of all of the sample."""
        chosen = self.sample(level)
        file = self.folder / f"results-{level}.jsonl"
        resume = self.options.resume
        done = read_results(file, self.key) if resume else {}
        todo = [m for m in chosen if m.name not in done]
        print(f"{level}: {len(chosen)} mutants, {len(todo)} to be judged", flush=True)
        if todo:
            for subject in self.subjects:
                subject.prepare()
        started = shown = time.monotonic()
        with (
            open(file, "a" if resume else "w") as out,
            concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool,
        ):
            running = [pool.submit(judge, mutant, self.ptxas) for mutant in todo]
            for number, future in enumerate(concurrent.futures.as_completed(running), 1):
                result = future.result()
                out.write(json.dumps(result | {"key": self.key(result)}) + "\n")
                out.flush()
                done[result["name"]] = result
                if time.monotonic() > shown + 30:
                    shown = time.monotonic()
                    print(f"  ... {number} of {len(todo)} after {hours(shown - started)}", flush=True)
        return [(mutant, done[mutant.name]) for mutant in chosen]


# ---------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------

COLUMNS = ("compiler", "load", "simulator", "hang", "numbers", "ptxas")


@dataclass
class Summary:
    """Of one level: for each operator the mutants by what becomes of them; reason
    -> equivalent mutants; the rest."""

    rows: dict
    reasons: dict
    open: list


def summarise(results) -> Summary:
    rows, reasons, left = defaultdict(Counter), defaultdict(list), []
    for mutant, result in results:
        row = rows[mutant.fault.operator]
        row["mutants"] += 1
        if result["layer"]:
            row[result["layer"]] += 1
        elif reason := equivalents.reason(mutant, result):
            row["equivalent"] += 1
            reasons[reason].append(mutant)
        else:
            row["open"] += 1
            left.append(mutant)
    return Summary(rows, reasons, left)


def table(rows):
    columns = ["mutants", *COLUMNS, "equivalent", "open"]
    total = sum(rows.values(), Counter())
    lines = ["| operator | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in [*rows.items(), ("all", total)]:
        lines.append(f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = parser.add_argument
    add("--level", choices=LEVELS, action="append", help="only this one (may be repeated)")
    add("--kernel", metavar="REGEX", default="", help="only kernels whose name has a match, e.g. hd64-causal")
    add("--quick", action="store_true", help="a fixed small sample of them")
    add("--sample", type=int, metavar="N", help="one of N")
    add("--resume", action="store_true", help="only what has no result yet")
    add("--jobs", type=int, default=os.cpu_count())
    add("--verbose", action="store_true", help="a line for each mutant that survives")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    folder = gpu.ROOT / "build" / "mutants" / ("quick" if options.quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        suite = Suite(options, folder)
    except ToolNotFoundError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    is_open = False
    for level in options.level or ("nvvm", "ptx"):
        results = suite.run(level)
        summary = summarise(results)
        print(table(summary.rows))
        for reason, of in sorted(summary.reasons.items(), key=lambda item: -len(item[1])):
            print(f"  {len(of)} {reason}")
        for mutant in summary.open:
            print(f"OPEN {mutant.name}: {mutant.fault.original}")
        is_open |= bool(summary.open)
    return 1 if is_open else 0


if __name__ == "__main__":
    sys.exit(main())
