# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents of different lengths that stand behind each other in a sequence: a query sees the keys of its own document, up to
itself. documents.mlir is the same op. The kernel skips the blocks of other documents, which it finds by the table."""

import fa4
import numpy as np
from block_map import block_map, positions
from comparison import compare, draw

B, S, QUERY_HEADS, HEADS, D = 1, 700, 8, 2, 128


def same_document(b, h, q_idx, kv_idx, document):
    return document[b, q_idx] == document[b, kv_idx]


# The table has the number of a document for each token of each sequence. The band that `mask` says needs no code of its own here.
SPEC = fa4.sdpa(
    q=f"B S {QUERY_HEADS} {D}",
    k=f"B S {HEADS} {D}",
    mask="causal_top_left",
    mask_mod=same_document,
    captures={"document": "i32 B S"},
    lse=True,
)


def make_call(rng):
    """Inputs of the op and its gradient, and the table: five documents, whose ends are drawn."""
    ends = np.sort(rng.choice(np.arange(1, S), (B, 4)))
    document = np.stack([np.searchsorted(each, np.arange(S), side="right") for each in ends]).astype(np.int32)
    q, k = (B, S, QUERY_HEADS, D), (B, S, HEADS, D)
    return draw(rng, dict(q=q, k=k, v=k, dout=q)), {"document": document}


if __name__ == "__main__":
    given, tables = make_call(np.random.default_rng())
    i, j = positions(S, S)
    print(block_map(same_document(0, 0, i, j, **tables) & (j <= i)))
    compare("documents", SPEC, given, tables)
