# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of bench/timing as Markdown: what was measured on a card, what the model says, and whether it meets its bars.

`recorded` is bench/timing.json: the card, the date, `cycles` of the micro-benchmarks and `kernels`. `modelled` is
bench/timing-model.json: the commit and the date of the model, where its costs come from (`costs`), `cycles` and `kernels` (cycles by name)."""

from fa4_testing import results
from fa4_bench.timing import model, peers
from fa4_bench.timing.micro import FAMILIES

TEXT = """The card is an {card}, measured on {date} by `./bench/timing --measure bench/timing.json`
([bench/timing.json](../timing.json)). Beside it stands fa4-sim's clock ([bench/timing-model.json](../timing-model.json)), with
costs of instructions from {costs}.
"""
MICROS = """## Single operations

A number is cycles of the SM's clock for one operation of a warp (of a warpgroup for wgmma), or, where several warps share a unit, warp instructions
in a cycle of the SM. It is the difference between a longer and a shorter run of the same loop, so that what stands
outside of the loop does not count; the kernels are in [micro.py](../../bench/fa4_bench/timing/micro.py). A body's share of its loop's
three instructions is in the numbers: 0.2 cycles for latencies of pipes.
"""
KERNELS = """## Real kernels

FlashAttention-4's attention in bf16 (16k tokens in all, 2048 columns; the name says the direction, the head dim, the mask and the tokens of one sequence) and
kernels of CUTLASS and Triton, replayed from [records](../../docs/simulator-manifest.md#records) on random data. Of the backward, it is the main kernel;
*others* are those before and behind it. Cycles are those of the SMs' own clock from one launch to the next, in a queue of launches of the same kernel;
the clock is what power leaves of it. *One CTA* is a launch of the grid's first CTA alone, *wave* one of the grid that is given, which is to have a CTA for each SM.
Parameters of the model may be fitted to the kernels marked *fit*; the others are held out, by a rule that was chosen before the measurement
([peers.py](../../bench/fa4_bench/timing/peers.py)).
"""


def page(recorded, modelled):
    """The whole page."""
    head = results.head("What operations cost on a card, and in the model", headline(recorded, modelled), "./bench/timing --write", modelled["commit"], modelled["date"])
    text = TEXT.format(**recorded, costs=modelled["costs"])
    lines = [head + text, *summary(recorded, modelled)[0], *kernel_table(recorded, modelled["kernels"]), *micro_tables(recorded, modelled["cycles"])]
    return "\n".join(lines)


def headline(recorded, modelled):
    """What the page says first: the error of the model for FlashAttention-4's kernels."""
    cycles = modelled["kernels"]
    kernels = [k for k in peers.all_kernels() if use_of(k) in ("fit", "held out") and k.name in recorded.get("kernels", {}) and k.name in cycles]
    if not kernels:
        return "No kernel of FlashAttention was chosen"
    mean, worst, _ = model.judge([(recorded["kernels"][k.name]["cycles"], cycles[k.name]) for k in kernels])
    return f"{len(kernels)} kernels of FlashAttention on {recorded['card']}: modelled cycles are off by {mean:.1%} on average, by {worst:.1%} at most"


def percent(value):
    return f"{100 * value:+.1f}%"


def micro_tables(recorded, modelled):
    """A section for each family."""
    lines = [MICROS]
    for family in FAMILIES:
        lines += [f"### {family.__name__.replace('_', ' ').capitalize()}", "", "| operation | cycles | a cycle | modelled | error |", "|---|---|---|---|---|"]
        for micro in family():
            cycles = recorded["cycles"].get(micro.name)
            if cycles is None:
                continue
            rate = f"{1 / cycles:.2f}" if micro.is_rate else ""
            found = modelled.get(micro.name)
            model_text = f"{found:.2f} | {percent(model.error_of(cycles, found))}" if found is not None else " | "
            lines.append(f"| {micro.name} | {cycles:.2f} | {rate} | {model_text} |")
        lines.append("")
    return lines


def grid_text(launch):
    return " x ".join(map(str, launch["grid"]))


def use_of(kernel):
    """What a kernel is for: fit, held out, or unseen; launch for those that do nothing."""
    if isinstance(kernel, peers.Empty):
        return "launch"
    if not isinstance(kernel, peers.Form):
        return "unseen"
    return "fit" if peers.is_fitted(kernel) else "held out"


def kernel_table(recorded, modelled):
    """The section on real kernels."""
    lines = [KERNELS, "| kernel | used as | grid | cycles | modelled | error | us | MHz | TFLOP/s | one CTA | wave | others |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for kernel in peers.all_kernels():
        if (measured := recorded.get("kernels", {}).get(kernel.name)) is None:
            continue
        parts, others = measured.get("parts"), measured.get("others", [])
        one = f"{parts['1']['cycles']}" if parts else ""
        wave = f"{parts['wave']['cycles']} ({grid_text(parts['wave'])})" if parts else ""
        rest = " + ".join(str(other["cycles"]) for other in others)
        found = modelled.get(kernel.name)
        model_text = f"{found:.0f} | {percent(model.error_of(measured['cycles'], found))}" if found is not None else " | "
        lines.append(f"| {kernel.name} | {use_of(kernel)} | {grid_text(measured)} | {measured['cycles']} | {model_text} | {measured['us']:.1f} "
                     f"| {measured['mhz']} | {measured['tflops']:.0f} | {one} | {wave} | {rest} |")  # fmt: skip
    return [*lines, ""]


def summary(recorded, modelled):
    """(lines, sentences on the bars that are missed). A kernel that was measured and is not modelled misses them, too."""
    lines = ["## How far the model is off", "",
             f"Bars for FlashAttention-4's kernels: mean absolute error at most {model.MEAN_BAR:.0%}, worst at most {model.WORST_BAR:.0%}, "
             f"correlation of ranks at least {model.RANK_BAR}.", "",
             "| kernels | number | mean absolute error | worst | rank correlation | bars |", "|---|---|---|---|---|---|"]  # fmt: skip
    failed = []
    groups = [("fit", "fit"), ("held out", "held out"), ("all of FlashAttention-4", ("fit", "held out")), ("unseen", "unseen")]
    for title, uses in groups:
        kernels = [k for k in peers.all_kernels() if use_of(k) in uses and k.name in recorded.get("kernels", {})]
        absent = [k.name for k in kernels if k.name not in modelled["kernels"]]
        pairs = [(recorded["kernels"][k.name]["cycles"], modelled["kernels"][k.name]) for k in kernels if k.name not in absent]
        if absent and uses != "unseen":
            failed.append(f"{title}: {len(absent)} kernels are not modelled: {', '.join(absent)}")
        if not pairs:
            continue
        figures = model.judge(pairs)
        bars = [] if uses == "unseen" else model.missed(figures)
        verdict = "" if uses == "unseen" else ", ".join(bars) + " missed" if bars else "met"
        if bars:
            failed.append(f"{title}: {', '.join(bars)} missed")
        lines.append(f"| {title} | {len(pairs)} | {figures[0]:.1%} | {figures[1]:.1%} | {figures[2]:.3f} | {verdict} |")
    return [*lines, ""], failed
