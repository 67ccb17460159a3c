# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of score_mods, as kernels compute them: softcap, ALiBi, a relative bias and 20 that are drawn. Held to
float64 by FlashAttention's rule, where the derivative is that of the expression, and to differences of the loss, which
know no derivative."""

import numpy as np
import pytest

from fa4 import reference
from fa4_testing import gpu
from fa4_testing.programs.forms import SCORE_MODS, distance
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import S, f32
from fa4_testing.programs.program import Sizes
from fa4_testing.programs.random_programs import Grammar, draw_score
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim")

CAPTURES = (("f32", 1.3), ("i32", 7))
CLAMPED = ("arith.maximumf", ("arith.minimumf", distance(f32(0.1)), f32(2)), f32(-2))


def drawn(seed):
    return dict(score=draw_score(Grammar(np.random.default_rng([4, seed]), CAPTURES)), captures=CAPTURES)


FORMS = {
    "softcap": SCORE_MODS["softcap"], "alibi": SCORE_MODS["alibi"], "relative bias": dict(score=("arith.addf", S, CLAMPED)),
    **{f"drawn {seed}": drawn(seed) for seed in range(20)},
}  # fmt: skip


def difference(form, given, directions, step=1e-5):
    """The change of <out, dout> along `directions`, in float64."""
    ends = []
    for sign in (1, -1):
        moved = [given[x].astype(np.float64) + sign * step * directions[x] for x in "qkv"]
        ends.append((reference.sdpa(*moved, **form)[0] * given["dout"].astype(np.float64)).sum())
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", FORMS)
def test_derivative(name, tmp_path):
    """The gradient of a score_mod is simulated: it must be that of the reference and fit differences of the loss."""
    gradient = Gradient(head_dim=32, sizes=Sizes(1, 130, 70, 1, 2), mask=Mask.causal("bottom_right"), dtype="f16", **FORMS[name])
    launches = gradient.compile(tmp_path)
    given = gradient.draw_with(0)
    results = gradient.simulate(launches, given, (0, 1))
    gradient.check(given, results)
    rng = np.random.default_rng(1)
    directions = {x: rng.standard_normal(given[x].shape) for x in "qkv"}
    found = sum((results[f"d{x}"].astype(np.float64) * directions[x]).sum() for x in "qkv")
    size = np.sqrt(sum((results[f"d{x}"].astype(np.float64) ** 2).sum() for x in "qkv"))
    assert abs(found - difference(gradient.form(), given, directions)) <= 0.02 * size
