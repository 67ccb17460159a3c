# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of decoding with a cache of keys and values, in which each sequence has a length of its own. step.mlir is the same op.
Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

try:
    import torch
except ImportError:  # The simulator does without.
    torch = None

B, ROOM, QUERY_HEADS, HEADS, D = 3, 1500, 32, 8, 128

# The numbers of queries and heads are part of the kernel: the heads of a group share a tile, and CTAs divide the keys.
SPEC = fa4.sdpa(q=f"B 1 {QUERY_HEADS} {D}", k=f"B Sk {HEADS} {D}", seqlens_k=True)


def make_call(rng):
    """A query of each sequence, a cache, and how many of its rows count. What is behind them does not, even if it is NaN."""
    q, k, v = (rng.standard_normal(shape, np.float32).astype(bfloat16)
               for shape in ((B, 1, QUERY_HEADS, D), (B, ROOM, HEADS, D), (B, ROOM, HEADS, D)))  # fmt: skip
    lengths = rng.integers(1, ROOM, B, np.int32)
    for array in (k, v):
        for sequence, length in enumerate(lengths):
            array[sequence, length:] = np.nan
    return dict(q=q, k=k, v=v, seqlens_k=lengths)


def run_in_torch(given):
    """out on the GPU, as a numpy array."""
    tensors = {name: torch.from_numpy(array.astype(np.float32) if array.dtype == bfloat16 else array).cuda() for name, array in given.items()}
    q, k, v = (tensors[name].bfloat16() for name in "qkv")
    return fa4.torch.attention(SPEC)(q, k, v, seqlens_k=tensors["seqlens_k"]).float().cpu().numpy()


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    on_gpu = torch is not None and torch.cuda.is_available()
    out = run_in_torch(given) if on_gpu else fa4.compile(SPEC).simulate(**given).out
    error = abs(out.astype(np.float64) - SPEC.reference(**given).out).max()
    print(f"lengths {', '.join(map(str, given['seqlens_k']))}, in {torch.cuda.get_device_name() if on_gpu else 'the simulator'}: largest error {error:.4f}")
    assert error < 0.02
