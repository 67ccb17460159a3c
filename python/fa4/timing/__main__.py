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
from fa4.timing import peers
from fa4.timing.kernel import measure
from fa4.timing.micro import FAMILIES, micros
from fa4.timing.replay import Replayer, check, run

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
    path.write_text(json.dumps(table, indent=1) + "\n")
    for name, result in measure_kernels(card, kernels_chosen):
        print(f"{name:28} {result['cycles']:10} cycles {result['us']:9.1f} us {result['mhz']} MHz", file=sys.stderr, flush=True)
        table["kernels"][name] = result
        path.write_text(json.dumps(table, indent=1) + "\n")
    return len(cycles) == len(micros_chosen)


def record_all(kernels, ptxas):
    """Records what is not there yet; 1 where something could not be recorded."""
    failed = False
    for kernel in kernels:
        try:
            peers.record(kernel, ptxas)
        except RuntimeError as error:
            failed = True
            print(f"timing: {kernel.name}: {error}", file=sys.stderr)
    return int(failed)


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
    return "\n".join(lines + kernel_table(recorded.get("kernels", {})))


KERNELS = """## Real kernels

FlashAttention-4's attention in bf16 (16k tokens in all, 2048 columns; the name says the direction, the head dim, the mask and the tokens of one sequence) and
kernels of CUTLASS and Triton, replayed from [records](simulator-manifest.md#records) on random data. Of the backward, it is the main kernel;
*others* are those before and behind it. Cycles are those of the SMs' own clock from one launch to the next, in a queue of launches of the same kernel;
the clock is what power leaves of it. *One CTA* is a launch of the grid's first CTA alone, *wave* one of the grid that is given, which is to have a CTA for each SM.
Parameters of the model may be fitted to the kernels marked *fit*; the others are held out, by a rule that was chosen before the measurement
([peers.py](../python/fa4/timing/peers.py)).
"""


def kernel_table(kernels):
    """The section on real kernels."""
    lines = [KERNELS, "| kernel | used as | grid | cycles | us | MHz | TFLOP/s | one CTA | wave | others |", "|---|---|---|---|---|---|---|---|---|---|"]
    for kernel in peers.all_kernels():
        if (found := kernels.get(kernel.name)) is None:
            continue
        parts, others = found.get("parts"), found.get("others", [])
        one = f"{parts['1']['cycles']}" if parts else ""
        wave = f"{parts['wave']['cycles']} ({grid_text(parts['wave'])})" if parts else ""
        rest = " + ".join(str(other["cycles"]) for other in others)
        lines.append(f"| {kernel.name} | {use_of(kernel)} | {grid_text(found)} | {found['cycles']} | {found['us']:.1f} | {found['mhz']} "
                     f"| {found['tflops']:.0f} | {one} | {wave} | {rest} |")  # fmt: skip
    return [*lines, ""]


def grid_text(launch):
    return " x ".join(map(str, launch["grid"]))


def use_of(kernel):
    """What a kernel is for: fit, held out, or unseen."""
    if not isinstance(kernel, peers.Form):
        return "unseen"
    return "fit" if peers.is_fitted(kernel) else "held out"


def main():
    parser = argparse.ArgumentParser(prog="timing", description="What operations cost on a Hopper card, in cycles. Without options: "
                                     "the table of what was recorded.")  # fmt: skip
    parser.add_argument("--record", metavar="PTXAS", help="only record the launches of real kernels, with the machine code of this ptxas")
    parser.add_argument("--measure", metavar="FILE", help="measure on the first GPU, which must be a Hopper, and record in FILE")
    parser.add_argument("--only", metavar="TEXT", default="", help="only operations and kernels whose name contains this")
    parser.add_argument("--write", action="store_true", help="write docs/results-timing.md")
    parser.add_argument("--ptx", metavar="FOLDER", help="only write the small kernels there")
    options = parser.parse_args()
    chosen = [micro for micro in micros() if options.only in micro.name]
    kernels = [kernel for kernel in peers.all_kernels() if options.only in kernel.name]
    if not chosen and not kernels:
        parser.error(f"no operation or kernel has '{options.only}' in its name")
    if options.ptx:
        folder = Path(options.ptx)
        folder.mkdir(parents=True, exist_ok=True)
        for number, micro in enumerate(chosen):
            (folder / f"{number:03}.ptx").write_text(f"// {micro.name}\n{micro.ptx}")
        return 0
    if options.record:
        return record_all(kernels, options.record)
    if options.measure:
        try:
            return 0 if write_json(options.measure, hopper(), chosen, kernels) else 1
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
