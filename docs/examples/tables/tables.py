# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with tables, forward and gradient, in the simulator: documents packed into a sequence, sequences of different
lengths in a batch, a learned bias by distance (T5), and a tree of draft tokens. Each result is compared with the reference in float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

rng = np.random.default_rng()
B, H, S, D = 2, 4, 200, 64


def documents(b, h, q_idx, kv_idx, document):
    return (document[b, q_idx] == document[b, kv_idx]) & (kv_idx <= q_idx)


def lengths(b, h, q_idx, kv_idx, length):
    return kv_idx < length[b]


def relative_bias(score, b, h, q_idx, kv_idx, table):
    near = fa4.math.maximum(q_idx - kv_idx, 0)
    far = fa4.math.int32(5.3333335 * fa4.math.log2(fa4.math.maximum(near / 16, 1.0))) + 16
    return score + table[h, fa4.math.where(near < 16, near, fa4.math.minimum(far, 31))]


def tree(b, h, q_idx, kv_idx, sees):
    return sees[q_idx, kv_idx] != 0


parents = [max(0, token - int(rng.integers(1, 4))) for token in range(S)]
sees = np.eye(S, dtype=np.int32)
for token in range(1, S):
    sees[token] |= sees[parents[token]]

FORMS = {
    "documents": (dict(mask_mod=documents, captures={"document": "i32 B S"}), dict(document=np.sort(rng.integers(0, 5, (B, S)), axis=1).astype(np.int32))),
    "lengths": (dict(mask_mod=lengths, captures={"length": "i32 B"}), dict(length=rng.integers(1, S + 1, B).astype(np.int32))),
    "relative bias": (dict(score_mod=relative_bias, captures={"table": f"f32 {H} 32"}), dict(table=rng.standard_normal((H, 32)).astype(np.float32))),
    "tree": (dict(mask_mod=tree, captures={"sees": "i32 S S"}), dict(sees=sees)),
}  # fmt: skip

for name, (form, tables) in FORMS.items():
    forward = fa4.sdpa(q=f"B S {H} {D}", k=f"B S {H} {D}", lse=True, **form)
    backward = fa4.sdpa_backward(q=f"B S {H} {D}", k=f"B S {H} {D}", **form)
    given = {tensor: rng.standard_normal((B, S, H, D), np.float32).astype(bfloat16) for tensor in ("q", "k", "v", "dout")}
    dout = given.pop("dout")
    got = fa4.compile(forward).simulate(**given, **tables)
    wanted = forward.reference(**given, **tables)
    error = abs(got.out.astype(np.float64) - wanted.out).max()
    gradients = fa4.compile(backward).simulate(**given, out=got.out, lse=got.lse, dout=dout, **tables)
    exact = backward.reference(**given, dout=dout, **tables)
    worst = max(abs(gradients[each].astype(np.float64) - getattr(exact, each)).max() for each in ("dq", "dk", "dv"))
    print(f"{name}: the largest error of out is {error:.4f}, that of a gradient {worst:.4f}")
    assert error < 0.03 and worst < 0.1
