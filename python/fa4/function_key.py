# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a traced function depends on, as a key: two calls with equal keys trace to the same text.

A function object says little: what it closes over, the globals that it reads and its defaults may be others at the next call. The key
has their values, where these can't change behind it (numbers, texts, functions of which the same holds, modules of libraries). A function
that reads anything else (an attribute, a list, a tensor) has no key, and is traced anew at each call.
"""

import builtins
import dis
import functools
import types
from collections.abc import Hashable

# Modules whose contents nobody changes.
LIBRARIES = ("torch", "fa4", "numpy", "math", "operator")
# What a function may call without reading more than its arguments.
PURE_BUILTINS = frozenset(
    ("abs", "bool", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "pow", "range", "reversed", "round",
     "sorted", "str", "sum", "tuple", "zip", "None", "True", "False")
)  # fmt: skip
_DEPTH = 8


class _NoKey(Exception):
    """Something that may change without being another object."""


def function_key(function) -> Hashable | None:
    """A key of all that the function reads; None where that cannot be told without calling it. None has the key ()."""
    if function is None:
        return ()
    try:
        return _key(function, frozenset(), 0)
    except _NoKey:
        return None


def _key(value, names: frozenset, depth: int) -> Hashable:
    if depth > _DEPTH:
        raise _NoKey
    kind = type(value)
    if kind in (bool, int, str, bytes, types.NoneType) or value is Ellipsis:
        return kind, value
    if kind in (float, complex):
        return kind, repr(value)  # Tells 0.0 from -0.0.
    if kind is tuple:
        return kind, tuple(_key(each, names, depth + 1) for each in value)
    if kind is types.FunctionType:
        return _function_key(value, depth + 1)
    if kind in (types.BuiltinFunctionType, type) and (value.__module__ or "").split(".")[0] in (*LIBRARIES, "builtins"):
        return kind, id(value), value.__qualname__
    if kind is types.ModuleType and value.__name__.split(".")[0] in LIBRARIES:
        return kind, value.__name__
    if kind is types.ModuleType:
        # A user's own: what the function may read of it, by the names that it has.
        read = sorted(name for name in names if name in vars(value))
        return kind, value.__name__, tuple((name, _key(vars(value)[name], names, depth + 1)) for name in read)
    raise _NoKey


# What code does that reads or changes more than its names say.
UNSAFE = ("IMPORT_NAME", "STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR")


@functools.lru_cache(maxsize=1024)
def _names_of(code) -> frozenset | None:
    """The global names and attributes that a function's code reads, and that of the functions within; None where these are not all."""
    if any(instruction.opname in UNSAFE for instruction in dis.get_instructions(code)):
        return None
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_of(constant)
            if inner is None:
                return None
            names |= inner
    return frozenset(names)


def _function_key(function, depth: int) -> Hashable:
    if function.__module__ and function.__module__.split(".")[0] in LIBRARIES:
        return types.FunctionType, id(function), function.__qualname__
    names = _names_of(function.__code__)
    if names is None or function.__dict__:
        raise _NoKey
    read = []
    for name in sorted(names):
        if name in function.__globals__:
            read.append((name, _key(function.__globals__[name], names, depth)))
        elif hasattr(builtins, name) and name not in PURE_BUILTINS:
            raise _NoKey  # getattr, globals, ...: what it reads has no name here.
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # A cell that is empty yet.
        raise _NoKey from None
    defaults = (*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items()))
    # The code object itself is part of the key, which keeps it: no other one takes its place.
    return function.__code__, tuple(read), _key((*cells, *defaults), names, depth)
