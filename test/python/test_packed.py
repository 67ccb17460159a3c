# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed sequences have nothing of each other: a sequence that is NaN as a whole, and NaN in rows of no sequence, leave
the results of all others as they are, in fa4-sim with all checks."""

import numpy as np
import pytest

from fa4_testing import gpu
from fa4_testing.programs.forms import BR, SCORE_MODS
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Program, Sizes
from fa4.reference import Mask

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
# (queries, keys); the second one becomes NaN, and the rows of the last one belong to no sequence.
SEQUENCES = ((100, 90), (70, 150), (1, 300), (140, 40), (30, 50))
SPOILED = (1, len(SEQUENCES) - 1)
FORMS = {
    "full": {},
    "causal": dict(mask=Mask.causal(BR), head_dim=128),
    "window, htd": dict(mask=Mask(BR, 40, 5), layout="htd"),
    "alibi": SCORE_MODS["alibi"],
    "sinks": dict(sinks="f32"),
    "hd 192, 128": dict(head_dim=192, head_dim_v=128),
}
FORMS = {name: dict(layout="thd", packed=SEQUENCES, sizes=Sizes(len(SEQUENCES), 140, 300, 1, 2)) | form for name, form in FORMS.items()}
CHIPS = ("sm_90a", "sm_100a")


def rows_of(form, name):
    """Returns of each sequence, whose rows an operand or a result has, the rows."""
    lengths = [keys if name in ("k", "v", "dk", "dv") else queries for queries, keys in SEQUENCES]
    ends = np.cumsum(lengths)
    return [slice(end - length, end) for end, length in zip(ends, lengths)]


def by_rows(form, name, array):
    """Returns a view of a matrix, or of a number for each row of a head, whose first dimension is that of rows."""
    return np.moveaxis(array, 1 if name == "lse" else form.layout.index("t"), 0)


def spoil(form, given):
    """Returns a copy in which some sequences are NaN as a whole."""
    given = {name: array.copy() for name, array in given.items()}
    for name in ("q", "k", "v", "out", "dout", "lse"):
        for sequence in SPOILED if name in given else ():
            by_rows(form, name, given[name])[rows_of(form, name)[sequence]] = np.nan
    return given


def without_last(given):
    """Returns the operands of the call in which the rows of the last sequence belong to none."""
    bounds = {name: np.append(given[name][:-1], given[name][-2]) for name in ("cu_seqlens_q", "cu_seqlens_k")}
    return given | bounds


def check_same(form, name, one, other, tolerance=0.0):
    for sequence, rows in enumerate(rows_of(form, name)):
        a, b = (by_rows(form, name, array)[rows].astype(np.float64) for array in (one, other))
        if sequence not in SPOILED:
            np.testing.assert_allclose(b, a, rtol=0, atol=tolerance, err_msg=f"{name} of sequence {sequence}")


@pytest.mark.turns(6)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FORMS)
def test_forward(name, chip, tmp_path):
    """Out and LSE of the other sequences must have the same bits."""
    form = Program(**FORMS[name], chip=chip)
    kernel = gpu.compile_any(form.mlir(), tmp_path / "kernel", chip, "ptx", ["--verify-ptx=false"])
    arrays = form.draw(0)
    given = without_last(dict(zip("qkv", arrays)) | form.arrays_beside() | form.vectors())
    dtypes = {"out": arrays[0].dtype, "lse": np.dtype(np.float32)}
    first, second = (gpu.simulate(kernel, x, dtypes, options=form.call(kernel)) for x in (given, spoil(form, given)))
    for result in form.results:
        check_same(form, result, first[result], second[result])


@pytest.mark.turns(6)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FORMS)
def test_gradient(name, chip, tmp_path):
    """Gradients of the other sequences must be the same, up to the order of sums."""
    form = Gradient(**FORMS[name], chip=chip)
    launches = form.compile(tmp_path / "kernel")
    given = without_last(form.draw_with(0))
    first, second = (form.simulate(launches, x) for x in (given, spoil(form, given)))
    for result in form.results:
        check_same(form, result, first[result], second[result], tolerance=0.02)
