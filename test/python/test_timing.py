# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The micro-benchmarks of bench/timing, without a card: their kernels run in fa4-sim, and what was recorded
is what the page says."""

import json
import subprocess

import pytest

from fa4 import tools
from fa4.instructions import simulate
from fa4.timing import __main__ as timing
from fa4.timing.kernel import PASSES, measure
from fa4.timing.micro import FAMILIES, micros

needs_simulator = pytest.mark.skipif(not tools.has_tools("fa4-sim"), reason="needs fa4-sim")


@needs_simulator
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_kernels_run(family):
    """With all checks: what races or hangs is not worth measuring."""
    simulator = tools.find_tool("fa4-sim")
    for micro in family():
        results = []
        case = micro.case(2)
        case.differences = results.extend
        assert not simulate.run(case, simulator, seeds="0:0"), micro.name
        assert micro.time(results) > 0, micro.name


def test_cycles_of_an_operation():
    """What stands outside of the loop is not counted, the least of several launches is."""
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
    recorded = json.loads(timing.RECORDED.read_text())
    assert list(recorded["cycles"]) == [micro.name for micro in micros()]
    assert timing.PAGE.read_text() == timing.page(recorded)


def test_without_a_card():
    command = [timing.ROOT / "bench" / "timing", "--measure", "/nowhere/x.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("timing: ")
