# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that a score_mod may have and that a thread has no instruction for, and those that only masks need, against numpy.
Each head has another function: one kernel computes a dozen."""

import ml_dtypes
import numpy as np
import pytest

import fa4
from fa4 import reference
from fa4_testing import cpu, gpu

pytestmark = pytest.mark.skipif(not gpu.has_tools("fa4-sim", "fa4-compile"), reason="needs fa4-compile and fa4-sim")

BF16 = ml_dtypes.bfloat16
QUERIES, KEYS, DIM = 9, 20, 32


def erf(x):
    from math import erf as of_one

    return np.vectorize(of_one)(x)


# Of %s, a score, %u in (-1, 1) and %g, at least 1; numpy's of the same three.
OF_SCORES = {
    "sin": ("math.sin %w : f32", lambda s, u, g: np.sin(20 * s)),
    "cos": ("math.cos %w : f32", lambda s, u, g: np.cos(20 * s)),
    "tan": ("math.tan %u : f32", lambda s, u, g: np.tan(u)),
    "sinh": ("math.sinh %s : f32", lambda s, u, g: np.sinh(s)),
    "cosh": ("math.cosh %s : f32", lambda s, u, g: np.cosh(s)),
    "asin": ("math.asin %u : f32", lambda s, u, g: np.arcsin(u)),
    "acos": ("math.acos %u : f32", lambda s, u, g: np.arccos(u)),
    "atan": ("math.atan %s : f32", lambda s, u, g: np.arctan(s)),
    "atan2": ("math.atan2 %s, %u : f32", lambda s, u, g: np.arctan2(s, u)),
    "asinh": ("math.asinh %s : f32", lambda s, u, g: np.arcsinh(s)),
    "acosh": ("math.acosh %g : f32", lambda s, u, g: np.arccosh(g)),
    "atanh": ("math.atanh %u : f32", lambda s, u, g: np.arctanh(u)),
    "erf": ("math.erf %s : f32", lambda s, u, g: erf(s)),
    "erfc": ("math.erfc %s : f32", lambda s, u, g: 1 - erf(s)),
    "cbrt": ("math.cbrt %s : f32", lambda s, u, g: np.cbrt(s)),
    "expm1": ("math.expm1 %s : f32", lambda s, u, g: np.expm1(s)),
    "log1p": ("math.log1p %g : f32", lambda s, u, g: np.log1p(g)),
    "log10": ("math.log10 %g : f32", lambda s, u, g: np.log10(g)),
    "powf": ("math.powf %s, %three : f32", lambda s, u, g: s**3),
    "powf of a number": ("math.powf %g, %s : f32", lambda s, u, g: g**s),
    "fpowi": ("math.fpowi %s, %n : f32, i32", lambda s, u, g: s ** np.trunc(2 * np.abs(s))),
    "fpowi of a constant": ("math.fpowi %u, %eleven : f32, i32", lambda s, u, g: u**11),
    "round_": ("math.round %s : f32", lambda s, u, g: np.copysign(np.floor(np.abs(s) + 0.5), s)),
    "clampf": ("math.clampf %s to [%low, %one] : f32", lambda s, u, g: np.clip(s, -0.5, 1)),
}
# Of the positions %i of a query and %j of a key.
OF_POSITIONS = {
    "absi": ("math.absi %x : index", lambda x: np.abs(x)),
    "absi of i32": ("math.absi %y : i32", lambda x: np.abs(x)),
    "ctpop": ("math.ctpop %y : i32", lambda x: np.vectorize(lambda n: bin(n & 0xFFFFFFFF).count("1"))(x)),
    "ctlz": ("math.ctlz %y : i32", lambda x: np.vectorize(lambda n: 32 - (int(n) & 0xFFFFFFFF).bit_length())(x)),
    "cttz": ("math.cttz %y : i32", lambda x: np.vectorize(lambda n: 32 if n == 0 else (int(n) & -int(n)).bit_length() - 1)(x)),
    "cttz of index": ("math.cttz %x : index", lambda x: np.vectorize(lambda n: 32 if n == 0 else (int(n) & -int(n)).bit_length() - 1)(x)),
}
KINDS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "isnormal": lambda x: np.isfinite(x) & (np.abs(x) >= 2.0**-126)}


def operation(heads, body):
    """The text of attention whose heads yield the values %r0, %r1, ... that `body` computes."""
    t = f"memref<1x?x{heads}x{DIM}xbf16>"
    chosen = [f"%e{n} = arith.constant {n} : index\n%c{n} = arith.cmpi eq, %h, %e{n} : index\n"
              f"%t{n} = arith.select %c{n}, %r{n}, {f'%t{n - 1}' if n else '%s'} : f32" for n in range(heads)]  # fmt: skip
    body = "\n".join([body, *chosen])
    return f"""
func.func @f(%q: {t}, %k: {t}, %v: {t}, %o: {t}) {{
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : {t}) : {t}, {t}, {t}
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{
      {body}
      attn.yield %t{heads - 1} : f32
    }}
  return
}}"""


def check(heads, body, modify):
    kernel = fa4.compile(operation(heads, body), verify=False)
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, n, heads, DIM)).astype(BF16) for n in (QUERIES, KEYS, KEYS))
    out = kernel.simulate(q=q, k=k, v=v).out.astype(np.float64)
    scores = np.einsum("bihd,bjhd->bhij", q.astype(np.float64), k.astype(np.float64)) / np.sqrt(DIM)
    positions = np.arange(QUERIES)[:, None] - np.arange(KEYS)
    for head in range(heads):
        x = modify(head, scores[0, head], positions)
        p = np.exp(x - x.max(axis=1, keepdims=True))
        want = p / p.sum(axis=1, keepdims=True) @ v[0, :, head].astype(np.float64)
        assert np.abs(out[0, :, head] - want).max() <= 0.02 * max(1, np.abs(want).max()), head


@pytest.mark.parametrize("part", range(2))
def test_of_scores(part):
    """Each head's score_mod calls another function of the score: results must be those of numpy."""
    functions = list(OF_SCORES.values())[part::2]
    body = """
      %one = arith.constant 1.0 : f32
      %three = arith.constant 3.0 : f32
      %low = arith.constant -0.5 : f32
      %twenty = arith.constant 20.0 : f32
      %w = arith.mulf %s, %twenty : f32
      %u = math.tanh %s : f32
      %a = math.absf %s : f32
      %g = arith.addf %a, %one : f32
      %eleven = arith.constant 11 : i32
      %double = arith.addf %a, %a : f32
      %n = arith.fptosi %double : f32 to i32
    """ + "\n".join(f"%r{n} = {text}" for n, (text, _) in enumerate(functions))
    check(len(functions), body, lambda head, s, x: functions[head][1](s, np.tanh(s), 1 + np.abs(s)))


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_approximate_tanh(chip):
    """`fa4.math.tanh(x, approximate=True)` must become one instruction, in the gradient, too, and scores be those of a cap."""
    form = dict(q="B S H 64", k="B S H 64", score_mod=lambda s, b, h, i, j: 3 * fa4.math.tanh(s / 3, approximate=True))
    rng = np.random.default_rng()
    given = {name: rng.standard_normal((1, 150, 2, 64)).astype(BF16) for name in ("q", "k", "v")}
    spec = fa4.sdpa(**form, lse=True)
    kernel = fa4.compile(spec, chip=chip)
    got, want = kernel.simulate(**given), spec.reference(**given)
    assert "tanh.approx.f32" in kernel.ptx and "rcp.approx" in kernel.ptx
    assert abs(got.lse - want.lse).max() < 3 * 2**-11 + 1e-4 and abs(got.out.astype(np.float64) - want.out).max() < 0.03
    assert fa4.compile(fa4.sdpa_backward(**form), chip=chip).text.count("fastmath<afn>") == 1
    assert fa4.math.tanh(0.5, approximate=True) == np.tanh(0.5)


# Those of OF_SCORES that have a kink, a step or an infinite slope, where differences say nothing.
NOT_SMOOTH = ("cbrt", "round_", "clampf", "fpowi")


def test_derivatives_of_scores():
    """The CPU path's gradients of scores, which use fa4's rules for derivatives, equal differences of numpy's
    functions."""
    functions = [each for name, each in OF_SCORES.items() if name not in NOT_SMOOTH]
    heads, t = len(functions), f"tensor<1x?x{len(functions)}x{DIM}xf32>"
    body = "\n".join(
        f"%r{n} = {text}\n%e{n} = arith.constant {n} : index\n%c{n} = arith.cmpi eq, %h, %e{n} : index\n"
        f"%t{n} = arith.select %c{n}, %r{n}, {f'%t{n - 1}' if n else '%s'} : f32"
        for n, (text, _) in enumerate(functions)
    )
    text = f"""
func.func @g(%q: {t}, %k: {t}, %v: {t}, %o: {t}, %do: {t}, %l: tensor<1x{heads}x?xf32>) -> ({t}, {t}, {t}) {{
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%o) dout(%do) lse(%l) layout<bshd>
    : {t}, {t}, {t}, {t}, {t}, tensor<1x{heads}x?xf32> -> {t}, {t}, {t}
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{
      %one = arith.constant 1.0 : f32
      %three = arith.constant 3.0 : f32
      %w = arith.mulf %s, %three : f32
      %u = math.tanh %s : f32
      %square = arith.mulf %s, %s : f32
      %a = arith.addf %square, %one : f32
      %g = arith.addf %a, %one : f32
      %eleven = arith.constant 11 : i32
      {body}
      attn.yield %t{heads - 1} : f32
    }}
  return %dq, %dk, %dv : {t}, {t}, {t}
}}"""
    rng = np.random.default_rng(5)
    q, do = (rng.standard_normal((1, QUERIES, heads, DIM)).astype(np.float32) for _ in range(2))
    k, v = (rng.standard_normal((1, KEYS, heads, DIM)).astype(np.float32) for _ in range(2))
    q /= 2  # Powers of larger scores are so large that f32 has few digits left for their differences.

    def modify(s, b, h, i, j):
        # sin and cos are of 20 s above, and of 3 s here: differences of theirs are less exact.
        return functions[h][1](s * 3 / 20 if functions[h] in (OF_SCORES["sin"], OF_SCORES["cos"]) else s, np.tanh(s), 2 + s * s)

    out, lse = reference.sdpa(q, k, v, layout="bshd", score_mod=modify)
    found = cpu.compile(text)["g"](q, k, v, out.astype(np.float32), do, lse.astype(np.float32))
    wanted = reference.sdpa_backward(q, k, v, do, layout="bshd", score_mod=modify)
    for name, result, want in zip(("dq", "dk", "dv"), found, wanted):
        for head in range(heads):
            error = np.abs(result[:, :, head] - want[:, :, head]).max() / np.abs(want[:, :, head]).max()
            assert error < 1e-3, (name, functions[head][0], error)


def test_of_positions():
    """Each head's score_mod calls another function of positions: results must be those of numpy."""
    body = "%x = arith.subi %i, %j : index\n%y = arith.index_cast %x : index to i32\n"
    for n, (text, _) in enumerate(OF_POSITIONS.values()):
        cast = f"%n{n} = arith.index_cast %m{n} : index to i32" if text.endswith("index") else ""
        source = f"%n{n}" if cast else f"%m{n}"
        body += f"%m{n} = {text}\n{cast}\n%r{n} = arith.sitofp {source} : i32 to f32\n"
    functions = list(OF_POSITIONS.values())
    check(len(functions), body, lambda head, s, x: functions[head][1](x).astype(np.float64))


def test_kinds_of_numbers():
    """The kernel tells kinds of numbers apart: it classifies s / (i - j), which is infinite on the diagonal, and 0
    times that."""
    body = """
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %x = arith.subi %i, %j : index
      %y = arith.index_cast %x : index to i32
      %d = arith.sitofp %y : i32 to f32
      %inf = arith.divf %one, %d : f32
      %p = arith.mulf %inf, %zero : f32
      %odd = arith.select %e, %p, %inf : f32
    """.replace("%odd =", "%bit = arith.constant 1 : i32\n%last = arith.andi %y, %bit : i32\n%none = arith.constant 0 : i32\n"
                "%e = arith.cmpi eq, %last, %none : i32\n%odd =")  # fmt: skip
    for n, name in enumerate(KINDS):
        body += f"%k{n} = math.{name} %odd : f32\n%r{n} = arith.select %k{n}, %one, %zero : f32\n"

    def modify(head, s, x):
        with np.errstate(divide="ignore", invalid="ignore"):
            inf = 1 / x.astype(np.float64)
            odd = np.where(x % 2 == 0, inf * 0, inf)
        return list(KINDS.values())[head](odd).astype(np.float64)

    check(len(KINDS), body, modify)


def round_bits(x, dropped, mode):
    """x, f32, without its last bits, in the direction of `mode`."""
    bits = x.astype(np.float32).view(np.uint32)
    kept = bits >> dropped << dropped
    away = (kept != bits) & ((x > 0) if mode == "upward" else (x < 0) if mode == "downward" else False)
    return (kept + (away.astype(np.uint32) << dropped)).view(np.float32)


@pytest.mark.parametrize("mode, element, dropped", [
    ("toward_zero", "bf16", 16), ("toward_zero", "f16", 13), ("downward", "f16", 13), ("upward", "f16", 13),
])  # fmt: skip
def test_rounding_modes(mode, element, dropped):
    """A score_mod returns 256 times what a score loses in a rounding, which tells the mode of the rounding from all
    others."""
    body = f"""
      %many = arith.constant 256.0 : f32
      %few = arith.truncf %s {mode} : f32 to {element}
      %back = arith.extf %few : {element} to f32
      %lost = arith.subf %back, %s : f32
      %r0 = arith.mulf %lost, %many : f32
    """
    check(1, body, lambda head, s, x: 256 * (round_bits(s, dropped, mode) - s))
