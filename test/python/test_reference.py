# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference itself: against loops over scalars, and its comparisons."""

import math

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn

from fa4 import reference
from fa4.reference import Mask, check, check_rounded

# ---------------------------------------------------------------------------
# Loops over scalars, from the documentation
# ---------------------------------------------------------------------------


class Naive:
    """Elements of q, k, v by (batch, head, token, dim), and a visible score by
    (batch, head, query, key), in Python floats."""

    def __init__(self, q, k, v, layout, mask=None, scale=None, cu_seqlens_q=None,
                 cu_seqlens_k=None, seqlens_k=None, sinks=None, score_mod=None,
                 mask_mod=None, captures=()):  # fmt: skip
        self.q, self.k, self.v = q, k, v
        self.layout, self.mask, self.scale = layout, mask, scale
        self.cu_q, self.cu_k, self.valid = cu_seqlens_q, cu_seqlens_k, seqlens_k
        self.sinks, self.captures = sinks, captures
        self.score_mod, self.mask_mod = score_mod, mask_mod
        size = dict(zip(layout, q.shape))
        self.hq, self.d = size["h"], size["d"]
        self.hkv = dict(zip(layout, k.shape))["h"]
        self.dv = v.shape[-1]
        self.batch = size["b"] if self.cu_q is None else len(self.cu_q) - 1

    def index(self, cu_seqlens, b, h, token, dim):
        if cu_seqlens is not None:
            at = {"h": h, "t": cu_seqlens[b] + token, "d": dim}
        else:
            at = {"b": b, "h": h, "s": token, "d": dim}
        return tuple(at[c] for c in self.layout)

    def at_q(self, b, h, i, dim):
        return self.index(self.cu_q, b, h, i, dim)

    def at_k(self, b, g, j, dim):
        return self.index(self.cu_k, b, g, j, dim)

    def at_lse(self, b, h, i):
        return (b, h, i) if self.cu_q is None else (h, self.cu_q[b] + i)

    def queries(self, b):
        if self.cu_q is not None:
            return self.cu_q[b + 1] - self.cu_q[b]
        return self.q.shape[self.layout.index("s")]

    def keys(self, b):
        if self.valid is not None:
            return self.valid[b]
        if self.cu_k is not None:
            return self.cu_k[b + 1] - self.cu_k[b]
        return self.k.shape[self.layout.index("s")]

    def score(self, b, h, i, j):
        """The score, or None if the key is not visible."""
        if self.mask is not None:
            shift = 0
            if self.mask.alignment == "bottom_right":
                shift = self.keys(b) - self.queries(b)
            if self.mask.left is not None and j < i + shift - self.mask.left:
                return None
            if self.mask.right is not None and j > i + shift + self.mask.right:
                return None
        if self.mask_mod and not self.mask_mod(b, h, i, j, *self.captures):
            return None
        g = h // (self.hq // self.hkv)
        dot = sum(
            float(self.q[self.at_q(b, h, i, dim)])
            * float(self.k[self.at_k(b, g, j, dim)])
            for dim in range(self.d)
        )
        s = dot * (1 / math.sqrt(self.d) if self.scale is None else self.scale)
        return self.score_mod(s, b, h, i, j, *self.captures) if self.score_mod else s

    def run(self):
        out = np.zeros((*self.q.shape[:-1], self.dv))
        lse = np.empty(reference.lse_shape(self.q.shape, self.layout))
        for b in range(self.batch):
            for h in range(self.hq):
                for i in range(self.queries(b)):
                    self.row(out, lse, b, h, i)
        return out, lse

    def row(self, out, lse, b, h, i):
        scores = [self.score(b, h, i, j) for j in range(self.keys(b))]
        seen = [(j, s) for j, s in enumerate(scores) if s is not None]
        z = sum(math.exp(s) for _, s in seen)
        if self.sinks is not None:
            z += math.exp(self.sinks[h])
        lse[self.at_lse(b, h, i)] = math.log(z) if z else -math.inf
        g = h // (self.hq // self.hkv)
        for dim in range(self.dv):
            total = sum(
                math.exp(s) / z * float(self.v[self.at_k(b, g, j, dim)])
                for j, s in seen
            )
            out[self.at_q(b, h, i, dim)] = total


def draw(rng, layout, sq=4, sk=5, hq=4, hkv=2, batch=2, d=3, dv=2):
    size = {"b": batch, "h": hq, "s": sq, "t": sq, "d": d}
    q = rng.standard_normal([size[c] for c in layout])
    size |= {"h": hkv, "s": sk, "t": sk}
    k = rng.standard_normal([size[c] for c in layout])
    return q, k, rng.standard_normal((*k.shape[:-1], dv))


def cap_with_bias(tanh):
    return lambda s, b, h, i, j, c: c * tanh((s + 0.1 * (b + h) * (j - i)) / c)


CASES = {
    "full": {},
    "scale": {"scale": -0.7},
    "top_left": {"mask": Mask.causal("top_left")},
    "bottom_right": {"mask": Mask.causal("bottom_right")},
    "window": {"mask": Mask("bottom_right", 1, 2)},
    "window_left": {"mask": Mask("top_left", left=0)},
    "window_right": {"mask": Mask("bottom_right", right=-2)},
    "sinks": {"sinks": np.array([0.3, -1.0, 2.0, 0.0]), "mask": Mask("top_left", 5, -2)},
    "mask_mod": {"mask_mod": lambda b, h, i, j: (i + j + b + h) % 3 > 0},
}  # fmt: skip


@pytest.mark.parametrize("layout", reference.LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_against_loops(layout, case, rng):
    """The reference must give what loops over scalars give, for each layout and form."""
    form = CASES[case] | {"layout": layout}
    sizes = {"sq": 4, "sk": 5}
    if "t" in layout:
        form["cu_seqlens_q"], form["cu_seqlens_k"] = (0, 3, 3, 7, 8), (0, 1, 4, 9, 9)
        sizes = {"sq": 8, "sk": 9}
    q, k, v = draw(rng, layout, **sizes)
    for actual, expected in zip(
        reference.sdpa(q, k, v, **form), Naive(q, k, v, **form).run()
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", ["bshd", "htd"])
def test_against_loops_seqlens_k(layout, rng):
    """The reference must give what loops over scalars give where each sequence has a number of keys of its own."""
    form = {"layout": layout, "mask": Mask.causal("bottom_right"), "seqlens_k": (0, 3)}
    if layout == "htd":
        form |= {"cu_seqlens_q": (0, 1, 4), "cu_seqlens_k": (0, 1, 5)}
    q, k, v = draw(rng, layout)
    for actual, expected in zip(
        reference.sdpa(q, k, v, **form), Naive(q, k, v, **form).run()
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_against_loops_score_mod(rng):
    """The reference must give what loops over scalars give for a score_mod that reads a captured number."""
    q, k, v = draw(rng, "bhsd")
    form = {"layout": "bhsd", "captures": (1.3,)}
    actual = reference.sdpa(q, k, v, score_mod=cap_with_bias(np.tanh), **form)
    expected = Naive(q, k, v, score_mod=cap_with_bias(math.tanh), **form).run()
    for a, e in zip(actual, expected):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12)


def test_large_scores_do_not_overflow():
    """Scores are 1000: out and lse must be finite and exact."""
    q = np.full((1, 1, 1, 1), 1000.0)
    k = np.array([1.0, -1.0, 1.0]).reshape(1, 3, 1, 1)
    v = np.array([1.0, 5.0, 2.0]).reshape(1, 3, 1, 1)
    out, lse = reference.sdpa(q, k, v, layout="bshd")
    assert out.item() == 1.5
    assert lse.item() == 1000 + math.log(2)


# ---------------------------------------------------------------------------
# Gradients
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_derivatives(case, rng):
    """The gradients of every operand equal differences of the loss <out, dout> + <lse, dlse>."""
    form = CASES[case] | {"layout": "sbhd"}
    q, k, v = draw(rng, "sbhd", sq=3, sk=3)
    out, lse = reference.sdpa(q, k, v, **form)
    dout, dlse = rng.standard_normal(out.shape), rng.standard_normal(lse.shape)
    operands = {"q": q, "k": k, "v": v}
    if "sinks" in form:
        operands["sinks"] = form.pop("sinks")

    def loss(**x):
        out, lse = reference.sdpa(**x, **form)
        return (out * dout).sum() + (lse * dlse)[lse > -np.inf].sum()

    grads = reference.sdpa_backward(**operands, dout=dout, dlse=dlse, **form)
    for name, x in operands.items():
        expected = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            step = np.zeros(x.shape)
            step[index] = 1e-5
            up = loss(**operands | {name: x + step})
            down = loss(**operands | {name: x - step})
            expected[index] = (up - down) / 2e-5
        actual = getattr(grads, f"d{name}")
        np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8, err_msg=name)


def test_score_derivative_by_differences(rng):
    """The derivative of a score_mod that the reference finds by differences equals one that is written by hand."""
    q, k, v = draw(rng, "bshd")
    form = {"layout": "bshd", "captures": (1.3,), "scale": 20.0}
    form["score_mod"] = cap_with_bias(np.tanh)
    dout = rng.standard_normal((*q.shape[:-1], v.shape[-1]))

    def by_hand(s, b, h, i, j, c):
        return 1 - np.tanh((s + 0.1 * (b + h) * (j - i)) / c) ** 2

    found = reference.sdpa_backward(q, k, v, dout, **form)
    given = reference.sdpa_backward(q, k, v, dout, score_mod_grad=by_hand, **form)
    for name in ("dq", "dk", "dv"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(given, name), rtol=1e-8, atol=1e-8
        )


def test_hidden_by_score_mod_moves_no_gradient(rng):
    """A score_mod hides a key by -inf: all gradients must be finite, and those of the key zero."""
    q, k, v = draw(rng, "bshd")
    form = {"layout": "bshd"}
    form["score_mod"] = lambda s, b, h, i, j: np.where(j == 1, -np.inf, s)
    grads = reference.sdpa_backward(q, k, v, np.ones((2, 4, 4, 2)), **form)
    assert all(np.isfinite(x).all() for x in grads[:3])
    assert (grads.dk[:, 1] == 0).all() and (grads.dv[:, 1] == 0).all()


# ---------------------------------------------------------------------------
# The same computation in a kernel's types
# ---------------------------------------------------------------------------


def test_same_dtype_rounds_probabilities_and_result():
    """The same-dtype reference must round the probabilities to bf16, and the result only if its type is bf16."""
    one = np.ones((1, 1, 1, 1), bfloat16)
    k = np.array([0.0, -1.0], bfloat16).reshape(1, 2, 1, 1)
    v = np.array([0.0, 1.0], bfloat16).reshape(1, 2, 1, 1)
    out, lse = reference.sdpa_same_dtype(one, k, v, layout="bshd", out_dtype=np.float32)
    p = float(bfloat16(math.exp(-1)))
    np.testing.assert_allclose(out.item(), p / (1 + math.exp(-1)), rtol=1e-6)
    np.testing.assert_allclose(lse.item(), math.log(1 + math.exp(-1)), rtol=1e-6)
    rounded, _ = reference.sdpa_same_dtype(one, k, v, layout="bshd")
    assert rounded.item() == float(bfloat16(out.item()))


def test_same_dtype_gradients_are_scaled_behind_products():
    """The gradient of the scores is rounded as it enters the products, without the scale."""
    q = np.zeros((1, 1, 1, 1), bfloat16)
    k, v = (np.array([x, 0.0], bfloat16).reshape(1, 2, 1, 1) for x in (1.0, 1.7))
    dout = np.array(1.3, bfloat16).reshape(1, 1, 1, 1)
    grads = reference.sdpa_backward_same_dtype(q, k, v, dout, layout="bshd", scale=0.3, grad_dtype=np.float32)
    out = float(bfloat16(0.5 * v[0, 0].item()))
    ds = 0.5 * (dout.item() * v[0, 0].item() - dout.item() * out)
    expected = 0.3 * float(bfloat16(ds))
    assert abs(expected - float(bfloat16(0.3 * ds))) > 1e-4
    np.testing.assert_allclose(grads.dq.item(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype, digits", [(bfloat16, 1e-2), (np.float32, 1e-5)])
def test_same_dtype_gradients_are_near(dtype, digits, rng):
    """The same-dtype gradients must differ from the exact ones, by no more than the type's digits allow."""
    x = [a.astype(dtype) for a in draw(rng, "bshd", d=16)]
    form = {"layout": "bshd", "mask": Mask.causal("top_left"), "sinks": np.zeros(4)}
    dout = rng.standard_normal((2, 4, 4, 2)).astype(dtype)
    exact = reference.sdpa_backward(*x, dout, **form)
    near = reference.sdpa_backward_same_dtype(*x, dout, **form)
    for a, b in zip(near[:4], exact[:4]):
        assert 0 < np.abs(a - b).max() < digits * max(1, np.abs(b).max())


# ---------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------


def test_check_returns_errors():
    """An array within its bounds is given: the check must return its error, that of the same-dtype reference and the
    allowed one."""
    ref = np.array([1.0, 2.0, -np.inf])
    errors = check(ref + [0, 0.01, 0], ref, ref + [0.02, 0, 0], floor=0.0)
    np.testing.assert_allclose(errors, (0.01, 0.02, 0.04))


def test_check_says_where_and_how_much():
    """Two elements are off: the message must name the worst one, its values and the allowed error."""
    ref = np.zeros((2, 3))
    out = ref.copy()
    out[1, 2], out[0, 1] = 0.5, -0.1
    with pytest.raises(AssertionError) as error:
        check(out, ref, ref + 0.01, name="dq", floor=0.0)
    assert str(error.value) == (
        "dq: 2 of 6 elements are off; the worst is [1, 2]: got 0.5, expected 0, off "
        "by 0.5, allowed 0.02 (the same-dtype reference is off by 0.01)"
    )


@pytest.mark.parametrize("value, expected", [(np.nan, 0), (np.inf, 0), (0, -np.inf),
                                             (np.inf, -np.inf)])  # fmt: skip
def test_check_of_what_is_not_finite(value, expected):
    """A finite number stands where an infinity is expected, or the other way round: the check must fail."""
    with pytest.raises(AssertionError, match=r"worst is \[1\]: got .* off by inf"):
        check(np.array([0, value]), np.array([0.0, expected]), np.array([0, expected]))


def test_check_of_shapes_and_references():
    """Shapes differ, or a reference is not finite: the check must fail and say which; arrays without elements must
    pass."""
    ref = np.zeros((2, 3))
    with pytest.raises(AssertionError, match=r"got shape \(3, 2\), expected \(2, 3\)"):
        check(ref.T, ref, ref)
    with pytest.raises(AssertionError, match="pt has shape"):
        check(ref, ref, ref.T)
    with pytest.raises(AssertionError, match="the reference itself has NaN"):
        check(ref, ref * np.nan, ref)
    with pytest.raises(AssertionError, match="same-dtype reference is not finite"):
        check(ref, ref, ref + np.inf)
    check(ref[:0], ref[:0], ref[:0])


@pytest.mark.parametrize("dtype", [np.float16, bfloat16, float8_e4m3fn, np.float32])
def test_check_rounded_is_one_rounding(dtype, rng):
    """Numbers rounded once must pass, and numbers that are a quarter too large must fail."""
    ref = rng.standard_normal(1000) * np.exp(rng.uniform(-12, 1, 1000))
    check_rounded(ref.astype(dtype), ref, 0.0)
    # Further off than half of the coarsest type's spacing, after rounding too.
    with pytest.raises(AssertionError, match="out: .* elements are off"):
        check_rounded((1.25 * ref).astype(dtype), ref, 0.0)


def test_bad_forms():
    """Arguments that make no form of attention must raise a ValueError that names the argument."""
    q = np.zeros((1, 2, 3, 4))
    with pytest.raises(ValueError, match="unknown layout 'bsdh'"):
        reference.sdpa(q, q, q, layout="bsdh")
    with pytest.raises(ValueError, match="layout thd needs cu_seqlens"):
        reference.sdpa(q[0], q[0], q[0], layout="thd")
    with pytest.raises(ValueError, match="layout bshd has no cu_seqlens"):
        reference.sdpa(q, q, q, layout="bshd", cu_seqlens_q=[0, 2])
    with pytest.raises(ValueError, match="3 query heads over 2 key/value heads"):
        reference.sdpa(q, q[:, :, :2], q[:, :, :2], layout="bshd")
    with pytest.raises(ValueError, match=r"k has shape \(2, 3, 4\), layout is bshd"):
        reference.sdpa(q, q[0], q, layout="bshd")
    with pytest.raises(ValueError, match="alignment must be top_left or bottom_right"):
        Mask("center")


def test_region_is_called_with_blocks(monkeypatch):
    """A region is called with blocks of scores, so that its intermediate values are never there for all scores at once.
    Blocks must change no bit of the results."""
    rng = np.random.default_rng(3)
    q, k, v, dout = (rng.standard_normal((1, n, 2, 16)) for n in (130, 70, 70, 130))
    seen = []

    def score_mod(s, b, h, i, j):
        seen.append(s.size)
        assert s.shape == np.broadcast(i, j).shape
        return np.tanh(s) + 0.01 * (j - i)

    form = dict(layout="bshd", mask=Mask.causal("bottom_right"), score_mod=score_mod)
    whole = reference.sdpa_backward(q, k, v, dout, **form)
    assert max(seen) == 130 * 70
    seen.clear()
    monkeypatch.setattr(reference, "_BLOCK", 1000)
    parts = reference.sdpa_backward(q, k, v, dout, **form)
    assert 0 < max(seen) <= 1000
    for name in ("dq", "dk", "dv"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_gradients_of_captures(rng):
    """The gradients of captures equal differences of the loss."""
    q, k, v, dout = (rng.standard_normal((2, n, h, 16)) for n, h in ((9, 4), (7, 2), (7, 2), (9, 4)))
    given = [np.float64(1.3), rng.standard_normal(4)]

    def loss(captures):
        return (reference.sdpa(q, k, v, **form(captures))[0] * dout).sum()

    def form(captures):
        return dict(layout="bshd", score_mod=lambda s, b, h, i, j, cap, slopes: cap * np.tanh(s / cap) + slopes[h] * (j - i), captures=tuple(captures))

    found = reference.sdpa_backward(q, k, v, dout, wrt=(0, 1), **form(given)).dcaptures
    step = 1e-5
    expected = (loss([given[0] + step, given[1]]) - loss([given[0] - step, given[1]])) / (2 * step)
    np.testing.assert_allclose(found[0].sum(), expected, rtol=1e-6)
    for head, unit in enumerate(np.eye(4) * step):
        expected = (loss([given[0], given[1] + unit]) - loss([given[0], given[1] - unit])) / (2 * step)
        np.testing.assert_allclose(found[1][head], expected, rtol=1e-6)
