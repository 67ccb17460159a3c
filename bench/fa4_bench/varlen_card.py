# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measurement of bench/varlen: candidates on tensors of torch, their check, and their times."""

import dataclasses
import itertools
from types import SimpleNamespace

import torch
from torch.nn.attention.varlen import varlen_attn

from fa4_bench.hopper import measure, ours
from fa4_bench.hopper.reference import Bounds
from fa4_bench.hopper.tables import is_right
from fa4_bench.varlen import HEADS, LENGTHS, PEER, folder_of

# Launches whose times count, of each candidate.
PLAN = measure.Plan(burst_rounds=5, sustained_rounds=0, watch=False)


class Problem:
    """The tensors of a row, and what the results of each of its sequences may be."""

    def __init__(self, row):
        self.row, self.lengths = row, LENGTHS[row.lengths]
        bounds = list(itertools.accumulate(self.lengths, initial=0))
        self.tokens = bounds[-1]
        generator = torch.Generator("cuda").manual_seed(1)
        self.q, self.k, self.v, self.dout = (
            torch.randn(self.tokens, HEADS, row.head_dim, device="cuda", generator=generator).bfloat16() for _ in range(4)
        )
        self.cu = torch.tensor(bounds, dtype=torch.int32, device="cuda")
        self.parts = [slice(*each) for each in itertools.pairwise(bounds)]
        form, operands = SimpleNamespace(kind=row.mask), (self.q, self.k, self.v, *[self.dout][: row.kind == "bwd"])
        self.bounds = [Bounds(form, *(x[None, part] for x in operands)) for part in self.parts]

    @property
    def names(self):
        return ("out",) if self.row.kind == "fwd" else ("dq", "dk", "dv")

    def wrong(self, computed):
        """What FlashAttention's rule refuses, by the largest errors of all sequences, as text; empty where all is right."""
        errors = [bounds.errors({name: computed[name].view_as(self.q)[None, part] for name in self.names})
                  for part, bounds in zip(self.parts, self.bounds, strict=True)]  # fmt: skip
        largest = {name: torch.stack([of_part[name] for of_part in errors]).amax(0).tolist() for name in self.names}
        return "; ".join(f"{name}: {error:.3g}, allowed {allowed:.3g}" for name, (error, allowed) in largest.items() if not is_right(error, allowed))


class Bench:
    def __init__(self, card, folder, quick):
        self.stage, self.folder = measure.Stage(card), folder
        self.plan = measure.QUICK if quick else PLAN

    def of_fa4(self, problem, layout):
        """Our kernel of packed sequences, or of a batch of sequences of one length."""
        row, tokens = problem.row, problem.tokens
        batch = (len(problem.lengths), problem.lengths[0]) if layout == "bshd" else (tokens,)

        def shaped(tensor):
            return tensor.view(*batch, HEADS, row.head_dim)

        lse = torch.empty((batch[0], HEADS, batch[1]) if layout == "bshd" else (HEADS, tokens), device="cuda")
        bounds = dict(cu_seqlens_q=problem.cu, cu_seqlens_k=problem.cu) if layout == "thd" else {}
        inputs = {name: shaped(getattr(problem, name)) for name in "qkv"} | bounds
        out = torch.empty_like(inputs["q"])
        forward = ours.load(self.folder / folder_of(layout, dataclasses.replace(row, kind="fwd")))
        call = forward.prepare(**inputs, out=out, lse=lse)
        computed = {"out": out}
        if row.kind == "bwd":
            call.launch()
            computed = {name: torch.empty_like(out) for name in problem.names}
            call = ours.load(self.folder / folder_of(layout, row)).prepare(**inputs, out=out, dout=shaped(problem.dout), lse=lse, **computed)
        return SimpleNamespace(name="packed" if layout == "thd" else "batch", launch=call.launch, computed=lambda: computed, call=call)

    def of_torch(self, problem):
        row, longest = problem.row, max(problem.lengths)
        q, k, v = (x.detach().requires_grad_(row.kind == "bwd") for x in (problem.q, problem.k, problem.v))
        window = dict(window_size=(-1, 0)) if row.mask == "causal" else {}
        try:
            varlen_attn(q, k, v, problem.cu, problem.cu, longest, longest, **window)
        except TypeError:
            window = dict(is_causal=True) if window else {}

        def forward():
            return varlen_attn(q, k, v, problem.cu, problem.cu, longest, longest, **window)

        if row.kind == "fwd":
            return SimpleNamespace(name=PEER, launch=forward, computed=lambda: {"out": forward()})
        out = forward()

        def backward():
            return torch.autograd.grad(out, (q, k, v), problem.dout, retain_graph=True)

        return SimpleNamespace(name=PEER, launch=backward, computed=lambda: dict(zip(problem.names, backward())))

    def measure(self, row):
        """What the record has of a row: microseconds of each candidate that is right, and what is wrong with the others."""
        problem = Problem(row)
        candidates = [self.of_fa4(problem, "thd"), self.of_torch(problem)]
        if len(set(problem.lengths)) == 1:
            candidates.append(self.of_fa4(problem, "bshd"))
        wrong = {}
        for candidate in candidates:
            candidate.launch()
            if said := problem.wrong(candidate.computed()):
                wrong[candidate.name] = said
        problem.bounds = None  # What the reference took is not needed while kernels are timed.
        right = [candidate for candidate in candidates if candidate.name not in wrong]
        times = measure.time_all(self.stage, right, self.plan)
        return {"tokens": problem.tokens, "us": {name: found["burst"]["us"] for name, found in times.items()}, "wrong": wrong}
