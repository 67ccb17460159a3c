# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fuzzing found worth keeping still runs through every target, and bench/fuzz
counts, makes smaller and keeps what fails."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from fa4_testing import fuzz
from fa4_testing.cpu import ToolNotFoundError
from fa4_testing.gpu import find_tool


def replay_tool(target):
    try:
        return find_tool(f"fa4-fuzz-{target}")
    except ToolNotFoundError:
        return None


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_replay(target, tmp_path, monkeypatch):
    """The committed inputs of a fuzz target are replayed: all must be run, without a failure."""
    tool = replay_tool(target)
    if not tool:
        pytest.skip(f"needs fa4-fuzz-{target}")
    monkeypatch.setattr(fuzz, "BUILD", tmp_path)
    folders = list(fuzz.committed(target))
    assert folders
    done = subprocess.run([tool, *folders], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    count = sum(len(files) for folder in folders for _, _, files in os.walk(folder))
    # After what passes print that say something.
    assert done.stdout.splitlines()[-1] == f"inputs: {count}" and count > 3


# ---------------------------------------------------------------------------
# The runner, with a script in the place of libFuzzer
# ---------------------------------------------------------------------------

_TARGET = """#!/bin/sh
# The last argument is a folder of inputs, or one input.
for last; do :; done
case "$*" in *max_total_time*)
  echo "#2	INITED cov: 10 ft: 20 corp: 1/1b"
  echo "#900	NEW    cov: 14 ft: 30 corp: 2/9b"
  echo "stat::number_of_executed_units: 1000"
  for word; do case $word in -artifact_prefix=*) prefix=${word#*=};; esac; done
  [ -n "$BAD" ] || exit 0
  printf 'one\\ntwo BAD three\\nfour\\n' > "${prefix}crash-1"
  echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1"
  last=${prefix}crash-1;;
esac
if grep -q BAD "$last"; then
  echo "SUMMARY: AddressSanitizer: SEGV x.cpp:$$ in f" >&2
  exit 77
fi
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "fa4-fuzz-npy"
    tool.write_text(_TARGET)
    tool.chmod(0o755)
    monkeypatch.setattr(fuzz, "BUILD", tmp_path)
    return tmp_path


COMMAND = ["5", "--target=npy", "--no-build", "--minimise=30"]


def rows(said):
    return [line.split() for line in said.splitlines() if line.startswith("npy")]


def test_clean_run(build, capsys):
    """A fuzz target finds nothing: the command must succeed, print the counts and add them to the ledger."""
    assert fuzz.main(COMMAND) == 0
    (row,) = rows(capsys.readouterr().out)
    assert row[1] == "1000" and row[3:6] == ["14", "4", "0"]
    entry = json.loads((build / "ledger.jsonl").read_text())
    assert entry["target"] == "npy" and entry["executions"] == 1000 and not entry["error"]


def test_failure_is_made_small_and_kept(build, capsys, monkeypatch):
    """A fuzz target crashes: the command must fail, and keep the crash and a smaller input."""
    monkeypatch.setenv("BAD", "1")
    assert fuzz.main(COMMAND) == 1
    said = capsys.readouterr().out
    (row,) = rows(said)
    assert row[5] == "1" and "FAILED npy: SUMMARY: AddressSanitizer: SEGV x.cpp:N in f" in said
    assert (build / "failures" / "npy" / "crash-1.small").read_text() == "BAD"
    assert "crash-1.small" in said


def entry(seconds, error="", binary="b", target="npy"):
    return json.dumps(dict(target=target, binary=binary, seconds=seconds, error=error)) + "\n"


def test_clean_seconds_are_of_one_binary_since_its_last_failure(tmp_path):
    """The ledger has runs of several targets and binaries: only the seconds of this target's binary since its last
    failure must count."""
    ledger = tmp_path / "ledger.jsonl"
    run = fuzz.Run("npy", "b")
    assert fuzz.clean_seconds(ledger, run) == 0
    ledger.write_text(
        entry(1) + entry(2, "SEGV") + entry(4) + entry(8, binary="a") + entry(16, target="ptx") + entry(32)
    )
    assert fuzz.clean_seconds(ledger, run) == 36


@pytest.mark.parametrize("data, wanted, small", [
    (b"a\nb\nc\n", b"b", b"b"),
    (b"\x00\x93NUMPY\xff", b"\xff", b"\xff"),
    (b"x", b"x", b"x"),
])  # fmt: skip
def test_minimise(data, wanted, small):
    """An input fails as long as it has certain bytes: the smallest input must be these bytes."""
    assert fuzz.minimise(data, lambda less: wanted in less, 10) == small


def test_minimise_ends_in_time():
    """No time is left to make an input smaller: the input must come back as it is."""
    assert fuzz.minimise(b"a" * 1000, lambda less: True, 0) == b"a" * 1000


def test_seeds_are_of_every_level(tmp_path, monkeypatch):
    """Seeds of fa4-fuzz-opt are made: they must cover each pipeline and each dialect."""
    if not (tool := replay_tool("opt")):
        pytest.skip("needs fa4-fuzz-opt")
    monkeypatch.setattr(fuzz, "binary_of", lambda target: Path(tool))
    fuzz.make_seeds(tmp_path / "seeds")
    texts = [path.read_text() for path in (tmp_path / "seeds").iterdir()]
    heads = {text.splitlines()[0] for text in texts}
    assert heads == {f"{fuzz.HEAD} {name}" for name in fuzz.pipelines()}
    for word in ("attn.sdpa", "tile.mma", "tile.role", "tile.channel", "nvvm.", "llvm."):
        assert any(word in text for text in texts), word


@pytest.mark.parametrize("words", [["0"], ["x"], ["5", "--jobs=0"], ["5", "--target=none"]])
def test_bad_command_line(words, capsys):
    """A command line is wrong: the command must exit with status 2 and print an error."""
    with pytest.raises(SystemExit, match="2"):
        fuzz.parse(words)
    assert "error:" in capsys.readouterr().err
