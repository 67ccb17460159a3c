# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits that do not depend on what else is computed: a row of forward attention is the same whatever the schedule, the other sequences of the
batch, and the chunk of queries it is computed in; so is a gradient with respect to schedules and batches, as far as docs/python.md says."""

import numpy as np
import pytest

import fa4
from fa4 import _library, arrays

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

BF16 = arrays.numpy_dtype("bf16")
QUERIES, KEYS = 300, 520
SCHEDULES = ("grid", "static", "lpt", "clc")
M = fa4.math
# Scores spread over many binades, so that the rows of a tile rescale their sums at different blocks of keys.
FORMS = {
    "full": {"scale": 2.0},
    "causal": {"mask": "causal", "scale": 2.0},
    "window": {"mask": fa4.Mask(100, 30), "scale": 2.0},
    "mods": {"score_mod": lambda s, b, h, i, j: 8 * M.tanh(s) - 0.01 * M.abs(i - j), "mask_mod": lambda b, h, i, j: (i + 220 >= j) | (j % 7 == 0)},
}


def normal(rng, *shape):
    return rng.standard_normal(shape, np.float32).astype(BF16)


def draw(rng, heads=2, dim=32):
    return {"q": normal(rng, 3, QUERIES, heads, dim), "k": normal(rng, 3, KEYS, 1, dim), "v": normal(rng, 3, KEYS, 1, dim)}


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def compile(form, schedule, **options):
    return fa4.compile(fa4.sdpa(q="B Sq H 32", k="B Sk G 32", lse=True, **form), options={"schedule": schedule, **options}, verify=False, cache=False)


@pytest.mark.parametrize("name", FORMS)
def test_forward_rows_do_not_depend_on_schedule_or_batch(rng, name):
    """Attention runs under each schedule and with one sequence alone: its bits must be the same."""
    call = draw(rng)
    made = {schedule: compile(FORMS[name], schedule) for schedule in SCHEDULES}
    first = made["grid"].simulate(**call)
    for seed, (schedule, kernel) in enumerate(made.items()):
        other = kernel.simulate(**call, seed=seed)
        assert bits(other.out) == bits(first.out) and bits(other.lse) == bits(first.lse), schedule
    alone = made["lpt"].simulate(**{name: array[1:2] for name, array in call.items()})
    assert bits(alone.out) == bits(first.out[1:2]) and bits(alone.lse) == bits(first.lse[1:2])


@pytest.mark.parametrize("form", [{}, {"mask": "causal"}, {"mask": fa4.Mask(900, 0)}], ids=["full", "causal", "window"])
def test_few_queries_do_not_depend_on_the_batch(rng, form):
    """CTAs divide the keys of few queries: with batch_invariant, a sequence has the same bits beside many others, alone, and with more room."""
    spec = fa4.sdpa(q="B 2 4 32", k="B Sk 1 32", lse=True, seqlens_k=True, batch_invariant=True, scale=2.0, **form)
    made = fa4.compile(spec, chip="sm_90a", verify=False, cache=False)
    q, k, v = normal(rng, 20, 2, 4, 32), normal(rng, 20, 3000, 1, 32), normal(rng, 20, 3000, 1, 32)
    lengths = np.array([2900, *rng.integers(1, 3000, 19)], np.int32)
    beside = made.simulate(q=q, k=k, v=v, seqlens_k=lengths)
    more = [np.concatenate([x[:1], normal(rng, 1, 2500, 1, 32)], axis=1) for x in (k, v)]
    for keys, values in ((k[:1], v[:1]), more):
        alone = made.simulate(q=q[:1], k=keys, v=values, seqlens_k=lengths[:1])
        assert bits(alone.out) == bits(beside.out[:1]) and bits(alone.lse) == bits(beside.lse[:1])


@pytest.mark.parametrize("name", ["full", "causal", "window"])
def test_forward_rows_do_not_depend_on_the_chunk(rng, name):
    """Prefill in chunks: the queries from `begin` to `end`, with as many keys as the alignment of the mask needs, must
    have the same bits as in one call."""
    call, kernel = draw(rng), compile(FORMS[name], "static")
    first = kernel.simulate(**call)
    # A window to the right sees keys behind a chunk's own, but for the last chunk.
    chunks = ((130, QUERIES), (QUERIES - 1, QUERIES), *(() if name == "window" else ((0, 100), (37, 200))))
    for begin, end in chunks:
        keys = KEYS if name == "full" else KEYS - QUERIES + end
        found = kernel.simulate(q=call["q"][:, begin:end], k=call["k"][:, :keys], v=call["v"][:, :keys])
        assert bits(found.out) == bits(first.out[:, begin:end]) and bits(found.lse) == bits(first.lse[:, :, begin:end]), (begin, end)


@pytest.mark.parametrize("deterministic", [False, True])
def test_gradients_do_not_depend_on_schedule_or_batch(rng, deterministic):
    """A gradient is run under other schedules and with one sequence alone: dk and dv must have the same bits, and dq
    too if it is deterministic."""
    spec = fa4.sdpa(q="B Sq H 64", k="B Sk G 64", mask="causal", scale=1.0, lse=True)
    call = draw(rng, dim=64)
    rows = spec.reference(**call)
    call |= {"out": rows.out.astype(BF16), "lse": rows.lse.astype(np.float32), "dout": normal(rng, 3, QUERIES, 2, 64)}
    made = {s: fa4.compile(spec.backward(deterministic), options={"schedule": s}, verify=False, cache=False) for s in ("grid", "static", "lpt")}
    first = made["grid"].simulate(**call)
    for seed, (schedule, kernel) in enumerate(made.items()):
        other, alone = kernel.simulate(**call, seed=seed + 1), kernel.simulate(**{name: array[1:2] for name, array in call.items()}, seed=seed)
        for name in ("dq", "dk", "dv")[not deterministic :]:
            assert bits(other[name]) == bits(first[name]) and bits(alone[name]) == bits(first[name][1:2]), (schedule, name)
