# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correctness grid of forward attention: FlashAttention's test pairs of
(Sq, Sk) up to 2048, each with all forms of the op and several kinds of input,
compiled by fa4-compile, run in fa4-sim with all checks, and held to
FlashAttention's rule against float64. `bench/grid` is its command line.

Each form is compiled once: sizes are dynamic. A case is one form, one pair, one
choice of heads and one kind of input; it is simulated under several schedules
(seeds), other ones for each kind of input."""

import itertools
import json
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fa4 import reference
from fa4_testing import gpu, head_dims

# (Sq, Sk) of FlashAttention-4's dense tests.
PAIRS = (
    (1, 1), (3, 3), (64, 32), (64, 128), (64, 1), (128, 128), (128, 192),
    (256, 256), (255, 256), (239, 1), (799, 3), (113, 203), (113, 128),
    (128, 217), (113, 211), (108, 256), (256, 512), (384, 256), (640, 128),
    (512, 256), (1024, 1024), (1023, 1024), (1024, 1023), (2048, 2048),
)  # fmt: skip
# Query heads, key/value heads.
HEADS = {"mha": (2, 2), "gqa4": (8, 2), "mqa": (3, 1)}
# Of large cases, which find a second key/value head in the small ones.
LARGE_HEADS = {"mha": (2, 2), "gqa4": (4, 1), "mqa": (3, 1)}
HEAD_DIMS = (64, 128)
WIDE = {"head_dim": head_dims.WIDE}
LAYOUTS = ("bshd", "bhsd")
SCHEDULES = gpu.SCHEDULES
# So few that CTAs of the schedule "static" have several work tiles; in pairs, two of them and an SM that is left over.
SM_COUNT, PAIRED_SM_COUNT = 3, 5
# Kernels of pairs of CTAs have all values of the parameters.
PAIRED = {}
HOPPER = {"schedule": gpu.HOPPER_SCHEDULES}
LSE_TOLERANCE = 1e-3
# Work of one second with all checks: query x key pairs of one head at head dim
# 128. Seen on two cores that had other work, too.
PAIRS_PER_SECOND = 2**20 / 0.5
QUICK_WORK = 256 * 512


# ---------------------------------------------------------------------------
# Inputs
# ---------------------------------------------------------------------------


def _normal(rng, *shapes):
    """Draws normal q, k, v, token-major: [B, S, H, D]."""
    return tuple(rng.standard_normal(shape) for shape in shapes)


def _large(rng, *shapes):
    """Draws inputs whose scores have magnitudes of 200 and more; their standard
    deviation is 60."""
    q, k, v = _normal(rng, *shapes)
    return 60 * q, k, v


def _constant(rng, *shapes):
    """Makes inputs with which every score is the same, and so is every row of out."""
    return tuple(np.full(shape, rng.uniform(-1, 1)) for shape in shapes)


def _steps(rng, blocks, shapes):
    """Scores around 12 `blocks`, whose deviation is that of 0.1 times normal
    inputs: more than the 8 powers of two by which a running max may lag."""
    q, k, v = _normal(rng, *shapes)
    head_dim = q.shape[-1]
    direction = rng.choice([-1.0, 1.0], head_dim)
    step = 12 / np.sqrt(head_dim)
    k = 0.3 * k + step * blocks[:, None, None] * direction
    return 0.3 * q + direction, k, v


def _rising(rng, *shapes):
    """Makes inputs with which the row max rises from each block of 128 keys to the
    next."""
    return _steps(rng, np.arange(shapes[1][1]) // 128, shapes)


def _falling(rng, *shapes):
    """Makes inputs with which the row max rises for a loop from the last key to the
    first."""
    blocks = np.arange(shapes[1][1]) // 128
    return _steps(rng, blocks.max(initial=0) - blocks, shapes)


INPUTS = {
    "normal": _normal,
    "large": _large,
    "constant": _constant,
    "rising": _rising,
    "falling": _falling,
}


def hide_keys(layout, given):
    """Makes the rows of k and v NaN that lie behind `seqlens_k`, if there are lengths: nothing that is there may count.
    `given` are the operands by their names."""
    bounds = given.get("cu_seqlens_k")
    for array, (sequence, valid) in itertools.product((given["k"], given["v"]), enumerate(given.get("seqlens_k", ()))):
        if bounds is not None:
            rows = np.moveaxis(array, layout.index("t"), 0)[bounds[sequence] : bounds[sequence + 1]]
        else:
            rows = np.moveaxis(array, (layout.index("b"), layout.index("s")), (0, 1))[sequence]
        rows[max(valid, 0) :] = np.nan


# ---------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    head_dim: int
    mask: str
    dtype: str
    layout: str
    pair: tuple
    heads: str
    inputs: str
    schedule: str = "grid"
    pairs: bool = False

    @property
    def value_dim(self):
        return head_dims.VALUE_DIMS.get(self.head_dim, self.head_dim)

    @property
    def op(self):
        value_dim = head_dims.VALUE_DIMS.get(self.head_dim)
        return gpu.Op(self.head_dim, self.mask, self.dtype, self.layout, self.schedule, self.pairs, value_dim)

    @property
    def is_large(self):
        return self.pair[0] * self.pair[1] > QUICK_WORK

    @property
    def batch(self):
        """Returns the batch size. Large cases have one sequence; the small ones test
        the second."""
        return 1 if self.is_large else 2

    @property
    def head_counts(self):
        return (LARGE_HEADS if self.is_large else HEADS)[self.heads]

    def __str__(self):
        sq, sk = self.pair
        form = f"hd{self.head_dim}-{self.mask}-{self.dtype}-{self.layout}"
        return f"{form}-{self.heads}-{sq}x{sk}-{self.inputs}-{self.schedule}{'-pairs' * self.pairs}"

    def seeds(self, count):
        """Returns the first and the last schedule, which differ between kinds of input.
        """
        first = list(INPUTS).index(self.inputs) * count
        return first, first + count - 1

    def seconds(self, count):
        """Returns roughly the seconds for `count` schedules and the reference."""
        sq, sk = (-(-n // 128) * 128 for n in self.pair)
        work = self.batch * self.head_counts[0] * sq * sk * (self.head_dim + 64) / 192
        seen = 0.6 if self.mask != "full" and min(sq, sk) > 256 else 1.0
        return 0.2 + (seen * count + 0.5) * work / PAIRS_PER_SECOND

    def draw(self, seed):
        """Draws q, k, v in the op's dtype and layout."""
        hq, hkv = self.head_counts
        sq, sk = self.pair
        shapes = [
            (self.batch, tokens, heads, head_dim)
            for tokens, heads, head_dim in ((sq, hq, self.head_dim), (sk, hkv, self.head_dim), (sk, hkv, self.value_dim))
        ]
        rng = np.random.default_rng([seed, zlib.crc32(str(self).encode())])
        order = ["bshd".index(letter) for letter in self.layout]
        return tuple(
            np.ascontiguousarray(x.transpose(order)).astype(gpu.DTYPES[self.dtype])
            for x in INPUTS[self.inputs](rng, *shapes)
        )


PARAMETERS = {
    "head_dim": HEAD_DIMS,
    "mask": tuple(gpu.MASKS),
    "dtype": tuple(gpu.DTYPES),
    "layout": LAYOUTS,
    "pair": PAIRS,
    "heads": tuple(HEADS),
    "inputs": tuple(INPUTS),
    "schedule": SCHEDULES,
}


def turn(case: Case, parameter: str, but: tuple, parameters: dict = PARAMETERS) -> bool:
    """Whether it is the turn of the case's value of `parameter`: cases that differ in
    nothing but this parameter and `but` have one of its values."""
    chosen = sum(
        values.index(getattr(case, name))
        for name, values in parameters.items()
        if name not in (parameter, *but)
    )
    values = parameters[parameter]
    return getattr(case, parameter) == values[chosen % len(values)]


def full_cases(parameters: dict = PARAMETERS, pairs: bool = False) -> list[Case]:
    """All of them, the quick ones first, with schedules that take turns. Large ones
    take turns with the layout, too, and leave the alignment of causal masks to the
    small ones: it hardly matters where there are about as many queries as keys.
    `parameters` are PARAMETERS, some with other values."""
    cases = [Case(*values, pairs=pairs) for values in itertools.product(*parameters.values())]
    if not pairs:
        cases = [
            case
            for case in cases
            if turn(case, "schedule", (), parameters)
            and (
                not case.is_large
                or (turn(case, "layout", ("inputs", "schedule"), parameters) and case.mask != "causal-top-left")
            )
        ]
    return sorted({*cases, *quick_cases(parameters, pairs)}, key=lambda case: (case.seconds(1), str(case)))


def quick_cases(parameters: dict = PARAMETERS, pairs: bool = False) -> list[Case]:
    """Returns cases with small sizes, such that each value of each parameter occurs
    with each value of each other one."""
    small = tuple(pair for pair in PAIRS if pair[0] * pair[1] <= QUICK_WORK)
    return [Case(**case, pairs=pairs) for case in pairwise(parameters | {"pair": small})]


def with_chosen(parameters: dict, choice: dict, name: str, value) -> list:
    """Returns the pairs of a parameter's value with the values that are chosen already, each in the order of the
    parameters."""
    place = list(parameters).index
    both = [sorted(((other, chosen), (name, value)), key=lambda one: place(one[0])) for other, chosen in choice.items()]
    return [tuple(pair) for pair in both]


def possible(parameters: dict, choice: dict, name: str, without: Collection) -> list:
    """Returns the values of a parameter that go with what is chosen already."""
    return [v for v in parameters[name] if not any(pair in without for pair in with_chosen(parameters, choice, name, v))]


def pairwise(parameters: dict, without: Collection = ()) -> list[dict]:
    """Few choices of a value for each parameter, so that any two values of two
    parameters are in one of them. Greedy, always the same. `without`: pairs of (parameter, value), in the order of
    the parameters, which no choice has together; each choice of other values must leave every parameter a value."""
    names = list(parameters)
    open_pairs = {
        ((a, x), (b, y)): None
        for a, b in itertools.combinations(names, 2)
        for x in parameters[a]
        for y in parameters[b]
        if ((a, x), (b, y)) not in without
    }

    def covered(choice, name, value):
        """Returns the open pairs of `value` with the values that are chosen already."""
        return [pair for pair in with_chosen(parameters, choice, name, value) if pair in open_pairs]

    used = {(name, value): 0 for name in names for value in parameters[name]}
    choices = []
    while open_pairs:
        choice = dict(next(iter(open_pairs)))
        for name in sorted(names, key=lambda n: -len(parameters[n])):
            if name not in choice:
                choice[name] = max(
                    possible(parameters, choice, name, without),
                    key=lambda v: (len(covered(choice, name, v)), -used[name, v]),
                )
        for (a, x), (b, y) in itertools.combinations(
            [(name, choice[name]) for name in names], 2
        ):
            open_pairs.pop(((a, x), (b, y)), None)
        for name in names:
            used[name, choice[name]] += 1
        choices.append({name: choice[name] for name in names})
    return choices


def operations(cases: Iterable[Case]) -> list[gpu.Op]:
    """Returns the distinct ops, in order."""
    return list(dict.fromkeys(case.op for case in cases))


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The outcome of a case that has passed: its errors and the allowed ones."""

    out: reference.Errors
    lse: reference.Errors


def run_case(
    case: Case,
    kernel: gpu.Kernel,
    schedules: int = 1,
    data_seed: int = 0,
    timeout: float | None = None,
) -> Outcome:
    """Runs a case. Raises gpu.SimulationError or AssertionError, whose message says
    what is wrong."""
    q, k, v = case.draw(data_seed)
    inputs = {"q": q, "k": k, "v": v}
    if "sm_count" in json.loads(kernel.manifest.read_text())["sizes"]:
        inputs["sm_count"] = PAIRED_SM_COUNT if case.pairs else SM_COUNT
    results = gpu.simulate(
        kernel,
        inputs,
        {"out": q.dtype, "lse": np.dtype(np.float32)},
        seeds=case.seeds(schedules),
        options=["--threads", "1"],
        timeout=timeout,
    )
    form = case.op.form
    out, lse = reference.sdpa(q, k, v, **form)
    same_out, _ = reference.sdpa_same_dtype(q, k, v, **form)
    floor = LSE_TOLERANCE + reference.rounding_floor(lse, np.float32)
    return Outcome(
        reference.check(results["out"], out, same_out, "out"),
        reference.check(results["lse"], lse, lse, "lse", floor=floor),
    )
