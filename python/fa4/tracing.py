# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions of a score and its position, traced to regions of `attn.sdpa`.

A function is called once, with values that record what is done with them: operators, comparisons, and the
functions of `fa4.math`. What a value is, is known on the GPU only, so that a function that asks (`if`, `and`,
`float(...)`, a list's index) is refused with the line that does so.
"""

import inspect
import linecache
import os
import struct
import sys
import types
from collections.abc import Callable, Mapping

from fa4.errors import TraceError

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# What each region is called with; scores are numbers of type f32, positions whole numbers from 0.
PARAMETERS = {
    "score_mod": (("score", "f32"), ("b", "index"), ("h", "index"), ("q_idx", "index"), ("kv_idx", "index")),
    "mask_mod": (("b", "index"), ("h", "index"), ("q_idx", "index"), ("kv_idx", "index")),
}
RESULTS = {"score_mod": "f32", "mask_mod": "i1"}
# In the order in which types give way: a number of a type becomes one of a later type beside it.
NUMBERS = ("i32", "index", "f32")
CAPTURE_TYPES = ("f32", "i32")
# Elements of captured tensors; those of the narrow types are f32 once they are read.
ELEMENT_TYPES = ("f32", "i32", "bf16", "f16")
ORDERED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


class _Refused(Exception):
    """A reason, on the way to the place in the function to which it belongs."""


def format_f32(value: float) -> str:
    """A constant of type f32 as MLIR writes it: by its bits where digits do not say it."""
    try:
        bits = struct.pack(">f", value)
    except OverflowError:
        raise _Refused(f"{value!r} is beyond the range of f32") from None
    if value != value or value in (float("inf"), -float("inf")):
        return "0x" + bits.hex().upper()
    return f"{struct.unpack('>f', bits)[0]:.9e}"


class Trace:
    """The operations of one region, in their order; what is computed twice is there once."""

    def __init__(self):
        self.lines: list[str] = []
        self.known: dict[str, Value] = {}

    def op(self, text: str, result: str) -> "Value":
        """Adds an operation, without the name of its result, which is of type `result`."""
        if text not in self.known:
            self.known[text] = Value(self, f"%t{len(self.known)}", result)
            self.lines.append(f"{self.known[text].name} = {text}")
        return self.known[text]

    def constant(self, value, kind: str) -> "Value":
        if kind == "f32":
            return self.op(f"arith.constant {format_f32(value)} : f32", kind)
        if kind == "i1":
            return self.op(f"arith.constant {'true' if value else 'false'}", kind)
        if not -(2**31) <= value < 2**31:
            raise _Refused(f"{value} is beyond the range of 32 bits")
        return self.op(f"arith.constant {int(value)} : {kind}", kind)

    def value(self, given, beside: "Value | None" = None) -> "Value":
        """A value for what a function may use as one: values, numbers and bools."""
        if isinstance(given, Value):
            if given.trace is not self:
                raise _Refused("a value of another function is used; give functions what they need as captures")
            return given
        if hasattr(given, "item") and getattr(given, "shape", None) == ():
            given = given.item()  # A scalar of numpy.
        if isinstance(given, bool):
            return self.constant(given, "i1")
        if isinstance(given, Tensor):
            raise _Refused("a captured tensor is read element by element: tensor[h, kv_idx]")
        if isinstance(given, int):
            return self.constant(given, beside.type if beside is not None and beside.type in NUMBERS else "i32")
        if isinstance(given, float):
            return self.constant(given, "f32")
        raise _Refused(f"{type(given).__name__} is neither a value nor a number")

    def cast(self, value: "Value", kind: str) -> "Value":
        if value.type == kind:
            return value
        if value.type == "i1":
            return self.op(f"arith.select {value.name}, {self.constant(1, kind).name}, {self.constant(0, kind).name} : {kind}", kind)
        if value.type == "index" and kind == "i32" or value.type == "i32" and kind == "index":
            return self.op(f"arith.index_cast {value.name} : {value.type} to {kind}", kind)
        if kind == "f32":
            return self.op(f"arith.sitofp {self.cast(value, 'i32').name} : i32 to f32", kind)
        if value.type == "f32":
            return self.cast(self.op(f"arith.fptosi {value.name} : f32 to i32", "i32"), kind)
        raise _Refused(f"a value of type {value.type} does not become one of type {kind}")

    def pair(self, a, b) -> tuple["Value", "Value"]:
        """Two values of one type."""
        first = a if isinstance(a, Value) else None
        second = b if isinstance(b, Value) else None
        a, b = self.value(a, second), self.value(b, first)
        if a.type == b.type:
            return a, b
        if "i1" in (a.type, b.type):
            raise _Refused(f"types {a.type} and {b.type} do not go together: a condition is no number (fa4.math.where makes one)")
        kind = NUMBERS[max(NUMBERS.index(a.type), NUMBERS.index(b.type))]
        return self.cast(a, kind), self.cast(b, kind)


def _unknown(what: str):
    def refuse(self, *_, **__):
        raise _Refused(what)

    return refuse


ASKS = "what a value is, is known on the GPU only: "


class Value:
    """A number or a condition of a kernel, of type f32, i32, index or i1. Operators give new values; `/` gives f32, and `//`
    and `%` round down as Python's do. Conditions go together with `&`, `|`, `^` and `~`."""

    __slots__ = ("name", "trace", "type")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """torch's functions are those of fa4.math, so that functions for FlexAttention are traced as they are."""
        from fa4.torch_functions import FUNCTIONS, name_of

        if kwargs or function not in FUNCTIONS:
            raise _Refused(f"{name_of(function)} is no function of fa4.math")
        return FUNCTIONS[function](*args)

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, name: str, kind: str):
        self.trace, self.name, self.type = trace, name, kind

    def __repr__(self):
        return f"<fa4 value of type {self.type}>"

    __bool__ = _unknown(ASKS + "use fa4.math.where for `if`, and &, | and ~ for `and`, `or` and `not`")
    __float__ = _unknown(ASKS + "use the functions of fa4.math, not those of math")
    __int__ = __index__ = __round__ = __trunc__ = __floor__ = __ceil__ = _unknown(ASKS + "use the functions of fa4.math")
    __len__ = __iter__ = __contains__ = _unknown("a value is one number, and no sequence")
    __getitem__ = _unknown("a value is one number, and has no elements")
    __array__ = _unknown(ASKS + "use the functions of fa4.math, not those of numpy")

    def _arithmetic(self, other, name, swap=False):
        a, b = self.trace.pair(*((other, self) if swap else (self, other)))
        if a.type == "i1":
            raise _Refused("conditions are no numbers: fa4.math.where makes one of a condition")
        return self.trace.op(f"arith.{name}{'f' if a.type == 'f32' else 'i'} {a.name}, {b.name} : {a.type}", a.type)

    def __add__(self, other):
        return self._arithmetic(other, "add")

    def __radd__(self, other):
        return self._arithmetic(other, "add", swap=True)

    def __sub__(self, other):
        return self._arithmetic(other, "sub")

    def __rsub__(self, other):
        return self._arithmetic(other, "sub", swap=True)

    def __mul__(self, other):
        return self._arithmetic(other, "mul")

    def __rmul__(self, other):
        return self._arithmetic(other, "mul", swap=True)

    def __truediv__(self, other, swap=False):
        a, b = self.trace.pair(*((other, self) if swap else (self, other)))
        a, b = self.trace.cast(a, "f32"), self.trace.cast(b, "f32")
        return self.trace.op(f"arith.divf {a.name}, {b.name} : f32", "f32")

    def __rtruediv__(self, other):
        return self.__truediv__(other, swap=True)

    def __floordiv__(self, other, swap=False):
        a, b = self.trace.pair(*((other, self) if swap else (self, other)))
        if a.type == "f32":
            quotient = self.trace.op(f"arith.divf {a.name}, {b.name} : f32", "f32")
            return self.trace.op(f"math.floor {quotient.name} : f32", "f32")
        if a.type == "i1":
            raise _Refused("conditions are no numbers")
        return self.trace.op(f"arith.floordivsi {a.name}, {b.name} : {a.type}", a.type)

    def __rfloordiv__(self, other):
        return self.__floordiv__(other, swap=True)

    def __mod__(self, other):
        return self - self // other * other

    def __rmod__(self, other):
        return self.trace.value(other, self) % self

    def __pow__(self, exponent):
        if isinstance(exponent, float) and exponent == int(exponent):
            exponent = int(exponent)
        if not isinstance(exponent, int) or not 1 <= exponent <= 64:
            raise _Refused("`**` takes a whole number from 1 to 64; fa4.math has exp, exp2, sqrt and rsqrt")
        result, power = None, self
        while exponent:
            if exponent & 1:
                result = power if result is None else result * power
            exponent >>= 1
            power = power * power if exponent else power
        return result

    __rpow__ = _unknown("`**` takes a whole number as its right side; fa4.math has exp and exp2")

    def __neg__(self):
        if self.type == "f32":
            return self.trace.op(f"arith.negf {self.name} : f32", "f32")
        return 0 - self

    def __pos__(self):
        return self

    def __abs__(self):
        if self.type == "f32":
            return self.trace.op(f"math.absf {self.name} : f32", "f32")
        negative = -self
        return self.trace.op(f"arith.maxsi {self.name}, {negative.name} : {self.type}", self.type)

    def _compare(self, other, operator):
        a, b = self.trace.pair(self, other)
        if a.type == "f32":
            predicate = ("u" if operator == "!=" else "o") + ORDERED[operator]
            return self.trace.op(f"arith.cmpf {predicate}, {a.name}, {b.name} : f32", "i1")
        if a.type == "i1" and operator not in ("==", "!="):
            raise _Refused("conditions have no order")
        sign = "" if operator in ("==", "!=") else "s"
        return self.trace.op(f"arith.cmpi {sign}{ORDERED[operator]}, {a.name}, {b.name} : {a.type}", "i1")

    def __lt__(self, other):
        return self._compare(other, "<")

    def __le__(self, other):
        return self._compare(other, "<=")

    def __gt__(self, other):
        return self._compare(other, ">")

    def __ge__(self, other):
        return self._compare(other, ">=")

    def __eq__(self, other):  # type: ignore[override]
        return self._compare(other, "==")

    def __ne__(self, other):  # type: ignore[override]
        return self._compare(other, "!=")

    def _bits(self, other, name, swap=False):
        a, b = self.trace.pair(*((other, self) if swap else (self, other)))
        if a.type == "f32":
            raise _Refused("&, |, ^, << and >> are for conditions and whole numbers")
        return self.trace.op(f"arith.{name} {a.name}, {b.name} : {a.type}", a.type)

    def __and__(self, other):
        return self._bits(other, "andi")

    def __rand__(self, other):
        return self._bits(other, "andi", swap=True)

    def __or__(self, other):
        return self._bits(other, "ori")

    def __ror__(self, other):
        return self._bits(other, "ori", swap=True)

    def __xor__(self, other):
        return self._bits(other, "xori")

    def __rxor__(self, other):
        return self._bits(other, "xori", swap=True)

    def _shift(self, count, name):
        if self.type not in ("i32", "index"):
            raise _Refused("<< and >> are for whole numbers")
        if isinstance(count, int) and not 0 <= count < 32:
            raise _Refused(f"a shift by {count} is beyond the 32 bits of a number")
        return self._bits(count, name)

    def __lshift__(self, other):
        return self._shift(other, "shli")

    def __rshift__(self, other):
        return self._shift(other, "shrsi")

    def __invert__(self):
        return self ^ (True if self.type == "i1" else -1)


class Tensor:
    """A captured tensor. `bias[h, q_idx, kv_idx]` reads an element: as many whole numbers as it has dimensions, which count
    from 0. What is out of bounds is not checked on the GPU."""

    __slots__ = ("name", "trace", "element", "rank", "type")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, trace: Trace, name: str, element: str, rank: int):
        self.trace, self.name, self.element, self.rank = trace, name, element, rank
        self.type = memref_type(element, rank)

    def __repr__(self):
        return f"<fa4 tensor of type {self.type}>"

    def __getitem__(self, indices) -> Value:
        indices = indices if isinstance(indices, tuple) else (indices,)
        if len(indices) != self.rank:
            raise _Refused(f"a tensor of {self.rank} dimensions is read with {len(indices)} ind{'ex' if len(indices) == 1 else 'ices'}")
        if any(isinstance(index, (slice, list)) or index is None or index is Ellipsis for index in indices):
            raise _Refused("an element is read with whole numbers: a tensor has no slices here")
        if any(isinstance(index, int) and index < 0 for index in indices):
            raise _Refused("indices of a captured tensor count from 0, and not from the end")
        values = [self.trace.value(index) for index in indices]
        if any(value.type not in ("i32", "index") for value in values):
            raise _Refused("indices of a captured tensor are whole numbers")
        listed = ", ".join(self.trace.cast(value, "index").name for value in values)
        read = self.trace.op(f"memref.load {self.name}[{listed}] : {self.type}", self.element)
        if self.element in ("bf16", "f16"):
            return self.trace.op(f"arith.extf {read.name} : {self.element} to f32", "f32")
        return read

    __iter__ = __len__ = __bool__ = __array__ = _unknown("a captured tensor is read element by element: tensor[h, kv_idx]")
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __bool__


def memref_type(element: str, rank: int) -> str:
    return f"memref<{'?x' * rank}{element}>"


def capture_type(capture: str) -> str:
    """The type in MLIR of a capture as a spec has it: "f32", or "f32 H Sk" for a tensor."""
    element, *shape = capture.split()
    return memref_type(element, len(shape)) if shape else element


def as_value(trace: Trace, given, kind: str) -> Value:
    """A value of this type, for fa4.math."""
    return trace.cast(trace.value(given), kind)


def _place(function: Callable, traceback) -> tuple[str, int]:
    """The line of the function, or of one that it calls in its file, at which an exception was raised."""
    code = getattr(function, "__code__", None)
    file = code.co_filename if code else ""
    line = code.co_firstlineno if code else 0
    while traceback:
        frame = traceback.tb_frame
        if frame.f_code.co_filename == file and not file.startswith(PACKAGE):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return file, line


def _refuse(region: str, function: Callable, reason: str, traceback=None):
    file, line = _place(function, traceback)
    source = linecache.getline(file, line).strip() if file else ""
    place = f"{file}:{line}: " if file else ""
    shown = f"\n    {source}" if source else ""
    return TraceError(f"{place}{region} can't be traced: {reason}{shown}", file, line)


def captures_of(function: Callable, region: str) -> tuple[str, ...]:
    """The names of the parameters behind those that each function of a region has."""
    wanted = PARAMETERS[region]
    names = _parameters_of(function)
    if names is None:
        raise TraceError(f"{region} must be a function with the parameters {', '.join(n for n, _ in wanted)}")
    if len(names) < len(wanted) or any(name.startswith("*") for name in names):
        raise _refuse(
            region, function,
            f"it has the parameters ({', '.join(names)}), and is called with "
            f"({', '.join(n for n, _ in wanted)}) and then the captures by their names",
        )  # fmt: skip
    return names[len(wanted) :]


def _parameters_of(function) -> tuple[str, ...] | None:
    """The names of a function's parameters, those that no position fills behind a star; None if it is no function. torch.compile reads the code of
    a function that it has made itself, and not its signature."""
    if isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
        code = function.__code__
        count = code.co_argcount
        stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        last = count + code.co_kwonlyargcount + stars
        return (*code.co_varnames[:count], *(f"*{name}" for name in code.co_varnames[count:last]))
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name if p.kind in kinds else f"*{p.name}" for p in parameters)


def trace_region(function: Callable, region: str, captures: Mapping[str, str]) -> str:
    """The region of an attention op that computes what the function does, as MLIR. `region` is "score_mod" or
    "mask_mod", `captures` name -> type of the op's captures in their order ("f32", or "f32 H Sk" for a tensor). Raises
    TraceError."""
    trace = Trace()
    arguments = {name: Value(trace, f"%{name}", kind) for name, kind in PARAMETERS[region]}
    extra = captures_of(function, region)
    if unknown := [name for name in extra if name not in captures]:
        raise _refuse(
            region, function, f"its parameter '{unknown[0]}' is none of the captures ({', '.join(captures) or 'there are none'})"
        )
    captured: dict[str, Value | Tensor] = {}
    for name, kind in captures.items():
        element, *shape = kind.split()
        place = f"%capture_{name}"
        captured[name] = Tensor(trace, place, element, len(shape)) if shape else Value(trace, place, element)
    try:
        returned = function(*arguments.values(), *(captured[name] for name in extra))
        if returned is None:
            raise _Refused("it returns nothing")
        result = trace.value(returned)
        if region == "mask_mod" and result.type != "i1":
            raise _Refused(f"it returns a number (of type {result.type}), not a condition")
        if region == "score_mod" and result.type == "i1":
            raise _Refused("it returns a condition, not a score")
        result = trace.cast(result, RESULTS[region])
    except _Refused as refusal:
        raise _refuse(region, function, str(refusal), refusal.__traceback__) from None
    except TraceError:
        raise
    except Exception as error:
        # What a function of another library says of a value does not name the line.
        raise _refuse(region, function, f"{type(error).__name__}: {error}", error.__traceback__) from error
    header = ", ".join(f"{value.name}: {value.type}" for value in (*arguments.values(), *captured.values()))
    body = "".join(f"      {line}\n" for line in [*trace.lines, f"attn.yield {result.name} : {result.type}"])
    return f"    {region}({header}) {{\n{body}    }}\n"


def current_trace(*given) -> Trace | None:
    """The trace to which arguments of fa4.math belong; None if all are numbers or arrays."""
    return next((each.trace for each in given if isinstance(each, Value)), None)


if sys.version_info < (3, 11):  # pragma: no cover
    raise ImportError("fa4 needs Python 3.11 or later")
