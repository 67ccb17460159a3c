# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install ./python`: all of the package is installed, and the checkout has no
files that git would list as new."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not shutil.which("git") or not importlib.util.find_spec("setuptools"),
    reason="needs git and setuptools",
)


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pip_leaves_no_new_files(tmp_path):
    checkout = tmp_path / "fa4"
    ignore = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "python", checkout / "python", ignore=ignore)
    shutil.copy(ROOT / ".gitignore", checkout)
    run("git", "init", "-q", cwd=checkout)
    run("git", "add", "-A", cwd=checkout)
    # What pip has setuptools do, without the network that pip needs for it.
    setup = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q"]
    run(*setup, "build", "egg_info", cwd=checkout / "python")
    assert (checkout / "python" / "fa4.egg-info").exists()
    listed = run("git", "status", "--porcelain", cwd=checkout)
    assert not [line for line in listed.splitlines() if not line.startswith("A ")], listed
    sources = {p.relative_to(ROOT / "python" / "fa4") for p in (ROOT / "python" / "fa4").rglob("*.py")}
    built = checkout / "python" / "build" / "lib" / "fa4"
    assert sources == {p.relative_to(built) for p in built.rglob("*.py")}
