# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test/transcript.py, which runs the transcripts among the lit tests: it fails where a command does not do what the transcript says."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "transcript.py"


def run(tmp_path, text):
    """(exit status, output) of a transcript of this text."""
    (tmp_path / "a.test").write_text(text)
    done = subprocess.run([sys.executable, PROGRAM, "a.test"], cwd=tmp_path, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("text", [
    "$ echo a\na",
    "# A header.\n#\n# $ echo a; echo b >&2\n# a\n# b",
    "// $ echo a; exit 3\n// a\n// [3]",
    "$ printf 'a\\nb\\nc'\n...\nc",
    "$ seq 9\n1\n...\n5\n...",
    "$ echo took 0.3 s\ntook {{[0-9.]+}} s",
    "$ echo a \\\n  b\na b",
    "$ basename \"$PWD\" > name\n$ test \"$(cat name)\" = \"$(basename \"$S\")\"",
    "$ true\n\n#--- k.txt\n$ no command",
])  # fmt: skip
def test_right_transcripts_pass(tmp_path, text):
    """Each form of a transcript is given, with what its commands print: the program must print nothing and return 0."""
    assert run(tmp_path, text + "\n") == (0, "")


@pytest.mark.parametrize("text, said", [
    ("$ echo b\na", "it printed\n    b"),
    ("$ echo a\n\na", "expected\n    nothing"),
    ("$ echo a; echo b\na", "it printed\n    a\n    b"),
    ("$ echo ab\na", "it printed\n    ab"),
    ("$ echo axb\na.b", "it printed\n    axb"),
    ("$ exit 2", "expected exit status 0, and it was 2"),
    ("$ true\n[1]", "expected exit status 1, and it was 0"),
    ("$ true\n$ echo b\n", "a.test:2: $ echo b"),
    ("# Nothing.", "no line begins with '$ '"),
])  # fmt: skip
def test_wrong_transcripts_fail(tmp_path, text, said):
    """A command prints or returns something else than its transcript says: the program must return 1, and print both."""
    status, output = run(tmp_path, text + "\n")
    assert status == 1 and said in output
