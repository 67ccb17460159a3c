# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much the model's answers hang on what nobody has measured on a Blackwell card: forward kernels with each parameter
at the ends of its range (`fa4-sim --sensitivity`), and the published figures under settings that somebody's statement
supports. `bench/versus-fa4 --sensitivity` is the command line."""

import json
import subprocess
from dataclasses import dataclass

from fa4_testing import gpu
from fa4_bench.timing import published
from fa4_bench.timing.effect_launches import PAIR, TILES

# What moves the time by less than this is no soft parameter.
LEAST = 0.005
NUMBER = 5


def forward_launches():
    """{title: launch} of FlashAttention-4's kernels: one wave of CTAs each, whose steady state is that of any length."""
    return {"hd64 full": TILES["hd64-full"][1], "hd128 full": PAIR, "hd128 causal": TILES["hd128-causal"][1]}


@dataclass(frozen=True)
class Softness:
    """A parameter's range, and what its ends do to the time, as shares."""

    low: float
    high: float
    confidence: str
    at_low: float
    at_high: float

    @property
    def most(self):
        return max(abs(self.at_low), abs(self.at_high))


def measure(*words):
    """{parameter: Softness} of a launch. Raises SimulationError."""
    command = [gpu.find_tool("fa4-sim"), *map(str, words), "--time", "--sensitivity", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise gpu.SimulationError(done.stderr.strip()[-2000:] or f"exit status {done.returncode}")
    found = json.loads(done.stdout)["runs"][0]["time"]["sensitivity"]
    return {each["parameter"]: Softness(each["low"], each["high"], each["confidence"], each["at_low"], each["at_high"]) for each in found}


def softest(by_kernel, number=NUMBER):
    """The parameters that move the time of any kernel the most. The clock is not one: cycles do not depend on it. `by_kernel`: {title: {parameter: Softness}}."""
    most = {}
    for found in by_kernel.values():
        for name, softness in found.items():
            if name != "clock" and softness.most >= LEAST:
                most[name] = max(most.get(name, 0), softness.most)
    return sorted(most, key=lambda name: (-most[name], name))[:number]


def sensitivity_lines(by_kernel):
    """The table in Markdown."""
    yield "| parameter | range | confidence | " + " | ".join(by_kernel) + " |"
    yield "|---|---|---|" + "---|" * len(by_kernel)
    for name in softest(by_kernel):
        known = next(found[name] for found in by_kernel.values() if name in found)
        cells = [f"{100 * found[name].at_low:+.1f}%, {100 * found[name].at_high:+.1f}%" if name in found else "" for found in by_kernel.values()]
        yield f"| `{name}` | {known.low:g} to {known.high:g} | {known.confidence} | " + " | ".join(cells) + " |"


# ---------------------------------------------------------------------------
# Settings that the published figures could speak for
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """`values`: words for --set; `source`: whose statement they are."""

    values: tuple
    source: str


# All of them within the ranges of the parameters' table.
SETTINGS = [
    Setting((), "the model as it is"),
    Setting(("tcgen05.ld.latency=100",), "between the statements of others, which are 20 to 50, 276 and 420"),
    Setting(("tcgen05.ld.latency=276",), "Meta's model: 532 for a load of 128 x 128, less 256 for which it occupies the unit (their 128 x 64 gives 51)"),
    Setting(("tcgen05.ld.rate=64",), "Meta's model: 128 x 128 occupies the unit for 256"),
    Setting(("mbarrier.remote=181",), "the end of the range of what was derived from an H100"),
    Setting(("l2.rate=5150",), "the end of the range: each SM reads its own addresses, as on an H100"),
]


def figures(cycles):
    """(errors of the runs at a fixed clock as shares, differences of the ratios in points)"""
    errors = [cycles[run.launched.name] / run.ghz / 1e9 / run.seconds - 1 for run in published.FIXED]
    speed = {launch.name: launch.flops / cycles[launch.name] for launch in published.launches()}
    return errors, [100 * (speed[r.upper.name] / speed[r.lower.name] - r.ratio) for r in published.RATIOS]


def setting_lines(by_setting):
    """The table in Markdown. `by_setting`: {Setting: {launch's name: cycles}}."""
    yield "| setting | source | runs at a fixed clock | ratios, points | bars missed |"
    yield "|---|---|---|---|---|"
    for setting, cycles in by_setting.items():
        errors, differences = figures(cycles)
        name = ", ".join(f"`{value}`" for value in setting.values) or "none"
        count = f"{len(published.missed(cycles))} of {len(errors) + len(differences)}"
        yield f"| {name} | {setting.source} | {', '.join(f'{100 * e:+.0f}%' for e in errors)} | {', '.join(f'{d:+.1f}' for d in differences)} | {count} |"


def headline(by_setting):
    """Returns what the page says first."""
    misses = [len(published.missed(cycles)) for cycles in by_setting.values()]
    count = len(published.FIXED) + len(published.RATIOS)
    return f"Under each of {len(by_setting)} settings the model misses {min(misses)} to {max(misses)} of {count} published figures"


TEXT = """No Blackwell card was at hand: [the model](../../docs/timing.md)'s parameters for one are others' publications and
guesses, each with a range ([TimingParameters.def](../../include/fa4/Target/TimingParameters.def)).

## The softest parameters

What each does to the time of FlashAttention-4's forward kernels ({version}; 4096 keys, one wave of CTAs) at the low and
at the high end of its range: the five that move it the most.

"""

SETTINGS_TEXT = """
## Published figures under other settings

FlashAttention-4's hd128 kernels take longer on a card at 1.8 GHz than the model says ([by how much](published.md)). A
single setting may explain that, if it has a source of its own. In the order of that page: four runs at a fixed clock (full
4k, 2k, causal 4k, 2k), and five ratios (causal / full at hd128 8k; hd64 / hd128 at 4k and 16k; causal / full at hd128 4k
and hd64 4k).

"""

CONCLUSION = """
Only the latency of `tcgen05.ld` moves the time that far: it stands once in the recurrence from the scores to the next scores. No setting makes all figures agree: what brings the runs
at a fixed clock near makes causal kernels too slow beside full ones. The latency stays at 20, because the loads that others timed alone (16 columns and their wait: 36; 128 columns in a kernel: 160)
contradict 276. Nor can cycles explain all of it: the full run of 4k tokens took 4.22 times as long as that of 2k, and is 4 times the work, so that the clock was not 1.8 GHz in all of it, or
something grows with the length that the model does not have. One run of a `tcgen05.ld` beside products on a card would settle it.
"""
