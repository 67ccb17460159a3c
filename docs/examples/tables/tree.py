# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tree of draft tokens, as speculative decoding verifies them in one call: each token sees the context, its ancestors and
itself. tree.mlir is the same op. The ancestors of a token are the bits of a row of the table, 32 tokens a word."""

import fa4
import numpy as np
from block_map import block_map, positions
from comparison import compare, draw

B, CONTEXT, TOKENS, QUERY_HEADS, HEADS, D = 2, 300, 150, 8, 2, 64
WORD = 32


def is_ancestor(b, h, q_idx, kv_idx, ancestors, context):
    """Whether a query, which is a draft token, sees a key: of the context, or of a draft token on its way to the root."""
    token = fa4.math.maximum(kv_idx - context, 0)
    bit = (ancestors[q_idx, token // WORD] >> (token % WORD)) & 1
    return (kv_idx < context) | (bit != 0)


# The table has a row for each draft token. `context` is how many keys stand in front of the first one.
SPEC = fa4.sdpa(
    q=f"B Sq {QUERY_HEADS} {D}",
    k=f"B Sk {HEADS} {D}",
    mask_mod=is_ancestor,
    captures={"ancestors": "i32 Sq W", "context": "i32"},
    lse=True,
)


def pack(sees):
    """The table of `sees`, an array of bool by token and token."""
    padded = np.pad(sees, ((0, 0), (0, -len(sees) % WORD)))
    return np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little").view("<i4"))


def make_call(rng):
    """Inputs of the op and its gradient, and a random tree, in which a token comes behind its parent."""
    sees = np.eye(TOKENS, dtype=bool)
    for token in range(1, TOKENS):
        sees[token] |= sees[rng.integers(max(0, token - 40), token)]
    q, k = (B, TOKENS, QUERY_HEADS, D), (B, CONTEXT + TOKENS, HEADS, D)
    return draw(rng, dict(q=q, k=k, v=k, dout=q)), {"ancestors": pack(sees), "context": CONTEXT}


if __name__ == "__main__":
    given, tables = make_call(np.random.default_rng())
    i, j = positions(TOKENS, CONTEXT + TOKENS)
    print(block_map(is_ancestor(0, 0, i, j, **tables), queries=16, keys=16))
    compare("tree", SPEC, given, tables)
