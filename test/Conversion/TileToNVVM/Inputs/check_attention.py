# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is out = softmax(q k^T / sqrt(128)) v, causal (bottom right), and lse its
log-sum-exp? usage: check_attention.py FOLDER"""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
q, k, v, out, lse = (
    np.load(folder / f"{name}.npy").astype(np.float64)
    for name in ("q", "k", "v", "out", "lse")
)
group = q.shape[2] // k.shape[2]
k, v = np.repeat(k, group, axis=2), np.repeat(v, group, axis=2)
s = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(128)
row = np.arange(s.shape[2])[:, None] + s.shape[3] - s.shape[2]
s = np.where(np.arange(s.shape[3]) <= row, s, -np.inf)
exact_lse = np.logaddexp.reduce(s, axis=-1)
exact = np.einsum("bhqk,bkhd->bqhd", np.exp(s - exact_lse[..., None]), v)
worst = np.abs(out - exact).max()
worst_lse = np.abs(lse - exact_lse).max()
print("max error of out", worst, "and of lse", worst_lse)
sys.exit(int(not (worst <= 2**-7 and worst_lse <= 1e-4)))
