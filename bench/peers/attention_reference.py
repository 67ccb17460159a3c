# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in numpy: in float64, and with every tensor rounded to a 16-bit
type as a framework's unfused attention would.

Shapes: q [b, sq, hq, d], k [b, sk, hk, d], v [b, sk, hk, dv]; hq is a multiple
of hk. The mask is aligned to the bottom right: query i sees key j when
j - i - (sk - sq) is within [-left, right]; None is unbounded."""
import numpy as np


def round_bf16(x):
    """The nearest bf16, ties to even, as float64."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(x), rounded.view(np.float32), x).astype(np.float64)


def round_f16(x):
    return np.asarray(x).astype(np.float16).astype(np.float64)


ROUND = {"bf16": round_bf16, "f16": round_f16, None: lambda x: x}


def _heads_first(x, repeat=1):
    return np.repeat(np.asarray(x, np.float64).transpose(0, 2, 1, 3), repeat, axis=1)


def _visible(sq, sk, left, right):
    distance = np.arange(sk)[None, :] - np.arange(sq)[:, None] - (sk - sq)
    visible = np.ones((sq, sk), bool)
    if left is not None:
        visible &= distance >= -left
    if right is not None:
        visible &= distance <= right
    return visible


class Attention:
    """One forward pass, and what its backward pass needs. `dtype`: None for
    float64 throughout."""

    def __init__(self, q, k, v, scale, left=None, right=None, softcap=0.0, dtype=None):
        self.round = ROUND[dtype]
        self.scale, self.softcap = scale, softcap
        self.group = q.shape[2] // k.shape[2]
        rnd = self.round
        # Unfused 16-bit attention scales q first.
        self.q = _heads_first(q)
        self.scaled_q = rnd(self.q * scale)
        self.k, self.v = _heads_first(k, self.group), _heads_first(v, self.group)
        s = rnd(self.scaled_q @ self.k.swapaxes(-1, -2))
        if softcap:
            self.tanh = rnd(np.tanh(rnd(s / softcap)))
            s = rnd(self.tanh * softcap)
        visible = _visible(q.shape[1], k.shape[1], left, right)
        s = np.where(visible, s, -np.inf)
        top = s.max(-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        e = np.exp(s - top)
        total = e.sum(-1, keepdims=True)
        with np.errstate(divide="ignore"):
            self.lse = (np.log(total) + top)[..., 0]
        self.p = rnd(e / np.where(total == 0, 1.0, total))
        self.o = rnd(self.p @ self.v)

    def out(self):
        return self.o.transpose(0, 2, 1, 3)

    def backward(self, dout):
        """(dq, dk, dv) in the shapes of q, k, v. Without softcap."""
        assert not self.softcap
        rnd = self.round
        do = _heads_first(dout)
        dv = rnd(self.p.swapaxes(-1, -2) @ do)
        dp = rnd(do @ self.v.swapaxes(-1, -2))
        ds = rnd(self.p * (dp - (self.p * dp).sum(-1, keepdims=True)))
        dq = rnd(rnd(ds @ self.k) * self.scale)
        dk = rnd(ds.swapaxes(-1, -2) @ self.scaled_q)

        def group_sum(x):
            b, h, s, d = x.shape
            return rnd(x.reshape(b, h // self.group, self.group, s, d).sum(2)).transpose(0, 2, 1, 3)

        return dq.transpose(0, 2, 1, 3), group_sum(dk), group_sum(dv)


def floor(reference, dtype):
    """The error that adding and subtracting 0.3 in `dtype` makes, twice."""
    rnd = ROUND[dtype]
    r = rnd(reference)
    return 2 * np.abs(rnd(rnd(r + 0.3) - 0.3) - r).max()


def judge(actual, reference, same_dtype, dtype):
    """FlashAttention's rule: (max error, allowed error)."""
    reference = ROUND[dtype](reference)
    error = np.abs(actual - reference).max()
    if not np.isfinite(actual).all():
        error = np.inf
    return error, 2 * np.abs(same_dtype - reference).max() + floor(reference, dtype)
