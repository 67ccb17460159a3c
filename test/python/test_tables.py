# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables: captured tensors that regions read at any index. (Forms: test_kernel_forms and test_gradient; functions of
torch: test_flex_attention; examples: test_table_examples.)"""

import numpy as np
import pytest
from ml_dtypes import bfloat16

import fa4

SIZES = dict(B=2, S=70, H=2, D=64)


def draw(*names, rng):
    shape = (SIZES["B"], SIZES["S"], SIZES["H"], SIZES["D"])
    return {name: rng.standard_normal(shape, np.float32).astype(bfloat16) for name in names}


BEYOND = {
    "beyond the end": (lambda s, b, h, i, j, t: s + t[h, j + 1000], lambda t: t[:, -1]),
    "below 0": (lambda s, b, h, i, j, t: s + t[h, j - 1000], lambda t: t[:, -1]),
    "within": (lambda s, b, h, i, j, t: s + t[h, i // 1000], lambda t: t[:, 0]),
}


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", BEYOND)
def test_an_index_out_of_bounds_reads_the_last_element(name, chip):
    """A score_mod reads a table at an index that it does not have: the last element of the dimension must count, and nothing
    be read that does not exist."""
    rng = np.random.default_rng()
    mod, element = BEYOND[name]
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", score_mod=mod, captures={"t": "f32 H N"}, lse=True), chip=chip)
    table = rng.standard_normal((SIZES["H"], 5), np.float32)
    given = draw("q", "k", "v", rng=rng)
    got = kernel.simulate(**given, t=table, check=True)
    # What all scores of a head have in common changes the LSE alone.
    plain = fa4.sdpa(q="B S H 64", k="B S H 64", lse=True).reference(**given)
    assert abs(got.lse - plain.lse - element(table)[None, :, None]).max() < 1e-3
    assert abs(got.out.astype(np.float64) - plain.out).max() < 0.03


def test_a_table_has_an_element_wherever_it_is_read():
    """A table has fewer elements than a call has keys, at which a region reads it: the call must be refused, and with as many
    or more be right."""
    spec = fa4.sdpa(q="B S H 64", k="B S H 64", mask_mod=lambda b, h, i, j, seen: seen[b, j], captures={"seen": "bool M N"})
    kernel = fa4.compile(spec)
    rng = np.random.default_rng()
    given = draw("q", "k", "v", rng=rng)
    for size in (70, 71, 200):
        seen = rng.random((2, size)) < 0.5
        out = kernel.simulate(**given, seen=seen).out
        assert abs(out.astype(np.float64) - spec.reference(**given, seen=seen).out).max() < 0.03
    with pytest.raises(fa4.Fa4Error, match="dimension 1 of 'capture0', capture0_1, must be at least Sk: a region reads it at each key"):
        kernel.simulate(**given, seen=np.ones((2, 69), bool))
    with pytest.raises(fa4.Fa4Error, match="capture0_0, must be at least B: a region reads it at each sequence"):
        kernel.simulate(**given, seen=np.ones((1, 70), bool))


def test_a_table_has_elements():
    """A table without elements does not make a call empty: with queries and keys it must be refused, and without them change
    nothing."""
    form = dict(score_mod=lambda s, b, h, i, j, t: s + t[j // 1000, h], captures={"t": "f32 M N"})
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", **form))
    given = draw("q", "k", "v", rng=np.random.default_rng())
    with pytest.raises(fa4.Fa4Error, match="dimension 0 of 'capture0', capture0_0, must be at least 1"):
        kernel.simulate(**given, t=np.zeros((0, 2), np.float32))
    nothing = {name: array[:, :0] for name, array in given.items()}
    assert kernel.simulate(**nothing, t=np.zeros((0, 2), np.float32)).out.shape == (2, 0, 2, 64)


def test_times_name_the_sizes_of_tables():
    """A call without arrays gives the sizes of a table by the names of the spec: those of q and k count, too, others must be given."""
    mod = lambda s, b, h, i, j, near, far: s + near[b, j] + far[h, 0]
    kernel = fa4.compile(fa4.sdpa(q="B S H 64", k="B S H 64", score_mod=mod, captures={"near": "f32 B S", "far": "f32 H N"}))
    assert kernel.time(B=1, S=130, H=2, N=3).cycles > 0
    with pytest.raises(fa4.SpecError, match="the call does not say how large N is"):
        kernel.time(B=1, S=130, H=2)


def documents(length, rng, order):
    """Numbers of documents of 1 to 150 positions, of two sequences."""
    found = []
    for _ in range(2):
        ends = np.cumsum(rng.integers(1, 150, length))
        found.append(np.searchsorted(ends, np.arange(length), side="right"))
    return order(np.array(found)).astype(np.int32)


SKIPPING = {
    "documents": (lambda b, h, i, j, t, u: t[b, i] == t[b, j], {}),
    "documents, causal": (lambda b, h, i, j, t, u: t[b, i] == t[b, j], {"mask": "causal"}),
    "documents or near": (lambda b, h, i, j, t, u: (t[b, i] == t[b, j]) | (abs(i - j) < 40), {}),
    "other documents": (lambda b, h, i, j, t, u: t[b, i] != t[b, j], {}),
    "later documents": (lambda b, h, i, j, t, u: (t[b, j] > t[b, i] + 1) & (u[h] > 0), {}),
    "keys of one side": (lambda b, h, i, j, t, u: (t[b, j] % 3 == 1) | (t[b, i] == 2), {}),
    "heads": (lambda b, h, i, j, t, u: (t[b, i] == t[b, j]) ^ (u[h] > 0), {}),
}
ORDERS = {
    "sorted": lambda t: t,
    "falling": lambda t: t[:, ::-1],
    "extreme": lambda t: np.where(t == 1, np.int32(-(2**31)), np.where(t == 3, np.int32(2**31 - 1), t)),
    "shuffled": lambda t: np.random.default_rng().permuted(t, axis=1),
    "one": lambda t: np.zeros_like(t),
}


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", SKIPPING)
def test_masks_by_tables_leave_out_hidden_blocks_only(name, chip):
    """Bounds of tables tell which blocks of keys, or of queries, a mask_mod shows, and which need no mask: of tables in any
    order, with numbers of any size, what is left out must be hidden, and what is not masked visible."""
    rng = np.random.default_rng()
    mod, mask = SKIPPING[name]
    form = dict(q="B Sq H 64", k="B Sk H 64", mask_mod=mod, captures={"t": "i32 B N", "u": "i32 H"}, **mask)
    forward, backward = fa4.sdpa(lse=True, **form), fa4.sdpa_backward(**form)
    kernel, gradient = fa4.compile(forward, chip=chip), fa4.compile(backward, chip=chip)
    lengths_of = {"sorted": (333, 600), "falling": (600, 333), "extreme": (256, 512), "shuffled": (70, 700), "one": (130, 130)}
    for order in rng.choice(list(ORDERS), 3, replace=False):
        lengths = lengths_of[order]
        shapes = [(2, length, 2, 64) for length in (*lengths, lengths[1], lengths[0])]
        q, k, v, dout = [rng.standard_normal(shape, np.float32).astype(bfloat16) for shape in shapes]
        tables = {"t": documents(700, rng, ORDERS[order]), "u": np.array([0, 1], np.int32)}
        given = dict(q=q, k=k, v=v, **tables)
        got, expected = kernel.simulate(**given, check=True), forward.reference(**given)
        assert abs(got.out.astype(np.float64) - expected.out).max() < 0.06, order
        seen = np.isfinite(expected.lse)
        assert (np.isfinite(got.lse) == seen).all() and abs(got.lse[seen] - expected.lse[seen]).max(initial=0) < 1e-3, order
        given |= dict(out=got.out, lse=got.lse, dout=dout)
        got, expected = gradient.simulate(**given, check=True), backward.reference(**given)
        for each in ("dq", "dk", "dv"):
            assert abs(got[each].astype(np.float64) - expected[each]).max() < 0.02 * max(1, abs(expected[each]).max()), (order, each)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("lengths", [(0, 5), (5, 0), (1, 1), (129, 1)])
def test_masks_by_tables_of_few_positions(lengths, chip):
    """Calls without queries or keys, for which no kernel runs, and with one of them: results must be those of the op."""
    rng = np.random.default_rng()
    mod, _ = SKIPPING["documents"]
    form = dict(q="B Sq H 64", k="B Sk H 64", mask_mod=mod, captures={"t": "i32 B N", "u": "i32 H"})
    forward, backward = fa4.sdpa(lse=True, **form), fa4.sdpa_backward(**form)
    q, k, v, dout = [rng.standard_normal((2, lengths[n], 2, 64), np.float32).astype(bfloat16) for n in (0, 1, 1, 0)]
    given = dict(q=q, k=k, v=v, t=np.zeros((2, 200), np.int32), u=np.zeros(2, np.int32))
    got, expected = fa4.compile(forward, chip=chip).simulate(**given, check=True), forward.reference(**given)
    assert abs(got.out.astype(np.float64) - expected.out).max(initial=0) < 0.06
    given |= dict(out=got.out, lse=got.lse, dout=dout)
    got, expected = fa4.compile(backward, chip=chip).simulate(**given, check=True), backward.reference(**given)
    for each in ("dq", "dk", "dv"):
        assert abs(got[each].astype(np.float64) - expected[each]).max(initial=0) < 0.02 * max(1, abs(expected[each]).max(initial=0))
