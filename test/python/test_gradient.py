# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attn.sdpa_backward` through fa4-compile's three kernels and fa4-sim with all checks,
against float64."""

import json

import numpy as np
import pytest

from fa4 import gpu
from fa4.cpu import CompileError
from fa4.programs.gradient import RESULTS, Gradient
from fa4.programs.program import Sizes
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim"
)

TL, BR = "top_left", "bottom_right"
HEADS = frozenset({"Hq", "Hkv"})
CASES = {
    "full": Gradient(sizes=Sizes(2, 200, 300, 2, 1)),
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
    "tensors": Gradient(kind="tensor", mask=Mask.causal(BR), sizes=Sizes(1, 136, 200, 1, 2)),
    "static tensors": Gradient(kind="tensor", sizes=Sizes(1, 128, 256, 1, 2), static=HEADS | {"B", "Sq", "Sk"}),
    "sm_103a": Gradient(chip="sm_103a", sizes=Sizes(1, 128, 200)),
}  # fmt: skip


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", CASES)
def test_gradient(name, tmp_path):
    CASES[name].run(tmp_path / "kernels", seeds=(0, 1))


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.turns(4)
@pytest.mark.parametrize("heads", [HEADS, frozenset()], ids=["static heads", "dynamic heads"])
@pytest.mark.parametrize("mask", [None, Mask.causal(BR), Mask(TL, 100, 0), Mask(BR, 64, None)], ids=str)
@pytest.mark.parametrize("head_dim", [32, 64, 96, 128])
def test_no_local_memory(head_dim, mask, heads, tmp_path):
    form = Gradient(head_dim=head_dim, mask=mask, sizes=Sizes(hkv=2, group=2), static=heads)
    for ptx in gpu.compile_launches(form.mlir(), tmp_path).ptx:
        said = gpu.assemble(ptx, form.chip)
        assert (said.spill_stores, said.spill_loads, said.stack) == (0, 0, 0), (ptx.name, said)


@pytest.mark.parametrize("schedule", ["grid", "lpt"])
def test_schedules(schedule, tmp_path):
    mask = Mask.causal(BR)
    Gradient(mask=mask, sizes=Sizes(1, 260, 260, 2, 2), options=(f"--schedule={schedule}",)).run(tmp_path)


@pytest.mark.parametrize("mask", [Mask.causal(TL), Mask(BR, 40, 0)], ids=str)
def test_another_mask_fails(mask, tmp_path):
    """The kernels of one mask, compared with the reference of another."""
    form = Gradient(mask=Mask.causal(BR), sizes=Sizes(1, 132, 200))
    other = Gradient(mask=mask, sizes=form.sizes)
    launches = gpu.compile_launches(form.mlir(), tmp_path)
    given = form.draw(np.random.default_rng(0))
    results = dict(zip(RESULTS, gpu.simulate(launches, given, RESULTS)))
    form.check(given, results)
    with pytest.raises(AssertionError, match="elements are off"):
        other.check(given, results)


def test_manifest(tmp_path):
    """One manifest has all launches in their order, and what only the kernels see."""
    launches = gpu.compile_launches(Gradient().mlir(), tmp_path)
    manifest = json.loads(launches.manifest.read_text())
    names = [f"gradient{part}_kernel" for part in ("_preprocess", "", "_postprocess")]
    assert [launch["entry"] for launch in manifest["launches"]] == names
    assert [path.stem for path in launches.ptx] == names
    roles = {name: tensor["role"] for name, tensor in manifest["tensors"].items()}
    assert {name for name, role in roles.items() if role == "workspace"} == {"shift", "delta", "sums"}
    assert {name for name, role in roles.items() if role == "out"} == set(RESULTS)
    assert manifest["tensors"]["sums"]["shape"] == ["B", "Sq", "Hq", "64"]
    assert manifest["tensors"]["sums"]["fill"] == "undefined"


def test_no_rows_of_other_sizes(tmp_path):
    """Rows of the LSE begin at multiples of 16 bytes, which the manifest asks for."""
    launches = gpu.compile_launches(Gradient().mlir(), tmp_path)
    given = Gradient(sizes=Sizes(1, 130, 64)).draw(np.random.default_rng(0))
    with pytest.raises(gpu.SimulationError, match="stride of dimension 1 of 'lse', in bytes, must be a multiple of 16"):
        gpu.simulate(launches, given, RESULTS)


def test_one_kernel_is_no_sequence(tmp_path):
    with pytest.raises(CompileError, match="no manifest of several launches"):
        gpu.compile_launches(gpu.Op(head_dim=64).mlir(), tmp_path)
