# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward attention on pairs of CTAs with one fault, and what finds it: as
`fa4_testing.mutation.mutants` has it of CTAs that are alone. What only pairs have to get wrong
is among the faults of `fa4_testing.mutation.faults`: the rank of the CTA that an arrival goes
to, whom a commit tells, bytes and arrivals of one CTA instead of both, the
cluster's barriers at its begin and end, and with the schedule `clc` requests for
work, whose responses come to both CTAs."""

import functools

from fa4_testing import gpu
from fa4_testing.mutation import mutants
from fa4_testing.mutation.mutants import COLUMN_CALLS, QUICK_CALLS, Call  # noqa: F401

OPERATIONS = [gpu.Op(head_dim, "full", pairs=True) for head_dim in (64, 128)]
# CTAs that go on from work tile to work tile.
OPERATIONS += [gpu.Op(128, "full", schedule="clc", pairs=True)]
_LAZY, _EAGER = ("--policy=lazy",), ("--policy=eager",)
# A work tile has 256 queries and a pair two of them, so that of 300 queries the second CTA has 44, of 200 none, and of
# 600 the second pair is one CTA with rows and one without.
CALLS = mutants.CALLS + [
    Call(600, 300, "normal", ("--seeds=2:3",)), Call(200, 1700, "falling", _LAZY), Call(512, 600, "normal", _EAGER),
    Call(130, 768),  # The last of 6 blocks is in the last of 3 stages.
    # A cluster has all work tiles of a call by requests, of which the last one fails: 1, 2 or 4 of the calls above, and
    # odd numbers of them.
    Call(1300, 130, "normal", _LAZY), Call(300, 300, "falling", ("--seeds=4:5",), 1, 5),
]  # fmt: skip
# More responses than a barrier has phases to tell apart.
PHASE_CALLS = mutants.PHASE_CALLS + [Call(100, 130, "normal", ("--seeds=6:6",), 1, 9)]
# Steps, some of which lack a CTA, and which CTAs have parts of tiles.
QUICK_RANGES = ("0:5", "346:349", "600:602", "1064:1067")
SUBJECTS = {mutants.name_of(op): functools.partial(mutants.Subject, op) for op in OPERATIONS}
