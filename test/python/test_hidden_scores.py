# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A score that is NaN or infinite only where the mask hides it leaves out, LSE and gradients finite, and as they are without it: the
square root of a distance behind a causal mask, for example. Each kind of mask hides it: an attribute, a window, a mask_mod, and a
score_mod that gives -infinity itself."""

import numpy as np
import pytest

import fa4
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")

m = fa4.math

# Of keys behind the query, which are hidden: NaN, NaN or -infinity, NaN or infinity (0 / 0, x / 0). Their derivatives with respect to
# the score are so, too, where the score is multiplied.
MODS = {
    "sqrt": lambda s, q, k: s * m.sqrt(m.float32(q - k)),
    "log": lambda s, q, k: s + m.log(m.float32(q - k + 1)),
    "division": lambda s, q, k: s * ((q - k + 1) / m.maximum(q - k + 1, 0)),
}
# The same with a number where it is hidden, for the reference.
CLEAN = {
    "sqrt": lambda s, q, k: s * m.sqrt(m.float32(m.maximum(q - k, 0))),
    "log": lambda s, q, k: s + m.log(m.float32(m.maximum(q - k + 1, 1))),
    "division": lambda s, q, k: s,
}
MASKS = ("attribute", "window", "mask_mod", "score_mod")
SIZE = 200


def make(mod, mask, dim=64):
    score = {"score_mod": lambda s, b, h, q, k: mod(s, q, k)}
    if mask == "attribute":
        score["mask"] = "causal"
    elif mask == "window":
        score["mask"] = fa4.Mask(70, 0)
    elif mask == "mask_mod":
        score["mask_mod"] = lambda b, h, q, k: q >= k
    else:
        score["score_mod"] = lambda s, b, h, q, k: m.where(q >= k, mod(s, q, k), -float("inf"))
    return fa4.sdpa(f"1 {SIZE} 2 {dim}", f"1 {SIZE} 2 {dim}", lse=True, **score)


def draw(rng, count, dim=64):
    return [rng.standard_normal((1, SIZE, 2, dim)).astype(np.float32).astype(gpu.DTYPES["bf16"]) for _ in range(count)]


def check_forward(name, mask, rng, options=""):
    q, k, v = draw(rng, 3)
    expected = make(CLEAN[name], mask).reference(q=q, k=k, v=v)
    found = fa4.compile(make(MODS[name], mask), verify=False, options=options).simulate(q=q, k=k, v=v)
    np.testing.assert_allclose(found.out.astype(np.float64), expected.out, atol=0.04)
    np.testing.assert_allclose(found.lse, expected.lse, atol=0.04)


def check_gradient(name, mask, rng, options=""):
    q, k, v, dout = draw(rng, 4)
    clean = make(CLEAN[name], mask)
    forward = clean.reference(q=q, k=k, v=v)
    given = {"out": forward.out.astype(q.dtype), "dout": dout, "lse": forward.lse.astype(np.float32)}
    expected = clean.backward().reference(q=q, k=k, v=v, **given)
    spec = make(MODS[name], mask).backward()
    found = fa4.compile(spec, verify=False, options=options).simulate(q=q, k=k, v=v, **given)
    for each in ("dq", "dk", "dv"):
        np.testing.assert_allclose(found[each].astype(np.float64), expected[each], atol=0.02 * np.abs(expected[each]).max() + 0.03)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", MODS)
def test_forward(name, mask, rng):
    """A score is NaN or infinite where the mask hides it: out and LSE must be finite and as without it."""
    check_forward(name, mask, rng)


@pytest.mark.parametrize("mask, name", [("attribute", "division"), ("window", "sqrt"), ("mask_mod", "sqrt"), ("score_mod", "division")])
def test_gradient(name, mask, rng):
    """A score is NaN or infinite where the mask hides it: the gradients must be finite and as without it."""
    check_gradient(name, mask, rng)


@pytest.mark.parametrize("schedule", ["grid", "static", "lpt", "clc"])
def test_schedules(schedule, rng):
    """Hidden scores that are NaN must leave out and LSE alone under each schedule."""
    check_forward("sqrt", "mask_mod", rng, f"schedule={schedule}")


@pytest.mark.parametrize("schedule", ["grid", "lpt"])
def test_schedules_of_gradients(schedule, rng):
    """Hidden scores that are NaN must leave the gradients alone under each schedule."""
    check_gradient("sqrt", "attribute", rng, f"schedule={schedule}")
