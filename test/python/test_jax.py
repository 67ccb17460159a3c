# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of XLA's foreign function interface, where jax and a C++ compiler are: on the CPU, by the simulator."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="needs jax, for docs/examples/jax")

import fa4  # noqa: E402
from fa4 import _library  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which(os.environ.get("CXX") or "clang++-22") or shutil.which("c++")
try:
    _library.find()
    _library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY")
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)


@pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")
def test_example(tmp_path):
    """The example of XLA's foreign function interface runs on the CPU: its largest error must be small."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FA4_CACHE_DIR": str(tmp_path), "CXX": COMPILER, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, ROOT / "docs" / "examples" / "jax" / "attention_ffi.py", ROOT / "include"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(re.fullmatch(r"largest error: (\S+)\n", done.stdout)[1]) < 0.04
