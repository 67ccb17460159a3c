# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""score_mod and mask_mod regions, as MLIR and as Python."""

import math

import numpy as np
from forms import Mod
from ml_dtypes import bfloat16

# ---------------------------------------------------------------------------
# Score modifications that people use
# ---------------------------------------------------------------------------

ALIBI_TEXT = """
        %slope = LOAD %c0[%h] : TYPE0
        %dist = arith.subi %j, %i : index
        %disti = arith.index_cast %dist : index to i32
        %distf = arith.sitofp %disti : i32 to f32
        %bias = arith.mulf %slope, %distf : f32
        %biased = arith.addf %s, %bias : f32"""


def draw_slopes(rng, sizes):
    return rng.uniform(0.1, 1, sizes.hq).astype(np.float32)


ALIBI = Mod(
    captures=("?xf32",),
    draw=lambda rng, sizes: (draw_slopes(rng, sizes),),
    score=f"{ALIBI_TEXT}\n        attn.yield %biased : f32",
    score_py=lambda s, b, h, i, j, slopes: s + slopes[h] * (j - i),
)

SOFTCAP = Mod(
    captures=("f32",),
    draw=lambda rng, sizes: (float(np.float32(rng.uniform(0.5, 2))),),
    score="""
        %x = arith.divf %s, %c0 : f32
        %t = math.tanh %x : f32
        %r = arith.mulf %t, %c0 : f32
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j, cap: np.tanh(s / cap) * cap,
)

BIAS = Mod(
    captures=("?x?x?x?xbf16",),
    draw=lambda rng, sizes: (
        rng.standard_normal((sizes.batch, sizes.hq, *sizes.longest)).astype(bfloat16),
    ),
    score="""
        %narrow = LOAD %c0[%b, %h, %i, %j] : TYPE0
        %bias = arith.extf %narrow : bf16 to f32
        %r = arith.addf %s, %bias : f32
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j, bias: s + bias[b, h, i, j].astype(s.dtype),
)

# ---------------------------------------------------------------------------
# Masks that people use
# ---------------------------------------------------------------------------

DOCUMENT_TEXT = """
        %di = LOAD %c0[%b, %i] : TYPE0
        %dj = LOAD %c1[%b, %j] : TYPE1
        %same = arith.cmpi eq, %di, %dj : i32
        attn.yield %same : i1"""


def draw_documents(rng, sizes):
    """Document numbers of queries and keys, ascending along each sequence."""
    return tuple(
        np.sort(rng.integers(0, 3, (sizes.batch, n)), axis=1).astype(np.int32)
        for n in sizes.longest
    )


DOCUMENT = Mod(
    captures=("?x?xi32", "?x?xi32"),
    draw=draw_documents,
    mask=DOCUMENT_TEXT,
    mask_py=lambda b, h, i, j, di, dj: di[b, i] == dj[b, j],
)

# A window is read off these. In C's rounding and in Python's a position has the same quotient.
DOCUMENTS_OF_5 = Mod(
    mask="""
        %five = arith.constant 5 : index
        %di = arith.divsi %i, %five : index
        %dj = arith.floordivsi %j, %five : index
        %same = arith.cmpi eq, %di, %dj : index
        attn.yield %same : i1""",
    mask_py=lambda b, h, i, j: i // 5 == j // 5,
)

PREFIX_LM = Mod(
    captures=("?xi32",),
    draw=lambda rng, sizes: (rng.integers(0, 5, sizes.batch).astype(np.int32),),
    mask="""
        %n32 = LOAD %c0[%b] : TYPE0
        %n = index.casts %n32 : i32 to index
        %prefix = index.cmp slt(%j, %n)
        %past = index.cmp sle(%j, %i)
        %r = arith.ori %prefix, %past : i1
        attn.yield %r : i1""",
    mask_py=lambda b, h, i, j, prefix: (j < prefix[b]) | (j <= i),
)

# ---------------------------------------------------------------------------
# Combinations and corner cases
# ---------------------------------------------------------------------------

# tanh((s + bias) / c) * c, within a document: the chain rule, and both regions
# with the same captures.
CAPPED_ALIBI_IN_DOCUMENT = Mod(
    captures=("?x?xi32", "?x?xi32", "?xf32", "f32"),
    draw=lambda rng, sizes: (
        *draw_documents(rng, sizes),
        draw_slopes(rng, sizes),
        1.5,
    ),
    score=ALIBI_TEXT.replace("c0", "c2").replace("TYPE0", "TYPE2")
    + """
        %x = arith.divf %biased, %c3 : f32
        %t = math.tanh %x : f32
        %r = arith.mulf %t, %c3 : f32
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j, di, dj, slopes, cap: (
        np.tanh((s + slopes[h] * (j - i)) / cap) * cap
    ),
    mask=DOCUMENT_TEXT,
    mask_py=lambda b, h, i, j, di, dj, slopes, cap: di[b, i] == dj[b, j],
)

# -inf hides a key as a mask does; query 2 sees none.
HIDING = Mod(
    score="""
        %two = arith.constant 2 : index
        %three = arith.constant 3 : index
        %minus_inf = arith.constant 0xFF800000 : f32
        %sum = arith.addi %i, %j : index
        %third = arith.remui %sum, %three : index
        %zero = arith.constant 0 : index
        %hole = arith.cmpi eq, %third, %zero : index
        %row = arith.cmpi eq, %i, %two : index
        %hide = arith.ori %hole, %row : i1
        %r = arith.select %hide, %minus_inf, %s : f32
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j: np.where(((i + j) % 3 == 0) | (i == 2), -np.inf, s),
)

# NaN, value and derivative, for keys that the causal mask hides (log of i - j).
NAN_WHERE_MASKED = Mod(
    score="""
        %dist = arith.subi %i, %j : index
        %disti = arith.index_cast %dist : index to i32
        %distf = arith.sitofp %disti : i32 to f32
        %half = arith.constant 0.5 : f32
        %shifted = arith.addf %distf, %half : f32
        %log = math.log %shifted : f32
        %r = arith.mulf %s, %log : f32
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j: (
        s * np.log(np.where(j <= i, i - j + 0.5, np.nan)).astype(s.dtype)
    ),
)

# Reads its capture only where the index is in bounds.
GUARDED_LOAD = Mod(
    captures=("?xf32", "index"),
    draw=lambda rng, sizes: (rng.standard_normal(3).astype(np.float32), 3),
    score="""
        %inside = arith.cmpi slt, %j, %c1 : index
        %r = scf.if %inside -> (f32) {
          %bias = LOAD %c0[%j] : TYPE0
          %sum = arith.addf %s, %bias : f32
          %square = arith.mulf %sum, %sum : f32
          scf.yield %square : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %r : f32""",
    score_py=lambda s, b, h, i, j, bias, n: np.where(
        j < n, (s + bias[np.minimum(j, n - 1)]) ** 2, s
    ),
)

# ---------------------------------------------------------------------------
# The derivative of each operation
# ---------------------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[float])

# Operation -> function, on x in (-0.9, 0.9) or on y = x^2 + 1/2.
OF_X = {
    "arith.negf": np.negative,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.tanh": np.tanh,
    "math.sinh": np.sinh,
    "math.cosh": np.cosh,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tan": np.tan,
    "math.atan": np.arctan,
    "math.asin": np.arcsin,
    "math.acos": np.arccos,
    "math.asinh": np.arcsinh,
    "math.atanh": np.arctanh,
    "math.erf": erf,
    "math.erfc": lambda x: 1 - erf(x),
}
OF_Y = {
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda y: 1 / np.sqrt(y),
    "math.cbrt": np.cbrt,
}
# With both operands depending on the score, and with one.
BINARY = {
    "arith.addf %x, %y": lambda x, y: x + y,
    "arith.addf %half, %x": lambda x, y: 0.5 + x,
    "arith.subf %x, %y": lambda x, y: x - y,
    "arith.subf %half, %x": lambda x, y: 0.5 - x,
    "arith.mulf %x, %y": lambda x, y: x * y,
    "arith.mulf %half, %x": lambda x, y: 0.5 * x,
    "arith.divf %x, %y": lambda x, y: x / y,
    "arith.divf %half, %y": lambda x, y: 0.5 / y,
    "arith.divf %x, %half": lambda x, y: x / 0.5,
    "math.powf %y, %x": lambda x, y: y**x,
    "math.powf %y, %half": lambda x, y: y**0.5,
    "math.powf %half, %x": lambda x, y: 0.5**x,
    "math.fma %x, %y, %x": lambda x, y: x * y + x,
    "math.fma %half, %y, %half": lambda x, y: 0.5 * y + 0.5,
    "math.fma %y, %half, %x": lambda x, y: y * 0.5 + x,
}
SMOOTH = (
    [(f"{op} %x", lambda x, y, f=f: f(x)) for op, f in OF_X.items()]
    + [(f"{op} %y", lambda x, y, f=f: f(y)) for op, f in OF_Y.items()]
    + list(BINARY.items())
)

# With kinks, or steps: function and derivative by x. (y' = 2x.)
KINKED = [
    ("math.absf %x", np.abs, np.sign),
    ("arith.maximumf %x, %y", lambda x: np.maximum(x, x * x + 0.5),
     lambda x: np.where(x > x * x + 0.5, 1, 2 * x)),
    ("arith.maximumf %x, %quarter", lambda x: np.maximum(x, 0.25),
     lambda x: np.where(x > 0.25, 1, 0)),
    ("arith.minimumf %quarter, %x", lambda x: np.minimum(x, 0.25),
     lambda x: np.where(x < 0.25, 1, 0)),
    ("arith.maxnumf %quarter, %x", lambda x: np.maximum(x, 0.25),
     lambda x: np.where(x > 0.25, 1, 0)),
    ("arith.minnumf %x, %quarter", lambda x: np.minimum(x, 0.25),
     lambda x: np.where(x < 0.25, 1, 0)),
    ("math.clampf %x to [%neg, %quarter]", lambda x: np.clip(x, -0.25, 0.25),
     lambda x: np.where(np.abs(x) < 0.25, 1, 0)),
    ("arith.select %low, %y, %x",
     lambda x: np.where(x < 0.25, x * x + 0.5, x),
     lambda x: np.where(x < 0.25, 2 * x, 1)),
    ("math.copysign %y, %x", lambda x: np.copysign(x * x + 0.5, x),
     lambda x: np.sign(x) * 2 * x),
    ("math.copysign %x, %neg", lambda x: -np.abs(x), lambda x: -np.sign(x)),
    ("math.floor %four_x", lambda x: np.floor(4 * x), np.zeros_like),
    ("math.ceil %four_x", lambda x: np.ceil(4 * x), np.zeros_like),
    ("math.trunc %four_x", lambda x: np.trunc(4 * x), np.zeros_like),
    ("math.roundeven %four_x", lambda x: np.round(4 * x), np.zeros_like),
    ("math.round %four_x",
     lambda x: np.copysign(np.floor(np.abs(4 * x) + 0.5), x), np.zeros_like),
]  # fmt: skip

# x is 0.9 sin(s), so that it stays in the domain of all functions.
OPERATION_TEXT = """
        %ninety = arith.constant 0.9 : f32
        %half = arith.constant 0.5 : f32
        %quarter = arith.constant 0.25 : f32
        %neg = arith.constant -0.25 : f32
        %four = arith.constant 4.0 : f32
        %sin = math.sin %s : f32
        %x = arith.mulf %ninety, %sin : f32
        %xx = arith.mulf %x, %x : f32
        %y = arith.addf %xx, %half : f32
        %four_x = arith.mulf %four, %x : f32
        %low = arith.cmpf olt, %x, %quarter : f32"""


def _weighted_sum(operations):
    """Region: s + sum_n weight[n] * operation_n."""
    text = OPERATION_TEXT
    total = "%s"
    for n, operation in enumerate(operations):
        text += f"""
        %n{n} = arith.constant {n} : index
        %w{n} = LOAD %c0[%n{n}] : TYPE0
        %f{n} = {operation} : f32
        %t{n} = arith.mulf %w{n}, %f{n} : f32
        %sum{n} = arith.addf {total}, %t{n} : f32"""
        total = f"%sum{n}"
    return f"{text}\n        attn.yield {total} : f32"


def _smooth_py(s, b, h, i, j, weights):
    n = int(np.argmax(weights))
    x = 0.9 * np.sin(s)
    return s + SMOOTH[n][1](x, x * x + 0.5)


def _kinked_py(s, b, h, i, j, weights):
    return s + KINKED[int(np.argmax(weights))][1](0.9 * np.sin(s))


def _kinked_grad(s, b, h, i, j, weights):
    derivative = KINKED[int(np.argmax(weights))][2](0.9 * np.sin(s))
    return 1 + derivative * 0.9 * np.cos(s)


def _draw_weights(operations):
    def draw(rng, sizes):
        weights = np.zeros(len(operations), np.float32)
        weights[rng.integers(len(operations))] = 1
        return (weights,)

    return draw


# One operation at a time: the weights are 0 but for one 1.
SMOOTH_OPERATIONS = Mod(
    captures=("?xf32",),
    draw=_draw_weights(SMOOTH),
    score=_weighted_sum([text for text, *_ in SMOOTH]),
    score_py=_smooth_py,
)
KINKED_OPERATIONS = Mod(
    captures=("?xf32",),
    draw=_draw_weights(KINKED),
    score=_weighted_sum([text for text, *_ in KINKED]),
    score_py=_kinked_py,
    score_grad=_kinked_grad,
)
