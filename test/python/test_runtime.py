# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libfa4_runtime launches what fa4-compile's manifest of a training step describes, and what a record does, against the stand-in for the CUDA driver. Arguments and
errors are those of test/Runtime."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fa4 import driver
from fa4.tools import find_tool

HERE = Path(__file__).parent
BUILD = Path(os.environ["FA4_OPT"]).resolve().parents[1]

pytestmark = pytest.mark.skipif(not (BUILD / "lib" / "fa4-driver" / "libcuda.so.1").exists(), reason="needs the target fa4-driver")


def test_training_step_graph_and_record(tmp_path):
    """The runtime launches a training step, also as a graph and a record: each must launch its kernels in order."""
    text = (HERE.parents[1] / "docs" / "examples" / "training_step.mlir").read_text()
    (tmp_path / "step.mlir").write_text(text.replace("x8x128", "x2x64").replace("x2x128", "x1x64").replace("?x8x?", "?x2x?"))
    subprocess.run([find_tool("fa4-compile"), tmp_path / "step.mlir", "-o", tmp_path, "--verify-ptx=false"], check=True)
    environment = {**os.environ, **driver.environment(log=tmp_path / "log", chip="sm_100a"), "LD_PRELOAD": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1] / "python")])
    library = BUILD / "lib" / "libfa4_runtime.so"
    done = subprocess.run([sys.executable, HERE / "runtime_program.py", library, tmp_path / "training_step.json"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr
    launches = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    names = [launch["kernel"] for launch in launches]
    assert names[:6] == ["axpy"] * 6 and names[6:] == 4 * names[6:10]
    assert len(launches) == 22 and not any(launch["findings"] for launch in launches)
