# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/hopper-quickstart.md's script: attention on tensors of torch, causal, with grouped heads, with its gradient, and with functions of one's own. Each
result is compared with torch in float32, and timed beside torch where there is a GPU. On the CPU the kernels run in the simulator, on small tensors."""

import math

import fa4
import torch
from torch.nn.functional import scaled_dot_product_attention

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"
B, H, S, D = (4, 16, 4096, 128) if on_gpu else (2, 4, 200, 64)
q = torch.randn(B, H, S, D, device=device, dtype=torch.bfloat16)
k, v = (torch.randn(B, H, S, D, device=device, dtype=torch.bfloat16) for _ in range(2))
few_k, few_v = k[:, : H // 4], v[:, : H // 4]  # One key/value head for four query heads.


# Functions as torch's flex_attention takes them. They are traced, and become part of the kernel.
def softcap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20)


def same_document(b, h, q_idx, kv_idx):  # Documents of 256 tokens, packed into one sequence.
    return q_idx // 256 == kv_idx // 256


# Sizes that are names are open: one kernel serves all batches, heads and lengths (from 17 queries on).
attend = fa4.torch.attention(fa4.sdpa(q=f"B H Sq {D}", k=f"B G Sk {D}", layout="bhsd"))
attend_causally = fa4.torch.attention(fa4.sdpa(q=f"B H Sq {D}", k=f"B G Sk {D}", layout="bhsd", mask="causal"))


def plainly(q, k, v, score_mod=lambda score, *_: score, mask_mod=None):
    """Attention by its formula, of the first sequence, in float32."""
    q, k, v = (each[:1].float() for each in (q, k, v))
    k, v = (each.repeat_interleave(H // each.shape[1], 1) for each in (k, v))
    i, j = torch.arange(S, device=device)[:, None], torch.arange(S, device=device)
    scores = score_mod(q @ k.mT / math.sqrt(D), 0, 0, i, j)
    return (scores if mask_mod is None else scores.masked_fill(~mask_mod(0, 0, i, j), -math.inf)).softmax(-1) @ v


weights = torch.randn_like(q)


def gradients(attend):
    """dq, dk and dv of a function of q, k and v, heads side by side."""
    with torch.enable_grad():
        leaves = [each.detach().requires_grad_() for each in (q, k, v)]
        out = attend(*leaves)
        return torch.cat(torch.autograd.grad(out, leaves, weights[: len(out)].to(out.dtype)), 1)


def microseconds(work, count=20):
    work()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / count


causal = lambda b, h, i, j: i >= j  # noqa: E731
ROWS = (
    ("attention", lambda: attend(q, k, v), lambda: plainly(q, k, v), lambda: scaled_dot_product_attention(q, k, v)),
    ("causal", lambda: attend_causally(q, k, v), lambda: plainly(q, k, v, mask_mod=causal),
     lambda: scaled_dot_product_attention(q, k, v, is_causal=True)),
    ("causal, grouped heads", lambda: attend_causally(q, few_k, few_v), lambda: plainly(q, few_k, few_v, mask_mod=causal),
     lambda: scaled_dot_product_attention(q, few_k, few_v, is_causal=True, enable_gqa=True)),
    ("causal, and gradient", lambda: gradients(attend_causally), lambda: gradients(lambda *qkv: plainly(*qkv, mask_mod=causal)),
     lambda: gradients(lambda *qkv: scaled_dot_product_attention(*qkv, is_causal=True))),
    ("softcap", lambda: fa4.flex(q, k, v, score_mod=softcap), lambda: plainly(q, k, v, softcap), None),
    ("documents", lambda: fa4.flex(q, k, v, mask_mod=same_document), lambda: plainly(q, k, v, mask_mod=same_document), None),
    ("both, grouped heads", lambda: fa4.flex(q, few_k, few_v, score_mod=softcap, mask_mod=same_document, enable_gqa=True),
     lambda: plainly(q, few_k, few_v, softcap, same_document), None),
)  # fmt: skip

print(f"{torch.cuda.get_device_name() if on_gpu else 'CPU: in the simulator'}, torch {torch.__version__}, q of {tuple(q.shape)}")
print(f"{'':22} {'error':>8} {'time':>10} {'torch':>10}")
with torch.no_grad():
    for name, ours, formula, theirs in ROWS:
        wanted = formula()[:1]  # The first sequence, as the formula has it.
        error = ((ours()[:1].float() - wanted).norm() / wanted.norm()).item()
        times = [f"{microseconds(each):7.0f} us" if each and on_gpu else "" for each in (ours, theirs)]
        print(f"{name:22} {error:8.1e} {times[0]:>10} {times[1]:>10}".rstrip())
        assert error < 1e-2, f"{name} is wrong"
