# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measurement of bench/serving: candidates on tensors of torch, their check, and their times."""

from types import SimpleNamespace

import torch
from torch.nn.attention import SDPBackend, bias, flex_attention, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from fa4_bench.hopper import measure, ours
from fa4_bench.hopper.reference import Bounds
from fa4_bench.hopper.tables import is_right

PLAN = measure.Plan(burst_rounds=5, sustained_rounds=0, watch=False)
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


class Problem:
    """The tensors of a row, [batch, tokens, heads, columns], and what the results may be."""

    def __init__(self, row):
        self.row = row
        generator = torch.Generator("cuda").manual_seed(1)
        shapes = [(row.batch, row.queries, row.heads[0], row.head_dim)] + [(row.batch, row.keys, row.heads[1], row.head_dim)] * 2
        self.q, self.k, self.v = (torch.randn(shape, device="cuda", generator=generator, dtype=torch.bfloat16) for shape in shapes)
        if row.page:
            self.to_pages(generator)
        self.bounds = [Bounds(SimpleNamespace(kind=row.kind), *(x[b, None] for x in (self.q, self.k, self.v))) for b in range(row.batch)]

    def to_pages(self, generator):
        """Sets what keys and values are in pages, in any order, and where each sequence has its own."""
        row = self.row
        count = row.keys // row.page
        order = torch.randperm(row.batch * count, device="cuda", generator=generator)
        self.page_table = order.view(row.batch, count).int()
        self.seqlens_k = torch.full((row.batch,), row.keys, device="cuda", dtype=torch.int32)
        pages = (x.view(-1, row.page, *x.shape[2:]) for x in (self.k, self.v))
        self.key_pages, self.value_pages = (x[order.argsort()].contiguous() for x in pages)

    def wrong(self, out):
        """What FlashAttention's rule refuses, of the first such sequence, as text; empty where all is right."""
        errors = torch.stack([bounds.errors({"out": out[b, None]})["out"] for b, bounds in enumerate(self.bounds)]).tolist()
        refused = [f"{error:.3g}, allowed {allowed:.3g}" for error, allowed in errors if not is_right(error, allowed)]
        return refused[0] if refused else ""


class Bench:
    def __init__(self, card, folder, quick):
        self.stage, self.folder = measure.Stage(card), folder
        self.plan = measure.QUICK if quick else PLAN

    def of_fa4(self, problem):
        out = torch.empty_like(problem.q)
        keys = {"k": problem.k, "v": problem.v}
        if problem.row.page:
            keys = {"k": problem.key_pages, "v": problem.value_pages, "page_table": problem.page_table, "seqlens_k": problem.seqlens_k}
        call = ours.load(self.folder / problem.row.folder).prepare(q=problem.q, out=out, **keys)
        return SimpleNamespace(name="ours", launch=call.launch, computed=lambda: out, call=call)

    def of_torch(self, problem, name):
        q, k, v = (x.transpose(1, 2) for x in (problem.q, problem.k, problem.v))
        mask = bias.causal_lower_right(q.shape[2], k.shape[2]) if problem.row.kind == "causal" else None

        def forward():
            with sdpa_kernel(BACKENDS[name]):
                return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

        return SimpleNamespace(name=name, launch=forward, computed=lambda: forward().transpose(1, 2))

    def of_flex(self, problem):
        torch.compiler.reset()
        row, compiled = problem.row, torch.compile(flex_attention.flex_attention, dynamic=False)
        q, k, v = (x.transpose(1, 2) for x in (problem.q, problem.k, problem.v))
        shift, blocks = row.keys - row.queries, None
        if row.kind == "causal":
            blocks = flex_attention.create_block_mask(lambda b, h, i, j: j <= i + shift, None, None, row.queries, row.keys)

        def forward():
            return compiled(q, k, v, block_mask=blocks, enable_gqa=True)

        return SimpleNamespace(name="flex", launch=forward, computed=lambda: forward().transpose(1, 2))

    def measure(self, row):
        """What the record has of a row: the bytes of keys and values, microseconds of each candidate that is right, what is wrong with
        the others, and why there is no other one."""
        problem = Problem(row)
        makers = {"ours": self.of_fa4} | {name: lambda problem, name=name: self.of_torch(problem, name) for name in BACKENDS} | {"flex": self.of_flex}
        right, wrong, absent = [], {}, {}
        for name, make in makers.items():
            try:
                candidate = make(problem)
                candidate.launch()
                if said := problem.wrong(candidate.computed()):
                    wrong[name] = said
                else:
                    right.append(candidate)
            except (RuntimeError, ValueError, TypeError) as error:
                absent[name] = f"{type(error).__name__}: {error}"[:200]
        problem.bounds = None  # What the reference took is not needed while kernels are timed.
        times = measure.time_all(self.stage, right, self.plan)
        return {"bytes": row.bytes, "us": {name: found["burst"]["us"] for name, found in times.items()}, "wrong": wrong, "absent": absent}

    def read_rate(self):
        """GB/s at which torch sums a tensor of 4 GiB."""
        tensor = torch.ones(2**30, device="cuda")
        us = measure.time_all(self.stage, [SimpleNamespace(name="read", launch=lambda: tensor.sum())], self.plan)["read"]["burst"]["us"]
        return tensor.nbytes / us / 1e3
