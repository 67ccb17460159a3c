# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random legal and nearly legal `attn.sdpa` programs. A legal one is compiled,
simulated with all checks and held to FlashAttention's rule; a nearly legal one
must end in exactly one error and leave nothing behind. What fails is made
smaller and kept in build/random-programs. Registers that ptxas spills are
counted, and no failure: arithmetic of any length is legal. Exit status 1 when
something failed, 2 when nothing could be run."""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from fa4_testing import gpu, grid
from fa4_testing.programs import mods
from fa4_testing.programs.flaws import FLAWS, REFUSALS, Flawed, check_flaw, flawed_text, refusal
from fa4_testing.programs.paired import draw_pairs, without_other_reasons
from fa4_testing.programs.mods import B, H, I, J, S, capture, f32, i32, index
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.listed import draw_lists
from fa4_testing.programs.program import STAGES, Failed, Form, Program, Sizes, Table
from fa4_testing.programs.shrink import Failure, reduce, runner_of, shrink
from fa4.reference import Mask
from fa4.tools import missing_tool

# ---------------------------------------------------------------------------
# Regions
# ---------------------------------------------------------------------------

_SIGNED = ["eq", "ne", "slt", "sle", "sgt", "sge"]


class Grammar:
    """Draws expressions. Conditions and steps never depend on the score: one
    that is near the step would be on either side of it."""

    def __init__(self, rng, captures):
        self.rng, self.captures = rng, captures

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def captured(self, type):
        return [capture(n, t) for n, (t, _) in enumerate(self.captures) if t == type]

    def index(self, depth):
        """Draws an index that is small and not negative."""
        if depth <= 0 or self.rng.random() < 0.3:
            return self.pick(B, H, I, J, index(self.rng.integers(0, 40)), *self.captured("index"))
        x = self.index(depth - 1)
        some = index(self.rng.integers(1, 33))
        return self.pick(
            ("arith.addi", x, self.index(depth - 1)),
            (self.pick("arith.divui", "arith.divsi", "arith.floordivsi", "arith.ceildivsi"), x, some),
            (self.pick("arith.remui", "arith.remsi"), x, some),
            (self.pick("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"), x, self.index(depth - 1)),
            (self.pick(*mods.SELECTIONS), self.condition(depth - 1), x, self.index(depth - 1)),
        )

    def integer(self, depth):
        """Draws any 32 bits."""
        if depth <= 0 or self.rng.random() < 0.15:
            leaf = ("to_i32", self.pick(I, J, B, H))
            return self.pick(leaf, leaf, i32(self.rng.integers(-40, 40)), *self.captured("i32"))
        x, y = self.integer(depth - 1), self.integer(depth - 1)
        some = i32(self.rng.integers(1, 33))
        return self.pick(
            (self.pick("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"), x, y),
            (self.pick("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"), x, y),
            (self.pick("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi",
                       "arith.divui", "arith.remui", "arith.ceildivui"), x, some),
            (self.pick("arith.shli", "arith.shrsi", "arith.shrui"), x, i32(self.rng.integers(0, 9))),
            ("to_i32", ("arith.subi", self.index(depth - 1), self.index(depth - 1))),
            ("to_i32", self.index(depth - 1)),
            (self.pick("i8", "u8", "i16", "u16"), x),
            (self.pick("extui", "extsi"), self.condition(depth - 1)),
            (self.pick(*mods.SELECTIONS), self.condition(depth - 1), x, y),
        )  # fmt: skip

    def condition(self, depth):
        if depth <= 0 or self.rng.random() < 0.5:
            kinds = _SIGNED if self.rng.random() < 0.7 else ["ult", "ule", "ugt", "uge"]
            of = self.pick(self.index, self.integer)
            return ("cmpi", self.pick(*kinds), of(depth - 1), of(depth - 1))
        x = self.condition(depth - 1)
        return self.pick(
            (self.pick("arith.andi", "arith.ori", "arith.xori"), x, self.condition(depth - 1)),
            ("arith.xori", x, ("const", 1, "i1")),
            (self.pick(*mods.SELECTIONS), x, self.condition(depth - 1), self.condition(depth - 1)),
            ("cmpf", self.pick("oeq", "une", "olt", "oge", "ult", "ord"), self.exact(depth - 1), self.exact(depth - 1)),
        )

    def exact(self, depth):
        """Draws an expression without the score, which is the same in f32 and float64.
        """
        small = ("i8", self.integer(depth - 1))
        x = (self.pick("sitofp", "uitofp"), ("arith.andi", small, i32(63)))
        x = self.pick(x, ("arith.mulf", x, f32(self.pick(0.125, 0.25, 0.5))), ("sitofp", small))
        return self.pick(x, x, (self.pick("math.floor", "math.ceil", "math.trunc", "math.roundeven", "bf16", "f16"), x))

    def score(self, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.pick(S, S, S, f32(self.rng.normal()), *self.captured("f32"))
        x, y = self.score(depth - 1), self.score(depth - 1)
        bounded = ("math.tanh", x)
        positive = ("arith.addf", ("math.absf", x), f32(self.rng.uniform(0.5, 2)))
        return self.pick(
            (self.pick("arith.addf", "arith.subf", "arith.mulf"), x, y),
            ("arith.addf", x, self.exact(depth - 1)),
            ("arith.mulf", x, self.exact(depth - 1)),
            ("arith.mulf", self.captured("f32")[0] if self.captured("f32") else f32(0.5), x),
            ("arith.divf", y, positive),
            (self.pick("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"), x, y),
            (self.pick("arith.negf", "math.absf", "math.tanh"), x),
            (self.pick("math.exp", "math.exp2"), bounded),
            (self.pick("math.sqrt", "math.rsqrt", "math.log", "math.log2"), positive),
            ("math.fma", x, y, self.score(depth - 1)),
            ("math.copysign", x, self.exact(depth - 1)),
            (self.pick(*mods.SELECTIONS), self.condition(depth - 1), x, y),
        )


def _largest(expression, captures):
    """Returns the largest value of a score_mod at plausible arguments."""
    s = np.linspace(-6, 6, 61)[:, None, None]
    i, j = np.arange(0, 300, 7)[None, :, None], np.arange(0, 300, 11)[None, None, :]
    named = dict(s=s, b=0, h=1, i=i, j=j, captures=[value for _, value in captures])
    values = mods.evaluate(expression, named, np.float64)
    return np.abs(values).max() if np.isfinite(values).all() else np.inf


def draw_score(grammar):
    """Draws a bounded score_mod, so that f32 and float64 have about the same weights.
    """
    expression = grammar.score(int(grammar.rng.integers(1, 5)))
    largest = _largest(expression, grammar.captures)
    if not np.isfinite(largest):
        return ("arith.mulf", S, f32(0.5))
    if largest > 60:
        small = ("arith.mulf", expression, f32(min(0.02, 4 / largest)))
        expression = ("arith.mulf", ("math.tanh", small), f32(50))
    if grammar.rng.random() < 0.2:
        hidden = f32(-np.inf)
        expression = ("select", grammar.condition(2), expression, hidden)
    return expression


# ---------------------------------------------------------------------------
# Legal programs
# ---------------------------------------------------------------------------

_EDGES = (1, 2, 3, 31, 64, 65, 127, 128, 129, 191, 255, 256, 257, 300)
_OPTIONS = (
    "--rescale-threshold=0", "--rescale-threshold=2.5", "--rescale-threshold=12",
    "--split-arrival=false", "--mmas-ahead", "--exp-fraction=0", "--exp-fraction=0.25", "--exp-fraction=0.5",
)  # fmt: skip


def _draw_mask(rng):
    align = ("top_left", "bottom_right")[rng.integers(2)]
    left, right = (int(rng.choice([-20, -1, 0, 1, 5, 63, 64, 127, 128, 200, 1000])) for _ in "lr")
    if left + right < 0:
        left, right = abs(left), abs(right)
    choice = rng.integers(5)
    if choice == 0:
        return Mask.causal(align)
    if choice == 1:
        return Mask.causal(align, abs(left))
    return Mask(align, left if choice != 2 else None, right if choice != 3 else None)


def _draw_captures(rng):
    captures = []
    for type in rng.choice(["f32", "i32", "index"], rng.integers(0, 4)):
        value = float(np.float32(rng.uniform(0.2, 3)))
        captures.append((str(type), value if type == "f32" else int(rng.integers(1, 100))))
    return tuple(captures)


def _draw_sizes(rng):
    def length():
        return int(rng.choice(_EDGES)) if rng.random() < 0.6 else int(rng.integers(1, 400))

    sizes = Sizes(
        int(rng.choice([1, 1, 2, 3])), length(), length(), int(rng.choice([1, 1, 2, 3])),
        int(rng.choice([1, 1, 2, 3, 4, 8])),
    )  # fmt: skip
    while sizes.b * sizes.hq > 8:
        sizes = sizes._replace(b=1, hkv=1)
    return sizes


def _draw_few_queries(rng, sizes, static):
    """A step of decoding: sizes, and which of them are static."""
    few = sizes._replace(sq=int(rng.choice([1, 1, 2, 3, 5, 8, 16])), sk=int(rng.integers(1, 1500)))
    heads = ("Hq", "Hkv") if rng.random() < 0.8 else ()
    return few, (*static, "Sq", *heads)


def _subset(rng, of, chance):
    return [x for x in of if rng.random() < chance]


def _draw_sinks(rng):
    return ("f32", "bf16", "f16")[rng.integers(3)] if rng.random() < 0.25 else None


def _draw_lengths(rng, sizes):
    """A length for each sequence, of which some are as long as there is room, and some have no key."""
    if rng.random() < 0.75:
        return ()
    return tuple(int(rng.choice([0, sizes.sk, rng.integers(sizes.sk + 1)])) for _ in range(sizes.b))


def draw_program(rng) -> Program:
    def pick(*choices):
        return choices[rng.integers(len(choices))]

    has_mods = rng.random() < 0.6
    captures = _draw_captures(rng) if has_mods else ()
    grammar = Grammar(rng, captures)
    score = draw_score(grammar) if has_mods and rng.random() < 0.7 else None
    visible = grammar.condition(int(rng.integers(1, 4))) if has_mods and rng.random() < 0.5 else None
    kind = pick("memref", "memref", "tensor")
    lse = rng.random() < 0.6
    names = ["q", "k", "v", "out"] + (["lse"] if lse else [])
    everything = ("B", "Sq", "Sk", "Hq", "Hkv")
    static = everything if rng.random() < 0.2 else _subset(rng, everything, pick(0, 0.4))
    strided = ()
    if kind == "memref" and rng.random() < 0.4:
        strided = tuple((name, pick("static", "dynamic")) for name in _subset(rng, names, 0.5))
        if any(how == "static" for _, how in strided):
            static = everything  # Strides of elements that are known.
    plain = score is None
    sizes = _draw_sizes(rng)
    if rng.random() < 0.15:
        sizes, static = _draw_few_queries(rng, sizes, static)
    return Program(
        head_dim=pick(32, 64, 64, 96, 128, 128), dtype=pick("bf16", "f16"),
        layout=pick("bshd", "bhsd", "sbhd"), sizes=sizes,
        mask=_draw_mask(rng) if rng.random() < 0.6 else None,
        scale=pick(None, None, 0.0, -0.11, 0.05, 0.3, 1.0 / 64) if rng.random() < 0.6 else None,
        score=score, visible=visible, captures=captures, lse=lse, kind=kind,
        sinks=_draw_sinks(rng), lengths=_draw_lengths(rng, sizes),
        static=frozenset(static), strided=strided,
        inputs=pick("normal", "large", "constant", "rising", "falling") if plain else "normal",
        out_dtype=pick("f32", "bf16", "f16") if rng.random() < 0.1 else None,
        chip=pick("sm_100a", "sm_100a", "sm_103a"),
        options=(*_subset(rng, _OPTIONS, 0.08), *pick((), *((f"--schedule={s}",) for s in grid.SCHEDULES))),
    )  # fmt: skip


def _replaced(expression, captures):
    """The expression with other ones in place of some captured numbers. `captures`: number -> function of number and type."""
    if not isinstance(expression, tuple):
        return expression
    if expression[0] == "capture" and expression[1] in captures:
        return captures[expression[1]](*expression[1:])
    return tuple(_replaced(part, captures) for part in expression)


# What a dimension of a table counts, and the index at which it is read there.
_TABLE_DIMS = (("B", B), ("Hq", H), ("Sq", I), ("Sk", J), (24, None))


def _draw_tables(rng, form):
    """Makes tensors of some captured numbers, whose elements are read at any index."""
    tables, captures = {}, list(form.captures)
    if rng.random() < 0.5:
        return form
    for n, (type, value) in enumerate(form.captures):
        if type not in ("f32", "i32") or n in getattr(form, "wrt", ()) or isinstance(value, tuple):
            continue
        chosen = rng.permutation(len(_TABLE_DIMS))[: rng.integers(1, 5)]
        dims, indices = zip(*(_TABLE_DIMS[each] for each in chosen))
        positions = ("arith.addi", I, J)
        read_at = [each or ("arith.remui", positions, index(24)) for each in indices]
        tables[n] = lambda n, type, read_at=read_at: mods.element(n, type, *read_at)
        captures[n] = Table(dims, int(rng.integers(2**31)), value).captured(type, form.kind)
    score, visible = (_replaced(each, tables) for each in (form.score, form.visible))
    return dataclasses.replace(form, score=score, visible=visible, captures=tuple(captures))


def _draw_wrt(rng, gradient: Gradient) -> Gradient:
    """Asks for the gradients of some captured numbers, some of which become vectors with one for each query head."""
    numbers = [n for n, (type, _) in enumerate(gradient.captures) if type == "f32"]
    if gradient.score is None or not numbers:
        return gradient
    vectors = _subset(rng, numbers, 0.3) if gradient.kind == "memref" else []
    captures = list(gradient.captures)
    for n in vectors:
        values = np.float32(captures[n][1] * rng.uniform(0.8, 1.1, gradient.sizes.hq))
        captures[n] = ("memref<?xf32>", tuple(map(float, values)))
    return dataclasses.replace(
        gradient, captures=tuple(captures), score=_replaced(gradient.score, dict.fromkeys(vectors, mods.capture_of_head)), wrt=tuple(_subset(rng, numbers, 0.6))
    )


# The sizes of packed sequences, for those that are static otherwise.
_TOKENS = {"B": "Bounds", "Sq": "Tq", "Sk": "Tk"}


def _draw_packed(rng, form):
    """Packs sequences of different lengths in place of some forms'. Pairs of CTAs, whose rows would be those of two
    sequences, are refused then. Tables are made for the longest sequence."""
    if rng.random() < 0.85:
        return form
    sizes = form.sizes
    packed = [tuple(int(rng.choice([0, size, rng.integers(size + 1)])) for size in (sizes.sq, sizes.sk)) for _ in range(sizes.b)]
    if rng.random() < 0.9:
        packed[0] = sizes.sq, sizes.sk  # There are rows of both.
    if form.sinks and not any(keys for _, keys in packed):
        packed[0] = packed[0][0], sizes.sk  # Without keys, the LSE would be the sinks, which no kernel writes.
    more = dict(lengths=tuple(min(length, keys) for length, (_, keys) in zip(form.lengths, packed)))
    if isinstance(form, Gradient):
        more |= dict(deterministic=form.deterministic and form.chip == "sm_90a")
    static = frozenset(_TOKENS.get(letter, letter) for letter in form.static)
    if not all(map(sum, zip(*packed))):
        static -= {"Tq", "Tk"}
    layout = ("thd", "htd")[rng.integers(2)]
    packed_form = dataclasses.replace(form, layout=layout, packed=tuple(packed), static=static, strided=(), **more)
    return without_other_reasons(packed_form)


def _draw_pages(rng, program: Program) -> Program:
    """Puts the keys of some programs in pages, of which a sequence has as many as there is room for."""
    if program.layout == "sbhd" or rng.random() < 0.85:
        return program
    size = int(rng.choice([16, 16, 32, 48, 64, 80, 128, 256]))
    sizes = program.sizes._replace(sk=-(-program.sizes.sk // size) * size)
    lengths = program.lengths or tuple(keys for _, keys in program.packed)
    return dataclasses.replace(program, page_size=size, sizes=sizes, lengths=lengths)


def draw_gradient(rng) -> Gradient:
    """Draws a form and a call of the gradient, of what the forward op's generator draws."""

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    program = draw_program(rng)
    if rng.random() < 0.04:
        program = dataclasses.replace(program, visible=("const", int(rng.integers(2)), "i1"))
    kept = {field.name: getattr(program, field.name) for field in dataclasses.fields(Form)}
    dsinks = bool(program.sinks and rng.random() < 0.7)
    renamed = {"out": "dq", "lse": "dout"}
    strided = tuple((renamed.get(name, name), how) for name, how in kept["strided"])
    head_dim = pick(32, 64, 64, 96, 128, 128, 48, 80, 112)
    return _draw_wrt(rng, Gradient(**kept | dict(
        head_dim=head_dim, head_dim_v=pick(None, None, 32, 64, 112, 128),
        strided=strided, dlse=rng.random() < 0.3, dsinks=dsinks,
        deterministic=rng.random() < 0.4,
        options=pick((), (), *((f"--schedule={schedule}",) for schedule in ("grid", "lpt"))),
    )))  # fmt: skip


# ---------------------------------------------------------------------------
# One number: one program
# ---------------------------------------------------------------------------

GENERATOR = "the generator"


@dataclasses.dataclass(frozen=True)
class Result:
    number: int
    group: str  # what the table counts by
    flaw: str | None
    error: str = ""
    seconds: float = 0.0

    @property
    def verified(self):
        """Returns whether the kernel's protocol was proven, whatever happened
        afterwards."""
        stage = self.error.split(":")[0]
        proved = not self.error or stage in STAGES[STAGES.index("verify") + 1 :]
        return not self.flaw and proved


def make(seed, number, gradient=False, pairs=False):
    """Makes a program, with `pairs` one on pairs of CTAs, and returns the name of its flaw, if it is to have one: that of
    FLAWS, of which gradients have none, or that docs/pairs.md has no such pairs."""
    rng = np.random.default_rng([seed, number])
    # What a program was without tables and lists, it stays beside them.
    of_tables, of_lists = (np.random.default_rng([seed, number, stream]) for stream in (1, 2))
    if gradient:
        form = draw_pairs(rng, draw_gradient(rng), pairs)
        form = _draw_packed(of_tables, _draw_tables(of_tables, form))
        return draw_lists(of_lists, form), refusal(form)
    flaw = list(FLAWS)[rng.integers(len(FLAWS))] if rng.random() < 0.3 else None
    form = _draw_tables(of_tables, draw_pairs(rng, draw_program(rng), pairs))
    if not flaw:
        form = _draw_pages(of_tables, _draw_packed(of_tables, form))
        form = draw_lists(of_lists, dataclasses.replace(form, batch_invariant=of_tables.random() < 0.3))
    return form, flaw or refusal(form)


def run(program, folder, **more):
    runner_of(program)(program, folder, **more)


def run_number(seed, number, folder, ptxas, gradient=False, pairs=False):
    program, flaw = make(seed, number, gradient, pairs)
    started = time.monotonic()
    error = ""
    try:
        if flaw:
            check_flaw(program, flaw)
        else:
            # Every fourth is assembled; shares that nobody asked for may spill.
            shares = set(program.options) & set(_OPTIONS)
            assembled = ptxas and number % 4 == 0 and not shares
            run(program, folder / str(number), ptxas=assembled)
    except (Failed, Flawed, subprocess.TimeoutExpired) as failed:
        error = str(failed)
    except Exception as failed:
        error = f"{GENERATOR}: {failed!r}"
    group = "no such pairs" if flaw in REFUSALS else "nearly legal" if flaw else describe(program)
    return Result(number, group, flaw, error, time.monotonic() - started)


def describe(program):
    mod = {(False, False): "plain", (True, False): "score_mod", (False, True): "mask_mod"}
    kind = mod.get((program.score is not None, program.visible is not None), "both mods")
    mask = "no band" if program.mask is None else "band"
    return f"{kind}, {mask}{', pairs' if '--pairs=on' in program.options else ''}"


# ---------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------


def save(result, options, folder):
    """In a folder of its own: the op, what was said, and the smallest that fails
    in the same way, as a program, which a test can run, and as text."""
    place = folder / f"failure-{options.seed}-{result.number}"
    place.mkdir(parents=True, exist_ok=True)
    program, flaw = make(options.seed, result.number, options.gradient, options.pairs)
    text = flawed_text(program, flaw) if flaw else program.mlir()
    (place / "message.txt").write_text(f"{result.error}\n\n{program}\nflaw: {flaw}\n")
    (place / "op.mlir").write_text(text)
    stage = result.error.split(":")[0]
    if result.error.startswith(GENERATOR) or not options.shrink:
        return place
    failure = Failure(program, flaw, Failure.kind_of(result.error), stage in ("ptxas", "spills"))
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        small = shrink(failure, Path(scratch), options.shrink)
    text = flawed_text(small, flaw) if flaw else small.mlir()
    # What another text should compute is not known.
    if stage != "compare" and flaw not in REFUSALS:
        text = reduce(failure, small, text, place / "reduce", options.shrink)
    (place / "small.mlir").write_text(text)
    (place / "small.txt").write_text(f"{small!r}\n")
    return place


def parse(words):
    parser = argparse.ArgumentParser(prog="random-programs", description=__doc__)
    parser.add_argument("count", type=int, metavar="N", help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="of the programs (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: processors)")
    parser.add_argument("--no-ptxas", action="store_true", help="without ptxas, which sees every fourth")
    parser.add_argument("--shrink", type=float, default=60, metavar="SECONDS",
                        help="for each failure, twice: the program, then its text (default: 60; 0: not at all)")
    parser.add_argument("--gradient", action="store_true", help="programs of the gradient, legal unless there are no such pairs of CTAs")
    parser.add_argument("--pairs", action="store_true", help="programs on pairs of CTAs only (default: some)")
    parser.add_argument("--verbose", action="store_true", help="name those that spill, too")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no program after that")
    options = parser.parse_args(words)
    if options.count < 1 or options.jobs < 1:
        parser.error("N and --jobs are at least 1")
    return options


def results_of(options, folder, ptxas):
    end = time.monotonic() + 60 * options.minutes
    numbers = iter(range(options.first, options.first + options.count))
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = set()
        while True:
            for number in itertools.islice(numbers, 2 * options.jobs - len(running)):
                if time.monotonic() > end:
                    break
                running.add(pool.submit(run_number, options.seed, number, folder, ptxas, options.gradient, options.pairs))
            if not running:
                return
            done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            yield from (future.result() for future in done)


class Tally:
    """Counts the outcomes of the programs, and prints them as a table at the end."""

    def __init__(self):
        self.counts = {name: Counter() for name in ("passed", "spilled", "failed")}
        self.flaws, self.verified, self.refuted = Counter(), 0, 0

    def add(self, result):
        spills = result.error.startswith("spills:")
        kind = "spilled" if spills else "failed" if result.error else "passed"
        self.counts[kind][result.group] += 1
        self.flaws[result.flaw] += 1
        self.verified += result.verified
        self.refuted += result.verified and result.error.startswith("simulate:")
        return kind

    def print(self):
        print(f"{'programs':<26} {'passed':>7} {'spilled':>7} {'failed':>7}")
        for group in sorted(set().union(*self.counts.values())):
            print(f"{group:<26}", *(f"{of[group]:>7}" for of in self.counts.values()))
        print(f"{'all':<26}", *(f"{of.total():>7}" for of in self.counts.values()))
        legal, all = self.flaws[None], self.flaws.total() - sum(self.flaws[name] for name in REFUSALS)
        flaws = len(self.flaws.keys() & FLAWS.keys())
        share = (all - legal) / max(all, 1)
        print(f"nearly legal: {all - legal} ({share:.0%}), with {flaws} of {len(FLAWS)} flaws")
        print(f"verified: {self.verified} of {legal} kernels; findings in {self.refuted} of these")


def main(words=None):
    options = parse(words)
    folder = gpu.ROOT / "build" / "random-programs"
    if missing := missing_tool("fa4-compile", "fa4-opt", "fa4-reduce", "fa4-sim"):
        print(f"random-programs: {missing}", file=sys.stderr)
        return 2
    ptxas = not options.no_ptxas and gpu.find_ptxas() is not None
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fa4-programs-") as scratch:
        for result in results_of(options, Path(scratch), ptxas):
            kind = tally.add(result)
            named = f"{result.flaw}: {result.error}" if result.flaw else result.error
            if kind == "failed":
                print(f"FAILED {result.number}: {named}", flush=True)
                print(f"  kept in {save(result, options, folder)}", flush=True)
            elif kind == "spilled" and options.verbose:
                print(f"{result.number}: {named}", flush=True)
    tally.print()
    return 1 if tally.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
