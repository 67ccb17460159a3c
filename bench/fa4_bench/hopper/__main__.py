# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bench/hopper."""

import argparse
import datetime
import json
import os
import sys
from pathlib import Path

from fa4 import tools
from fa4_testing import results, revision
from fa4_bench.hopper import picture, rows, tables
from fa4_bench.timing import peers
from fa4_bench.timing.__main__ import write_table

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "bench" / "hopper.json"
MODELLED = ROOT / "bench" / "hopper-model.json"
SCRATCH = ROOT / "build" / "hopper"
PICTURE = "hopper.svg"


def record(chosen, ptxas):
    """Records FlashAttention-4's launches; 1 where some could not be recorded."""
    failed = False
    for row in chosen:
        try:
            if row.recorded:
                peers.record(row.recorded, ptxas)
        except RuntimeError as error:
            failed = True
            print(f"hopper: {row.name}: {error}", file=sys.stderr)
    return int(failed)


def compile_kernels(chosen, options):
    """Compiles the forms of rows, or those that are named; 1 where the compiler refuses one."""
    from fa4_bench.hopper import specs

    forms = [rows.Form.parse(name) for name in options.forms.split(",")] if options.forms else [row.of_any_length for row in chosen]
    refused = specs.compile_all(list(dict.fromkeys(forms)), Path(options.compile), options.variant, options.options, options.jobs)
    for name, message in refused.items():
        print(f"hopper: {name}: {message}", file=sys.stderr)
    return int(bool(refused))


def simulate(chosen, options):
    """Writes fa4-sim's cycles of our default kernels; 1 where there are none."""
    from fa4_bench.hopper import model

    found = model.cycles_of(chosen, Path(options.ours), options.jobs)
    table = {"commit": revision.commit(), "date": datetime.date.today().isoformat(), **found}
    write_table(options.simulate, table)
    for name, why in found["absent"].items():
        print(f"hopper: {name}: {why}", file=sys.stderr)
    return int(not found["cycles"])


def about_card(card, commit):
    """What a record says of where it was measured."""
    import ctypes

    import torch

    from fa4_bench.timing.replay import Clocks

    clocks, text = Clocks(), ctypes.create_string_buffer(96)
    if clocks.found:
        clocks.library.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text)))
    return {"card": card.name, "driver": text.value.decode() or "unknown", "torch": torch.__version__, "date": datetime.date.today().isoformat(),
            "commit": commit, "power_limit_watts": clocks.power_limit(), "idle_clocks": clocks.read()}  # fmt: skip


def measure(chosen, path, options):
    """Measures rows, and writes the file after each; what else the file has of this card and commit stays."""
    from fa4_bench.hopper import measure as measuring
    from fa4_bench.hopper import ours
    from fa4_bench.instructions.card import hopper

    card = hopper()
    known = json.loads(path.read_text()) if path.exists() else {}
    about = about_card(card, options.commit or revision.commit())
    if any(known.get(key) != about[key] for key in ("card", "commit")):
        known = {}
    table = {**about, "rows": known.get("rows", {})}
    plan = measuring.QUICK if options.quick else measuring.Plan(*options.rounds)
    stage = measuring.Stage(card)
    places = ours.places(options.ours) if Path(options.ours).is_dir() else []
    for row in chosen:
        # First, so that the last line names a row that never ends.
        print(f"{row.name}: ", end="", file=sys.stderr, flush=True)
        table["rows"][row.name] = found = measuring.measure_row(row, stage, card, Path(options.records), places, plan)
        table["rows"] = {name: table["rows"][name] for name in rows.ROWS if name in table["rows"]}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(path, table)
        said = ", ".join(f"{name} {speed:.0f}" for name, speed in tables.speeds(found, "burst").items())
        print(f"{said} TFLOP/s in bursts", file=sys.stderr, flush=True)
    return table


def check(options):
    """Checks the kernels of a folder; 1 where one is wrong, or there is none."""
    from fa4_bench.hopper import check as checking
    from fa4_bench.hopper import ours
    from fa4_bench.instructions.card import hopper

    hopper()
    places = [place for place in ours.places(options.check) if rows.re.search(options.only, f"{place.variant}/{place.folder.name}")]
    cases = checking.parse_shapes(options.shapes) if options.shapes else checking.CASES
    failed = checking.check_all(places, cases, options.seed, options.repeat)
    return int(bool(failed) or not places)


def report(recorded, options):
    """Prints or writes the tables; 1 where a bar is missed."""
    modelled = json.loads(Path(options.modelled).read_text())["cycles"] if Path(options.modelled).exists() else {}
    if options.write:
        results.write("hopper", tables.page(recorded, modelled))
        (results.FOLDER / PICTURE).write_text(picture.draw(recorded))
    else:
        print(tables.body(recorded, modelled))
    missed = tables.missed_bars(recorded)
    for sentence in missed:
        print(f"hopper: {sentence}", file=sys.stderr)
    return int(bool(missed))


def parse_rounds(text):
    numbers = text.split(",")
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers) or numbers[0] == "0":
        raise argparse.ArgumentTypeError(f"expected two numbers, of which the first is not 0, as in 5,3, and got {text}")
    return tuple(map(int, numbers))


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="hopper", description="Attention on a Hopper card, beside FlashAttention-4, cuDNN and FlexAttention. Without options "
                                     "all rows are measured on the first GPU, and the tables printed. The exit status is 1 where a bar is missed.")  # fmt: skip
    add = parser.add_argument
    add("--report", nargs="?", const=str(RECORDED), metavar="FILE", help="print the tables of what was recorded (bench/hopper.json); nothing is measured")
    add("--measure", metavar="FILE", default=str(SCRATCH / "measured.json"), help="where the measurement is recorded (build/hopper/measured.json)")
    add("--quick", action="store_true", help="two rows, in bursts only: 20 seconds")
    add("--only", metavar="REGEX", default="", help="only rows whose name has a match; with --check, kernels (variant/form)")
    add("--records", metavar="FOLDER", default=str(peers.records_folder()), help="records of FlashAttention-4's launches ($FA4_PEERS_SCRATCH/timing)")
    add("--ours", metavar="FOLDER", default=str(SCRATCH / "ours"), help="our kernels: VARIANT/FORM/ as --compile writes them (build/hopper/ours)")
    add("--rounds", type=parse_rounds, default=(5, 3), metavar="BURSTS,LOOPS", help="how often each candidate is timed by each protocol (5,3)")
    add("--commit", default="", help="of the kernels, where the machine has no git")
    add("--check", metavar="FOLDER", help="instead, check all kernels of the folder in small cases")
    add("--shapes", metavar="SQxSK,...", default="", help="with --check: these lengths only")
    add("--seed", type=int, default=1, help="with --check: of the inputs")
    add("--repeat", type=int, default=0, metavar="N", help="with --check: N more launches of each case must give the same bits")
    add("--compile", metavar="FOLDER", help="instead, compile kernels of rows into FOLDER/VARIANT/FORM; needs fa4-compile")
    add("--variant", default="default", help="with --compile: the variant's name")
    add("--forms", metavar="NAME,...", default="", help="with --compile: these forms, such as fwd-hd64-causal-f16-bhsd")
    add("--jobs", type=int, default=os.cpu_count(), help="with --compile and --simulate: processes")
    add("--simulate", metavar="FILE", help="instead, write fa4-sim's cycles of our default kernels (bench/hopper-model.json)")
    add("--modelled", metavar="FILE", default=str(MODELLED), help="fa4-sim's cycles (bench/hopper-model.json)")
    add("--record", metavar="PTXAS", help="instead, record FlashAttention-4's launches, with the machine code of this ptxas")
    add("--write", action="store_true", help="with --report: write bench/results/hopper.md; the tree must have no changes")
    add("--options", nargs=argparse.REMAINDER, default=[], help="with --compile: for fa4-compile")
    options = parser.parse_args(argv)
    if options.write and options.report != str(RECORDED):
        parser.error("--write goes with --report of bench/hopper.json")
    return options


def main(argv=None):
    options = parse_arguments(argv)
    chosen = rows.choose(options.only if not options.check else "", options.quick)
    if not chosen:
        sys.exit(f"hopper: no row has a match of '{options.only}' in its name")
    try:
        if options.record:
            return record(chosen, options.record)
        if options.compile:
            return compile_kernels(chosen, options)
        if options.simulate:
            return simulate(chosen, options)
        if options.check:
            return check(options)
        if options.report:
            if options.write:
                results.clean_commit()
            return report(json.loads(Path(options.report).read_text()), options)
        return report(measure(chosen, Path(options.measure), options), options)
    except (RuntimeError, ValueError, OSError, tools.ToolNotFoundError) as error:
        sys.exit(f"hopper: {error}")


if __name__ == "__main__":
    sys.exit(main())
