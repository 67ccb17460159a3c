# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times all candidates of a row in turn, in one process and by two protocols: *burst* is a few launches of a card that has been idle,
*sustained* a loop of launches that lasts, whose beginning does not count. A round takes each candidate once by a protocol; rounds begin
with another candidate each."""

import math
import statistics
import sys
import time
from dataclasses import dataclass

import torch

from fa4.errors import Fa4Error
from fa4_bench.hopper import candidates, ours
from fa4_bench.hopper.clock import Resident, Spies, mean_megahertz
from fa4_bench.hopper.tables import is_right

BURST_LAUNCHES, IDLE_SECONDS = 8, 0.12
# Before a candidate is timed: the first launches load code, and allocate.
WARM_LAUNCHES = 3


@dataclass(frozen=True)
class Plan:
    """How much is measured: rounds of each protocol, and the seconds of a sustained loop, of which the first ones warm it up."""

    burst_rounds: int = 5
    sustained_rounds: int = 3
    sustained_seconds: float = 0.8
    warm_seconds: float = 0.3
    watch: bool = True


QUICK = Plan(burst_rounds=3, sustained_rounds=0, watch=False)


class Stage:
    """What stands around launches that are timed."""

    def __init__(self, card):
        self.spies, self.resident = Spies(card), Resident(card)

    def timed(self, launch, count, before=lambda: None):
        """(microseconds of a launch, MHz) of that many launches."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        before()
        self.spies.begin()
        events[0].record()
        for _ in range(count):
            launch()
        events[1].record()
        self.spies.end()
        pairs = self.spies.read()
        return 1e3 * events[0].elapsed_time(events[1]) / count, mean_megahertz(*pairs)

    def burst(self, launch):
        torch.cuda.synchronize()
        time.sleep(IDLE_SECONDS)
        return self.timed(launch, BURST_LAUNCHES, self.spies.hold)

    def sustained(self, launch, microseconds, plan):
        warm, timed = (math.ceil(seconds * 1e6 / microseconds) for seconds in (plan.warm_seconds, plan.sustained_seconds - plan.warm_seconds))
        torch.cuda.synchronize()
        return self.timed(launch, timed, lambda: [launch() for _ in range(warm)])

    def watched(self, launch, microseconds, seconds):
        """(least, median, most) MHz that the resident thread sees; in a burst where `seconds` is 0."""
        torch.cuda.synchronize()
        if not seconds:
            time.sleep(IDLE_SECONDS)
        count = math.ceil(seconds * 1e6 / microseconds) or BURST_LAUNCHES
        return self.resident.watch(lambda: [launch() for _ in range(count)])


def in_turn(names, rounds):
    """The names of each round: each begins with another one."""
    return [names[first % len(names) :] + names[: first % len(names)] for first in range(rounds)]


def summary(samples, watched):
    """Of (microseconds, MHz)."""
    times, clocks = [us for us, _ in samples], [mhz for _, mhz in samples if mhz]
    found = {"us": round(statistics.median(times), 2), "spread": round((max(times) - min(times)) / min(times), 4)}
    found |= {"mhz": round(statistics.median(clocks))} if clocks else {}
    return found | ({"seen_mhz": [round(mhz) for mhz in watched]} if watched else {})


def time_all(stage, chosen, plan):
    """{name: {protocol: summary}} of candidates."""
    by_name = {candidate.name: candidate for candidate in chosen}
    names, found = list(by_name), {name: {} for name in by_name}
    for candidate in chosen:
        for _ in range(WARM_LAUNCHES):
            candidate.launch()
    bursts = {name: [] for name in names}
    for order in in_turn(names, plan.burst_rounds):
        for name in order:
            bursts[name].append(stage.burst(by_name[name].launch))
    usual = {name: statistics.median(us for us, _ in samples) for name, samples in bursts.items()}
    loops = {name: [] for name in names}
    for order in in_turn(names, plan.sustained_rounds):
        for name in order:
            loops[name].append(stage.sustained(by_name[name].launch, usual[name], plan))
    for name, candidate in by_name.items():
        for protocol, samples, seconds in (("burst", bursts, 0), ("sustained", loops, plan.warm_seconds)):
            if samples[name]:
                watched = stage.watched(candidate.launch, usual[name], seconds) if plan.watch else None
                found[name][protocol] = summary(samples[name], watched)
    return found


def make_all(problem, card, records, places):
    """(candidates, {name: why there is none}). A peer that is no peer of the row is not named."""
    made, absent = [], {}
    for name, make in candidates.PEERS.items():
        try:
            made.append(make(problem, card, records))
        except candidates.Unavailable as error:
            absent |= {name: str(error)} if "is a peer of" not in str(error) else {}
        except (RuntimeError, ValueError) as error:
            absent[name] = f"{type(error).__name__}: {error}"[:300]
    for place in ours.of_row(places, problem.row):
        try:
            made.append(candidates.of_fa4(problem, place))
        except (Fa4Error, OSError, ValueError) as error:
            absent[f"ours:{place.variant}"] = str(error)[:300]
    return made, absent


def check(candidate, problem):
    """{result: [error, allowed]} after a launch."""
    for result in candidate.results.values():
        result.fill_(torch.nan)
    candidate.launch()
    return {name: [float(f"{value:.3g}") for value in pair.tolist()] for name, pair in problem.bounds.errors(candidate.results).items()}


def measure_row(row, stage, card, records, places, plan):
    """What the record has of a row. A candidate with a wrong result is not timed."""
    problem = candidates.Problem(row)
    made, absent = make_all(problem, card, records, places)
    found, right = {"flops": row.flops, "candidates": {}, "absent": absent}, []
    for candidate in made:
        try:
            errors = check(candidate, problem)
        except RuntimeError as error:
            absent[candidate.name] = f"{type(error).__name__}: {error}"[:300]
            torch.cuda.synchronize()  # Where the GPU is in an error, nothing can be measured after this.
            continue
        found["candidates"][candidate.name] = {"errors": errors}
        if all(is_right(*pair) for pair in errors.values()):
            right.append(candidate)
        else:
            print(f"hopper: {row.name}: {candidate.name} is wrong: {errors}", file=sys.stderr)
    # What the reference took is not needed while kernels are timed.
    problem.bounds = None
    torch.cuda.empty_cache()
    for name, times in time_all(stage, right, plan).items():
        found["candidates"][name] |= times
    for candidate in made:
        candidate.close()
    return found
