# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attn.sdpa_backward` through fa4-compile's three kernels and fa4-sim with all checks,
against float64."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest

from fa4_bench import gradient_grid
from fa4_testing import gpu, head_dims
from fa4_testing.cpu import CompileError
from fa4_testing.programs import mods, random_programs
from fa4_testing.programs.forms import ALL, BR, MASK_MODS, PACKED, SCORE_MODS, TL
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import I, J, S, capture, f32
from fa4_testing.programs.program import Sizes
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim"
)

# score * log(i - j + 1/2)
LOG_DISTANCE = (
    "arith.mulf", S,
    ("math.log", ("arith.addf", ("sitofp", ("arith.subi", ("to_i32", I), ("to_i32", J))), f32(0.5))),
)  # fmt: skip
HEADS = frozenset({"Hq", "Hkv"})
CASES = {
    "full": Gradient(sizes=Sizes(2, 200, 300, 2, 1)),
    "odd lengths": Gradient(sizes=Sizes(2, 131, 255, 1, 2), dlse=True),
    "one query": Gradient(sizes=Sizes(2, 1, 300, 1, 2), mask=Mask.causal(BR)),
    "one key": Gradient(sizes=Sizes(2, 130, 1, 1, 2), mask=Mask(TL, 50, 3)),
    "full, one block": Gradient(sizes=Sizes(1, 128, 128)),
    "full, hd 128": Gradient(head_dim=128, sizes=Sizes(1, 260, 140, 1, 2), static=HEADS),
    "causal": Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 300, 300, 1, 2)),
    "causal, more queries": Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 300, 40), static=HEADS),
    "causal, more keys": Gradient(mask=Mask.causal(TL), sizes=Sizes(1, 8, 300), dtype="f16", layout="bhsd"),
    "causal, hd 128": Gradient(head_dim=128, mask=Mask.causal(BR), sizes=Sizes(1, 260, 390)),
    "causal, hd 32": Gradient(head_dim=32, mask=Mask.causal(TL), sizes=Sizes(1, 140, 384, 2, 1)),
    "causal, hd 96": Gradient(head_dim=96, mask=Mask.causal(BR), sizes=Sizes(1, 140, 200, 1, 3)),
    "window": Gradient(mask=Mask(BR, 100, 0), sizes=Sizes(1, 392, 300)),
    "window of both sides": Gradient(mask=Mask(TL, 5, 130), sizes=Sizes(1, 200, 400, 1, 2), static=HEADS),
    "left window": Gradient(mask=Mask(BR, 64, None), sizes=Sizes(1, 396, 200)),
    "keys that no query sees": Gradient(mask=Mask(TL, None, -140), sizes=Sizes(1, 200, 300)),
    "queries that see no key": Gradient(mask=Mask(TL, 3, 0), sizes=Sizes(1, 400, 130)),
    "dlse": Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 200, 70), dlse=True),
    "negative scale": Gradient(scale=-0.25, mask=Mask.causal(BR), sizes=Sizes(1, 136, 200)),
    # LSEs of several hundred, and numbers of which one is far larger than the other.
    "large scores": Gradient(scale=20.0, mask=Mask.causal(BR), sizes=Sizes(1, 200, 330, 1, 2), dlse=True),
    "large scores, hd 128": Gradient(scale=20.0, head_dim=128, sizes=Sizes(1, 140, 260), dtype="f16"),
    "small scale": Gradient(scale=1e-4, sizes=Sizes(1, 140, 260), dlse=True),
    "tiny scale": Gradient(scale=1e-20, sizes=Sizes(1, 140, 260)),
    "tensors": Gradient(kind="tensor", mask=Mask.causal(BR), sizes=Sizes(1, 136, 200, 1, 2)),
    "lengths": Gradient(sizes=Sizes(3, 140, 300, 1, 2), lengths=(300, 0, 130)),
    "lengths, causal": Gradient(sizes=Sizes(3, 140, 300, 1, 2), lengths=(0, 300, 128), mask=Mask.causal(BR), sinks="bf16", dsinks=True),
    "lengths, in turns": Gradient(sizes=Sizes(2, 140, 300, 1, 2), lengths=(300, 129), mask=Mask(BR, 100, 0), deterministic=True),
    "lengths, pairs": Gradient(head_dim=128, sizes=Sizes(2, 140, 300, 1, 2), lengths=(70, 300), mask=Mask.causal(BR), options=("--pairs=on",)),
    "lengths, hd 192, 128": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(2, 140, 300, 1, 2), lengths=(30, 300), mask=Mask.causal(BR)),
    "lengths, documents": Gradient(sizes=Sizes(2, 140, 150, 1, 2), lengths=(97, 0), **MASK_MODS["documents"]),
    # Sequences one behind the other, some of them without queries or keys.
    "packed": Gradient(**PACKED["causal"], dlse=True),
    "packed, htd": Gradient(**PACKED["causal, htd"], dtype="f16"),
    "packed, lengths and sinks": Gradient(**PACKED["lengths, sinks"], dsinks=True),
    "packed, alibi": Gradient(**PACKED["alibi"]),
    "packed, tensors": Gradient(**PACKED["tensors"]),
    "packed, hd 192, 128": Gradient(head_dim=192, head_dim_v=128, **PACKED["causal"], deterministic=True),
    "packed, no rows": Gradient(**PACKED["no rows"]),
    "packed, nothing": Gradient(**PACKED["no queries, no keys"]),
    "packed, a captured number": Gradient(**PACKED["full"], score=("arith.mulf", S, capture(0, "f32")), captures=(("f32", 0.7),), wrt=(0,)),
    "branches": Gradient(sizes=Sizes(1, 140, 150, 1, 2), **SCORE_MODS["branches"]),
    "branches in a mask": Gradient(sizes=Sizes(1, 140, 150, 1, 2), **MASK_MODS["branches"]),
    "static tensors": Gradient(kind="tensor", sizes=Sizes(1, 128, 256, 1, 2), static=HEADS | {"B", "Sq", "Sk"}),
    "odd static lengths": Gradient(sizes=Sizes(1, 77, 133, 1, 2), static=HEADS | {"B", "Sq", "Sk"}),
    # One pass of the loop: the lanes of head dim 128 commit to shared memory what they have read from tensor memory.
    "one static block, hd 128": Gradient(head_dim=128, sizes=Sizes(1, 100, 200), static=ALL),
    "sm_103a": Gradient(chip="sm_103a", sizes=Sizes(1, 128, 200)),
    # Pairs of CTAs: an even and an odd number of tiles of keys, one tile only, other head dims.
    "pairs, hd 128": Gradient(head_dim=128, sizes=Sizes(2, 131, 300, 1, 2), options=("--pairs=on",)),
    "pairs, causal, hd 128": Gradient(head_dim=128, mask=Mask.causal(BR), sizes=Sizes(1, 260, 390), options=("--pairs=on",)),
    "pairs, causal, more queries": Gradient(head_dim=128, mask=Mask.causal(TL), sizes=Sizes(1, 500, 390), options=("--pairs=on",)),
    "pairs, window": Gradient(head_dim=128, mask=Mask(BR, 100, 0), sizes=Sizes(1, 392, 300), options=("--pairs=on",)),
    "pairs, one tile": Gradient(head_dim=128, sizes=Sizes(1, 300, 100), dtype="f16", options=("--pairs=on",)),
    "pairs, one static block": Gradient(head_dim=128, sizes=Sizes(1, 100, 256), static=ALL, options=("--pairs=on",)),
    # A CTA without keys in an op without masks.
    "pairs, odd static number": Gradient(head_dim=128, sizes=Sizes(1, 128, 384), static=ALL, options=("--pairs=on",)),
    "pairs, causal, group": Gradient(mask=Mask.causal(TL), sizes=Sizes(1, 300, 280, 1, 2), options=("--pairs=on",)),
    "pairs, window of both sides": Gradient(mask=Mask(TL, 5, 130), sizes=Sizes(1, 200, 400), options=("--pairs=on",)),
    "pairs, left window": Gradient(mask=Mask(BR, 64, None), sizes=Sizes(1, 396, 200), options=("--pairs=on",)),
    "pairs, keys that no query sees": Gradient(mask=Mask(TL, None, -140), sizes=Sizes(1, 200, 300), options=("--pairs=on",)),
    # CTAs, and clusters of two, that go on from work tile to work tile.
    "static": Gradient(mask=Mask.causal(BR), sizes=Sizes(2, 200, 300, 2, 1), options=("--schedule=static",)),
    "pairs, static": Gradient(mask=Mask.causal(TL), sizes=Sizes(2, 200, 600, 2, 1), options=("--pairs=on", "--schedule=static")),
    "pairs, clc": Gradient(head_dim=64, mask=Mask.causal(BR), sizes=Sizes(2, 300, 600, 2, 1), options=("--pairs=on", "--schedule=clc")),
    "pairs, head dims 96, 96, clc": Gradient(head_dim=96, sizes=Sizes(1, 260, 700, 1, 2), dtype="f16", options=("--pairs=on", "--schedule=clc")),
    # The window splits loops, and there are as many stages as the proof has to follow anywhere.
    "pairs, hd 32, window, clc": Gradient(head_dim=32, mask=Mask(BR, 64, None), sizes=Sizes(1, 260, 700, 1, 2), options=("--pairs=on", "--schedule=clc")),
    "pairs, head dims 192, 128, clc": Gradient(head_dim=192, head_dim_v=128, mask=Mask.causal(TL), sizes=Sizes(1, 390, 600, 2, 1), options=("--pairs=on", "--schedule=clc")),
    "pairs, hd 64": Gradient(head_dim=64, sizes=Sizes(1, 260, 300, 1, 2), options=("--pairs=on",)),
    # Work tiles in turn, whose dq lies beside P: the next tile's scores wait until dq has been added.
    "pairs, head dims 96, 128, static": Gradient(head_dim=96, head_dim_v=128, sizes=Sizes(1, 260, 600, 2, 1), options=("--pairs=on", "--schedule=static")),
    "pairs, hd 96": Gradient(head_dim=96, sizes=Sizes(1, 260, 300, 1, 2), layout="bhsd", options=("--pairs=on",)),
    "head dims 64, 96": Gradient(head_dim=64, head_dim_v=96, mask=Mask.causal(BR), sizes=Sizes(1, 140, 150, 1, 2)),
    "head dims 128, 48": Gradient(head_dim=128, head_dim_v=48, sizes=Sizes(1, 140, 150)),
    "head dim 80": Gradient(head_dim=80, mask=Mask.causal(TL), sizes=Sizes(1, 140, 150), dtype="f16"),
    # dq has a kernel of its own. With one tile of keys or of queries, one of the two CTAs of a pair has none.
    "hd 192, 128": Gradient(head_dim=192, head_dim_v=128, mask=Mask.causal(BR), sizes=Sizes(2, 300, 260, 1, 2)),
    "hd 192, 128, one tile": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 100, 70, 2, 1), dtype="f16", dlse=True),
    "hd 192, 128, alone": Gradient(head_dim=192, head_dim_v=128, mask=Mask(BR, 100, 0), sizes=Sizes(1, 300, 392), options=("--pairs=off",)),
    "hd 192, 128, no query sees keys": Gradient(head_dim=192, head_dim_v=128, mask=Mask(TL, None, -140), sizes=Sizes(1, 200, 300)),
    "hd 192, 128, static": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 77, 133, 1, 2), static=ALL, kind="tensor", sinks="f32", dsinks=True),
    # No loops: results lie where lanes have read scores and vectors.
    "hd 192, 128, one static block of keys": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 128, 111), static=ALL, scale=-0.11),
    "hd 192, 128, one static block of queries": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 64, 111), static=ALL, options=("--pairs=on",)),
    "hd 192, 128, strides": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 100, 140, 1, 2), strided=tuple((x, "dynamic") for x in ("q", "v", "dout", "lse", "dq", "dk"))),
    "hd 192, 128, sm_103a": Gradient(head_dim=192, head_dim_v=128, chip="sm_103a", mask=Mask.causal(TL), sizes=Sizes(1, 128, 200)),
    "hd 192, 128, slopes": Gradient(head_dim=192, head_dim_v=128, sizes=Sizes(1, 140, 150, 1, 2), wrt=(0,), mask=Mask.causal(TL), **SCORE_MODS["slopes"]),
    "hd 192, scalar": Gradient(head_dim=192, sizes=Sizes(1, 140, 150), wrt=(0,), **SCORE_MODS["softcap"]),
    "hd 192": Gradient(head_dim=192, mask=Mask(TL, 5, 130), sizes=Sizes(1, 200, 400), layout="bhsd"),
    "hd 144, 96": Gradient(head_dim=144, head_dim_v=96, mask=Mask.causal(BR), sizes=Sizes(1, 140, 150, 1, 2)),
    "hd 64, 160": Gradient(head_dim=64, head_dim_v=160, mask=Mask.causal(BR), sizes=Sizes(1, 140, 150, 1, 2), **MASK_MODS["blocks"]),
    "hd 256, 128": Gradient(head_dim=256, head_dim_v=128, mask=Mask.causal(BR), sizes=Sizes(1, 260, 150)),
    "dynamic strides": Gradient(sizes=Sizes(2, 100, 140, 1, 2), strided=tuple((x, "dynamic") for x in ("q", "v", "dout", "lse", "dq", "dk"))),
    "static strides": Gradient(sizes=Sizes(1, 77, 140, 1, 2), static=ALL, strided=tuple((x, "static") for x in ("k", "out", "lse", "dv"))),
    "sinks": Gradient(sizes=Sizes(2, 140, 150, 2, 3), sinks="f32", dsinks=True, mask=Mask.causal(BR)),
    "sinks of bf16, dlse": Gradient(sizes=Sizes(1, 331, 150, 1, 2), sinks="bf16", dsinks=True, dlse=True, kind="tensor"),
    "sinks of more heads than a tile": Gradient(head_dim=32, sizes=Sizes(1, 1, 3, 1, 130), sinks="f16", dsinks=True),
    "sinks of small gradients": Gradient(head_dim=32, sizes=Sizes(1, 1, 900, 1, 8), sinks="f16", dsinks=True),
    "sinks without a gradient": Gradient(sizes=Sizes(1, 60, 150, 1, 2), sinks="f32"),
    **{
        f"{kind}, {name}": Gradient(**(dict(sizes=Sizes(2, 150, 140, 1, 2)) | forms[name] | more))
        for kind, forms, name, more in (
            ("score_mod", SCORE_MODS, "softcap", {"mask": Mask.causal(BR)}),
            ("score_mod", SCORE_MODS, "alibi", {"kind": "tensor"}),
            ("score_mod", SCORE_MODS, "relu", {"head_dim": 128}),
            ("score_mod", SCORE_MODS, "exp", {"dtype": "f16"}),
            ("score_mod", SCORE_MODS, "hides keys", {}),
            ("score_mod", SCORE_MODS, "by batch and head", {"static": ALL}),
            ("score_mod", SCORE_MODS, "terms", {"head_dim": 128, "sinks": "f32", "dsinks": True, "wrt": (0,)}),
            ("score_mod", SCORE_MODS, "negated", {"mask": Mask.causal(BR), "dlse": True}),
            ("score_mod", SCORE_MODS, "absolute distance", {"deterministic": True}),
            ("score_mod", SCORE_MODS, "table", {"head_dim": 128}),
            ("score_mod", SCORE_MODS, "table by key", {"mask": Mask.causal(BR)}),
            ("score_mod", SCORE_MODS, "table by bucket", {"deterministic": True}),
            ("score_mod", SCORE_MODS, "table of a tensor", {}),
            ("mask_mod", MASK_MODS, "table by both", {}),
            ("mask_mod", MASK_MODS, "documents of tables", {"head_dim": 128}),
            ("mask_mod", MASK_MODS, "blocks", {}),
            ("mask_mod", MASK_MODS, "documents", {"sizes": Sizes(1, 700, 900, 1, 2)}),
            ("mask_mod", MASK_MODS, "causal documents", {"head_dim": 128}),
            ("mask_mod", MASK_MODS, "causal blocks", {"sizes": Sizes(1, 300, 400, 1, 2)}),
            ("mask_mod", MASK_MODS, "prefix", {"head_dim": 128}),
            ("mask_mod", MASK_MODS, "nothing", {"dlse": True}),
            ("mask_mod", MASK_MODS, "with score_mod", {}),
        )
    },
    # Gradients of captures; with several heads in a group, the main kernel reads the vector in its loop.
    "scalar": Gradient(sizes=Sizes(2, 140, 300, 2, 2), wrt=(0,), mask=Mask.causal(BR), **SCORE_MODS["softcap"]),
    "scalar, hd 128": Gradient(head_dim=128, sizes=Sizes(1, 300, 140), wrt=(1,), mask=Mask(BR, 100, 20), **SCORE_MODS["scaled by a capture"]),
    "scalar, head dims 80, 112": Gradient(head_dim=80, head_dim_v=112, sizes=Sizes(1, 140, 150, 1, 2), wrt=(0,), dtype="f16", dlse=True, **SCORE_MODS["softcap"]),
    "pairs, scalar": Gradient(sizes=Sizes(1, 300, 390, 1, 2), wrt=(0,), options=("--pairs=on",), mask=Mask.causal(TL), **SCORE_MODS["softcap"]),
    "pairs, caps": Gradient(head_dim=128, sizes=Sizes(1, 600, 150, 1, 2), wrt=(1,), options=("--pairs=on",), **SCORE_MODS["caps"]),
    "two scalars": Gradient(
        score=("arith.addf", ("arith.mulf", S, capture(0, "f32")), ("arith.mulf", capture(1, "f32"), ("math.tanh", S))), captures=(("f32", 0.9), ("f32", 0.4)),
        sizes=Sizes(1, 257, 150, 1, 2), wrt=(0, 1), kind="tensor", deterministic=True, sinks="f32", dsinks=True),
    "slopes": Gradient(sizes=Sizes(2, 140, 150, 1, 2), wrt=(0,), mask=Mask.causal(TL), **SCORE_MODS["slopes"]),
    "slopes, static heads": Gradient(head_dim=128, sizes=Sizes(1, 200, 150, 2, 1), static=HEADS, wrt=(0,), layout="sbhd", **SCORE_MODS["slopes"]),
    "caps": Gradient(sizes=Sizes(1, 1, 150, 1, 2), wrt=(1,), **SCORE_MODS["caps"]),
    "scalar, no key is seen": Gradient(head_dim=128, sizes=Sizes(1, 140, 150, 1, 2), wrt=(0,), visible=MASK_MODS["nothing"]["visible"], deterministic=True, **SCORE_MODS["softcap"]),
    "captured windows": Gradient(sizes=Sizes(2, 150, 140, 1, 2), **MASK_MODS["windows"]),
    # NaN, value and derivative, for keys and queries that a mask or the end of the tensor hides.
    "score_mod, NaN where hidden": Gradient(score=LOG_DISTANCE, mask=Mask.causal(TL), sizes=Sizes(1, 150, 140)),
}  # fmt: skip


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", CASES)
def test_gradient(name, tmp_path):
    """The kernels of a form are simulated with all checks: dq, dk, dv and the other results must be right."""
    CASES[name].run(tmp_path / "kernels", seeds=(0, 1))


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.turns(8)
@pytest.mark.parametrize("heads", [HEADS, frozenset()], ids=["static heads", "dynamic heads"])
@pytest.mark.parametrize("mask", [None, Mask.causal(BR), Mask(TL, 100, 0), Mask(BR, 64, None)], ids=str)
@pytest.mark.parametrize("head_dim", [32, 64, 96, 128])
def test_no_local_memory(head_dim, mask, heads, tmp_path):
    """A gradient's kernels are assembled: ptxas must need no local memory for them."""
    form = Gradient(head_dim=head_dim, mask=mask, sizes=Sizes(hkv=2, group=2), static=heads)
    check_no_local_memory(form, tmp_path)


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.parametrize("dims", [(128, 128), (128, 64), (96, 112), (192, 128)], ids=str)
def test_no_local_memory_of_one_block(dims, tmp_path):
    """With one block of queries there is no loop, and one role stores all three results: it must not use local
    memory."""
    check_no_local_memory(Gradient(head_dim=dims[0], head_dim_v=dims[1], sizes=Sizes(1, 100, 200), static=ALL), tmp_path)


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.turns(4)
@pytest.mark.parametrize("mask", [None, Mask.causal(BR), Mask(TL, 100, 0)], ids=str)
@pytest.mark.parametrize("dims", head_dims.GRADIENTS, ids=str)
def test_no_local_memory_of_wide_heads(dims, mask, tmp_path):
    """A gradient's kernels with head dims above 128 are assembled: ptxas must need no local memory for them."""
    check_no_local_memory(Gradient(head_dim=dims[0], head_dim_v=dims[1], mask=mask, static=frozenset()), tmp_path)


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.parametrize("name", ["softcap", "relu"])
def test_no_local_memory_of_wide_mods(name, tmp_path):
    """A wide mask and derivative have more conditions than a thread has predicates: the kernel must not use local
    memory for them."""
    check_no_local_memory(Gradient(**dict(head_dim=192, head_dim_v=128, static=frozenset()) | SCORE_MODS[name] | dict(mask=Mask.causal(BR))), tmp_path)


def check_no_local_memory(form, folder):
    for ptx in gpu.compile_launches(form.mlir(), folder, options=["--allow-spills"]).ptx:
        said = gpu.assemble(ptx, form.chip)
        assert (said.spill_stores, said.spill_loads, said.stack) == (0, 0, 0), (ptx.name, said)


@pytest.mark.parametrize("schedule", ["grid", "lpt"])
def test_schedules(schedule, tmp_path):
    """A gradient whose work tiles have a given order must be right."""
    mask = Mask.causal(BR)
    Gradient(mask=mask, sizes=Sizes(1, 260, 260, 2, 2), options=(f"--schedule={schedule}",)).run(tmp_path)


@pytest.mark.parametrize("mask", [Mask.causal(TL), Mask(BR, 40, 0)], ids=str)
def test_another_mask_fails(mask, tmp_path):
    """The kernels of one mask, compared with the reference of another, must fail."""
    form = Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 132, 200))
    other = Gradient(mask=mask, sizes=form.sizes)
    launches = gpu.compile_launches(form.mlir(), tmp_path)
    given = form.draw(np.random.default_rng(0))
    results = form.simulate(launches, given)
    form.check(given, results)
    with pytest.raises(AssertionError, match="elements are off"):
        other.check(given, results)


def test_manifest(tmp_path):
    """One manifest has all launches of the gradient in their order, and the workspaces that only the kernels see."""
    launches = gpu.compile_launches(Gradient().mlir(), tmp_path)
    manifest = json.loads(launches.manifest.read_text())
    names = [f"gradient{part}_kernel" for part in ("_preprocess", "", "_postprocess")]
    assert [launch["entry"] for launch in manifest["launches"]] == names
    assert [path.stem for path in launches.ptx] == names
    roles = {name: tensor["role"] for name, tensor in manifest["tensors"].items()}
    assert {name for name, role in roles.items() if role == "workspace"} == {"shift", "delta", "sums"}
    assert {name for name, role in roles.items() if role == "out"} == {"dq", "dk", "dv"}
    assert manifest["tensors"]["sums"]["shape"] == ["B", "Sq", "Hq", "64"]
    assert manifest["tensors"]["sums"]["fill"] == "undefined"
    # Rows have room for whole blocks of queries, so that the copy engine can read each of them.
    assert manifest["tensors"]["delta"]["shape"] == ["B", "Hq", "align(Sq, 128)"]
    assert set(manifest["sizes"]) == {"B", "Sq", "Sk", "Hq", "Hkv", "sm_count"}


def test_one_kernel_is_no_sequence(tmp_path):
    """Forward attention is one kernel: there must be no manifest of several launches."""
    with pytest.raises(CompileError, match="no manifest of several launches"):
        gpu.compile_launches(gpu.Op(head_dim=64).mlir(), tmp_path)


@pytest.mark.turns(2)
@pytest.mark.parametrize("number", range(8))
def test_random_gradient(number, tmp_path):
    """A gradient of a random form is compiled and simulated with all checks: it must be right."""
    result = random_programs.run_number(11, number, tmp_path, ptxas=False, gradient=True)
    assert not result.error


def test_capture_at_a_kink(tmp_path):
    """A score is so close to a kink that the differences by the capture lie on both sides: the check must allow for
    it."""
    result = random_programs.run_number(0, 623, tmp_path, ptxas=False, gradient=True)
    assert not result.error


def test_quick_grid():
    """The quick grid has, for any two parameters, each pair of their values in a case."""
    cases = gradient_grid.quick_cases()
    for one, other in (("form", "mask"), ("head_dim", "form"), ("heads", "pair"), ("layout", "schedule")):
        of_both = {(getattr(case, one), getattr(case, other)) for case in cases}
        of_each = [{getattr(case, name) for case in cases} for name in (one, other)]
        assert of_both == set(itertools.product(*of_each))
    assert set(gradient_grid.PAIRS) == {case.pair for case in gradient_grid.full_cases()}


def test_pairs_of_the_grid():
    """The grid of pairs has all masks and forms, the head dims that MMAs of pairs have, and the schedules that fit the
    chip."""
    quick, full = (of(gradient_grid.PARAMETERS | gradient_grid.PAIRED, pairs=True) for of in (gradient_grid.quick_cases, gradient_grid.full_cases))
    assert set(quick) < set(full) and all("--pairs=on" in case.op.options for case in full)
    assert {(case.mask, case.deterministic) for case in quick} == set(itertools.product(gradient_grid.MASKS, (False, True)))
    # With `clc` work tiles have no order in which they could take turns.
    every = set(itertools.product(gpu.SCHEDULES, (False, True))) - {("clc", True)}
    assert {(case.schedule, case.deterministic) for case in quick} == {(case.schedule, case.deterministic) for case in full} == every
    assert {case.head_dim for case in full} == set(gradient_grid.HEAD_DIMS) - {"80-112"}
    assert {case.mask for case in quick} == set(gradient_grid.MASKS) and str(quick[0]).endswith("-pairs")
    # Each with each head dim but for those of 128, which have no memory for several work tiles.
    every = set(itertools.product(gradient_grid.PAIRED["head_dim"], gpu.SCHEDULES)) - {("128", "static"), ("128", "clc")}
    assert {(case.head_dim, case.schedule) for case in quick} == {(case.head_dim, case.schedule) for case in full} == every


@pytest.mark.parametrize("message, exists", [
    ("error: 'tile.kernel' op needs 576 columns of tensor memory; sm_100a has 512", False),
    ("error: 'tile.kernel' op needs 345440 bytes of shared memory; sm_100a has 232448", False),
    ("error: 'tile.await_turn' op takes turns that are not proven to come: with the schedule 'clc' the hardware", False),
    ("error: no such thing", True),
])  # fmt: skip
def test_only_what_has_no_kernel_is_left_out(message, exists, monkeypatch):
    """The grid leaves out a case only if the compiler says that it has no kernel; any other message is a failure."""
    def refuse(*arguments):
        raise CompileError(message)

    monkeypatch.setattr(gpu, "run_tool", refuse)
    assert gradient_grid.exists.__wrapped__("64", "static") == exists


def test_wide_of_the_grid():
    """The wide grid has all masks and forms with head dims above 128."""
    quick, full = (of(gradient_grid.PARAMETERS | gradient_grid.WIDE) for of in (gradient_grid.quick_cases, gradient_grid.full_cases))
    assert set(quick) < set(full) and {case.head_dim for case in quick} == set(gradient_grid.WIDE_HEAD_DIMS)
    assert all(max(case.gradient.head_dim, case.gradient.head_dim_v) > 128 for case in full)
    assert {case.mask for case in quick} == set(gradient_grid.MASKS) and {case.form for case in quick} == set(gradient_grid.FORMS)


@pytest.mark.turns(30)
@pytest.mark.parametrize("case", gradient_grid.quick_cases(), ids=str)
def test_case_of_the_grid(case, tmp_path):
    """A case of the gradient's quick grid must be right."""
    gradient_grid.run_case(case, case.op.compile(tmp_path))


def test_derivatives_of_the_reference():
    """The derivatives of random regions equal central differences, except where a kink lies between the two points."""
    for number in range(60):
        rng = np.random.default_rng([9, number])
        grammar = random_programs.Grammar(rng, ())
        expression = random_programs.draw_score(grammar)
        i, j = np.arange(20)[:, None], np.arange(30)[None, :]
        score = rng.standard_normal((20, 30))

        def value(s):
            return mods.evaluate(expression, dict(s=s, b=1, h=2, i=i, j=j, captures=[]), np.float64)

        with np.errstate(invalid="ignore"):
            slope = (value(score + 1e-6) - value(score - 1e-6)) / 2e-6
        ours = mods.differentiate(expression, dict(s=score, b=1, h=2, i=i, j=j, captures=[]))
        right = np.isclose(ours, slope, rtol=1e-4, atol=1e-4) | ~np.isfinite(slope)
        assert right.mean() > 0.99, expression


# -- deterministic -----------------------------------------------------------

RESULTS = ("dq", "dk", "dv")

IN_TURN = {
    "full": Gradient(sizes=Sizes(1, 392, 512), static=HEADS, deterministic=True),
    "full, grid": Gradient(sizes=Sizes(2, 200, 300, 2, 1), deterministic=True, options=("--schedule=grid",)),
    "causal": Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 384, 384, 1, 2), deterministic=True),
    "causal, hd 128": Gradient(head_dim=128, mask=Mask.causal(TL), sizes=Sizes(1, 260, 390), deterministic=True),
    "window": Gradient(mask=Mask(TL, 100, 0), sizes=Sizes(1, 400, 700, 1, 2), static=HEADS, deterministic=True),
    "left window": Gradient(mask=Mask(BR, 64, None), sizes=Sizes(1, 396, 600), deterministic=True),
    "keys that no query sees": Gradient(mask=Mask(TL, None, -140), sizes=Sizes(1, 300, 600), deterministic=True),
    "tensors": Gradient(kind="tensor", mask=Mask.causal(BR), sizes=Sizes(1, 136, 300), deterministic=True),
    # Pairs of CTAs take turns, the last one perhaps with one work tile.
    "pairs, full": Gradient(head_dim=128, sizes=Sizes(1, 300, 700), deterministic=True, options=("--pairs=on",)),
    "pairs, causal, grid": Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 390, 600, 1, 2), deterministic=True, options=("--pairs=on", "--schedule=grid")),
    "pairs, causal, hd 128": Gradient(head_dim=128, mask=Mask.causal(TL), sizes=Sizes(2, 500, 600), deterministic=True, options=("--pairs=on",)),
    "pairs, window": Gradient(mask=Mask(BR, 150, 20), sizes=Sizes(1, 640, 900, 1, 2), deterministic=True, options=("--pairs=on",)),
    "pairs, static": Gradient(mask=Mask.causal(BR), sizes=Sizes(2, 300, 600, 2, 1), deterministic=True, options=("--pairs=on", "--schedule=static")),
    "pairs, keys that no query sees": Gradient(head_dim=128, mask=Mask(TL, None, -140), sizes=Sizes(1, 300, 600), deterministic=True, options=("--pairs=on",)),
}  # fmt: skip


def bits(launches, given, seed, *options):
    results = gpu.simulate(launches, given, RESULTS, seeds=(seed, seed), check=not seed, options=options)
    return [array.view(np.uint16).tolist() for array in results]


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", IN_TURN)
def test_deterministic(name, tmp_path):
    """A deterministic gradient has the same bits in any order of asynchronous work, with any number of CTAs at a
    time."""
    form = IN_TURN[name]
    launches = gpu.compile_launches(form.mlir(), tmp_path, options=form.options)
    given = form.draw(np.random.default_rng(0))
    form.check(given, dict(zip(RESULTS, gpu.simulate(launches, given, RESULTS))))
    first = bits(launches, given, 0, "--threads", "1")
    for seed, options in enumerate([("--threads", "3"), ("--policy=lazy",), ("--threads", "8", "--policy=eager")], 1):
        assert bits(launches, given, seed, *options) == first


def test_order_depends_on_timing_without_turns(tmp_path):
    """Work tiles add to dq in any order: some run must have other bits of dq, and none may have other bits of dk and
    dv."""
    form = dataclasses.replace(IN_TURN["full"], deterministic=False)
    launches = gpu.compile_launches(form.mlir(), tmp_path)
    given = form.draw(np.random.default_rng(0))
    runs = [bits(launches, given, seed, "--policy=random") for seed in range(1, 9)]
    assert any(run[0] != runs[0][0] for run in runs)
    assert all(run[1:] == runs[0][1:] for run in runs)


WAIT = r"\n[^\n]*ld\.acquire\.gpu\.global[^\n]*\n[^\n]*setp\.ne[^\n]*\n[^\n]*bra[^\n]*"
COMPLETE = r"(cp\.async\.bulk\.wait_group)(\s+)0;(?=\s+mov[^;]*;\s+//[^;]*red\.release)"
UNORDERED = "unordered-reduction"
# The counter itself, which CTAs raise and read.
NARROW = "race.*a wider scope is missing"
FAULTS = {
    "no wait": (WAIT, "", UNORDERED),
    "a wait of CTA scope": (r"ld\.acquire\.gpu", "ld.acquire.cta", NARROW),
    "a relaxed wait": (r"ld\.acquire\.gpu", "ld.relaxed.gpu", UNORDERED),
    "for another number": (r"(ld\.acquire[^;]*;\s+)setp\.ne\.b32", r"\1setp.gt.s32", UNORDERED),
    "not passed on": (r"\n[^\n]*red\.release\.gpu[^\n]*", "", "instruction-limit|hang"),
    "passed on twice": (r"(\n[^\n]*red\.release\.gpu[^\n]*)", r"\1\1", "instruction-limit|hang"),
    "relaxed": (r"red\.release\.gpu", "red.relaxed.gpu", UNORDERED),
    "of CTA scope": (r"red\.release\.gpu", "red.release.cta", NARROW),
    "when it has been read": (COMPLETE, r"\1.read\g<2>0;", UNORDERED),
    "before it is complete": (COMPLETE, r"\1\g<2>1;", UNORDERED),
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_turns_are_found(fault, tmp_path):
    """The PTX of the turns is given one fault in each run: the simulator must find it."""
    form = Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 256, 256), static=HEADS, deterministic=True)
    launches = gpu.compile_launches(form.mlir(), tmp_path)
    pattern, text, finding = FAULTS[fault]
    main = tmp_path / "gradient_kernel.ptx"
    faulty, count = re.subn(pattern, text, main.read_text(), count=1)
    assert count == 1
    main.write_text(faulty)
    given = form.draw(np.random.default_rng(0))
    with pytest.raises(gpu.SimulationError, match=finding):
        limit = "300000" if "limit" in finding else "20000000"
        gpu.simulate(launches, given, RESULTS, seeds=(0, 3), options=["--threads", "2", "--max-instructions", limit])


@pytest.mark.turns(2)
@pytest.mark.parametrize("keys, parts, options", [(256, 4, ("--pairs=off",)), (512, 8, ("--pairs=on",))], ids=["alone", "pairs"])
@pytest.mark.parametrize("fault", [WAIT, r"\n[^\n]*cp\.async\.bulk\.wait_group\s+1;(?=[^}]*?red\.release)"], ids=["no wait", "not complete"])
def test_faults_of_parts_are_found(fault, keys, parts, options, tmp_path):
    """Sums of 128 columns are added in parts, each in a turn of its own; a pair adds its two halves in parts. A turn
    without its wait, or passed on before its sum is complete, must be found."""
    form = Gradient(head_dim=128, mask=Mask.causal(BR), sizes=Sizes(1, keys, keys), static=HEADS, deterministic=True)
    launches = gpu.compile_launches(form.mlir(), tmp_path, options=options)
    main = tmp_path / "gradient_kernel.ptx"
    text = main.read_text()
    assert len(re.findall(WAIT, text)) == parts
    faulty, count = re.subn(fault, "", text, count=1)
    assert count == 1
    main.write_text(faulty)
    with pytest.raises(gpu.SimulationError, match=UNORDERED):
        gpu.simulate(launches, form.draw(np.random.default_rng(0)), RESULTS, seeds=(0, 3), options=["--threads", "2"])


@pytest.mark.parametrize("kernel", ["preprocess_kernel", "kernel", "postprocess_kernel"])
def test_launches_wait_for_earlier_ones(kernel, tmp_path):
    """All launches may begin early: one that does not wait is found at its first access to global memory."""
    form = Gradient(sizes=Sizes(1, 128, 128), static=HEADS)
    launches = gpu.compile_launches(form.mlir(), tmp_path)
    given = form.draw(np.random.default_rng(0))
    path = tmp_path / f"gradient_{kernel}.ptx"
    faulty, count = re.subn(r"\n[^\n]*griddepcontrol\.wait;", "", path.read_text())
    assert count == 1
    path.write_text(faulty)
    with pytest.raises(gpu.SimulationError, match="launch-not-awaited"):
        gpu.simulate(launches, given, RESULTS, seeds=(0, 0))


def test_order_of_clc_is_not_known(tmp_path):
    """A deterministic gradient is asked for with the schedule clc: the compiler must refuse it, because nobody knows
    the order of its work tiles."""
    form = dataclasses.replace(IN_TURN["causal"], options=("--schedule=clc",))
    with pytest.raises(CompileError, match="hands out work tiles in an order that is not known"):
        gpu.compile_launches(form.mlir(), tmp_path, options=form.options)
