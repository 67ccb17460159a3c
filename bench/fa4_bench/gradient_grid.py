# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correctness grid of the gradient: the sizes of `fa4_testing.grid`, each with forms of
`attn.sdpa_backward`, compiled by fa4-compile, run in fa4-sim with all checks, and held to
FlashAttention's rule against float64. `bench/grid --gradient` is its command line.

Each form is compiled once: sizes are dynamic. A case is one form, one pair of lengths and one
choice of heads, simulated under several schedules (seeds)."""

import functools
import itertools
import re
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fa4 import reference
from fa4_testing import gpu, head_dims
from fa4_testing.grid import HEADS, LARGE_HEADS, PAIRS, PAIRS_PER_SECOND, QUICK_WORK, pairwise, possible
from fa4_testing.programs.forms import MASK_MODS, SCORE_MODS
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Sizes
from fa4.reference import Mask

# Head dims of q and k, of v.
HEAD_DIMS = {"64": (64, 64), "128": (128, 128), "96": (96, 96), "32": (32, 32), "128-64": (128, 64), "80-112": (80, 112)}
WIDE_HEAD_DIMS = {f"{head_dim}-{head_dim_v}": (head_dim, head_dim_v) for head_dim, head_dim_v in head_dims.GRADIENTS}
MASKS = dict(gpu.MASKS) | {
    "window": Mask("bottom_right", 100, 20), "left-window": Mask("bottom_right", 64, None),
    "causal-window": Mask.causal("bottom_right", 150),
}  # fmt: skip
FORMS = {
    "plain": {},
    "dlse": dict(dlse=True),
    "sinks": dict(sinks="f32", dsinks=True),
    "softcap": SCORE_MODS["softcap"],
    "alibi": SCORE_MODS["alibi"],
    "blocks": MASK_MODS["blocks"],
    "both-mods": MASK_MODS["with score_mod"] | dict(mask=None),
}
PARAMETERS = {
    "head_dim": tuple(HEAD_DIMS), "mask": tuple(MASKS), "dtype": tuple(gpu.DTYPES), "layout": ("bshd", "bhsd", "sbhd"),
    "pair": PAIRS, "heads": tuple(HEADS), "form": tuple(FORMS), "schedule": ("grid", "lpt"),
    "deterministic": (False, True),
}  # fmt: skip
WIDE = {"head_dim": tuple(WIDE_HEAD_DIMS)}
# What kernels of pairs of CTAs have: their MMAs have multiples of 32 columns.
PAIRED = {
    "head_dim": tuple(name for name, dims in HEAD_DIMS.items() if all(dim % 32 == 0 for dim in dims)),
    "schedule": gpu.SCHEDULES,
}
# What fa4-compile says of a kernel for which the chip's memory is too small, and of a deterministic one whose work tiles
# have no order.
REFUSED = re.compile(r"needs \d+ (bytes of shared|columns of tensor) memory; |takes turns that are not proven to come: ")


@dataclass(frozen=True)
class Case:
    head_dim: str
    mask: str
    dtype: str
    layout: str
    pair: tuple
    heads: str
    form: str
    schedule: str = "grid"
    deterministic: bool = False
    pairs: bool = False

    @property
    def op(self):
        """The form, with the sizes of none of its calls."""
        return replace(self.gradient, sizes=Sizes())

    @property
    def head_dims(self):
        return (HEAD_DIMS | WIDE_HEAD_DIMS)[self.head_dim]

    @property
    def gradient(self):
        head_dim, head_dim_v = self.head_dims
        is_large = self.pair[0] * self.pair[1] > QUICK_WORK
        queries, keys = (LARGE_HEADS if is_large else HEADS)[self.heads]
        sizes = Sizes(1 if is_large else 2, *self.pair, keys, queries // keys)
        return Gradient(
            **dict(head_dim=head_dim, head_dim_v=head_dim_v, dtype=self.dtype, layout=self.layout, sizes=sizes,
                   deterministic=self.deterministic,
                   options=(f"--schedule={self.schedule}", *["--pairs=on"] * self.pairs)) | FORMS[self.form] | dict(mask=MASKS[self.mask])
        )  # fmt: skip

    def __str__(self):
        sq, sk = self.pair
        form = f"hd{self.head_dim}-{self.mask}-{self.dtype}-{self.layout}"
        return f"{form}-{self.heads}-{sq}x{sk}-{self.form}-{self.schedule}{'-deterministic' * self.deterministic}{'-pairs' * self.pairs}"

    def seconds(self, count):
        """Returns roughly the seconds for `count` schedules and the reference."""
        sizes = self.gradient.sizes
        sq, sk = (-(-n // 128) * 128 for n in self.pair)
        work = sizes.b * sizes.hq * sq * sk * (sum(self.head_dims) + 64) / 320
        return 0.5 + 3 * (count + 0.5 + 0.5 * self.deterministic) * work / PAIRS_PER_SECOND


@functools.cache
def exists(head_dim: str, schedule: str, deterministic: bool = False) -> bool:
    """Whether there are kernels on pairs of a head dim and a schedule: fa4-compile says so of the plain form. All cases
    are compiled, so that one of another form that is refused would be a failure. What memory a kernel needs is known at
    the level `allocate`; turns are proven behind that."""
    level = "nvvm" if deterministic else "allocate"
    case = Case(head_dim, "full", "bf16", "bshd", (1, 1), "mha", "plain", schedule, deterministic, pairs=True)
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        source = Path(scratch, "gradient.mlir")
        source.write_text(case.op.mlir())
        try:
            gpu.run_tool("fa4-compile", source, *case.op.options, f"--emit={level}", "-o", scratch)
        except gpu.CompileError as error:
            return not REFUSED.search(str(error))
    return True


def misfits(parameters: dict, pairs: bool) -> set:
    """Returns the head dims and schedules, and the schedules and turns, that do not go together, as `pairwise` takes
    them. CTAs that are alone have schedules here by which a CTA has one work tile, and there are kernels of all forms."""
    found = set()
    for schedule in parameters["schedule"] if pairs else ():
        made = [head_dim for head_dim in parameters["head_dim"] if exists(head_dim, schedule)]
        found |= {(("head_dim", head_dim), ("schedule", schedule)) for head_dim in parameters["head_dim"] if head_dim not in made}
        if made and not exists(made[0], schedule, deterministic=True):
            found.add((("schedule", schedule), ("deterministic", True)))
    return found


def full_cases(parameters: dict = PARAMETERS, pairs: bool = False) -> list[Case]:
    """Each pair of lengths with each head dim and mask, the other parameters drawn for each, but always the same,
    so that no two of them go together; the quick ones, too."""
    cases = set(quick_cases(parameters, pairs))
    others = [name for name in parameters if name not in ("head_dim", "mask", "pair")]
    without = misfits(parameters, pairs)
    for chosen in itertools.product(*(parameters[name] for name in ("head_dim", "mask", "pair"))):
        rng = np.random.default_rng(zlib.crc32(repr(chosen).encode()))
        values = dict(zip(("head_dim", "mask", "pair"), chosen))
        for name in others:
            left = possible(parameters, values, name, without)
            values[name] = left[rng.integers(len(left))]
        cases.add(Case(**values, pairs=pairs))
    return sorted(cases, key=lambda case: (case.seconds(1), str(case)))


def quick_cases(parameters: dict = PARAMETERS, pairs: bool = False) -> list[Case]:
    """Returns cases with small sizes, such that each value of each parameter occurs
    with each value of each other one."""
    small = tuple(pair for pair in PAIRS if pair[0] * pair[1] <= QUICK_WORK)
    return [Case(**case, pairs=pairs) for case in pairwise(parameters | {"pair": small}, misfits(parameters, pairs))]


def operations(cases: Iterable[Case]) -> list[Gradient]:
    """Returns the distinct ops, in order."""
    return list(dict.fromkeys(case.op for case in cases))


class Outcome(NamedTuple):
    """The outcome of a case that has passed: its errors and the allowed ones."""

    dq: reference.Errors
    dk: reference.Errors
    dv: reference.Errors


def run_case(
    case: Case, launches: gpu.Launches, schedules: int = 1, data_seed: int = 0, timeout: float | None = None
) -> Outcome:
    """Runs a case. Raises gpu.SimulationError or AssertionError, whose message says
    what is wrong."""
    gradient = case.gradient
    given = gradient.draw(np.random.default_rng([data_seed, zlib.crc32(str(case).encode())]))
    results = gradient.simulate(launches, given, (0, schedules - 1), timeout=timeout)
    gradient.check_order(launches, given, [results], timeout)
    return Outcome(**gradient.check(given, results))
