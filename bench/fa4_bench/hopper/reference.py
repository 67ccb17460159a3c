# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and its gradient by torch on a GPU, in float64 and as a kernel has them, and FlashAttention's rule for results:
max |result - float64| <= 2 max |as a kernel - float64| + floor.

Tensors are [batch, tokens, heads, columns]; the LSE is [batch, heads, queries]. Scores are formed for some heads at a time, as many
as fit into memory. A query that sees no key has a result of 0 and an LSE of -inf."""

from typing import NamedTuple

import torch

from fa4_bench.hopper.meaning import Meaning, meaning_of

# Scores of a chunk: 2 GiB of float64, of which the gradient has about ten tensors.
CHUNK = 2**28
LSE_TOLERANCE = 1e-3


class Results(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor
    gradients: tuple = ()


class Chunk(NamedTuple):
    """Some sequences and heads of a call: what their scores mean, the type in which they are computed and the one to which what
    meets a tensor core is rounded (None for no rounding), the factor, and the numbers of the sequences and of the query heads."""

    meaning: Meaning
    dtype: torch.dtype
    narrow: torch.dtype | None
    scale: float
    batch: torch.Tensor
    heads: torch.Tensor

    def rounded(self, x):
        return x.to(self.narrow).to(self.dtype) if self.narrow else x

    def scores(self, raw):
        """What score_mod and mask_mod make of scaled products."""
        queries, keys = raw.shape[-2:]
        i = torch.arange(queries, device=raw.device)[:, None] + (keys - queries if self.meaning.is_shifted else 0)
        j = torch.arange(keys, device=raw.device)[None]
        if self.meaning.score:
            raw = self.meaning.score(raw, self.batch[:, None, None, None], self.heads[None, :, None, None], i, j)
        return raw.masked_fill(~self.meaning.visible(i, j), -torch.inf) if self.meaning.visible else raw

    def attend(self, q, k, v):
        """(out, LSE) of tensors [batch, heads, tokens, columns]."""
        scores = self.scores(self.scale * (q @ k.transpose(-1, -2)))
        most = scores.amax(-1, keepdim=True)
        weights = (scores - most.masked_fill(most == -torch.inf, 0.0)).exp()
        total = weights.sum(-1, keepdim=True)
        out = (self.rounded(weights) @ v) / total.masked_fill(total == 0, 1.0)
        return self.rounded(out), (most + total.log()).squeeze(-1)

    def gradients(self, q, k, v, out, lse, dout):
        """Those of q, k and v, with heads of k and v as those of q."""
        raw = (self.scale * (q @ k.transpose(-1, -2))).requires_grad_(self.meaning.score is not None)
        with torch.enable_grad():
            scores = self.scores(raw)
        weights = (scores.detach() - lse.masked_fill(lse == -torch.inf, 0.0)[..., None]).exp()
        sums = (dout * out).sum(-1, keepdim=True)
        of_scores = weights * (dout @ v.transpose(-1, -2) - sums)
        if self.meaning.score:
            (of_scores,) = torch.autograd.grad(scores, raw, of_scores)
        of_scores = self.rounded(of_scores)
        dq, dk = self.scale * (of_scores @ k), self.scale * (of_scores.transpose(-1, -2) @ q)
        return dq, dk, self.rounded(weights).transpose(-1, -2) @ dout


def _chunks(batch, heads, pairs):
    """Yields (sequences, key/value heads) whose scores fit into a chunk; `pairs` are those of one head with its queries'."""
    together = max(1, CHUNK // max(pairs, 1))
    if together >= heads:
        step = together // heads
        yield from ((slice(b, min(b + step, batch)), slice(0, heads)) for b in range(0, batch, step))
        return
    for b in range(batch):
        yield from ((slice(b, b + 1), slice(h, min(h + together, heads))) for h in range(0, heads, together))


def compute(kind, q, k, v, dout=None, narrow=None):
    """The Results in float64, with `dout` also the gradients of q, k and v. With `narrow` in float32, and what meets a tensor core rounded to
    that type, as a kernel has it."""
    device, dtype = q.device, torch.float32 if narrow else torch.float64
    batch, queries, heads, head_dim = q.shape
    keys, kv_heads, group = k.shape[1], k.shape[2], heads // k.shape[2]
    out = torch.empty(batch, queries, heads, v.shape[3], dtype=dtype, device=device)
    lse = torch.empty(batch, heads, queries, dtype=dtype, device=device)
    gradients = tuple(torch.empty(x.shape, dtype=dtype, device=device) for x in (q, k, v)) if dout is not None else ()
    meaning = meaning_of(kind, heads, max(queries, keys), device)
    for b, h in _chunks(batch, kv_heads, group * queries * keys):
        own = slice(h.start * group, h.stop * group)
        numbers = torch.arange(b.start, b.stop, device=device), torch.arange(own.start, own.stop, device=device)
        chunk = Chunk(meaning, dtype, narrow, head_dim**-0.5, *numbers)
        parts = [x[b, :, heads_of].to(dtype).transpose(1, 2) for x, heads_of in ((q, own), (k, h), (v, h))]
        parts[1:] = (x.repeat_interleave(group, 1) for x in parts[1:])
        result, sums = chunk.attend(*parts)
        out[b, :, own], lse[b, own] = result.transpose(1, 2), sums
        if dout is not None:
            found = chunk.gradients(*parts, result, sums, dout[b, :, own].to(dtype).transpose(1, 2))
            for whole, part, heads_of, count in zip(gradients, found, (own, h, h), (1, group, group), strict=True):
                # Query heads of a group share their keys and values.
                summed = part.unflatten(1, (-1, count)).sum(2)
                whole[b, :, heads_of] = summed.transpose(1, 2)
    return Results(out, lse, gradients)


def rounding_floor(reference, dtype):
    """What FlashAttention's tests allow beside twice the error of a kernel's arithmetic: see fa4.reference.rounding_floor."""
    x = torch.where(reference.isfinite(), reference, 0.0).to(dtype)
    noise = ((x + 0.3) - 0.3 - x).double().abs().amax()
    return torch.maximum(2 * noise, 1e-5 * x.double().abs().amax())


class Bounds:
    """What results of a call may be: the reference in float64, and how far off they may be."""

    def __init__(self, form, q, k, v, dout=None):
        exact = compute(form.kind, q, k, v, dout)
        same = compute(form.kind, q, k, v, dout, narrow=q.dtype)
        self.exact = exact
        self.bounds = {}
        pairs = zip(("dq", "dk", "dv"), exact.gradients, same.gradients, strict=True) if dout is not None else [("out", exact.out, same.out)]
        for name, reference, narrow in pairs:
            error = (narrow.to(q.dtype).double() - reference).abs().amax()
            allowed = 2 * error + rounding_floor(reference, q.dtype)
            self.bounds[name] = (reference, allowed)
        if dout is None:
            self.bounds["lse"] = (exact.lse, LSE_TOLERANCE + rounding_floor(exact.lse, torch.float32))

    def errors(self, results):
        """A tensor of a pair (error, allowed) for each result that is known here, by name; an infinity must be the same one. Nothing waits
        for the GPU."""
        found = {}
        for name, result in results.items():
            if name in self.bounds:
                reference, allowed = self.bounds[name]
                difference = torch.where(reference.isfinite(), (result.double() - reference).abs(),
                                         torch.where(result == reference, 0.0, torch.nan))  # fmt: skip
                found[name] = torch.stack([difference.amax() if difference.numel() else difference.new_zeros(()), allowed])
        return found
