# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of decoding on a Hopper card: our kernels beside torch's, in turn and in bursts, bf16.

A step reads all keys and values of a batch once, so that the memory's rate bounds its time. Peers are what torch has for few
queries: cuDNN's kernel, FlashAttention-2's, and FlexAttention's for decoding. They have no pages of a cache; ours does, in rows that
say so. Each candidate's results are held to float64 by
FlashAttention's rule before it is timed. The bars are 85 % of the memory's rate in rows of many keys, and the fastest peer's time."""

import sys
from dataclasses import dataclass

import fa4
from fa4_testing import results
from fa4_bench.card_bench import CardBench, listed
from fa4_bench.hopper import tables

PEERS = "cudnn", "flash", "flex"
# GB/s that NVIDIA's data sheets state.
RATES = {"H200": 4800, "H100": 3350}
LEAST_SHARE, LEAST_BYTES = 0.85, 2**29


@dataclass(frozen=True)
class Row:
    batch: int
    keys: int
    heads: tuple = (32, 8)  # Of q, of k and v.
    head_dim: int = 128
    queries: int = 1
    page: int = 0  # Keys of a page; 0 for tensors.
    invariant: bool = False  # The same bits whatever else is in the batch.

    @property
    def name(self):
        heads, k = "/".join(map(str, self.heads)), f"{self.keys // 1024}k"
        drafts = f", {self.queries} queries, causal" if self.queries > 1 else ""
        pages = f", pages of {self.page}" if self.page else ""
        invariant = ", batch invariant" if self.invariant else ""
        return f"{self.batch} x {k}, {heads} heads, hd{self.head_dim}{drafts}{pages}{invariant}"

    @property
    def kind(self):
        return "causal" if self.queries > 1 else "full"

    @property
    def folder(self):
        pages = f"-p{self.page}" if self.page else ""
        return f"q{self.queries}-h{self.heads[0]}-{self.heads[1]}-hd{self.head_dim}{pages}{'-invariant' * self.invariant}"

    @property
    def bytes(self):
        """Of keys and values."""
        return 2 * 2 * self.batch * self.keys * self.heads[1] * self.head_dim


ROWS = [
    Row(4, 32768), Row(1, 32768), Row(16, 8192), Row(64, 4096), Row(128, 2048), Row(1, 131072), Row(1, 8192),
    Row(4, 32768, (64, 8)), Row(4, 32768, (32, 32)), Row(16, 32768, (64, 1)), Row(16, 8192, (28, 4)),
    Row(4, 32768, head_dim=64), Row(64, 4096, head_dim=64), Row(4, 32768, head_dim=256), Row(4, 32768, queries=4), Row(16, 8192, queries=8),
    Row(4, 32768, page=256), Row(4, 32768, page=64), Row(4, 32768, page=16), Row(16, 8192, page=64), Row(64, 4096, page=64), Row(64, 4096, page=16),
    Row(16, 8192, (28, 4), page=16), Row(4, 32768, head_dim=64, page=16), Row(16, 8192, queries=8, page=64),
    Row(4, 32768, invariant=True), Row(64, 4096, invariant=True), Row(16, 8192, page=16, invariant=True),
]  # fmt: skip


def rows(quick):
    return ROWS[:1] if quick else ROWS


# ---------------------------------------------------------------------------
# Our kernels
# ---------------------------------------------------------------------------


def spec(row):
    """The op, for any batch size and number of keys."""
    keys = f"Pages {row.page}" if row.page else "B Sk"
    shapes = [f"B {row.queries} {row.heads[0]} {row.head_dim}", *[f"{keys} {row.heads[1]} {row.head_dim}"] * 2]
    form = {"seqlens_k": bool(row.page), "page_table": bool(row.page), "batch_invariant": row.invariant}
    return fa4.sdpa(*shapes, mask=None if row.kind == "full" else row.kind, **form)


def ops(quick):
    """The texts of our kernels' ops, by folder."""
    return {row.folder: spec(row).text for row in rows(quick)}


def open_bench(card, folder, quick, record):
    """What measures a row, on the machine with the card. The record gets the rate of the card's memory as torch reads it."""
    from fa4_bench import serving_card

    rate_of(record)
    bench = serving_card.Bench(card, folder, quick)
    record["read_gbs"] = bench.read_rate()
    return bench


# ---------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------


def rate_of(recorded):
    """GB/s of the card's memory. Raises ValueError for a card that nobody has looked up."""
    for name, rate in RATES.items():
        if name in recorded["card"]:
            return rate
    raise ValueError(f"the rate of the memory of {recorded['card']} is not known: add it to RATES")


def share(found, recorded):
    """How much of the memory's rate our kernel has."""
    return found["bytes"] / found["us"]["ours"] / 1e3 / rate_of(recorded)


def fastest_peer(found):
    return min(((found["us"][peer], peer) for peer in PEERS if peer in found["us"]), default=None)


def missed_bars(recorded):
    """A sentence for each row that misses a bar."""
    for name, found in recorded["rows"].items():
        if "ours" in found["wrong"]:
            yield f"{name}: our kernel is wrong: {found['wrong']['ours']}"
        if "ours" not in found["us"]:
            yield f"{name}: our kernel has no time"
            continue
        if found["bytes"] >= LEAST_BYTES and share(found, recorded) < LEAST_SHARE:
            yield f"{name}: {share(found, recorded):.0%} of the memory's rate; the bar is {LEAST_SHARE:.0%}"
        peer = fastest_peer(found)
        if peer and found["us"]["ours"] > peer[0]:
            yield f"{name}: {peer[0] / found['us']['ours']:.2f} of {peer[1]}'s speed; the bar is 1.00"


def body(recorded):
    lines = ["| row | ours, us | of the memory's rate | " + " | ".join(f"{peer}, us" for peer in PEERS) + " | times the fastest one's speed |",
             "|---|---|---|" + "---|" * len(PEERS) + "---|"]  # fmt: skip
    for name, found in recorded["rows"].items():
        times, peer = found["us"], fastest_peer(found)
        cells = [f"{times['ours']:.1f}", f"{share(found, recorded):.0%}"] if "ours" in times else ["", ""]
        cells += [f"{times[each]:.1f}" if each in times else "" for each in PEERS]
        cells.append(f"{peer[0] / times['ours']:.2f}" if peer and "ours" in times else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(recorded):
    ratios = [fastest_peer(found)[0] / found["us"]["ours"] for found in recorded["rows"].values() if "ours" in found["us"] and fastest_peer(found)]
    missed = list(missed_bars(recorded))
    behind = {sentence.split(":")[0] for sentence in missed}
    state = (f"On an {recorded['card']}, steps of decoding have {tables.geometric_mean(ratios):.2f} times the speed of torch's fastest kernel, in the geometric mean; "
             f"{len(recorded['rows']) - len(behind)} of {len(recorded['rows'])} rows meet the bars")  # fmt: skip
    head = results.head("Decoding on Hopper", state, "./bench/serving --report --write", recorded["commit"], recorded["date"])
    text = f"""\
bf16, medians of bursts of {recorded["launches"]} launches, all candidates in turn in one process; driver {recorded["driver"]}, torch
{recorded["torch"]}. A row is a batch and its keys, the heads of q and of k and v, and the head dim; one query a sequence unless
it says more. Where our kernel finds keys by a page table, the others have the same keys in one piece: torch's kernels have no
pages. The memory's rate is {rate_of(recorded)} GB/s, as the data sheet says; a reduction by torch of one large tensor has
{recorded["read_gbs"]:.0f} GB/s in the same run. Rows with less than {LEAST_BYTES >> 20} MiB of keys and values are in the cache in part, and have no
bar by it.

{body(recorded)}

""" + listed(missed)
    return head + results.wrapped(text) + "\n"


BENCH = CardBench("serving", __doc__, "one row", rows, ops, open_bench, body, page, missed_bars)
main = BENCH.main

if __name__ == "__main__":
    sys.exit(main())
