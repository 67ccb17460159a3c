# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/timing --effects and bench/versus-fa4 --sensitivity. Given made-up times, they must print the right rows and exit
status; one effect (a PTX program with and without it) is also run under the simulator's clock."""

import re
from pathlib import Path

import pytest

from fa4_testing import gpu
from fa4_bench.timing import __main__ as timing
from fa4_bench.timing import effect_launches, effects, published, softness, versus
from fa4_bench.timing.effects import Row

PTX = """	setmaxnreg.dec.sync.aligned.u32 	64;
	setmaxnreg.inc.sync.aligned.u32 	184;
	setmaxnreg.dec.sync.aligned.u32 	64;
	setmaxnreg.dec.sync.aligned.u32 	80;
"""


def test_budgets():
    """The register budgets of the roles must be read from PTX and replaced there. PTX with three different lower
    budgets must be refused."""
    assert effects.budgets(PTX) == (184, 80, 64)
    changed = effects.change_budgets(PTX, 176, 88)
    assert effects.budgets(changed) == (176, 88, 64)
    assert changed.replace("176", "184").replace("88", "80") == PTX
    # A correction that gives up less than the others do.
    assert "inc.sync.aligned.u32 	136" in effects.change_budgets(PTX, 136, 64)
    with pytest.raises(ValueError, match=r"takes \[184\] and gives up \[64\]; expected one number and two"):
        effects.budgets(PTX.replace("80", "64"))


@pytest.mark.parametrize("cycles, is_met", [(1260, True), (1100, False), (1600, False), (990, False), (1140, True)])
def test_spills(cycles, is_met):
    """Made-up cycles with and without spills are judged: the bar must be met if spills cost half to twice what is
    expected."""
    assert effects.judge_spills([Row("with", 1000), Row("without", cycles)]).is_met == is_met


@pytest.mark.parametrize("cycles, is_met", [
    ([120, 100, 105, 130], True),
    ([120, 100.9, 100, 130], True),
    ([120, 102, 100, 130], False),
    ([99, 100, 105, 130], False),
    ([120, 100, 99.5, 99.8], False),
])  # fmt: skip
def test_polynomial(cycles, is_met):
    """Made-up cycles for four shares of polynomial exponentials are judged: the message must name the fastest share,
    and the bar be met only if FlashAttention-4's share is nearly as fast."""
    result = effects.judge_polynomial((0, 0.125, 0.25, 0.375), cycles)
    assert result.is_met == is_met
    assert result.said.startswith(f"the best share is {(0, 12.5, 25, 37.5)[cycles.index(min(cycles))]:.1f}%")


@pytest.mark.parametrize("clean, spilled, is_met", [
    ([100, 101], [100.5, 120], True),
    ([100, 105], [107, 120], False),
    ([100, 101], [99, 120], False),
    ([100, 101], [102, 105], False),
    ([100, 101], [], False),
])  # fmt: skip
def test_starvation(clean, spilled, is_met):
    """Made-up cycles of variants are judged: the bar must be met if those without spills differ little and those with
    spills are slower."""
    assert effects.judge_starvation([], clean, spilled).is_met == is_met


def stand_in_time(*words):
    """Two tiles of queries take 1.5 times as long as one, and rescaling at once 1% longer."""
    text = " ".join(map(str, words))
    cycles = 150 if "-q256" in text else 101 if "threshold-0" in text else 100
    return versus.Timed(cycles, 900.0, "MUFU", 0.8, 0.5, "machine code (ptxas 13.0.88)")


def test_table(tmp_path, monkeypatch, capsys):
    """Effects without a record are not run, and the table says what they need."""
    monkeypatch.setattr(effects.Lab, "compile", lambda lab, head_dim, *options: Path("-".join([str(head_dim), *options]).replace("=", "-")))
    for launched in effect_launches.TILES["hd64-full"] + effect_launches.TILES["hd128-causal"]:
        (tmp_path / launched.name).mkdir()
        (tmp_path / launched.name / "stamp").touch()
    monkeypatch.setattr(timing, "blackwell_records", lambda: tmp_path)
    monkeypatch.setattr(versus, "time_launch", stand_in_time)
    monkeypatch.setattr("sys.argv", ["timing", "--effects", "--only", "t"])
    assert timing.main() == 1
    said = capsys.readouterr()
    assert "hd64: rescaling at once takes +1.0%; hd128: rescaling at once takes +1.0% | met |" in said.out
    assert "hd64-full: two tiles compute 1.33 times as many rows a cycle" in said.out
    assert "| not run: no record of FlashAttention-4's launch in" in said.out
    assert "| hd64-full, two tiles | 150 |  |" in said.out
    # All shares of the polynomial take equally long here.
    assert "timing: share of the polynomial, fa4, hd64: missed" in said.err
    assert "timing: share of the polynomial, FlashAttention-4, hd64: no record" in said.err


def test_recordings():
    """The launches to record must have unique names and the parameters that their names state."""
    launched = effect_launches.POLYNOMIAL[128][24 / 64]
    assert launched.name == "fwd-hd128-full-b128-h4-2k-ex2_emu_freq-8-ex2_emu_start_frg-0"
    assert launched.recording("x")[2:4] == ["tune.ex2_emu_freq=8", "tune.ex2_emu_start_frg=0"]
    queries = effect_launches.TILES["hd64-full"][0]
    assert queries.name.endswith("-4k-q128") and "sq=128" in queries.recording("x") and "sk=4096" in queries.recording("x")
    assert len({each.name for each in effect_launches.ALL}) == len(effect_launches.ALL)


def test_costs_from_the_table_of_forms_are_no_answer(tmp_path):
    """The simulator's cycles do not come from machine code, because tools are missing: the error must name these
    tools."""
    lab = effects.Lab(tmp_path, tmp_path, lambda *words: versus.Timed(1, 1, "MUFU", 0.8, 0.5, "table of PTX forms"))
    with pytest.raises(effects.MissingError, match="needs ptxas and nvdisasm"):
        lab.times([["k.json"]])


@pytest.mark.skipif(not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim")
def test_an_effect_under_the_clock(tmp_path):
    """Kernels with two rescaling thresholds are timed in the simulator: the result must have a row for each."""
    result = effects.threshold(effects.Lab(tmp_path, tmp_path, versus.time_launch, is_quick=True))
    assert re.fullmatch(r"hd64: rescaling at once takes [+-][0-9.]+%", result.said)
    assert [row.variant for row in result.rows] == ["hd64, threshold 8", "hd64, threshold 0"]


def test_softest_parameters():
    """Effects of made-up parameters are given: those that change times most must come first, without the clock."""

    def soft(at_low, at_high):
        return softness.Softness(1, 2, "G", at_low, at_high)

    by_kernel = {"a": {"x": soft(0, 0.02), "clock": soft(-1, 1), "y": soft(-0.3, 0)}, "b": {"x": soft(0.1, 0), "z": soft(0, 0.001)}}
    assert softness.softest(by_kernel) == ["y", "x"]
    assert softness.softest(by_kernel, number=1) == ["y"]
    assert list(softness.sensitivity_lines(by_kernel))[2:] == ["| `y` | 1 to 2 | G | -30.0%, +0.0% |  |", "| `x` | 1 to 2 | G | +0.0%, +2.0% | +10.0%, +0.0% |"]


def test_settings():
    """Made-up cycles equal the published ones: the table of settings must show no difference and no missed ratio."""
    cycles = {run.launched.name: run.seconds * run.ghz * 1e9 for run in published.FIXED}
    for each in published.RATIOS:
        lower = cycles.setdefault(each.lower.name, 1e6)
        cycles.setdefault(each.upper.name, lower * each.upper.flops / each.lower.flops / each.ratio)
    line = list(softness.setting_lines({softness.SETTINGS[1]: cycles}))[2].replace("-0.0", "+0.0")
    assert line.startswith("| `tcgen05.ld.latency=100` |") and line.endswith("| +0%, +0%, +0%, +0% | +0.0, +0.0, +0.0, +0.0, +0.0 | 0 of 9 |")
