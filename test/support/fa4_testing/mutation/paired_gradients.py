# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main kernel of the gradient on pairs of CTAs with one fault, and what finds it:
`fa4_testing.mutation.gradients` has it of CTAs that are alone, `fa4_testing.mutation.pairs` what pairs
have to get wrong besides. What CTAs exchange is theirs only."""

import functools
from dataclasses import replace

from fa4_testing.mutation import gradients
from fa4_testing.mutation.gradients import COLUMN_CALLS, PHASE_CALLS
from fa4_testing.mutation.mutants import Call

_PAIRED = ("backward-hd64-causal-deterministic", "backward-hd128-full")
FORMS = {f"{name}-pairs": replace(gradients.FORMS[name], options=("--pairs=on",)) for name in _PAIRED}

_LAZY, _EAGER = ("--policy=lazy",), ("--policy=eager",)
# A pair has two tiles of 128 keys: of 130 keys the second CTA has 2, of 100 none, and of 260 the second pair is one CTA
# with keys and one without.
CALLS = gradients.CALLS + [
    Call(600, 260, "normal", ("--seeds=2:3",)), Call(300, 512, "normal", _LAZY), Call(640, 200, "normal", _EAGER),
    # Two pairs at a time, of three: one has added a part of a sum when the other has not.
    Call(900, 700, "normal", ("--seeds=2:5", "--threads=4")),
]  # fmt: skip
QUICK_CALLS = CALLS[:2]
# Steps, some of which lack a CTA, what an exchange counts, and which CTAs have parts of tiles.
QUICK_RANGES = ("300:305", "700:702", "1000:1002", "1689:1694", "1736:1739")
__all__ = ["CALLS", "COLUMN_CALLS", "PHASE_CALLS", "QUICK_CALLS", "QUICK_RANGES", "SUBJECTS"]

SUBJECTS = {name: functools.partial(gradients.GradientSubject, name, form) for name, form in FORMS.items()}
