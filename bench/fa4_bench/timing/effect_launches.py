# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4's launches that effects.py and softness.py vary. Apart from them because who records them has the standard
library alone."""

from dataclasses import replace

from fa4_bench.timing.launched import Launched

# One on pairs of CTAs, whose softmax spilled with the budgets before #2869, and one with the most registers for the softmax.
SPILLING = Launched("fwd", 128, "full", 128, 4, 2048)
STARVED = Launched("fwd", 64, "full", 8, 32, 4096)
# The same keys for 128 queries, which are one tile, and for 256: a CTA for each SM of a B200.
TILES = {
    "hd64-full": (Launched("fwd", 64, "full", 37, 4, 4096, queries=128), Launched("fwd", 64, "full", 37, 4, 4096, queries=256)),
    "hd128-causal": (Launched("fwd", 128, "causal", 37, 4, 4096, queries=128), Launched("fwd", 128, "causal", 37, 4, 4096, queries=256)),
}
# Shares of the exponentials that are computed by a polynomial, and FlashAttention-4's numbers for them: of the 16 pairs of columns of each of the
# fragments from the first one with a polynomial to the last but one, those whose column modulo `ex2_emu_freq` is among the last four.
SHARES = {
    0: ("ex2_emu_freq=0",),
    4 / 64: ("ex2_emu_freq=32",),
    8 / 64: ("ex2_emu_freq=16",),
    12 / 64: ("ex2_emu_freq=10",),
    16 / 64: ("ex2_emu_freq=8",),
    20 / 64: ("ex2_emu_freq=6",),
    24 / 64: ("ex2_emu_freq=8", "ex2_emu_start_frg=0"),
}
POLYNOMIAL = {
    head_dim: {share: replace(launched, tuned=words) for share, words in SHARES.items()}
    for head_dim, launched in ((64, STARVED), (128, SPILLING))
}
# One wave of pairs of CTAs, for softness.py.
PAIR = Launched("fwd", 128, "full", 37, 2, 4096, queries=512)
ALL = [
    SPILLING, STARVED, PAIR,
    *(launched for pair in TILES.values() for launched in pair),
    *(launched for shares in POLYNOMIAL.values() for launched in shares.values()),
]  # fmt: skip
