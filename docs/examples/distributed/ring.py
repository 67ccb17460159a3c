# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal attention over a sequence that is spread over ranks, and its gradient. Each GPU of the machine is a rank; where there are fewer than two, two
processes of the CPU are, whose kernels run in the simulator. The whole is compared with float64. ring.mlir has the two ops that a rank
runs in a step of the ring without a mask."""

import os
import tempfile

import fa4
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TOKENS, HEADS, KEY_HEADS, D = 256, 4, 2, 64
WHOLE = fa4.sdpa(q=f"B S {HEADS} {D}", k=f"B S {KEY_HEADS} {D}", mask="causal", lse=True)
# What a rank computes of keys that came from another one: their attention, and the LSE by which it is merged with that of other keys.
STEP = fa4.sdpa(q=f"B Sq {HEADS} {D}", k=f"B Sk {KEY_HEADS} {D}", lse=True)


def draw(tokens=TOKENS, keys=TOKENS):
    """q, k, v and the gradient of out; the same on each rank."""
    torch.manual_seed(0)
    shapes = (tokens, HEADS), (keys, KEY_HEADS), (keys, KEY_HEADS), (tokens, HEADS)
    return [torch.randn(1, *shape, D).bfloat16() for shape in shapes]


def attend(q, k, v, dout):
    """What a layer of a model does on a rank, which has parts of q, k and v: out, dq, dk and dv of its part."""
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = fa4.distributed.ring_sdpa(q, k, v, mask="causal")
    out.backward(dout)
    return out, q.grad, k.grad, v.grad


def expected(given):
    """The same of the whole, in float64."""
    q, k, v, dout = (x.float().numpy() for x in given)
    forward = WHOLE.reference(q=q, k=k, v=v)
    gradients = WHOLE.backward().reference(q=q, k=k, v=v, dout=dout, **forward)
    return forward.out, gradients.dq, gradients.dk, gradients.dv


def be_rank(rank, ranks, device, store):
    dist.init_process_group("nccl" if device == "cuda" else "gloo", store=dist.FileStore(store, ranks), rank=rank, world_size=ranks)
    if device == "cuda":
        torch.cuda.set_device(rank)
    # A rank has two chunks of the sequence, one from its beginning and one from its end, so that all have the same work.
    whole = draw()
    results = attend(*(fa4.distributed.shard(x, zigzag=True).to(device) for x in whole))
    results = [fa4.distributed.unshard(x, zigzag=True).float().cpu().numpy() for x in results]
    if rank == 0:
        errors = [abs(got.astype(np.float64) - wanted).max() for got, wanted in zip(results, expected(whole))]
        print(f"{TOKENS} tokens on {ranks} ranks, {device}: largest errors of out, dq, dk and dv", ", ".join(f"{error:.3f}" for error in errors))
        assert max(errors) < 0.1
    dist.destroy_process_group()


if __name__ == "__main__":
    gpus = torch.cuda.device_count()
    ranks, device = (gpus, "cuda") if gpus > 1 else (2, "cpu")
    assert TOKENS % (2 * ranks) == 0, "each rank has two chunks of one length"
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(be_rank, (ranks, device, os.path.join(folder, "store")), nprocs=ranks, start_method="fork")
