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
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from fa4 import gpu, mods
from fa4.cpu import ToolNotFoundError
from fa4.mods import B, H, I, J, S, capture, f32, i32, index
from fa4.programs import Failed, Program, Sizes, run
from fa4.reference import Mask

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
        """Not negative, and small."""
        if depth <= 0 or self.rng.random() < 0.3:
            return self.pick(B, H, I, J, index(self.rng.integers(0, 40)), *self.captured("index"))
        x = self.index(depth - 1)
        some = index(self.rng.integers(1, 33))
        return self.pick(
            ("arith.addi", x, self.index(depth - 1)),
            (self.pick("arith.divui", "arith.divsi", "arith.floordivsi", "arith.ceildivsi"), x, some),
            (self.pick("arith.remui", "arith.remsi"), x, some),
            (self.pick("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"), x, self.index(depth - 1)),
            ("select", self.condition(depth - 1), x, self.index(depth - 1)),
        )

    def integer(self, depth):
        """Any 32 bits."""
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
            ("select", self.condition(depth - 1), x, y),
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
            ("select", x, self.condition(depth - 1), self.condition(depth - 1)),
            ("cmpf", self.pick("oeq", "une", "olt", "oge", "ult", "ord"), self.exact(depth - 1), self.exact(depth - 1)),
        )

    def exact(self, depth):
        """Without the score: the same in f32 and float64."""
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
            ("select", self.condition(depth - 1), x, y),
        )


def _largest(expression, captures):
    """Of the values of a score_mod at plausible arguments."""
    s = np.linspace(-6, 6, 61)[:, None, None]
    i, j = np.arange(0, 300, 7)[None, :, None], np.arange(0, 300, 11)[None, None, :]
    named = dict(s=s, b=0, h=1, i=i, j=j, captures=[value for _, value in captures])
    values = mods.evaluate(expression, named, np.float64)
    return np.abs(values).max() if np.isfinite(values).all() else np.inf


def draw_score(grammar):
    """Bounded, so that f32 and float64 have about the same weights."""
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
    "--split-arrival=false", "--exp-fraction=0", "--exp-fraction=0.25", "--exp-fraction=0.5",
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


def _subset(rng, of, chance):
    return [x for x in of if rng.random() < chance]


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
    return Program(
        head_dim=pick(32, 64, 64, 96, 128, 128), dtype=pick("bf16", "f16"),
        layout=pick("bshd", "bhsd", "sbhd"), sizes=_draw_sizes(rng),
        mask=_draw_mask(rng) if rng.random() < 0.6 else None,
        scale=pick(None, None, 0.0, -0.11, 0.05, 0.3, 1.0 / 64) if rng.random() < 0.6 else None,
        score=score, visible=visible, captures=captures, lse=lse, kind=kind,
        static=frozenset(static), strided=strided,
        inputs=pick("normal", "large", "constant", "rising", "falling") if plain else "normal",
        chip=pick("sm_100a", "sm_100a", "sm_103a"),
        options=tuple(_subset(rng, _OPTIONS, 0.08)),
    )  # fmt: skip


# ---------------------------------------------------------------------------
# Nearly legal programs
# ---------------------------------------------------------------------------


def _elements(element):
    return lambda p, t: t.replace(f"x{p.dtype}", f"x{element}")


def _of(operand, change):
    """Changes the type of an operand everywhere."""
    return lambda p, t: t.replace(p.type(operand), change(p.type(operand)))


def _clause(text):
    return lambda p, t: t.replace(f"layout<{p.layout}>", f"layout<{p.layout}> {text}", 1)


def _score(body, captures=""):
    """Instead of all regions and captures."""

    def change(p, t):
        plain = dataclasses.replace(p, score=None, visible=None, captures=())
        region = f"score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{ {body} }}"
        end = "\n  return" if p.kind == "memref" else "\n  return %out"
        return plain.mlir().replace(end, f"\n    {region}{end}", 1)

    return change


def _operation(text, result="%r"):
    return _score(f"{text}\n attn.yield {result} : f32")


def _head_dim(dim):
    return lambda p, t: dataclasses.replace(p, head_dim=dim, strided=()).mlir()


def _line(text, instead):
    return lambda p, t: t.replace(text, instead, 1)


# Name -> change of the program's text.
FLAWS = {
    "f32": _elements("f32"),
    "f64": _elements("f64"),
    "fp8": _elements("f8E4M3FN"),
    "i8": _elements("i8"),
    "out f32": _of("out", lambda type: re.sub("b?f16", "f32", type)),
    "k of another type": lambda p, t: t.replace(
        p.type("k"), p.type("k").replace(p.dtype, "bf16" if p.dtype == "f16" else "f16"), 1
    ),
    "head dim 256": _head_dim(256),
    "head dim 192": _head_dim(192),
    "head dim 80": _head_dim(80),
    "head dim 16": _head_dim(16),
    "head dim 1": _head_dim(1),
    "dynamic head dim": lambda p, t: dataclasses.replace(p, strided=()).mlir().replace(
        f"x{p.head_dim}x{p.dtype}", f"x?x{p.dtype}"
    ),
    "packed layout": _line("layout<", "layout<thd> //"),
    "unknown layout": _line("layout<", "layout<dshb> //"),
    "no such mask": _clause("mask<diagonal>"),
    "mask without alignment": _clause("mask<causal>"),
    "empty band": _clause("mask<window, left = 3, right = -4, top_left>"),
    "far band": _clause("mask<window, left = 2147483648, top_left>"),
    "farther band": _clause("mask<window, left = 9223372036854775807, right = 0, top_left>"),
    "rank": lambda p, t: t.replace(f"{p.kind}<", f"{p.kind}<1x", 1),
    "no such op": _line("attn.sdpa", "attn.sdqa"),
    "sine": _operation("%r = math.sin %s : f32"),
    "power": _operation("%r = math.powf %s, %s : f32"),
    "branch": _operation("%c = arith.cmpi slt, %i, %j : index %r = scf.if %c -> (f32) { scf.yield %s : f32 }"
                         " else { %n = arith.negf %s : f32 scf.yield %n : f32 }"),
    "loop": _operation("%z = arith.constant 0 : index %o = arith.constant 1 : index "
                       "%r = scf.for %a = %z to %i step %o iter_args(%x = %s) -> (f32) { scf.yield %x : f32 }"),
    "f64 inside": _operation("%w = arith.extf %s : f32 to f64 %r = arith.truncf %w : f64 to f32"),
    "i64 inside": _operation("%w = arith.index_cast %i : index to i64 %r = arith.sitofp %w : i64 to f32"),
    "i64 constant": _operation("%w = arith.constant 5 : i64 %r = arith.sitofp %w : i64 to f32"),
    "vector inside": _operation("%w = vector.broadcast %s : f32 to vector<4xf32> %r = vector.extract %w[0] : f32 from vector<4xf32>"),
    "call": _operation("%r = func.call @f(%s) : (f32) -> f32"),
    "yield of an index": _score("attn.yield %i : index"),
    "yield of nothing": _score("attn.yield"),
    "use of nothing": _operation("%r = arith.addf %s, %nothing : f32"),
    "two results": _operation("%w = arith.index_cast %i : index to i32 %a, %c = arith.addui_extended %w, %w : i32, i1 %r = arith.sitofp %a : i32 to f32"),
    "f8 inside": _operation("%n = arith.truncf %s : f32 to f8E4M3FN %r = arith.extf %n : f8E4M3FN to f32"),
    "i4 inside": _operation("%w = arith.index_cast %i : index to i32 %n = arith.trunci %w : i32 to i4 %r = arith.sitofp %n : i4 to f32"),
    "side effect": _operation("%a = memref.alloca() : memref<1xf32> %r = arith.negf %s : f32"),
    "unused result": _operation("%w = math.erf %s : f32 %r = arith.negf %s : f32"),
    "round": _operation("%r = math.round %s : f32"),
    "no function": lambda p, t: t.replace("func.func @program", "func.func private @program", 1).replace("func.func", "scf.execute_region", 1),
    "seqlens_k": lambda p, t: _clause("seqlens_k(%n : tensor<?xi32>)")(p, t.replace("@program(", "@program(%n: tensor<?xi32>, ", 1)),
    "sinks": lambda p, t: _clause(f"sinks(%n : {p.kind}<?xf32>)")(p, t.replace("@program(", f"@program(%n: {p.kind}<?xf32>, ", 1)),
    "captured tensor": lambda p, t: _capture(p, f"{p.kind}<?xf32>"),
    "captured i64": lambda p, t: _capture(p, "i64"),
    "captured f16": lambda p, t: _capture(p, "f16"),
    "captured i1": lambda p, t: _capture(p, "i1"),
    "captured vector": lambda p, t: _capture(p, "vector<4xf32>"),
    "stride of 8 bytes": lambda p, t: _layout(p, "q", "strided<[?, ?, 4, 1]>"),
    "inner stride": lambda p, t: _layout(p, "v", "strided<[?, ?, ?, 2]>"),
    "dynamic inner stride": lambda p, t: _layout(p, "out", "strided<[?, ?, ?, ?]>"),
    "memory space": lambda p, t: _layout(p, "k", "3 : i32"),
    "affine layout": lambda p, t: _layout(p, "q", "affine_map<(a, b, c, d) -> (a floordiv 2, b, c, d)>"),
    "no keys": lambda p, t: _static(p, sk=0),
    "no heads": lambda p, t: _static(p, hkv=0),
    "uneven groups": lambda p, t: _static(p).replace(
        dataclasses.replace(p, **_STATIC).type("q"), _uneven(p)),
    "unknown chip": None,
    "chip without tensor memory": None,
    "name": _line("@program", '@"a b"'),
    "twice": lambda p, t: t + t,
    "cut short": lambda p, t: t[: len(t) // 2],
    "empty": lambda p, t: "",
    "nothing to compile": lambda p, t: "func.func @f() { return }",
}  # fmt: skip
_CHIPS = {"unknown chip": "sm_42", "chip without tensor memory": "sm_90a"}
_EVERYTHING = frozenset(["B", "Sq", "Sk", "Hq", "Hkv"])
_STATIC = dict(static=_EVERYTHING, strided=())
# These end with the program as it was, or cannot be told from a legal one.
_MAY_PASS = {"i4 inside", "f8 inside", "unused result", "round"}


def _capture(p, type):
    plain = dataclasses.replace(p, score=("arith.addf", S, S), visible=None, captures=((type, 0),))
    return plain.mlir()


def _layout(p, operand, layout):
    plain = dataclasses.replace(p, kind="memref", strided=())
    type = plain.type(operand)
    text, before = plain.mlir(), type
    return text.replace(before, f"{type[:-1]}, {layout}>")


def _static(p, **sizes):
    return dataclasses.replace(p, sizes=p.sizes._replace(**sizes), **_STATIC).mlir()


def _uneven(p):
    changed = dataclasses.replace(p, sizes=Sizes(p.sizes.b, p.sizes.sq, p.sizes.sk, p.sizes.hq * 2 + 1), **_STATIC)
    return changed.type("q") if p.sizes.hkv > 1 else "memref<1xf16>"


class Flawed(Exception):
    """What is wrong with how an input was refused."""


def refuse(text, chip, folder, options=()):
    """Exactly one error, exit status 1, nothing written. Raises Flawed."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        source, out = Path(scratch, "op.mlir"), Path(scratch, "out")
        source.write_text(text)
        command = [gpu.find_tool("fa4-compile"), source, f"--chip={chip}", "-o", out, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        errors = len(re.findall(r"\berror:", done.stderr))
        if done.returncode == 0:
            raise Flawed("accepted")
        if done.returncode != 1:
            raise Flawed(f"exit status {done.returncode}: {done.stderr[-600:]}")
        if errors != 1:
            raise Flawed(f"{errors} errors:\n{done.stderr[:1500]}")
        if out.exists():
            raise Flawed("something was written")
        if "unrealized_conversion_cast" in done.stderr or "failed to legalize" in done.stderr:
            raise Flawed(f"a message about the compiler's own affairs: {done.stderr[:600]}")
    return done.stderr


# ---------------------------------------------------------------------------
# One number: one program
# ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Result:
    number: int
    group: str  # what the table counts by
    program: Program | None
    error: str = ""
    seconds: float = 0.0


def make(seed, number):
    """The program, and the flaw's name if there is to be one."""
    rng = np.random.default_rng([seed, number])
    flaw = list(FLAWS)[rng.integers(len(FLAWS))] if rng.random() < 0.3 else None
    return draw_program(rng), flaw


def flawed_text(program, flaw):
    text = program.mlir()
    return text if FLAWS[flaw] is None else FLAWS[flaw](program, text)


def run_number(seed, number, folder, ptxas):
    program, flaw = make(seed, number)
    started = time.monotonic()
    error = ""
    try:
        if flaw:
            check_flaw(program, flaw)
        else:
            # Every fourth is assembled; shares that nobody asked for may spill.
            assembled = ptxas and number % 4 == 0 and not program.options
            run(program, folder / str(number), ptxas=assembled)
    except (Failed, Flawed, subprocess.TimeoutExpired) as failed:
        error = str(failed)
    except Exception as failed:
        error = f"the generator: {failed!r}"
    group = "nearly legal" if flaw else describe(program)
    named = f"{flaw}: {error}" if flaw and error else error
    return Result(number, group, program, named, time.monotonic() - started)


def check_flaw(program, flaw):
    text = flawed_text(program, flaw)
    if text == program.mlir() and flaw not in _CHIPS:
        raise Flawed("the flaw changed nothing")
    try:
        refuse(text, _CHIPS.get(flaw, program.chip), None)
    except Flawed as said:
        if str(said) != "accepted" or flaw not in _MAY_PASS:
            raise


def describe(program):
    mod = {(False, False): "plain", (True, False): "score_mod", (False, True): "mask_mod"}
    kind = mod.get((program.score is not None, program.visible is not None), "both mods")
    mask = "no band" if program.mask is None else "band"
    return f"{kind}, {mask}"


# ---------------------------------------------------------------------------
# Smaller ones
# ---------------------------------------------------------------------------


def _smaller_expressions(e, same_type=True):
    """Operands of the same type in place of an expression, anywhere in it."""
    for part in mods.operands(e):
        if mods.typeof(part) == mods.typeof(e):
            yield part
    for place, part in enumerate(e):
        if isinstance(part, tuple):
            for small in _smaller_expressions(part):
                yield (*e[:place], small, *e[place + 1 :])


def smaller(program: Program):
    """Programs that are simpler in one respect."""
    plain = Program()
    for field in dataclasses.fields(Program):
        default = getattr(plain, field.name)
        if field.name not in ("sizes", "captures") and getattr(program, field.name) != default:
            if field.name == "static" and program.strided:
                continue
            yield dataclasses.replace(program, **{field.name: default})
    if program.score is None and program.visible is None and program.captures:
        yield dataclasses.replace(program, captures=())
    for name, value in program.sizes._asdict().items():
        for less in sorted({1, value // 2, value - 1} - {0, value}):
            if less < value:
                yield dataclasses.replace(program, sizes=program.sizes._replace(**{name: less}))
    for name in ("score", "visible"):
        if (e := getattr(program, name)) is not None:
            for small in itertools.islice(_smaller_expressions(e), 40):
                yield dataclasses.replace(program, **{name: small})
    for n in range(len(program.options)):
        yield dataclasses.replace(program, options=program.options[:n] + program.options[n + 1 :])


def shrink(program, stage, folder, ptxas, seconds):
    """The smallest that fails in the same stage, as far as the time goes."""
    end = time.monotonic() + seconds

    def fails(candidate):
        try:
            run(candidate, folder, ptxas=ptxas)
        except Failed as failed:
            return failed.stage == stage
        except Exception:
            return False
        return False

    going = True
    while going:
        going = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if fails(candidate):
                program, going = candidate, True
                break
    return program


# ---------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------


def save(result, options, folder):
    """The op, its shrunk form and what was said, in a folder of their own."""
    place = folder / f"failure-{options.seed}-{result.number}"
    place.mkdir(parents=True, exist_ok=True)
    program, flaw = make(options.seed, result.number)
    (place / "message.txt").write_text(f"{result.error}\n\n{program}\nflaw: {flaw}\n")
    (place / "op.mlir").write_text(flawed_text(program, flaw) if flaw else program.mlir())
    stage = result.error.split(":")[0]
    if flaw or stage not in ("compile", "ptxas", "simulate", "compare", "spills"):
        return place
    small = shrink(program, stage, folder / f"shrink-{result.number}", stage in ("ptxas", "spills"), options.shrink)
    (place / "small.mlir").write_text(small.mlir())
    (place / "small.txt").write_text(f"{small!r}\n")
    return place


def parse(words):
    parser = argparse.ArgumentParser(prog="random-programs", description=__doc__)
    parser.add_argument("count", type=int, metavar="N", help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="of the programs (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: processors)")
    parser.add_argument("--no-ptxas", action="store_true", help="without ptxas, which sees every fourth")
    parser.add_argument("--shrink", type=float, default=60, metavar="SECONDS", help="for each failure (default: 60)")
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
                running.add(pool.submit(run_number, options.seed, number, folder, ptxas))
            if not running:
                return
            done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            yield from (future.result() for future in done)


def main(words=None):
    options = parse(words)
    folder = gpu.ROOT / "build" / "random-programs"
    try:
        gpu.find_tool("fa4-compile"), gpu.find_tool("fa4-sim")
    except ToolNotFoundError as error:
        print(f"random-programs: {error}", file=sys.stderr)
        return 2
    ptxas = not options.no_ptxas and gpu.find_ptxas() is not None
    passed, failed, spilled = Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory(prefix="fa4-programs-") as scratch:
        for result in results_of(options, Path(scratch), ptxas):
            spills = result.error.startswith("spills:")
            (spilled if spills else failed if result.error else passed)[result.group] += 1
            if result.error and not spills:
                print(f"FAILED {result.number}: {result.error}", flush=True)
                print(f"  kept in {save(result, options, folder)}", flush=True)
            elif spills and options.verbose:
                print(f"{result.number}: {result.error}", flush=True)
    print(f"{'programs':<24} {'passed':>7} {'spilled':>7} {'failed':>7}")
    for group in sorted(passed | failed | spilled):
        print(f"{group:<24} {passed[group]:>7} {spilled[group]:>7} {failed[group]:>7}")
    print(f"{'all':<24} {passed.total():>7} {spilled.total():>7} {failed.total():>7}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
