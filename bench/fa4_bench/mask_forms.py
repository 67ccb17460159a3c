# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The masks of bench/masks, and which blocks each of them leaves, by asking about every pair of a query and a key."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

WINDOW, PREFIX, DOCUMENT, SINKS, DILATION = 512, 512, 256, 4, 4


@dataclass(frozen=True)
class MaskForm:
    """`visible(b, h, i, j, *tables)` says which pairs are, to fa4, numpy and torch alike; None shows all. `tables` are what it reads, by
    name. Where fa4.sdpa takes something else than `visible` as the mask_mod, `clauses` are that, and `beside` its arrays."""

    queries: int
    keys: int
    visible: Callable | None = None
    tables: Mapping[str, np.ndarray] = field(default_factory=dict)
    batch: int = 1
    clauses: Mapping | None = None
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)

    def spec_clauses(self):
        """What fa4.sdpa takes beside the shapes."""
        if self.clauses is not None:
            return dict(self.clauses)
        captures = {name: "i32 " + " ".join(f"N{dim}" for dim in range(table.ndim)) for name, table in self.tables.items()}
        return dict(mask_mod=self.visible) | (dict(captures=captures) if captures else {})

    def arrays(self):
        """The arrays of a call beside q, k and v by the manifest's names."""
        if self.clauses is not None:
            return dict(self.beside)
        return {f"capture{number}": table for number, table in enumerate(self.tables.values())}


def _same_document(b, h, i, j, document):
    return document[i] == document[j]


def _lengths(lengths):
    """Sequences of which the first keys count; fa4 takes the lengths as an array of the call, and others as a table."""
    return dict(visible=lambda b, h, i, j, length: j < length[b], tables={"length": lengths}, batch=len(lengths))


def _by_comparisons(ends):
    """Documents that end at these positions, each as a range of queries and of keys."""

    def visible(b, h, i, j):
        begins = (0, *ends[:-1])
        found = [(i >= begin) & (i < end) & (j >= begin) & (j < end) for begin, end in zip(begins, ends)]
        joined = found[0]
        for each in found[1:]:
            joined = joined | each
        return joined

    return visible


def make_forms(length: int) -> dict[str, MaskForm]:
    """The masks by their names, of sequences of this length."""
    ends = np.sort(np.random.default_rng(0).choice(np.arange(1, length), 7, replace=False))
    document = np.searchsorted(ends, np.arange(length), side="right").astype(np.int32)
    lengths = np.array([length * 5 // 8 + 7, length // 4], np.int32)
    five = tuple(length * end // 16 + 5 * (end < 16) for end in (2, 5, 9, 14, 16))

    def square(visible, **more):
        return MaskForm(length, length, visible, **more)

    half = length // 2
    return {
        "full": MaskForm(length, length, clauses={}),
        "causal": square(lambda b, h, i, j: j <= i),
        "causal, half as many queries": MaskForm(half, length, lambda b, h, i, j: j <= i + length - half, clauses=dict(mask="causal")),
        "sliding window": square(lambda b, h, i, j: abs(i - j) < WINDOW),
        "causal window": square(lambda b, h, i, j: (j <= i) & (i - j < WINDOW)),
        "prefix-LM": square(lambda b, h, i, j: (j <= i) | (j < PREFIX)),
        "documents of one length": square(lambda b, h, i, j: i // DOCUMENT == j // DOCUMENT),
        "documents by a table": square(_same_document, tables={"document": document}),
        "documents by a table, causal": square(lambda b, h, i, j, document: _same_document(b, h, i, j, document) & (j <= i), tables={"document": document}),
        "five documents by comparisons": square(_by_comparisons(five)),
        "dilated window": square(lambda b, h, i, j: (j <= i) & (i - j < 2 * WINDOW) & ((i - j) % DILATION == 0)),
        "sinks and causal window": square(lambda b, h, i, j: (j <= i) & ((i - j < WINDOW) | (j < SINKS))),
        "diagonal blocks of 128": square(lambda b, h, i, j: i // 128 == j // 128),
        "ALiBi, no mask": MaskForm(length, length, clauses=dict(score_mod=lambda s, b, h, i, j: s - 0.125 * abs(i - j))),
        "padding": MaskForm(length, length, **_lengths(lengths), clauses=dict(seqlens_k=True), beside={"seqlens_k": lengths}),
    }  # fmt: skip


@dataclass(frozen=True)
class Blocks:
    """How many blocks a mask leaves empty, shows fully and cuts; `least` is how many a kernel computes at least whose work tiles each
    compute one."""

    empty: int
    full: int
    cut: int
    least: int

    @property
    def seen(self):
        return self.full + self.cut


def count_ideal(form: MaskForm, queries: int, keys: int) -> Blocks:
    """Of all work tiles of so many queries and blocks of so many keys. A block that reaches beyond the keys is cut."""
    i, j = np.arange(form.queries)[:, None], np.arange(form.keys)[None, :]
    counts = np.zeros(4, int)
    for b in range(form.batch):
        visible = np.ones((form.queries, form.keys), bool)
        if form.visible:
            visible = np.broadcast_to(form.visible(b, 0, i, j, *form.tables.values()), visible.shape)
        # Rows behind the last query repeat it; keys behind the last one are hidden.
        padded = np.pad(visible, ((0, -form.queries % queries), (0, 0)), mode="edge")
        padded = np.pad(padded, ((0, 0), (0, -form.keys % keys)))
        blocks = padded.reshape(len(padded) // queries, queries, padded.shape[1] // keys, keys)
        some, every = blocks.any((1, 3)), blocks.all((1, 3))
        counts += [np.sum(~some), np.sum(every), np.sum(some & ~every), np.maximum(some.sum(1), 1).sum()]
    return Blocks(*map(int, counts))

