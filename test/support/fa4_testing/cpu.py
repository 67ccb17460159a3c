# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile MLIR for the CPU and call its functions on numpy arrays.

    module = cpu.compile(Path("gqa.mlir"))
    out, lse = module["gqa"](q, k, v)

The way there is `fa4-opt --attn-to-llvm`, `mlir-translate`, `clang -shared`. The
tools are looked for where `Tools.find` is told, else where fa4.tools looks: in the
environment (FA4_OPT is the path of fa4-opt, FA4_LLVM_BIN the folder of LLVM's
tools), in the release build, in PATH.

Arguments and results are numpy arrays for tensors and memrefs, Python numbers
for scalars. Element types that numpy lacks are ml_dtypes': bfloat16,
float8_e4m3fn, float8_e5m2. Tensor arguments are values: the caller's array is
copied, and stays as it is. A memref argument is the caller's memory, read and
written in place. Results are arrays of the caller's own.
"""

import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from fa4.errors import CompileError
from fa4.reference import Mask
from fa4.tools import ToolNotFoundError, find_llvm_tool, find_tool


# ---------------------------------------------------------------------------
# Types
# ---------------------------------------------------------------------------

_DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
    "index": np.int64,
}

# What is passed by value, in C. (There is no half or bfloat in ctypes.)
_SCALARS = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i16": ctypes.c_int16,
    "i8": ctypes.c_int8,
    "i1": ctypes.c_bool,
    "index": ctypes.c_int64,
}


def dtype_of(element: str) -> np.dtype:
    """The numpy dtype of an MLIR element type."""
    return np.dtype(_DTYPES[element])


def mask_text(mask: Mask) -> str:
    """`#attn.mask` in MLIR, as an op prints it."""
    causal = mask.right == 0
    parts = ["causal" if causal else "window"]
    parts += [f"left = {mask.left}"] if mask.left is not None else []
    parts += [f"right = {mask.right}"] if mask.right is not None and not causal else []
    return f"mask<{', '.join(parts + [mask.alignment])}>"


@dataclass(frozen=True)
class Scalar:
    """A number, passed by value."""

    element: str

    @property
    def ctype(self):
        return _SCALARS[self.element]

    def pass_argument(self, value, where):
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise TypeError(f"{where} must be a number, got {type(value).__name__}")
        return self.ctype(dtype_of(self.element).type(value).item()), None

    def take_result(self, value, borrowed, to_free):
        # A field of a result structure arrives as a Python number already.
        return getattr(value, "value", value)


@dataclass(frozen=True)
class Shaped:
    """A tensor or memref; sizes that are dynamic are None."""

    kind: str
    shape: tuple
    element: str
    strided: bool

    def __str__(self):
        sizes = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.kind} of {dtype_of(self.element)}, shape [{sizes}]"

    @functools.cached_property
    def ctype(self):
        """MLIR's memref descriptor."""
        rank = len(self.shape)
        fields = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
        ]
        if rank:
            fields.append(("sizes", ctypes.c_int64 * rank))
            fields.append(("strides", ctypes.c_int64 * rank))
        return type("MemRef", (ctypes.Structure,), {"_fields_": fields})

    def pass_argument(self, array, where):
        """Returns the descriptor's address, and the objects that must outlive the call.
        """
        got = f"{type(array).__name__}"
        fits = isinstance(array, np.ndarray)
        if fits:
            got = f"{array.dtype}, shape {list(array.shape)}"
            fits = array.dtype == dtype_of(self.element)
            fits &= array.ndim == len(self.shape) and all(
                size in (None, actual) for size, actual in zip(self.shape, array.shape)
            )
        if not fits:
            raise TypeError(f"{where} must be a {self}; got {got}")
        if self.kind == "tensor":
            array = array.copy(order="C")
        elif not array.flags.writeable:
            raise TypeError(f"{where} is a memref, but the array is read-only")
        elif not self.strided and not array.flags.c_contiguous:
            raise TypeError(f"{where} is a contiguous memref, but the array is not")
        rank = len(self.shape)
        pointer = ctypes.c_void_p(array.ctypes.data)
        strides = [stride // array.itemsize for stride in array.strides]
        descriptor = self.ctype(pointer, pointer, 0)
        if rank:
            descriptor.sizes[:] = array.shape
            descriptor.strides[:] = strides
        return ctypes.byref(descriptor), (array, descriptor)

    def take_result(self, descriptor, borrowed, to_free):
        """Returns a copy of the memory that the descriptor points at. The original goes
        into to_free, unless it belongs to an argument."""
        dtype = dtype_of(self.element)
        shape = tuple(descriptor.sizes) if self.shape else ()
        strides = tuple(descriptor.strides) if self.shape else ()
        if descriptor.allocated and descriptor.allocated not in borrowed:
            to_free.add(descriptor.allocated)
        if 0 in shape:
            return np.empty(shape, dtype)
        extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        address = descriptor.aligned + descriptor.offset * dtype.itemsize
        buffer = (ctypes.c_char * (extent * dtype.itemsize)).from_address(address)
        strides = [stride * dtype.itemsize for stride in strides]
        return np.ndarray(shape, dtype, buffer, strides=strides).copy()


def _split(text):
    """Splits a type list at its commas; nested brackets stay whole."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "<([{":
            depth += 1
        elif c in ">)]}":
            depth -= 1
        elif c == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()] if text.strip() else []


def _parse_type(text, where):
    if text in _SCALARS:
        return Scalar(text)
    match = re.fullmatch(r"(tensor|memref)<((?:(?:\d+|\?)x)*)(\w+)(, .*)?>", text)
    if not match or match[3] not in _DTYPES:
        raise CompileError(f"{where}: type {text} cannot be passed from Python")
    shape = [None if n == "?" else int(n) for n in match[2].split("x")[:-1]]
    return Shaped(match[1], tuple(shape), match[3], bool(match[4]))


def _parse_functions(generic):
    """Name -> (argument types, result types) of a module's public functions, from
    its generic form, in which a function's properties come in the order of
    their names."""
    functions = {}
    pattern = (
        r'"func\.func"\(\) <\{.*?function_type = \((.*)\) -> (.*?), '
        r'(?:res_attrs = .*, )?sym_name = "(.*?)"(, sym_visibility = "private")?\}>'
    )
    for match in re.finditer(pattern, generic):
        arguments, results, name, private = match.groups()
        if private:
            continue
        if results.startswith("("):
            results = results[1:-1]
        functions[name] = tuple(
            [_parse_type(text, f"function {name}") for text in _split(types)]
            for types in (arguments, results)
        )
    return functions


# ---------------------------------------------------------------------------
# Tools
# ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Tools:
    """The paths of the tools. They must be LLVM 22's, because others cannot read what
    fa4-opt writes."""

    fa4_opt: str
    mlir_translate: str
    clang: str

    @classmethod
    def find(cls, fa4_opt=None, llvm_bin=None) -> "Tools":
        """Finds the tools. `fa4_opt` is a path, `llvm_bin` a folder; the module's text
        says where else they are searched."""
        if fa4_opt and not shutil.which(fa4_opt):
            raise ToolNotFoundError(f"fa4-opt not found at {fa4_opt}")
        return cls(
            fa4_opt or find_tool("fa4-opt"),
            find_llvm_tool("mlir-translate", llvm_bin),
            find_llvm_tool("clang", llvm_bin),
        )


def _run(command, stdin):
    process = subprocess.run(command, input=stdin, capture_output=True)
    if process.returncode:
        tool = Path(command[0]).name
        said = process.stderr.decode(errors="replace").strip()
        if process.returncode < 0:
            said = f"ended by signal {-process.returncode}\n{said}"
        raise CompileError(f"{tool}: {said or f'exit status {process.returncode}'}")
    return process.stdout


# ---------------------------------------------------------------------------
# Compiled modules
# ---------------------------------------------------------------------------


class Function:
    """A compiled function. A call takes one value for each argument."""

    def __init__(self, name, arguments, results, symbol):
        self.name, self.arguments, self.results = name, arguments, results
        self._symbol = symbol
        self._symbol.restype = None
        # One scalar is returned; anything else is written to a structure whose
        # address is the first argument.
        self._in_memory = len(results) > 1 or any(
            isinstance(result, Shaped) for result in results
        )
        if self._in_memory:
            fields = [(f"r{n}", result.ctype) for n, result in enumerate(results)]
            self._structure = type("Results", (ctypes.Structure,), {"_fields_": fields})
        elif results:
            self._symbol.restype = results[0].ctype

    def __call__(self, *values):
        if len(values) != len(self.arguments):
            raise TypeError(
                f"{self.name} takes {len(self.arguments)} arguments, got {len(values)}"
            )
        passed, kept = [], []
        for n, (argument, value) in enumerate(zip(self.arguments, values)):
            c_value, keep = argument.pass_argument(value, f"{self.name}: argument {n}")
            passed.append(c_value)
            kept.append(keep)
        if not self._in_memory:
            return self._symbol(*passed)
        structure = self._structure()
        self._symbol(ctypes.byref(structure), *passed)
        borrowed = {keep[0].ctypes.data for keep in kept if keep}
        to_free = set()
        results = tuple(
            result.take_result(getattr(structure, f"r{n}"), borrowed, to_free)
            for n, result in enumerate(self.results)
        )
        for address in to_free:
            _free(address)
        return results[0] if len(results) == 1 else results


_free = ctypes.CDLL(None).free
_free.argtypes, _free.restype = [ctypes.c_void_p], None


class Module:
    """A compiled module. Its public functions are attributes by their names."""

    def __init__(self, library: ctypes.CDLL, functions: dict):
        self.functions = {
            name: Function(name, *types, library[f"_mlir_ciface_{name}"])
            for name, types in functions.items()
        }

    def __getitem__(self, name: str) -> Function:
        if name not in self.functions:
            there = ", ".join(self.functions) or "none"
            raise KeyError(f"no function {name} in the module (there: {there})")
        return self.functions[name]


def compile(
    source: str | Path,
    *,
    options: Sequence[str] = ("--attn-to-llvm",),
    optimization: int = 0,
    tools: Tools | None = None,
) -> Module:
    """Compile a module, given as text or as the Path of a file. `options` are
    fa4-opt's, and must lead to the LLVM dialect with C interfaces;
    `optimization` is clang's level, by default the lowest: to compile with -O1 takes
    seven times as long, and longer than most calls."""
    tools = tools or Tools.find()
    from_file = isinstance(source, Path)
    text, file = (b"", [str(source)]) if from_file else (source.encode(), [])
    generic = _run([tools.fa4_opt, "--mlir-print-op-generic", *file], text)
    functions = _parse_functions(generic.decode())
    lowered = _run([tools.fa4_opt, *options, *file], text)
    llvm_ir = _run([tools.mlir_translate, "--mlir-to-llvmir"], lowered)
    # LLVM's runner libraries have what the lowered code may call: memrefCopy,
    # and conversions to bf16.
    lib = Path(tools.clang).resolve().parent.parent / "lib"
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        path = os.path.join(folder, "module.so")
        command = [tools.clang, "-x", "ir", "-", "-o", path, f"-O{optimization}"]
        command += ["-march=native", "-Wno-override-module"]
        command += ["-shared", "-fPIC", "-Wl,-z,defs"]
        command += ["-Wl,--as-needed", f"-L{lib}", f"-Wl,-rpath,{lib}"]
        command += ["-lmlir_c_runner_utils", "-lmlir_float16_utils", "-lm"]
        _run(command, llvm_ir)
        return Module(ctypes.CDLL(path), functions)
