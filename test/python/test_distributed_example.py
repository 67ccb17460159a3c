# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of attention over ranks, docs/examples/distributed: a Python script, and the ops that a rank runs in a step of the ring in MLIR."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch, for fa4.distributed")

import fa4  # noqa: E402
from fa4 import _library, tools  # noqa: E402
from fa4.arrays import numpy_dtype  # noqa: E402
from fa4_testing import examples  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

EXAMPLES = tools.ROOT / "docs" / "examples" / "distributed"


def test_the_script_runs():
    """The script compares the whole with float64: it must end well, and say how far off the kernels are."""
    said = examples.run(EXAMPLES / "ring.py", OMP_NUM_THREADS="1")
    assert "256 tokens on 2 ranks, cpu: largest errors of out, dq, dk and dv 0.0" in said


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_the_ops_in_mlir_are_those_of_the_script(chip):
    """The MLIR file's kernels are simulated with all checks: they must compute what the script's spec of a step says in float64, by the LSE and the out of
    more keys than those of the step."""
    script = examples.load(EXAMPLES / "ring.py")
    q, k, v, dout = (x.float().numpy() for x in script.draw(64, 256))
    whole = script.STEP.reference(q=q, k=k, v=v)
    given = {"q": q, "k": k[:, :128], "v": v[:, :128], "dout": dout}
    kernel = fa4.compile((EXAMPLES / "ring.mlir").read_text(), chip=chip)
    dtype = numpy_dtype("bf16")
    narrow = {name: array.astype(dtype) for name, array in {**given, "out_1": whole.out}.items()}
    # Of two operands of one name the manifest numbers the second one: out_1 and lse_1 are those of all keys, which the gradient reads.
    got = kernel.simulate(**narrow, lse_1=whole.lse.astype(np.float32), check=True)
    forward = script.STEP.reference(**{name: given[name] for name in "qkv"})
    gradients = script.STEP.backward().reference(**given, out=narrow["out_1"], lse=whole.lse)
    for name, wanted in {"out": forward.out, "lse": forward.lse, **gradients}.items():
        assert abs(got[name].astype(np.float64) - wanted).max() < 0.05, name
