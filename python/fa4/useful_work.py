# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many pairs of a query and a key an op needs: those that its mask and its mask_mod both see."""

from __future__ import annotations

import re
from collections.abc import Callable

# A mask_mod is evaluated on so many pairs at most, and on so many at a time.
LIMIT = 1 << 27
BLOCK = 1 << 22


def reads_position(region: str, name: str) -> bool:
    """Whether the text of a region reads the parameter `name`, which its first line declares."""
    return len(re.findall(rf"%{name}\b", region)) > 1


def count_visible_pairs(mask, mask_mod: Callable, sequences: int, heads: int, queries: int, keys: int) -> int:
    """The pairs of a query and a key, of all sequences and heads, that are visible. `mask` is a fa4.Mask or None,
    `mask_mod(b, h, i, j)` takes numbers b and h, and arrays [rows, 1] and [1, keys] of positions.

    The number is exact for up to 2^27 pairs. Of more, every n-th query is asked, and stands for the next n - 1."""
    import numpy as np

    pairs = sequences * heads * queries * keys
    step = max(1, -(-pairs // LIMIT))
    rows = max(1, BLOCK // max(1, keys))
    j = np.arange(keys)[None, :]
    count = 0
    for start in range(0, queries, rows * step):
        i = np.arange(start, min(queries, start + rows * step), step)[:, None]
        weights = np.minimum(step, queries - i[:, 0])
        band = mask.visible(i, j, queries, keys) if mask else True
        for b in range(sequences):
            for h in range(heads):
                seen = np.broadcast_to(mask_mod(b, h, i, j), (i.size, keys)) & band
                count += int(weights @ np.count_nonzero(seen, axis=1))
    return count
