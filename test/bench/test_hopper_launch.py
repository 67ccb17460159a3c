# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How bench/hopper launches a folder of our kernels, on the stand-in for NVIDIA's driver, whose launches run in the simulator."""

import os
import subprocess
import sys

import pytest

import fa4
from fa4 import _library, tools
from fa4_testing import gpu
from fa4_bench.hopper import specs
from fa4_bench.hopper.rows import Form

try:
    _library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY")
    tools.driver_library_folder()
    tools.find_tool("fa4-compile")
except (fa4.LibraryNotFoundError, RuntimeError) as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

PROGRAM = """
import sys
import numpy as np
import fa4
from fa4 import _cuda
from fa4_bench.hopper import ours, specs
driver = _cuda.Driver()
driver.use(driver.devices()[0])
(place,) = ours.places(sys.argv[1])
rng = np.random.default_rng(0)
bf16 = fa4.kernel.numpy_dtype("bf16")
arrays = {name: rng.standard_normal((2, tokens, 2, 64), np.float32).astype(bf16) for name, tokens in (("q", 70), ("k", 90), ("v", 90))}
tensors = {name: _cuda.DeviceArray(driver, array) for name, array in arrays.items()}
results = {"out": _cuda.DeviceArray(driver, np.zeros_like(arrays["q"])), "lse": _cuda.DeviceArray(driver, np.zeros((2, 2, 70), np.float32))}
more = {"dout": None}  # What the kernel does not have is left out.
ours.prepare(ours.load(place.folder), tensors | results | more).launch(0)
wanted = specs.spec(place.form).reference(**arrays)
assert np.abs(results["out"].get().astype(float) - wanted.out).max() < 2e-2
assert np.abs(results["lse"].get() - wanted.lse).max() < 1e-2
print(place.variant, place.form.name)
"""


def run_program(text, scratch, folder):
    """What a program that is given a folder says, on the stand-in for the driver."""
    (scratch / "program.py").write_text(text)
    env = {k: v for k, v in os.environ.items() if not k.startswith("FA4_DRIVER_")}
    env |= {"PYTHONPATH": os.pathsep.join(str(tools.ROOT / folder) for folder in ("python", "test/support", "bench")),
            "LD_LIBRARY_PATH": str(tools.driver_library_folder()), "FA4_DRIVER_CHIP": "sm_100a"}  # fmt: skip
    done = subprocess.run([sys.executable, scratch / "program.py", folder], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_folder_is_launched(tmp_path):
    """A folder of kernels, as --compile leaves one, is found, loaded by libfa4_runtime and launched on tensors of a device; the results
    are those of the op. The stand-in has a GPU of another generation, which the way to it does not depend on."""
    form = Form("fwd", 64, "causal")
    gpu.compile(specs.spec(form).text, tmp_path / "ours" / "default" / form.name, "sm_100a", options=["--verify-ptx=false"])
    assert run_program(PROGRAM, tmp_path, tmp_path / "ours") == "default fwd-hd64-causal\n"


ON_CARD = """
import sys
from pathlib import Path
import numpy as np
from fa4_testing import gpu, grid
from fa4_bench.hopper import card
case = grid.Case(64, "causal", "bf16", "bhsd", (113, 203), "gqa4", "rising", "static")
kernel = gpu.compile(case.op.mlir(), Path(sys.argv[1], case.op.name), "sm_100a", options=[*case.op.options, "--verify-ptx=false"])
simulated = gpu.simulate(kernel, dict(zip("qkv", case.draw(1)), sm_count=3), ["out", "lse"])
card.take_over()
outcome = grid.run_case(case, kernel, data_seed=1)
assert all(0 < error <= allowed for error, _, allowed in outcome), outcome
same = gpu.simulate(kernel, dict(zip("qkv", case.draw(1)), sm_count=3), ["out", "lse"])
assert all(np.array_equal(*pair) for pair in zip(simulated, same))
try:
    gpu.simulate(kernel, dict(zip("qkv", (x[:, :1] for x in case.draw(1)))) | {"k": case.draw(1)[1][:1]}, ["out"])
except gpu.SimulationError as error:
    print("refused:", error)
"""


def test_a_case_of_the_grid_runs_on_a_card(tmp_path):
    """A case of the correctness grid whose kernel the card's way runs must pass, with the bits of the simulator, and a call that the
    runtime refuses must be an error of the case."""
    assert run_program(ON_CARD, tmp_path, tmp_path / "kernels").startswith("refused: ")
