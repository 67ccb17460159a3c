# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T5's relative position bias: a learned number for each head and each bucket of distances is added to the scores, which have no
other scale. relative_bias.mlir is the same op. No tensor of queries and keys is made: each thread computes the bucket."""

import fa4
import numpy as np
from block_map import block_map, positions
from comparison import compare, draw

B, S, HEADS, D = 1, 400, 8, 64
BUCKETS, FARTHEST = 32, 128
EXACT = BUCKETS // 2  # Distances below have a bucket each; beyond, buckets grow by a factor, up to the farthest distance.
STEPS = np.float32((BUCKETS - EXACT) / np.log2(FARTHEST / EXACT))  # Buckets for each power of two.


def relative_bias(score, b, h, q_idx, kv_idx, table):
    math = fa4.math
    distance = math.maximum(q_idx - kv_idx, 0)
    far = EXACT + math.int32(STEPS * math.log2(math.maximum(distance / EXACT, 1.0)))
    return score + table[h, math.where(distance < EXACT, distance, math.minimum(far, BUCKETS - 1))]


SPEC = fa4.sdpa(
    q=f"B Sq {HEADS} {D}",
    k=f"B Sk {HEADS} {D}",
    mask="causal",
    scale=1.0,
    score_mod=relative_bias,
    captures={"table": f"f32 {HEADS} {BUCKETS}"},
    lse=True,
)


def make_call(rng):
    """Inputs of the op and its gradient, and the table. Queries are small, as T5 has no scale."""
    shape = (B, S, HEADS, D)
    given = draw(rng, dict(q=shape, k=shape, v=shape, dout=shape))
    given["q"] = (given["q"] * np.float32(D**-0.5)).astype(given["q"].dtype)
    return given, {"table": rng.standard_normal((HEADS, BUCKETS)).astype(np.float32)}


if __name__ == "__main__":
    given, tables = make_call(np.random.default_rng())
    i, j = positions(S, S)
    print(block_map(SPEC.mask.visible(i, j, S, S)))
    compare("relative bias", SPEC, given, tables)
