# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with smaller tiles than there is room for, which regions take that need many registers: forward and gradient, in
fa4-sim with all checks."""

import json
import re

import pytest

from fa4_testing import gpu
from fa4_testing.programs import gradient, program
from fa4_testing.programs.forms import BR, PACKED, SCORE_MODS, TL
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Program, Sizes
from fa4_testing.programs.mods import S
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
CHIPS = "sm_90a", "sm_100a"
SIZES = Sizes(1, 140, 290, 1, 2)
FORMS = {
    "full": {},
    "causal": dict(mask=Mask.causal(BR)),
    "window": dict(mask=Mask(TL, 60, 10), head_dim=128),
    "softcap": SCORE_MODS["softcap"],
    "softcap, hd 128": dict(head_dim=128, **SCORE_MODS["softcap"]),
    "packed": PACKED["causal"],
}


def smaller(step):
    return (f"--smaller-tiles={step}",)


@pytest.mark.turns(6)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("name", FORMS)
def test_forward(name, step, chip, tmp_path):
    """The tiles of the forward kernel are smaller by one step, or by two: the results must be right."""
    form = dict(sizes=SIZES) | FORMS[name]
    program.run(Program(**form, chip=chip, options=smaller(step)), tmp_path)


# The gradient of this one has smaller tiles by one step alone.
FEW = "softcap, hd 128", "sm_90a"


@pytest.mark.turns(6)
@pytest.mark.parametrize("name, chip, step", [
    (name, chip, step) for name in FORMS for chip in CHIPS for step in (1, 2) if (name, chip) != FEW or step == 1
])  # fmt: skip
def test_gradient(name, chip, step, tmp_path):
    """The same for the gradient, whose dq has a kernel of its own then."""
    form = dict(sizes=SIZES) | FORMS[name]
    gradient.run(Gradient(**form, chip=chip, options=smaller(step)), tmp_path)


# Regions that spill beside the largest tiles: kind of kernel, chip, score.
ERF = ("math.erf", S)
SPILLING = {
    "forward, sm_90a": Program(score=ERF, lse=False, chip="sm_90a", sizes=SIZES),
    "forward, sm_100a": Program(score=("math.atan", S), lse=False, sizes=SIZES),
    "gradient, sm_90a": Gradient(score=ERF, chip="sm_90a", sizes=SIZES),
}


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
@pytest.mark.parametrize("name", SPILLING)
def test_region_that_spills(name, tmp_path):
    """The kernel of the largest tiles spills: the compiler must take smaller tiles, say so in the manifest, and be right."""
    form = SPILLING[name]
    compiled = gpu.compile_any(form.mlir(), tmp_path, form.chip, options=["--verify-ptx"])
    made = json.loads(compiled.manifest.read_text())
    assert made["comment"]["options"]["smaller_tiles"] > 0
    if isinstance(form, Gradient):
        given = form.draw_with(0)
        form.check(given, form.simulate(compiled, given))
        return
    arrays = form.draw(0)
    results = gpu.simulate(compiled, dict(zip("qkv", arrays)) | form.vectors(), {"out": arrays[0].dtype}, options=form.call(compiled))
    program.compare(form, [results], arrays)


@pytest.mark.skipif(not gpu.find_ptxas(), reason="needs ptxas")
def test_report(tmp_path):
    """The report must say that there are smaller tiles than there is room for."""
    form = SPILLING["forward, sm_100a"]
    compiled = gpu.compile_any(form.mlir(), tmp_path, form.chip, options=["--verify-ptx", "--report"])
    assert re.search(r"^smaller-tiles=[1-9]: with larger tiles, kernels spill$", compiled.report, re.MULTILINE)
