# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over several Hopper cards of one machine beside one card that has the whole sequence: fa4.distributed's ring and Ulysses, in turn, bf16.

Each card is a rank. Results are held to float64 at the shortest sequence, and to those of one card in each row, before anything is timed. What exchange costs is
found by a ring without messages and by its messages alone. The bar is the speed of a ring on two cards, forward and gradient, at 64k tokens under a causal
mask: 1.9 of one card's, at clocks that differ by 3 % at most."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import fa4
from fa4_testing import results
from fa4_bench.card_bench import CardBench, listed

HEADS, HEAD_DIM = (32, 8), 128  # Of q, of k and v.
LEAST_SPEEDUP, MOST_CLOCK = 1.9, 0.03
BARRED = "causal, 64k tokens"
# Bytes of an element of q, k and v, and of the sums of dk and dv on their way.
NARROW, WIDE = 2, 4
# What is modelled: tokens, and (ranks, GB/s of a rank's link to the next one, or None for what was measured between two cards, and in words).
MODELLED_TOKENS = 131072
MODELLED = ((8, None, "NVLink, as measured"), (64, 50, "a NIC of 400 Gbit/s for each card"))


@dataclass(frozen=True)
class Row:
    mask: str
    tokens: int

    @property
    def name(self):
        return f"{self.mask}, {self.tokens // 1024}k tokens"

    @property
    def forward_flops(self):
        return flops(self.mask, self.tokens)


ROWS = [Row("causal", 16384), Row("causal", 32768), Row("causal", 65536), Row("full", 32768)]


def row_of(name):
    return next(row for row in ROWS if row.name == name)


def rows(quick):
    return ROWS[:1] if quick else ROWS


def flops(mask, tokens):
    """Of the two products of matrices of the forward pass; the gradient has five of them."""
    return fa4.sdpa(f"B S {HEADS[0]} {HEAD_DIM}", f"B S {HEADS[1]} {HEAD_DIM}", mask=None if mask == "full" else mask).count_flops(1, HEADS[0], tokens, tokens)


# ---------------------------------------------------------------------------
# Our kernels
# ---------------------------------------------------------------------------


def ops(quick):
    """The texts of our kernels' ops, as fa4.torch and fa4.distributed have them: a causal ring has steps without a mask."""
    shapes = [f"B {tokens} {heads} {HEAD_DIM}" for tokens, heads in (("Sq", "Hq"), ("Sk", "Hkv"), ("Sk", "Hkv"))]
    specs = {mask: fa4.sdpa(*shapes, mask=None if mask == "full" else mask, lse=True) for mask in ("full", "causal")}
    return {f"fwd-{mask}": spec.text for mask, spec in specs.items()} | {f"bwd-{mask}": spec.backward().text for mask, spec in specs.items()}


def use_cache(folder):
    """Has fa4.torch take its kernels from a folder, in this process and in those that it starts. The machine with the cards has no ptxas, which would be part of
    a kernel's key."""
    os.environ |= {"FA4_CACHE_DIR": str(Path(folder).resolve()), "FA4_VERIFY_PTX": "0"}


class DistributedBench(CardBench):
    def compile_kernels(self, folder, quick):
        """Fills a cache of kernels; 1 where the compiler refuses one."""
        use_cache(folder)
        failed = 0
        for name, text in self.ops(quick).items():
            try:
                fa4.compile(text, chip="sm_90a", cache=True)
            except fa4.CompileError as error:
                failed = 1
                print(f"{self.name}: {name}: {error}", file=sys.stderr)
        return failed


def open_bench(card, folder, quick, record):
    """What measures a row, on the machine with the cards. The record gets how many there are."""
    from fa4_bench import distributed_card

    use_cache(folder)
    bench = distributed_card.Bench.start(card, quick)
    record["cards"] = bench.size
    return bench


# ---------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------


def speedup(found, name, one="one"):
    """How many times one card's speed a candidate has."""
    return found["ms"][one] / found["ms"][name]


def hidden(found):
    """The share of the ring's messages that is hidden under its steps."""
    times = found["ms"]
    return min(1.0, max(0.0, 1 - (times["ring"] - times["steps"]) / times["messages"]))


def link_gbs(found):
    """GB/s at which the messages of a row go from card to card, in each direction, while nothing else runs."""
    return found["message_bytes"] / found["ms"]["messages"] / 1e6


def missed_bars(recorded):
    """A sentence for each bar that is missed, and for each wrong result."""
    for name, found in recorded["rows"].items():
        for candidate, said in found["wrong"].items():
            yield f"{name}: {candidate} is wrong: {said}"
    found = recorded["rows"].get(BARRED)
    if not found or not {"one", "ring"} <= found["ms"].keys():
        yield f"{BARRED}: there is no time of a ring beside one card's"
        return
    if speedup(found, "ring") < LEAST_SPEEDUP:
        yield f"{BARRED}: forward and gradient on {recorded['cards']} cards have {speedup(found, 'ring'):.2f} of one card's speed; the bar is {LEAST_SPEEDUP}"
    clocks = found["mhz"]["one"] + found["mhz"]["ring"]
    if max(clocks) > (1 + MOST_CLOCK) * min(clocks):
        yield f"{BARRED}: the SMs' clocks are {min(clocks)} to {max(clocks)} MHz; the bar is {MOST_CLOCK:.0%} between them"


@dataclass(frozen=True)
class Modelled:
    """A step of training of one layer on so many ranks, causal: milliseconds of all ranks' steps and of what exchange adds to them, and the speed
    in times one card's."""

    steps: float
    exposed: float
    speedup: float


def model(recorded, ranks, gbs=None, tokens=MODELLED_TOKENS):
    """What so many tokens would take on more ranks: one card's rates of the row BARRED, its messages' rate or another one, and its merges, scaled. A step takes as long as its
    computation or its messages, whichever is longer; the gradient's last hop is behind all steps. Short parts have kernels of a lower rate, which this leaves out."""
    found, row = recorded["rows"][BARRED], row_of(BARRED)
    times, gbs = found["ms"], gbs or link_gbs(found)
    forward = flops("causal", tokens)
    # Milliseconds of one card, and of a step of a rank: there are as many steps as ranks.
    whole = [times["one-fwd"] * forward / row.forward_flops, (times["one"] - times["one-fwd"]) * forward / row.forward_flops]
    steps = [each / ranks**2 for each in whole]
    part = tokens / ranks
    keys = 2 * part * HEADS[1] * HEAD_DIM / gbs / 1e6  # Milliseconds of a hop of keys and values, for each byte of an element.
    messages = [NARROW * keys, (NARROW + WIDE) * keys]
    merges = (ranks - 1) * times["merge"] * part / (row.tokens / recorded["cards"])
    exposed = [(ranks - 1) * max(0.0, message - step) for message, step in zip(messages, steps)]
    exposed.append(NARROW * keys)
    computed = ranks * sum(steps) + merges
    return Modelled(computed, sum(exposed), sum(whole) / (computed + sum(exposed)))


def body(recorded):
    lines = ["| row | one card, ms | ring, ms | times one card | forward alone | Ulysses, ms | times one card | exchange that is hidden | merging | SMs, MHz: one, ring |",
             "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, found in recorded["rows"].items():
        times = found["ms"]
        clocks = " ".join(f"{round(sum(found['mhz'][each]) / len(found['mhz'][each]))}" for each in ("one", "ring"))
        cells = [f"{times['one']:.1f}", f"{times['ring']:.1f}", f"{speedup(found, 'ring'):.2f}", f"{speedup(found, 'ring-fwd', 'one-fwd'):.2f}"]
        cells += [f"{times['ulysses']:.1f}", f"{speedup(found, 'ulysses'):.2f}"]
        cells += [f"{hidden(found):.0%} of {times['messages']:.2f} ms", f"{times['merge']:.2f} ms, {times['merge'] / times['ring']:.1%}", clocks]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def modelled_table(recorded):
    lines = ["| ranks | link | of a rank, ms | exchange adds, ms | times one card | of linear |", "|---|---|---|---|---|---|"]
    for ranks, gbs, words in MODELLED:
        found = model(recorded, ranks, gbs)
        rate = gbs or link_gbs(recorded["rows"][BARRED])
        lines.append(f"| {ranks} | {rate:.0f} GB/s: {words} | {found.steps:.1f} | {found.exposed:.2f} | {found.speedup:.1f} | {found.speedup / ranks:.0%} |")
    return "\n".join(lines)


def page(recorded):
    missed = list(missed_bars(recorded))
    found = recorded["rows"][BARRED]
    state = f"On {recorded['cards']} of {recorded['card']}, ring attention of 64k tokens, causal, forward and gradient, has {speedup(found, 'ring'):.2f} times one card's speed; the bar is {LEAST_SPEEDUP}"
    head = results.head("Attention over cards", state, "./bench/distributed --report --write", recorded["commit"], recorded["date"])
    text = f"""\
bf16, {HEADS[0]} query heads on {HEADS[1]} of keys and values, head dim {HEAD_DIM}, one sequence, forward and gradient; medians of rounds that take all
candidates in turn in one run, and of the slower card; driver {recorded["driver"]}, torch {recorded["torch"]}. One card has the whole sequence, and runs the same
kernels; the other card does the same meanwhile, so that clocks are alike. Ranks talk by NCCL, with gloo for what they say of their calls.

{body(recorded)}

- The share that is hidden is 1 - (ring - steps) / messages, where *steps* is the ring without its messages, and *messages* are those alone, which a card
  sends and gets at {link_gbs(found):.0f} GB/s in the row of 64k tokens. Without messages no card waits for the other one, and NCCL's kernels take no SMs from ours: what is not
  hidden has both in it.
- Merging is what `merge` takes for results of the forward pass, beside the time of the ring.

## Modelled

What {MODELLED_TOKENS // 1024}k tokens would take on more cards is computed from the row of 64k tokens, not measured: one card's rates, the messages' rate or a stated
one, and merges by the tokens of a part. A step takes as long as its kernels or its messages. Kernels of short parts are slower than this has it, and ranks wait for each other. For
{recorded["cards"]} cards and 64k tokens the same computation gives {model(recorded, recorded["cards"], tokens=row_of(BARRED).tokens).speedup:.2f} times one card's speed, where
{speedup(found, "ring"):.2f} was measured.

{modelled_table(recorded)}

""" + listed(missed)
    return head + results.wrapped(text) + "\n"


BENCH = DistributedBench("distributed", __doc__, "one row", rows, ops, open_bench, body, page, missed_bars)
main = BENCH.main

if __name__ == "__main__":
    sys.exit(main())
