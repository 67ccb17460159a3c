# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of training on a ragged batch: sequences of different lengths, one of them empty, behind each other in one dimension of tokens.
training_step.mlir is the same function. Run on the GPU if torch has one, else in the simulator, and compared with float64."""

import fa4
import numpy as np
from ml_dtypes import bfloat16

try:
    import torch
except ImportError:  # The simulator does without.
    torch = None

LENGTHS = 70, 0, 200, 3
HEADS, KEY_HEADS, D = 8, 2, 64

# Neither the lengths nor their number are part of the kernels, which find their work from the bounds.
SPEC = fa4.sdpa(q=f"T {HEADS} {D}", k=f"T {KEY_HEADS} {D}", layout="thd", mask="causal", lse=True)


def make_call(rng):
    """q, k, v and the gradient of out, of all tokens, and where each sequence begins."""
    heads = {"q": HEADS, "k": KEY_HEADS, "v": KEY_HEADS, "dout": HEADS}
    call = {name: rng.standard_normal((sum(LENGTHS), n, D), np.float32).astype(bfloat16) for name, n in heads.items()}
    bounds = np.cumsum((0, *LENGTHS), dtype=np.int32)
    return call | {"cu_seqlens_q": bounds, "cu_seqlens_k": bounds}


def run_in_torch(given):
    """out, dq, dk and dv on the GPU, as numpy arrays."""
    q, k, v = (torch.from_numpy(given[name].astype(np.float32)).cuda().bfloat16().requires_grad_() for name in "qkv")
    bounds = torch.from_numpy(given["cu_seqlens_q"]).cuda()
    out = fa4.torch.varlen(q, k, v, bounds, bounds, causal=True)
    out.backward(torch.from_numpy(given["dout"].astype(np.float32)).cuda().bfloat16())
    return [each.detach().float().cpu().numpy() for each in (out, q.grad, k.grad, v.grad)]


def run_simulated(given):
    """The same in the simulator."""
    given = dict(given)
    dout = given.pop("dout")
    forward = fa4.compile(SPEC).simulate(**given)
    gradients = fa4.compile(SPEC.backward()).simulate(**given, **forward, dout=dout)
    return [forward.out, gradients.dq, gradients.dk, gradients.dv]


def expected(given):
    """The same in float64."""
    given = dict(given)
    dout = given.pop("dout")
    forward = SPEC.reference(**given)
    gradients = SPEC.backward().reference(**given, **forward, dout=dout)
    return [forward.out, gradients.dq, gradients.dk, gradients.dv]


if __name__ == "__main__":
    given = make_call(np.random.default_rng())
    on_gpu = torch is not None and torch.cuda.is_available()
    got = run_in_torch(given) if on_gpu else run_simulated(given)
    errors = [abs(x.astype(np.float64) - y).max() for x, y in zip(got, expected(given))]
    print(f"{sum(LENGTHS)} tokens, in {torch.cuda.get_device_name() if on_gpu else 'the simulator'}: largest errors of out, dq, dk and dv",
          ", ".join(f"{error:.3f}" for error in errors))  # fmt: skip
    assert max(errors) < 0.1
