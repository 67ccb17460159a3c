# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/compile-time --against: two builds take turns, and the ratio is that of their
times. A build that wastes a quarter of a second is told from one that does not."""

import stat
import sys

import pytest

from fa4 import compile_against, gpu

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
    status, said = main(slow, "--runs=2", "--at-most=0.9")
    rows = {line[:24].strip(): [float(x) for x in line[24:].split()] for line in said.splitlines() if ", ms" in line}
    assert set(rows) == {"user, ms", "user + system, ms", "wall, ms"}
    other, this, ratio = rows["user + system, ms"]
    assert other > this + 200 and ratio == pytest.approx(this / other, abs=0.01)
    assert status == 0


def test_bar(slow, main):
    status, _ = main(slow, "--runs=1", "--at-most=0.01")
    assert status == 1


def test_errors(main, tmp_path):
    with pytest.raises(SystemExit, match="no-such-build is no program"):
        main(str(tmp_path / "no-such-build"))
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f(")
    with pytest.raises(SystemExit, match="broken.mlir:1:13: error"):
        main(gpu.find_tool("fa4-compile"), f"--input={broken}", "--runs=1")
