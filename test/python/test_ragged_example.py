# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a step of training on a ragged batch, docs/examples/ragged: a Python script, and the same function in MLIR."""

import numpy as np
import pytest

import fa4
from fa4 import tools
from fa4_testing import examples

EXAMPLES = tools.ROOT / "docs" / "examples" / "ragged"


def test_the_script_runs():
    """The script compares a step with float64: it must end well, and say how far off the kernels are."""
    assert "largest errors of out, dq, dk and dv 0.0" in examples.run(EXAMPLES / "training_step.py")


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_the_function_in_mlir_is_that_of_the_script(chip):
    """The MLIR file's kernels are simulated with all checks: they must compute what the script computes in float64."""
    script = examples.load(EXAMPLES / "training_step.py")
    given = script.make_call(np.random.default_rng())
    call = dict(given) | {"bounds": given["cu_seqlens_q"]}
    kernel = fa4.compile((EXAMPLES / "training_step.mlir").read_text(), chip=chip)
    inputs = {name: call[name] for name, tensor in kernel.manifest["tensors"].items() if name in call and tensor["role"] == "in"}
    got = kernel.simulate(**inputs, check=True)
    for name, wanted in zip(("out", "dq", "dk", "dv"), script.expected(given)):
        assert abs(got[name].astype(np.float64) - wanted).max() < 0.1
