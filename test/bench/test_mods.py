# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command bench/mods, which counts instructions a score: its quick forms meet their bars, and a bar that is missed, or a
form without a kernel, is said."""

import pytest

from fa4_bench import mods
from fa4_testing import gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile") or not gpu.find_ptxas() or not gpu.find_cuda_tool("nvdisasm"), reason="needs fa4-compile, ptxas, nvdisasm")


def test_quick(capsys):
    """The quick forms must meet their bars, and have a row each."""
    assert mods.main(["--quick"]) == 0
    said = capsys.readouterr()
    assert not said.err and said.out.count("\n") == 2 + 1 + len(mods.QUICK)
    assert all(f"| {name} |" in said.out for name in mods.QUICK)


def test_a_missed_bar_is_said(monkeypatch, capsys):
    """A form that takes more than its bar, and one that has no kernel, must each be a sentence, and the status 1."""
    bad = {
        "costly": mods._score(lambda s, b, h, i, j: s + mods.math.exp(s), 1),
        "refused": mods._score(lambda s, b, h, i, j, t: s + t[b, h, i, j, 0], None, t="f32 B H Sq Sk N"),
    }
    monkeypatch.setattr(mods, "MODS", bad)
    monkeypatch.setattr(mods, "CHIPS", ("sm_90a",))
    monkeypatch.setattr(mods, "HEAD_DIMS", (64,))
    assert mods.main([]) == 1
    said = capsys.readouterr()
    assert "mods: costly, sm_90a, head dim 64: " in said.err and "instructions a score, the bar is 1" in said.err
    assert "mods: refused, sm_90a, head dim 64: " in said.err and "no kernel" in said.out
