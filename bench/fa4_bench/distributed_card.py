# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measurement of bench/distributed: a process for each card, of which the first is that of the bench, and the others follow it row by row
(`python -m fa4_bench.distributed_card RANK SIZE STORE QUICK`)."""

import atexit
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import timedelta
from types import SimpleNamespace
from unittest import mock

import fa4
import torch
import torch.distributed as dist
from fa4 import distributed, distributed_ring
from fa4.distributed_group import Exchange, mark, ranks_of, room_for

from fa4_bench import distributed as bench
from fa4_bench.hopper import measure
from fa4_bench.hopper.reference import Bounds
from fa4_bench.hopper.tables import is_right
from fa4_bench.instructions.card import hopper

PATIENCE = timedelta(seconds=120)
ROUNDS, QUICK_ROUNDS = 5, 2
# A candidate is launched as often as it takes to fill so much time, so that all are as long under way, and clocks alike.
LEAST_SECONDS = 0.3
# Two results in bf16 of the same sums differ by so much, in norms.
MOST_DIFFERENCE = 0.01
NAMES = ("out", "dq", "dk", "dv")


class StillExchange:
    """In the place of an exchange: what was to be sent is what comes, at once."""

    def __init__(self, ranks, sent, received, ready):
        self.sent = list(sent)

    def wait(self):
        return self.sent


class Problem:
    """A row's tensors on a rank: the whole ones, which only the first rank keeps, and its parts."""

    def __init__(self, row):
        self.row, self.zigzag = row, row.mask == "causal"
        generator = torch.Generator("cuda").manual_seed(1)
        heads = (bench.HEADS[0], bench.HEADS[1], bench.HEADS[1], bench.HEADS[0])
        self.whole = [torch.randn(1, row.tokens, count, bench.HEAD_DIM, device="cuda", generator=generator, dtype=torch.bfloat16) for count in heads]
        self.parts = self.parts_of(self.zigzag)
        self.contiguous = self.parts_of(False)

    @property
    def mask(self):
        return None if self.row.mask == "full" else self.row.mask

    def parts_of(self, zigzag):
        return [distributed.shard(each, zigzag=zigzag).clone() for each in self.whole]


def run(function, tensors):
    """(out, dq, dk, dv) of a function of q, k and v."""
    *inputs, dout = tensors
    inputs = [each.detach().requires_grad_() for each in inputs]
    out = function(*inputs)
    return out.detach(), *torch.autograd.grad(out, inputs, dout)


def forward_of(function, tensors):
    with torch.no_grad():
        return function(*tensors[:3])


def send_all(problem, ranks):
    """The messages of a ring, forward and gradient, and nothing else. Returns the bytes that a rank sends."""
    keys = problem.parts[1:3]
    sums = [each.float() for each in keys]
    hops = [keys] * (ranks.size - 1)
    for number in range(ranks.size + 1):
        # What a rank adds to sums travels in bf16 on the first hop and on the last one.
        narrow = number in (1, ranks.size)
        hops.append([*(keys if number + 1 < ranks.size else ()), *((keys if narrow else sums) if number else ())])
    for sent in hops:
        room = room_for(sent)
        Exchange(ranks, sent, room, mark(sent[0].device)).wait()
    return sum(each.nbytes for sent in hops for each in sent)


class Bench:
    """What a rank does."""

    def __init__(self, card, rank, size, store, quick):
        torch.cuda.set_device(rank)
        # Messages that begin beside a kernel must not wait for all of its CTAs.
        os.environ.setdefault("TORCH_NCCL_HIGH_PRIORITY", "1")
        dist.init_process_group("cpu:gloo,cuda:nccl", store=dist.FileStore(store, size), rank=rank, world_size=size, timeout=PATIENCE)
        # For what ranks say of times, and to begin together: nothing is launched for it.
        self.words = dist.new_group(backend="gloo")
        self.rank, self.size, self.rounds = rank, size, QUICK_ROUNDS if quick else ROUNDS
        self.stage = measure.Stage(card)

    @classmethod
    def start(cls, card, quick):
        """The first rank, with processes for the others."""
        size, store = torch.cuda.device_count(), os.path.join(tempfile.mkdtemp(), "store")
        if size < 2:
            raise RuntimeError("attention over cards needs two of them")
        for rank in range(1, size):
            subprocess.Popen([sys.executable, "-m", "fa4_bench.distributed_card", str(rank), str(size), store, str(int(quick))])
        atexit.register(dist.destroy_process_group)
        return cls(card, 0, size, store, quick)

    def candidates(self, problem):
        """name -> what is launched on this rank. That of one card runs on each of them at the same time, so that none is idle, and its clock higher after it."""
        shape = f"B S {bench.HEADS[0]} {bench.HEAD_DIM}", f"B S {bench.HEADS[1]} {bench.HEAD_DIM}"
        one = fa4.torch.attention(fa4.sdpa(*shape, mask=problem.mask))
        ranks = ranks_of(None)

        def ring(q, k, v):
            return distributed.ring_sdpa(q, k, v, mask=problem.mask)

        def ulysses(q, k, v):
            return distributed.ulysses_sdpa(q, k, v, mask=problem.mask)

        def steps(function=run):
            with mock.patch.object(distributed_ring, "Exchange", StillExchange):
                return function(ring, problem.parts)

        found = {name: lambda function=function, tensors=tensors: run(function, tensors)
                 for name, function, tensors in (("one", one, problem.whole), ("ring", ring, problem.parts), ("ulysses", ulysses, problem.contiguous))}  # fmt: skip
        found |= {name: lambda function=function, tensors=tensors: forward_of(function, tensors)
                  for name, function, tensors in (("one-fwd", one, problem.whole), ("ring-fwd", ring, problem.parts))}  # fmt: skip
        found |= {"steps": steps, "messages": lambda: send_all(problem, ranks), "merge": self.merge_of(problem, ranks)}
        return found

    def merge_of(self, problem, ranks):
        """What merges the results of a forward pass."""
        row, tokens = problem.row, problem.parts[0].shape[1]
        form = distributed_ring.Form(bench.HEAD_DIM, bench.HEAD_DIM, "bf16", "bshd", row.mask == "causal", None, False)
        out, part = problem.parts[0].float(), problem.parts[0]
        lse, other = (torch.rand(1, bench.HEADS[0], tokens, device="cuda") for _ in range(2))
        chosen = [distributed_ring.step_of(form, ranks, number, tokens, tokens) for number in range(1, ranks.size)]

        def merge():
            for step in chosen:
                distributed_ring.merge(step.of_queries(out), step.of_rows(lse), step.of_queries(part), step.of_rows(other), form.layout)

        return merge

    def timed(self, launch, count):
        """[(milliseconds, MHz)] of each rank."""
        torch.cuda.synchronize()
        dist.barrier(group=self.words)
        us, mhz = self.stage.timed(launch, count, self.stage.spies.hold)
        return self.said((us / 1e3, mhz))

    def said(self, mine):
        """What each rank says."""
        everybody = [None] * self.size
        dist.all_gather_object(everybody, mine, group=self.words)
        return everybody

    def wrong(self, problem, found):
        """name -> how a candidate's results are wrong, on the first rank, and the errors of those that are right."""
        whole = {}
        for name, zigzag in (("ring", problem.zigzag), ("ulysses", False)):
            parts = run_once(found[name])
            whole[name] = [distributed.unshard(each, zigzag=zigzag) for each in parts]
        if self.rank:
            return {}, {}
        whole["one"] = run_once(found["one"])
        errors = {name: {result: float((a.float() - b.float()).norm() / b.float().norm()) for result, a, b in zip(NAMES, whole[name], whole["one"])}
                  for name in ("ring", "ulysses")}  # fmt: skip
        wrong = {name: f"{result} differs from one card's by {error:.2g}" for name, each in errors.items() for result, error in each.items()
                 if not error <= MOST_DIFFERENCE}  # fmt: skip
        if problem.row.tokens == min(row.tokens for row in bench.ROWS):
            wrong |= self.beside_float64(problem, whole)
        return wrong, errors

    def beside_float64(self, problem, whole):
        q, k, v, dout = problem.whole
        wrong = {}
        for operands, names in (((q, k, v), NAMES[:1]), ((q, k, v, dout), NAMES[1:])):
            bounds = Bounds(SimpleNamespace(kind=problem.row.mask), *operands)
            for name, results in whole.items():
                for result, (error, allowed) in bounds.errors({each: x for each, x in zip(NAMES, results) if each in names}).items():
                    if not is_right(float(error), float(allowed)):
                        wrong[name] = f"{result} is off by {float(error):.3g}, and {float(allowed):.3g} is allowed"
            del bounds
            torch.cuda.empty_cache()
        return wrong

    def measure(self, row):
        """What the record has of a row, on the first rank: milliseconds and MHz of each candidate by its slowest rank, the bytes of a rank's messages, how far the
        results are from one card's, and what is wrong."""
        problem = Problem(row)
        found = self.candidates(problem)
        wrong, errors = self.wrong(problem, found)
        sent = found["messages"]()
        samples = {name: [] for name in found}
        counts = {}
        for name, launch in found.items():
            self.timed(launch, 1)
            first = self.timed(launch, 1)
            counts[name] = math.ceil(1e3 * LEAST_SECONDS / max(ms for ms, _ in first))
        for order in measure.in_turn(list(found), self.rounds):
            for name in order:
                samples[name].append(self.timed(found[name], counts[name]))
        ms = {name: round(statistics.median(max(ms for ms, _ in each) for each in taken), 4) for name, taken in samples.items()}
        mhz = {name: [round(statistics.median(each[rank][1] or 0 for each in taken)) for rank in range(len(taken[0]))] for name, taken in samples.items()}
        rounded = {name: {result: float(f"{error:.2g}") for result, error in each.items()} for name, each in errors.items()}
        return {"tokens": row.tokens, "ms": ms, "mhz": mhz, "message_bytes": sent, "differs_from_one": rounded, "wrong": wrong}


def run_once(launch):
    results = launch()
    torch.cuda.synchronize()
    return results


def follow(rank, size, store, quick):
    """A rank that is not the first: it measures the same rows."""
    worker = Bench(hopper(rank), rank, size, store, quick)
    for row in bench.rows(quick):
        worker.measure(row)
    with contextlib.suppress(RuntimeError):
        dist.destroy_process_group()


if __name__ == "__main__":
    follow(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], bool(int(sys.argv[4])))
