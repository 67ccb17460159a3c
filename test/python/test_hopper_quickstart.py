# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/hopper-quickstart.md and its script, which runs in the simulator here."""

import os
import re
import subprocess
import sys

import pytest

import fa4
from fa4 import _library, selftest, tools

PAGE = tools.ROOT / "docs" / "hopper-quickstart.md"
SCRIPT = tools.ROOT / "docs" / "examples" / "hopper" / "quickstart.py"


def test_the_page_shows_the_script():
    """The page shows how the script calls fa4: each line but the last calls must be one of the script, and the calls be in it, too."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    script = SCRIPT.read_text()
    assert not [line for line in block.splitlines() if line not in script]


def test_the_page_shows_the_output():
    """The page shows the rows that the script prints and the header of fa4 selftest: they must be those of today."""
    page = PAGE.read_text()
    rows = re.findall(r'^    \("([^"]+)", lambda', SCRIPT.read_text(), re.MULTILINE)
    shown = page.partition("q of (4, 16, 4096, 128)")[2].partition("```")[0]
    assert [line[:22].rstrip() for line in shown.splitlines()[2:]] == rows
    assert f"\n{selftest.HEADER}\n" in page
    (ok, without) = map(int, re.search(r"^(\d+) ok, 0 not, (\d+) without a kernel", page, re.MULTILINE).groups())
    assert ok == len(selftest.NAMES) and without == 0


def test_the_script_runs(tmp_path):
    """The script of the page runs on the CPU: each row must be printed, with errors below its bar, and the exit status 0."""
    pytest.importorskip("torch", reason="needs torch, for the script")
    try:
        _library.find()
    except fa4.LibraryNotFoundError as missing:
        pytest.skip(f"needs {missing}")
    env = {**os.environ, "PYTHONPATH": str(tools.ROOT / "python"), "FA4_CACHE_DIR": str(tmp_path), "FA4_VERIFY_PTX": "0", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("CPU: in the simulator, torch ") and len(lines) == 9
    assert all(re.search(r" \d\.\de-03$", line) for line in lines[2:])
