# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention to selected blocks, as NSA and MoBA do: each block of 128 queries looks at the KEPT blocks of 64 keys whose mean key it likes best, and
at those beside itself. selected.mlir is the same op. Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from check import check
from ml_dtypes import bfloat16

B, S, QUERY_HEADS, HEADS, D = 1, 512, 4, 2, 128
QUERIES, KEYS, KEPT = 128, 64, 3

SPEC = fa4.sdpa(q=f"B S {QUERY_HEADS} {D}", k=f"B S {HEADS} {D}", mask="causal", block_list=(QUERIES, KEYS))


def choose_blocks(q, k):
    """The blocks that each key/value head looks at, [B, HEADS, S / QUERIES, entries], and how many they are: of those that are over before the
    block of queries begins the best, by the product of mean query and mean key, and then those in which its own keys are."""
    means = [x.astype(np.float32).reshape(B, S // size, size, HEADS, -1, D).mean(axis=(2, 4)) for x, size in ((q, QUERIES), (k, KEYS))]
    affinity = np.einsum("bqhd,bkhd->bhqk", *means)
    first = np.arange(S // QUERIES)[:, None] * (QUERIES // KEYS)
    affinity[..., np.arange(S // KEYS) >= first] = -np.inf
    best = np.argsort(-affinity, axis=-1)[..., :KEPT]
    own = np.broadcast_to(first + np.arange(QUERIES // KEYS), (*best.shape[:-1], QUERIES // KEYS))
    # The first blocks of queries have fewer than KEPT in front of them: what is no block counts for nothing.
    best = np.where(np.take_along_axis(affinity, best, axis=-1) > -np.inf, best, -1)
    blocks = np.concatenate([best, own], axis=-1).astype(np.int32)
    return blocks, np.full(blocks.shape[:-1], blocks.shape[-1], np.int32)


def make_call(rng):
    """Random q, k and v, and the blocks that are chosen by them."""
    q, k, v = (rng.standard_normal((B, S, heads, D), np.float32).astype(bfloat16) for heads in (QUERY_HEADS, HEADS, HEADS))
    blocks, counts = choose_blocks(q, k)
    return dict(q=q, k=k, v=v, block_list=blocks, block_counts=counts)


def draw_map(call):
    """The blocks of the first head as text: a row for each block of queries."""
    return "\n".join("".join("#" if n in row else "." for n in range(S // KEYS)) for row in call["block_list"][0, 0])


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    print(draw_map(given))
    check(SPEC, given, f"{KEPT} selected blocks of {KEYS} keys")
