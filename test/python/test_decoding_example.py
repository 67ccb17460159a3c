# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a step of decoding, docs/examples/decoding: a Python script, and the same op in MLIR."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import fa4
from fa4 import tools
from fa4_testing import gpu

EXAMPLES = tools.ROOT / "docs" / "examples" / "decoding"


@pytest.fixture(scope="module")
def step():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("step", EXAMPLES / "step.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_runs():
    """The script compares a step with float64: it must end well, and say how far off the kernel is."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tools.ROOT / "python"), *sys.path]), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, EXAMPLES / "step.py"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "largest error 0.00" in done.stdout


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_the_op_in_mlir_is_that_of_the_script(step, chip):
    """The MLIR file's kernels are simulated with all checks: they must compute what the script's spec says in float64."""
    given = step.make_call(np.random.default_rng())
    kernel = fa4.compile((EXAMPLES / "step.mlir").read_text(), chip=chip)
    got = kernel.simulate(**given, check=True)
    assert abs(got.out.astype(np.float64) - step.SPEC.reference(**given).out).max() < 0.02


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a", "sm_103a"])
def test_the_op_has_two_kernels(chip, tmp_path):
    """The op is compiled for each chip, and ptxas must not spill."""
    gpu.compile_any((EXAMPLES / "step.mlir").read_text(), tmp_path, chip=chip)
    assert (tmp_path / "step_merge_kernel.ptx").exists()
