# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The keys and values of a program in pages of a cache."""

import zlib

import numpy as np


def draw_table(form):
    """Returns the pages of each sequence, in any order. Where a sequence has no keys, there is what is no page."""
    sizes = form.named_sizes()
    rng = np.random.default_rng(zlib.crc32(repr(form).encode()))
    shape = sizes["B"], sizes["SeqPages"]
    table = rng.permutation(sizes["Pages"])[: sizes["B"] * sizes["SeqPages"]].reshape(shape).astype(np.int32)
    for pages, length in zip(table, form.lengths):
        behind = pages[-(-max(length, 0) // form.page_size) :]
        behind[:] = rng.choice([-1, 2**31 - 1, -(2**31), sizes["Pages"]], len(behind))
    return table


def put(form, x):
    """Returns k or v in pages. What belongs to no sequence is NaN, and so is what is behind the keys of one."""
    batch, seq = form.key_layout.index("b"), form.key_layout.index("s")
    keys = np.moveaxis(x, (batch, seq), (0, 1))
    size, table = form.page_size, draw_table(form)
    pages = np.full((form.named_sizes()["Pages"], size, *keys.shape[2:]), np.nan, x.dtype)
    for b, of_sequence in enumerate(table):
        for n, page in enumerate(of_sequence):
            rows = keys[b, n * size : (n + 1) * size]
            if 0 <= page < len(pages):
                pages[page, : len(rows)] = rows
    return np.ascontiguousarray(np.moveaxis(pages, (0, 1), (batch, seq)))
