# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times changed kernels on a card, each between two launches of the unchanged one, in one process.

Cycles are those of the SMs' own clock from a spy in front of the launches to one behind them (replay.py), and the clock is what they and
the time give: the mean clock of exactly what is timed. It needs numpy, ml_dtypes, libfa4_runtime and the driver."""

import datetime
import json
import math
import statistics
import sys
import time
from pathlib import Path

from fa4.errors import Fa4Error
from fa4_bench.timing import change_files as files
from fa4_bench.timing import changes
from fa4_bench.timing.replay import Replayer

# Changes between two launches of the unchanged kernel.
CHUNK = 3
# Random numbers that are repeated to fill a tensor.
NUMBERS = 1 << 20


class Bench:
    """A card with the inputs and results of one kernel, which all of its changes share."""

    def __init__(self, card):
        self.card, self.replayer, self.arrays = card, Replayer(card), {}

    def fill(self, manifest, sizes):
        """Makes the tensors of a call: random numbers, whatever their role is."""
        import numpy as np

        from fa4 import _cuda
        from fa4.kernel import numpy_dtype

        self.free()
        numbers = np.random.default_rng(1).standard_normal(NUMBERS, dtype=np.float32)
        for place, (name, tensor) in enumerate(manifest["tensors"].items()):
            if tensor.get("role") == "workspace":
                continue
            shape = [int(size) if size.isdigit() else sizes[size] for size in map(str, tensor["shape"])]
            contents = np.resize(np.roll(numbers, 97 * place).astype(numpy_dtype(tensor["dtype"])), math.prod(shape))
            self.arrays[name] = _cuda.DeviceArray(self.card, contents.reshape(shape))

    def free(self):
        for array in self.arrays.values():
            array.free()
        self.arrays = {}

    def load(self, folder, scalars):
        """A prepared call of the kernel of a folder, on the tensors."""
        from fa4_bench.hopper import ours

        return ours.load(Path(folder)).prepare(**self.arrays, **scalars)

    def timed(self, call, count):
        """(cycles of a launch, its microseconds) among that many."""
        cycles, seconds = self.replayer.sample(lambda: call.launch(0), count)
        return cycles / count, 1e6 * seconds / count

    def burst(self, call):
        time.sleep(changes.PROTOCOL["idle_seconds"])
        return self.timed(call, changes.PROTOCOL["burst_launches"])

    def sustained(self, call, us):
        seconds, warm = changes.PROTOCOL["sustained_seconds"], changes.PROTOCOL["warm_seconds"]
        for _ in range(math.ceil(1e6 * warm / us)):
            call.launch(0)
        return self.timed(call, math.ceil(1e6 * (seconds - warm) / us))


def in_chunks(names, first):
    """The names in an order that begins with another one each time, some at a time."""
    turned = names[first % len(names) :] + names[: first % len(names)]
    return [turned[place : place + CHUNK] for place in range(0, len(turned), CHUNK)]


def round_of(names, first, measure):
    """One round: {name: (sample, sample of the unchanged kernel)}. That is the mean of the one before and the one behind."""
    found, before = {}, measure(None)
    for chunk in in_chunks(names, first):
        samples = {name: measure(name) for name in chunk}
        behind = measure(None)
        base = tuple(statistics.fmean(pair) for pair in zip(before, behind, strict=True))
        found |= {name: (sample, base) for name, sample in samples.items()}
        before = behind
    return found


def percents(pairs, of):
    """By how many percent a sample exceeds that of the unchanged kernel, in each round. `of`: 0 for cycles, 1 for the time."""
    return [100 * (sample[of] / base[of] - 1) for sample, base in pairs]


def summary(bursts, loops):
    """What the record has of a change, from the pairs of its rounds."""
    cycles = percents(bursts, 0)
    return {"percent": round(statistics.median(cycles), 2), "spread": round(max(cycles) - min(cycles), 2),
            "sustained_percent": round(statistics.median(percents(loops, 1)), 2), "mhz": megahertz([sample for sample, _ in bursts]),
            "sustained_mhz": megahertz([sample for sample, _ in loops])}  # fmt: skip


def megahertz(samples):
    return round(statistics.median(cycles / us for cycles, us in samples))


def summary_of_base(bursts, loops):
    """What the record has of an unchanged kernel."""
    bases, sustained = ([base for pairs in rounds.values() for _, base in pairs] for rounds in (bursts, loops))
    cycles = [base[0] for base in bases]
    middle = statistics.median(cycles)
    return {"cycles": round(middle), "us": round(statistics.median(us for _, us in bases), 2), "mhz": megahertz(bases),
            "spread": round(100 * (max(cycles) - min(cycles)) / middle, 2),
            "sustained_us": round(statistics.median(us for _, us in sustained), 2), "sustained_mhz": megahertz(sustained)}  # fmt: skip


def measure_kernel(bench, kernel, chosen, folder):
    """(what the record has of a kernel, {name: what it has of a change}). A change that does not load is named on stderr and left out."""
    unchanged = Path(folder, kernel, files.UNCHANGED)
    bench.fill(json.loads(files.manifest_of(unchanged).read_text()), files.call_of(kernel))
    calls = {None: bench.load(unchanged, {})}
    for name, change in chosen.items():
        # First, so that the last line names a kernel that never ends.
        print(f"{name} ", end="", file=sys.stderr, flush=True)
        try:
            calls[name] = bench.load(Path(folder, name), dict(change.sizes))
            calls[name].launch(0)
            bench.card.synchronize()
        except (Fa4Error, OSError) as error:
            calls.pop(name, None)
            print(f"\ntiming: {name}: {error}", file=sys.stderr)
    print(file=sys.stderr)
    names = [name for name in calls if name]
    usual = {name: bench.timed(call, 2)[1] for name, call in calls.items()}
    bursts, loops = {name: [] for name in names}, {name: [] for name in names}
    for first in range(changes.PROTOCOL["burst_rounds"]):
        for name, pair in round_of(names, 7 * first, lambda name: bench.burst(calls[name])).items():
            bursts[name].append(pair)
    for first in range(changes.PROTOCOL["sustained_rounds"]):
        for name, pair in round_of(names, 7 * first, lambda name: bench.sustained(calls[name], usual[name])).items():
            loops[name].append(pair)
    return summary_of_base(bursts, loops), {name: summary(bursts[name], loops[name]) for name in names}


def measure_all(card, folder, chosen, known, write):
    """Measures the changes that are chosen, and calls `write` with the record after each kernel; what `known`, a record, says of other changes
    with the same card and kernels stays."""
    made, bench = files.read_made(folder), Bench(card)
    about = {"card": card.name, "commit": made["commit"], "protocol": changes.PROTOCOL}
    if any(known.get(key) != value for key, value in about.items()):
        known = {}
    record = {**about, "date": datetime.date.today().isoformat(), "driver": card.devices()[0].driver, "kernels": known.get("kernels", {}),
              "changes": known.get("changes", {})}  # fmt: skip
    for kernel in dict.fromkeys(name.partition("/")[0] for name in chosen):
        mine = {name: change for name, change in chosen.items() if name.startswith(f"{kernel}/") and name in made["changes"]}
        if not mine:
            continue
        record["kernels"][kernel], found = measure_kernel(bench, kernel, mine, folder)
        record["changes"] = changes.in_order(record["changes"] | {name: entry | made["changes"][name] for name, entry in found.items()})
        write(record)
        base = record["kernels"][kernel]
        print(f"{kernel}: {len(found)} changes; unchanged {base['cycles']} cycles, {base['us']} us at {base['mhz']} MHz, spread {base['spread']}%",
              file=sys.stderr, flush=True)  # fmt: skip
    bench.free()
    return record
