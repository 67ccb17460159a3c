# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attn-to-host: a function with attention and its gradient becomes host code, which is compiled and run against the stand-in for the
CUDA driver. The numbers come from the simulator; arguments, tensor maps, grids and the order of launches from its records."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from fa4 import driver
from fa4.tools import find_llvm_tool, find_tool

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "docs" / "examples" / "training_step.mlir"
BUILD = Path(os.environ["FA4_OPT"]).resolve().parents[1]

pytestmark = pytest.mark.skipif(not (BUILD / "lib" / "fa4-driver" / "libcuda.so.1").exists(), reason="needs the target fa4-driver")


def execute(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs the program; the folder with its log and its records."""
    folder = tmp_path_factory.mktemp("host")
    text = SOURCE.read_text().replace("x8x128", "x2x64").replace("x2x128", "x1x64").replace("?x8x?", "?x2x?")
    (folder / "step.mlir").write_text(text)
    execute([find_tool("fa4-opt"), folder / "step.mlir", "--attn-to-host", "-o", folder / "host.mlir"])
    execute([find_llvm_tool("mlir-translate"), "--mlir-to-llvmir", folder / "host.mlir", "-o", folder / "host.ll"])
    library = BUILD / "lib" / "libfa4_runtime.so"
    execute([find_llvm_tool("clang"), "-shared", "-fPIC", "-w", "-O1", folder / "host.ll", library, f"-Wl,-rpath,{library.parent}", "-o", folder / "host.so"])
    settings = driver.environment(log=folder / "log", record=folder / "record", chip="sm_100a")
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "python")])
    done = execute([sys.executable, HERE / "host_program.py", folder / "host.so", library], env={**os.environ, **settings, "LD_PRELOAD": "", "PYTHONPATH": path})
    assert done.stdout == "done\n", done.stdout + done.stderr
    return folder


def test_launches_are_in_order(recorded):
    """Each step launches forward, preprocess, main and postprocess, in this order. Without keys, only
    the second and the last run. Nothing runs behind a launch that was refused."""
    launches = [json.loads(line) for line in (recorded / "log").read_text().splitlines()]
    names = ["training_step_kernel", "training_step_preprocess_kernel", "training_step_kernel_0", "training_step_postprocess_kernel"]
    assert [launch["kernel"] for launch in launches] == names * 2 + names[1::2] + names
    assert all(launch["status"] == 0 and launch["findings"] == 0 for launch in launches)
    by_name = {launch["kernel"]: launch for launch in launches}
    assert by_name[names[0]]["grid"] == [2, 1, 1] and by_name[names[0]]["block"] == [512, 1, 1]
    # Work tiles of dynamic sizes are numbered in one dimension.
    assert by_name[names[1]]["grid"] == [2, 1, 1]
    assert all(launch["dynamic_smem"] > 48 << 10 for launch in launches)


def decode(text):
    """The meaning of a tensor map's 128 bytes (include/fa4/Simulator/Machine/TensorMap.h); None for another parameter."""
    if len(text) != 256:
        return None
    words = struct.unpack("<32I", bytes.fromhex(text))
    rank = (words[2] >> 4 & 7) + 1
    box = [words[13] >> 24] + [words[14] >> 8 * i & 0xFF for i in range(4)]
    return {
        "address": words[0] | words[1] << 32,
        "dtype": {10: "bf16", 7: "f32"}[words[2] >> 7 & 15],
        "swizzle": words[2] >> 13 & 3,
        "dims": [n + 1 for n in words[8 : 8 + rank]],
        "byte_strides": [16 * n for n in words[3 : 2 + rank]],
        "box": [n + 1 for n in box[:rank]],
    }


def tensor_maps(recorded, launch):
    params = json.loads((recorded / "record" / f"launch-{launch}.json").read_text())["params"]
    return [decode(param["bytes"]) for param in params]


def test_tensor_maps_and_arguments(recorded):
    """The host code makes the right tensor maps and arguments from the memrefs' descriptors."""
    q, k, v, out = tensor_maps(recorded, 0)[:4]
    assert q["dims"] == [64, 2, 48, 1] and q["byte_strides"] == [128, 256, 256 * 48] and q["box"] == [64, 1, 128, 1]
    assert q["dtype"] == "bf16" and q["swizzle"] == 3
    assert k["dims"] == v["dims"] == [64, 1, 80, 1] and k["byte_strides"][1] == 128
    assert len({m["address"] for m in (q, k, v, out)}) == 4
    # The gradient reads what forward has written, and the second step's inputs are the first's.
    assert tensor_maps(recorded, 1)[0]["address"] == out["address"]
    assert tensor_maps(recorded, 4)[0]["address"] == q["address"]
    # Sums of dq are a workspace: written by preprocess, added to by main, read by postprocess.
    sums = tensor_maps(recorded, 3)[0]
    assert sums["dtype"] == "f32"
    assert sums["address"] in {m["address"] for m in tensor_maps(recorded, 2) if m}
    assert sums["address"] in {m["address"] for m in tensor_maps(recorded, 1) if m}
