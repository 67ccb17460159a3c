# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bench/timing."""

import argparse
import datetime
import json
import sys
from pathlib import Path

from fa4.instructions.card import DriverError, hopper
from fa4.timing.kernel import measure
from fa4.timing.micro import FAMILIES, micros

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "bench" / "timing.json"
PAGE = ROOT / "docs" / "results-timing.md"
HEAD = """# What operations cost on a card

Written by `./bench/timing --write` from [bench/timing.json](../bench/timing.json): {card}, measured {date} by
`./bench/timing --measure bench/timing.json`.

A number is cycles of the SM's clock for one operation of a warp (of a warpgroup for wgmma), or, where several warps share a unit, warp instructions
in a cycle of the SM. It is the difference between a longer and a shorter run of the same loop, so that what stands
outside of the loop does not count; the kernels are in [micro.py](../python/fa4/timing/micro.py). A body's share of its loop's
three instructions is in the numbers: 0.2 cycles for latencies of pipes.
"""


def write_json(path, card, chosen):
    """Measures the chosen kernels. What cannot be run is named in stderr and left out; false then."""
    found, complete = {}, True
    for micro in chosen:
        try:
            found[micro.name] = round(measure(micro, card.launch), 3)
        except DriverError as error:
            complete = False
            print(f"timing: {micro.name}: {error}", file=sys.stderr)
    table = {"card": card.name, "date": datetime.date.today().isoformat(), "cycles": found}
    Path(path).write_text(json.dumps(table, indent=1) + "\n")
    return complete


def page(recorded):
    """The table as Markdown: a section a family."""
    lines = [HEAD.format(**recorded)]
    for family in FAMILIES:
        lines += [f"## {family.__name__.replace('_', ' ').capitalize()}", "", "| operation | cycles | a cycle |", "|---|---|---|"]
        for micro in family():
            cycles = recorded["cycles"].get(micro.name)
            if cycles is not None:
                rate = f"{1 / cycles:.2f}" if micro.is_rate else ""
                lines.append(f"| {micro.name} | {cycles:.2f} | {rate} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="timing", description="What operations cost on a Hopper card, in cycles. Without options: "
                                     "the table of what was recorded.")  # fmt: skip
    parser.add_argument("--measure", metavar="FILE", help="measure on the first GPU, which must be a Hopper, and record in FILE")
    parser.add_argument("--only", metavar="TEXT", default="", help="only operations whose name contains this")
    parser.add_argument("--write", action="store_true", help="write docs/results-timing.md")
    parser.add_argument("--ptx", metavar="FOLDER", help="only write the kernels there")
    options = parser.parse_args()
    chosen = [micro for micro in micros() if options.only in micro.name]
    if not chosen:
        parser.error(f"no operation has '{options.only}' in its name")
    if options.ptx:
        folder = Path(options.ptx)
        folder.mkdir(parents=True, exist_ok=True)
        for number, micro in enumerate(chosen):
            (folder / f"{number:03}.ptx").write_text(f"// {micro.name}\n{micro.ptx}")
        return 0
    if options.measure:
        try:
            return 0 if write_json(options.measure, hopper(), chosen) else 1
        except (DriverError, OSError) as error:
            sys.exit(f"timing: {error}")
    text = page(json.loads(RECORDED.read_text()))
    if options.write:
        PAGE.write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
