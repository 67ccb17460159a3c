# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values in pages of a cache, by a page table: fa4-compile, and fa4-sim with all checks, against float64. What belongs to
no sequence is NaN, and table entries behind the keys of a sequence are no pages."""

import fa4
import numpy as np
import pytest
from ml_dtypes import bfloat16

from fa4_testing import gpu
from fa4_testing.programs import on_cpu
from fa4_testing.programs.forms import BR, NEAR, TL, with_each_mod
from fa4_testing.programs.program import Program, Sizes, run
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIPS = "sm_90a", "sm_100a"
FEW = frozenset({"Sq", "Hq", "Hkv"})
FORMS = {
    "16": dict(sizes=Sizes(2, 200, 640, 1, 2), page_size=16, mask=Mask.causal(BR)),
    "32, lengths": dict(sizes=Sizes(3, 70, 500, 2, 1), page_size=32, lengths=(0, 499, 33)),
    "48": dict(sizes=Sizes(1, 130, 480, 1, 1), page_size=48),
    "64, lengths": dict(sizes=Sizes(2, 200, 640, 2, 2), page_size=64, lengths=(640, 333), mask=Mask.causal(BR)),
    "80, window": dict(sizes=Sizes(1, 200, 400, 1, 1), page_size=80, mask=Mask(TL, 60, 5)),
    "256, lengths": dict(sizes=Sizes(2, 100, 768, 1, 2), page_size=256, lengths=(700, 333)),
    "1024": dict(sizes=Sizes(1, 100, 1024, 1, 1), page_size=1024, lengths=(900,)),
    "bhsd": dict(sizes=Sizes(2, 100, 320, 2, 1), page_size=64, layout="bhsd", lengths=(100, 320)),
    "one block": dict(sizes=Sizes(2, 100, 64, 1, 1), page_size=64, static=frozenset({"SeqPages"})),
    "static": dict(sizes=Sizes(2, 128, 256, 1, 1), page_size=64, static=frozenset({"B", "Sq", "Hq", "Hkv", "Pages", "SeqPages"})),
    "strided": dict(sizes=Sizes(2, 100, 256, 2, 1), page_size=64, strided=(("k", "dynamic"), ("v", "static"))),
    "tensor": dict(sizes=Sizes(2, 100, 256, 2, 1), page_size=64, kind="tensor", lengths=(3, 250)),
    "f16": dict(sizes=Sizes(1, 100, 256, 1, 1), page_size=32, dtype="f16"),
    "head dims 192, 128": dict(sizes=Sizes(1, 100, 256, 1, 1), page_size=32, head_dim=192, head_dim_v=128),
    "head dim 256": dict(sizes=Sizes(1, 100, 256, 1, 1), page_size=16, head_dim=256),
    "sinks": dict(sizes=Sizes(2, 100, 256, 1, 2), page_size=64, sinks="f32", lengths=(0, 200)),
    "mask_mod": dict(sizes=Sizes(1, 200, 256, 1, 2), page_size=64, visible=NEAR),
    "persistent": dict(sizes=Sizes(2, 300, 256, 2, 2), page_size=64, options=("--schedule=static",)),
    "packed": dict(sizes=Sizes(3, 150, 300, 1, 2), page_size=64, layout="thd", packed=((20, 300), (150, 150), (1, 77)), lengths=(300, 150, 77), mask=Mask.causal(BR)),
    "packed, 16": dict(sizes=Sizes(4, 70, 200, 2, 1), page_size=16, layout="thd", packed=((0, 9), (70, 200), (3, 0), (9, 44)), lengths=(9, 200, 0, 44)),
    "packed, all keys": dict(sizes=Sizes(2, 70, 128, 1, 2), page_size=32, layout="htd", packed=((70, 128), (30, 128)), mask=Mask.causal(BR)),
    "few, 16": dict(sizes=Sizes(4, 1, 900, 2, 4), page_size=16, lengths=(0, 1, 333, 900), static=FEW),
    "few, 64": dict(sizes=Sizes(2, 4, 640, 2, 4), page_size=64, mask=Mask.causal(BR), static=FEW),
    "few, 48": dict(sizes=Sizes(1, 2, 960, 1, 8), page_size=48, static=FEW),
    "few, 512": dict(sizes=Sizes(2, 1, 1024, 1, 8), page_size=512, lengths=(1000, 200), static=FEW),
    "few, bhsd": dict(sizes=Sizes(2, 2, 640, 2, 4), page_size=32, layout="bhsd", static=FEW, lengths=(500, 640)),
    "few, batch invariant": dict(sizes=Sizes(2, 2, 2560, 1, 4), page_size=48, static=FEW, batch_invariant=True, lengths=(2500, 700)),
    "few, batch invariant, 2048": dict(sizes=Sizes(1, 1, 4096, 1, 4), page_size=2048, static=FEW, batch_invariant=True),
    "few, undivided": dict(sizes=Sizes(2, 2, 640, 2, 4), page_size=64, static=FEW, options=("--split-keys=false",)),
}  # fmt: skip
MODS = with_each_mod(sizes=Sizes(2, 70, 256, 1, 2), head_dim=64, page_size=32)


@pytest.mark.turns(4)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FORMS)
def test_form(name, chip, tmp_path):
    """Results must be right under two schedules."""
    run(Program(**(dict(head_dim=128) | FORMS[name]), chip=chip), tmp_path, seeds=(0, 1))


@pytest.mark.turns(8)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", MODS)
def test_mod(name, chip, tmp_path):
    """A region sees positions in the sequence, not in pages."""
    run(Program(**MODS[name], chip=chip), tmp_path, seeds=(0, 1))


@pytest.mark.parametrize("pages", [1, 2])
def test_pairs(pages, tmp_path):
    """The CTAs of a pair each load half of a block."""
    form = dict(sizes=Sizes(1, 512, 256 * pages, 1, 1), head_dim=128, page_size=128, chip="sm_100a", options=("--pairs=on",))
    run(Program(**form), tmp_path, seeds=(0, 1))


def _call(batch=2, queries=40, pages=3, size=16, heads=(2, 1), total=7):
    rng = np.random.default_rng(3)
    q = rng.standard_normal((batch, queries, heads[0], 64)).astype(bfloat16)
    k, v = (rng.standard_normal((total, size, heads[1], 64)).astype(bfloat16) for _ in "kv")
    table = rng.permutation(total)[: batch * pages].reshape(batch, pages).astype(np.int32)
    return {"q": q, "k": k, "v": v, "page_table": table}


@pytest.mark.parametrize("queries", [40, 2])
def test_shared_pages(queries):
    """Sequences with a prefix in common may read the same pages."""
    call = _call(queries=queries)
    call["page_table"][1, 0] = call["page_table"][0, 0]
    spec = fa4.sdpa(q=f"B {queries if queries < 17 else 'Sq'} Hq 64", k="Pages 16 Hkv 64", mask="causal", page_table=True, lse=True)
    got, expected = fa4.compile(spec).simulate(**call, check=True), spec.reference(**call)
    np.testing.assert_allclose(got.out.astype(float), expected.out, atol=0.03)
    np.testing.assert_allclose(got.lse, expected.lse, atol=1e-3)


@pytest.mark.parametrize("queries", [40, 2])
@pytest.mark.parametrize("page", [-1, 7, 2**31 - 1, -(2**31)])
def test_pages_that_are_none(queries, page):
    """A page beyond the cache counts as one of zeros: nothing is read out of bounds."""
    call = _call(queries=queries)
    call["page_table"][0, 1] = page
    spec = fa4.sdpa(q=f"B {queries if queries < 17 else 'Sq'} Hq 64", k="Pages 16 Hkv 64", page_table=True)
    got = fa4.compile(spec).simulate(**call, check=True)
    cache = {name: np.concatenate([call[name], np.zeros_like(call[name][:1])]) for name in "kv"}
    call["page_table"][0, 1] = 7
    np.testing.assert_allclose(got.out.astype(float), spec.reference(**call | cache).out, atol=0.03)


@pytest.mark.parametrize("empty", [dict(batch=0), dict(pages=0), dict(queries=0)], ids=["sequences", "pages", "queries"])
def test_nothing_to_compute(empty):
    """No kernel runs: out must be 0, and the LSE -infinity."""
    call = _call(**empty)
    spec = fa4.sdpa(q="B Sq Hq 64", k="Pages 16 Hkv 64", page_table=True, lse=True)
    got = fa4.compile(spec).simulate(**call)
    assert got.out.shape == call["q"].shape and not got.out.any() and (got.lse == -np.inf).all()


@pytest.mark.parametrize("empty, size", [(dict(pages=0), "SeqPages"), (dict(batch=0, total=0), "Pages")])
def test_sinks_without_keys_are_refused(empty, size):
    """The LSE would be the sinks, which no kernel writes."""
    call = _call(**empty) | {"sinks": np.zeros(2, np.float32)}
    if size == "Pages":
        call |= {"q": np.ones((2, 40, 2, 64), bfloat16), "page_table": np.zeros((2, 3), np.int32)}
    spec = fa4.sdpa(q="B Sq Hq 64", k="Pages 16 Hkv 64", page_table=True, lse=True, sinks=True)
    with pytest.raises(fa4.SimulationError, match=f"size {size} must be at least 1: the LSE of a row without keys is its sink"):
        fa4.compile(spec).simulate(**call)


def test_time():
    """A call without a table has no time: how often a page is read would not be known."""
    made = fa4.compile(fa4.sdpa(q="B 1 8 64", k="Pages 64 2 64", page_table=True), chip="sm_90a")
    with pytest.raises(fa4.SpecError, match="no page_table"):
        made.time(B=2, Pages=64, SeqPages=16)
    time = made.time(B=2, Pages=64, page_table=np.arange(32, dtype=np.int32).reshape(2, 16))
    assert time.flops == 4 * 64 * 2 * 8 * 1024


@pytest.mark.parametrize(
    "form, message",
    [
        (dict(k="Pages Size 2 64"), "the number of keys in a page must be a number, not 'Size'"),
        (dict(k="16 Pages 2 64", layout="sbhd", q="Sq B 4 64"), "with page_table, layout is one of bshd, bhsd, thd, htd, not 'sbhd'"),
        (dict(k="Tk 2 64", layout="thd", q="Tq 4 64"), "the shape of k has 3 sizes, not 4"),
        (dict(page_table=1), "page_table is True or False, not 1"),
    ],
)
def test_spec_errors(form, message):
    """A spec of pages that no op has is refused in words."""
    with pytest.raises(fa4.SpecError, match=message):
        fa4.sdpa(**dict(q="B Sq 4 64", k="Pages 16 2 64", page_table=True) | form)


def test_no_gradient():
    """The spec of a gradient is refused."""
    with pytest.raises(fa4.SpecError, match="there is no gradient of keys in pages"):
        fa4.sdpa(q="B Sq 4 64", k="Pages 16 2 64", page_table=True).backward()


def test_calls_that_disagree():
    """Sizes of the table are checked against those of q; a table of another type is refused."""
    made = fa4.compile(fa4.sdpa(q="B Sq Hq 64", k="Pages 16 Hkv 64", page_table=True))
    call = _call()
    with pytest.raises(fa4.SpecError, match="page_table has shape .*B = 2"):
        made.simulate(**call | {"page_table": call["page_table"][:1]})
    with pytest.raises(fa4.SpecError, match="page_table has elements of type int64, not int32"):
        made.simulate(**call | {"page_table": call["page_table"].astype(np.int64)})


@pytest.mark.skipif(not gpu.has_tools("fa4-opt"), reason="needs fa4-opt")
@pytest.mark.parametrize("name", ["32, lengths", "64, lengths", "80, window", "bhsd", "one block", "static", "tensor", "sinks", "packed", "packed, 16", "packed, all keys", "few, 16"])
def test_on_cpu(name):
    """The definition of the op, as it is decomposed for a CPU, reads pages as the reference does."""
    on_cpu.run(Program(**(dict(head_dim=64) | FORMS[name])))
