# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bench/timing."""

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

from fa4 import tools
from fa4_testing import results, revision
from fa4_bench.instructions.card import DriverError, hopper
from fa4_bench.timing import change_command, effect_launches, launched, model, peers
from fa4_bench.timing.kernel import measure
from fa4_bench.timing.micro import micros
from fa4_bench.timing.model import for_each
from fa4_bench.timing.replay import Replayer, check, run
from fa4_bench.timing.tables import page, summary, use_of

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "bench" / "timing.json"
MODELLED = ROOT / "bench" / "timing-model.json"


def write_table(path, table):
    """JSON with a line for each operation and each kernel."""
    lines = []
    for key, value in table.items():
        if isinstance(value, dict):
            rows = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items()]
            lines.append(f" {json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n }")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    Path(path).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def measure_micros(card, chosen):
    """The cycles of each by name. What cannot be run is named in stderr and left out."""
    found = {}
    for micro in chosen:
        try:
            found[micro.name] = round(measure(micro, card.launch), 3)
        except DriverError as error:
            print(f"timing: {micro.name}: {error}", file=sys.stderr)
    return found


def measure_kernels(card, chosen):
    """Yields the name of each kernel whose record is there, and what replay.run says of it. The forms of 1k tokens are checked,
    too: a wrong result is an error."""
    folder = peers.records_folder()
    recorded = [kernel for kernel in chosen if (folder / kernel.name / "stamp").exists()]
    if not recorded:
        print(f"timing: no records of real kernels in {folder}; bench/timing --record makes them", file=sys.stderr)
        return
    replayer = Replayer(card)
    for kernel in recorded:
        try:
            result = {"date": datetime.date.today().isoformat(), **run(replayer, kernel, folder / kernel.name)}
            if isinstance(kernel, peers.Form) and kernel.tokens == 1024 and not (error := check(replayer, kernel)) < 0.02:
                raise DriverError(f"a result is wrong by {error:.3f} of the largest value")
            yield kernel.name, result
        except (DriverError, ValueError) as error:
            print(f"timing: {kernel.name}: {error}", file=sys.stderr)
        replayer.release()


def write_json(path, card, micros_chosen, kernels_chosen):
    """Measures what is chosen, and writes the file after each kernel; what else the file has of this card stays. Returns whether all
    micro-benchmarks could be run."""
    path = Path(path)
    table = json.loads(path.read_text()) if path.exists() else {}
    if table.get("card") != card.name:
        table = {"card": card.name, "date": "", "cycles": {}}
    table.setdefault("kernels", {})
    cycles = measure_micros(card, micros_chosen)
    if cycles:
        table["date"] = datetime.date.today().isoformat()
    table["cycles"].update(cycles)
    write_table(path, table)
    for name, result in measure_kernels(card, kernels_chosen):
        print(f"{name:28} {result['cycles']:10} cycles {result['us']:9.1f} us {result['mhz']} MHz", file=sys.stderr, flush=True)
        table["kernels"][name] = result
        write_table(path, table)
    return len(cycles) == len(micros_chosen)


def record_all(kernels, launches, ptxas):
    """Records what is not there yet: real kernels for the card, and FlashAttention-4's launches on Blackwell for the effects; 1 where
    something could not be recorded."""
    failed = False
    tasks = [(kernel.name, lambda kernel=kernel: peers.record(kernel, ptxas)) for kernel in kernels]
    tasks += [(each.name, lambda each=each: launched.record(each, blackwell_records())) for each in launches]
    for name, task in tasks:
        try:
            task()
        except RuntimeError as error:
            failed = True
            print(f"timing: {name}: {error}", file=sys.stderr)
    return int(failed)


def blackwell_records():
    """The folder of the records that bench/versus-fa4 has, too."""
    return peers.records_folder().parent / "versus"


@model.peers_tools()
def known_effects(options):
    """Prints or writes the table of known effects; 1 where one is missed, or where none could be tried."""
    # They need numpy, which the environment that records and the machine with the card may lack.
    from fa4_bench.timing import effects, versus

    costs = set()

    def time(*words):
        timed = versus.time_launch(*words, *(f"--set={setting}" for setting in options.set))
        costs.add(timed.costs)
        return timed

    commit = results.clean_commit() if options.write else ""
    measured = effects.measure_all(blackwell_records(), time, options.quick, options.jobs, options.only)
    print("\n".join(effects.lines(measured)))
    if options.write:
        results.write("effects", effects.page(measured, ", ".join(sorted(costs)), commit))
    done = [(effect, result) for effect, result in measured if isinstance(result, effects.Result)]
    for effect, result in measured:
        if not isinstance(result, effects.Result):
            print(f"timing: {effect.name}: {result}", file=sys.stderr)
        elif not result.is_met:
            print(f"timing: {effect.name}: missed: {result.said}", file=sys.stderr)
    return int(not done or not all(result.is_met for _, result in done))


@model.peers_tools()
def model_all(chosen, kernels, jobs, options):
    """What the model says, as bench/timing-model.json has it. What cannot be modelled is named in stderr and left out."""
    modelling = model.Model(tools.find_tool("fa4-sim"), options)
    folder = peers.records_folder()
    there = [kernel for kernel in kernels if (folder / kernel.name / "stamp").exists()]
    if len(there) < len(kernels):
        print(f"timing: {len(kernels) - len(there)} kernels have no records in {folder}; bench/timing --record makes them", file=sys.stderr)
    cycles, found, costs = {}, {}, set()
    for micro, result in for_each(modelling.micro, chosen, jobs):
        if isinstance(result, Exception):
            print(f"timing: {micro.name}: {result}", file=sys.stderr)
        else:
            cycles[micro.name] = round(result, 3)
    for kernel, result in for_each(modelling.kernel, there, jobs):
        if isinstance(result, Exception):
            print(f"timing: {kernel.name}: {result}", file=sys.stderr)
        else:
            found[kernel.name] = round(result[0])
            costs.add(result[1])
    return {"commit": revision.commit(), "date": datetime.date.today().isoformat(), "costs": ", ".join(sorted(costs)),
            "cycles": cycles, "kernels": found}  # fmt: skip


def compare(options, chosen, kernels):
    """Prints or writes the tables; 1 where a bar is missed."""
    commit = results.clean_commit() if options.write and not options.recorded else ""
    recorded = json.loads(RECORDED.read_text())
    if options.recorded:
        modelled = json.loads(MODELLED.read_text())
    else:
        settings = [f"--set={setting}" for setting in options.set]
        modelled = model_all(chosen, kernels, options.jobs, settings)
        modelled["commit"] = commit or modelled["commit"]
    wanted = {kernel.name for kernel in kernels}
    recorded["kernels"] = {name: entry for name, entry in recorded["kernels"].items() if name in wanted}
    names = {micro.name for micro in chosen}
    recorded["cycles"] = {name: cycles for name, cycles in recorded["cycles"].items() if name in names}
    if options.write:
        write_table(MODELLED, modelled)
        results.write("timing", page(recorded, modelled))
    else:
        print(page(recorded, modelled))
    failed = summary(recorded, modelled)[1]
    for sentence in failed:
        print(f"timing: {sentence}", file=sys.stderr)
    return int(bool(failed))


def main():
    if "--changes" in sys.argv[1:]:
        return change_command.main([word for word in sys.argv[1:] if word != "--changes"])
    parser = argparse.ArgumentParser(prog="timing", description="What operations and real kernels cost on a Hopper card, in cycles, beside what "
                                     "fa4-sim's clock says of them. Without options: tables of what was recorded and of the model as it is; the exit status is 1 "
                                     "where a bar is missed.", epilog=" ".join(change_command.make_parser().format_usage().split()))  # fmt: skip
    parser.add_argument("--record", metavar="PTXAS", help="only record the launches of real kernels, with the machine code of this ptxas")
    parser.add_argument("--measure", metavar="FILE", help="measure on the first GPU, which must be a Hopper, and record in FILE")
    parser.add_argument("--recorded", action="store_true", help="the model as it was recorded last; nothing is simulated")
    parser.add_argument("--only", metavar="TEXT", default="", help="only operations and kernels whose name contains this")
    parser.add_argument("--fit", action="store_true", help="no operations, and only the kernels to which parameters may be fitted")
    parser.add_argument("--effects", action="store_true", help="instead, effects that others have seen on a Blackwell card (bench/results/effects.md)")
    parser.add_argument("--changes", action="store_true", help="instead, changes of fa4's kernels (bench/results/changes.md); --changes --help has its options")
    parser.add_argument("--quick", action="store_true", help="with --effects: those that need nothing but fa4-compile and fa4-sim, with short sequences")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the model, as for fa4-sim --set")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time")
    parser.add_argument("--write", action="store_true", help="write bench/results/timing.md and bench/timing-model.json, or bench/results/effects.md; the tree must have no changes")
    parser.add_argument("--ptx", metavar="FOLDER", help="only write the small kernels there")
    options = parser.parse_args()
    if options.write and (options.only or options.fit or options.set or options.quick):
        parser.error("--write takes all operations, kernels and effects, and the parameters as they are")
    if options.quick and not options.effects:
        parser.error("--quick is for --effects")
    if options.effects:
        try:
            return known_effects(options)
        except (RuntimeError, OSError) as error:
            sys.exit(f"timing: {error}")
    chosen = [micro for micro in micros() if options.only in micro.name and not options.fit]
    kernels = [kernel for kernel in peers.all_kernels() if options.only in kernel.name and (not options.fit or use_of(kernel) == "fit")]
    if not chosen and not kernels:
        parser.error(f"no operation or kernel has '{options.only}' in its name")
    if options.ptx:
        folder = Path(options.ptx)
        folder.mkdir(parents=True, exist_ok=True)
        for number, micro in enumerate(chosen):
            (folder / f"{number:03}.ptx").write_text(f"// {micro.name}\n{micro.ptx}")
        return 0
    if options.record:
        return record_all(kernels, [each for each in effect_launches.ALL if options.only in each.name], options.record)
    try:
        if options.measure:
            return 0 if write_json(options.measure, hopper(), chosen, kernels) else 1
        return compare(options, chosen, kernels)
    except (DriverError, tools.ToolNotFoundError, results.DirtyTreeError, OSError) as error:
        sys.exit(f"timing: {error}")


if __name__ == "__main__":
    sys.exit(main())
