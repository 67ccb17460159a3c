# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over a sequence that is spread over the ranks of a process group of torch.distributed: each rank has a part of q, k and v.

    torch.distributed.init_process_group()               # gloo on the CPU, NCCL on GPUs
    q, k, v = (fa4.distributed.shard(x, zigzag=True) for x in (q, k, v))
    out = fa4.distributed.ring_sdpa(q, k, v, mask="causal")
    out = fa4.distributed.unshard(out, zigzag=True)

`ring_sdpa` sends keys and values from rank to rank, `ulysses_sdpa` gives each rank some heads of the whole sequence. All ranks of the group
call together, and so they do backward(). As in fa4.torch, tensors are on CUDA devices, or on the CPU, where kernels run in the simulator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.distributed as dist

from fa4 import torch_ops
from fa4.distributed_group import Ranks, agree, ranks_of
from fa4.distributed_ring import Attention, Form, shapes_of
from fa4.spec import Mask, Spec, SpecError, _read_mask, is_whole, read_scale, sdpa
from fa4.torch import DTYPES, _autocast, _check_flags, _check_tensors, _dtype_of, _refuse_tangents, attention

__all__ = ["ring_sdpa", "shard", "ulysses_sdpa", "unshard"]

LAYOUTS = ("bshd", "bhsd", "sbhd")


# ---------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------


def _order(size: int, zigzag: bool) -> list[tuple[int, ...]]:
    """The chunks of a sequence that each rank has, by their numbers."""
    return [(rank, 2 * size - 1 - rank) if zigzag else (rank,) for rank in range(size)]


def _check_dim(tensor, dim, zigzag):
    _check_tensors(tensor=tensor)
    _check_flags(zigzag=zigzag)
    if not is_whole(dim) or not -tensor.dim() <= dim < tensor.dim():
        raise SpecError(f"dim is {dim!r}, and the tensor has {tensor.dim()} dimensions")


def shard(tensor: torch.Tensor, *, zigzag: bool, dim: int = 1, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """This rank's part of a whole tensor, along `dim`, that of its tokens; differentiable. `zigzag`: chunks r and 2N - 1 - r of 2N, as `ring_sdpa`
    takes them with a causal mask, so that all N ranks have the same work; else part r of N, as all else takes them. Nothing is sent: each rank has the whole
    tensor. Of `torch.arange(tokens)`, with dim=0, it is the positions of a rank's tokens, as rotary embeddings need them.

    Raises TypeError, and SpecError where the tokens do not divide."""
    ranks = ranks_of(group)
    _check_dim(tensor, dim, zigzag)
    chunks = ranks.size * (1 + zigzag)
    tokens = tensor.shape[dim]
    if not tokens or tokens % chunks:
        raise SpecError(f"dimension {dim} has {tokens} elements, which do not divide into {chunks} chunks for {ranks.size} rank{'s' * (ranks.size > 1)}")
    whole = tensor.chunk(chunks, dim)
    mine = [whole[number] for number in _order(ranks.size, zigzag)[ranks.rank]]
    return mine[0] if len(mine) == 1 else torch.cat(mine, dim)


def unshard(part: torch.Tensor, *, zigzag: bool, dim: int = 1, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """The whole tensor on all ranks, from the parts that `shard` makes: for checks and small results. It has no gradient.

    Raises TypeError and SpecError, the same on all ranks."""
    ranks = ranks_of(group)

    def describe():
        _check_dim(part, dim, zigzag)
        if zigzag and part.shape[dim] % 2:
            raise SpecError(f"dimension {dim} has {part.shape[dim]} elements, and a zig-zag part has two chunks of one length")
        return {"the shape": str(tuple(part.shape)), "the type": str(part.dtype), "zigzag": str(zigzag), "dim": str(dim)}

    agree(ranks, describe)
    mine = part.detach().contiguous()
    parts = [torch.empty_like(mine) for _ in range(ranks.size)]
    dist.all_gather(parts, mine, group=ranks.group)
    chunks: dict[int, torch.Tensor] = {}
    for numbers, each in zip(_order(ranks.size, zigzag), parts):
        chunks |= zip(numbers, each.chunk(len(numbers), dim))
    return torch.cat([chunks[number] for number in sorted(chunks)], dim)


# ---------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=torch_ops.KEPT_KERNELS)
def _spec(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], dtype: str, layout: str, mask: Mask | None, scale: float | None) -> Spec:
    """A spec of these sizes. A model has the same one in all of its layers."""
    return sdpa(q, k, v, dtype=dtype, layout=layout, mask=mask, scale=scale)


def _spec_of(q, k, v, layout, mask, scale) -> Spec:
    """The op of a rank's tensors, with their sizes. Raises TypeError and SpecError where there is none."""
    _check_tensors(q=q, k=k, v=v)
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise SpecError(f"layout is one of {', '.join(LAYOUTS)}, not {layout!r}")
    for name, each in (("q", q), ("k", k), ("v", v)):
        if each.dim() != len(layout):
            raise SpecError(f"{name} has {each.dim()} dimensions, not {len(layout)}: [{', '.join(layout.upper())}]")
        if not each.numel():
            raise SpecError(f"{name} has shape {tuple(each.shape)}: a rank's part has no elements")
        if each.device != q.device:
            raise SpecError(f"q is on {q.device}, and {name} on {each.device}: the tensors of a call are on one device")
    dtypes = [each.dtype for each in _autocast((q, k, v))]
    for name, dtype in zip("kv", dtypes[1:]):
        if dtype != dtypes[0]:
            raise SpecError(f"q has elements of type {dtypes[0]}, and {name} of {dtype}: the tensors of a call are of one type")
    shapes = (tuple(each.shape) for each in (q, k, v))
    return _spec(*shapes, _dtype_of(q, k, v), layout, _read_mask(mask), read_scale(scale))


def _check_access(copy: bool, **tensors):
    for name, each in tensors.items():
        if not copy and (problem := torch_ops._problem(each)):
            raise SpecError(f"{name} {problem}; with copy=True it is copied")


def _words(q, k, v, **form) -> dict[str, str]:
    """What all ranks must call with alike."""
    words = {f"the shape of {name}": str(tuple(each.shape)) for name, each in (("q", q), ("k", k), ("v", v))}
    needs = torch.is_grad_enabled() and any(each.requires_grad for each in (q, k, v))
    words |= {"the type of elements": str(q.dtype), "whether a tensor requires a gradient": str(needs)}
    return words | {name: str(value) for name, value in form.items()}


def _check_ring(spec: Spec, ranks: Ranks):
    """Raises SpecError for a mask or parts that a ring does not have."""
    if spec.mask is None:
        return
    if spec.mask.left is not None or spec.mask.right != 0:
        raise SpecError(f"a ring has mask=None and mask='causal', not {spec.mask.text}: ulysses_sdpa takes each mask")
    tokens = spec.layout.index("s")
    if spec.q[tokens] != spec.k[tokens]:
        raise SpecError(f"a rank has {spec.q[tokens]} queries and {spec.k[tokens]} keys: with a causal mask it has the same tokens of both")
    if ranks.size > 1 and spec.q[tokens] % 2:
        raise SpecError(f"a rank has {spec.q[tokens]} tokens: with a causal mask its part is two chunks of one length, as shard(..., zigzag=True) makes it")


def _check_call(ranks: Ranks, describe: Callable[[], dict[str, str]], check: bool):
    """Checks the call of this rank, and unless `check` is False that those of all ranks are alike."""
    if check is False:
        describe()
    else:
        agree(ranks, describe)


@torch.compiler.disable
def ring_sdpa(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, mask: Mask | str | None = None, scale: float | None = None, layout: str = "bshd",
    group: dist.ProcessGroup | None = None, deterministic: bool = False, return_lse: bool = False, copy: bool = False, check: bool = True,
):  # fmt: skip
    """Attention of this rank's queries over the keys of all ranks, by ring attention: keys and values go from rank to rank, and each rank's next ones arrive
    while it computes. Differentiable in q, k and v.

    `q`, `k`, `v`: this rank's part, in the order of `layout`, by default [B, S / N, H, D], of bf16 or f16, of the same shapes on all N ranks; k and v may have fewer
    heads than q, a divisor of them. With `mask="causal"` parts are zig-zag (`shard(x, zigzag=True)`): nobody can see in a tensor whether they are.
    Without a mask, parts are contiguous, and queries may be others than keys. `scale`: of q.k, 1 / sqrt(D) by default. `group`: of torch.distributed, by
    default that of all processes; all its ranks call, and all call backward(). k and v are copied where they are not contiguous, since they are sent;
    q and v's strides are else as for fa4.torch, and with `copy` tensors that no kernel reads are copied.

    Returns out, in q's dtype and layout, and with `return_lse` (out, lse), lse [B, H, S / N] of f32, natural logarithms, which has a gradient, too. Results of
    parts of the keys are merged in f32 in the order of the ring, which is the same in each run. `deterministic`: whether gradients have the same
    bits in each run, too.

    Raises TypeError and SpecError, of which each rank has the same: calls are compared before anything is sent, which costs a small message, for which the
    host waits, though not for the GPU where the group has gloo for the CPU. `check=False` leaves that out, as a CUDA graph needs it. Other
    errors are those of `fa4.torch.attention`. torch.compile has a break of the graph here; there are no forward-mode and second derivatives."""
    ranks = ranks_of(group)

    def describe() -> dict[str, str]:
        _check_flags(deterministic=deterministic, return_lse=return_lse, copy=copy, check=check)
        spec = _spec_of(q, k, v, layout, mask, scale)
        _check_ring(spec, ranks)
        _check_access(copy, q=q, **({"k": k, "v": v} if ranks.size == 1 else {}))
        return _words(q, k, v, mask=spec.mask and spec.mask.text, scale=spec.scale, layout=layout, deterministic=deterministic, function="ring_sdpa")

    _check_call(ranks, describe, check)
    _refuse_tangents(q, k, v)
    q, k, v = _autocast((q, k, v))
    form = Form(q.shape[-1], v.shape[-1], DTYPES[q.dtype], layout, mask is not None, read_scale(scale), deterministic)
    q = q if torch_ops.is_accessible(q) else q.contiguous()
    if ranks.size > 1 or copy:
        k, v = k.contiguous(), v.contiguous()
    out, lse = Attention.apply(q, k, v, ranks, form)
    return (out, lse) if return_lse else out


# ---------------------------------------------------------------------------
# From parts of the sequence to heads
# ---------------------------------------------------------------------------


def _all_to_all(tensor: torch.Tensor, ranks: Ranks, split: int, joined: int) -> torch.Tensor:
    """Sends piece r of dimension `split` to rank r, and puts what comes behind each other in dimension `joined`."""
    sent = torch.stack(tensor.chunk(ranks.size, split))
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent, group=ranks.group)
    return torch.cat(received.unbind(), joined)


class _Turn(torch.autograd.Function):
    """`_all_to_all`, whose gradient goes back the same way."""

    @staticmethod
    def forward(ctx, tensor, ranks, split, joined):
        ctx.back = ranks, joined, split
        return _all_to_all(tensor, ranks, split, joined)

    @staticmethod
    def backward(ctx, gradient):
        return _Turn.apply(gradient, *ctx.back), None, None, None


@functools.lru_cache(maxsize=torch_ops.KEPT_KERNELS)
def _on_heads(head_dim: int, value_dim: int, dtype: str, layout: str, mask: Mask | None, scale: float | None, deterministic: bool) -> Callable:
    """Attention of some heads of a whole sequence, with the LSE."""
    shapes = shapes_of(layout, head_dim, value_dim)
    return attention(sdpa(*shapes, dtype=dtype, layout=layout, mask=mask, scale=scale, lse=True), deterministic=deterministic)


@torch.compiler.disable
def ulysses_sdpa(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, mask: Mask | str | None = None, scale: float | None = None, layout: str = "bshd",
    group: dist.ProcessGroup | None = None, deterministic: bool = False, return_lse: bool = False, check: bool = True,
):  # fmt: skip
    """As `ring_sdpa`, by DeepSpeed-Ulysses' way: an all-to-all gives each rank some heads of the whole sequence, attention runs there, and another one
    brings out back. Each rank holds a whole sequence meanwhile, of its heads. The numbers of heads of q and of k must be multiples of that of
    ranks. Parts are contiguous whatever the mask is (`shard(x, zigzag=False)`), and each mask of fa4.sdpa is taken."""
    ranks = ranks_of(group)

    def describe() -> dict[str, str]:
        _check_flags(deterministic=deterministic, return_lse=return_lse, check=check)
        spec = _spec_of(q, k, v, layout, mask, scale)
        heads = [each[layout.index("h")] for each in (spec.q, spec.k)]
        if any(count % ranks.size for count in heads):
            raise SpecError(f"{heads[0]} query heads and {heads[1]} key/value heads do not divide by {ranks.size} ranks: ulysses_sdpa gives each rank as many "
                            "of both, and ring_sdpa takes any number of heads")  # fmt: skip
        return _words(q, k, v, mask=spec.mask and spec.mask.text, scale=spec.scale, layout=layout, deterministic=deterministic, function="ulysses_sdpa")

    _check_call(ranks, describe, check)
    _refuse_tangents(q, k, v)
    q, k, v = _autocast((q, k, v))
    attend = _on_heads(q.shape[-1], v.shape[-1], DTYPES[q.dtype], layout, _read_mask(mask), read_scale(scale), deterministic)
    tokens, heads = layout.index("s"), layout.index("h")
    out, lse = attend(*(_Turn.apply(each, ranks, heads, tokens) for each in (q, k, v)))
    out = _Turn.apply(out, ranks, tokens, heads)
    return (out, _Turn.apply(lse, ranks, 2, 1)) if return_lse else out
