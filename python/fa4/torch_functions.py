# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and methods of torch on values that are traced, so that functions for FlexAttention are traced as they are.

Each has torch's parameters and torch's types: whole numbers stay whole where torch keeps them so. Numbers are f32 and i32,
whatever torch would have computed them in. A function of torch is known by itself, not by its name: an operator of another
library is refused, unless `fa4.torch.trace_as` has said what it computes.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable

from fa4 import math as m
from fa4.captured import Row, Tensor, as_row, is_compiling, is_sequence, is_torch_tensor, map_rows
from fa4.tracing import Trace, Value, _NoAttribute, _Refused, current_trace

# Name -> function, of values; and those that take rows as a whole.
ELEMENTWISE: dict[str, Callable] = {}
WHOLE: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}
# Operators of others, as fa4.torch.trace_as has them.
OTHERS: dict[object, Callable] = {}


def _named(*names: str, table=ELEMENTWISE):
    def keep(function):
        table.update(dict.fromkeys(names, function))
        return function

    return keep


def _value(x) -> Value:
    """What is given beside values, as a value of the same trace; a Value as it is."""
    return x if isinstance(x, Value) else _current().value(x)


# ---------------------------------------------------------------------------
# The trace that is on, for functions that are given tensors of torch only
# ---------------------------------------------------------------------------

_traces: list[Trace] = []
# One function is traced at a time. torch.compile reads one at a time, too, and leaves nothing in the list.
_lock = threading.RLock()


def _current() -> Trace:
    return _traces[-1]


@functools.cache
def _mode():
    """A mode of torch in which tensors that a function makes of numbers are known as constants."""
    import torch
    from torch.overrides import TorchFunctionMode

    makers = {torch.tensor, torch.scalar_tensor, torch.as_tensor, torch.full, torch.zeros, torch.ones}

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if function in makers and is_torch_tensor(result) and not any(map(is_torch_tensor, args)):
                _current().register.constants[id(result)] = result
            return result

    return Watch


def call_watched(trace: Trace, function: Callable, arguments):
    """What a function that is traced returns. Where torch is, tensors that it makes of numbers are constants; torch.compile has no modes, and
    takes such a tensor as a capture."""
    if is_compiling():
        return _call_in(trace, function, arguments)
    with _lock:
        if "torch" not in sys.modules:
            return _call_in(trace, function, arguments)
        with _mode()():
            return _call_in(trace, function, arguments)


def _call_in(trace: Trace, function: Callable, arguments):
    _traces.append(trace)
    try:
        return function(*arguments)
    finally:
        _traces.pop()


# ---------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------


# Functions of torch -> (the function here, whether it takes rows as a whole).
FUNCTIONS: dict = {}


def find_functions():
    """Fills FUNCTIONS, once torch is there. torch.compile reads it, and cannot do this."""
    import torch
    import torch.nn.functional

    for table, is_whole in ((ELEMENTWISE, False), (WHOLE, True)):
        for name, function in table.items():
            for place in (torch, torch.Tensor, torch.nn.functional, torch.special, torch.ops.aten):
                theirs = getattr(place, name, None)
                if callable(theirs):
                    here = METHODS.get(name, function) if place is torch.Tensor else function
                    FUNCTIONS[theirs] = (here, is_whole)


def name_of(function) -> str:
    """A function as a user writes it: `torch.erf`, `torch.ops.mylib.exp`."""
    if type(function).__module__ == "torch._ops":
        return f"torch.ops.{str(function).removesuffix('.default')}"
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or function)
    return f"torch.{name.split('.')[-1]}"


def dispatch(function, args, kwargs):
    """What a function of torch is on these arguments, of which one is a value, a row or a captured tensor."""
    if type(function).__module__ == "torch._ops" and hasattr(function, "overloadpacket"):
        function = function.overloadpacket
    _mark(args)
    if function in OTHERS:
        return _call(OTHERS[function], False, args, kwargs)
    if not FUNCTIONS:
        find_functions()
    if function not in FUNCTIONS:
        advice = ", unless fa4.torch.trace_as says what it computes" if type(function).__module__ == "torch._ops" else ""
        raise _Refused(f"{name_of(function)} is no function of fa4.math{advice} (docs/python.md lists those of torch that are)")
    return _call(*FUNCTIONS[function], args, kwargs)


def _mark(args):
    for trace in filter(None, (current_trace(*args), _traces[-1] if _traces else None)):
        trace.uses_torch = True


def _call(function: Callable, is_whole: bool, args, kwargs):
    if is_whole or not any(map(is_sequence, args)):
        return function(*args, **kwargs)
    if not any(isinstance(each, (Value, Row, Tensor)) for each in args):
        args = [as_row(_current(), each) if is_sequence(each) else each for each in args]
    return map_rows(lambda *each: function(*each, **kwargs), *args)


def attribute(value, name: str):
    """The method or the attribute of this name that a tensor of torch has."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](value)
    for table, is_whole in ((ELEMENTWISE, False), (WHOLE, True)):
        if name in table and not name.startswith("__"):
            _mark([value])
            return lambda *args, **kwargs: _call(METHODS.get(name, table[name]), is_whole, (value, *args), kwargs)
    raise _NoAttribute(f"'{type(value).__name__}' object has no attribute '{name}'")


def evaluate(function: Callable, args, extra):
    """What a function of torch computes, on numpy arrays that broadcast: each element by itself, as FlexAttention has it.
    `args` end with the positions of queries, [rows, 1], and of keys, [1, keys]; `extra` are captures."""
    import numpy as np
    import torch

    *first, i, j = (torch.as_tensor(np.asarray(each)) for each in args)
    score = first[:1] if len(args) == 5 else []
    rest = first[len(score) :]
    extra = [torch.as_tensor(each) if np.ndim(each) else each for each in extra]
    whole = (i.shape[0], j.shape[1])
    score = [each.expand(whole) for each in score]

    def one(query, key, *score):
        return torch.as_tensor(function(*score, *rest, query, key, *extra))

    by_key = torch.vmap(one, in_dims=(None, 0, *(0 for _ in score)))
    by_query = torch.vmap(by_key, in_dims=(0, None, *(0 for _ in score)))
    return by_query(i[:, 0], j[0], *score).numpy()


# ---------------------------------------------------------------------------
# Types
# ---------------------------------------------------------------------------

KINDS = {
    "float32": "f32", "float64": "f32", "float": "f32", "double": "f32", "bfloat16": "bf16", "half": "f16", "float16": "f16",
    "int32": "i32", "int64": "i32", "int": "i32", "long": "i32", "bool": "i1",
}  # fmt: skip


def _kind(dtype) -> str:
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    if name not in KINDS:
        raise _Refused(f"a value does not become one of {dtype}: there are {', '.join(KINDS)}")
    return KINDS[name]


def _convert(x: Value, kind: str) -> Value:
    """x in a type; in a narrow one it is rounded to that, and f32 again."""
    if kind in ("bf16", "f16"):
        wide = x.trace.cast(x, "f32")
        narrow = x.trace.op(f"arith.truncf {wide.name} : f32 to {kind}", kind)
        return x.trace.op(f"arith.extf {narrow.name} : {kind} to f32", "f32")
    return x.trace.cast(x, kind)


@_named("to", "type")
def _to(x, *args, **kwargs):
    given = [*args, *(kwargs[name] for name in ("dtype", "other") if name in kwargs)]
    x, chosen = _value(x), None
    for each in given:
        if isinstance(each, Value):
            chosen = each.type if each.type != "index" else "i32"
        elif isinstance(each, type) or is_torch_tensor(each) or type(each).__name__ == "dtype":
            chosen = _kind(each.dtype if is_torch_tensor(each) else each)
    # What is left says a device, or how to copy.
    return x if chosen is None else _convert(x, chosen)


@_named("type_as")
def _type_as(x, other):
    return _to(x, other)


for _name in ("float", "double", "bfloat16", "half", "int", "long", "bool"):
    _named(_name)(lambda x, kind=KINDS[_name], **_: _convert(_value(x), kind))
for _name in ("detach", "clone", "contiguous", "cpu", "cuda", "requires_grad_"):
    _named(_name)(lambda x, *_, **__: x)


def _dtype_of(value):
    torch = sys.modules.get("torch")
    names = {"f32": "float32", "i1": "bool", "bool": "bool", "bf16": "bfloat16", "f16": "float16"}
    kind = value.type if isinstance(value, Value) else value.element if isinstance(value, Tensor) else value.values[0].type
    return getattr(torch, names.get(kind, "int32")) if torch else names.get(kind, "int32")


def _device_of(_):
    torch = sys.modules.get("torch")
    return torch.device("cpu") if torch else "cpu"


ATTRIBUTES = {
    "dtype": _dtype_of, "device": _device_of, "requires_grad": lambda _: False, "is_cuda": lambda _: False,
    "shape": lambda _: (), "ndim": lambda value: len(value.shape),
    "dim": lambda value: lambda: len(value.shape), "size": lambda value: lambda dim=None: value.shape if dim is None else value.shape[dim],
    "numel": lambda value: lambda: 1 if isinstance(value, Value) else functools.reduce(lambda a, b: a * b, value.shape, 1),
    "is_floating_point": lambda value: lambda: _dtype_of(value).is_floating_point,
}  # fmt: skip


# ---------------------------------------------------------------------------
# Numbers
# ---------------------------------------------------------------------------


def _constant(like: Value, number, dtype, size=()) -> Value:
    if tuple(size) != ():
        raise _Refused(f"a value is one number, and none of shape {tuple(size)}")
    kind = like.type if dtype is None else _kind(dtype)
    number = {"i1": bool, "i32": int, "index": int}.get(kind, float)(number)
    return _convert(like.trace.value(number), kind)


@_named("ones_like")
def _ones_like(x, *, dtype=None, **_):
    return _constant(x, 1, dtype)


@_named("zeros_like")
def _zeros_like(x, *, dtype=None, **_):
    return _constant(x, 0, dtype)


@_named("full_like")
def _full_like(x, fill_value, *, dtype=None, **_):
    return _constant(x, fill_value, dtype)


@_named("new_ones")
def _new_ones(x, size=(), *, dtype=None, **_):
    return _constant(x, 1, dtype, size)


@_named("new_zeros")
def _new_zeros(x, size=(), *, dtype=None, **_):
    return _constant(x, 0, dtype, size)


@_named("new_full")
def _new_full(x, size, fill_value, *, dtype=None, **_):
    return _constant(x, fill_value, dtype, size)


@_named("new_tensor")
def _new_tensor(x, data, *, dtype=None, **_):
    return _constant(x, data, dtype)


# ---------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------


def _is_real(x) -> bool:
    return _value(x).type == "f32"


@_named("add", "__radd__")
def _add(x, other, *, alpha=1):
    x, other = _value(x), _value(other) if alpha == 1 else _value(other) * alpha
    return x | other if x.type == other.type == "i1" else x + other


@_named("sub", "subtract")
def _sub(x, other, *, alpha=1):
    return _value(x) - (other if alpha == 1 else _value(other) * alpha)


@_named("rsub", "__rsub__")
def _rsub(x, other, *, alpha=1):
    return _sub(other, x, alpha=alpha)


@_named("mul", "multiply", "__rmul__")
def _mul(x, other):
    x, other = _value(x), _value(other)
    return x & other if x.type == other.type == "i1" else x * other


@_named("div", "divide", "true_divide", "__truediv__")
def _div(x, other, *, rounding_mode=None):
    if rounding_mode == "floor":
        return _value(x) // other
    x, other = _value(x), _value(other)
    if rounding_mode == "trunc":
        if _is_real(x) or _is_real(other):
            return m.trunc(x / other)
        a, b = x.trace.pair(x, other)
        return x.trace.op(f"arith.divsi {a.name}, {b.name} : {a.type}", a.type)
    return x / other


@_named("__rtruediv__", "__rdiv__")
def _rdiv(x, other):
    return _value(other) / _value(x)


@_named("floor_divide", "__floordiv__")
def _floor_divide(x, other):
    return _value(x) // _value(other)


@_named("__rfloordiv__")
def _rfloordiv(x, other):
    return _value(other) // _value(x)


@_named("remainder", "__mod__")
def _remainder(x, other):
    return _value(x) % _value(other)


@_named("__rmod__")
def _rmod(x, other):
    return _value(other) % _value(x)


@_named("fmod")
def _fmod(x, other):
    return _value(x) - _div(x, other, rounding_mode="trunc") * other


@_named("neg", "negative", "__neg__")
def _neg(x):
    return -_value(x)


@_named("positive")
def _positive(x):
    return x


@_named("pow", "float_power", "__pow__")
def _pow(x, exponent):
    if is_torch_tensor(exponent) and not exponent.dim() and id(exponent) in _current().register.constants:
        exponent = exponent.item()
    if isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
        x = _value(x)
        return (x.trace.cast(x, "f32") if isinstance(exponent, float) else x) ** exponent
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return x ** _value(exponent)
    raise _Refused("a power of values: its base or its exponent must be a number")


@_named("__rpow__")
def _rpow(x, base):
    return _pow(base, x)


@_named("square")
def _square(x):
    return x * x


@_named("reciprocal")
def _reciprocal(x):
    return 1.0 / _value(x)


@_named("abs", "absolute", "__abs__")
def _abs(x):
    return m.abs(_value(x))


@_named("sign", "sgn")
def _sign(x):
    x = _value(x)
    zero = 0.0 if x.type == "f32" else 0
    return m.where(x > zero, zero + 1, m.where(x < zero, zero - 1, x))


@_named("lerp")
def _lerp(x, end, weight):
    return _value(x) + (_value(end) - x) * weight


@_named("addcmul")
def _addcmul(x, first, second, *, value=1):
    return _value(x) + _value(first) * second * value


@_named("addcdiv")
def _addcdiv(x, first, second, *, value=1):
    return _value(x) + _value(first) / second * value


@_named("hypot")
def _hypot(x, other):
    return m.sqrt(_value(x) * x + _value(other) * other)


@_named("copysign")
def _copysign(x, other):
    return m.copysign(_value(x), other)


# ---------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------

for _name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid"):
    _named(_name)(lambda x, function=getattr(m, _name): function(_value(x)))
_named("expit")(ELEMENTWISE["sigmoid"])
for _name in ("floor", "ceil", "trunc", "round"):
    # Whole numbers stay what they are.
    _named(_name)(lambda x, function=getattr(m, _name): function(x) if _is_real(x) else x)
_named("fix")(ELEMENTWISE["trunc"])


def _operation(name: str):
    """An operation of the dialect math that fa4.math has no name for; where a kernel has no code for it, its compiler says so."""

    def call(x):
        x = _value(x)
        return x.trace.op(f"math.{name} {x.trace.cast(x, 'f32').name} : f32", "f32")

    return call


for _name in ("sin", "cos", "tan", "erf", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos"):
    _named(_name)(_operation(_name))
_named("expm1")(lambda x: m.exp(_value(x)) - 1.0)
_named("log1p")(lambda x: m.log(_value(x) + 1.0))
_named("log10")(lambda x: m.log2(_value(x)) * 0.30102999566398120)


@_named("frac")
def _frac(x):
    return _value(x) - m.trunc(_value(x))


@_named("relu")
def _relu(x, inplace=False):
    x = _value(x)
    return m.maximum(x, 0.0 if x.type == "f32" else 0)


@_named("relu6")
def _relu6(x, inplace=False):
    return _clamp(x, 0, 6)


@_named("leaky_relu")
def _leaky_relu(x, negative_slope=0.01, inplace=False):
    x = _value(x)
    return m.where(x > 0, x, x * negative_slope)


@_named("elu")
def _elu(x, alpha=1.0, inplace=False):
    x = _value(x)
    return m.where(x > 0, x, alpha * (m.exp(m.minimum(x, 0.0)) - 1.0))


@_named("gelu")
def _gelu(x, approximate="none"):
    x = _value(x)
    if approximate == "tanh":
        return 0.5 * x * (1.0 + m.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + ELEMENTWISE["erf"](x * 0.7071067811865476))


@_named("silu")
def _silu(x, inplace=False):
    return _value(x) * m.sigmoid(_value(x))


@_named("softplus")
def _softplus(x, beta=1.0, threshold=20.0):
    x = _value(x)
    scaled = x * beta
    # Where the exponential could overflow, the function is x but for what f32 does not show.
    return m.where(scaled > threshold, x, m.log(1.0 + m.exp(m.minimum(scaled, threshold))) / beta)


@_named("logsigmoid")
def _logsigmoid(x):
    return -_softplus(-_value(x), threshold=80.0)


@_named("logaddexp")
def _logaddexp(x, other):
    x, other = _value(x), _value(other)
    return m.maximum(x, other) + m.log(1.0 + m.exp(-m.abs(x - other)))


@_named("hardtanh")
def _hardtanh(x, min_val=-1.0, max_val=1.0, inplace=False):
    return _clamp(x, min_val, max_val)


@_named("softsign")
def _softsign(x):
    return _value(x) / (1.0 + m.abs(_value(x)))


# ---------------------------------------------------------------------------
# Choices
# ---------------------------------------------------------------------------


@_named("maximum")
def _maximum(x, other):
    return m.maximum(_value(x), other)


@_named("minimum")
def _minimum(x, other):
    return m.minimum(_value(x), other)


@_named("clamp", "clip")
def _clamp(x, min=None, max=None):
    x = _value(x)
    x = x if min is None else m.maximum(x, min)
    return x if max is None else m.minimum(x, max)


@_named("clamp_min")
def _clamp_min(x, min):
    return _clamp(x, min)


@_named("clamp_max")
def _clamp_max(x, max):
    return _clamp(x, max=max)


@_named("where")
def _where(condition, x, other):
    condition = _value(condition)
    if condition.type != "i1":
        raise _Refused(f"where takes a condition, not a number (of type {condition.type})")
    a, b = condition.trace.pair(x, other)
    return condition.trace.op(f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}", a.type)


# Of a tensor's methods, those whose arguments stand in another order than the function's of the same name.
METHODS["where"] = lambda x, condition, other: _where(condition, x, other)


@_named("masked_fill")
def _masked_fill(x, mask, value):
    x = _value(x)
    return _convert(_where(mask, _value(value), x), x.type)


@_named("isnan")
def _isnan(x):
    return _value(x) != x if _is_real(x) else _constant(_value(x), 0, bool)


@_named("isinf")
def _isinf(x):
    return m.abs(_value(x)) == float("inf") if _is_real(x) else _constant(_value(x), 0, bool)


@_named("isposinf")
def _isposinf(x):
    return _value(x) == float("inf")


@_named("isneginf")
def _isneginf(x):
    return _value(x) == -float("inf")


@_named("isfinite")
def _isfinite(x):
    return m.abs(_value(x)) < float("inf") if _is_real(x) else _constant(_value(x), 1, bool)


@_named("nan_to_num")
def _nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x, most = _value(x), 3.4028234663852886e38
    x = m.where(_isnan(x), nan, x)
    x = m.where(x == float("inf"), most if posinf is None else posinf, x)
    return m.where(x == -float("inf"), -most if neginf is None else neginf, x)


# ---------------------------------------------------------------------------
# Conditions and bits
# ---------------------------------------------------------------------------


def _compare(operator: str, *names: str):
    @_named(*names)
    def call(x, other):
        return getattr(_value(x), operator)(_value(other))


_compare("__eq__", "eq", "__eq__")
_compare("__ne__", "ne", "not_equal", "__ne__")
_compare("__lt__", "lt", "less", "__lt__")
_compare("__le__", "le", "less_equal", "__le__")
_compare("__gt__", "gt", "greater", "__gt__")
_compare("__ge__", "ge", "greater_equal", "__ge__")


def _truth(x) -> Value:
    x = _value(x)
    return x.trace.cast(x, "i1")


@_named("logical_and")
def _logical_and(x, other):
    return _truth(x) & _truth(other)


@_named("logical_or")
def _logical_or(x, other):
    return _truth(x) | _truth(other)


@_named("logical_xor")
def _logical_xor(x, other):
    return _truth(x) ^ _truth(other)


@_named("logical_not")
def _logical_not(x):
    return ~_truth(x)


@_named("bitwise_and", "__and__", "__rand__")
def _bitwise_and(x, other):
    return _value(x) & _value(other)


@_named("bitwise_or", "__or__", "__ror__")
def _bitwise_or(x, other):
    return _value(x) | _value(other)


@_named("bitwise_xor", "__xor__", "__rxor__")
def _bitwise_xor(x, other):
    return _value(x) ^ _value(other)


@_named("bitwise_not", "__invert__")
def _bitwise_not(x):
    return ~_value(x)


@_named("bitwise_left_shift", "__lshift__")
def _left_shift(x, other):
    return _value(x) << other


@_named("bitwise_right_shift", "__rshift__")
def _right_shift(x, other):
    return _value(x) >> other


# ---------------------------------------------------------------------------
# Elements and rows
# ---------------------------------------------------------------------------


def _whole(x):
    """Values of a row, or the one that a value is."""
    if is_torch_tensor(x) and not x.dim():
        x = _current().capture(x)
    return [x] if isinstance(x, Value) else list(as_row(_current(), x))


def _fold(x, function: Callable, dim=None, keepdim=False):
    if keepdim or dim not in (None, 0, -1):
        raise _Refused("a row has one dimension, and keeps none")
    return functools.reduce(function, _whole(x))


@_named("__getitem__", table=WHOLE)
def _getitem(tensor, indices):
    if is_torch_tensor(tensor):
        tensor, indices = _narrow(tensor, indices)
        tensor = _current().capture(tensor)
    if isinstance(tensor, Value):
        raise _Refused("a tensor without dimensions has no elements")
    return tensor[indices]


def _narrow(tensor, indices):
    """A tensor of torch of which numbers choose one row, as that row, and the value that is left: rates[0, h] is (rates[0])[h]. A kernel has
    less to carry, and one number for each head where it can read no more."""
    given = indices if isinstance(indices, tuple) else (indices,)
    values = [each for each in given if isinstance(each, Value)]
    numbers = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    if len(given) != tensor.dim() or len(values) != 1 or len(numbers) != len(given) - 1 or not numbers:
        return tensor, indices
    return tensor[tuple(slice(None) if isinstance(each, Value) else each for each in given)], values[0]


@_named("select", table=WHOLE)
def _select(tensor, dim, index):
    tensor = _current().capture(tensor) if is_torch_tensor(tensor) else tensor
    return tensor[(slice(None),) * (dim % len(tensor.shape)) + (index,)]


@_named("stack", "hstack", table=WHOLE)
def _stack(tensors, dim=0):
    if dim not in (0, -1):
        raise _Refused("values are stacked in one dimension")
    return Row(_current(), [_value(each) for each in tensors])


@_named("sum", table=WHOLE)
def _sum(x, dim=None, keepdim=False, *, dtype=None):
    added = [each.trace.cast(each, "i32") if each.type == "i1" else each for each in _whole(x)]
    return _fold(Row(added[0].trace, added), _add, dim, keepdim)


@_named("mean", table=WHOLE)
def _mean(x, dim=None, keepdim=False, *, dtype=None):
    return _sum(x, dim, keepdim) / len(_whole(x))


@_named("prod", table=WHOLE)
def _prod(x, dim=None, keepdim=False, *, dtype=None):
    return _fold(x, _mul, dim, keepdim)


@_named("any", table=WHOLE)
def _any(x, dim=None, keepdim=False):
    return _truth(_fold(x, _logical_or, dim, keepdim))


@_named("all", table=WHOLE)
def _all(x, dim=None, keepdim=False):
    return _truth(_fold(x, _logical_and, dim, keepdim))


@_named("amax", table=WHOLE)
def _amax(x, dim=None, keepdim=False):
    return _fold(x, _maximum, dim, keepdim)


@_named("amin", table=WHOLE)
def _amin(x, dim=None, keepdim=False):
    return _fold(x, _minimum, dim, keepdim)


def _larger_or_smaller(two: Callable):
    def call(x, other=None):
        if other is None:
            return _fold(x, two)
        return _call(two, False, (x, other), {})

    return call


_named("max", table=WHOLE)(_larger_or_smaller(_maximum))
_named("min", table=WHOLE)(_larger_or_smaller(_minimum))


@_named("dot", "inner", "vdot", "matmul", "linalg_vecdot", "__matmul__", table=WHOLE)
def _dot(x, other):
    return _sum(_call(_mul, False, (x, other), {}))


@_named("__rmatmul__", table=WHOLE)
def _rdot(x, other):
    return _dot(other, x)


@_named("isin", table=WHOLE)
def _isin(elements, test_elements, *, invert=False, assume_unique=False):
    found = functools.reduce(_logical_or, [_value(elements) == each for each in _whole(test_elements)])
    return ~found if invert else found
