# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4's kernels on a B200 under the clock of fa4-sim beside what others have measured and published. The
parameters of Blackwell are fitted to none of these. `bench/versus-fa4 --published` is the command line.

Runs at a fixed clock come first: there the model's cycles are compared, because power limits cannot reach them. Of other
runs the clock is unknown, and only ratios of two of them are compared."""

from dataclasses import dataclass

from fa4_bench.timing.launched import Launched


@dataclass(frozen=True)
class Fixed:
    """A run at a fixed clock. `seconds` are those of one launch; `source` is an issue or a pull request of
    Dao-AILab/flash-attention."""

    launched: Launched
    seconds: float
    ghz: float
    source: str


@dataclass(frozen=True)
class Ratio:
    """The ratio of the speeds (operations a second) of two launches of one run."""

    name: str
    upper: Launched
    lower: Launched
    ratio: float
    source: str


def forward(head_dim, mask, batch, heads, length):
    return Launched("fwd", head_dim, mask, batch, heads, length)


# B200, 1800 MHz, batch 128 and 4 heads; the build without spills.
FIXED = [
    Fixed(forward(128, "full", 128, 4, 4096), 3.433e-3, 1.8, "#2869"),
    Fixed(forward(128, "full", 128, 4, 2048), 0.813e-3, 1.8, "#2869"),
    Fixed(forward(128, "causal", 128, 4, 4096), 1.922e-3, 1.8, "#2869"),
    Fixed(forward(128, "causal", 128, 4, 2048), 0.580e-3, 1.8, "#2869"),
]
# 32k tokens, 2048 columns.
RATIOS = [
    Ratio("causal / full, hd128 8k", forward(128, "causal", 4, 16, 8192), forward(128, "full", 4, 16, 8192), 1418.1 / 1534.8, "#2280"),
    Ratio("hd64 / hd128, full 4k", forward(64, "full", 8, 32, 4096), forward(128, "full", 8, 16, 4096), 825 / 1256, "#2605"),
    Ratio("hd64 / hd128, full 16k", forward(64, "full", 2, 32, 16384), forward(128, "full", 2, 16, 16384), 879 / 1330, "#2605"),
    Ratio("causal / full, hd128 4k", forward(128, "causal", 8, 16, 4096), forward(128, "full", 8, 16, 4096), 1062 / 1256, "#2605"),
    Ratio("causal / full, hd64 4k", forward(64, "causal", 8, 32, 4096), forward(64, "full", 8, 32, 4096), 708 / 825, "#2605"),
]


def launches():
    """All launches that are needed, each once."""
    needed = [run.launched for run in FIXED] + [side for each in RATIOS for side in (each.upper, each.lower)]
    return list(dict.fromkeys(needed))


def lines(cycles):
    """The tables in Markdown. `cycles`: launch's name -> cycles by the model."""
    yield "| run, at a fixed clock | measured, ms | modelled, ms | error | source |"
    yield "|---|---|---|---|---|"
    for run in FIXED:
        modelled = cycles[run.launched.name] / run.ghz / 1e9
        error = modelled / run.seconds - 1
        yield f"| {run.launched.name} | {run.seconds * 1e3:.3f} | {modelled * 1e3:.3f} | {error:+.1%} | {run.source} |"
    yield ""
    yield "| ratio of speeds | measured | modelled | difference, points | source |"
    yield "|---|---|---|---|---|"
    for each in RATIOS:
        speed = [side.flops / cycles[side.name] for side in (each.upper, each.lower)]
        modelled = speed[0] / speed[1]
        yield f"| {each.name} | {each.ratio:.3f} | {modelled:.3f} | {100 * (modelled - each.ratio):+.1f} | {each.source} |"


def missed(cycles):
    """The names of the runs that are off by more than 10%, and of the ratios that are off by more than 5 points."""
    runs = [run.launched.name for run in FIXED if abs(cycles[run.launched.name] / run.ghz / 1e9 / run.seconds - 1) > 0.1]
    speed = {launch.name: launch.flops / cycles[launch.name] for launch in launches()}
    return runs + [r.name for r in RATIOS if abs(speed[r.upper.name] / speed[r.lower.name] - r.ratio) > 0.05]
