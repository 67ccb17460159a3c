# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys in blocks that a call lists for each block of queries: fa4-compile, and fa4-sim with all checks, against float64. Lists name blocks in
any order, among them some that are none; counts may be below 0, or more than there is room for."""

import fa4
import numpy as np
import pytest
from ml_dtypes import bfloat16

from fa4_testing import gpu
from fa4_testing.programs import on_cpu
from fa4_testing.programs.block_lists import BlockLists
from fa4_testing.programs.forms import BR, NEAR, TL, with_each_mod
from fa4_testing.programs.program import Program, Sizes, run
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIPS = "sm_90a", "sm_100a"
FEW = frozenset({"Sq", "Hq", "Hkv", "ListHeads"})
FORMS = {
    "full": dict(sizes=Sizes(2, 200, 640, 1, 2), lists=BlockLists()),
    "causal": dict(sizes=Sizes(1, 400, 400, 2, 2), lists=BlockLists(128, 128, heads=2), mask=Mask.causal(BR)),
    "window": dict(sizes=Sizes(1, 300, 500, 1, 2), lists=BlockLists(heads=2), mask=Mask(TL, 60, 100)),
    "32 keys": dict(sizes=Sizes(1, 200, 200, 1, 1), lists=BlockLists(128, 32)),
    "96 keys": dict(sizes=Sizes(1, 200, 400, 1, 1), lists=BlockLists(128, 96), mask=Mask.causal(TL)),
    "256 keys": dict(sizes=Sizes(1, 200, 700, 1, 1), lists=BlockLists(256, 256)),
    "many queries": dict(sizes=Sizes(1, 700, 300, 1, 1), lists=BlockLists(384, 64)),
    "few entries": dict(sizes=Sizes(2, 300, 900, 1, 1), lists=BlockLists(entries=2)),
    "more entries than blocks": dict(sizes=Sizes(1, 300, 200, 1, 1), lists=BlockLists(entries=9)),
    "missing lists": dict(sizes=Sizes(1, 500, 200, 1, 1), lists=BlockLists(missing=2)),
    "one block of queries": dict(sizes=Sizes(2, 40, 300, 2, 1), lists=BlockLists(1024, 64), static=frozenset({"Sq"})),
    "one block of keys": dict(sizes=Sizes(1, 200, 64, 1, 1), lists=BlockLists(), static=frozenset({"Sk", "ListEntries"})),
    # Queries in one block, few enough for CTAs to divide the list.
    "one query": dict(sizes=Sizes(2, 1, 500, 1, 4), lists=BlockLists(), static=frozenset({"Sq", "Hq", "Hkv"})),
    "one query, shared lists": dict(sizes=Sizes(2, 1, 1500, 2, 4), lists=BlockLists(1, 64), static=FEW),
    "one query, lists of heads": dict(sizes=Sizes(2, 1, 900, 2, 2), lists=BlockLists(1, 64, heads=4), static=FEW, mask=Mask(BR, 700, 0)),
    "five queries": dict(sizes=Sizes(2, 5, 1500, 2, 3), lists=BlockLists(16, 128, heads=2, entries=7), static=FEW, mask=Mask.causal(BR), lengths=(1500, 300)),
    "few queries, pages": dict(sizes=Sizes(2, 2, 960, 1, 8), lists=BlockLists(2, 64), static=FEW, page_size=32, lengths=(900, 130)),
    "few queries, fixed splits": dict(sizes=Sizes(1, 2, 4000, 1, 4), lists=BlockLists(2, 96), static=FEW, batch_invariant=True, mask=Mask.causal(BR)),
    "few queries, sinks": dict(sizes=Sizes(2, 3, 700, 1, 4), lists=BlockLists(3, 32), static=FEW, sinks="f32"),
    "static": dict(sizes=Sizes(2, 256, 256, 1, 2), lists=BlockLists(), static=frozenset({"B", "Sq", "Sk", "Hq", "Hkv", "ListHeads", "ListBlocks", "ListEntries"})),
    "lengths": dict(sizes=Sizes(3, 200, 400, 1, 1), lists=BlockLists(), lengths=(0, 400, 77), mask=Mask.causal(BR)),
    "sinks": dict(sizes=Sizes(1, 200, 300, 1, 2), lists=BlockLists(heads=2), sinks="f32"),
    "pages": dict(sizes=Sizes(2, 200, 320, 1, 2), lists=BlockLists(), page_size=32, lengths=(100, 300), mask=Mask.causal(BR)),
    "packed": dict(sizes=Sizes(3, 200, 300, 1, 1), lists=BlockLists(), layout="thd", packed=((200, 300), (0, 5), (129, 64)), mask=Mask.causal(BR)),
    "bhsd": dict(sizes=Sizes(1, 200, 300, 2, 1), lists=BlockLists(), layout="bhsd"),
    "tensor": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=BlockLists(), kind="tensor"),
    "f16": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=BlockLists(), dtype="f16"),
    "head dim 64": dict(sizes=Sizes(1, 500, 500, 1, 1), lists=BlockLists(128, 128), head_dim=64, mask=Mask.causal(BR)),
    "head dim 256": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=BlockLists(), head_dim=256),
    "mask_mod": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=BlockLists(), visible=NEAR),
    "persistent": dict(sizes=Sizes(2, 400, 300, 2, 1), lists=BlockLists(), options=("--schedule=static",)),
}  # fmt: skip
MODS = with_each_mod(sizes=Sizes(2, 150, 200, 1, 2), head_dim=64, lists=BlockLists())


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
    """A region sees positions in the sequence, not in a list."""
    run(Program(**MODS[name], chip=chip), tmp_path, seeds=(0, 1))


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
def test_packed_lists_have_registers(tmp_path):
    """Roles that load count the registers of lists beside those of packed sequences: ptxas 13.0 spilled 68 bytes of this kernel otherwise."""
    run(Program(**FORMS["packed"], head_dim=128, chip="sm_90a"), tmp_path, ptxas=True)


def _call(batch=1, queries=200, keys=300, entries=3, lists=2):
    rng = np.random.default_rng(3)
    q = rng.standard_normal((batch, queries, 2, 64)).astype(bfloat16)
    k, v = (rng.standard_normal((batch, keys, 1, 64)).astype(bfloat16) for _ in "kv")
    blocks = np.tile(np.arange(entries, dtype=np.int32), (batch, 1, lists, 1))
    return {"q": q, "k": k, "v": v, "block_list": blocks, "block_counts": np.full((batch, 1, lists), entries, np.int32)}


def _spec(**form):
    return fa4.sdpa(q="B Sq Hq 64", k="B Sk Hkv 64", block_list=(128, 64), **form)


def test_blocks_that_are_not_listed_are_not_read():
    """What is not a number in a block that nobody lists must reach no result."""
    call, spec = _call(), _spec()
    expected = spec.reference(**call)
    for name in "kv":
        call[name][:, 192:] = np.nan
    got = fa4.compile(spec).simulate(**call, check=True)
    np.testing.assert_allclose(got.out.astype(float), expected.out, atol=0.03)


@pytest.mark.parametrize("empty", [dict(batch=0), dict(queries=0), dict(keys=0), dict(entries=0), dict(lists=0)], ids=lambda empty: next(iter(empty)))
def test_nothing_to_compute(empty):
    """No kernel runs: out must be 0, and the LSE -infinity."""
    call = _call(**empty)
    got = fa4.compile(_spec(lse=True)).simulate(**call)
    assert got.out.shape == call["q"].shape and not got.out.any() and (got.lse == -np.inf).all()


@pytest.mark.parametrize("empty, size", [(dict(entries=0), "ListEntries"), (dict(lists=0), "ListBlocks")])
def test_sinks_without_lists_are_refused(empty, size):
    """The LSE would be the sinks, which no kernel writes."""
    call = _call(**empty) | {"sinks": np.zeros(2, np.float32)}
    with pytest.raises(fa4.SimulationError, match=f"size {size} must be at least 1: the LSE of a row without keys is its sink"):
        fa4.compile(_spec(lse=True, sinks=True)).simulate(**call)


def test_heads_of_lists():
    """Query heads must be as many for each head that has lists."""
    call = _call()
    for name in ("block_list", "block_counts"):
        call[name] = np.repeat(call[name], 3, axis=1)
    with pytest.raises(fa4.SimulationError, match="the number of query heads, Hq, must be a multiple of that of the heads of 'block_list', ListHeads"):
        fa4.compile(_spec()).simulate(**call)


def test_time():
    """A call without lists has no time: how much is computed would not be known. Twice as many blocks take longer."""
    made = fa4.compile(fa4.sdpa(q="B Sq 8 128", k="B Sk 2 128", block_list=(128, 128)), chip="sm_100a")
    with pytest.raises(fa4.SpecError, match="no block_list and no block_counts"):
        made.time(B=1, Sq=1024, Sk=4096)
    lists = np.tile(np.arange(8, dtype=np.int32), (1, 2, 8, 1))
    times = [made.time(B=1, Sq=1024, Sk=4096, block_list=lists, block_counts=np.full((1, 2, 8), count, np.int32)) for count in (4, 8)]
    assert [time.flops for time in times] == [4 * 128 * 8 * 1024 * 128 * count for count in (4, 8)]
    assert 1.2 < times[1].cycles / times[0].cycles < 2


def test_time_of_few_blocks():
    """Blocks that nobody lists cost nothing: a longer cache takes no longer, whose keys memory could not bring in that time."""
    made = fa4.compile(fa4.sdpa(q="B 1 32 128", k="B Sk 8 128", block_list=(1, 64)), chip="sm_90a")
    lists = np.tile(np.arange(0, 48, 3, dtype=np.int32), (2, 8, 1, 1))
    times = [made.time(B=2, Sk=keys, block_list=lists, block_counts=np.full((2, 8, 1), 16, np.int32)) for keys in (4096, 65536)]
    assert times[1].cycles < 1.05 * times[0].cycles


@pytest.mark.parametrize("sizes", [128, (128,), (128, 0), (128, 64.0), "12", (True, 64)])
def test_spec_errors(sizes):
    """What is no pair of sizes is refused in words."""
    with pytest.raises(fa4.SpecError, match="block_list is None or the queries and the keys of a block, two positive numbers, not"):
        fa4.sdpa(q="B Sq 4 64", k="B Sk 4 64", block_list=sizes)


def test_calls_that_disagree():
    """Sizes of lists are checked against those of q and of each other; lists of another type are refused."""
    made, call = fa4.compile(_spec()), _call()
    with pytest.raises(fa4.SpecError, match="block_counts has shape .*ListBlocks = 2"):
        made.simulate(**call | {"block_counts": call["block_counts"][:, :, :1]})
    with pytest.raises(fa4.SpecError, match="block_list has elements of type int64, not int32"):
        made.simulate(**call | {"block_list": call["block_list"].astype(np.int64)})


@pytest.mark.skipif(not gpu.has_tools("fa4-opt"), reason="needs fa4-opt")
@pytest.mark.parametrize("name", ["full", "causal", "96 keys", "few entries", "missing lists", "one block of queries", "static", "lengths", "sinks", "pages", "packed", "tensor"])
def test_on_cpu(name):
    """The definition of the op, as it is decomposed for a CPU, reads lists as the reference does."""
    on_cpu.run(Program(**(dict(head_dim=64) | FORMS[name])))
