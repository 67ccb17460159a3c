# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of decoding and of a prompt in front of it, docs/examples/decoding: Python scripts, each with the same op in MLIR."""

import numpy as np
import pytest

import fa4
from fa4 import tools
from fa4_testing import examples, gpu

EXAMPLES = tools.ROOT / "docs" / "examples" / "decoding"


STEPS = "step", "paged", "tree"
NAMES = *STEPS, "selected"


@pytest.fixture(params=NAMES)
def script(request, monkeypatch):
    """A script as a module, which finds what is beside it."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return examples.load(EXAMPLES / f"{request.param}.py")


@pytest.mark.parametrize("name", NAMES)
def test_the_script_runs(name):
    """The script compares a call with float64: it must end well, and say how far off the kernel is."""
    assert "largest error 0.00" in examples.run(EXAMPLES / f"{name}.py")


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_the_op_in_mlir_is_that_of_the_script(script, chip):
    """The MLIR file's kernels are simulated with all checks: they must compute what the script's spec says in float64."""
    given = script.make_call(np.random.default_rng())
    kernel = fa4.compile((EXAMPLES / f"{script.__name__}.mlir").read_text(), chip=chip)
    # A kernel of a text has numbers in the places of the names of captures.
    numbers = {name: f"capture{number}" for number, name in enumerate(script.SPEC.captures)}
    got = kernel.simulate(**{numbers.get(name, name): array for name, array in given.items()}, check=True)
    assert abs(got.out.astype(np.float64) - script.SPEC.reference(**given).out).max() < 0.02


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a", "sm_103a"])
def test_the_op_has_two_kernels(name, chip, tmp_path):
    """The op is compiled for each chip, and ptxas must not spill."""
    gpu.compile_any((EXAMPLES / f"{name}.mlir").read_text(), tmp_path, chip=chip)
    assert (tmp_path / f"{name}_merge_kernel.ptx").exists()
