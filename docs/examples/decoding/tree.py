# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of speculative decoding: 8 drafts of each sequence, which are a tree. A draft sees the cache, itself, and the drafts that it
follows. tree.mlir is the same op. Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

try:
    import torch
except ImportError:  # The simulator does without.
    torch = None

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


def run_in_torch(given):
    """out on the GPU, as a numpy array."""
    tensors = {name: torch.from_numpy(array.astype(np.float32) if array.dtype == bfloat16 else array).cuda() for name, array in given.items()}
    q, k, v = (tensors.pop(name).bfloat16() for name in "qkv")
    return fa4.torch.attention(SPEC)(q, k, v, **tensors).float().cpu().numpy()


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    on_gpu = torch is not None and torch.cuda.is_available()
    out = run_in_torch(given) if on_gpu else fa4.compile(SPEC).simulate(**given).out
    error = abs(out.astype(np.float64) - SPEC.reference(**given).out).max()
    print(f"lengths {', '.join(map(str, given['seqlens_k']))}, in {torch.cuda.get_device_name() if on_gpu else 'the simulator'}: largest error {error:.4f}")
    assert error < 0.02
