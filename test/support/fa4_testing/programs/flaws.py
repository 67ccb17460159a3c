# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What makes a program nearly legal: changes of its text, each of which fa4-compile
has to refuse with exactly one error; and which gradients have no pairs of CTAs, which it has to say."""

import dataclasses
import re
import subprocess
import tempfile
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.mods import S
from fa4_testing.programs.program import Sizes


def _elements(element):
    return lambda p, t: t.replace(f"x{p.dtype}", f"x{element}")


def _of(operand, change):
    """Changes the type of an operand everywhere."""
    return lambda p, t: t.replace(p.type(operand), change(p.type(operand)))


def _clause(text):
    return lambda p, t: t.replace(f"layout<{p.layout}>", f"layout<{p.layout}> {text}", 1)


def _score(body, captures=""):
    """Puts one score_mod in place of all regions and captures."""

    def change(p, t):
        plain = dataclasses.replace(p, score=None, visible=None, captures=())
        region = f"score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{ {body} }}"
        end = "\n  return" if p.kind == "memref" else "\n  return %out"
        return plain.mlir().replace(end, f"\n    {region}{end}", 1)

    return change


def _operation(text, result="%r"):
    return _score(f"{text}\n attn.yield {result} : f32")


def _head_dim(dim):
    return lambda p, t: dataclasses.replace(p, head_dim=dim, head_dim_v=None, strided=()).mlir()


def _line(text, instead):
    return lambda p, t: t.replace(text, instead, 1)


# Name -> change of the program's text.
FLAWS = {
    "f32": _elements("f32"),
    "f64": _elements("f64"),
    "fp8": _elements("f8E4M3FN"),
    "i8": _elements("i8"),
    "k of another type": lambda p, t: t.replace(
        p.type("k"), p.type("k").replace(p.dtype, "bf16" if p.dtype == "f16" else "f16"), 1
    ),
    "head dim 288": _head_dim(288),
    "head dim 320": _head_dim(320),
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
    "power": _operation("%w = arith.index_cast %i : index to i32 %n = math.ipowi %w, %w : i32 %r = arith.sitofp %n : i32 to f32"),
    "loop": _operation("%z = arith.constant 0 : index %o = arith.constant 1 : index "
                       "%r = scf.for %a = %z to %i step %o iter_args(%x = %s) -> (f32) { scf.yield %x : f32 }"),
    "f64 inside": _operation("%w = arith.extf %s : f32 to f64 %x = arith.mulf %w, %w : f64 %r = arith.truncf %x : f64 to f32"),
    "i64 inside": _operation("%w = arith.index_cast %i : index to i64 %r = arith.sitofp %w : i64 to f32"),
    "i64 of a score": _operation("%w = arith.fptosi %s : f32 to i64 %r = arith.sitofp %w : i64 to f32"),
    "vector inside": _operation("%w = vector.broadcast %s : f32 to vector<4xf32> %r = vector.reduction <mul>, %w : vector<4xf32> into f32"),
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
    "captured tensor": lambda p, t: _capture(p, f"{p.kind}<?x?x?x?x?xf32>"),
    "captured tensor of i64": lambda p, t: _capture(p, f"{p.kind}<?xi64>"),
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
    "name": _line("@program", '@"a b"'),
    "twice": lambda p, t: t + t,
    "cut short": lambda p, t: t[: len(t) // 2],
    "empty": lambda p, t: "",
    "nothing to compile": lambda p, t: "func.func @f() { return }",
}  # fmt: skip
_CHIPS = {"unknown chip": "sm_42"}
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
    """Says what is wrong with the way in which an input was refused."""


def refuse(text, chip, options=()):
    """Checks that the compiler refuses the input with exactly one error and exit status
    1, and writes nothing. Raises Flawed."""
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


# Why a program has no kernel on pairs of CTAs ("What is missing" in docs/pairs.md) -> what fa4-compile says.
REFUSALS = {
    "sequences of a pair": r"cannot be run by pairs of CTAs\n[\s\S]*note: '(?:tile\.mma' has a B that may differ|scf\.for' may make another number of passes) ",
    "columns of a pair's MMA": r"cannot be run by pairs of CTAs\n[\s\S]*note: 'tile\.mma' has \d+ columns; an MMA of a pair has a multiple of 32 ",
    "shared memory for several tiles": r"needs \d+ bytes of shared memory; ",
    "tensor memory for requests": r"needs \d+ columns of tensor memory; ",
    "turns of requests": r"takes turns that are not proven to come: with the schedule 'clc' ",
}


def refusal(program):
    """Why there are no such pairs of CTAs, a name of REFUSALS, or None: then there are. It is so of a form without regions
    and with dynamic sizes: one that sees no key has no MMAs, and static lengths may leave one work tile and more memory."""
    if "--pairs=on" not in program.options:
        return None
    if program.packed:
        return "sequences of a pair"
    if not isinstance(program, Gradient):
        return None
    dims = program.head_dim, program.head_dim_v or program.head_dim
    asks = "--schedule=clc" in program.options
    if any(dim % 32 for dim in dims):
        return "columns of a pair's MMA"
    if max(dims) > 128:
        return None  # dq has a kernel of its own, without turns.
    if dims == (128, 128) and "--schedule=static" in program.options:
        return "shared memory for several tiles"
    if asks and sum(dims) > 192:
        return "tensor memory for requests"
    return "turns of requests" if asks and program.deterministic else None


def _check_refusal(program, why):
    """Raises Flawed if the program is not refused for this reason, or if it has a kernel."""
    if refusal(program) != why:
        raise Flawed("not refused for this reason")
    said = refuse(program.mlir(), program.chip, program.options)
    if not re.search(REFUSALS[why], said):
        raise Flawed(f"another reason: {said[:600]}")


def flawed_text(program, flaw):
    text = program.mlir()
    return text if FLAWS.get(flaw) is None else FLAWS[flaw](program, text)


def check_flaw(program, flaw, text=None):
    """With `text` instead of the program's and the flaw's. Raises Flawed."""
    if flaw in REFUSALS:
        return _check_refusal(program, flaw)
    text = flawed_text(program, flaw) if text is None else text
    if text == program.mlir() and flaw not in _CHIPS:
        raise Flawed("the flaw changed nothing")
    try:
        refuse(text, _CHIPS.get(flaw, program.chip), program.options)
    except Flawed as said:
        if str(said) != "accepted" or flaw not in _MAY_PASS:
            raise
