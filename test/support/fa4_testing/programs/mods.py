# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""score_mod and mask_mod as expressions that are both MLIR and numpy.

An expression is a nested tuple: (operation, operand, ...). Leaves are the
region's arguments ("s",), ("b",), ("h",), ("i",), ("j",), captures
("capture", n, type), ("capture of head", n, type) or ("element", n, type, index...) and constants ("const", value, type). What an operation
takes and gives is in OPERATIONS; `typeof` says the type of an expression.

    softcap = ("arith.mulf", ("math.tanh", ("arith.divf", S, f32(20))), f32(20))
    region(softcap, ["f32"], "score_mod")    # the region's text
    evaluate(softcap, arguments, np.float64)  # the same on arrays

Integers wrap as those of 32 bits do, `index` too: GPU kernels count with 32
bits, so that an index must stay in their range to mean the same everywhere."""

import math

import ml_dtypes
import numpy as np

from fa4.reference import F32_ROUNDING

S, B, H, I, J = ("s",), ("b",), ("h",), ("i",), ("j",)
LEAVES = {"s": "f32", "b": "index", "h": "index", "i": "index", "j": "index"}


def f32(value):
    return ("const", float(np.float32(value)), "f32")


def i32(value):
    return ("const", int(value), "i32")


def index(value):
    return ("const", int(value), "index")


def capture(n, type):
    return ("capture", n, type)


def capture_of_head(n, type):
    """The number of the query head of a captured memref, which has one for each."""
    return ("capture of head", n, type)


def element(n, type, *indices):
    """An element of a captured tensor."""
    return ("element", n, type, *indices)


# ---------------------------------------------------------------------------
# Operations: result type, operand types, meaning
# ---------------------------------------------------------------------------


def _wrap(x):
    return ((np.asarray(x).astype(np.int64) + 2**31) & 0xFFFFFFFF) - 2**31


def _unsigned(x):
    return np.asarray(x).astype(np.int64) & 0xFFFFFFFF


def _truncated(f):
    """Divides as C does, by dividing magnitudes."""

    def divide(x, y):
        x, y = np.asarray(x), np.asarray(y)
        q = np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y)
        return f(x, y, q)

    return divide


def _through(dtype):
    return lambda x: x.astype(dtype).astype(x.dtype)


_erf = np.vectorize(math.erf, otypes=[float])
_FLOAT = {
    "arith.addf": lambda x, y: x + y,
    "arith.subf": lambda x, y: x - y,
    "arith.mulf": lambda x, y: x * y,
    "arith.divf": lambda x, y: x / y,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.negf": lambda x: -x,
    "math.absf": np.abs,
    "math.tanh": np.tanh,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.fma": lambda x, y, z: x * y + z,
    "math.copysign": np.copysign,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.round,
    # No kernel has these yet: an error, or else right.
    "math.round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.erf": _erf,
    "math.log1p": np.log1p,
    "math.expm1": np.expm1,
    "math.atan": np.arctan,
    "math.sinh": np.sinh,
    "math.powf": np.power,
    "math.log10": np.log10,
    "math.cbrt": np.cbrt,
}
_INTEGER = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.divsi": _truncated(lambda x, y, q: q),
    "arith.remsi": _truncated(lambda x, y, q: x - q * y),
    "arith.floordivsi": lambda x, y: x // y,
    "arith.ceildivsi": lambda x, y: -(-x // y),
    "arith.divui": lambda x, y: _unsigned(x) // _unsigned(y),
    "arith.remui": lambda x, y: _unsigned(x) % _unsigned(y),
    "arith.ceildivui": lambda x, y: -(-_unsigned(x) // _unsigned(y)),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": lambda x, y: np.maximum(_unsigned(x), _unsigned(y)),
    "arith.minui": lambda x, y: np.minimum(_unsigned(x), _unsigned(y)),
    "arith.andi": lambda x, y: x & y,
    "arith.ori": lambda x, y: x | y,
    "arith.xori": lambda x, y: x ^ y,
    "arith.shli": lambda x, y: x << y,
    "arith.shrsi": lambda x, y: x >> y,
    "arith.shrui": lambda x, y: _unsigned(x) >> y,
    "math.absi": np.abs,
    # As above.
    "math.ctpop": lambda x: np.bitwise_count(_unsigned(x)).astype(np.int64),
    "math.ctlz": lambda x: 32 - np.ceil(np.log2(_unsigned(x) + 1)).astype(np.int64),
    "math.ipowi": lambda x, y: np.power(x, y),
}
_COMPARE_I = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "slt": lambda x, y: x < y,
    "sle": lambda x, y: x <= y,
    "sgt": lambda x, y: x > y,
    "sge": lambda x, y: x >= y,
    "ult": lambda x, y: _unsigned(x) < _unsigned(y),
    "ule": lambda x, y: _unsigned(x) <= _unsigned(y),
    "ugt": lambda x, y: _unsigned(x) > _unsigned(y),
    "uge": lambda x, y: _unsigned(x) >= _unsigned(y),
}
_COMPARE_F = {
    "oeq": lambda x, y: x == y,
    "une": lambda x, y: x != y,
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "ult": lambda x, y: ~(x >= y),
    "ord": lambda x, y: (x == x) & (y == y),
    "uno": lambda x, y: (x != x) | (y != y),
}
# Name -> (text of the conversion, from, to, meaning).
_CONVERT = {
    "to_i32": ("arith.index_cast", "index", "i32", lambda x: x),
    "to_index": ("arith.index_cast", "i32", "index", lambda x: x),
    "to_indexui": ("arith.index_castui", "i32", "index", _unsigned),
    "sitofp": ("arith.sitofp", "i32", "f32", lambda x: x),
    "uitofp": ("arith.uitofp", "i32", "f32", _unsigned),
    "fptosi": ("arith.fptosi", "f32", "i32", lambda x: np.trunc(x).astype(np.int64)),
    "fptoui": ("arith.fptoui", "f32", "i32", lambda x: np.trunc(x).astype(np.int64)),
    "extui": ("arith.extui", "i1", "i32", lambda x: x),
    "extsi": ("arith.extsi", "i1", "i32", lambda x: -np.asarray(x).astype(np.int64)),
    "bits": ("arith.bitcast", "f32", "i32",
             lambda x: np.asarray(x).astype(np.float32).view(np.int32).astype(np.int64)),
}  # fmt: skip
# There and back again: name -> (down, up, narrow type, meaning).
_NARROW = {
    "bf16": ("arith.truncf", "arith.extf", "bf16", _through(ml_dtypes.bfloat16)),
    "f16": ("arith.truncf", "arith.extf", "f16", _through(np.float16)),
    "i8": ("arith.trunci", "arith.extsi", "i8", lambda x: ((x + 128) & 255) - 128),
    "u8": ("arith.trunci", "arith.extui", "i8", lambda x: x & 255),
    "i16": ("arith.trunci", "arith.extsi", "i16", lambda x: ((x + 2**15) & 0xFFFF) - 2**15),
    "u16": ("arith.trunci", "arith.extui", "i16", lambda x: x & 0xFFFF),
}  # fmt: skip


# What chooses between two values: an operation, and the two branches of an scf.if.
SELECTIONS = ("select", "if")


def typeof(expression):
    name = expression[0]
    if name in LEAVES:
        return LEAVES[name]
    if name in ("const", "capture", "capture of head", "element"):
        return expression[2]
    if name in _CONVERT:
        return _CONVERT[name][2]
    if name in ("cmpi", "cmpf"):
        return "i1"
    return typeof(expression[2 if name in SELECTIONS else 1])


def operands(expression):
    return [part for part in expression[1:] if isinstance(part, tuple)]


def leaves(expression):
    """Returns the names of the region's arguments in it."""
    if expression[0] in LEAVES:
        return {expression[0]}
    return set().union(*map(leaves, operands(expression)))


# ---------------------------------------------------------------------------
# As MLIR
# ---------------------------------------------------------------------------


def _constant(value, type):
    if type == "i1":
        return "true" if value else "false"
    if type != "f32":
        return f"{value} : {type}"
    bits = int(np.float32(value).view(np.uint32))
    return f"0x{bits:08X} : f32"


class _Printer:
    def __init__(self, captures):
        self.lines, self.names, self.captures = [], {}, captures
        self.count = 0

    def define(self, text):
        name = f"%x{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def branch(self, e):
        """A block of its own, which yields the expression."""
        lines, names = self.lines, self.names
        self.lines, self.names = [], dict(names)
        result = self.name(e)
        body = " ".join([*self.lines, f"scf.yield {result} : {typeof(e)}"])
        self.lines, self.names = lines, names
        return f"{{ {body} }}"

    def name(self, e):
        if e not in self.names:
            self.names[e] = self.build(e)
        return self.names[e]

    def build(self, e):
        name, type = e[0], typeof(e)
        if name in LEAVES:
            return f"%{name}"
        if name == "capture":
            return f"%c{e[1]}"
        if name == "capture of head":
            return self.define(f"memref.load %c{e[1]}[%h] : memref<?x{e[2]}>")
        if name == "const":
            return self.define(f"arith.constant {_constant(e[1], type)}")
        if name == "if":
            condition = self.name(e[1])
            return self.define(f"scf.if {condition} -> ({type}) {self.branch(e[2])} else {self.branch(e[3])}")
        args = [self.name(part) for part in operands(e)]
        if name == "element":
            tensor = self.captures[e[1]]
            read = "tensor.extract" if tensor.startswith("tensor") else "memref.load"
            return self.define(f"{read} %c{e[1]}[{', '.join(args)}] : {tensor}")
        if name in _CONVERT:
            text, source, to, _ = _CONVERT[name]
            return self.define(f"{text} {args[0]} : {source} to {to}")
        if name in _NARROW:
            down, up, narrow, _ = _NARROW[name]
            small = self.define(f"{down} {args[0]} : {type} to {narrow}")
            return self.define(f"{up} {small} : {narrow} to {type}")
        if name in ("cmpi", "cmpf"):
            of = typeof(e[2])
            return self.define(f"arith.{name} {e[1]}, {', '.join(args)} : {of}")
        name = "arith.select" if name == "select" else name
        if name == "math.ipowi":
            return self.define(f"{name} {', '.join(args)} : {type}")
        return self.define(f"{name} {', '.join(args)} : {type}")


def region(expression, captures, kind):
    """Returns the text of the region; `kind` is score_mod or mask_mod."""
    printer = _Printer(captures)
    result = printer.name(expression)
    arguments = ["%s: f32"] if kind == "score_mod" else []
    arguments += [f"%{letter}: index" for letter in "bhij"]
    arguments += [f"%c{n}: {type}" for n, type in enumerate(captures)]
    lines = [*printer.lines, f"attn.yield {result} : {typeof(expression)}"]
    body = "".join(f"\n      {line}" for line in lines)
    return f"{kind}({', '.join(arguments)}) {{{body}\n    }}"


# ---------------------------------------------------------------------------
# As numpy
# ---------------------------------------------------------------------------


def evaluate(expression, arguments, compute, known=None):
    """`arguments` is letter -> array or number, and "captures" -> numbers;
    floats are of type `compute`. `known` has, and gets, the values of parts
    with these arguments."""
    known = {} if known is None else known

    def value(e):
        if e not in known:
            known[e] = cast(find(e), typeof(e))
        return known[e]

    def cast(x, type):
        if type == "f32":
            return np.asarray(x).astype(compute)
        return np.asarray(x).astype(bool) if type == "i1" else _wrap(x)

    def find(e):
        name = e[0]
        if name in LEAVES:
            return arguments[name]
        if name == "capture":
            return arguments["captures"][e[1]]
        if name == "capture of head":
            return np.asarray(arguments["captures"][e[1]])[arguments["h"]]
        if name == "const":
            return e[1]
        args = [value(part) for part in operands(e)]
        if name == "element":
            return np.asarray(arguments["captures"][e[1]])[tuple(args)]
        if name in SELECTIONS:
            return np.where(*args)
        if name == "cmpi":
            return _COMPARE_I[e[1]](*args)
        if name == "cmpf":
            return _COMPARE_F[e[1]](*args)
        table = next(t for t in (_FLOAT, _INTEGER, _CONVERT, _NARROW) if name in t)
        if typeof(e) == "i1":
            return {"arith.andi": np.logical_and, "arith.ori": np.logical_or,
                    "arith.xori": np.logical_xor}[name](*args)  # fmt: skip
        meaning = table[name] if callable(table[name]) else table[name][-1]
        return meaning(*args)

    with np.errstate(all="ignore"):
        return value(expression)


def score_function(expression):
    """Returns the score function for `fa4.reference`."""

    def score_mod(s, b, h, i, j, *captures):
        named = dict(s=s, b=b, h=h, i=i, j=j, captures=captures)
        return np.broadcast_to(evaluate(expression, named, s.dtype), s.shape)

    return score_mod


# ---------------------------------------------------------------------------
# Derivatives
# ---------------------------------------------------------------------------

_ERF_FACTOR = 2 / math.sqrt(math.pi)
# Of functions of one number: from argument and result.
_SLOPES = {
    "arith.negf": lambda x, r: -1.0,
    "math.absf": lambda x, r: np.copysign(1.0, x),
    "math.tanh": lambda x, r: 1 - r * r,
    "math.exp": lambda x, r: r,
    "math.exp2": lambda x, r: r * math.log(2),
    "math.log": lambda x, r: 1 / x,
    "math.log2": lambda x, r: 1 / (x * math.log(2)),
    "math.sqrt": lambda x, r: 0.5 / r,
    "math.rsqrt": lambda x, r: -0.5 * r / x,
    "math.erf": lambda x, r: _ERF_FACTOR * np.exp(-x * x),
    "bf16": lambda x, r: 1.0,
    "f16": lambda x, r: 1.0,
}
_STEPS = ("math.floor", "math.ceil", "math.trunc", "math.roundeven", "math.round")
_CHOICES = {
    "arith.maximumf": np.greater_equal, "arith.maxnumf": np.greater_equal,
    "arith.minimumf": np.less_equal, "arith.minnumf": np.less_equal,
}  # fmt: skip
_EXPONENTIALS = ("math.exp", "math.exp2")


def _partials(name, x, r):
    """The derivatives of the result `r` of a smooth operation by each of its operands `x`."""
    if name in _SLOPES:
        return (_SLOPES[name](x[0], r),)
    return {
        "arith.addf": lambda: (1.0, 1.0),
        "arith.subf": lambda: (1.0, -1.0),
        "arith.mulf": lambda: (x[1], x[0]),
        "arith.divf": lambda: (1 / x[1], -r / x[1]),
        "math.fma": lambda: (x[1], x[0], 1.0),
        # Where the sign has a derivative it is 0.
        "math.copysign": lambda: (np.where(x[0] == r, 1.0, -1.0), 0.0),
    }[name]()


def _rounding(name, x, r):
    """How far from `r` f32 is for exact operands `x`. PTX's approximations are right to 2^-22 of the result or, near
    a logarithm's zero and in a tanh that is a difference, of 1; the argument of an exponential is rounded once more."""
    if name in ("arith.negf", "math.absf", "math.copysign", "bf16", "f16"):
        return 0.0
    if name not in _SLOPES:
        return F32_ROUNDING * (4 if name == "arith.divf" else 1) * np.abs(r)
    of_argument = 2 * np.abs(x[0]) * np.abs(r) if name in _EXPONENTIALS else 0.0
    return F32_ROUNDING * (8 * np.maximum(1.0, np.abs(r)) + of_argument)


class _Derivative:
    """The derivative of expressions by the score, or by the capture of this number, in float64: of a kink that of one
    side. Where f32 may come to lie on another side, because what is compared is as close as rounding errors are large,
    the derivative is in doubt by the difference of the two. `error` bounds the score's own error.

    What is rounded to a whole number or a narrow type, and what a select asks, must be the same in f32."""

    def __init__(self, arguments, known, by=None, error=0.0):
        self.arguments, self.known, self.by, self.error = arguments, known, by, error
        self.slopes, self.errors = {}, {}

    def value(self, e):
        return evaluate(e, self.arguments, np.float64, self.known)

    def slope(self, e):
        """(derivative, its doubt), or None where it is 0 everywhere."""
        if e not in self.slopes:
            self.slopes[e] = self.find_slope(e)
        return self.slopes[e]

    def find_slope(self, e):
        name = e[0]
        if name == "s" if self.by is None else name in ("capture", "capture of head") and e[1] == self.by:
            return 1.0, 0.0
        if not operands(e) or name in _STEPS or typeof(e) != "f32":
            return None
        parts = operands(e)
        slopes = [self.slope(part) if typeof(part) == "f32" else None for part in parts]
        if all(each is None for each in slopes):
            return None
        x, r = [self.value(part) for part in parts], self.value(e)
        d, doubts = zip(*(each or (0.0, 0.0) for each in slopes))
        if name in SELECTIONS:
            return np.where(x[0], d[1], d[2]), np.where(x[0], doubts[1], doubts[2])
        if name in _CHOICES:
            isFirst = _CHOICES[name](x[0], x[1])
            isClose = self.is_close(np.abs(x[0] - x[1]), self.rounding_error(parts[0]) + self.rounding_error(parts[1]))
            either = np.abs(np.subtract(*d)) + np.maximum(*doubts)
            return np.where(isFirst, *d), np.where(isClose, either, np.where(isFirst, *doubts))
        partials = _partials(name, x, r)
        slope = sum(partial * each for partial, each in zip(partials, d))
        doubt = sum(np.abs(partial) * each for partial, each in zip(partials, doubts))
        if name in ("math.absf", "math.copysign"):
            doubt = doubt + np.where(self.is_close(np.abs(x[0]), self.rounding_error(parts[0])), 2 * np.abs(d[0]), 0.0)
        return slope, doubt

    @staticmethod
    def is_close(distance, error):
        """What has no error is decided alike, also where both are equal."""
        return ~(distance > error) & ~(np.asarray(error) <= 0)

    def rounding_error(self, e):
        """How far f32 may be from the value: what the operands' errors become, and that of the operation."""
        if e not in self.errors:
            self.errors[e] = self.find_error(e)
        return self.errors[e]

    def find_error(self, e):
        name, parts = e[0], operands(e)
        if name == "s":
            return self.error
        if not parts or name in _STEPS or typeof(e) != "f32":
            return 0.0
        if name in SELECTIONS:
            return np.where(self.value(parts[0]), *map(self.rounding_error, parts[1:]))
        errors = [self.rounding_error(part) if typeof(part) == "f32" else 0.0 for part in parts]
        if name in _CHOICES:
            return np.maximum(*errors)
        x, r = [self.value(part) for part in parts], self.value(e)
        if name not in _SLOPES and name not in _FLOAT:
            return F32_ROUNDING * np.where(np.abs(r) > 2**24, np.abs(r), 0.0)
        carried = sum(np.abs(partial) * error for partial, error in zip(_partials(name, x, r), errors))
        return carried + _rounding(name, x, r)


def differentiate(expression, arguments, known=None, by=None, error=None):
    """The derivative of `expression`, a number, by the score, or by the capture `by`; the arguments are those of
    `evaluate`. With `error`, a bound of the score's, the pair of the derivative and its doubt (see `_Derivative`)."""
    with np.errstate(all="ignore"):
        found = _Derivative(arguments, {} if known is None else known, by, 0.0 if error is None else error).slope(expression)
    slope, doubt = found or (0.0, 0.0)
    return slope if error is None else (slope, doubt)


def derivative_function(expression):
    """Returns the derivative of the score function for `fa4.reference`. Where the score is not
    finite, which is where a key is hidden, it is 0."""

    def score_mod_grad(s, b, h, i, j, *captures):
        named = dict(s=s, b=b, h=h, i=i, j=j, captures=captures)
        known = {}
        value = evaluate(expression, named, np.float64, known)
        slope = np.broadcast_to(differentiate(expression, named, known), s.shape)
        return np.where(np.isfinite(value) & np.isfinite(slope), slope, 0.0)

    return score_mod_grad


def capture_derivative_function(expression):
    """The same by captures, with its doubt, for scores with bounds of their errors."""

    def capture_grad(n, error, s, b, h, i, j, *captures):
        named = dict(s=s, b=b, h=h, i=i, j=j, captures=captures)
        known = {}
        value = evaluate(expression, named, np.float64, known)
        found = differentiate(expression, named, known, by=n, error=error)
        slope, doubt = (np.broadcast_to(each, s.shape) for each in found)
        isFinite = np.isfinite(value) & np.isfinite(slope)
        return np.where(isFinite, slope, 0.0), np.where(isFinite, doubt, 0.0)

    return capture_grad


def mask_function(expression):
    def mask_mod(b, h, i, j, *captures):
        named = dict(b=b, h=h, i=i, j=j, captures=captures)
        shape = np.broadcast(i, j).shape
        return np.broadcast_to(evaluate(expression, named, np.float64), shape)

    return mask_mod
