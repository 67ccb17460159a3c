# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fa4-sim's clock says of changed kernels, in percent of the unchanged ones."""

import datetime
from pathlib import Path

from fa4_bench.timing import change_files as files
from fa4_bench.timing import changes
from fa4_bench.timing.model import for_each


def time(folder, sizes, settings):
    """(cycles of all launches of a call, where the costs of instructions come from). Raises EditError."""
    said = files.simulate(folder, sizes, "--time", *settings)
    times = [run["time"] for run in said["runs"]]
    if not times:
        raise files.EditError("no launch was timed")
    return sum(each["cycles"] for each in times), times[0]["costs"]


def simulate_all(folder, chosen, jobs, settings, commit):
    """The record: cycles of the unchanged kernels, and by how many percent each change makes them more."""
    folder = Path(folder)
    tasks = [(kernel, None) for kernel in dict.fromkeys(name.partition("/")[0] for name in chosen)] + list(chosen.items())

    def attempt(task):
        name, change = task
        kernel = name.partition("/")[0]
        return time(folder / (name if change else f"{name}/{files.UNCHANGED}"), files.call_of(kernel, change), settings)

    cycles, costs, absent = {}, set(), {}
    for (name, _), result in for_each(attempt, tasks, jobs):
        if isinstance(result, Exception):
            absent[name] = str(result)
        else:
            cycles[name] = result[0]
            costs.add(result[1])
    found = {}
    for name in chosen:
        base = cycles.get(name.partition("/")[0])
        if name in cycles and base:
            found[name] = {"percent": round(100 * (cycles[name] / base - 1), 2), "cycles": round(cycles[name])}
    kernels = {name: {"cycles": round(count)} for name, count in cycles.items() if name in changes.KERNELS}
    return {"commit": commit, "date": datetime.date.today().isoformat(), "costs": ", ".join(sorted(costs)), "kernels": kernels, "changes": found,
            "absent": absent}  # fmt: skip
