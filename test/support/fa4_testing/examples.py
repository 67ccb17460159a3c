# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts of docs/examples, as tests run and read them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from fa4 import tools


def run(script: Path, **environment: str) -> str:
    """What a script prints, without a GPU and with these variables; it must end well."""
    paths = os.pathsep.join([str(tools.ROOT / "python"), *sys.path])
    given = os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""} | environment
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=given)
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(script: Path) -> ModuleType:
    """A script as a module of its own."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
