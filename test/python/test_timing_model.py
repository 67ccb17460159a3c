# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4-sim --time against what was measured on a card: the kernels of bench/timing read the clock of the model as
they read that of the card, and the cycles of an operation come out of both in the same way."""

import json
import subprocess

import numpy as np
import pytest

from fa4 import tools
from fa4_testing import gpu
from fa4_bench.timing import __main__ as timing
from fa4_bench.timing.micro import micros

pytestmark = pytest.mark.skipif(not tools.has_tools("fa4-sim"), reason="needs fa4-sim")

# Operations of each unit, and the largest relative error. Costs come from the table of PTX forms, so that the
# test needs no ptxas; what that table cannot know is which instructions the assembler merges.
BOUNDS = {
    "fma.f32, latency": 0.1,
    "fma.f32, 16 warps": 0.05,
    "lop3.b32, 16 warps": 0.05,
    "ex2.approx.ftz.f32, latency": 0.1,
    "ex2.approx.ftz.f32, 8 warps": 0.05,
    "shfl.sync.bfly.b32, 8 warps": 0.05,
    "ld.shared.b32, latency": 0.1,
    "ld.shared.v4.b32, 8 warps": 0.05,
    "ld.global.cg.u64, latency, L2": 0.1,
    "bar.sync, 256 threads": 0.1,
    "mbarrier, there and back, 2 x 128 threads": 0.15,
    "barrier.cluster.arrive and wait, 2 CTAs": 0.1,
    "ld.shared::cluster.b32, latency": 0.1,
    "wgmma m64n8k16, A in shared memory, interval, 2 warpgroups": 0.05,
    "wgmma m64n128k16, A in shared memory, interval, 2 warpgroups": 0.05,
    "wgmma m64n64k16, A in registers, one and its wait": 0.15,
    "cp.async.bulk, load of 1024 bytes, latency, L2": 0.1,
    "cp.async.bulk, load of 32768 bytes, latency, L2": 0.1,
    "cp.async.bulk, 8 loads of 2048 bytes, L2": 0.15,
    "cp.async.bulk, store of 8192 bytes and its wait": 0.1,
}
PASSES = (8, 24)


def modelled(micro, folder):
    """Cycles of an operation, as fa4_bench.timing.kernel.measure has it from a card."""
    (folder / "k.ptx").write_text(micro.ptx)
    times = []
    for passes in PASSES:
        case = micro.case(passes)
        tensors = {}
        for buffer in case.buffers:
            np.save(folder / f"{buffer.name}.npy", np.frombuffer(buffer.data, dtype=np.uint8))
            tensors[buffer.name] = {"dtype": "u8", "shape": [len(buffer.data)], "file": f"{buffer.name}.npy", "alignment": 256}
        manifest = {"ptx": "k.ptx", "tensors": tensors, "params": [{"tensor": buffer.name} for buffer in case.buffers],
                    "grid": [case.ctas], "block": [case.threads], "cluster": [case.cluster]}  # fmt: skip
        (folder / "k.json").write_text(json.dumps(manifest))
        command = [tools.find_tool("fa4-sim"), folder / "k.json", "--time", "--costs=forms", "--output", f"out={folder}/result.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        times.append(micro.time([np.load(folder / "result.npy").tobytes()]))
    return (times[1] - times[0]) / (PASSES[1] - PASSES[0]) / micro.operations


@pytest.mark.parametrize("micro", [micro for micro in micros() if micro.name in BOUNDS], ids=lambda micro: micro.name)
def test_operations_cost_what_a_card_takes(micro, tmp_path):
    """A micro-benchmark runs under the simulator's clock: its cycles must be those measured on a GPU, within a
    bound."""
    measured = json.loads(timing.RECORDED.read_text())["cycles"][micro.name]
    assert modelled(micro, tmp_path) == pytest.approx(measured, rel=BOUNDS[micro.name])


def spilling_ptx(registers):
    """A loop over 64 sums, with at most that many registers for a thread."""
    sums = range(64)
    load = "\n".join(f"ld.global.f32 %f{n}, [%rd1+{4 * n}];" for n in sums)
    step = "\n".join(f"fma.rn.f32 %f{n}, %f{n}, %f64, %f{(n + 7) % 64};" for n in sums)
    store = "\n".join(f"st.global.f32 [%rd1+{4 * n}], %f{n};" for n in sums)
    return f""".version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) .reqntid 128 .maxnreg {registers} {{
.reg .f32 %f<65>; .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p<2>;
ld.param.u64 %rd1, [out];
ld.global.f32 %f64, [%rd1+256];
{load}
mov.u32 %r1, 50;
$L:
{step}
sub.u32 %r1, %r1, 1;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra $L;
{store}
ret;
}}
"""


@pytest.mark.skipif(not gpu.find_ptxas() or not gpu.find_cuda_tool("nvdisasm"), reason="needs ptxas and nvdisasm")
def test_spilled_registers_cost_time(tmp_path):
    """A kernel that spills registers takes longer. The clock must read that from machine code, because the PTX does not
    show local memory."""
    clocks = []
    for registers in (128, 40):
        (tmp_path / "k.ptx").write_text(spilling_ptx(registers))
        manifest = {"ptx": "k.ptx", "tensors": {"out": {"dtype": "f32", "shape": [65]}}, "params": [{"tensor": "out"}], "grid": [1], "block": [128]}
        (tmp_path / "k.json").write_text(json.dumps(manifest))
        command = [tools.find_tool("fa4-sim"), tmp_path / "k.json", "--time", "--costs=machine", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        time = json.loads(done.stdout)["runs"][0]["time"]
        assert time["costs"].startswith("machine code (ptxas 1")
        clocks.append(time["cycles"])
    spilled = gpu.assemble(tmp_path / "k.ptx", "sm_100a").spill_loads
    assert spilled > 50
    # Each of its loads takes the load/store unit for a clock a warp in each pass.
    assert clocks[1] - clocks[0] > 50 * 4 * spilled / 4 / 2


def test_all_bounds_are_of_operations():
    """Each bound must be that of a micro-benchmark that exists."""
    assert BOUNDS.keys() <= {micro.name for micro in micros()}
