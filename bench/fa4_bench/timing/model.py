# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fa4-sim's clock says of the kernels that were measured on a card, and how far that is from the measurement."""

import contextlib
import json
import os
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

from fa4_bench.instructions import simulate
from fa4_bench.timing import peers
from fa4_bench.timing.kernel import PASSES

# Bars for the real kernels: the mean of the absolute errors, the worst one, and the correlation of ranks.
MEAN_BAR, WORST_BAR, RANK_BAR = 0.10, 0.20, 0.9


@contextlib.contextmanager
def peers_tools():
    """Meanwhile fa4-sim takes ptxas and nvdisasm, whose machine code the card ran, from the peers' environment, where that has
    them and nobody has chosen others."""
    scratch = peers.records_folder().parent
    environment = os.environ.get("FA4_PEERS_ENVIRONMENT") or scratch / "environment"
    chosen = {}
    for tool in ("ptxas", "nvdisasm"):
        for path in peers.Path(environment).glob(f"lib/python3*/site-packages/nvidia/cu13/bin/{tool}"):
            variable = f"FA4_{tool.upper()}"
            if os.access(path, os.X_OK) and variable not in os.environ:
                chosen.setdefault(variable, str(path))
    os.environ.update(chosen)
    try:
        yield
    finally:
        for variable in chosen:
            os.environ.pop(variable, None)


class Model:
    """fa4-sim with options such as `--set NAME=VALUE`."""

    def __init__(self, simulator, options=()):
        self.simulator, self.options = simulator, list(options)

    def micro(self, micro):
        """Cycles of an operation, as on the card: the kernel reads the clock itself."""
        times = []
        for passes in PASSES:
            contents = simulate.contents(micro.case(passes), self.simulator, "--time", *self.options)
            times.append(micro.time(contents))
        return (times[1] - times[0]) / (PASSES[1] - PASSES[0]) / micro.operations

    def kernel(self, kernel):
        """(cycles, where costs come from) of the main launch of a record, with what lies between it and the launch before, as on the card.
        Raises RuntimeError where it cannot be run, or has a finding."""
        folder = peers.records_folder() / kernel.name
        launch = folder / f"launch-{kernel.main_launch}.json"
        if not launch.exists():
            launch = folder / "kernel.json"
        command = [self.simulator, str(launch), "--random", "--time", "--json", *self.options]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            summary = json.loads(done.stdout)
            time = summary["runs"][0]["time"]
        except (ValueError, KeyError, IndexError):
            raise RuntimeError((done.stderr or done.stdout).strip()[-1000:]) from None
        if not summary["ok"]:
            raise RuntimeError(summary["runs"][0]["reports"][0]["message"])
        return time["seconds"] * time["clock_ghz"] * 1e9, time["costs"]


def for_each(function, items, jobs):
    """[(item, result or exception)], on several processors."""

    def attempt(item):
        try:
            return item, function(item)
        except (RuntimeError, subprocess.SubprocessError, OSError) as error:
            return item, error

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(attempt, items))


def error_of(measured, modelled):
    return modelled / measured - 1


def ranks(values):
    """The rank of each value; equal values share the mean of theirs."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def judge(pairs):
    """(mean of the absolute errors, the worst of them, correlation of ranks) of pairs (measured, modelled)."""
    errors = [abs(error_of(*pair)) for pair in pairs]
    a, b = ranks([p[0] for p in pairs]), ranks([p[1] for p in pairs])
    spread = statistics.pstdev(a) * statistics.pstdev(b)
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    correlation = statistics.fmean((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / spread if spread else 1.0
    return statistics.fmean(errors), max(errors), correlation


def missed(figures):
    """The names of the bars that figures of judge() miss."""
    mean, worst, correlation = figures
    return [name for name, is_missed in (("mean error", mean > MEAN_BAR), ("worst error", worst > WORST_BAR),
                                         ("rank correlation", correlation < RANK_BAR)) if is_missed]  # fmt: skip
