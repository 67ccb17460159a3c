# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed sequences on a Hopper card: our kernels beside torch's varlen_attn, in turn and in bursts, bf16, 16 heads.

Where all sequences have one length, our kernels of a batch (layout bshd) are a candidate, too: what packing costs. Each
candidate's results are held to float64 by FlashAttention's rule before it is timed. The bar is the peer's time."""

import math
import random
import sys
from dataclasses import dataclass

import fa4
from fa4_testing import results
from fa4_bench.card_bench import CardBench, listed
from fa4_bench.hopper import tables

HEADS, HEAD_DIMS, MASKS, KINDS = 16, (64, 128), ("full", "causal"), ("fwd", "bwd")
PEER = "torch"


# The same lengths in each run.
_DRAWN = random.Random(3)


def _uniform(count, least, most):
    return tuple(_DRAWN.randint(least, most) for _ in range(count))


def _log_uniform(count, least, most):
    return tuple(round(math.exp(_DRAWN.uniform(math.log(least), math.log(most)))) for _ in range(count))


LENGTHS = {
    "64 of 256": (256,) * 64,
    "16 of 1k": (1024,) * 16,
    "4 of 4k": (4096,) * 4,
    "64 of 64 to 512": _uniform(64, 64, 512),
    "32 of 16 to 8k, log-uniform": _log_uniform(32, 16, 8192),
}
QUICK = ("64 of 256",)


@dataclass(frozen=True)
class Row:
    kind: str
    head_dim: int
    mask: str
    lengths: str

    @property
    def name(self):
        return f"{self.kind} hd{self.head_dim} {self.mask}, {self.lengths}"


def rows(quick):
    if quick:
        return [Row(kind, 128, "causal", name) for name in QUICK for kind in KINDS]
    return [Row(kind, dim, mask, name) for kind in KINDS for dim in HEAD_DIMS for mask in MASKS for name in LENGTHS]


# ---------------------------------------------------------------------------
# Our kernels
# ---------------------------------------------------------------------------


def spec(layout, kind, head_dim, mask):
    """The op of packed sequences (thd), or of a batch (bshd), with the LSE."""
    batch = "" if layout == "thd" else "B "
    shapes = [f"{batch}{tokens} {HEADS} {head_dim}" for tokens in ("Tq", "Tk", "Tk")]
    clauses = dict(layout=layout, mask=None if mask == "full" else mask)
    return fa4.sdpa(*shapes, lse=True, **clauses) if kind == "fwd" else fa4.sdpa_backward(*shapes, **clauses)


def folder_of(layout, row):
    return f"{layout}-{row.kind}-hd{row.head_dim}-{row.mask}"


def ops(quick):
    """The texts of our kernels' ops, by folder."""
    return {folder_of(layout, row): spec(layout, row.kind, row.head_dim, row.mask).text for layout in ("thd", "bshd") for row in rows(quick)}


def open_bench(card, folder, quick, record):
    """What measures a row, on the machine with the card."""
    from fa4_bench import varlen_card

    return varlen_card.Bench(card, folder, quick)


# ---------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------


def missed_bars(recorded):
    """A sentence for each row that misses the bar."""
    for name, found in recorded["rows"].items():
        for candidate, said in found["wrong"].items():
            yield f"{name}: {candidate} is wrong: {said}"
        times = found["us"]
        if "packed" not in times:
            yield f"{name}: our kernel has no time"
        elif PEER in times and times["packed"] > times[PEER]:
            yield f"{name}: {times[PEER] / times['packed']:.2f} of torch's speed; the bar is 1.00"


def body(recorded):
    lines = ["| row | packed, us | torch, us | times torch's speed | a batch, us | times the batch's speed |", "|---|---|---|---|---|---|"]
    for name, found in recorded["rows"].items():
        times = {candidate: found["us"].get(candidate) for candidate in ("packed", PEER, "batch")}
        ratios = [f"{times[other] / times['packed']:.2f}" if times[other] and times["packed"] else "" for other in (PEER, "batch")]
        shown = {candidate: f"{us:.0f}" if us else "" for candidate, us in times.items()}
        lines.append(f"| {name} | {shown['packed']} | {shown[PEER]} | {ratios[0]} | {shown['batch']} | {ratios[1]} |")
    return "\n".join(lines)


def page(recorded):
    against = {kind: [found["us"][PEER] / found["us"]["packed"] for name, found in recorded["rows"].items()
                      if name.startswith(kind) and {PEER, "packed"} <= found["us"].keys()] for kind in KINDS}  # fmt: skip
    missed = list(missed_bars(recorded))
    means = " and ".join(f"{tables.geometric_mean(ratios):.2f} times {what}" for ratios, what in zip(against.values(), ("forward", "backward")) if ratios)
    state = f"On an {recorded['card']}, packed sequences have torch's speed {means}, in the geometric mean; {len(recorded['rows']) - len(missed)} of {len(recorded['rows'])} rows meet the bar"
    head = results.head("Packed sequences on Hopper", state, "./bench/varlen --report --write", recorded["commit"], recorded["date"])
    text = f"""\
bf16, {HEADS} heads of q, k and v, medians of bursts of {recorded["launches"]} launches, all candidates in turn in one process; driver
{recorded["driver"]}, torch {recorded["torch"]}. torch is its varlen_attn, which is told the longest length; our kernels find
their work on the GPU. A batch is our kernel of the layout bshd on the same sequences.

{body(recorded)}

""" + listed(missed)
    return head + results.wrapped(text) + "\n"


BENCH = CardBench("varlen", __doc__, "two rows", rows, ops, open_bench, body, page, missed_bars)
main = BENCH.main

if __name__ == "__main__":
    sys.exit(main())
