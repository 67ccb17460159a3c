# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of decoding with a cache in pages of 16 keys, which sequences take as they grow. Two of them share the pages of a prompt.
paged.mlir is the same op. Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from check import check
from ml_dtypes import bfloat16

PAGE, PAGES, ROOM, QUERY_HEADS, HEADS, D = 16, 200, 64, 32, 8, 128
LENGTHS = 700, 523, 1, 260
SHARED = 480  # Keys of a prompt that the first two sequences have in common: 30 pages.

# The numbers of queries and heads are part of the kernel, and so is that of keys in a page; those of pages are not.
SPEC = fa4.sdpa(q=f"B 1 {QUERY_HEADS} {D}", k=f"Pages {PAGE} {HEADS} {D}", seqlens_k=True, page_table=True)


def take_pages(rng):
    """The page table: each sequence takes free pages for its keys, but for the pages that it shares."""
    table = np.full((len(LENGTHS), ROOM), -1, np.int32)  # -1 is no page, and nothing looks at it.
    free = list(rng.permutation(PAGES))
    for sequence, length in enumerate(LENGTHS):
        shared = SHARED // PAGE if sequence == 1 else 0
        table[sequence, :shared] = table[0, :shared]
        for number in range(shared, -(-length // PAGE)):
            table[sequence, number] = free.pop()
    return table, free


def make_call(rng):
    """A query of each sequence, and a cache. What is in free pages, and behind the last key of a sequence, does not count, even if it is NaN."""
    q, k, v = (rng.standard_normal(shape, np.float32).astype(bfloat16)
               for shape in ((len(LENGTHS), 1, QUERY_HEADS, D), (PAGES, PAGE, HEADS, D), (PAGES, PAGE, HEADS, D)))  # fmt: skip
    table, free = take_pages(rng)
    for array in (k, v):
        array[free] = np.nan
        for pages, length in zip(table, LENGTHS):
            array[pages[(length - 1) // PAGE], (length - 1) % PAGE + 1 :] = np.nan
    return dict(q=q, k=k, v=v, seqlens_k=np.array(LENGTHS, np.int32), page_table=table)


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    check(SPEC, given, f"{len(set(given['page_table'].flat)) - 1} pages")
