# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.distributed on ranks that are processes of the CPU, which test_distributed.py starts: `python distributed_checks.py CHECK...`. A check has the ranks
of its group call, and holds the whole of what they have to float64. A line of JSON says what a rank has done: the check, and what was wrong."""

import functools
import json
import multiprocessing
import os
import re
import sys
import tempfile
import traceback
from datetime import timedelta

import fa4
import torch
import torch.distributed as dist
from fa4 import distributed, reference, torch_ops

RANKS = 4
# A rank that waits for one that has failed ends after so many seconds.
PATIENCE = timedelta(seconds=120)
DIM = 64
CHECKS = {}


def case(function, *arguments, ranks, name=None, **options):
    """Makes a check of a function of a group and these arguments, for so many ranks."""
    CHECKS[name or f"{function.__name__.removeprefix('check_')}-{ranks}"] = (ranks, functools.partial(function, *arguments, **options))


def check(*ranks):
    """Makes a check of a function for each of these numbers of ranks."""

    def keep(function):
        for count in ranks:
            case(function, ranks=count)
        return function

    return keep


# ---------------------------------------------------------------------------
# Results beside float64
# ---------------------------------------------------------------------------


def draw(layout, tokens, keys, heads, dtype):
    """q, k, v and the gradients of out and of the LSE, of the whole sequence; the same on all ranks."""
    torch.manual_seed(1)
    sizes = ((tokens, heads[0]), (keys, heads[1]), (keys, heads[1]), (tokens, heads[0]))
    shapes = [[{"b": 1, "s": s, "h": h, "d": DIM}[letter] for letter in layout] for s, h in sizes]
    return [torch.randn(shape).to(dtype) for shape in shapes] + [torch.randn(1, heads[0], tokens)]


def held_to_float64(results, given, dlse, layout, mask):
    """Raises AssertionError where a result is not as close to float64 as the rule of FlashAttention's tests has it."""
    q, k, v, dout = (torch_ops._to_numpy(each) for each in given)
    form = {"layout": layout, "mask": fa4.spec.MASKS[mask] if mask else None}
    extra = {} if dlse is None else {"dlse": dlse.numpy()}
    exact, near = (dict(zip(("out", "lse"), function(q, k, v, **form))) for function in (reference.sdpa, reference.sdpa_same_dtype))
    for whole, function in ((exact, reference.sdpa_backward), (near, reference.sdpa_backward_same_dtype)):
        whole |= dict(zip(("dq", "dk", "dv"), function(q, k, v, dout, **extra, **form)))
    for name, result in results.items():
        floor = {"floor": 1e-3} if name == "lse" else {}
        reference.check(torch_ops._to_numpy(result), exact[name], near[name].astype("float64"), name, **floor)


def run_whole(function, group, given, dlse, zigzag, layout, **options):
    """out, LSE and gradients of the whole, from parts, on each rank."""
    at = layout.index("s")
    parts = [distributed.shard(each, zigzag=zigzag, dim=at, group=group).detach().requires_grad_() for each in given[:3]]
    out, lse = function(*parts, layout=layout, group=group, return_lse=True, **options)
    dout = distributed.shard(given[3], zigzag=zigzag, dim=at, group=group)
    gradients = [dout, torch.zeros_like(lse) if dlse is None else distributed.shard(dlse, zigzag=zigzag, dim=2, group=group)]
    torch.autograd.backward((out, lse) if dlse is not None else (out,), gradients if dlse is not None else gradients[:1])
    results = {"out": (out, at), "lse": (lse, 2), **{f"d{name}": (part.grad, at) for name, part in zip("qkv", parts)}}
    return {name: distributed.unshard(part, zigzag=zigzag, dim=dim, group=group) for name, (part, dim) in results.items()}


def check_attention(function, group, *, mask=None, tokens=256, keys=None, heads=(2, 2), layout="bshd", dtype=torch.bfloat16, with_dlse=False, **options):
    *given, dlse = draw(layout, tokens, keys or tokens, heads, dtype)
    dlse = dlse if with_dlse else None
    zigzag = function is distributed.ring_sdpa and mask is not None
    call = functools.partial(run_whole, function, group, given, dlse, zigzag, layout, mask=mask, **options)
    results = call()
    held_to_float64(results, given, dlse, layout, mask)
    if options.get("deterministic"):
        again = call()
        assert all(torch.equal(results[name], again[name]) for name in results)


RING, ULYSSES = distributed.ring_sdpa, distributed.ulysses_sdpa
for count in (1, 2, 4):
    case(check_attention, RING, ranks=count, name=f"ring-full-{count}")
    case(check_attention, RING, mask="causal", heads=(2, 1), ranks=count, name=f"ring-causal-{count}")
case(check_attention, RING, mask="causal", deterministic=True, ranks=2, name="ring-deterministic-2")
case(check_attention, RING, mask="causal", with_dlse=True, layout="bhsd", dtype=torch.float16, ranks=2, name="ring-lse-2")
case(check_attention, RING, keys=192, heads=(4, 2), layout="sbhd", ranks=2, name="ring-other-keys-2")
case(check_attention, ULYSSES, mask="causal", heads=(4, 2), ranks=2, name="ulysses-causal-2")
case(check_attention, ULYSSES, with_dlse=True, heads=(4, 4), layout="bhsd", ranks=4, name="ulysses-lse-4")


# ---------------------------------------------------------------------------
# Parts and calls
# ---------------------------------------------------------------------------


@check(1, 2, 4)
def check_parts(group):
    """A tensor is put together as it was; positions are those of a rank's chunks; the gradient of a part is there."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    whole = torch.arange(48.0).view(2, 24, 1).requires_grad_()
    for zigzag in (False, True):
        part = distributed.shard(whole, zigzag=zigzag, group=group)
        assert part.shape == (2, 24 // size, 1)
        assert torch.equal(distributed.unshard(part, zigzag=zigzag, group=group), whole)
        positions = distributed.shard(torch.arange(24), zigzag=zigzag, dim=0, group=group)
        assert torch.equal(part[0, :, 0].long(), positions)
        if zigzag:
            chunk = 12 // size
            assert positions[:chunk].tolist() == list(range(rank * chunk, (rank + 1) * chunk)) and positions[-1] == 23 - rank * chunk
        (found,) = torch.autograd.grad(part.sum(), whole)
        assert found.sum() == part.numel() and found[0, positions].all()


def refused(kind, text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert re.search(text, str(error)), str(error)
    else:
        raise AssertionError(f"nothing says {text!r}")


def of(tokens, heads=2, dim=DIM, dtype=torch.bfloat16):
    return torch.zeros(1, tokens, heads, dim, dtype=dtype)


@check(2)
def check_refusals(group):
    """What is wrong on each rank, and on one of them, is the same error on all; after it the group works as before."""
    rank = dist.get_rank(group)
    ring, ulysses = (functools.partial(function, group=group) for function in (distributed.ring_sdpa, distributed.ulysses_sdpa))
    x = of(64)
    mine = of(64 if rank else 32)
    for kind, text, call, tensors, options in (
        (fa4.SpecError, r"^the shape of q is \(1, 32, 2, 64\) on rank 0 of the group and \(1, 64, 2, 64\) on rank 1: all ranks call with the same", ring, [mine, mine, mine], {}),
        (fa4.SpecError, "^on rank 1 of the group, q has elements of type torch.bfloat16, and k of torch.float16", ring, [x, of(64, dtype=torch.float16) if rank else x, x], {}),
        (fa4.SpecError, "^tensors of torch.float32: only bf16 and f16", ring, [x.float()] * 3, {}),
        (fa4.SpecError, "^q has 3 dimensions, not 4: .B, S, H, D.", ring, [x[0], x, x], {}),
        (fa4.SpecError, "a rank's part has no elements", ring, [x[:, :0], x, x], {}),
        (fa4.SpecError, "2 query heads are no multiple of 4", ring, [x, of(64, 4), of(64, 4)], {}),
        (fa4.SpecError, "q, k differ in size d: 32 and 64", ring, [x, of(64, dim=32), of(64, dim=32)], {}),
        (fa4.SpecError, "k, v differ in size s: 32 and 64", ring, [x, x, of(32)], {}),
        (fa4.SpecError, "^a rank has 64 queries and 32 keys: with a causal mask it has the same tokens of both", ring, [x, of(32), of(32)], {"mask": "causal"}),
        (fa4.SpecError, "^a rank has 63 tokens: with a causal mask its part is two chunks of one length", ring, [of(63)] * 3, {"mask": "causal"}),
        (fa4.SpecError, "^a ring has mask=None and mask='causal', not causal, left = 8, bottom_right: ulysses_sdpa takes each mask", ring, [x] * 3, {"mask": fa4.Mask(8, 0)}),
        (fa4.SpecError, "^mask is None, one of causal", ring, [x] * 3, {"mask": "casual"}),
        (fa4.SpecError, "^on rank 1 of the group, mask is None, one of .* not 'ä", ring, [x] * 3, {"mask": "ä\"" * 999 if rank else None}),
        (fa4.SpecError, "^layout is one of bshd, bhsd, sbhd, not 'thd'", ring, [x] * 3, {"layout": "thd"}),
        (fa4.SpecError, "^scale is 0.5 on rank 0 of the group and 0.25 on rank 1", ring, [x] * 3, {"scale": 0.25 if rank else 0.5}),
        (fa4.SpecError, "^whether a tensor requires a gradient is True on rank 0 of the group and False on rank 1", ring, [x, x, x if rank else of(64).requires_grad_()], {}),
        (fa4.SpecError, "^q has a stride of 2 elements in its last dimension, not 1; with copy=True it is copied", ring, [of(64, dim=2 * DIM)[..., ::2], x, x], {}),
        (TypeError, "^on rank 0 of the group, q is a tensor of torch, not float", ring, [x if rank else 1.0, x, x], {}),
        (TypeError, "^deterministic is True or False, not 1", ring, [x] * 3, {"deterministic": 1}),
        (fa4.SpecError, "^4 query heads and 1 key/value heads do not divide by 2 ranks: ulysses_sdpa gives", ulysses, [of(64, 4), of(64, 1), of(64, 1)], {}),
    ):  # fmt: skip
        refused(kind, text, call, *tensors, **options)
    unshard = functools.partial(distributed.unshard, group=group)
    refused(fa4.SpecError, "^dimension 1 has 63 elements, and a zig-zag part has two chunks", unshard, of(63), zigzag=True)
    refused(fa4.SpecError, "^dimension 1 has 66 elements, which do not divide into 4 chunks for 2 ranks", distributed.shard, of(66), zigzag=True, group=group)
    refused(fa4.SpecError, "^dim is 4, and the tensor has 4 dimensions", distributed.shard, x, zigzag=False, dim=4, group=group)
    refused(TypeError, "^group is a process group of torch.distributed or None, not int", distributed.shard, x, zigzag=False, group=2)
    refused(fa4.SpecError, "^this process is not in the group", distributed.shard, x, zigzag=False, group=dist.GroupMember.NON_GROUP_MEMBER)
    assert torch.equal(unshard(mine.new_full((1, 2), rank), zigzag=False).float(), torch.tensor([[0, 0, 1, 1.0]]))


# ---------------------------------------------------------------------------
# Ranks
# ---------------------------------------------------------------------------


def be_rank(rank, names, store):
    """What a rank does: the checks of these names of which it is a rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, RANKS), rank=rank, world_size=RANKS, timeout=PATIENCE)
    groups = {count: dist.new_group(range(count)) for count in sorted({CHECKS[name][0] for name in names})}
    for name in names:
        count, run = CHECKS[name]
        if rank >= count:
            continue
        wrong = ""
        try:
            run(group=groups[count])
        except Exception:
            wrong = traceback.format_exc()
        # One write, so that lines of several ranks stay whole.
        os.write(1, (json.dumps({"check": name, "rank": rank, "wrong": wrong}) + "\n").encode())
        if wrong:
            # The other ranks may wait for this one: nothing that follows says anything.
            os._exit(1)
    dist.destroy_process_group()


def main():
    names = sys.argv[1:] or list(CHECKS)
    with tempfile.TemporaryDirectory() as folder:
        # This process has torch loaded, and no threads: each rank is a copy of it.
        ranks = [multiprocessing.get_context("fork").Process(target=be_rank, args=(rank, names, os.path.join(folder, "store"))) for rank in range(RANKS)]
        for each in ranks:
            each.start()
        while any(each.is_alive() for each in ranks) and not any(each.exitcode for each in ranks):
            next(each for each in ranks if each.is_alive()).join(0.1)
        is_wrong = any(each.exitcode for each in ranks)
        for each in ranks:
            if is_wrong:
                each.terminate()
            each.join()
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
