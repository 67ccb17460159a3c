# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradient of keys in listed blocks: fa4-compile, and fa4-sim with all checks, against float64. Tiles of keys find their queries in lists of
their own, which have blocks in any order, and numbers of no block."""

import fa4
import numpy as np
import pytest
from ml_dtypes import bfloat16

from fa4_testing import gpu
from fa4_testing.programs import on_cpu, random_programs
from fa4_testing.programs.block_lists import BlockLists
from fa4_testing.programs.forms import ALL, BR, NEAR, SCORE_MODS, TL
from fa4_testing.programs.gradient import Gradient, run
from fa4_testing.programs.program import Sizes
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIPS = "sm_90a", "sm_100a"
LISTS = BlockLists(128, 128)
FORMS = {
    "full": dict(sizes=Sizes(2, 200, 640, 1, 2), lists=LISTS),
    "causal": dict(sizes=Sizes(1, 400, 400, 2, 2), lists=BlockLists(128, 128, heads=2), mask=Mask.causal(BR), head_dim=128),
    "window": dict(sizes=Sizes(1, 300, 500, 1, 2), lists=LISTS, mask=Mask(TL, 60, 100), dlse=True),
    "large blocks": dict(sizes=Sizes(1, 700, 700, 1, 1), lists=BlockLists(256, 384)),
    "few entries": dict(sizes=Sizes(2, 300, 900, 1, 1), lists=BlockLists(128, 128, entries=2)),
    "missing lists": dict(sizes=Sizes(1, 500, 200, 1, 1), lists=BlockLists(128, 128, missing=2)),
    "one block": dict(sizes=Sizes(1, 100, 120, 1, 2), lists=LISTS, static=ALL | {"ListHeads", "ListBlocks", "ListEntries", "ListKeyBlocks", "ListQueries"}),
    "lengths": dict(sizes=Sizes(3, 200, 400, 1, 1), lists=LISTS, lengths=(0, 400, 77), mask=Mask.causal(BR)),
    "sinks": dict(sizes=Sizes(1, 200, 300, 1, 2), lists=LISTS, sinks="f32", dsinks=True),
    "packed": dict(sizes=Sizes(3, 200, 300, 1, 1), lists=LISTS, layout="thd", packed=((200, 300), (0, 5), (129, 64)), mask=Mask.causal(BR)),
    "bhsd, f16": dict(sizes=Sizes(1, 200, 300, 2, 1), lists=LISTS, layout="bhsd", dtype="f16"),
    "tensor": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=LISTS, kind="tensor"),
    "head dims 192, 128": dict(sizes=Sizes(1, 300, 260, 1, 2), lists=LISTS, head_dim=192, head_dim_v=128, mask=Mask.causal(BR)),
    "mask_mod": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=LISTS, visible=NEAR),
    "alibi": dict(sizes=Sizes(1, 200, 300, 1, 2), lists=LISTS, **SCORE_MODS["alibi"]),
    "softcap": dict(sizes=Sizes(1, 300, 300, 1, 1), lists=BlockLists(256, 128), wrt=(0,), **SCORE_MODS["softcap"]),
    "persistent": dict(sizes=Sizes(2, 400, 300, 2, 1), lists=LISTS, options=("--schedule=static",)),
}  # fmt: skip
# Forms of which one chip has a kernel: dq has one of its own there, and lists may have blocks of 64 queries or keys.
OF_HOPPER = {
    "deterministic": dict(sizes=Sizes(1, 300, 300, 1, 2), lists=LISTS, deterministic=True, mask=Mask.causal(BR)),
    "64 keys": dict(sizes=Sizes(2, 300, 300, 1, 2), lists=BlockLists(128, 64), mask=Mask.causal(BR), head_dim=128),
    "192 keys, alibi": dict(sizes=Sizes(1, 200, 500, 1, 2), lists=BlockLists(64, 192), **SCORE_MODS["alibi"]),
    "64 keys, softcap": dict(sizes=Sizes(1, 200, 300, 1, 1), lists=BlockLists(128, 64), wrt=(0,), **SCORE_MODS["softcap"]),
    "64 keys, packed": dict(sizes=Sizes(3, 200, 300, 1, 1), lists=BlockLists(128, 64), layout="thd", packed=((200, 300), (0, 5), (129, 64)), mask=Mask.causal(BR)),
    "64 queries": dict(sizes=Sizes(1, 300, 300, 1, 2), lists=BlockLists(64, 128), mask=Mask.causal(BR), head_dim=128),
}
CASES = {(name, chip): form for chip in CHIPS for name, form in FORMS.items()} | {(name, "sm_90a"): form for name, form in OF_HOPPER.items()}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name, chip", CASES)
def test_form(name, chip, tmp_path):
    """Gradients must be right under two schedules."""
    run(Gradient(**CASES[name, chip], chip=chip), tmp_path, seeds=(0, 1))


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
def test_derivatives_have_registers(tmp_path):
    """Beside a derivative, a row of scores fits into registers part by part: with the branch of a mask in the loop, 3 KB of them were spilled."""
    gradient, _ = random_programs.make(77, 268, gradient=True)
    assert gradient.lists and gradient.score
    run(gradient, tmp_path, ptxas=True)


@pytest.mark.skipif(not gpu.has_tools("fa4-opt"), reason="needs fa4-opt")
@pytest.mark.parametrize("name", ["full", "causal", "few entries", "missing lists", "lengths", "packed", "tensor"])
def test_on_cpu(name):
    """The definition of the gradient, as it is decomposed for a CPU, reads the block list as the reference does, and no query list."""
    on_cpu.run_gradient(Gradient(**(FORMS[name] | {"head_dim": 64})))


def _spec(**form):
    return fa4.sdpa(q="B Sq Hq 64", k="B Sk Hkv 64", block_list=(128, 128), **form)


def _call(**changed):
    rng = np.random.default_rng(3)
    q, out, dout = (rng.standard_normal((1, 200, 2, 64)).astype(bfloat16) for _ in range(3))
    k, v = (rng.standard_normal((1, 300, 1, 64)).astype(bfloat16) for _ in "kv")
    blocks = {"block_list": np.array([[[[2, 0], [1, 0]]]], np.int32), "block_counts": np.array([[[2, 1]]], np.int32)}
    queries = {"query_list": np.array([[[[0, 0], [1, 0], [0, 0]]]], np.int32), "query_counts": np.array([[[1, 1, 1]]], np.int32)}
    lse = np.zeros((1, 2, 200), np.float32)
    return {"q": q, "k": k, "v": v, "out": out, "dout": dout, "lse": lse} | blocks | queries | changed


def test_heads_of_lists():
    """Query heads that share keys cannot have lists of their own."""
    call = _call()
    lists = {name: np.repeat(call[name], 2, axis=1) for name in ("block_list", "block_counts", "query_list", "query_counts")}
    with pytest.raises(fa4.SimulationError, match="the number of key/value heads, Hkv, must be a multiple of that of the heads of 'query_list', ListHeads"):
        fa4.compile(_spec().backward()).simulate(**call | lists)


@pytest.mark.parametrize("empty", [dict(entries=0), dict(lists=0)], ids=["entries", "lists"])
def test_nothing_is_listed(empty):
    """No kernel has work where lists have no room: gradients must be 0."""
    lists, entries = empty.get("lists", 3), empty.get("entries", 2)
    call = _call(query_list=np.zeros((1, 1, lists, entries), np.int32), query_counts=np.full((1, 1, lists), entries, np.int32))
    got = fa4.compile(_spec().backward()).simulate(**call)
    assert not any(got[name].any() for name in ("dq", "dk", "dv"))


def test_time():
    """A call without lists has no time; operations are those of listed blocks."""
    made = fa4.compile(fa4.sdpa(q="B Sq 8 128", k="B Sk 2 128", block_list=(128, 128)).backward(), chip="sm_100a")
    with pytest.raises(fa4.SpecError, match="no block_list and no block_counts and no query_list and no query_counts"):
        made.time(B=1, Sq=1024, Sk=1024)
    lists = np.tile(np.arange(8, dtype=np.int32), (1, 2, 8, 1))
    counts = {name: np.full((1, 2, 8), 4, np.int32) for name in ("block_counts", "query_counts")}
    time = made.time(B=1, Sq=1024, Sk=1024, block_list=lists, query_list=lists, **counts)
    assert time.flops == 10 * 128 * 8 * 1024 * 128 * 4
