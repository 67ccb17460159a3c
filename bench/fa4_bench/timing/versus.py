# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modelled time of fa4-compile's forward kernels beside FlashAttention-4's own, in one run of one model
(`fa4-sim --time`, docs/timing.md). `bench/versus-fa4` is the command line.

A *shape* is a head dim, a mask and a length; as in FlashAttention's benchmarks there are 32k tokens in all and 2048
columns of v. FlashAttention-4's kernels come from records of its launches (shapes.py)."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import gpu, results
from fa4_bench.timing import published, softness, versus_gradient
from fa4_bench.timing.launched import Launched
from fa4_bench.timing.shapes import GRADIENTS, SHAPES, Shape, choose

ROOT = Path(__file__).resolve().parents[3]
STORED = ROOT / "bench" / "versus-fa4.json"
# The one that bench/peers/environment.sh installs.
FA4_VERSION = "4.0.0b36"
# What a change may cost before --check fails.
TOLERANCE = 1.01


@dataclass(frozen=True)
class Timed:
    """What the model says of a launch. `unit` is the unit that is busy for the largest share of a CTA's time in its steady
    state."""

    cycles: float
    tflops: float
    unit: str
    busy: float
    tensor: float
    costs: str

    @staticmethod
    def read(text):
        """Of the JSON that fa4-sim prints."""
        time = json.loads(text)["runs"][0]["time"]
        units = {name: unit.get("steady") or unit["share"] for name, unit in time["units"].items()}
        unit = max(units, key=units.get)
        return Timed(round(time["cycles"]), round(time["teraflops"], 1), unit, round(units[unit], 3),
                     round(units["tensor cores"], 3), time["costs"])  # fmt: skip


def time_launch(*words) -> Timed:
    """Runs fa4-sim --time. Raises SimulationError with its message."""
    done = subprocess.run([gpu.find_tool("fa4-sim"), *map(str, words), "--time", "--json"], capture_output=True, text=True)
    if done.returncode:
        findings = json.loads(done.stdout)["runs"][-1]["reports"] if done.returncode == 1 else []
        reasons = [finding["text"] for finding in findings] or [done.stderr.strip() or f"exit status {done.returncode}"]
        raise gpu.SimulationError("\n".join(reasons)[-2000:])
    return Timed.read(done.stdout)


def time_ours(shape: Shape, options=()) -> Timed:
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        op = gpu.Op(head_dim=shape.head_dim, mask=shape.mask, value_dim=shape.value_dim)
        kernel = gpu.compile(op.mlir(), Path(folder), options=["--verify-ptx=false", *options])
        launched = shape.launched
        sizes = dict(B=launched.batch, Sq=shape.length, Sk=shape.length, Hq=launched.heads, Hkv=launched.heads)
        return time_launch(kernel.manifest, *(f"{name}={n}" for name, n in sizes.items()))


def time_theirs(launched: Launched, records: Path, *words) -> Timed:
    return time_launch(records / launched.name / "launch-0.json", *words)


# ---------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------


def ratio(row):
    return row["ours"]["cycles"] / row["theirs"]["cycles"]


def missed(table):
    """The names of the shapes that miss their bar."""
    return [s.name for s in SHAPES if s.name in table and s.bar and ratio(table[s.name]) > s.bar]


def lost(table, stored):
    """(name, cycles before, cycles now) of the shapes that take longer than what is stored allows."""
    pairs = [(name, stored[name]["ours"]["cycles"], row["ours"]["cycles"]) for name, row in table.items() if name in stored]
    return [(name, before, now) for name, before, now in pairs if now > TOLERANCE * before]


def lines(table):
    """The table in Markdown."""
    yield "| shape | FA4, TFLOP/s | fa4, TFLOP/s | time, ours / theirs | tensor cores busy, theirs, ours | busiest of theirs | busiest of ours |"
    yield "|---|---|---|---|---|---|---|"
    for shape in SHAPES:
        if row := table.get(shape.name):
            ours, theirs = row["ours"], row["theirs"]
            mark = " **missed**" if shape.bar and ratio(row) > shape.bar else ""
            yield (
                f"| {shape.name} | {theirs['tflops']:.0f} | {ours['tflops']:.0f} | {ratio(row):.3f}{mark} | {theirs['tensor']:.0%}, {ours['tensor']:.0%} "
                f"| {theirs['unit']} {theirs['busy']:.0%} | {ours['unit']} {ours['busy']:.0%} |"
            )


COMMAND = "./bench/versus-fa4"
TEXT = f"""[The model](../../docs/timing.md) ran both: fa4-compile's kernels with their default options, and FlashAttention-4's
own PTX ({FA4_VERSION}) as its host code launches it. 32k tokens in all, 2048 columns of v, bf16, B200 at 1.8 GHz, power not
modelled. No Blackwell card has confirmed these numbers: at a fixed clock the model is too fast for FlashAttention-4's
kernels by what [published measurements](published.md) say, and how far it is off on an H100 is in
[what operations cost](timing.md). So a ratio is worth more than its two times.

The bar is a ratio of 1 at most from 2k on, of 1.05 for head dims 192 (128 of v) and 256. FlashAttention-4 runs on pairs
of CTAs for head dims 128 and 192 without a mask and for 256, fa4-compile for 192 without a mask and for 256.

"""
PUBLISHED_TEXT = f"""FlashAttention-4's own PTX ({FA4_VERSION}) under [the model](../../docs/timing.md) of a B200, beside what users have
measured on one and published at Dao-AILab/flash-attention. Nothing in the model was fitted to these figures. Bars: 10%
where the clock was fixed, 5 points for ratios, which do not depend on the clock. [What the model hangs on](sensitivity.md)
has the same figures under other settings.

"""


def page_of(table, commit):
    """Returns the page of a table that was measured at `commit`."""
    count = sum(s.bar is not None and s.name in table for s in SHAPES)
    ratios = [ratio(row) for row in table.values()]
    found = f"{len(table)} shapes, {min(ratios):.2f} to {max(ratios):.2f} of FlashAttention-4's time; {len(missed(table))} of {count} bars are missed"
    return results.head("Beside FlashAttention-4, by the model", found, f"{COMMAND} --write", commit) + TEXT + "\n".join(lines(table))


def published_page(cycles, commit):
    """Returns the page of published figures. `cycles`: launch's name -> cycles by the model."""
    off, errors = published.missed(cycles), softness.figures(cycles)[0]
    count = len(published.FIXED) + len(published.RATIOS)
    found = f"{len(off)} of {count} bars are missed; at a fixed clock modelled times are off by {100 * min(errors):+.0f}% to {100 * max(errors):+.0f}%"
    head = results.head("Beside published measurements", found, f"{COMMAND} --published --write", commit)
    return head + PUBLISHED_TEXT + "\n".join(published.lines(cycles))


def published_cycles(arguments, *words):
    """{launch's name: cycles} of the launches that somebody has measured."""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        needed = published.launches()
        times = pool.map(lambda launched: time_theirs(launched, arguments.records, *words).cycles, needed)
        return dict(zip((launched.name for launched in needed), times))


def write_sensitivity(arguments) -> int:
    """The page on what the model hangs on."""
    launches = softness.forward_launches()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda launched: softness.measure(arguments.records / launched.name / "launch-0.json"), launches.values())
        by_kernel = dict(zip(launches, found))
    by_setting = {each: published_cycles(arguments, *(f"--set={value}" for value in each.values)) for each in softness.SETTINGS}
    parts = ["\n".join(softness.sensitivity_lines(by_kernel)), "\n".join(softness.setting_lines(by_setting))]
    print("\n\n".join(parts))
    if arguments.write:
        found = softness.headline(by_setting)
        head = results.head("What the model hangs on", found, f"{COMMAND} --sensitivity --write", arguments.commit)
        text = softness.TEXT.format(version=FA4_VERSION) + parts[0] + "\n" + softness.SETTINGS_TEXT + parts[1] + "\n" + softness.CONCLUSION
        results.write("sensitivity", head + text)
    return 0


def compare_with_published(arguments) -> int:
    cycles = published_cycles(arguments)
    off = published.missed(cycles)
    table_lines = list(published.lines(cycles))
    print("\n".join(table_lines))
    count = len(published.FIXED) + len(published.RATIOS)
    if arguments.write:
        results.write("published", published_page(cycles, arguments.commit))
    print(f"{count} figures, {len(off)} miss their bar")
    return 1 if off else 0


def compare_gradients(arguments, shapes) -> int:
    """The gradient's table, and its page."""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        table = versus_gradient.measure(shapes, arguments.records, arguments.options, pool.map)
    table_lines = list(versus_gradient.lines(table))
    off = versus_gradient.missed(table)
    print("\n".join(table_lines))
    if arguments.write:
        results.write("gradient", versus_gradient.page(table, arguments.commit, FA4_VERSION))
    print(f"{len(table)} shapes, {len(off)} miss their bar")
    return 1 if off else 0


def compare_orders(arguments, shapes) -> int:
    """What `deterministic` costs, and its page."""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        table = versus_gradient.measure_order([shape for shape in shapes if shape in versus_gradient.ORDERED], arguments.options, pool.map)
    print("\n".join(versus_gradient.order_lines(table)))
    if arguments.write:
        results.write("gradient-deterministic", versus_gradient.order_page(table, arguments.commit))
    return 1 if versus_gradient.slow_orders(table) else 0


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="versus-fa4", description="Modelled times of fa4-compile's kernels beside FlashAttention-4's.")
    parser.add_argument("--records", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="", metavar="REGEX", help="only shapes whose name has a match")
    parser.add_argument("--quick", action="store_true", help="lengths of 2k and 4k only")
    parser.add_argument("--check", action="store_true", help="compare with the table of the documentation instead; exit status 1 where a kernel has lost 1%%")
    parser.add_argument("--published", action="store_true", help="FlashAttention-4's kernels beside what others have measured, instead")
    parser.add_argument("--sensitivity", action="store_true", help="what FlashAttention-4's kernels and the published figures do when parameters of the model change, instead")
    parser.add_argument("--deterministic", action="store_true", help="with --gradient: what `deterministic` costs, instead; needs no environment of FlashAttention-4")
    parser.add_argument("--gradient", action="store_true", help="the three kernels of the gradient, instead, beside FlashAttention-4's with and without pairs of CTAs")
    parser.add_argument("--write", action="store_true", help="write the page in bench/results; the tree must have no changes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="launches at a time (default: processors)")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="what is left goes to fa4-compile")
    arguments = parser.parse_args(words)
    if arguments.deterministic and not arguments.gradient:
        parser.error("--deterministic goes with --gradient")
    if arguments.gradient and (arguments.check or arguments.published or arguments.sensitivity):
        parser.error("--gradient goes with neither --check nor --published nor --sensitivity")
    shapes = choose(arguments.shape, arguments.quick, GRADIENTS if arguments.gradient else SHAPES)
    if not shapes:
        parser.error(f"no shape matches '{arguments.shape}'")
    arguments.commit = results.clean_commit() if arguments.write else ""
    if arguments.deterministic:
        return compare_orders(arguments, shapes)
    if arguments.gradient:
        return compare_gradients(arguments, shapes)
    if arguments.sensitivity:
        return write_sensitivity(arguments)
    if arguments.published:
        return compare_with_published(arguments)
    stored = json.loads(STORED.read_text())

    def run(shape):
        theirs = stored.get(shape.name, {}).get("theirs") if arguments.check else vars(time_theirs(shape.launched, arguments.records))
        return shape.name, {"theirs": theirs, "ours": vars(time_ours(shape, arguments.options))}

    with ThreadPoolExecutor(arguments.jobs) as pool:
        table = dict(pool.map(run, shapes))
    if arguments.check:
        for name, before, now in (found := lost(table, stored)):
            print(f"{name}: {now} cycles, {now / before - 1:.1%} more than the {before} of {STORED.name}")
        print(f"{len(table)} shapes, {len(found)} have lost more than {TOLERANCE - 1:.0%}")
        return 1 if found else 0
    print("\n".join(lines(table)))
    if arguments.write:
        STORED.write_text(json.dumps(stored | table, indent=1) + "\n")
        results.write("versus-fa4", page_of(stored | table, arguments.commit))
    print(f"{len(table)} shapes, {len(missed(table))} miss their bar")
    return 1 if missed(table) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (gpu.SimulationError, gpu.CompileError, RuntimeError, OSError) as error:
        sys.exit(f"versus-fa4: {error}")
