# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can compute a row on a card: kernels of fa4, FlashAttention-4's (recorded launches), cuDNN's and FlexAttention's (through
torch). Each has results of its own; inputs are shared."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention import flex_attention as flex
from torch.nn.functional import scaled_dot_product_attention

from fa4_bench.hopper import ours
from fa4_bench.hopper.meaning import flex_functions, make_tables, meaning_of
from fa4_bench.hopper.reference import Bounds
from fa4_bench.hopper.replayed import DTYPES, Replayed

SEED = 20261127
DEVICE = "cuda"


def make_inputs(form, batch, queries, keys, heads, kv_heads, seed):
    """Random tensors by name: normal numbers, [batch, tokens, heads, columns] as views of memory in the form's layout, and the tables."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    order = ["bshd".index(letter) for letter in form.layout]
    value_dim = form.value_dim or form.head_dim

    def draw(tokens, count, columns):
        shape = (batch, tokens, count, columns)
        stored = torch.randn([shape[i] for i in order], generator=generator, device=DEVICE).to(DTYPES[form.dtype])
        return stored.permute([order.index(i) for i in range(4)])

    tables = {f"capture{n}": table for n, table in enumerate(make_tables(form.kind, heads, max(queries, keys), DEVICE))}
    inputs = tables | {"q": draw(queries, heads, form.head_dim), "k": draw(keys, kv_heads, form.head_dim), "v": draw(keys, kv_heads, value_dim)}
    return inputs | ({"dout": draw(queries, heads, value_dim)} if form.is_backward else {})


def poisoned_results(form, inputs):
    """Tensors for what a kernel of the form writes, full of NaN."""
    q, v = inputs["q"], inputs["v"]
    if form.is_backward:
        made = {f"d{name}": torch.empty_like(inputs[name]) for name in "qkv"}
    else:
        stored = torch.empty_like(q) if q.shape[3] == v.shape[3] else torch.empty(*q.shape[:3], v.shape[3], dtype=q.dtype, device=DEVICE)
        made = {"out": stored, "lse": torch.empty(q.shape[0], q.shape[2], q.shape[1], device=DEVICE)}
    return {name: tensor.fill_(torch.nan) for name, tensor in made.items()}


class Problem:
    """The inputs of a row, and what its results may be."""

    def __init__(self, row):
        self.row = row
        self.inputs = make_inputs(row, row.batch, row.length, row.length, row.heads, row.heads, SEED)
        self.bounds = Bounds(row, *(self.inputs[name] for name in "qkv"), self.inputs.get("dout"))
        if row.is_backward:
            self.inputs |= saved_results(self.bounds, row)

    def heads_first(self):
        """q, k and v as torch's functions take them, as views; they require gradients where the row is one of those."""
        return [self.inputs[name].transpose(1, 2).detach().requires_grad_(self.row.is_backward) for name in "qkv"]


def saved_results(bounds, form):
    """What the gradient's kernels take from the forward one."""
    order = ["bshd".index(letter) for letter in form.layout]
    out = bounds.exact.out.to(DTYPES[form.dtype]).permute(order).contiguous().permute([order.index(i) for i in range(4)])
    return {"out": out, "lse": bounds.exact.lse.float()}


class Candidate:
    """`launch` computes `results` on the current stream."""

    def __init__(self, name, launch, results, close=lambda: None):
        self.name, self.launch, self.results, self.close = name, launch, results, close


class Unavailable(RuntimeError):
    """Why there is no such candidate."""


def flash_attention_4(problem, card, records):
    if not problem.row.recorded:
        raise Unavailable("FlashAttention-4 is a peer of rows without modifications")
    folder = records / problem.row.recorded.name
    if not (folder / "stamp").exists():
        raise Unavailable(f"no record {folder}")
    results = poisoned_results(problem.row, problem.inputs)
    replayed = Replayed(card, folder, problem.inputs | results)
    return Candidate("fa4", replayed, results, replayed.close)


def _of_torch(name, problem, attend):
    """A function of q, k and v, heads first, and its gradient by autograd."""
    leaves, results = problem.heads_first(), {}
    if not problem.row.is_backward:
        def forward():
            results["out"] = attend(*leaves).transpose(1, 2)

        return Candidate(name, forward, results)
    out, dout = attend(*leaves), problem.inputs["dout"].transpose(1, 2)

    def backward():
        found = torch.autograd.grad(out, leaves, dout, retain_graph=True)
        results.update(zip(("dq", "dk", "dv"), (each.transpose(1, 2) for each in found), strict=True))

    return Candidate(name, backward, results)


def cudnn(problem, card, records):
    if problem.row.kind not in ("full", "causal"):
        raise Unavailable("cuDNN is a peer of rows without modifications")

    def attend(q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(q, k, v, is_causal=problem.row.kind == "causal")

    return _of_torch("cudnn", problem, attend)


def flex_attention(problem, card, records):
    if problem.row.kind in ("full", "causal"):
        raise Unavailable("FlexAttention is a peer of rows with modifications")
    # One kernel for each row, of which lengths are known: torch would stop after some that differ.
    torch.compiler.reset()
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    score, mask = flex_functions(meaning_of(problem.row.kind, problem.row.heads, problem.row.length, DEVICE))
    blocks = mask and flex.create_block_mask(mask, None, None, problem.row.length, problem.row.length)
    return _of_torch("flex", problem, lambda q, k, v: compiled(q, k, v, score_mod=score, block_mask=blocks))


PEERS = {"fa4": flash_attention_4, "cudnn": cudnn, "flex": flex_attention}


def of_fa4(problem, place):
    """A kernel of this project."""
    results = poisoned_results(problem.row, problem.inputs)
    call = ours.prepare(ours.load(place.folder), problem.inputs | results)
    return Candidate(f"ours:{place.variant}", call.launch, results)
