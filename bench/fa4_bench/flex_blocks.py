# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The block masks that torch's FlexAttention makes before it computes: which blocks they have, the memory of their tensors, and the
time to make one on this machine's CPU."""

import time
from dataclasses import dataclass

from fa4_bench.mask_forms import MaskForm

BLOCK = 128
TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")
TIMES = 3


@dataclass(frozen=True)
class FlexBlocks:
    """`seconds` are those of the fastest of some calls of create_block_mask, on the CPU and not compiled."""

    blocks: int
    full: int
    partial: int
    bytes: int
    seconds: float

    @property
    def computed(self):
        return self.full + self.partial


def find_torch():
    """The module, which computes with one thread then, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def make_block_mask(torch, form: MaskForm) -> FlexBlocks | None:
    """None for a form without a mask, for which FlexAttention takes no block mask."""
    from torch.nn.attention.flex_attention import create_block_mask

    if form.visible is None:
        return None
    tables = [torch.from_numpy(table) for table in form.tables.values()]

    def mask_mod(b, h, i, j):
        return form.visible(b, h, i, j, *tables)

    seconds = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        made = create_block_mask(mask_mod, form.batch, None, form.queries, form.keys, device="cpu", BLOCK_SIZE=BLOCK)
        seconds.append(time.perf_counter() - begin)
    held = [tensor for name in TENSORS if (tensor := getattr(made, name)) is not None]
    blocks = form.batch * -(-form.queries // BLOCK) * -(-form.keys // BLOCK)
    full = int(made.full_kv_num_blocks.sum())
    return FlexBlocks(blocks, full, int(made.kv_num_blocks.sum()), sum(tensor.nbytes for tensor in held), min(seconds))
