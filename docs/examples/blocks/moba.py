# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of training with a mixture of block attention (MoBA): each block of 128 queries attends to its own block of keys, and to the KEPT
earlier ones whose mean key it likes best. Run on the GPU if torch has one, else in the simulator, and compared with torch's own operators in
float64."""

import fa4
import torch
from torch import nn

BLOCK, KEPT = 128, 2
B, S, HEADS, KEY_HEADS, D = 1, 640, 4, 2, 64


def choose_blocks(q, k):
    """block_list, [B, KEY_HEADS, N, KEPT + 1], and block_counts, [B, KEY_HEADS, N], for q and k of [B, S, heads, D], where N blocks of BLOCK tokens
    are S: the block itself, and the best of those in front of it. All heads that share keys share the choice, so that it has a gradient."""
    queries, keys = (x.detach().float().unflatten(1, (-1, BLOCK)).unflatten(3, (KEY_HEADS, -1)).mean(dim=(2, 4)) for x in (q, k))
    affinity = torch.einsum("bqhd,bkhd->bhqk", queries, keys)
    blocks = torch.arange(affinity.shape[-1], device=q.device)
    affinity = affinity.masked_fill(blocks >= blocks[:, None], -torch.inf)
    best = affinity.topk(min(KEPT, len(blocks)), dim=-1).indices
    own = blocks[:, None].expand(*best.shape[:-1], 1)
    # The first blocks have fewer than KEPT in front of them, which the count leaves out: topk has what is -inf last.
    counts = 1 + blocks.clamp(max=KEPT).expand(best.shape[:-1])
    return torch.cat([own, best], dim=-1).int(), counts.int()


class BlockAttention(nn.Module):
    """Attention of a layer, of x [B, S, width]."""

    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, (HEADS + 2 * KEY_HEADS) * D, bias=False)
        spec = fa4.sdpa(q=f"B S {HEADS} {D}", k=f"B S {KEY_HEADS} {D}", mask="causal", block_list=(BLOCK, BLOCK))
        self.attend = fa4.torch.attention(spec, copy=True)

    def forward(self, x):
        q, k, v = self.project(x).unflatten(-1, (-1, D)).split([HEADS, KEY_HEADS, KEY_HEADS], dim=2)
        block_list, block_counts = choose_blocks(q, k)
        return self.attend(q, k, v, block_list=block_list, block_counts=block_counts), (q, k, v, block_list, block_counts)


def expected(q, k, v, block_list, block_counts):
    """The same attention by torch's operators."""
    counted = torch.arange(block_list.shape[-1], device=q.device) < block_counts[..., None]
    blocks = torch.arange(q.shape[1] // BLOCK, device=q.device)
    seen = ((block_list[..., None] == blocks) & counted[..., None]).any(dim=-2)
    seen = seen.repeat_interleave(HEADS // KEY_HEADS, 1).repeat_interleave(BLOCK, 2).repeat_interleave(BLOCK, 3).tril()
    k, v = (x.repeat_interleave(HEADS // KEY_HEADS, 2) for x in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / D**0.5
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(~seen, -torch.inf).softmax(-1), v)


def step(device):
    """Largest errors of out, dq, dk and dv of a step, beside the largest numbers."""
    layer = BlockAttention(256).to(device, torch.bfloat16)
    out, (*qkv, block_list, block_counts) = layer(torch.randn(B, S, 256, device=device, dtype=torch.bfloat16))
    dout = torch.randn_like(out)
    got = [out, *torch.autograd.grad(out, qkv, dout)]
    exact = [x.detach().double().requires_grad_() for x in qkv]
    wanted = expected(*exact, block_list, block_counts)
    wanted = [wanted, *torch.autograd.grad(wanted, exact, dout.double())]
    return [((x - y).abs().max() / max(1, y.abs().max())).item() for x, y in zip(got, wanted)]


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    errors = step(device)
    where = torch.cuda.get_device_name() if device.type == "cuda" else "the simulator"
    print(f"{KEPT + 1} of {S // BLOCK} blocks, in {where}: largest errors of out, dq, dk and dv", ", ".join(f"{error:.4f}" for error in errors))
    assert max(errors) < 0.02
