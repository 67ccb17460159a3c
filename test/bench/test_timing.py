# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The micro-benchmarks of bench/timing, without a card: their kernels run in fa4-sim, what was recorded
is what the page says, and records of real kernels are replayed on a driver that only counts."""

import ctypes
import json
import os
import struct
import subprocess

import pytest

from fa4 import tools
from fa4_testing import results
from fa4_bench.instructions import simulate
from fa4_bench.timing import __main__ as timing
from fa4_bench.timing import model, peers, replay, tables
from fa4_bench.timing.kernel import PASSES, measure
from fa4_bench.timing.micro import FAMILIES, micros

needs_simulator = pytest.mark.skipif(not tools.has_tools("fa4-sim"), reason="needs fa4-sim")


@needs_simulator
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_kernels_run(family):
    """The kernels of bench/timing run without a finding under all checks: a kernel that races or hangs is not worth
    measuring."""
    simulator = tools.find_tool("fa4-sim")
    for micro in family():
        results = []
        case = micro.case(2)
        case.ctas = min(case.ctas, max(3, case.cluster))  # All SMs of a chip do the same.
        case.differences = results.extend
        assert not simulate.run(case, simulator, seeds="0:0"), micro.name
        assert micro.time(results) > 0, micro.name


def test_cycles_of_an_operation():
    """The cycles of an operation are those of the loop only, and of several launches the least counts."""
    micro = micros()[0]
    calls = []

    def launch(case):
        passes = int.from_bytes(case.buffers[1].data[:8], "little")
        calls.append(passes)
        begin, end = 1000, 1000 + 700 + passes * 3 * micro.operations + len(calls) % 3
        clocks = b"".join(value.to_bytes(8, "little") for value in (begin, end) * micro.threads)
        return [bytes(64) + clocks]

    assert abs(measure(micro, launch) - 3) < 0.01
    assert set(calls) == set(PASSES)


def test_page_is_what_was_recorded():
    """The page of timings must be what the recorded and the modelled figures give."""
    recorded, modelled = (json.loads(path.read_text()) for path in (timing.RECORDED, timing.MODELLED))
    assert list(recorded["cycles"]) == [micro.name for micro in micros()]
    assert list(recorded["kernels"]) == [kernel.name for kernel in peers.all_kernels()]
    assert (results.FOLDER / "timing.md").read_text() == results.wrapped(tables.page(recorded, modelled))


def test_bars():
    """Errors are relative to the measurement. The worst one is compared with its bar, and so is the order of the
    kernels."""
    assert model.judge([(100, 110), (200, 180), (300, 300)]) == pytest.approx((0.2 / 3, 0.1, 1.0))
    mean, worst, correlation = model.judge([(100, 130), (110, 120), (120, 100)])
    assert (round(mean, 3), round(worst, 3), round(correlation, 3)) == (0.186, 0.3, -1.0)
    assert model.missed((0.1, 0.2, 0.9)) == []
    assert model.missed((0.101, 0.201, 0.89)) == ["mean error", "worst error", "rank correlation"]


def test_summary():
    """Half of the forms is 4% off and half of them 15%; a form that is not modelled misses the bars."""
    recorded = {"kernels": {form.name: {"cycles": 1000 * (i + 1)} for i, form in enumerate(peers.FORMS)}}
    found = {form.name: 1000 * (i + 1) * (1.04 if i % 2 == 0 else 0.85) for i, form in enumerate(peers.FORMS)}
    lines, failed = tables.summary(recorded, {"kernels": found})
    assert [line for line in lines if line.startswith("| fit")] == ["| fit | 12 | 4.0% | 4.0% | 1.000 | met |"]
    assert failed == ["held out: mean error missed"]
    del found["bwd-hd64-full-1k"]
    assert tables.summary(recorded, {"kernels": found})[1][0] == "fit: 1 kernels are not modelled: bwd-hd64-full-1k"


def test_without_a_card():
    """The machine has no GPU: the command must fail with one line of error."""
    command = [timing.ROOT / "bench" / "timing", "--measure", "/nowhere/x.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("timing: ")


def test_half_of_the_forms_is_held_out():
    """The model must be fitted to every second of 24 forms, whose FLOPs are as counted by hand."""
    names = [form.name for form in peers.FORMS]
    assert len(set(names)) == 24 and names[:4] == ["fwd-hd64-full-1k", "fwd-hd64-full-4k", "fwd-hd64-full-16k", "fwd-hd64-causal-1k"]
    assert [peers.is_fitted(form) for form in peers.FORMS] == [True, False] * 12
    assert peers.Form("fwd", 128, "causal", 4096).flops == 2 * 16 * 4 * 4096**2 * 128


class CountingDriver:
    """In place of a card: each launch takes 1000 cycles for each CTA of its grid, and 1 us; the two reads of the clock are 500 cycles apart."""

    name = "none"

    def __init__(self):
        self.address, self.clock, self.launches, self.memory = 1 << 20, 0, [], {}

    def load(self, _):
        return ctypes.c_void_p(1)

    def call(self, name, *arguments):
        getattr(self, name, lambda *_: None)(*arguments)

    def cuMemAlloc_v2(self, address, size):  # noqa: N802
        address._obj.value, self.address = self.address, self.address + size.value

    def cuModuleGetFunction(self, function, _, name):  # noqa: N802
        function._obj.value = len(self.memory) + 1
        self.memory[function._obj.value] = name.decode()

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, count, *_):  # noqa: N802
        count._obj.value = 2

    def cuLaunchKernelEx(self, config, function, arguments, _):  # noqa: N802
        name, config = self.memory[function.value], config._obj
        if name == "spy":
            self.clock += 500
            self.spied = [*getattr(self, "spied", []), self.clock][-2:]
        elif name not in ("delay", "fill"):
            raw = [ctypes.string_at(arguments[i], 8) for i in range(len(arguments)) if arguments[i]]
            self.launches.append((name, list(config.grid), raw))
            self.clock += 1000 * config.grid[0]

    def cuEventElapsedTime(self, milliseconds, *_):  # noqa: N802
        milliseconds._obj.value = (self.clock - self.spied[0]) / 1e6

    def cuMemcpyDtoH_v2(self, data, address, size):  # noqa: N802
        ctypes.memmove(data, b"".join(struct.pack("<QQ", clock, 0) * 132 for clock in self.spied), size.value)


def test_replay(tmp_path):
    """A record is replayed: its addresses become those of buffers, also inside of structures, and only the launches
    count."""
    record = {"kernel": "main", "ptx": "launch-0.ptx", "grid": [40, 2, 1], "block": [128, 1, 1], "cluster": [1, 1, 1], "dynamic_smem": 1024,
              "params": [{"bytes": struct.pack("<IQ", 7, 0x700100000040).hex()}, {"bytes": "2a000000"}],
              "tensors": {"q": {"dtype": "bf16", "shape": [4, 8], "strides": [8, 1], "address": "0x700000000000"},
                          "out": {"dtype": "f32", "shape": [4, 8], "strides": [8, 1], "address": "0x700100000000"}}}  # fmt: skip
    (tmp_path / "launch-0.json").write_text(json.dumps(record))
    (tmp_path / "launch-0.cubin").write_bytes(b"cubin")
    (tmp_path / "stamp").write_text("ptxas 13\n")
    driver = CountingDriver()
    kernel = peers.Unseen("some", "none", (), 10**9)
    found = replay.run(replay.Replayer(driver), kernel, tmp_path)
    assert (found["cycles"], found["spread"], found["ctas_per_sm"]) == (40000, 0, 2)
    assert found["parts"]["1"]["cycles"] == 1000 and found["parts"]["wave"]["grid"] == [40, 2, 1]
    name, grid, raw = driver.launches[0]
    assert (name, grid) == ("main", [40, 2, 1])
    assert raw[0][:4] == struct.pack("<I", 7) and raw[1][:4] == struct.pack("<I", 42)
    # The buffers follow that of the clocks; out lies behind the 64 bytes of q.
    low = (1 << 20) + 4 * 16 * 132 + 64 + 0x40
    assert raw[0][4:8] == struct.pack("<Q", low)[:4]


def test_peers_tools_go_with_the_command(monkeypatch, tmp_path):
    """A command gets the tools of the peers' environment, and the next command does not keep them. A tool that somebody
    has chosen stays."""
    ptxas = tmp_path / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13" / "bin" / "ptxas"
    ptxas.parent.mkdir(parents=True)
    for tool in (ptxas, ptxas.with_name("nvdisasm")):
        tool.touch(0o755)
    monkeypatch.setenv("FA4_PEERS_ENVIRONMENT", str(tmp_path))
    monkeypatch.delenv("FA4_PTXAS", raising=False)
    monkeypatch.setenv("FA4_NVDISASM", "chosen")
    with pytest.raises(RuntimeError), model.peers_tools():
        assert (os.environ["FA4_PTXAS"], os.environ["FA4_NVDISASM"]) == (str(ptxas), "chosen")
        raise RuntimeError
    assert "FA4_PTXAS" not in os.environ and os.environ["FA4_NVDISASM"] == "chosen"
