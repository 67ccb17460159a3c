# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of speculative decoding: 8 drafts of each sequence, which are a tree. A draft sees the cache, itself, and the drafts that it
follows. tree.mlir is the same op. Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from check import check
from ml_dtypes import bfloat16

B, ROOM, DRAFTS, QUERY_HEADS, HEADS, D = 3, 900, 8, 32, 8, 128


def sees(b, h, q_idx, kv_idx, lengths, follows):
    """The keys of the drafts are the last ones of a sequence. Blocks in front of them have no mask in the kernel, since a position is
    compared with the length itself."""
    is_cache = kv_idx + DRAFTS < lengths[b]
    return is_cache | (follows[b, q_idx, fa4.math.maximum(kv_idx + DRAFTS - lengths[b], 0)] != 0)


SPEC = fa4.sdpa(
    q=f"B {DRAFTS} {QUERY_HEADS} {D}", k=f"B Sk {HEADS} {D}", seqlens_k=True, mask_mod=sees,
    captures={"lengths": "i32 B", "follows": f"i32 B {DRAFTS} {DRAFTS}"},
)  # fmt: skip


def draw_trees(rng):
    """Whether draft i sees draft j, [B, DRAFTS, DRAFTS]: each draft but the first one of a tree follows one in front of it."""
    follows = np.zeros((B, DRAFTS, DRAFTS), np.int32)
    for tree in follows:
        for draft in range(DRAFTS):
            if draft:
                tree[draft] = tree[rng.integers(draft)]
            tree[draft, draft] = 1
    return follows


def make_call(rng):
    """The drafts of each sequence, a cache that has their keys, too, and the trees."""
    q, k, v = (rng.standard_normal(shape, np.float32).astype(bfloat16)
               for shape in ((B, DRAFTS, QUERY_HEADS, D), (B, ROOM, HEADS, D), (B, ROOM, HEADS, D)))  # fmt: skip
    lengths = rng.integers(DRAFTS, ROOM, B, np.int32)
    return dict(q=q, k=k, v=v, seqlens_k=lengths, lengths=lengths, follows=draw_trees(rng))


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    check(SPEC, given, f"lengths {', '.join(map(str, given['seqlens_k']))}")
