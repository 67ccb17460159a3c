# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quick section of the correctness grid, on fa4-compile's kernels. A run draws a sixth
of the ops; bench/grid --quick takes all of them, and bench/grid the whole grid."""

import functools

import pytest

from fa4_testing import gpu, grid

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("grid")


@functools.cache
def compiled(op, folder):
    return gpu.compile(op.mlir(), folder / op.name, options=op.options)


def of_kernels(cases):
    """A test of each case; those of one kernel are run by one worker, which compiles it once."""
    params = [pytest.param(case, id=str(case), marks=pytest.mark.xdist_group(case.op.name)) for case in cases]
    return pytest.mark.parametrize("case", params)


@pytest.mark.turns(6)
@of_kernels(grid.quick_cases())
def test_quick(case, folder):
    """A case of the quick grid is compiled and simulated with two schedules: its results must be right."""
    grid.run_case(case, compiled(case.op, folder), schedules=2, timeout=300)


# Numbers of query tiles of 256 that are odd, so that a CTA has none; one key; the end of a block of keys; groups of heads.
PAIRED = [
    grid.Case(128, "full", "bf16", "bshd", (640, 128), "gqa4", "normal", pairs=True),
    grid.Case(128, "full", "bf16", "bshd", (239, 1), "mha", "normal", pairs=True),
    grid.Case(128, "full", "f16", "bhsd", (384, 256), "mqa", "rising", pairs=True),
    grid.Case(64, "full", "bf16", "bshd", (113, 203), "mqa", "falling", pairs=True),
    grid.Case(64, "full", "f16", "bshd", (1024, 1023), "gqa4", "normal", "static", pairs=True),
    grid.Case(128, "full", "bf16", "bhsd", (640, 128), "mqa", "rising", "static", pairs=True),
    grid.Case(128, "full", "bf16", "bshd", (1023, 1024), "mha", "falling", "lpt", pairs=True),
    grid.Case(192, "full", "bf16", "bshd", (640, 128), "mqa", "rising", pairs=True),
    grid.Case(256, "full", "f16", "bhsd", (113, 203), "mha", "normal", "static", pairs=True),
    grid.Case(256, "causal", "bf16", "bshd", (640, 128), "gqa4", "rising", "lpt", pairs=True),
    grid.Case(128, "causal", "bf16", "bhsd", (384, 256), "mqa", "falling", pairs=True),
    grid.Case(64, "causal", "f16", "bhsd", (640, 128), "mha", "normal", "clc", pairs=True),
    grid.Case(128, "full", "bf16", "bshd", (1023, 1024), "gqa4", "normal", "clc", pairs=True),
    grid.Case(192, "causal", "bf16", "bshd", (799, 3), "mqa", "rising", "clc", pairs=True),
    grid.Case(256, "full", "f16", "bshd", (384, 256), "mha", "falling", "clc", pairs=True),
]


# One query tile and two; blocks of keys that are not whole; groups of heads; CTAs with several work tiles.
WIDE = [
    grid.Case(192, "full", "bf16", "bshd", (384, 256), "mqa", "rising", "static"),
    grid.Case(192, "causal", "f16", "bhsd", (113, 203), "gqa4", "normal", "clc"),
    grid.Case(256, "full", "f16", "bhsd", (113, 211), "mha", "falling", "static"),
    grid.Case(256, "causal", "bf16", "bshd", (239, 1), "gqa4", "normal", "lpt"),
]


@pytest.mark.turns(2)
@of_kernels([*PAIRED, *WIDE])
def test_pairs_and_wide(case, folder):
    """The ops that need pairs or wide heads are right (bench/grid --pairs and --wide try all of them)."""
    grid.run_case(case, compiled(case.op, folder), schedules=2, timeout=300)


def test_pairs_are_of_the_grid():
    """The cases of pairs above are cases of bench/grid --pairs, except the wide ones."""
    full = grid.full_cases(grid.PARAMETERS | grid.PAIRED, pairs=True)
    assert {case for case in PAIRED if case.head_dim in grid.HEAD_DIMS} < set(full)
