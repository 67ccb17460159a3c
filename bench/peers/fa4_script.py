# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4 as a user calls it: forward, and backward by autograd, against attention in float32.

usage: python -m fa4.driver fa4_script.py HEAD_DIM full|causal [forward]"""
import math
import sys

import torch
from flash_attn.cute import flash_attn_func


def reference(q, k, v, causal):
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -math.inf)
    return (torch.softmax(s, -1) @ v).transpose(1, 2)


def main():
    size, causal, forward = int(sys.argv[1]), sys.argv[2] == "causal", "forward" in sys.argv[3:]
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 256, 2, size, dtype=torch.bfloat16, device="cuda", requires_grad=not forward) for _ in range(3))
    out = flash_attn_func(q, k, v, causal=causal)
    out = out[0] if isinstance(out, tuple) else out
    expected = reference(q, k, v, causal)
    torch.testing.assert_close(out.float(), expected, atol=2e-2, rtol=2e-2)
    if not forward:
        gradient = torch.randn_like(out)
        ours = torch.autograd.grad(out, (q, k, v), gradient)
        theirs = torch.autograd.grad(expected, (q, k, v), gradient.float())
        for mine, other in zip(ours, theirs):
            torch.testing.assert_close(mine.float(), other.float(), atol=5e-2, rtol=5e-2)
    print("PASS")


if __name__ == "__main__":
    main()
