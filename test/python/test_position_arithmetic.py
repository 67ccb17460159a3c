# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divisions and remainders of positions by constants, as users write them: with negative numbers, powers of two, numbers beyond
the sequences, in masks and in scores. A kernel computes them unsigned, from ranges, and adds the column to what a row's columns
share; the numbers must be those of Python's integers. That they take no more registers than there are is in
test/tools/fa4-compile-divisions.mlir."""

import numpy as np
import pytest

import fa4
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")

m = fa4.math


def clamp(x, low, high):
    return m.minimum(m.maximum(x, low), high)


def natten(b, h, q, k):
    """A neighbourhood of 7 x 7 on a grid whose rows have 24 places, moved inwards at its edges."""
    qx, qy, kx, ky = q // 24, q % 24, k // 24, k % 24
    cx, cy = clamp(qx, 3, 8), clamp(qy, 3, 20)
    return (cx - 3 <= kx) & (kx <= cx + 3) & (cy - 3 <= ky) & (ky <= cy + 3)


MASKS = {
    "stripes": lambda b, h, q, k: (q + k) % 3 != 0,
    "natten": natten,
    "temporal": lambda b, h, q, k: (k < 24) | (q < 24) | (m.abs((q - 24) % 58 - (k - 24) % 58) < 8),
    "batchify": lambda b, h, q, k: (q // 100 == k // 100) & (q % 100 >= k % 100),
    "negative": lambda b, h, q, k: ((k - q) // 37 % 5 != 1) & ((k - q - 1000) % 7 != 3),
    "negative_power": lambda b, h, q, k: ((k - q) // 16 % 4 != 1) | ((k - q) % 8 == 5),
    "of_heads": lambda b, h, q, k: (q * 7 + k * 13 + h) % 11 != 0,
    "nested": lambda b, h, q, k: ((q % 97) // 7 + (k % 89) // 5) % 3 != 1,
}
SCORES = {
    "checkerboard": lambda s, b, h, q, k: m.where(m.abs(k - q) % 2 == 0, s * 2.0, s),
    "bias": lambda s, b, h, q, k: s + 0.1 * ((q - k) % 7) - 0.2 * (k // 13 % 5),
}
FORMS = {name: {"mask_mod": mod} for name, mod in MASKS.items()} | {name: {"score_mod": mod} for name, mod in SCORES.items()}


def spec_of(name):
    return fa4.sdpa("B S H 64", "B S H 64", lse=True, **FORMS[name])


def draw(rng, count=3):
    return [rng.standard_normal((1, 200, 2, 64)).astype(np.float32).astype(gpu.DTYPES["bf16"]) for _ in range(count)]


@pytest.mark.parametrize("name", FORMS)
def test_forward(name, rng):
    """A mask or score divides positions by constants: out and LSE must be those of Python's integers."""
    q, k, v = draw(rng)
    spec = spec_of(name)
    found = fa4.compile(spec, verify=False, cache=False).simulate(q=q, k=k, v=v)
    expected = spec.reference(q=q, k=k, v=v)
    np.testing.assert_array_equal(np.isfinite(found.lse), np.isfinite(expected.lse))
    np.testing.assert_allclose(found.out.astype(float), expected.out, atol=0.03)
    np.testing.assert_allclose(found.lse, expected.lse, atol=0.03)


@pytest.mark.parametrize("name", ["temporal", "negative", "bias"])
def test_gradient(name, rng):
    """A mask or score divides positions by constants: dq, dk and dv must be those of Python's integers."""
    q, k, v, dout = draw(rng, 4)
    spec = spec_of(name)
    forward = spec.reference(q=q, k=k, v=v)
    given = {"out": forward.out.astype(q.dtype), "dout": dout, "lse": forward.lse.astype(np.float32)}
    backward = spec.backward()
    found = fa4.compile(backward, verify=False, cache=False).simulate(q=q, k=k, v=v, **given)
    expected = backward.reference(q=q, k=k, v=v, **given)
    for each in ("dq", "dk", "dv"):
        np.testing.assert_allclose(found[each].astype(float), expected[each], atol=0.06)
