# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kinds of attention in rows.py mean, as functions of torch: FlexAttention compiles them, and the reference computes with
them. score(s, b, h, i, j) is the score of query i and key j, visible(i, j) whether it counts. specs.py says the same to fa4."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from fa4_bench.hopper.rows import CAP, DOCUMENT, PREFIX, REACH, WINDOW


@dataclass(frozen=True)
class Meaning:
    """`is_shifted`: positions of queries count from the end, so that the last query and the last key stand side by side."""

    score: Callable | None = None
    visible: Callable | None = None
    is_shifted: bool = False


def _causal(i, j):
    return j <= i


def _window(i, j):
    return (j <= i) & (i - j < WINDOW)


def _documents(i, j):
    return i // DOCUMENT == j // DOCUMENT


def _prefix(i, j):
    return (j <= i) | (j < PREFIX)


def _alibi(s, b, h, i, j):
    return s - torch.exp2(-1.0 * (h // 2 + 1)) * (i - j).abs()


def _softcap(s, b, h, i, j):
    return CAP * torch.tanh(s / CAP)


def _relative(s, b, h, i, j):
    return s + 0.01 * torch.clamp(j - i, -REACH, REACH)


MEANINGS = {
    "full": Meaning(),
    "causal": Meaning(visible=_causal, is_shifted=True),
    "causal-top-left": Meaning(visible=_causal),
    "window": Meaning(visible=_window, is_shifted=True),
    "documents": Meaning(visible=_documents),
    "prefix": Meaning(visible=_prefix),
    "alibi": Meaning(score=_alibi),
    "alibi-causal": Meaning(score=_alibi, visible=_causal),
    "softcap": Meaning(score=_softcap),
    "relative": Meaning(score=_relative),
}


def flex_functions(kind):
    """(score_mod, mask_mod) as FlexAttention takes them, of as many queries as keys."""
    meaning = MEANINGS[kind]
    mask = meaning.visible and (lambda b, h, i, j: meaning.visible(i, j))
    return meaning.score, mask
