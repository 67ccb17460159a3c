# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of attn.sdpa that the support matrix says yes to and the grid does not
have, through fa4-compile, ptxas where it is found, and fa4-sim with all checks,
against float64. A run draws a sixth of the forms; FA4_MANY=1 tries all, of more sizes
under more schedules."""

import os
from dataclasses import replace

import fa4
import numpy as np
import pytest
from ml_dtypes import bfloat16

from fa4_testing import gpu
from fa4_testing.programs.forms import CASES, DEFAULT, NEAR, TL
from fa4_testing.programs.mods import S, capture
from fa4_testing.programs.program import Failed, Program, Sizes, run
from fa4_testing.programs.shrink import with_sizes
from fa4.reference import Mask

MANY = bool(os.environ.get("FA4_MANY"))

pytestmark = pytest.mark.skipif(
    not gpu.has_tools("fa4-sim", "fa4-compile"),
    reason="needs fa4-compile and fa4-sim",
)

# These are right, but ptxas spills registers: they divide for each column, or
# their scores are those of the columns alone, or terms and the bounds of a packed
# sequence are more numbers than a lane has registers for.
SPILL = {"mask-blocks", "score-a capture", "score-constant", "score-of the key only", "packed-alibi", "packed-table by sequence"}


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", CASES)
def test_form(name, tmp_path):
    """A form that the support matrix says yes to is compiled and simulated with all checks: it must be right and, where
    ptxas is asked, not spill."""
    program = Program(**(DEFAULT | CASES[name]))
    # ptxas takes longer than all else.
    chosen = MANY or list(CASES).index(name) % 4 == 0
    assemble = bool(gpu.find_ptxas()) and chosen and name not in SPILL
    run(program, tmp_path / "kernel", seeds=(0, 9 if MANY else 1), ptxas=assemble)


SIZES = [Sizes(2, 1, 1, 2, 2), Sizes(1, 129, 257), Sizes(1, 257, 129), Sizes(1, 384, 520), Sizes(1, 520, 3)]


@pytest.mark.many
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", gpu.DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_form_and_size(name, dtype, sizes, tmp_path):
    """A form of another type and size must be right."""
    program = with_sizes(replace(Program(**(DEFAULT | CASES[name])), dtype=dtype), sizes)
    run(program, tmp_path / "kernel", seeds=(0, 4))


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_out_of_f32_has_the_digits_of_f32(chip):
    """Results in f32 are not rounded to the inputs' type on their way."""
    rng = np.random.default_rng()
    spec = fa4.sdpa(q="B Sq 2 64", k="B Sk 2 64", out_dtype="f32")
    q, k = (rng.standard_normal((1, n, 2, 64), np.float32).astype(bfloat16) for n in (70, 90))
    out = fa4.compile(spec, chip=chip).simulate(q=q, k=k, v=k).out
    assert out.dtype == np.float32 and (out != out.astype(bfloat16).astype(np.float32)).mean() > 0.9


# ---------------------------------------------------------------------------
# That these can fail
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [
    dict(mask=Mask.causal(TL)), dict(scale=0.2), dict(score=("arith.addf", S, S)), dict(visible=NEAR),
], ids=str)  # fmt: skip
def test_other_meaning_fails(changes, tmp_path, monkeypatch):
    """The kernel of one form, compared with the reference of another, must fail."""
    program = Program(**DEFAULT)
    other = replace(program, **changes)
    monkeypatch.setattr(Program, "form", lambda _, real=Program.form: real(other))
    with pytest.raises(Failed, match="compare: out: .* elements are off"):
        run(program, tmp_path / "kernel")


def test_a_capture_is_passed(tmp_path):
    """The reference gets another number than the kernel: the comparison must fail."""
    form = dict(score=("arith.mulf", S, capture(0, "f32")))
    right = Program(**DEFAULT, **form, captures=(("f32", 0.5),))
    run(right, tmp_path / "kernel")
    with pytest.MonkeyPatch.context() as patch:
        other = replace(right, captures=(("f32", 2.0),))
        patch.setattr(Program, "form", lambda _, real=Program.form: real(other))
        with pytest.raises(Failed, match="compare"):
            run(right, tmp_path / "kernel")
