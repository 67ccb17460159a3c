# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of captured values: on the CPU against the reference, which finds them by differences of the
score_mod, and what the rule of kernels' checks allows at a kink. (Kernels: test_gradient.)"""

import dataclasses

import numpy as np
import pytest

from fa4 import reference
from fa4_testing import cpu
from fa4_testing.programs import mods, random_programs
from fa4_testing.programs.forms import SCORE_MODS
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import S, capture
from fa4_testing.programs.program import Sizes
from fa4.reference import Mask

CASES = {
    "scalar": Gradient(sizes=Sizes(2, 9, 13, 2, 2), wrt=(0,), **SCORE_MODS["softcap"]),
    "second of two": Gradient(sizes=Sizes(1, 9, 13), wrt=(1,), mask=Mask.causal("bottom_right"), **SCORE_MODS["scaled by a capture"]),
    "slopes": Gradient(sizes=Sizes(2, 9, 13, 1, 2), wrt=(0,), dlse=True, layout="bhsd", **SCORE_MODS["slopes"]),
    "behind sinks": Gradient(sizes=Sizes(2, 9, 13, 2, 1), wrt=(1,), sinks="f32", dsinks=True, **SCORE_MODS["caps"]),
    "no key is seen": Gradient(sizes=Sizes(1, 5, 1), wrt=(0,), mask=Mask("top_left", None, -1), **SCORE_MODS["softcap"]),
}  # fmt: skip


@pytest.mark.parametrize("query_block", [4, 16])
@pytest.mark.parametrize("name", CASES)
def test_on_cpu(name, query_block):
    """The gradient of captured values is computed on the CPU: all its results must be those of the reference."""
    gradient = dataclasses.replace(CASES[name], head_dim=16)
    given = gradient.draw(np.random.default_rng(5))
    call = [given[x] for x in ("q", "k", "v", "dout")]
    form = gradient.form() | {"dlse": given.get("dlse")}
    said = reference.sdpa_backward(*call, **form, out=given["out"], lse=given["lse"], wrt=gradient.wrt)
    # Destinations are written, not read.
    results = {x: np.full(gradient.shape(x), 7, cpu.dtype_of(gradient.element(x))) for x in gradient.results}
    captures = [given.get(f"capture{n}", value) for n, (_, value) in enumerate(gradient.captures)]
    module = cpu.compile(gradient.mlir(), options=[f"--attn-to-llvm=query-block={query_block}"])
    module["gradient"](*[given[x] for x in gradient.operands], *results.values(), *captures)
    for dcapture, expected in zip(gradient.dcaptures, said.dcaptures, strict=True):
        np.testing.assert_allclose(results[dcapture], expected, rtol=1e-4, atol=1e-4)
    for x in ("dq", "dk", "dv"):
        reference.check_rounded(results[x], getattr(said, x), 1e-3, x)


# -- kinks -------------------------------------------------------------------


def test_derivatives():
    """The derivatives of 60 random score_mod regions by their captured scalars equal central differences, except where a
    kink lies between the two points of a difference."""
    compared = 0
    for number in range(60):
        captures = np.random.default_rng([8, number]).uniform(0.2, 3, 2)
        expression = random_programs.draw_score(random_programs.Grammar(np.random.default_rng([9, number]), [("f32", x) for x in captures]))
        i, j = np.arange(20)[:, None], np.arange(30)[None, :]
        score = np.random.default_rng(number).standard_normal((20, 30))

        def arguments(captures):
            return dict(s=score, b=1, h=2, i=i, j=j, captures=captures)

        for n, unit in enumerate(np.eye(2) * 1e-6):
            with np.errstate(invalid="ignore"):
                above, below = (mods.evaluate(expression, arguments(captures + step), np.float64) for step in (unit, -unit))
                slope = np.broadcast_to((above - below) / 2e-6, score.shape)
            ours, doubt = mods.differentiate(expression, arguments(captures), by=n, error=1e-7)
            right = np.isclose(ours, slope, rtol=1e-4, atol=1e-4) | ~np.isfinite(slope)
            assert right.mean() > 0.99, expression
            assert np.broadcast_to(doubt > 0, score.shape).mean() < 0.01, expression
            compared += bool(np.any(ours))
    assert compared > 20


class Capped:
    """The gradient of the cap in minimum(s, cap), which is one of the scores, rounded to f32, so that f32 may take
    either side there."""

    def __init__(self, at=(1, 1)):
        plain = Gradient(head_dim=16, sizes=Sizes(1, 5, 7), wrt=(0,), score=("arith.minimumf", S, capture(0, "f32")), captures=(("f32", 0.0),))
        given = plain.draw(np.random.default_rng(3))
        self.scores = given["q"][0, :, 0].astype(np.float64) @ given["k"][0, :, 0].astype(np.float64).T / 4
        self.at, self.cap = at, float(np.float32(self.scores[at]))
        self.gradient = dataclasses.replace(plain, captures=(("f32", self.cap),))
        self.given = self.gradient.draw(np.random.default_rng(3))
        np.testing.assert_array_equal(self.given["q"], given["q"])
        self.isCapped = self.scores > self.cap
        self.said = self.sums(**self.gradient.derivative())
        ones = self.sums(capture_grad=lambda n, error, s, *_: (np.ones(s.shape), np.zeros(s.shape)))
        assert ones.dcaptures[0].shape == (1,)

    def sums(self, **derivative):
        call = [self.given[x] for x in ("q", "k", "v", "dout")]
        form = self.gradient.form() | derivative
        return reference.sdpa_backward(*call, **form, wrt=(0,), out=self.given["out"], lse=self.given["lse"])

    def check(self, isCapped):
        """Applies the rule to the gradient of a kernel that takes the cap where `isCapped`."""
        slopes = np.array(isCapped, float)
        found = self.sums(capture_grad=lambda n, error, s, *_: (slopes, np.zeros(s.shape)))
        self.gradient.check_captures({"dcapture0": found.dcaptures[0].astype(np.float32)}, self.said)

    def parts(self):
        """Returns the contribution of each score to the sum, as if each were capped."""
        found = np.zeros(self.scores.shape)
        for at in np.ndindex(found.shape):
            slopes = np.zeros(found.shape)
            slopes[at] = 1
            found[at] = self.sums(capture_grad=lambda n, error, s, *_: (slopes, np.zeros(s.shape))).dcaptures[0][0]
        return found

    def with_other(self, at):
        return np.where(np.indices(self.scores.shape).T.dot([7, 1]).T == at[0] * 7 + at[1], ~self.isCapped, self.isCapped)


def test_either_side_of_a_kink():
    """A score within rounding errors of a kink may be on either side of it. The gradient may then be off by this
    score's contribution, and by no more."""
    capped = Capped()
    part = capped.parts()[capped.at]
    np.testing.assert_allclose(capped.said.capture_doubts[0], [abs(part)], rtol=1e-9)
    capped.check(capped.isCapped)
    capped.check(capped.with_other(capped.at))
    without = capped.said._replace(capture_doubts=(np.zeros(1),))
    other = capped.sums(capture_grad=lambda n, error, s, *_: (capped.with_other(capped.at).astype(float), np.zeros(s.shape)))
    with pytest.raises(AssertionError, match="dcapture0: 1 of 1 elements are off"):
        capped.gradient.check_captures({"dcapture0": other.dcaptures[0].astype(np.float32)}, without)


def test_faults_beside_a_kink():
    """The tolerance that the rule gives to scores at a kink must hide no fault of other scores."""
    capped = Capped()
    parts = np.abs(capped.parts())
    doubt = parts[capped.at]
    isCapped, found = capped.isCapped, 0
    for at in np.ndindex(parts.shape):
        if at != capped.at and parts[at] > doubt + 1e-3:
            found += 1
            with pytest.raises(AssertionError, match="dcapture0: 1 of 1 elements are off"):
                capped.check(capped.with_other(at))
    assert found > 5
    wrong = {
        "the other side everywhere": ~isCapped,
        "a row left out": isCapped & (np.arange(5)[:, None] != 4),
        "a key left out": isCapped & (np.arange(7) != 0),
        "without the kink": np.ones_like(isCapped),
    }
    for name, slopes in wrong.items():
        with pytest.raises(AssertionError, match="dcapture0: 1 of 1 elements are off"):
            capped.check(slopes)
            pytest.fail(name)


def test_sure_sides():
    """A score without rounding error is surely on one side of a kink, even if it lies on it. A comparison that f32
    makes only after a rounding is not sure. A score's own error counts."""
    i = np.zeros((1, 1), int)
    arguments = dict(s=np.array([[0.0]]), b=0, h=0, i=i, j=i, captures=[1.0, 3.0])

    def doubt(score, error=0.0):
        return float(np.squeeze(mods.differentiate(score, arguments, by=0, error=error)[1]))

    one, three, third = capture(0, "f32"), capture(1, "f32"), ("arith.divf", capture(0, "f32"), capture(1, "f32"))
    assert doubt(("arith.minimumf", one, mods.f32(1))) == 0
    assert doubt(("arith.minimumf", ("arith.mulf", third, three), mods.f32(1))) == 1
    assert doubt(("arith.minimumf", ("arith.mulf", third, three), mods.f32(1 + 2e-6))) == 0
    assert doubt(("math.absf", ("arith.mulf", S, one))) == 0
    above = ("arith.addf", ("math.absf", ("arith.subf", ("arith.mulf", one, mods.f32(2)), S)), ("arith.mulf", S, one))
    assert doubt(above, error=1e-6) == 0
    arguments["s"] += 2
    assert doubt(above) == 4
    arguments["s"] += 1e-5
    assert (doubt(above), doubt(above, error=1e-5)) == (0, 4)


def test_kink_between_differences():
    """If the two points of a difference lie on both sides of a kink, the difference is wrong and the derivative is
    right."""
    capped = Capped()
    slopes = [
        each.capture_derivative(0, capped.scores, np.zeros(capped.scores.shape), 0, 0)[0]
        for each in (reference._Problem(np.float64, **capped.gradient.form(), **more) for more in ({}, capped.gradient.derivative()))
    ]
    assert 0.1 < slopes[0][capped.at] < 0.9 and slopes[1][capped.at] in (0, 1)
    np.testing.assert_array_equal(slopes[1], capped.isCapped)
