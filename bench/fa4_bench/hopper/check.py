# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correctness of kernels of fa4 on a card: small calls with sizes at the edges of tiles, hundreds of them in a minute. The reference is
computed on the GPU, in float64; the calls of a kernel are queued, and their errors are fetched at once."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from fa4.errors import Fa4Error
from fa4_bench.hopper import ours
from fa4_bench.hopper.candidates import make_inputs, poisoned_results, saved_results
from fa4_bench.hopper.reference import Bounds
from fa4_bench.hopper.tables import is_right

# (Sq, Sk) of FlashAttention-4's dense tests, as bench/grid has them, and lengths around the tiles of this chip.
PAIRS = (
    (1, 1), (3, 3), (64, 32), (64, 128), (64, 1), (128, 128), (128, 192), (256, 256), (255, 256), (239, 1), (799, 3), (113, 203),
    (113, 128), (128, 217), (113, 211), (108, 256), (256, 512), (384, 256), (640, 128), (512, 256), (1024, 1024), (1023, 1024),
    (1024, 1023), (2048, 2048), (63, 65), (65, 159), (127, 161), (129, 175), (191, 177), (193, 353), (1, 1025), (1300, 1300),
)  # fmt: skip
# Query heads, key/value heads.
HEADS = ((2, 2), (8, 2), (3, 1))
# A case has one sequence where it has so many scores, else two.
LARGE = 512 * 512


@dataclass(frozen=True)
class Case:
    """The sizes of a call."""

    queries: int
    keys: int
    heads: int
    kv_heads: int

    @property
    def batch(self):
        return 1 if self.queries * self.keys >= LARGE else 2

    def __str__(self):
        return f"{self.batch} x {self.queries} x {self.keys}, {self.heads} heads on {self.kv_heads}"


CASES = [Case(*pair, *heads) for pair, heads in itertools.product(PAIRS, HEADS)]


def parse_shapes(text):
    """Cases of a text such as "128x217,1x1025": each pair of lengths with all choices of heads. Raises ValueError."""
    pairs = [tuple(int(number) for number in word.split("x")) for word in text.split(",")]
    if any(len(pair) != 2 or min(pair) < 1 for pair in pairs):
        raise ValueError(f"lengths are pairs such as 128x217,1x1025, not {text}")
    return [Case(*pair, *heads) for pair, heads in itertools.product(pairs, HEADS)]


def run_case(form, kernel, case, seed, repeats):
    """{result: tensor (error, allowed)} of a call; `repeats` more launches must give the same bits, and count as "bits". Nothing waits for
    the GPU."""
    inputs = make_inputs(form, case.batch, case.queries, case.keys, case.heads, case.kv_heads, seed)
    bounds = Bounds(form, *(inputs[name] for name in "qkv"), inputs.get("dout"))
    if form.is_backward:
        inputs |= saved_results(bounds, form)
    results = poisoned_results(form, inputs)
    call = ours.prepare(kernel, inputs | results, form.layout)
    call.launch()
    errors = bounds.errors(results)
    if repeats:
        errors["bits"] = count_differences(call, results, repeats)
    return errors


def count_differences(call, results, repeats):
    """A tensor (results that differ in a bit from those of the first launch, 0)."""
    first = {name: result.clone() for name, result in results.items()}
    differing = torch.zeros((), dtype=torch.float64, device=next(iter(results.values())).device)
    for _ in range(repeats):
        for result in results.values():
            result.fill_(torch.nan)
        call.launch()
        for name, result in results.items():
            kind = torch.int16 if result.element_size() == 2 else torch.int32
            differing += (result.view(kind) != first[name].view(kind)).any()
    return torch.stack([differing, torch.zeros_like(differing)])


def wrong_of(case, errors):
    """Sentences on the results of a case that are wrong; `errors` has numbers."""
    found = []
    for name, (error, allowed) in errors.items():
        if name == "bits" and error:
            found.append(f"{case}: {error:.0f} results of later launches have other bits")
        elif not is_right(error, allowed):
            found.append(f"{case}: {name} is off by {error:.3g}, and {allowed:.3g} is allowed")
    return found


def fetched(queued):
    """{case: {result: (error, allowed)}} of what the GPU has found, in one copy."""
    values = torch.stack([pair.double() for _, errors in queued for pair in errors.values()]).tolist() if queued else []
    names = [(case, name) for case, errors in queued for name in errors]
    found = {}
    for (case, name), pair in zip(names, values, strict=True):
        found.setdefault(case, {})[name] = pair
    return found


def check_kernel(place, kernel, cases, seed, repeats):
    """(worst error / allowed, sentences) of a kernel."""
    queued, wrong = [], []
    for number, case in enumerate(cases):
        try:
            queued.append((case, run_case(place.form, kernel, case, seed + number, repeats)))
        except Fa4Error as error:
            wrong.append(f"{case}: {error}")
    found = fetched(queued)
    shares = [error / allowed for errors in found.values() for name, (error, allowed) in errors.items() if name != "bits"]
    return max(shares, default=0.0), wrong + [sentence for case, errors in found.items() for sentence in wrong_of(case, errors)]


def load_all(places, jobs=16):
    """(place, kernel or error) of each, several at a time."""

    def attempt(place):
        torch.cuda.init()
        torch.cuda.set_device(0)
        try:
            return ours.load(place.folder)
        except (Fa4Error, OSError, ValueError) as error:
            return error

    with ThreadPoolExecutor(jobs) as pool:
        return list(zip(places, pool.map(attempt, places), strict=True))


def check_all(places, cases, seed, repeats):
    """Checks all kernels, and prints a line for each; returns how many are wrong. A kernel that leaves the GPU in an error ends the
    check: those behind it count as wrong, too."""
    failed, started = 0, time.monotonic()
    for number, (place, kernel) in enumerate(load_all(places)):
        # First, so that the last line names a kernel that never ends.
        print(f"{place.variant}/{place.folder.name}: ", end="", flush=True)
        try:
            worst, wrong = (0.0, [str(kernel)]) if isinstance(kernel, Exception) else check_kernel(place, kernel, cases, seed, repeats)
            torch.cuda.synchronize()
        except RuntimeError as error:
            print(f"FAILED: {error}\nThe GPU is in an error: {len(places) - number - 1} more kernels were not checked.")
            return failed + len(places) - number
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok'}, {len(cases)} cases, {len(wrong)} wrong, worst {worst:.2f} of the allowed error", flush=True)
        for sentence in wrong[:5]:
            print(f"  {sentence}", flush=True)
    print(f"{len(places) - failed} of {len(places)} kernels are right in {len(cases)} cases each, {time.monotonic() - started:.0f} s")
    return failed
