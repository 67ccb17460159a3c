# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4's launches that effects.py and softness.py vary. Apart from them because who records them has the standard
library alone."""

from fa4.timing.launched import Launched

# One on pairs of CTAs, whose softmax spilled with the budgets before #2869, and one with the most registers for the softmax.
SPILLING = Launched("fwd", 128, "full", 128, 4, 2048)
STARVED = Launched("fwd", 64, "full", 8, 32, 4096)
# The same keys for 128 queries, which are one tile, and for 256: a CTA for each SM of a B200.
TILES = {
    "hd64-full": (Launched("fwd", 64, "full", 37, 4, 4096, queries=128), Launched("fwd", 64, "full", 37, 4, 4096, queries=256)),
    "hd128-causal": (Launched("fwd", 128, "causal", 37, 4, 4096, queries=128), Launched("fwd", 128, "causal", 37, 4, 4096, queries=256)),
}
# One wave of pairs of CTAs, for softness.py.
PAIR = Launched("fwd", 128, "full", 37, 2, 4096, queries=512)
ALL = [SPILLING, STARVED, PAIR, *(launched for pair in TILES.values() for launched in pair)]
