# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of keys that each block of queries of a program sees, drawn at random."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BlockLists:
    """Blocks of `queries` queries and `keys` keys, and as many `heads` that have lists, each with room for `entries` blocks: as many as there are,
    where that is None. `missing`: so many blocks of queries at the end have no list."""

    queries: int = 128
    keys: int = 64
    heads: int = 1
    entries: int | None = None
    missing: int = 0

    def named_sizes(self, sizes):
        """The sizes of the arrays, by the names that kernels have for them."""
        lists = max(-(-sizes.sq // self.queries) - self.missing, 1)
        return {"ListHeads": self.heads, "ListBlocks": lists, "ListEntries": self.entries or -(-sizes.sk // self.keys)}

    def named_query_sizes(self, sizes):
        """Those of the same lists by blocks of keys. There is room for a number more than blocks of queries that have a list."""
        lists = self.named_sizes(sizes)["ListBlocks"]
        return {"ListHeads": self.heads, "ListKeyBlocks": -(-sizes.sk // self.keys), "ListQueries": lists + 1}

    def clause(self):
        return f" block_size [{self.queries}, {self.keys}]"

    def arrays(self, sizes, rng):
        """The operands: lists of different blocks in any order, of which some are no blocks of keys, and counts of which some are no counts.
        What is behind a count is a block, too, which must not be seen."""
        heads, lists, entries = self.named_sizes(sizes).values()
        shape = sizes.b, heads, lists
        blocks = -(-sizes.sk // self.keys)
        # Numbers that are no blocks stand for nothing, however often they do.
        none = [-1, -(2**31), 2**31 - 1, blocks, blocks + 1]
        drawn = [rng.permutation([*range(blocks), *none[: max(entries - blocks, 1) + 1]])[:entries] for _ in range(int(np.prod(shape)))]
        padded = [np.pad(each, (0, entries - len(each)), constant_values=-1) for each in drawn]
        counts = rng.integers(0, entries + 1, shape)
        counts[rng.random(shape) < 0.1] = rng.choice([-7, entries + 5])
        return {"block_list": np.array(padded, np.int32).reshape(*shape, entries), "block_counts": counts.astype(np.int32)}

    def query_arrays(self, sizes, arrays, rng):
        """The same lists by blocks of keys: which blocks of queries see each, in any order, and behind them numbers that must not be read. A list
        may have a number of no block before its count ends."""
        heads, keys, entries = self.named_query_sizes(sizes).values()
        lists = np.full((sizes.b, heads, keys, entries), 2**31 - 1, np.int32)
        counts = np.zeros(lists.shape[:-1], np.int32)
        for b, h, key in np.ndindex(counts.shape):
            seen = [n for n, (row, count) in enumerate(zip(arrays["block_list"][b, h], arrays["block_counts"][b, h])) if key in row[: max(count, 0)]]
            seen = rng.permutation([*seen, *rng.choice([-1, -(2**31), 2**31 - 1, 10**6], rng.integers(0, 2))])
            lists[b, h, key, : len(seen)], counts[b, h, key] = seen, len(seen)
        return {"query_list": lists, "query_counts": counts}
