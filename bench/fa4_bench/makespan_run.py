# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models when attention finishes with each schedule of work tiles, on FlashAttention's benchmark
shapes (16k tokens, 2048 / head dim heads) and on those of the bars. Exit status 1 when a bar is missed, 2 when
nothing could be run.

The work tiles, their order and the passes of their loops are those of the kernels that fa4-compile writes
(level assign-work), the cycles of a pass are those of their rooflines. Hardware is taken to start CTAs, and to give
away those that have not started, in the order of their numbers. Not modelled: what a masked block costs more, HBM and L2
(only shown: how many K/V heads are worked on at once), clocks that differ. An SM has room for one CTA: a kernel has all of tensor memory.

Columns of the table:
  finish    when the last SM is done
  / bound   finish over the larger of all cycles / SMs and of the cycles of the longest tile:
  no assignment of the same tiles to SMs is done earlier, at what tiles cost with that schedule
  / best    finish over that of the schedule that finishes first
  heads     the most K/V heads that are worked on at once, and their bytes; a head counts as a whole
  The schedule that --schedule=auto chooses has a star; (n MB) is what the order gives the K and V
  of one section of L2; where a section gives way to the next, both are worked on.

Bars: causal, 32 heads of head dim 128, 8k tokens, batch 1 and 2: lpt and clc finish within 5 % of the bound."""

import argparse
import itertools
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fa4_bench import makespan
from fa4_testing import gpu
from fa4_testing.cpu import CompileError, ToolNotFoundError
from fa4_testing.programs.program import Program
from fa4.reference import Mask

BAR = 1.05
BAR_SCHEDULES = ("lpt", "clc")
MASKS = {
    "full": None,
    "causal": Mask.causal("bottom_right"),
    "window": Mask.causal("bottom_right", left=1024),
}
HEAD_DIMS = (64, 128)
BATCHES = ((32, 512), (16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384))
MEGABYTE = 1e6


@dataclass(frozen=True)
class Shape:
    head_dim: int
    mask: str
    batch: int
    tokens: int
    heads: int
    is_bar: bool = False

    def __str__(self):
        return f"hd{self.head_dim}-{self.mask}-{self.batch}x{self.tokens}x{self.heads}"

    @property
    def program(self):
        """What is compiled: all other sizes are those of a launch."""
        return Program(head_dim=self.head_dim, mask=MASKS[self.mask])

    @property
    def sizes(self):
        return {"B": self.batch, "Sq": self.tokens, "Sk": self.tokens, "Hq": self.heads, "Hkv": self.heads}


def all_shapes() -> list[Shape]:
    """The benchmark's shapes, then those of the bars."""
    found = [
        Shape(head_dim, mask, batch, tokens, 2048 // head_dim)
        for head_dim, mask, (batch, tokens) in itertools.product(HEAD_DIMS, MASKS, BATCHES)
    ]
    return found + [Shape(128, "causal", batch, 8192, 32, is_bar=True) for batch in (1, 2)]


def quick_shapes() -> list[Shape]:
    """The bars, and head dim 128 with few and with many tokens."""
    return [s for s in all_shapes() if s.is_bar or s.head_dim == 128 and s.batch in (1, 32)]


# ---------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    kernel: makespan.TileKernel
    cycles: float  # of a pass


def compile_program(program: Program, schedule: str) -> Compiled:
    """The kernel at the level assign-work, and what its roofline says of a pass."""
    text = program.mlir()
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        source = Path(folder, "op.mlir")
        source.write_text(text)
        emit = "--emit=assign-work,split-exp"
        report = gpu.run_tool("fa4-compile", source, f"--schedule={schedule}", emit, "--report", "-o", folder)
        level = next(Path(folder).glob("*.assign-work.mlir"))
        generic = gpu.run_tool("fa4-opt", level, "--mlir-print-op-generic")
    roofline = re.search(r"^roofline of .*?^ *largest +\d+ +(\d+)$", report, re.MULTILINE | re.DOTALL)
    if not roofline:
        raise CompileError("fa4-compile --report has no roofline with a largest bound")
    return Compiled(makespan.TileKernel(generic), float(roofline[1]))


class Kernels:
    """Compiles each form once with each schedule, and finds what 'auto' chooses."""

    def __init__(self):
        self.made = {}

    def get(self, shape: Shape, schedule: str) -> Compiled:
        key = shape.program, schedule
        if key not in self.made:
            self.made[key] = compile_program(*key)
        return self.made[key]

    def chosen(self, shape: Shape) -> str:
        return self.get(shape, "auto").kernel.schedule


# ---------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Of a shape with a schedule: cycles, cycles, K/V heads at once, bytes of them, bytes that the order leaves for them (0: none)."""

    finish: float
    bound: float
    heads: int
    bytes: int
    budget: int

    @property
    def ratio(self):
        return self.finish / self.bound


def model(shape: Shape, schedule: str, compiled: Compiled, options) -> Outcome:
    kernel = compiled.kernel
    costs = makespan.Costs(compiled.cycles, options.start, options.fill, options.drain, options.overlap)
    tiles = kernel.tiles(shape.sizes)
    passes = kernel.passes(tiles, shape.sizes)
    timeline = makespan.simulate(schedule, passes, costs, options.sms, not options.late_requests)
    at_once = [(timeline.most_at_once(reads.groups), reads.size) for reads in kernel.reads(tiles, shape.sizes)]
    return Outcome(
        timeline.finish,
        costs.bound(passes, schedule, options.sms),
        max((heads for heads, _ in at_once), default=0),
        sum(heads * size for heads, size in at_once),
        kernel.order.cache_bytes if kernel.order.group_bytes > 1 else 0,
    )


def lines(shape: Shape, outcomes: dict, chosen: str, options):
    best = min(outcome.finish for outcome in outcomes.values())
    for schedule, outcome in outcomes.items():
        micros = outcome.finish / options.clock / 1e3
        budget = f" ({outcome.budget / MEGABYTE:.0f} MB)" if outcome.budget else ""
        yield (
            f"{str(shape):26} {schedule + ('*' if schedule == chosen else ''):8} {micros:9.1f} us {outcome.ratio:8.3f} "
            f"{outcome.finish / best:8.3f} {outcome.heads:6} {outcome.bytes / MEGABYTE:8.1f} MB{budget}"
        )


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="makespan", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = parser.add_argument
    add("--quick", action="store_true", help="the bars, and head dim 128 with 512 and 16k tokens")
    add("--shape", default="", metavar="REGEX", help="only shapes whose name has a match, e.g. hd128-causal")
    add("--sms", type=int, default=148, metavar="N", help="SMs of the chip (default: %(default)s, B200)")
    add("--clock", type=float, default=1.80, metavar="GHZ",
        help="clock of the SMs (default: %(default)s, what a B200 holds in attention: NVIDIA/cudnn-frontend 817 has 1.79 to 1.83)")
    add("--start", type=float, default=1000, metavar="CYCLES",
        help="from the end of a CTA to the first load of the next one: launch, mbarriers, tensor memory (default: %(default)s, an estimate: "
             "253 cycles are measured for tcgen05.alloc, 1030 with all SMs at once)")
    add("--fill", type=float, default=2000, metavar="CYCLES",
        help="from the first load to the steady state of a tile (default: %(default)s, an estimate: 900 for a TMA load while all SMs "
             "load, 1100 for the first pass, whose products and exponentials have no other ones beside them)")
    add("--drain", type=float, default=3000, metavar="CYCLES",
        help="from the last product to the end of the stores (default: %(default)s, an estimate: 532 cycles for a tile from tensor "
             "memory, 150 + 16 a KB to shared memory, 130 + 52 a KB from there by TMA)")
    add("--overlap", type=float, default=0.8, metavar="SHARE",
        help="of fill and drain, where a CTA goes on with another tile (default: %(default)s, an estimate: loads and stores overlap, "
             "the first products and exponentials do not)")
    add("--late-requests", action="store_true",
        help="clc asks for a tile at the end of the one before, not at its begin as the kernels do")
    options = parser.parse_args(argv)
    if options.sms < 1 or options.clock <= 0 or not 0 <= options.overlap <= 1:
        parser.error("--sms and --clock must be positive, --overlap from 0 to 1")
    if min(options.start, options.fill, options.drain) < 0:
        parser.error("--start, --fill and --drain must not be negative")
    return options


def main(argv=None) -> int:
    options = parse_arguments(argv)
    shapes = [s for s in (quick_shapes() if options.quick else all_shapes()) if re.search(options.shape, str(s))]
    if not shapes:
        print("makespan: no shape has a name with a match", file=sys.stderr)
        return 2
    kernels, bars, slow = Kernels(), [], []
    print(f"{'head dim, mask, batch x tokens x heads':35} {'finish':>12} {'/ bound':>8} {'/ best':>8} {'heads':>6} {'of them':>11}")
    try:
        for shape in shapes:
            chosen = kernels.chosen(shape)
            outcomes = {s: model(shape, s, kernels.get(shape, s), options) for s in gpu.SCHEDULES}
            print(*lines(shape, outcomes, chosen, options), sep="\n", flush=True)
            best = min(outcomes, key=lambda s: outcomes[s].finish)
            slow.append((outcomes[chosen].finish / outcomes[best].finish, str(shape), chosen, best))
            if shape.is_bar:
                bars += [(shape, s, outcomes[s].ratio) for s in BAR_SCHEDULES]
    except (CompileError, ToolNotFoundError, makespan.UnsupportedKernelError) as error:
        print(f"makespan: {error}", file=sys.stderr)
        return 2
    factor, name, chosen, best = max(slow)
    print(f"what --schedule=auto chooses takes at most {factor:.3f} times as long as the best schedule: {name}, {chosen}, best {best}")
    for shape, schedule, ratio in bars:
        print(f"bar {shape} {schedule}: {ratio:.3f} of the bound, at most {BAR}: {'ok' if ratio <= BAR else 'MISSED'}")
    return int(any(ratio > BAR for _, _, ratio in bars))


if __name__ == "__main__":
    sys.exit(main())
