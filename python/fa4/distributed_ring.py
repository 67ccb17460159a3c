# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ring attention on the operators of fa4.torch_ops: keys and values go round the ranks, and each rank's queries see them one part after the other.

In step i rank r has the keys of rank r - i, while those of the next step arrive. With a causal mask a rank has chunks r and 2N - 1 - r of 2N chunks
of the sequence, so that all ranks have the same work: its own keys under a causal mask, then either all of its queries with the first
half of the keys, or the second half of its queries with all keys, both without a mask.

The gradient goes round in the same way, with the LSE and out of all keys. What ranks add to dk and dv travels behind the keys that it belongs to,
one rank after the other in the order of the ring, and is at home after N hops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch
from torch.autograd.function import once_differentiable

from fa4 import torch_ops
from fa4.distributed_group import Exchange, Ranks, mark, room_for
from fa4.spec import sdpa
from fa4.torch import attention


@dataclass(frozen=True)
class Form:
    """The op of a call, without the sizes that its kernels do not have."""

    head_dim: int
    value_dim: int
    dtype: str
    layout: str
    is_causal: bool
    scale: float | None
    deterministic: bool

    @property
    def tokens(self) -> int:
        """The dimension of q, k and v that is spread over ranks."""
        return self.layout.index("s")


def shapes_of(layout: str, head_dim: int, value_dim: int) -> list[tuple[int | str, ...]]:
    """The shapes of q, k and v, with names for sizes that kernels do not have."""
    sizes = (("Sq", "Hq", head_dim), ("Sk", "Hkv", head_dim), ("Sk", "Hkv", value_dim))
    return [tuple({"b": "B", "s": tokens, "h": heads, "d": dim}[letter] for letter in layout) for tokens, heads, dim in sizes]


@functools.lru_cache(maxsize=torch_ops.KEPT_KERNELS)
def ops_of(form: Form) -> tuple[Callable, str]:
    """Attention of a step, and its gradient in MLIR."""
    shapes = shapes_of(form.layout, form.head_dim, form.value_dim)
    spec = sdpa(*shapes, dtype=form.dtype, layout=form.layout, mask="causal" if form.is_causal else None, scale=form.scale, lse=True)
    return attention(spec), spec.backward(form.deterministic).text


@dataclass(frozen=True)
class Step:
    """What of a rank's queries sees what of the keys that are there: the first token of each, how many follow, and under which mask."""

    form: Form
    queries: tuple[int, int]
    keys: tuple[int, int]

    def of_queries(self, tensor: torch.Tensor) -> torch.Tensor:
        """The part of a tensor with the layout of q."""
        return tensor.narrow(self.form.tokens, *self.queries)

    def of_keys(self, tensor: torch.Tensor) -> torch.Tensor:
        """The part of a tensor with the layout of k."""
        return tensor.narrow(self.form.tokens, *self.keys)

    def of_rows(self, tensor: torch.Tensor) -> torch.Tensor:
        """The part of an LSE, [B, H, S]."""
        return tensor.narrow(-1, *self.queries)

    def forward(self, q, k, v) -> tuple[torch.Tensor, torch.Tensor]:
        """(out, LSE) of these queries and keys."""
        return ops_of(self.form)[0](self.of_queries(q), self.of_keys(k), self.of_keys(v))

    def backward(self, q, k, v, out, lse, dout, dlse) -> list[torch.Tensor]:
        """What these queries and keys add to dq, dk and dv."""
        saved = (self.of_queries(q), self.of_keys(k), self.of_keys(v), self.of_queries(out), self.of_rows(lse).contiguous(), *[None] * len(torch_ops.BESIDE))
        call = SimpleNamespace(saved_tensors=saved, op=ops_of(self.form)[1], numbers=[], kinds="", layout=self.form.layout)
        given = (None if dout is None else self.of_queries(dout), None if dlse is None else self.of_rows(dlse))
        return torch_ops.gradient(call, *given, torch_ops.sdpa_backward)[:3]


def step_of(form: Form, ranks: Ranks, number: int, queries: int, keys: int) -> Step:
    """Step `number` of a rank that has so many queries, and gets so many keys from each rank."""
    everything = (0, queries), (0, keys)
    if not form.is_causal or number == 0:
        return Step(form, *everything)
    unmasked = replace(form, is_causal=False)
    # The rank's chunks are `rank` and 2N - 1 - rank, those of the keys `source` and 2N - 1 - source.
    source = (ranks.rank - number) % ranks.size
    if source < ranks.rank:
        return Step(unmasked, everything[0], (0, keys // 2))
    return Step(unmasked, (queries // 2, queries // 2), everything[1])


def merge(out: torch.Tensor, lse: torch.Tensor, other: torch.Tensor, other_lse: torch.Tensor, layout: str):
    """Adds the attention of other keys to `out`, in place: both are means over keys, whose weights are in proportion to the exponentials of the LSEs.
    `out` and the LSEs are f32, `other` is as a kernel writes it. 18 bytes an element in two passes, since torch has no operator that takes both types."""
    difference = other_lse - lse
    # Where neither has a key that counts, both LSEs are -inf, and out stays 0.
    share = torch.where(torch.isneginf(lse) & torch.isneginf(other_lse), 0.0, torch.sigmoid(difference))
    torch.logaddexp(lse, other_lse, out=lse)
    # From [B, H, S] to the order of the layout.
    share = share.permute(["bhs".index(letter) for letter in layout[:-1]])[..., None]
    out.lerp_(other.float(), share)


def attend(ranks: Ranks, form: Form, q, k, v) -> tuple[torch.Tensor, torch.Tensor]:
    """(out, LSE) of a rank's queries and the keys of all ranks."""
    sizes = q.shape[form.tokens], k.shape[form.tokens]
    if ranks.size == 1:
        return step_of(form, ranks, 0, *sizes).forward(q, k, v)
    out = lse = None
    held: Sequence[torch.Tensor] = (k, v)
    room, ready = room_for(held), mark(q.device)
    for number in range(ranks.size):
        step = step_of(form, ranks, number, *sizes)
        is_last = number + 1 == ranks.size
        exchange = None if is_last else Exchange(ranks, held, room, ready)
        part, part_lse = step.forward(q, *held)
        if exchange:
            held = exchange.wait()
            # The next exchange begins while results are merged, before the next step's kernel has taken all SMs.
            room, ready = room_for(held), mark(q.device)
        if out is None:
            out, lse = part.float(), part_lse
        else:
            merge(step.of_queries(out), step.of_rows(lse), part, part_lse, form.layout)
    return out.to(q.dtype), lse


def _sum_type(ranks: Ranks, narrow: torch.dtype) -> torch.dtype:
    """The type in which what steps add to a gradient is added up. A sum of two numbers is rounded once in the kernels' own type, too."""
    return torch.float32 if ranks.size > 2 else narrow


def _add(step: Step, sums: Sequence[torch.Tensor], own: Sequence[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """The sums that have arrived, with what this rank adds to dk and dv, in a type."""
    sums = [each.to(dtype) for each in sums]
    for whole, part in zip(sums, own):
        step.of_keys(whole).add_(part)
    return sums


def gradient(ranks: Ranks, form: Form, q, k, v, out, lse, dout, dlse) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq of a rank's queries, and dk and dv of its keys."""
    sizes = q.shape[form.tokens], k.shape[form.tokens]
    if dout is not None and not torch_ops.is_accessible(dout):
        dout = dout.contiguous()
    if ranks.size == 1:
        return tuple(step_of(form, ranks, 0, *sizes).backward(q, k, v, out, lse, dout, dlse))
    dq, sums, wide = None, [], _sum_type(ranks, q.dtype)
    held: Sequence[torch.Tensor] = (k, v)
    sent = list(held)
    room, ready = room_for(sent), mark(q.device)
    for number in range(ranks.size):
        step = step_of(form, ranks, number, *sizes)
        exchange = Exchange(ranks, sent, room, ready)
        part, *own = step.backward(q, *held, out, lse, dout, dlse)
        received = exchange.wait()
        is_last = number + 1 == ranks.size
        # In front of the sums are the keys and values of the next step.
        held, sums = ((), received) if is_last else (received[:2], received[2:])
        sums = _add(step, sums, own, wide) if number else own
        # The first sums are as the kernel has them, and the last ones are final: both lose nothing in the type of k.
        sums = [each.to(k.dtype) for each in sums] if is_last else sums
        sent = [*(held if number + 2 < ranks.size else ()), *sums]
        room, ready = room_for(sent), mark(q.device)
        if dq is None:
            dq = part.to(wide)
        else:
            step.of_queries(dq).add_(part)
    exchange = Exchange(ranks, sent, room, ready)
    dq = dq.to(q.dtype)
    return (dq, *exchange.wait())


class Attention(torch.autograd.Function):
    """out and LSE of a rank's queries; differentiable in q, k and v."""

    @staticmethod
    def forward(ctx, q, k, v, ranks, form):
        ctx.ranks, ctx.form = ranks, form
        out, lse = attend(ranks, form, q, k, v)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        return *gradient(ctx.ranks, ctx.form, *ctx.saved_tensors, dout, dlse), None, None
