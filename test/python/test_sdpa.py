# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both ops on the CPU against the float64 reference, for every form, half of them in a run."""

import functools

import ml_dtypes
import numpy as np
import pytest
from heap import leaks
from mods import KINKED, SMOOTH
from table import GROUP_OF, GROUPS

from fa4 import reference
from fa4_testing import cpu
from fa4_testing.cpu import dtype_of, mask_text


def _compile(forms):
    text = "".join(form.mlir(backward) for form in forms for backward in (False, True))
    block = forms[0].query_block
    option = "" if block is None else f"=query-block={block}"
    # The random forms are those that clang's optimizer sees, too.
    optimization = 1 if forms == GROUPS["random"] else 0
    return cpu.compile(text, options=[f"--attn-to-llvm{option}"], optimization=optimization)


@functools.cache
def _compile_group(group):
    """The module of a group, or None if there is something wrong in it."""
    try:
        return _compile(GROUPS[group])
    except cpu.CompileError:
        return None


@functools.cache
def compiled(form):
    """A module that has the form's functions: its group's, or its own where a
    defect elsewhere would fail the whole group."""
    return _compile_group(GROUP_OF[form.name]) or _compile([form])


def parameters(forms_and_more) -> list:
    """Parameters, each in the xdist group of its form's module."""
    return [
        pytest.param(
            form, *more, id=name, marks=pytest.mark.xdist_group(GROUP_OF[form.name])
        )
        for name, form, *more in forms_and_more
    ]


def all_forms():
    return [form for forms in GROUPS.values() for form in forms]


def atols(form, x):
    """What f32 arithmetic may be off by: of a result, by its name and its exact
    value. The score's error is relative to |q| |k|, and is a relative error of
    the probability."""

    def norm(name):
        rows = np.asarray(x[name], np.float64)
        return np.sqrt((rows**2).sum(axis=-1)).max(initial=0)

    def largest(name):
        return np.abs(np.asarray(x[name], np.float64)).max(initial=0)

    scale = abs(x["q"].shape[-1] ** -0.5 if form.scale is None else form.scale)
    relative = 8 * np.finfo(np.float32).eps * (8 + scale * norm("q") * norm("k"))
    dp = norm("dout") * norm("v") + largest("dout") + 4 * form.dlse
    score = scale * max(largest("q"), largest("k"))
    magnitude = {
        "out": largest("v"),
        "lse": 1,
        "dq": dp * score,
        "dk": dp * score,
        "dv": largest("dout"),
        "dsinks": dp,
    }

    def allowed(name, exact):
        largest = np.abs(exact[np.isfinite(exact)]).max(initial=0)
        return relative * (magnitude[name] + largest)

    return allowed


def rounded_out_noise(form, x):
    """How far gradients move as out is rounded, which moves delta. The same-dtype
    reference has this too, but where it is all there is, luck may make its
    share small."""
    q, k, out, dout = (np.asarray(x[n], np.float64) for n in ("q", "k", "out", "dout"))
    eps = float(ml_dtypes.finfo(dtype_of(form.out_element)).eps)
    delta = eps / 2 * np.abs(out * dout).sum(axis=-1).max(initial=0)
    scale = abs(q.shape[-1] ** -0.5 if form.scale is None else form.scale)
    rows = np.sqrt(out.size / out.shape[-1])
    return {
        "dq": delta * scale * np.abs(k).max(initial=0),
        "dk": delta * scale * np.abs(q).max(initial=0) * rows,
        "dv": 0.0,
        "dsinks": delta * rows,
    }


def rounded_lse_noise(x, ref):
    """How far a gradient moves as scores and the LSE are rounded to f32, half a unit each: probabilities, and with them
    gradients, by the same relative error. Where scores are some 200 this is twice `rounding_floor`, and hits each row
    by another amount, so that the largest error of the same-dtype reference may be that of a luckier row."""
    lse = np.abs(x["lse"][np.isfinite(x["lse"])]).max(initial=0)
    return np.finfo(np.float32).eps * lse * np.abs(ref).max(initial=0)


def check_forward(form, x):
    """By FlashAttention's rule, and that only the results are rounded."""
    results = form.run(compiled(form), x, backward=False)
    form_keywords = form.keywords(x)
    q, k, v = x["q"], x["k"], x["v"]
    exact = reference.sdpa(q, k, v, **form_keywords)
    pt = reference.sdpa_same_dtype(
        q, k, v, out_dtype=dtype_of(form.out_element), **form_keywords
    )
    allowed = atols(form, x)
    # (Without an LSE, results are one fewer than references.)
    for (name, result), ref, near in zip(results.items(), exact, pt):
        reference.check(result, ref, near, name)
        reference.check_rounded(result, ref, allowed(name, ref), name)
    return results


def check_backward(form, x):
    """Checks the backward op by FlashAttention's rule, after the op's own forward; and by itself, with exact out and
    lse, up to their rounding."""
    chained = form.run(compiled(form), x | check_forward(form, x), backward=True)
    results = form.run(compiled(form), x, backward=True)
    keywords = form.keywords(x, backward=True)
    operands = x["q"], x["k"], x["v"], x["dout"]
    exact = reference.sdpa_backward(*operands, **keywords)
    given = reference.sdpa_backward(*operands, out=x["out"], lse=x["lse"], **keywords)
    pt = reference.sdpa_backward_same_dtype(
        *operands, grad_dtype=dtype_of(form.grad_element), **keywords
    )
    allowed, noise = atols(form, x), rounded_out_noise(form, x)
    for name, result in results.items():
        ref, expected = getattr(exact, name), getattr(given, name)
        floor = reference.rounding_floor(ref, result.dtype) + noise[name] + rounded_lse_noise(x, ref)
        reference.check(chained[name], ref, getattr(pt, name), name, floor)
        reference.check_rounded(result, expected, allowed(name, expected), name)


CHECKS = {"forward": check_forward, "backward": check_backward}


@pytest.mark.turns(2)
@pytest.mark.parametrize("op", CHECKS)
@pytest.mark.parametrize(
    "form, sizes",
    parameters(
        (f"{form.name}-{n}", form, sizes)
        for form in all_forms()
        for n, sizes in enumerate(form.sizes)
    ),
)
def test_against_reference(form, sizes, op, rng):
    """A form is compiled for the CPU, forward or backward: its results must be as near to the reference as rounding
    allows."""
    CHECKS[op](form, form.draw(rng, sizes))


def _one_operation(form_name, n):
    form = next(form for form in all_forms() if form.name == form_name)
    return form, n


@pytest.mark.parametrize(
    "form, n",
    parameters(
        (text.split(" : ")[0], *_one_operation(f"{kind}_operations", n))
        for kind, table in (("smooth", SMOOTH), ("kinked", KINKED))
        for n, (text, *_) in enumerate(table)
    ),
)
def test_derivative_of_operation(form, n, rng):
    """The score_mod has one operation: the gradient must be that of the reference."""
    x = form.draw(rng, form.sizes[0])
    x["c0"] = np.eye(len(x["c0"]), dtype=np.float32)[n]
    # out and lse are those of another operation.
    out, lse = reference.sdpa(x["q"], x["k"], x["v"], **form.keywords(x))
    x |= {"out": out.astype(np.float32), "lse": lse.astype(np.float32)}
    check_backward(form, x)


# ---------------------------------------------------------------------------
# Finite differences
# ---------------------------------------------------------------------------


def loss(form, x):
    """<out, dout> + <lse, dlse>, in float64."""
    out, lse = reference.sdpa(x["q"], x["k"], x["v"], **form.keywords(x))
    total = (out * x["dout"]).sum()
    if form.dlse:
        total += np.where(np.isfinite(lse), lse * x["dlse"], 0).sum()
    return total


def differences(form, x, name, step=1e-4):
    """Central differences of the loss by each element of x[name]."""
    grad = np.zeros(x[name].shape)
    for index in np.ndindex(grad.shape):
        ends = []
        for sign in (1, -1):
            moved = x[name].astype(np.float64)
            moved[index] += sign * step
            ends.append(loss(form, x | {name: moved}))
        grad[index] = (ends[0] - ends[1]) / (2 * step)
    return grad


def small_forms():
    """Forms that differ in more than storage and dtype, in f32."""
    for form in all_forms():
        if form.static or "operations" in form.name or form.spread > 1:
            continue
        if {form.dtype, form.out_element, form.grad_element} == {"f32"}:
            yield form.name, form


@pytest.mark.parametrize("form", parameters(small_forms()))
def test_finite_differences(form, rng):
    """The gradients of a form must equal central differences of the loss."""
    x = form.draw(rng, form.small)
    results = form.run(compiled(form), x, backward=True)
    names = ["q", "k", "v"] + (["sinks"] if form.sinks else [])
    for name in names:
        got, expected = results[f"d{name}"], differences(form, x, name)
        tolerance = 1e-2 if form.sinks in ("bf16", "f16") and name == "sinks" else 1e-4
        # Sums in f32 are as exact as their largest terms allow.
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(
            got.astype(np.float64), expected, rtol=tolerance, atol=tolerance * scale,
            err_msg=f"d{name} of {form.name}")  # fmt: skip


# ---------------------------------------------------------------------------
# What the documentation says in words
# ---------------------------------------------------------------------------


def find(name):
    return parameters((name, f) for f in all_forms() if f.name == name)[0]


@pytest.mark.parametrize("form", [find("causal_bottom_right"), find("window_past")])
def test_fully_masked_rows(form, rng):
    """Rows without a key have out 0 and lse -inf, and move no gradient."""
    sizes = form.sizes[2]
    assert sizes.sq > sizes.sk, mask_text(form.mask)
    x = form.draw(rng, sizes)
    i, j = np.arange(sizes.sq)[:, None], np.arange(sizes.sk)[None, :]
    hidden = ~form.mask.visible(i, j, sizes.sq, sizes.sk).any(axis=1)
    assert hidden.any() and not hidden.all()
    forward = form.run(compiled(form), x, backward=False)
    assert (forward["out"][:, hidden] == 0).all()
    assert (forward["lse"][:, :, hidden] == -np.inf).all()
    assert np.isfinite(forward["lse"][:, :, ~hidden]).all()
    before = form.run(compiled(form), x, backward=True)
    assert (before["dq"][:, hidden] == 0).all()
    x["dout"][:, hidden] *= 1000
    after = form.run(compiled(form), x, backward=True)
    for name, grad in before.items():
        np.testing.assert_array_equal(grad, after[name], err_msg=name)


@pytest.mark.parametrize("form", [find("sinks")])
def test_sink_of_fully_masked_row(form, rng):
    """In a row without keys, lse is the sink, and the sink's gradient is dlse, which this call does not have."""
    sizes = form.sizes[2]
    x = form.draw(rng, sizes)
    hidden = slice(0, sizes.sq - sizes.sk)
    forward = form.run(compiled(form), x, backward=False)
    assert (forward["out"][:, hidden] == 0).all()
    for b, h in np.ndindex(sizes.b, sizes.hq):
        assert (forward["lse"][b, h, hidden] == x["sinks"][h]).all()


@pytest.mark.parametrize("form", [find("seqlens_k"), find("thd_seqlens_k")])
def test_padding_is_not_read(form, rng):
    """Keys past seqlens_k may hold anything, and have gradient 0."""
    sizes = form.sizes[0]
    x = form.draw(rng, sizes)
    if form.packed:
        spans = [(a, b) for a, b in zip(x["cu_seqlens_k"], x["cu_seqlens_k"][1:])]
        padding = [np.s_[a + n : b] for (a, b), n in zip(spans, x["seqlens_k"])]
    else:
        padding = [np.s_[b, n:] for b, n in enumerate(x["seqlens_k"])]
    clean = [form.run(compiled(form), x, backward) for backward in (False, True)]
    for where in padding:
        x["k"][where] = np.nan
        x["v"][where] = np.inf
    dirty = [form.run(compiled(form), x, backward) for backward in (False, True)]
    for before, after in zip(clean, dirty):
        for name in before:
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    for where in padding:
        assert (dirty[1]["dk"][where] == 0).all()
        assert (dirty[1]["dv"][where] == 0).all()


@pytest.mark.turns(2)
@pytest.mark.parametrize("form", parameters((f.name, f) for f in all_forms()))
def test_no_leak(form, rng):
    """A form is called many times, forward and backward: it must free all memory that it takes."""
    x = form.draw(rng, form.sizes[0])
    assert not leaks(lambda: form.run(compiled(form), x, backward=False))
    assert not leaks(lambda: form.run(compiled(form), x, backward=True))


@pytest.mark.parametrize("form", [find("deterministic")])
def test_deterministic(form, rng):
    """A deterministic gradient is computed twice: both must have the same bits."""
    x = form.draw(rng, form.sizes[-1])
    first = form.run(compiled(form), x, backward=True)
    again = form.run(compiled(form), x, backward=True)
    for name in first:
        np.testing.assert_array_equal(first[name], again[name], err_msg=name)
