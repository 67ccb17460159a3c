# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/versus-fa4: what it makes of the clock's answers, and a kernel of ours under the clock."""

import json
from dataclasses import replace

import pytest

from fa4_testing import gpu
from fa4_bench.timing import published, versus
from fa4_bench.timing.shapes import SHAPES, Shape, choose

CAUSAL = Shape(64, "causal", 4096)


def timed(cycles):
    return versus.Timed(cycles, 900.0, "MUFU", 0.8, 0.5, "machine code (ptxas 13.0.88)")


def table(**cycles):
    """{shape: (theirs, ours)}"""
    return {name.replace("_", "-"): {"theirs": vars(timed(a)), "ours": vars(timed(b))} for name, (a, b) in cycles.items()}


def test_shapes():
    """The compared shapes must have unique names, the FLOPs counted by hand, and the bars agreed on."""
    assert len(SHAPES) == 44 and len({s.name for s in SHAPES}) == 44
    assert CAUSAL.name == "hd64-causal-4k" and CAUSAL.launched.name == "fwd-hd64-causal-b8-h32-4k"
    assert CAUSAL.launched.flops == 2 * 8 * 32 * 4096**2 * 64
    assert replace(CAUSAL, length=512).name == "hd64-causal-512"
    wide = Shape(192, "full", 4096).launched
    assert wide.name == "fwd-hd192-128-full-b8-h16-4k" and wide.flops == 2 * 8 * 16 * 4096**2 * (192 + 128)
    judged = {(s.head_dim, s.mask): s.bar for s in SHAPES if s.bar}
    narrow = {(64, "full"): 1.0, (64, "causal"): 1.0, (128, "full"): 1.0, (128, "causal"): 1.0}
    assert judged == narrow | {(head_dim, mask): 1.05 for head_dim in (192, 256) for mask in ("full", "causal")}
    assert {s.length for s in choose("hd64", quick=True)} == {2048, 4096}


def test_what_is_missed_and_lost():
    """Made-up times are compared: missed bars and lost time must be found and shown on the page."""
    now = table(hd64_causal_4k=(100, 101), hd64_causal_8k=(100, 100), hd128_full_4k=(100, 99), hd64_full_512=(100, 150))
    assert versus.missed(now) == ["hd64-causal-4k"]
    assert not versus.lost(now, table(hd64_causal_4k=(100, 100)))
    assert versus.lost(now, table(hd64_causal_8k=(90, 100))) == []
    assert versus.lost(now, table(hd64_causal_4k=(1, 99), hd64_causal_8k=(1, 200))) == [("hd64-causal-4k", 99, 101)]
    page = versus.page_of(now, "0123456789ab")
    assert "| hd64-causal-4k | 900 | 900 | 1.010 **missed** | 50%, 50% | MUFU 80% | MUFU 80% |" in page
    assert "| hd64-causal-8k | 900 | 900 | 1.000 |" in page and "| hd128-full-4k | 900 | 900 | 0.990 |" in page
    assert "**4 shapes, 0.99 to 1.50 of FlashAttention-4's time; 1 of 3 bars are missed**" in page


def test_check(monkeypatch, tmp_path, capsys):
    """One of two shapes takes 3% more cycles than stored: the command must fail and name the shape."""
    stored = tmp_path / "versus-fa4.json"
    stored.write_text(json.dumps(table(hd64_causal_2k=(100, 100), hd64_causal_4k=(100, 100))))
    monkeypatch.setattr(versus, "STORED", stored)
    monkeypatch.setattr(versus, "time_ours", lambda shape, options: timed(103 if shape.length == 4096 else 100))
    assert versus.main(["--records", str(tmp_path), "--check", "--quick", "--shape", "hd64-causal"]) == 1
    said = capsys.readouterr().out
    assert "hd64-causal-4k: 103 cycles, 3.0% more than the 100 of versus-fa4.json" in said
    assert said.endswith("2 shapes, 1 have lost more than 1%\n")


def test_published():
    """The times as measured miss no bar. With 20% more time, the run and all ratios of the launch miss theirs."""
    cycles = {run.launched.name: run.seconds * run.ghz * 1e9 for run in published.FIXED}
    for each in published.RATIOS:
        lower = cycles.setdefault(each.lower.name, 1e6)
        cycles.setdefault(each.upper.name, lower * each.upper.flops / each.lower.flops / each.ratio)
    assert published.missed(cycles) == []
    assert {launch.name for launch in published.launches()} == set(cycles)
    slow = published.FIXED[0].launched.name
    assert published.missed(cycles | {slow: 1.2 * cycles[slow]}) == [slow]
    upper = published.RATIOS[0].upper.name
    assert published.missed(cycles | {upper: 1.2 * cycles[upper]}) == [published.RATIOS[0].name]
    assert "| fwd-hd128-full-b128-h4-4k | 3.433 | 3.433 | +0.0% | #2869 |" in "\n".join(published.lines(cycles))


def test_no_such_shape(tmp_path, capsys):
    """A shape that does not exist is asked for: the command must exit with status 2 and name the shape."""
    with pytest.raises(SystemExit, match="2"):
        versus.main(["--records", str(tmp_path), "--shape", "hd65"])
    assert "no shape matches 'hd65'" in capsys.readouterr().err


@pytest.mark.skipif(not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim")
def test_ours():
    """A kernel of ours runs under the clock: more work takes longer, and each unit is busy for a part of the time."""
    short, long = (versus.time_ours(replace(CAUSAL, length=length)) for length in (512, 1024))
    assert 0 < short.cycles < long.cycles and short.tflops < long.tflops
    assert 0 < long.tensor < long.busy <= 1
