# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch's BlockMask as fa4 computes it: by its mask_mod, from which kernels find the blocks by themselves, and by a list of blocks where its
blocks hide keys that the mask_mod shows, as those of mixtures of blocks (MoBA) and of selected ones (NSA) do."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn.attention.flex_attention import BlockMask, create_mask, noop_mask

from fa4.spec import SpecError
from fa4.torch_ops import list_blocks, seen_blocks


class Blocks(NamedTuple):
    """Which blocks of keys each block of queries sees, as `fa4.torch.attention` takes them: `block_list`, [B, H, N, M], and `block_counts`,
    [B, H, N], of int32; B and H may be 1. `size` is the queries and the keys of a block."""

    size: tuple[int, int]
    block_list: torch.Tensor
    block_counts: torch.Tensor

    def of_batch(self, batch: int) -> dict[str, torch.Tensor]:
        """The lists for a batch: one that stands for all sequences is given to each."""
        given = {"block_list": self.block_list, "block_counts": self.block_counts}
        return {name: each.expand(batch, *each.shape[1:]) if each.shape[0] == 1 else each for name, each in given.items()}


# What has been found of block masks, by their addresses; a mask that is freed takes its entry along.
_found: dict[int, tuple[weakref.ref, Blocks | None]] = {}


def _list_blocks(block_mask: BlockMask, listed: torch.Tensor | None = None) -> Blocks:
    """The blocks of a BlockMask, those that ask its mask_mod and those that do not in one list. `listed` are both, if they are known."""
    size = tuple(block_mask.BLOCK_SIZE)
    if block_mask.full_kv_indices is None:
        return Blocks(size, block_mask.kv_indices, block_mask.kv_num_blocks)
    return Blocks(size, *list_blocks(block_mask.to_dense() > 0 if listed is None else listed))


def _blocks_with(pairs: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Which blocks have a pair of a query and a key that is set, of [B, H, queries, keys]."""
    rows, columns = (-(-length // of) for length, of in zip(pairs.shape[-2:], size))
    padded = torch.nn.functional.pad(pairs, (0, columns * size[1] - pairs.shape[-1], 0, rows * size[0] - pairs.shape[-2]))
    return padded.unflatten(-1, (columns, size[1])).unflatten(-3, (rows, size[0])).any(-1).any(-2)


def _compare(block_mask: BlockMask) -> Blocks | None:
    """The list of a BlockMask's blocks, or None where its mask_mod says all. Raises SpecError where its blocks show what its mask_mod hides."""
    given = block_mask.to_dense() > 0
    if block_mask.mask_mod is noop_mask:
        return None if given.all() else _list_blocks(block_mask, given)
    mask = create_mask(block_mask.mask_mod, *block_mask.shape[:2], *block_mask.seq_lengths, device=block_mask.kv_indices.device)
    full = block_mask.full_kv_indices
    if full is not None and (seen_blocks(full, block_mask.full_kv_num_blocks, given.shape[-1]) & _blocks_with(~mask, block_mask.BLOCK_SIZE)).any():
        raise SpecError("the full blocks of block_mask show keys that its mask_mod hides, and fa4 asks the mask_mod in all blocks: put what these "
                        "blocks show into the mask_mod")  # fmt: skip
    hidden = _blocks_with(mask, block_mask.BLOCK_SIZE) & ~given
    return _list_blocks(block_mask, given) if hidden.any() else None


def read_block_mask(block_mask, lengths: tuple[int, int]) -> tuple[Callable | None, Blocks | None]:
    """The mask_mod of a BlockMask for these lengths of queries and keys, None for torch's own that shows all, and the list of its blocks, or
    None where the mask_mod says all. The blocks are compared with the mask_mod once. torch.compile cannot compare them: it takes the
    mask_mod, and the blocks where that shows all. Raises TypeError and SpecError."""
    if not isinstance(block_mask, BlockMask):
        raise TypeError(f"block_mask is a BlockMask of torch.nn.attention.flex_attention or a mask_mod, not {type(block_mask).__name__}")
    if tuple(block_mask.seq_lengths) != lengths:
        raise SpecError(f"block_mask is made for lengths {tuple(block_mask.seq_lengths)}, and query and key have {lengths}")
    mask_mod = None if block_mask.mask_mod is noop_mask else block_mask.mask_mod
    if torch.compiler.is_compiling():
        return mask_mod, None if mask_mod else _list_blocks(block_mask)
    key = id(block_mask)
    if key not in _found:
        blocks = _compare(block_mask)
        _found[key] = weakref.ref(block_mask, lambda _: _found.pop(key, None)), blocks
    return mask_mod, _found[key][1]
