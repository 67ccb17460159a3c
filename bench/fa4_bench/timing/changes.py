# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of fa4's kernels for a Hopper card, each in one place: what they are, and which of them judge the model.

A change is an edit of PTX (change_edits.py), of the plan (the IR at the level `schedule`), of the compiler's options, or of the call. Its
kernel is timed beside the unchanged one, on a card and by fa4-sim."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from fa4_bench.timing import change_edits as edits

# The kernels, by their names in bench/hopper: 16k tokens in all and 2048 columns.
FORWARD = ("fwd-hd128-full-4k", "fwd-hd128-causal-4k", "fwd-hd64-full-4k", "fwd-hd64-causal-4k", "fwd-hd256-full-4k")
BACKWARD = ("bwd-hd128-full-4k",)
KERNELS = FORWARD + BACKWARD
# Kernels whose roles take turns, those of which a mask is a part, and those whose CTAs are as many as SMs.
WITH_TURNS = tuple(name for name in FORWARD if "hd256" not in name)
PERSISTENT = tuple(name for name in KERNELS if "full" in name)
# How a card measures: launches of a burst after a time of idling, and the length of a loop, of which the first part does not count.
PROTOCOL = {"burst_launches": 8, "burst_rounds": 5, "idle_seconds": 0.02, "sustained_seconds": 0.12, "warm_seconds": 0.05, "sustained_rounds": 1}
SEED = "changes, 2026-11-30"


@dataclass(frozen=True)
class Change:
    """One change: of the PTX by `edit`, of the plan by `plan`, (a channel's name, its stages), of the compiler's `options`, or of the call's
    `sizes`. `why` is what the model must know to be right about it."""

    name: str
    description: str
    why: str
    edit: Callable | None = None
    plan: tuple = ()
    options: tuple = ()
    sizes: tuple = ()
    kernels: tuple = KERNELS


def _of_options(name, option, why, kernels=KERNELS):
    return Change(name, f"compiled with `{option}`", why, options=(option,), kernels=kernels)


def _ring(name, channel, stages, kernels):
    number = "one stage" if stages == 1 else f"{stages} stages"
    return Change(name, f"the ring `{channel}` has {number}", "how far loads run ahead decides what a late one costs", plan=(channel, stages), kernels=kernels)


def _loads(tensor, name, kernels):
    """Three changes of the loads of a tensor."""
    return [
        Change(f"hot-{name}", f"all loads from {tensor} are of its first tokens", "L2 hits against misses", edits.loads_from_start(tensor), kernels=kernels),
        Change(f"twice-{name}", f"each load from {tensor} is made twice", "the copy engine and L2 under load", edits.loads_twice(tensor), kernels=kernels),
        Change(f"no-{name}", f"nothing is loaded from {tensor}; its arrivals come at once", "what waiting for loads costs", edits.without_loads(tensor), kernels=kernels),
    ]  # fmt: skip


MUFU, ISSUE, CHAIN = "the multifunction unit beside products", "issue slots beside products", "work on the way from one product to the next"
SOFTMAX = edits.all_of(*(edits.removed(each) for each in (edits.EX2, edits.MAXIMUM, edits.SHUFFLE, edits.SCALE, edits.SUM)), edits.without_rescale)
CHANGES = [
    Change("no-ex2", "each exponential is a move", MUFU, edits.removed(edits.EX2)),
    Change("half-ex2", "every second exponential is a move", MUFU, edits.removed(edits.EX2, 2)),
    Change("more-ex2", "every fourth exponential is one of an exponential", MUFU, edits.repeated(edits.EX2, edits.DOUBLE_EX2, 4)),
    Change("twice-ex2", "each exponential is one of an exponential", MUFU, edits.repeated(edits.EX2, edits.DOUBLE_EX2)),
    Change("no-max", "each maximum is its first operand", CHAIN, edits.removed(edits.MAXIMUM), kernels=FORWARD),
    Change("no-shuffles", "maxima and sums of rows stay in their threads", "latency of shuffles", edits.removed(edits.SHUFFLE), kernels=FORWARD),
    Change("no-scale", "scores are neither scaled nor is the maximum subtracted", ISSUE, edits.removed(edits.SCALE), kernels=FORWARD),
    Change("no-sum", "each addition of probabilities is its first operand", ISSUE, edits.removed(edits.SUM), kernels=FORWARD),
    Change("no-convert", "probabilities are not converted to 16 bits", "conversions, which have a slow pipe", edits.removed(edits.CONVERT)),
    Change("no-rescale", "the accumulator is not rescaled", "work between two products of a role", edits.without_rescale, kernels=FORWARD),
    Change("no-softmax", "no exponential, maximum, shuffle, scaling, sum and rescaling", "what hides beside products at all", SOFTMAX, kernels=FORWARD),
    Change("alu-per-ex2", "an integer minimum behind each exponential", ISSUE, edits.followed(edits.EX2, edits.ALU)),
    Change("fma-per-ex2", "a multiply-add behind each exponential", ISSUE, edits.followed(edits.EX2, edits.FMA)),
    Change("no-masks", "nothing is selected by a mask", "blocks of the mask's loop", edits.without_masks),
    Change("half-pv", "half of the steps of products with A in registers", "the tensor core's time", edits.halved(True)),
    Change("more-pv", "one step more of products with A in registers", "the tensor core's time", edits.lengthened(True)),
    Change("half-qk", "half of the steps of products with A in shared memory", "the tensor core's time", edits.halved(False)),
    Change("more-qk", "one step more of products with A in shared memory", "the tensor core's time", edits.lengthened(False)),
    Change("no-turns", "roles do not wait for their turns", "the queue of the tensor core", edits.without_turns, kernels=WITH_TURNS),
    Change("early-turns", "a turn is handed on behind the first of two products", "the queue of the tensor core", edits.early_turns, kernels=WITH_TURNS),
    Change("late-turns", "a turn is handed on when the scores are there", "the queue of the tensor core", edits.late_turns, kernels=WITH_TURNS),
    Change("no-overlap", "each wait is for all products", "what of the softmax hides beside the role's own product", edits.waits_for_all),
    Change("twice-waits", "each phase of an mbarrier is asked for twice", "the cost of a wait that is over", edits.with_double_waits),
    Change("more-fences", "a fence of proxies behind each wait for products", "the cost of a fence", edits.with_fences),
    Change("registers-16", "roles with products take 16 registers fewer", "what ptxas does with fewer registers", edits.fewer_registers(16)),
    Change("registers-40", "roles with products take 40 registers fewer", "spilled registers", edits.fewer_registers(40)),
    *_loads("k", "keys", FORWARD),
    *_loads("v", "values", FORWARD),
    *_loads("q", "queries", BACKWARD),
    *_loads("dout", "output-gradients", BACKWARD),
    Change("no-stores", "results stay in shared memory", "what a store takes from loads and from the next tile", edits.without_stores),
    Change("no-staging", "results are not written to shared memory", "the end of a tile, and the gradient's way through shared memory", edits.without_staging),
    _ring("keys-1", "k", 1, FORWARD),
    _ring("values-1", "v", 1, FORWARD),
    _ring("queries-1", "q", 1, BACKWARD),
    _of_options("grid", "--schedule=grid", "the start and end of a CTA"),
    _of_options("lpt", "--schedule=lpt", "the order of work tiles", FORWARD),
    _of_options("smaller-tiles", "--smaller-tiles=1", "tiles"),
    _of_options("rescale-at-once", "--rescale-threshold=0", "work on the way from one product to the next", FORWARD),
    Change("sms-120", "120 CTAs in place of 132", "the number of SMs, and what they share", sizes=(("sm_count", 120),), kernels=PERSISTENT),
]  # fmt: skip


# These took part in the draw, and are no changes after all: ptxas leaves out products whose results nobody needs any more, so that the machine
# code has fewer of them than the PTX. Making one is an error by this rule (change_files.py).
WITHDRAWN = frozenset({*(f"{kernel}/no-staging" for kernel in KERNELS), "bwd-hd128-full-4k/more-pv"})


def drawn(kernels=KERNELS):
    """{KERNEL/CHANGE: Change} of all changes of kernels that took part in the draw."""
    return {f"{kernel}/{change.name}": change for kernel in kernels for change in CHANGES if kernel in change.kernels}


def names(kernels=KERNELS):
    """Those of `drawn` that are not withdrawn."""
    return {name: change for name, change in drawn(kernels).items() if name not in WITHDRAWN}


def in_order(found):
    """What is said of changes, in the order of `names`."""
    return {name: found[name] for name in names() if name in found}


def halves(known):
    """{KERNEL/CHANGE: "fit" or "judge"} of names: half of each kernel's changes judge the model. The draw is among all changes that
    there ever were and not among those that are known, so that one which could not be measured leaves the others where they are."""
    found = {}
    for kernel in dict.fromkeys(name.partition("/")[0] for name in known):
        order = sorted({*drawn((kernel,)), *(name for name in known if name.startswith(f"{kernel}/"))},
                       key=lambda name: hashlib.sha256(f"{SEED} {name}".encode()).digest())  # fmt: skip
        found |= {name: "judge" if place % 2 == 0 else "fit" for place, name in enumerate(order)}
    return {name: found[name] for name in known}
