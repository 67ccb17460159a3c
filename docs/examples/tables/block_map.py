# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which blocks a mask leaves, as text: a line for each tile of queries, a character for each block of keys. Found by asking
about each pair of a query and a key, not as the compiler finds it (docs/masks.md)."""

import numpy as np

EMPTY, FULL, CUT = ".#+"


def block_map(visible, queries=128, keys=128):
    """The map of `visible`, an array of bool by query and key. Tiles have 128 queries and blocks 128 keys, the last ones what is
    left."""
    rows, columns = visible.shape

    def character(first_query, first_key):
        block = visible[first_query : first_query + queries, first_key : first_key + keys]
        return FULL if block.all() else CUT if block.any() else EMPTY

    return "\n".join("".join(character(i, j) for j in range(0, columns, keys)) for i in range(0, rows, queries))


def positions(queries, keys):
    """Indices of queries and keys that broadcast to all pairs, as a mask_mod takes them."""
    return np.arange(queries)[:, None], np.arange(keys)[None, :]
