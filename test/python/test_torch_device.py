# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.torch on tensors "on cuda", as a user's program on a GPU, whose driver is the stand-in: torch_checks.py in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch, for fa4.torch")

import fa4  # noqa: E402
from fa4 import _library, tools  # noqa: E402

try:
    _library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY")
    tools.driver_library_folder()
except (fa4.LibraryNotFoundError, RuntimeError) as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

HERE = Path(__file__).parent


def test_a_users_program_on_the_stand_in_driver(tmp_path):
    """A user's program runs on the stand-in driver: every check passes, all kernels go to the driver, and there is no
    finding."""
    import torch_checks

    log, checks = tmp_path / "launches.jsonl", [*torch_checks.ANYWHERE, *torch_checks.ON_CUDA]
    environment = {**os.environ, "FA4_CACHE_DIR": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "fa4.driver", "--log", log, HERE / "torch_checks.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [check.__name__ for check in checks]
    launches = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(launches) > 300 and not any(launch["findings"] for launch in launches)
    names = [launch["kernel"] for launch in launches]
    assert {"sdpa_kernel", "sdpa_backward_kernel"} <= set(names)
