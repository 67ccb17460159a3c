# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions of a score and its position, traced to regions of `attn.sdpa`.

A function is called once, with values that record what is done with them: operators, comparisons, the functions of
`fa4.math`, and those of torch (`torch_functions`). What a value is, is known on the GPU only, so that a function that
asks (`if`, `and`, `float(...)`, a list's index) is refused with the line that does so. Tensors of torch that the
function reaches by itself, through its closure or a global, become captures of the op (`captured`).
"""

import inspect
import linecache
import math
import os
import struct
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
CAPTURE_TYPES = ("f32", "i32", "bool")
# Elements of captured tensors; those of the narrow types are f32 once they are read. A condition is carried as an i32.
ELEMENT_TYPES = ("f32", "i32", "bool", "bf16", "f16")
# Operators that work element by element on rows of captured tensors.
ARITHMETIC = tuple(
    f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor") for side in ("", "r")
) + ("__lshift__", "__rshift__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__neg__", "__pos__", "__abs__", "__invert__")  # fmt: skip
ORDERED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


class _Refused(Exception):
    """A reason, on the way to the place in the function to which it belongs."""


class _NoAttribute(_Refused, AttributeError):
    """The same of an attribute, for those who ask with hasattr."""


def format_f32(value: float) -> str:
    """A constant of type f32 as MLIR writes it: by its bits where digits do not say it."""
    try:
        bits = struct.pack(">f", value)
    except OverflowError:
        raise _Refused(f"{value!r} is beyond the range of f32") from None
    if value != value or value in (float("inf"), -float("inf")):
        return "0x" + bits.hex().upper()
    return f"{struct.unpack('>f', bits)[0]:.9e}"


def is_users(file: str) -> bool:
    """Whether a file of Python is neither of this package nor of torch."""
    return not file.startswith(PACKAGE) and f"{os.sep}torch{os.sep}" not in file


def _user_place() -> tuple[str, int]:
    """The file and the line that call, outside of this package and of torch."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


class Trace:
    """The operations of one region, in their order; what is computed twice is there once. `places` has the file and the
    line of the function that each is from. `register` has the tensors of torch that become captures."""

    def __init__(self, register=None):
        from fa4.captured import Register

        self.lines: list[str] = []
        self.places: list[tuple[str, int]] = []
        self.known: dict[str, Value] = {}
        self.register = Register() if register is None else register
        # Whether the function works on tensors of torch, and not on arrays of numpy.
        self.uses_torch = False

    def op(self, text: str, result: str) -> "Value":
        """Adds an operation, without the name of its result, which is of type `result`."""
        from fa4 import captured

        if text not in self.known:
            self.known[text] = Value(self, f"%t{len(self.known)}", result)
            self.lines.append(f"{self.known[text].name} = {text}")
            self.places.append(("", 0) if captured.is_compiling() else _user_place())
        return self.known[text]

    def capture(self, tensor):
        """The capture that a tensor of torch becomes: a captured tensor, or of one without dimensions a value."""
        from fa4.captured import Tensor

        self.uses_torch = True
        if not tensor.dim() and id(tensor) in self.register.constants:
            return self.value(tensor.item())
        found = self.register.add(tensor)
        element, *_ = found.kind.split()
        if tensor.dim():
            return Tensor(self, f"%capture_{found.name}", element, tensor.shape)
        return self.scalar(found.name, element)

    def capture_elements(self, tensor) -> list["Value"]:
        """The numbers of a tensor of torch with one dimension, as values."""
        from fa4 import captured

        self.uses_torch = True
        if id(tensor) in self.register.constants:
            return [self.value(each) for each in tensor.tolist()]
        name = "tensor" if captured.is_compiling() else captured.name_of(tensor)
        found = [self.register.add(tensor[number], f"{name}_{number}") for number in range(len(tensor))]
        return [self.scalar(each.name, each.kind) for each in found]

    def scalar(self, name: str, element: str) -> "Value":
        """A capture that is a number; a condition is carried as an i32."""
        value = Value(self, f"%capture_{name}", "i32" if element == "bool" else element)
        return value != 0 if element == "bool" else value

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
        from fa4 import captured

        # Python's own numbers come first: those that vary between calls are symbols to torch.compile, which have no attributes.
        if isinstance(given, bool):
            return self.constant(given, "i1")
        if isinstance(given, int):
            return self.constant(captured.fix(given), beside.type if beside is not None and beside.type in NUMBERS else "i32")
        if isinstance(given, float):
            return self.constant(captured.fix(given), "f32")
        if captured.is_torch_tensor(given) and not given.dim():
            return self.capture(given)
        if hasattr(given, "item") and getattr(given, "shape", None) == ():
            return self.value(given.item(), beside)  # A scalar of numpy.
        if captured.is_sequence(given):
            raise _Refused("a captured tensor is read element by element: tensor[h, kv_idx]")
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
        if kind == "i1":
            return value != 0
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
            # As in numpy and torch, a condition counts as 1 or 0 beside a number.
            kind = b.type if a.type == "i1" else a.type
            return self.cast(a, kind), self.cast(b, kind)
        kind = NUMBERS[max(NUMBERS.index(a.type), NUMBERS.index(b.type))]
        return self.cast(a, kind), self.cast(b, kind)


def _unknown(what: str):
    def refuse(self, *_, **__):
        raise _Refused(what)

    return refuse


ASKS = "what a value is, is known on the GPU only: "


class Recorded:
    """What a function that is traced works on, whose `trace` has what is done with it."""

    __slots__ = ()


class Value(Recorded):
    """A number or a condition of a kernel, of type f32, i32, index or i1. Operators give new values; `/` gives f32, and `//`
    and `%` round down as Python's do. Conditions go together with `&`, `|`, `^` and `~`."""

    __slots__ = ("name", "trace", "type")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        from fa4 import torch_functions

        return torch_functions.dispatch(function, args, kwargs or {})

    def __getattr__(self, name):
        """The methods and attributes of a tensor of torch that has no dimensions."""
        from fa4 import torch_functions

        return torch_functions.attribute(self, name)

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, name: str, kind: str):
        self.trace, self.name, self.type = trace, name, kind

    def __repr__(self):
        return f"<fa4 value of type {self.type}>"

    __bool__ = _unknown(ASKS + "use fa4.math.where for `if`, and &, | and ~ for `and`, `or` and `not`")
    __float__ = _unknown(ASKS + "use the functions of fa4.math, not those of math")
    __int__ = __round__ = __trunc__ = __floor__ = __ceil__ = _unknown(ASKS + "use the functions of fa4.math")
    __index__ = _unknown(ASKS + "a list or an array of numpy is not read by it, but a captured tensor or a tensor of torch; fa4.math has functions")
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
        if isinstance(exponent, float) and exponent.is_integer():
            exponent = int(exponent)
        if isinstance(exponent, float):
            real = self.trace.cast(self, "f32")
            if exponent in (0.5, -0.5):
                return self.trace.op(f"math.{'sqrt' if exponent > 0 else 'rsqrt'} {real.name} : f32", "f32")
            return 2.0 ** (self.trace.op(f"math.log2 {real.name} : f32", "f32") * exponent)
        if isinstance(exponent, int) and self.type == "f32" and -64 <= exponent < 0:
            return 1.0 / self**-exponent
        if isinstance(exponent, int) and exponent == 0 and self.type != "i1":
            return self.trace.constant(1, self.type)
        if not isinstance(exponent, int) or isinstance(exponent, bool) or not 1 <= exponent <= 64:
            raise _Refused("`**` takes a number that is no whole one, or a whole number from 0 to 64 (of f32 from -64)")
        result, power = None, self
        while exponent:
            if exponent & 1:
                result = power if result is None else result * power
            exponent >>= 1
            power = power * power if exponent else power
        return result

    def __rpow__(self, base):
        if isinstance(base, bool) or not isinstance(base, (int, float)) or not base > 0:
            raise _Refused("`**` takes a positive number as its left side, or a whole number as its right; fa4.math has exp and exp2")
        scaled = self if base == 2 else self * math.log2(base)
        return self.trace.op(f"math.exp2 {self.trace.cast(scaled, 'f32').name} : f32", "f32")

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
        # torch's and_masks and or_masks begin with a condition that is known.
        for one, other in ((a, b), (b, a)):
            if one is self.trace.known.get("arith.constant true") and name in ("andi", "ori"):
                return other if name == "andi" else one
            if one is self.trace.known.get("arith.constant false") and name in ("andi", "ori"):
                return one if name == "andi" else other
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


def _gives_way(name: str) -> Callable:
    """An operator of Value that works element by element beside a row."""
    on_values = getattr(Value, name)

    def operator(self, *others, **swap):
        from fa4 import captured

        if any(captured.is_sequence(other) for other in others):
            return captured.map_rows(on_values, self, *others)
        return on_values(self, *others, **swap)

    return operator


for _name in ARITHMETIC:
    setattr(Value, _name, _gives_way(_name))


def as_value(trace: Trace, given, kind: str) -> Value:
    """A value of this type, for fa4.math."""
    return trace.cast(trace.value(given), kind)


def _place(function: Callable, traceback) -> tuple[str, int]:
    """The line at which an exception was raised: of the function, or of one that it calls in its file; else of another
    file of the user, as where torch has put the function together of others."""
    code = getattr(function, "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    places = []
    while traceback:
        places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    places = [place for place in places if is_users(place[0])]
    own = [place for place in places if place[0] == file]
    return (own or places or [(file, line)])[-1]


def _refuse(region: str, function: Callable, reason: str, traceback=None):
    file, line = _place(function, traceback)
    source = linecache.getline(file, line).strip() if file else ""
    place = f"{file}:{line}: " if file else ""
    shown = f"\n    {source}" if source else ""
    return TraceError(f"{place}{region} can't be traced: {reason}{shown}", file, line)


def _parameters_of(function: Callable, region: str) -> list[tuple[str, bool]]:
    """The parameters behind those that each function of a region has, and whether they have a default. Raises TraceError."""
    wanted = PARAMETERS[region]
    parameters = _positions_of(function)
    if parameters is None:
        raise TraceError(f"{region} must be a function with the parameters {', '.join(n for n, _ in wanted)}")
    plain = [each for each in parameters if not each[0].startswith("*")]
    # *rest takes what has no name; what only a name fills, as functools.partial has it, needs a default.
    takes_all = any(name == "*" for name, _ in parameters)
    if len(plain) < len(wanted) and not takes_all or any(name.startswith("*") and not has_default for name, has_default in parameters):
        raise _refuse(
            region, function,
            f"it has the parameters ({', '.join(name for name, _ in parameters)}), and is called with "
            f"({', '.join(n for n, _ in wanted)}) and then the captures by their names",
        )  # fmt: skip
    return plain[len(wanted) :]


def _positions_of(function) -> list[tuple[str, bool]] | None:
    """A function's parameters and whether they have a default: those that no position fills behind a star, `*` itself for any number of positions; None
    if it is no function. torch.compile reads the code of a function that it has made itself, and not its signature."""
    if isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
        code = function.__code__
        count = code.co_argcount
        needed = count - len(function.__defaults__ or ())
        plain = [(name, position >= needed) for position, name in enumerate(code.co_varnames[:count])]
        named = code.co_varnames[count : count + code.co_kwonlyargcount]
        by_name = [(f"*{name}", name in (function.__kwdefaults__ or {})) for name in named]
        return [*plain, *by_name, *([("*", True)] if code.co_flags & inspect.CO_VARARGS else [])]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    found = []
    for p in parameters:
        star = {p.VAR_POSITIONAL: "*", p.KEYWORD_ONLY: f"*{p.name}"}.get(p.kind, p.name)
        if p.kind != p.VAR_KEYWORD:
            found.append((star, p.default is not p.empty or p.kind == p.VAR_POSITIONAL))
    return found


def captures_of(function: Callable, region: str, captures: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the captures that a function takes: its parameters behind those of the region. Behind them there may be
    parameters that have a default and are no captures. Raises TraceError."""
    names: list[str] = []
    defaults: list[str] = []
    for name, has_default in _parameters_of(function, region):
        if name in captures and not defaults:
            names.append(name)
        elif name not in captures and has_default:
            defaults.append(name)
        else:
            reason = f"is none of the captures ({', '.join(captures) or 'there are none'})"
            reason = f"is a capture, and stands behind '{defaults[0]}', which is none" if name in captures else reason
            raise _refuse(region, function, f"its parameter '{name}' {reason}")
    return tuple(names)


@dataclass
class Traced:
    """The regions of an op. `text` is MLIR; `places` has for each of its lines the file and the line of Python that it is
    from, or None; `found` the tensors of torch that became captures, behind those that were given; `torch_regions`
    those whose functions work on tensors of torch, not on arrays of numpy."""

    text: str = ""
    places: list[tuple[str, int] | None] = field(default_factory=list)
    found: dict = field(default_factory=dict)
    torch_regions: set[str] = field(default_factory=set)

    def place_of(self, text: str, line: int) -> tuple[str, int] | None:
        """The file and the line of Python that a line of the op's text is from, counted from 1; None if it is from no function."""
        if not self.text:
            return None
        position = line - text.partition(self.text)[0].count("\n") - 1
        place = self.places[position] if 0 <= position < len(self.places) else None
        return place if place and place[0] else None


def _returned(trace: Trace, region: str, returned) -> Value:
    """What the function of a region has returned, as a value of the type that the region yields."""
    if returned is None:
        raise _Refused("it returns nothing")
    result = trace.value(returned)
    if region == "mask_mod" and result.type != "i1":
        raise _Refused(f"it returns a number (of type {result.type}), not a condition")
    if region == "score_mod" and result.type == "i1":
        raise _Refused("it returns a condition, not a score")
    return trace.cast(result, RESULTS[region])


def _trace(function: Callable, region: str, captures: Mapping[str, str], register) -> tuple[Trace, Value]:
    """The operations of one function and what it returns."""
    from fa4 import torch_functions
    from fa4.captured import Tensor

    trace = Trace(register)
    arguments = [Value(trace, f"%{name}", kind) for name, kind in PARAMETERS[region]]
    names = captures_of(function, region, captures)
    try:
        for name in names:
            element, *shape = captures[name].split()
            sizes = [int(size) if size.isdigit() else None for size in shape]
            arguments.append(Tensor(trace, f"%capture_{name}", element, sizes) if shape else trace.scalar(name, element))
        return trace, _returned(trace, region, torch_functions.call_watched(trace, function, arguments))
    except _Refused as refusal:
        raise _refuse(region, function, str(refusal), refusal.__traceback__) from None
    except TraceError:
        raise
    except Exception as error:
        # What a function of another library says of a value does not name the line.
        raise _refuse(region, function, f"{type(error).__name__}: {error}", error.__traceback__) from error


def trace_regions(functions: Mapping[str, Callable], captures: Mapping[str, str], taken=()) -> Traced:
    """The regions of an attention op that compute what the functions do. `functions` has "score_mod", "mask_mod" or both;
    `captures` name -> type of the op's captures in their order ("f32", or "f32 H Sk" for a tensor); `taken` names that
    found tensors do not get. Raises TraceError."""
    from fa4.captured import Register, capture_type

    register = Register({*captures, *taken})
    traced = {region: _trace(function, region, captures, register) for region, function in functions.items()}
    result = Traced(found=register.captures())
    kinds = {**captures, **{name: each.kind for name, each in result.found.items()}}
    listed = [f"%capture_{name}: {capture_type(kind)}" for name, kind in kinds.items()]
    for region, (trace, value) in traced.items():
        header = ", ".join([*(f"%{name}: {kind}" for name, kind in PARAMETERS[region]), *listed])
        lines = [f"    {region}({header}) {{", *(f"      {line}" for line in trace.lines), f"      attn.yield {value.name} : {value.type}", "    }"]
        result.text += "".join(f"{line}\n" for line in lines)
        result.places += [None, *trace.places, None, None]
        if trace.uses_torch:
            result.torch_regions.add(region)
    return result


def current_trace(*given) -> Trace | None:
    """The trace to which arguments of fa4.math belong; None if all are numbers or arrays."""
    return next((each.trace for each in given if isinstance(each, Recorded)), None)


if sys.version_info < (3, 11):  # pragma: no cover
    raise ImportError("fa4 needs Python 3.11 or later")
