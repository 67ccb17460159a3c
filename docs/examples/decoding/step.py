# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of decoding with a cache of keys and values, in which each sequence has a length of its own. step.mlir is the same op.
Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from check import check
from ml_dtypes import bfloat16

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


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    check(SPEC, given, f"lengths {', '.join(map(str, given['seqlens_k']))}")
