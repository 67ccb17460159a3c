# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Few queries, whose keys several CTAs divide and whose heads share tiles: fa4-compile, and fa4-sim with all checks,
against float64."""

import fa4
import numpy as np
import pytest
from ml_dtypes import bfloat16

from fa4_testing import gpu
from fa4_testing.programs.forms import BR, NEAR, TL, with_each_mod
from fa4_testing.programs.program import Program, Sizes, run
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIPS = "sm_90a", "sm_100a"
HEADS = frozenset({"Sq", "Hq", "Hkv"})
FORMS = {
    "one query": dict(sizes=Sizes(2, 1, 700, 2, 4)),
    "one head": dict(sizes=Sizes(2, 1, 700, 2, 1)),
    "five heads": dict(sizes=Sizes(1, 2, 600, 3, 5)),
    "64 heads": dict(sizes=Sizes(1, 1, 1030, 1, 64)),
    "16 queries": dict(sizes=Sizes(2, 16, 520, 1, 8), mask=Mask.causal(BR)),
    "16 queries, top left": dict(sizes=Sizes(2, 16, 520, 2, 2), mask=Mask.causal(TL)),
    "window": dict(sizes=Sizes(1, 5, 900, 2, 3), mask=Mask(BR, 300, 0)),
    "head dim 64": dict(sizes=Sizes(2, 3, 700, 2, 4), head_dim=64, mask=Mask.causal(BR)),
    "head dim 256": dict(sizes=Sizes(1, 2, 700, 1, 4), head_dim=256),
    "head dims 192, 128": dict(sizes=Sizes(1, 2, 700, 1, 4), head_dim=192, head_dim_v=128),
    "bhsd": dict(sizes=Sizes(2, 4, 600, 2, 4), layout="bhsd", mask=Mask.causal(BR)),
    "sbhd": dict(sizes=Sizes(2, 4, 600, 2, 4), layout="sbhd", mask=Mask.causal(BR)),
    "f16": dict(sizes=Sizes(2, 4, 600, 2, 4), dtype="f16"),
    "lengths": dict(sizes=Sizes(4, 1, 900, 2, 4), lengths=(0, 1, 333, 900), mask=Mask.causal(BR)),
    "sinks": dict(sizes=Sizes(2, 2, 600, 2, 4), sinks="f32"),
    "sinks of one head": dict(sizes=Sizes(2, 2, 600, 3, 1), sinks="bf16", lengths=(0, 400)),
    "fewer blocks than splits": dict(sizes=Sizes(1, 3, 2000, 1, 2), mask=Mask(BR, 20, 0)),
    "mask_mod": dict(sizes=Sizes(1, 7, 600, 1, 4), visible=NEAR),
    "static": dict(sizes=Sizes(2, 2, 640, 2, 4), static=frozenset({"B", "Sq", "Sk", "Hq", "Hkv"})),
    "dynamic heads": dict(sizes=Sizes(2, 2, 640, 2, 4), static=frozenset({"Sq"})),
    "strided": dict(sizes=Sizes(2, 2, 640, 2, 4), strided=(("q", "dynamic"), ("k", "static"), ("out", "dynamic"))),
    "tensor": dict(sizes=Sizes(2, 2, 640, 2, 4), kind="tensor"),
    "many sequences": dict(sizes=Sizes(40, 1, 300, 2, 2), head_dim=64, lengths=tuple(range(0, 300, 8))[:40] + (300, 299)),
    "71 heads": dict(sizes=Sizes(1, 1, 600, 1, 71), head_dim=64),
    "129 heads, two queries": dict(sizes=Sizes(1, 2, 300, 1, 129), head_dim=64),
    "batch invariant": dict(sizes=Sizes(2, 3, 2500, 2, 4), batch_invariant=True, mask=Mask.causal(BR), lengths=(2500, 1100)),
    "batch invariant, window": dict(sizes=Sizes(1, 5, 2500, 1, 3), batch_invariant=True, mask=Mask(BR, 300, 0)),
    "batch invariant, static": dict(sizes=Sizes(2, 2, 1500, 2, 4), batch_invariant=True, static=frozenset({"B", "Sq", "Sk", "Hq", "Hkv"})),
    "256 rows, on Blackwell": dict(sizes=Sizes(1, 16, 600, 1, 16), head_dim=64, mask=Mask.causal(BR)),
}
MODS = with_each_mod(sizes=Sizes(2, 3, 600, 1, 2), head_dim=64)


@pytest.mark.turns(4)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FORMS)
def test_form(name, chip, tmp_path):
    """The results of all splits, merged, must be right under two schedules."""
    form = dict(head_dim=128, static=HEADS) | FORMS[name]
    run(Program(**form, chip=chip), tmp_path, seeds=(0, 1))
    assert list(tmp_path.glob("*_merge_kernel.ptx"))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(0, 600), (2, 0)], ids=["no sequences", "no keys"])
def test_nothing_to_compute(shape, chip):
    """No kernel runs: out must be 0, and the LSE -infinity."""
    batch, keys = shape
    spec = fa4.sdpa(q="B 2 4 64", k="B Sk 2 64", lse=True)
    q, k = np.ones((batch, 2, 4, 64), bfloat16), np.ones((batch, keys, 2, 64), bfloat16)
    got = fa4.compile(spec, chip=chip).simulate(q=q, k=k, v=k)
    assert got.out.shape == q.shape and not got.out.any()
    assert got.lse.shape == (batch, 4, 2) and (got.lse == -np.inf).all()


def test_time():
    """The modelled time counts the useful work of a call, and both kernels."""
    time = fa4.compile(fa4.sdpa(q="B 1 8 64", k="B Sk 2 64"), chip="sm_90a").time(B=2, Sk=1024)
    assert time.flops == 4 * 64 * 2 * 8 * 1024 and len(time.launches) == 2


def test_sinks_without_keys_are_refused():
    """The LSE would be the sinks, which no kernel writes."""
    spec = fa4.sdpa(q="B 1 4 64", k="B Sk 2 64", lse=True, sinks=True)
    q, k = np.ones((2, 1, 4, 64), bfloat16), np.ones((2, 0, 2, 64), bfloat16)
    with pytest.raises(fa4.SimulationError, match="size Sk must be at least 1"):
        fa4.compile(spec).simulate(q=q, k=k, v=k, sinks=np.zeros(4, np.float32))


@pytest.mark.turns(8)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", MODS)
def test_mod(name, chip, tmp_path):
    """A region sees the positions and heads of rows, and its results must be right."""
    run(Program(**(dict(static=HEADS) | MODS[name]), chip=chip), tmp_path, seeds=(0, 1))
