# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for score_mod and mask_mod, elementwise on values, numbers and numpy arrays.

In a function that is traced they become operations of the kernel, in f32, computed by the GPU's special
function unit where it has them (docs/reference/ConversionPasses.md, `lane-math-to-llvm`, has the errors). On numbers and arrays they are
numpy's, so that the same function is the reference of what the kernel computes.
"""

from fa4.captured import is_torch_tensor
from fa4.tracing import Value, _Refused, as_value, current_trace

__all__ = [
    "abs", "ceil", "copysign", "exp", "exp2", "float32", "floor", "fma", "int32", "log", "log2", "maximum", "minimum",
    "round", "rsqrt", "sigmoid", "sqrt", "tanh", "trunc", "where",
]  # fmt: skip


def _library_of(*args):
    """numpy, or torch where an argument is a tensor of it, as in a function whose reference is computed by torch."""
    if any(map(is_torch_tensor, args)):
        import torch

        return torch
    import numpy as np

    return np


def _apply(name: str, *args):
    """A function of numpy, or of torch by the same name, whose arguments must be tensors then."""
    library = _library_of(*args)
    return getattr(library, name)(*(library.as_tensor(each) for each in args) if any(map(is_torch_tensor, args)) else args)


def _function(operation, numpy_name, what):
    def call(x):
        trace = current_trace(x)
        if trace is None:
            return getattr(_library_of(x), numpy_name)(x)
        return trace.op(f"math.{operation} {as_value(trace, x, 'f32').name} : f32", "f32")

    call.__name__ = call.__qualname__ = {"roundeven": "round"}.get(operation, operation)
    call.__doc__ = what
    return call


exp = _function("exp", "exp", "e to the power of x.")
exp2 = _function("exp2", "exp2", "2 to the power of x.")
log = _function("log", "log", "The natural logarithm of x.")
log2 = _function("log2", "log2", "The logarithm of x to base 2.")
sqrt = _function("sqrt", "sqrt", "The square root of x.")
floor = _function("floor", "floor", "The largest whole number that is at most x, as f32.")
ceil = _function("ceil", "ceil", "The smallest whole number that is at least x, as f32.")
trunc = _function("trunc", "trunc", "x without its fraction, as f32.")
round = _function("roundeven", "round", "The nearest whole number, the even one of two, as f32.")


def tanh(x, approximate=False):
    """The hyperbolic tangent of x. With `approximate`, the GPU's instruction for it, whose error is up to 2^-11 of the result
    (a cap of 20 is off by up to 0.01), in place of an exponential and a reciprocal, whose error is 2^-21."""
    trace = current_trace(x)
    if trace is None:
        return _library_of(x).tanh(x)
    flags = " fastmath<afn>" if approximate else ""
    return trace.op(f"math.tanh {as_value(trace, x, 'f32').name}{flags} : f32", "f32")


def rsqrt(x):
    """1 / sqrt(x)."""
    trace = current_trace(x)
    if trace is None:
        return 1 / sqrt(x)
    return trace.op(f"math.rsqrt {as_value(trace, x, 'f32').name} : f32", "f32")


def abs(x):
    """The absolute value of x, of x's type."""
    return x.__abs__() if isinstance(x, Value) else _library_of(x).abs(x)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x))


def _two(x, y, real, whole, numpy_name):
    trace = current_trace(x, y)
    if trace is None:
        return _apply(numpy_name, x, y)
    a, b = trace.pair(x, y)
    if a.type == "i1":
        raise _Refused("conditions are no numbers")
    return trace.op(f"arith.{real if a.type == 'f32' else whole} {a.name}, {b.name} : {a.type}", a.type)


def maximum(x, y):
    """The larger of x and y; NaN if either is."""
    return _two(x, y, "maximumf", "maxsi", "maximum")


def minimum(x, y):
    """The smaller of x and y; NaN if either is."""
    return _two(x, y, "minimumf", "minsi", "minimum")


def copysign(x, y):
    """x with the sign of y, as f32."""
    trace = current_trace(x, y)
    if trace is None:
        return _apply("copysign", x, y)
    a, b = as_value(trace, x, "f32"), as_value(trace, y, "f32")
    return trace.op(f"math.copysign {a.name}, {b.name} : f32", "f32")


def fma(x, y, z):
    """x * y + z, rounded once, as f32."""
    trace = current_trace(x, y, z)
    if trace is None:
        return x * y + z
    a, b, c = (as_value(trace, each, "f32") for each in (x, y, z))
    return trace.op(f"math.fma {a.name}, {b.name}, {c.name} : f32", "f32")


def where(condition, x, y):
    """x where the condition holds, else y."""
    trace = current_trace(condition, x, y)
    if trace is None:
        library = _library_of(condition, x, y)
        return library.where(condition, x, y)
    chosen = trace.value(condition)
    if chosen.type != "i1":
        raise _Refused(f"where takes a condition, not a number (of type {chosen.type})")
    a, b = trace.pair(x, y)
    return trace.op(f"arith.select {chosen.name}, {a.name}, {b.name} : {a.type}", a.type)


def _convert(x, kind, dtype):
    trace = current_trace(x)
    if trace is None:
        if is_torch_tensor(x):
            return x.to(getattr(_library_of(x), dtype))
        import numpy as np

        return np.asarray(x).astype(dtype)[()]
    return as_value(trace, x, kind)


def float32(x):
    """x as f32; a condition gives 1 or 0."""
    return _convert(x, "f32", "float32")


def int32(x):
    """x as i32, without its fraction; a condition gives 1 or 0."""
    return _convert(x, "i32", "int32")
