# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of captured values on the CPU: against the reference, which finds them by differences of the
score_mod. (Kernels: test_gradient.)"""

import dataclasses

import numpy as np
import pytest

from fa4 import cpu, reference
from fa4.programs.forms import SCORE_MODS
from fa4.programs.gradient import Gradient
from fa4.programs.program import Sizes
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
    gradient = dataclasses.replace(CASES[name], head_dim=16)
    given = gradient.draw(np.random.default_rng(5))
    call = [given[x] for x in ("q", "k", "v", "dout")]
    form = gradient.form(given) | {"dlse": given.get("dlse")}
    said = reference.sdpa_backward(*call, **form, out=given["out"], lse=given["lse"], wrt=gradient.wrt)
    # Destinations are written, not read.
    results = {x: np.full(gradient.shape(x), 7, cpu.dtype_of(gradient.element(x))) for x in gradient.results}
    captures = [given.get(f"capture{n}", value) for n, (_, value) in enumerate(gradient.captures)]
    module = cpu.compile(gradient.mlir(), options=[f"--attn-to-llvm=query-block={query_block}"], optimization=1)
    module["gradient"](*[given[x] for x in gradient.operands], *results.values(), *captures)
    for dcapture, expected in zip(gradient.dcaptures, said.dcaptures, strict=True):
        np.testing.assert_allclose(results[dcapture], expected, rtol=1e-4, atol=1e-4)
    for x in ("dq", "dk", "dv"):
        reference.check_rounded(results[x], getattr(said, x), 1e-3, x)
