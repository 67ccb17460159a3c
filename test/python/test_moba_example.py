# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a step of training with selected blocks, docs/examples/blocks/moba.py."""

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.torch")

from fa4 import tools  # noqa: E402
from fa4_testing import examples  # noqa: E402

SCRIPT = tools.ROOT / "docs" / "examples" / "blocks" / "moba.py"


def test_the_script_runs():
    """The script compares a step with float64: it must end well, and say how far off the kernels are."""
    assert "3 of 5 blocks, in the simulator: largest errors of out, dq, dk and dv 0.0" in examples.run(SCRIPT)


def test_chosen_blocks():
    """Blocks that are chosen are in front of their queries, and each list has its own block first."""
    script = examples.load(SCRIPT)
    q, k = (torch.randn(2, 512, heads, script.D) for heads in (script.HEADS, script.KEY_HEADS))
    blocks, counts = script.choose_blocks(q, k)
    assert counts[0, 0].tolist() == [1, 2, 3, 3] and blocks.dtype == counts.dtype == torch.int32
    for row, count in zip(blocks.flatten(0, 1).unbind(1), counts.flatten(0, 1).unbind(1), strict=True):
        for entries, n in zip(row.tolist(), count.tolist()):
            own, *others = entries[:n]
            assert all(0 <= other < own for other in others) and len({own, *others}) == n
