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


def run(tmp_path, chip, *names):
    """Runs all checks, or those of these names. Returns the names of those that have passed, and the launches."""
    log = tmp_path / "launches.jsonl"
    environment = {**os.environ, "FA4_CACHE_DIR": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "fa4.driver", "--chip", chip, "--log", log, HERE / "torch_checks.py", *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(), [json.loads(line) for line in log.read_text().splitlines()]


def test_a_users_program_on_the_stand_in_driver(tmp_path):
    """A user's program runs on the stand-in driver: every check passes, all kernels go to the driver, and there is no
    finding."""
    import torch_checks

    passed, launches = run(tmp_path, "sm_100a")
    assert passed == [check.__name__ for check in (*torch_checks.ANYWHERE, *torch_checks.ON_CUDA)]
    assert len(launches) > 300 and not any(launch["findings"] for launch in launches)
    assert {"sdpa_kernel", "sdpa_backward_kernel"} <= {launch["kernel"] for launch in launches}


def test_packed_sequences_on_hopper(tmp_path):
    """Packed sequences on the stand-in for a Hopper GPU, whose kernels are others, and where the deterministic gradient has one."""
    names = ["check_packed", "check_packed_deterministic", "check_graph_of_packed", "check_launches_of_packed"]
    passed, launches = run(tmp_path, "sm_90a", *names)
    assert passed == names and not any(launch["findings"] for launch in launches)
    assert "sdpa_query_tiles_kernel" in {launch["kernel"] for launch in launches}
