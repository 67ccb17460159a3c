# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kinds of attention in rows.py mean, as functions of torch: FlexAttention compiles them, and the reference computes with
them. score(s, b, h, i, j) is the score of query i and key j, visible(i, j) whether it counts. specs.py says the same to fa4."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from fa4_bench.hopper.rows import CAP, DOCUMENT, PREFIX, REACH, TABLE_SHAPES, WINDOW, documents_of


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


def make_tables(kind, heads, length, device):
    """The captured tensors of a kind, in the order of its captures; the same in each call."""
    if kind == "documents-table":
        return [torch.tensor(documents_of(length), device=device, dtype=torch.int32)]
    generator = torch.Generator(device).manual_seed(length)
    dtype = torch.bfloat16 if kind == "bias" else torch.float32
    shapes = TABLE_SHAPES[kind](heads, length) if kind in TABLE_SHAPES else []
    return [torch.randn(shape, generator=generator, device=device, dtype=dtype) for shape in shapes]


# What kinds mean with their tables.
_OF_TABLES = {
    "documents-table": lambda document: Meaning(visible=lambda i, j: document[i] == document[j]),
    "bias": lambda bias: Meaning(score=lambda s, b, h, i, j: s + bias[h, i, j].to(s.dtype)),
    "key-bias": lambda bias: Meaning(score=lambda s, b, h, i, j: s + bias[j].to(s.dtype)),
    "buckets": lambda table: Meaning(score=lambda s, b, h, i, j: s + table[h, torch.clamp(j - i + REACH, 0, 2 * REACH - 1)].to(s.dtype)),
}


def meaning_of(kind, heads, length, device):
    """The meaning of a kind in a call with so many query heads and positions."""
    return _OF_TABLES[kind](*make_tables(kind, heads, length, device)) if kind in _OF_TABLES else MEANINGS[kind]


def flex_functions(meaning):
    """(score_mod, mask_mod) as FlexAttention takes them, of as many queries as keys."""
    mask = meaning.visible and (lambda b, h, i, j: meaning.visible(i, j))
    return meaning.score, mask
