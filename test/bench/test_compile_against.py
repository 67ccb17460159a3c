# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/compile-time --against: two builds take turns, and the ratio is that of their
times. Other work on the machine can only add to a time: what is held against a clock
here is held from below."""

import stat
import sys

import pytest

from fa4_bench import compile_against
from fa4_testing import gpu
from fa4_bench.compile_against import Times

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-compile"), reason="needs fa4-compile")


@pytest.fixture
def slow(tmp_path):
    """A build that computes for a quarter of a second first."""
    path = tmp_path / "slow"
    path.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, time\n"
        "while time.process_time() < 0.25: pass\n"
        f"os.execv({gpu.find_tool('fa4-compile')!r}, ['fa4-compile', *sys.argv[1:]])\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def main(monkeypatch, capsys):
    """The command, without valgrind, which takes a quarter of a minute a build."""
    monkeypatch.setattr(compile_against, "count_instructions", lambda tool, source: None)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["compile-time", *words])
        return compile_against.main(), capsys.readouterr().out

    return run


def test_slower_build(slow, main):
    """A build that wastes a quarter of a second is given: this time must appear in its own figures, and only there."""
    status, said = main(slow, "--runs=1")
    other, this, ratio = rows(said)["user + system, ms"]
    assert other >= 250 and this > 0 and ratio == pytest.approx(this / other, abs=0.01)
    assert status == 0


def rows(said):
    """The figures of each row of times: of the other build, of this one, and their ratio."""
    return {line[:24].strip(): [float(x) for x in line[24:].split()] for line in said.splitlines() if ", ms" in line}


@pytest.mark.parametrize("bar, expected", [("--at-most=0.54", 1), ("--at-most=0.56", 0), ("--runs=3", 0)])
def test_ratio_of_the_least_times(main, monkeypatch, bar, expected):
    """Times of made-up runs are given. The builds take turns; the first run of each does not count, and for each figure
    the least of the other runs does."""
    this = gpu.find_tool("fa4-compile")
    times = {
        sys.executable: [Times(0.01, 0.01, 0.01), Times(0.5, 0.1, 1.5), Times(0.3, 0.1, 0.8), Times(0.4, 0.05, 0.9)],
        this: [Times(9, 9, 9), Times(0.25, 0.05, 0.4), Times(0.2, 0.02, 0.7), Times(0.3, 0.01, 0.6)],
    }
    asked = []

    def measure(words):
        asked.append(words[0])
        return times[words[0]].pop(0)

    monkeypatch.setattr(compile_against, "measure", measure)
    status, said = main(sys.executable, "--runs=3", bar)
    assert asked == [sys.executable, this] * 4
    assert rows(said) == {
        "user, ms": [300, 200, 0.667], "user + system, ms": [400, 220, 0.55], "wall, ms": [800, 400, 0.5]
    }  # fmt: skip
    assert status == expected


def test_bar(slow, main):
    """This build may take 0.01 of another build's time at most, and takes more: the command must exit with status 1."""
    status, _ = main(slow, "--runs=1", "--at-most=0.01")
    assert status == 1


def test_errors(main, tmp_path):
    """A build that does not exist and an input with a syntax error must each end the command with a message."""
    with pytest.raises(SystemExit, match="no-such-build is no program"):
        main(str(tmp_path / "no-such-build"))
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f(")
    with pytest.raises(SystemExit, match="broken.mlir:1:13: error"):
        main(gpu.find_tool("fa4-compile"), f"--input={broken}", "--runs=1")
