# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bench/timing --changes."""

import argparse
import json
import os
import re
import sys
from pathlib import Path

from fa4.errors import Fa4Error
from fa4.tools import ToolNotFoundError
from fa4_testing import results, revision
from fa4_bench.timing import change_report, changes

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "bench" / "timing-changes.json"
MODELLED = ROOT / "bench" / "timing-changes-model.json"
KERNELS = ROOT / "build" / "changes"
PAGE = "changes"


def write_record(path, record):
    """A record as JSON with a line for each kernel and each change."""
    from fa4_bench.timing.__main__ import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, record)


def make(options):
    """Makes the kernels; 1 where one could not be made."""
    from fa4_bench.timing import change_files

    failed = change_files.make_all(options.kernels, options.only, options.commit or revision.commit(), lambda line: print(line, flush=True))
    for name, why in failed.items():
        print(f"timing: {name}: {why}", file=sys.stderr)
    return int(bool(failed))


def known_record(path):
    """What a file says already; nothing where it is not there."""
    return json.loads(path.read_text()) if path.exists() else {}


def measure(chosen, options):
    """Measures on the first GPU; 1 where a change that was made could not be measured."""
    from fa4_bench.instructions.card import hopper
    from fa4_bench.timing import change_card, change_files

    path = Path(options.measure)
    record = change_card.measure_all(hopper(), options.kernels, chosen, known_record(path), lambda table: write_record(path, table))
    missing = [name for name in chosen if name in change_files.read_made(options.kernels)["changes"] and name not in record["changes"]]
    return int(bool(missing))


def simulate(chosen, options):
    """Writes what the model says; 1 where it says nothing of a change."""
    from fa4_bench.timing import change_files, change_model

    made = change_files.read_made(options.kernels)
    path, known = Path(options.simulate), {name: change for name, change in chosen.items() if name in made["changes"]}
    settings = [f"--set={setting}" for setting in options.set]
    record = change_model.simulate_all(options.kernels, known, options.jobs, settings, made["commit"])
    if options.only and (before := known_record(path)).get("commit") == record["commit"]:
        for part in ("kernels", "changes", "absent"):
            record[part] = before.get(part, {}) | record[part]
        record["absent"] = {name: why for name, why in record["absent"].items() if name not in record["changes"]}
        record["changes"] = changes.in_order(record["changes"])
    write_record(path, record)
    for name, why in record["absent"].items():
        print(f"timing: {name}: {why}", file=sys.stderr)
    return int(bool(record["absent"]))


def report(options):
    """Prints or writes the tables; 1 where a bar is missed."""
    if options.write:
        results.clean_commit()
    recorded, modelled = change_report.read_recorded(options.recorded), change_report.read_modelled(options.modelled)
    if options.write:
        results.write(PAGE, change_report.page(recorded, modelled))
    else:
        print(change_report.body(recorded, modelled))
    missed = change_report.missed_bars(change_report.compare(recorded, modelled))
    for sentence in missed:
        print(f"timing: {sentence}", file=sys.stderr)
    return int(bool(missed))


def make_parser():
    parser = argparse.ArgumentParser(prog="timing --changes", description="Changes of fa4's kernels, timed beside the unchanged kernels on a Hopper card and by "
                                     "fa4-sim. Without options: the tables of what was recorded; the exit status is 1 where a bar is missed.")  # fmt: skip
    add = parser.add_argument
    add("--make", action="store_true", help="instead, make and check the changed kernels in --kernels; needs fa4-compile, fa4-sim and ptxas")
    add("--measure", nargs="?", const=str(RECORDED), metavar="FILE", help="instead, measure those of --kernels on the first GPU (bench/timing-changes.json)")
    add("--simulate", nargs="?", const=str(MODELLED), metavar="FILE", help="instead, ask fa4-sim (bench/timing-changes-model.json); needs ptxas and nvdisasm")
    add("--kernels", default=str(KERNELS), metavar="FOLDER", help="where the changed kernels are (build/changes)")
    add("--only", metavar="REGEX", default="", help="with --make, --measure and --simulate: only changes whose name, KERNEL/CHANGE, has a match")
    add("--commit", default="", help="with --make: that of fa4-compile, where it was built elsewhere")
    add("--set", metavar="NAME=VALUE", action="append", default=[], help="with --simulate: a parameter of the model, as for fa4-sim --set")
    add("--jobs", type=int, default=os.cpu_count(), help="with --simulate: simulations at a time")
    add("--recorded", metavar="FILE", default=str(RECORDED), help="what a card has said (bench/timing-changes.json)")
    add("--modelled", metavar="FILE", default=str(MODELLED), help="what the model has said (bench/timing-changes-model.json)")
    add("--write", action="store_true", help="write bench/results/changes.md; the tree must have no changes")
    return parser


def parse_arguments(argv):
    parser = make_parser()
    options = parser.parse_args(argv)
    if sum(map(bool, (options.make, options.measure, options.simulate))) > 1:
        parser.error("--make, --measure and --simulate are for different machines: one at a time")
    if options.write and (options.recorded, options.modelled) != (str(RECORDED), str(MODELLED)):
        parser.error("--write takes bench/timing-changes.json and bench/timing-changes-model.json")
    return options


def main(argv):
    options = parse_arguments(argv)
    chosen = {name: change for name, change in changes.names().items() if re.search(options.only, name)}
    if not chosen:
        sys.exit(f"timing: no change has a match of '{options.only}' in its name")
    try:
        if options.make:
            return make(options)
        if options.measure:
            return measure(chosen, options)
        if options.simulate:
            return simulate(chosen, options)
        return report(options)
    except (RuntimeError, ValueError, OSError, Fa4Error, ToolNotFoundError) as error:
        sys.exit(f"timing: {error}")
