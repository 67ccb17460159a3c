# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of bench/hopper as Markdown, and the bars that are missed. Needs no card.

`recorded` is what a measurement writes (bench/hopper.json): where it ran, and of each row `flops`, `candidates` (each with `errors`,
and for each protocol `us`, `mhz`, `spread` and `seen_mhz`) and `absent`, why others were not measured. `modelled` has fa4-sim's cycles
of rows by name."""

import math

from fa4_testing import results
from fa4_bench.hopper.rows import FLEX_GROUPS, GROUPS, MASKS, ROWS, group_of

OURS = "ours:default"
PROTOCOLS = ("burst", "sustained")
# Our speed over that of the best peer of a row, over FlashAttention-4's: the geometric mean, and in rows of 1k tokens.
BEST_BAR, MEAN_BAR, SHORT_BAR, SHORT = 1.00, 1.05, 1.10, 1024
# Of rows with modifications over FlexAttention; a mask's rate per visible score over the unmasked kernel's.
FLEX_BAR, MASK_BAR = 1.5, 0.9
# What the compiler's own choice may lose to the best variant.
REGRET_BAR = 0.015

TEXT = """The card is an {card} with driver {driver} and torch {torch}, measured on {date}. All candidates of a row ran in one process, in turn:
FlashAttention-4 4.0.0b36 for sm_90 (its recorded launches, without its host code), cuDNN and FlexAttention (through torch, without the
time of making block masks), and the kernels of fa4. *Burst* is 8 launches after 120 ms of idling, *sustained* a loop of 0.8 s, of which
the first 0.3 s do not count. Data are normal random numbers; each result was held to float64 first, by FlashAttention's rule. TFLOP/s
count the visible scores (half of them with a causal mask). MHz is the mean clock of the SMs while the launches ran, in brackets what a
resident thread saw from the slowest to the fastest moment of further launches (2% of moments are left out at both ends).
"""


def teraflops(entry, protocol, flops):
    """Of a candidate's entry; None where it was not timed."""
    return flops / entry[protocol]["us"] / 1e6 if entry and protocol in entry else None


def speeds(row, protocol):
    """{name: TFLOP/s} of the candidates that were timed."""
    found = {name: teraflops(entry, protocol, row["flops"]) for name, entry in row["candidates"].items()}
    return {name: speed for name, speed in found.items() if speed}


def is_ours(name):
    return name.startswith("ours:")


def best_peer(row_speeds):
    """The largest TFLOP/s of a peer, or None."""
    return max((speed for name, speed in row_speeds.items() if not is_ours(name)), default=None)


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def rows_of(recorded, group):
    """(name, row) in the order of the tables."""
    return [(row.name, recorded["rows"][row.name]) for row in GROUPS[group] if row.name in recorded["rows"]]


# ---------------------------------------------------------------------------
# Bars
# ---------------------------------------------------------------------------


def is_right(error, allowed):
    """Whether a result passes; NaN does not."""
    return error <= allowed


def wrong_results(recorded):
    return [f"{name}: {candidate} is wrong: {result} is off by {error:.3g}, and {allowed:.3g} is allowed"
            for name, row in recorded["rows"].items() for candidate, entry in row["candidates"].items()
            for result, (error, allowed) in entry["errors"].items() if not is_right(error, allowed)]  # fmt: skip


def missed_of_row(name, row, protocol):
    """Sentences on the bars that a row misses by itself."""
    found = speeds(row, protocol)
    mine, best, fa4 = found.get(OURS), best_peer(found), found.get("fa4")
    where, is_mod = f"{name}, {protocol}", group_of(name) in FLEX_GROUPS
    if mine is None:
        return [f"{where}: no kernel of ours was timed"]
    if best is None:
        return [f"{where}: no peer was timed"]
    bar = FLEX_BAR if is_mod else BEST_BAR
    missed = [f"{where}: {mine / best:.3f} of the best peer, the bar is {bar:.2f}"] if mine < bar * best else []
    if fa4 and ROWS[name].length == SHORT and mine < SHORT_BAR * fa4:
        missed.append(f"{where}: {mine / fa4:.3f} of FlashAttention-4, the bar is {SHORT_BAR:.2f} at 1k")
    fastest = max(speed for candidate, speed in found.items() if is_ours(candidate))
    if mine < (1 - REGRET_BAR) * fastest:
        missed.append(f"{where}: {1 - mine / fastest:.1%} slower than another variant, the bar is {REGRET_BAR:.1%}")
    return missed


def missed_by_masks(recorded, protocol):
    """Of masks whose visible scores are computed more slowly than those of the unmasked kernel."""
    missed = []
    for name, row in rows_of(recorded, "mods"):
        if ROWS[name].kind not in MASKS:
            continue
        plain = recorded["rows"].get(name.replace(ROWS[name].kind, "full"))
        mine, without = (speeds(each, protocol).get(OURS) if each else None for each in (row, plain))
        if mine and without and mine < MASK_BAR * without:
            missed.append(f"{name}, {protocol}: {mine / without:.3f} of the unmasked kernel's rate, the bar is {MASK_BAR:.2f}")
    return missed


def mean_over_fa4(recorded, protocol):
    """The geometric mean of our speed over FlashAttention-4's, of the rows that have both; None without any."""
    ratios = []
    for row in recorded["rows"].values():
        found = speeds(row, protocol)
        if OURS in found and "fa4" in found:
            ratios.append(found[OURS] / found["fa4"])
    return geometric_mean(ratios) if ratios else None


def protocols_of(recorded):
    """Those by which something was timed."""
    return [protocol for protocol in PROTOCOLS if any(speeds(row, protocol) for row in recorded["rows"].values())]


def missed_bars(recorded):
    """A sentence for each bar that is missed."""
    missed = wrong_results(recorded)
    if not protocols_of(recorded):
        missed.append("nothing was timed")
    for protocol in protocols_of(recorded):
        for name, row in recorded["rows"].items():
            missed += missed_of_row(name, row, protocol)
        missed += missed_by_masks(recorded, protocol)
        mean = mean_over_fa4(recorded, protocol)
        if mean is not None and mean < MEAN_BAR:
            missed.append(f"{protocol}: the geometric mean over FlashAttention-4 is {mean:.3f}, the bar is {MEAN_BAR:.2f}")
    return missed


# ---------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------


def number(value, digits=0):
    return "–" if value is None else f"{value:.{digits}f}"


def clock(entry, protocol):
    if not entry or not (times := entry.get(protocol)) or "mhz" not in times:
        return "–"
    seen = times.get("seen_mhz")
    return f"{times['mhz']}" + (f" ({seen[0]}–{seen[2]})" if seen else "")


def model_cells(name, row, protocol, modelled):
    """Modelled cycles in thousands, and how far they are off."""
    cycles, entry = modelled.get(name), row["candidates"].get(OURS, {}).get(protocol)
    if cycles is None:
        return ["–", "–"]
    off = cycles / (entry["us"] * entry["mhz"]) - 1 if entry and "mhz" in entry else None
    return [f"{cycles / 1e3:.0f}", "–" if off is None else f"{off:+.1%}"]


def row_cells(name, row, protocol, peers, modelled):
    found, entries = speeds(row, protocol), row["candidates"]
    mine, best = found.get(OURS), best_peer(found)
    ratio = "–" if not mine or not best else f"{mine / best:.3f}"
    missed = " **missed**" if mine and missed_of_row(name, row, protocol) else ""
    clocks = [clock(entries.get(candidate), protocol) for candidate in (OURS, *peers)]
    return [name, number(mine), *(number(found.get(peer)) for peer in peers), ratio + missed, *clocks, *model_cells(name, row, protocol, modelled)]


PEER_NAMES = {"fa4": "FA4", "cudnn": "cuDNN", "flex": "FlexAttention"}


def group_table(recorded, group, protocol, modelled):
    """The lines of a group by a protocol; none where nothing was timed."""
    rows = [(name, row) for name, row in rows_of(recorded, group) if speeds(row, protocol)]
    if not rows:
        return []
    peers = [peer for peer in PEER_NAMES if any(peer in row["candidates"] for _, row in rows)]
    names = [PEER_NAMES[peer] for peer in peers]
    heads = ["row", "ours, TFLOP/s", *names, "ours / best peer", "ours, MHz", *(f"{name}, MHz" for name in names), "modelled, kcycles", "error"]
    lines = [f"## {group.capitalize()}, {protocol}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return [*lines, *(f"| {' | '.join(row_cells(name, row, protocol, peers, modelled))} |" for name, row in rows), ""]


def variant_table(recorded):
    """Other variants of our kernels beside the default, where there are any."""
    lines = []
    for protocol in protocols_of(recorded):
        for name, row in recorded["rows"].items():
            found = {candidate: speed for candidate, speed in speeds(row, protocol).items() if is_ours(candidate)}
            if set(found) - {OURS}:
                best = max(found, key=found.get)
                listed = ", ".join(f"{candidate.removeprefix('ours:')} {speed:.0f}" for candidate, speed in sorted(found.items(), key=lambda x: -x[1]))
                regret = f"{1 - found[OURS] / found[best]:.1%}" if OURS in found else "–"
                lines.append(f"| {name} | {protocol} | {listed} | {regret} |")
    head = ["## Variants", "", "| row | protocol | TFLOP/s | what the default loses |", "|---|---|---|---|"]
    return [*head, *lines, ""] if lines else []


def absent_list(recorded):
    """What was not measured, and why."""
    lines = [f"- {name}: {candidate}: {why}" for name, row in recorded["rows"].items() for candidate, why in row.get("absent", {}).items()]
    return ["## Not measured", "", *lines, ""] if lines else []


def missing_lines(recorded):
    """The rows that nobody has measured with the kernels of this commit."""
    missing = [f"`{name}`" for name in ROWS if name not in recorded["rows"]]
    return [f"Rows that were not measured at this commit: {', '.join(missing)}.", ""] if missing else []


def mean_lines(recorded):
    means = [(protocol, mean_over_fa4(recorded, protocol)) for protocol in protocols_of(recorded)]
    return [f"Geometric mean over FlashAttention-4, {protocol}: {mean:.3f} (the bar is {MEAN_BAR:.2f})." for protocol, mean in means if mean is not None]


def body(recorded, modelled):
    """Everything but the head of the page."""
    lines = [TEXT.format(**recorded), " ".join(mean_lines(recorded)), "", *missing_lines(recorded)]
    for group in GROUPS:
        for protocol in PROTOCOLS:
            lines += group_table(recorded, group, protocol, modelled)
    lines += [*variant_table(recorded), *absent_list(recorded)]
    return "\n".join(lines)


def headline(recorded):
    """What the page says first."""
    said = []
    for protocol in protocols_of(recorded):
        timed = [(name, row) for name, row in recorded["rows"].items() if OURS in row["candidates"]]
        reached = sum(not missed_of_row(name, row, protocol) for name, row in timed)
        mean = mean_over_fa4(recorded, protocol)
        said.append(f"{reached} of {len(timed)} rows reach their bars {protocol}" + (f", {mean:.2f} of FlashAttention-4's speed" if mean else ""))
    return f"On {recorded['card']}: {'; '.join(said)}"


def has_ours(recorded):
    return any(OURS in row["candidates"] for row in recorded["rows"].values())


def page(recorded, modelled):
    """The whole page. Raises ValueError where no kernel of ours was measured, or the commit has changes."""
    if not has_ours(recorded):
        raise ValueError("there are no figures of our kernels yet")
    if not recorded["commit"].isalnum():
        raise ValueError(f"the measurement is of commit '{recorded['commit']}': measure a commit without changes")
    head = results.head("Attention on a Hopper card, beside others", headline(recorded), "./bench/hopper --report --write", recorded["commit"], recorded["date"])
    return head + "![TFLOP/s by the length of sequences](hopper.svg)\n\n" + body(recorded, modelled)
