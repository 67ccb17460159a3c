# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on values at the edges of their types: NaN and infinities in q, k and
v, scores so large that f32 cannot tell neighbours apart, and rows whose maximum
grows just below the rescaling threshold. docs/support-matrix.md says what holds."""

import functools
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import fa4
from fa4 import reference
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim"
)

LOG2E = np.log2(np.e)
# The largest exponent, in units of log2, of a row that has a result.
LIMIT = {"f16": 2.0**28, "bf16": 2.0**31}
# Columns of blocks that the special function unit computes, and columns that
# the polynomial does: with the option below every second pair of three of the
# four fragments of 32 columns.
HALF = ("--exp-fraction=0.375",)
COLUMNS = (0, 2, 3, 37, 66, 95, 127, 128 + 7)


@functools.cache
def kernel(head_dim, mask, dtype, scale, options):
    text = gpu.Op(head_dim=head_dim, mask=mask, dtype=dtype).mlir()
    text = text.replace("\n    outs(", f"\n    scale({scale!r}) outs(") if scale else text
    folder = tempfile.TemporaryDirectory(prefix="fa4-edges-")
    # The folder lives as long as the cache.
    return folder, gpu.compile(text, Path(folder.name, "kernel"), options=options)


def run(q, k, v, mask="full", dtype="bf16", scale=None, options=()):
    """Returns out and lse in float64 for q, k and v in layout bshd."""
    q, k, v = (x.astype(gpu.DTYPES[dtype]) for x in (q, k, v))
    _, built = kernel(q.shape[3], mask, dtype, scale, tuple(options))
    results = gpu.simulate(
        built, {"q": q, "k": k, "v": v}, {"out": gpu.DTYPES[dtype], "lse": np.float32}, check=False
    )
    return results["out"].astype(np.float64), results["lse"].astype(np.float64)


def draw(rng, queries, keys, heads, head_dim=64):
    """Positive q and k, so that an infinity in k is one in the score."""
    q = rng.uniform(0.5, 1, (1, queries, heads, head_dim))
    k = rng.uniform(0.5, 1, (1, keys, heads, head_dim))
    return q, k, rng.standard_normal((1, keys, heads, head_dim))


def expect(q, k, v, out, lse, mask, dtype, is_nan):
    """NaN in exactly the rows [heads, queries] that is_nan marks, else close to
    the reference of finite inputs."""
    q, k, v = (np.nan_to_num(x.astype(gpu.DTYPES[dtype]).astype(np.float64), posinf=0, neginf=0) for x in (q, k, v))
    want, want_lse = reference.sdpa(q, k, v, layout="bshd", mask=gpu.MASKS[mask])
    rows = is_nan[None]
    np.testing.assert_array_equal(np.isnan(lse), rows)
    np.testing.assert_array_equal(np.isnan(out).all(-1), rows.transpose(0, 2, 1))
    np.testing.assert_array_equal(np.isnan(out).any(-1), rows.transpose(0, 2, 1))
    np.testing.assert_allclose(lse[~rows], want_lse[~rows], rtol=1e-2)
    kept = ~rows.transpose(0, 2, 1)
    np.testing.assert_allclose(out[kept], want[kept], atol=2e-2)


@pytest.mark.parametrize("options", [(), HALF], ids=["default", "half"])
@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_bad_key(rng, dtype, mask, bad, options):
    """Each head has one NaN or infinity in k, at another key. Rows that see the key must be NaN, and all others as the
    reference says."""
    keys = 200
    q, k, v = draw(rng, keys, keys, len(COLUMNS))
    for head, column in enumerate(COLUMNS):
        k[0, column, head, 5] = bad
    out, lse = run(q, k, v, mask, dtype, options=options)
    sees = np.arange(keys)[None, :] >= np.array(COLUMNS)[:, None]
    k = np.where(np.isfinite(k), k, 0)
    if mask == "full":
        sees[:] = True
    # Rows that do not see the key must not depend on it.
    expect(q, k, v, out, lse, mask, dtype, sees)


@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_all_keys_bad(rng, dtype):
    """All keys are NaN or infinite: out and LSE of each row must be NaN."""
    q, k, v = draw(rng, 130, 130, 2)
    k[0, :, 0, :] = np.nan
    k[0, :, 1, :] = np.inf
    out, lse = run(q, k, v, "causal", dtype)
    assert np.isnan(out).all() and np.isnan(lse).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=str)
def test_bad_query(rng, bad):
    """A query with a NaN or infinity makes its own row NaN, and no other."""
    q, k, v = draw(rng, 140, 150, 2)
    q[0, 3, 0, 0] = q[0, 133, 1, 9] = bad
    out, lse = run(q, k, v)
    is_nan = np.zeros((2, 140), bool)
    is_nan[0, 3] = is_nan[1, 133] = True
    expect(q, k, v, out, lse, "full", "bf16", is_nan)


def test_minus_infinity_in_a_key_hides_it(rng):
    """Two keys give the score -inf: out and LSE must be as without these keys."""
    q, k, v = draw(rng, 128, 150, 1)
    k[0, [7, 140], 0, 3] = -np.inf
    out, lse = run(q, k, v)
    kept = np.setdiff1d(np.arange(150), [7, 140])
    want, want_lse = reference.sdpa(
        *(x.astype(gpu.DTYPES["bf16"]).astype(np.float64) for x in (q, k[:, kept], v[:, kept])), layout="bshd"
    )
    np.testing.assert_allclose(lse, want_lse, rtol=1e-2)
    np.testing.assert_allclose(out, want, atol=2e-2)


@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=str)
def test_bad_value(rng, bad):
    """One value of v is NaN or infinite. Its column of out must be NaN, or stay infinite, in all rows that see the
    key."""
    q, k, v = draw(rng, 128, 150, 1)
    v[0, 20, 0, 33] = bad
    out, lse = run(q, k, v)
    column = out[0, :, 0, 33]
    assert np.isnan(column).all() if np.isnan(bad) else (column == np.inf).all()
    assert np.isfinite(np.delete(out, 33, axis=3)).all() and np.isfinite(lse).all()


# ---------------------------------------------------------------------------
# Large scores
# ---------------------------------------------------------------------------


def attend_to(scores, dtype, rng):
    """A row of `scores` [keys], in units of log2: out, lse, and what they are in
    float64. Each score is a sum of products that f32 adds without rounding."""
    keys = len(scores)
    q = np.zeros((1, 128, 1, 64))
    k = np.zeros((1, keys, 1, 64))
    rest = np.asarray(scores, np.float64).copy()
    largest = float(ml_dtypes.finfo(gpu.DTYPES[dtype]).max) / 2
    for d in range(64):
        if not rest.any():
            break
        # The high bits first: as many as the dtype has.
        unit = 2.0 ** np.clip(np.ceil(np.log2(np.abs(rest).max())) - 15, 0, 15)
        part = np.clip(rest / unit, -largest, largest).astype(gpu.DTYPES[dtype]).astype(np.float64)
        q[..., d], k[0, :, 0, d] = unit, part
        rest -= unit * part
    assert not rest.any(), "the scores are no sums of such products"
    v = rng.standard_normal((1, keys, 1, 64))
    scale = float(np.float32(np.log(2)))
    out, lse = run(q, k, v, dtype=dtype, scale=scale)
    v = v.astype(gpu.DTYPES[dtype]).astype(np.float64)
    weights = np.exp2(scores - np.max(scores))
    want = weights @ v[0, :, 0, :] / weights.sum()
    want_lse = np.log(2) * (np.max(scores) + np.log2(weights.sum()))
    return out[0, :, 0, :], lse[0, 0], want, want_lse


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [2.0**20, 2.0**24, 2.0**26, 0.75])
@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_large_scores(rng, dtype, size, sign):
    """Scores of up to the limit, a few steps of f32 apart, lie in three blocks of keys. Their relative weights must be
    right although f32 has no number between neighbours."""
    size = size * LIMIT[dtype] if size < 1 else size
    step = 2.0 ** (np.floor(np.log2(size)) - 23)
    scores = sign * size + step * rng.integers(0, 8, 300)
    out, lse, want, want_lse = attend_to(scores, dtype, rng)
    np.testing.assert_allclose(lse, np.full(128, want_lse), rtol=1e-6)
    np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), atol=2e-2)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_too_large_scores(rng, dtype, sign):
    """A row with scores beyond the limit is NaN, neither 0 nor another finite number."""
    for size in (2 * LIMIT[dtype], 32 * LIMIT[dtype]):
        out, lse, _, _ = attend_to(np.full(200, sign * size), dtype, rng)
        assert np.isnan(out).all() and np.isnan(lse).all()


@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_low_scores_in_some_blocks(rng, dtype):
    """Some blocks of keys have scores far below the limit, as additive masks make them: the results must be right
    beside them."""
    scores = rng.integers(-8, 8, 400).astype(np.float64)
    scores[100:300] = -16 * LIMIT[dtype]
    scores[390:] = -16 * LIMIT[dtype]
    out, lse, want, want_lse = attend_to(scores, dtype, rng)
    np.testing.assert_allclose(lse, np.full(128, want_lse), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), atol=2e-2)


# ---------------------------------------------------------------------------
# Rows that a score_mod hides whole
# ---------------------------------------------------------------------------

KEYS, QUERIES, HIDDEN = 300, 150, 10


def padded(low, captured):
    """Rows before HIDDEN see `low` only; the others see keys from 40 on."""
    where = fa4.math.where
    if captured:
        form = {"score_mod": lambda s, b, h, i, j, low: where((i >= HIDDEN) & (j >= 40), s, low), "captures": {"low": "f32"}}
    else:
        form = {"score_mod": lambda s, b, h, i, j: where((i >= HIDDEN) & (j >= 40), s, low)}
    return fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True, **form)


def draw_padded(rng):
    shapes = {"q": QUERIES, "k": KEYS, "v": KEYS, "dout": QUERIES}
    return {
        name: rng.standard_normal((1, size, 2, 64)).astype(np.float32).astype(gpu.DTYPES["bf16"]) for name, size in shapes.items()
    }


# The lowest number of f32, by which torch's users hide, is beyond what is finite in base 2.
LOWEST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("low, captured", [(-1e9, False), (-1e10, False), (-1e10, True), (-1e30, False), (-2e38, True), (LOWEST, False)])
def test_hidden_rows(rng, low, captured):
    """A row that a low number hides as a whole is an average of the values. All other rows, and the gradients of keys,
    are as without such rows."""
    spec, tensors = padded(low, captured), draw_padded(rng)
    given = {"low": np.float32(low)} if captured else {}
    dout = tensors.pop("dout")
    found = fa4.compile(spec, verify=False).simulate(**tensors, **given)
    out = found.out.astype(np.float64)
    v = tensors["v"].astype(np.float64)
    np.testing.assert_allclose(out[0, :HIDDEN], np.broadcast_to(v[0].mean(0), out[0, :HIDDEN].shape), atol=1e-2)
    np.testing.assert_allclose(found.lse[0, :, :HIDDEN], max(low, -2.3582e38), rtol=1e-6)
    seen = fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True, mask_mod=lambda b, h, i, j: j >= 40)
    others = {"q": tensors["q"][:, HIDDEN:], "k": tensors["k"], "v": tensors["v"]}
    expected = seen.reference(**others)
    np.testing.assert_allclose(out[:, HIDDEN:], expected.out, atol=2e-2)
    np.testing.assert_allclose(found.lse[:, :, HIDDEN:], expected.lse, atol=2e-2)

    gradient = fa4.compile(spec.backward(), verify=False).simulate(**tensors, **given, dout=dout, out=found.out, lse=found.lse)
    results = {"out": expected.out.astype(out.dtype), "lse": expected.lse.astype(np.float32), "dout": dout[:, HIDDEN:]}
    wanted = seen.backward().reference(**others, **results)
    assert not gradient.dq[:, :HIDDEN].astype(np.float64).any()
    np.testing.assert_allclose(gradient.dq[:, HIDDEN:].astype(np.float64), wanted.dq, atol=5e-2)
    for name in ("dk", "dv"):
        np.testing.assert_allclose(gradient[name].astype(np.float64), wanted[name], atol=5e-2)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("low, kind", [(-1e30, "constant"), (LOWEST, "constant"), (-2e38, "table"), (-np.inf, "table")])
def test_hidden_rows_by_a_sum(rng, chip, low, kind):
    """A low number that is added to scores, in place of taking their place, hides as well: rows that it hides as a whole are averages
    of the values, or see no key where it is infinite, and other rows are as they are."""
    hidden = HIDDEN // 2
    if kind == "constant":
        form = dict(score_mod=lambda s, b, h, i, j: s + fa4.math.where(i < hidden, low, 0.0))
    else:
        form = dict(score_mod=lambda s, b, h, i, j, bias: s + bias[i, j], captures={"bias": "f32 Sq Sk"})
    tensors = draw_padded(rng)
    tensors.pop("dout")
    bias = np.zeros((QUERIES, KEYS), np.float32)
    bias[:hidden] = low
    found = fa4.compile(fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True, **form), chip=chip, verify=False).simulate(
        **tensors, **({"bias": bias} if kind == "table" else {}))
    out, mean = found.out.astype(np.float64), tensors["v"].astype(np.float64)[0].mean(0)
    np.testing.assert_allclose(out[0, :hidden], np.broadcast_to(mean * np.isfinite(low), out[0, :hidden].shape), atol=1e-2)
    np.testing.assert_allclose(found.lse[0, :, :hidden], max(low, -2.3582e38) if np.isfinite(low) else low, rtol=1e-6)
    plain = fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True).reference(**tensors)
    np.testing.assert_allclose(out[:, hidden:], plain.out[:, hidden:], atol=2e-2)
    np.testing.assert_allclose(found.lse[:, :, hidden:], plain.lse[:, :, hidden:], atol=2e-2)


@pytest.mark.parametrize("dtype", gpu.DTYPES)
def test_rows_hidden_by_two_numbers(rng, dtype):
    """A row is hidden by two low numbers. The largest score must have all of the weight, in whichever block of keys it
    is, and the scores beside it none."""
    where = fa4.math.where
    levels = {"score_mod": lambda s, b, h, i, j: where(j < 200, -1e30, where(j < 280, -1e10, -3e10)) + s}
    spec = fa4.sdpa("B Sq H 64", "B Sk H 64", lse=True, dtype=dtype, **levels)
    tensors = {name: x.astype(gpu.DTYPES[dtype]) for name, x in draw_padded(rng).items() if name != "dout"}
    found = fa4.compile(spec, verify=False).simulate(**tensors)
    want = tensors["v"].astype(np.float64)[0, 200:280].mean(0)
    np.testing.assert_allclose(found.out[0].astype(np.float64), np.broadcast_to(want, (QUERIES, 2, 64)), atol=1e-2)
    np.testing.assert_allclose(found.lse, -1e10, rtol=1e-6)


# ---------------------------------------------------------------------------
# The rescaling threshold
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, threshold", [("f16", 15), ("f16", 0), ("bf16", 97), ("bf16", 18)])
def test_rows_that_rise_by_the_threshold(rng, dtype, threshold):
    """The largest score of each block is just below, or just above, the threshold over the first block's reference.
    Sums of probabilities of up to 2^threshold must be right; a threshold above 15 would give infinity in f16."""
    for rise in (threshold, threshold + 1, 18):
        scores = rng.integers(-6, 1, 512).astype(np.float64)
        scores[[0, 128, 256]] += rise
        scores[383] = scores[511] = 0
        q = np.zeros((1, 128, 1, 64))
        k = np.zeros((1, 512, 1, 64))
        q[..., 0], k[0, :, 0, 0] = 1, scores
        v = rng.standard_normal((1, 512, 1, 64))
        options = (f"--rescale-threshold={threshold}",)
        out, lse = run(q, k, v, dtype=dtype, scale=float(np.float32(np.log(2))), options=options)
        weights = np.exp2(scores - scores.max())
        want = weights @ v[0, :, 0, :].astype(gpu.DTYPES[dtype]).astype(np.float64) / weights.sum()
        np.testing.assert_allclose(out[0, :, 0], np.broadcast_to(want, (128, 64)), atol=3e-2)
        np.testing.assert_allclose(lse[0, 0], np.log(2) * (scores.max() + np.log2(weights.sum())), rtol=1e-4)
