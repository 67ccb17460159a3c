# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libfa4.so from Python: the C API of include/fa4-c, which needs no LLVM, by ctypes.

The library is the first of: the environment variable FA4_LIBRARY; `lib/libfa4.so` in this package, as a
wheel has it; build/release/lib/libfa4.so of the checkout that this file is in. It is loaded when it is first
needed, not by `import fa4`.
"""

import ctypes
import functools
import json
import os
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path

from fa4.errors import CompileError, Fa4Error, LibraryNotFoundError, SimulationError

OK, REJECTED, CANNOT_RUN, FINDINGS, INTERNAL = range(5)
SEVERITIES = ("error", "warning", "remark", "note")


class _Diagnostic(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("severity", ctypes.c_int),
        ("file", ctypes.c_char_p),
        ("line", ctypes.c_uint32),
        ("column", ctypes.c_uint32),
        ("message", ctypes.c_char_p),
    ]


_Handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Diagnostic), ctypes.c_void_p)


class _CompileOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("chip", ctypes.c_char_p),
        ("emit", ctypes.c_char_p),
        ("from_", ctypes.c_char_p),
        ("pipeline", ctypes.c_char_p),
        ("inputName", ctypes.c_char_p),
        ("verifyPtx", ctypes.c_int),
        ("ptxas", ctypes.c_char_p),
        ("allowSpills", ctypes.c_bool),
        ("report", ctypes.c_bool),
        ("handler", _Handler),
        ("userData", ctypes.c_void_p),
        ("locations", ctypes.c_bool),
    ]


class _Artefact(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _SimulateOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("seed", ctypes.c_uint64),
        ("check", ctypes.c_bool),
        ("keepGoing", ctypes.c_bool),
        ("randomInputs", ctypes.c_bool),
        ("threads", ctypes.c_uint32),
        ("maxInstructions", ctypes.c_uint64),
        ("handler", _Handler),
        ("userData", ctypes.c_void_p),
        ("trace", ctypes.c_char_p),
        ("allow", ctypes.c_char_p),
        ("policy", ctypes.c_char_p),
        ("interrupt", ctypes.POINTER(ctypes.c_bool)),
    ]


def find(name: str = "libfa4.so", variable: str = "FA4_LIBRARY") -> Path:
    """The path of a library. Raises LibraryNotFoundError."""
    if given := os.environ.get(variable):
        if os.path.isfile(given):
            return Path(given)
        raise LibraryNotFoundError(f"{variable} is {given}, which is no file")
    package = Path(__file__).resolve().parent
    checkout = package.parents[1]
    for folder in (package / "lib", checkout / "build" / "release" / "lib"):
        if os.path.isfile(folder / name):
            return folder / name
    raise LibraryNotFoundError(
        f"{name} is neither in {package / 'lib'}, where a wheel has it, nor in {checkout / 'build' / 'release' / 'lib'}; "
        f"set {variable} to its path"
    )


def load(path: Path, functions: Mapping[str, tuple]):
    """Loads a library and gives its functions their types: name -> (result, arguments). Raises LibraryNotFoundError."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryNotFoundError(f"{path} cannot be loaded: {error}") from None
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFoundError(f"{path} is another version of fa4: it has no {name}") from None
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def _load(path: Path):
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    out, status = ctypes.POINTER(pointer), ctypes.c_int
    functions = {
        "fa4Version": (text, []),
        "fa4FreeText": (None, [pointer]),
        "fa4Compile": (status, [text, size, ctypes.POINTER(_CompileOptions), out, out]),
        "fa4CompilationGetNumArtefacts": (size, [pointer]),
        "fa4CompilationGetArtefact": (_Artefact, [pointer, size]),
        "fa4CompilationGetReport": (text, [pointer]),
        "fa4CompilationDestroy": (None, [pointer]),
        "fa4DescribePtx": (status, [text, text, size, out, out]),
        "fa4SimulationCreate": (status, [text, size, out, out]),
        "fa4SimulationRead": (status, [text, out, out]),
        "fa4SimulationDestroy": (None, [pointer]),
        "fa4SimulationSetModule": (status, [pointer, text, text, size, out]),
        "fa4SimulationSetSize": (status, [pointer, text, ctypes.c_int64, out]),
        "fa4SimulationSetReal": (status, [pointer, text, ctypes.c_double, out]),
        "fa4SimulationSetBuffer": (
            status,
            [pointer, text, ctypes.POINTER(ctypes.c_int64), size, pointer, size, out],
        ),
        "fa4SimulationSetNpy": (status, [pointer, text, text, size, out]),
        "fa4SimulationRun": (status, [pointer, ctypes.POINTER(_SimulateOptions), out]),
        "fa4SimulationTime": (status, [pointer, ctypes.POINTER(_SimulateOptions), out, out]),
        "fa4SimulationReport": (status, [pointer, ctypes.POINTER(_SimulateOptions), ctypes.c_bool, out, out]),
        "fa4SimulationGetBufferShape": (size, [pointer, text, ctypes.POINTER(ctypes.c_int64), size]),
        "fa4SimulationGetBufferSize": (size, [pointer, text]),
        "fa4SimulationGetBuffer": (status, [pointer, text, pointer, size, out]),
    }
    return load(path, functions)


def library():
    """The loaded library, with the types of its functions. Raises LibraryNotFoundError."""
    return _load(find())


def _take_text(pointer) -> str:
    """The text that the library has returned, which is freed."""
    if not pointer.value:
        return ""
    text = ctypes.string_at(pointer.value).decode(errors="replace")
    library().fa4FreeText(pointer)
    return text


def _encode(text: str | None) -> bytes | None:
    return text.encode() if text else None


def _collector(said: list):
    """A handler of diagnostics that appends (severity, text) to a list."""

    @_Handler
    def handle(diagnostic, _):
        given = diagnostic.contents
        place = given.file.decode(errors="replace") + ":" if given.file else ""
        place += f"{given.line}:" if given.line else ""
        place += f"{given.column}:" if given.line and given.column else ""
        severity = SEVERITIES[given.severity]
        message = (given.message or b"").decode(errors="replace")
        said.append((severity, f"{place} {severity}: {message}".lstrip()))

    return handle


def version() -> str:
    """Of fa4 and its LLVM, "0.1.0, LLVM 22.1.8"."""
    return library().fa4Version().decode()


def compile_text(
    text: str, *, chip: str | None = None, emit: str = "ptx", level: str | None = None, pipeline: str = "",
    name: str = "-", verify: bool | None = None, ptxas: str | None = None, allow_spills: bool = False, report: bool = False,
    locations: bool = False,
) -> tuple[dict[str, bytes], str, list[tuple[str, str]]]:  # fmt: skip
    """Compiles a module: (file name -> contents, report, (severity, text) of each diagnostic). The parameters are
    those of Fa4CompileOptions. Raises CompileError."""
    said: list[tuple[str, str]] = []
    handler = _collector(said)
    options = _CompileOptions(
        size=ctypes.sizeof(_CompileOptions),
        chip=_encode(chip), emit=_encode(emit), from_=_encode(level), pipeline=_encode(pipeline), inputName=_encode(name),
        verifyPtx={None: 0, True: 1, False: 2}[verify], ptxas=_encode(ptxas), allowSpills=allow_spills,
        report=report, handler=handler, locations=locations,
    )  # fmt: skip
    made, message = ctypes.c_void_p(), ctypes.c_void_p()
    data, fa4 = text.encode(), library()
    if fa4.fa4Compile(data, len(data), options, made, message) != OK:
        raise CompileError(_take_text(message), tuple(each for _, each in said))
    try:
        files = {}
        for position in range(fa4.fa4CompilationGetNumArtefacts(made)):
            artefact = fa4.fa4CompilationGetArtefact(made, position)
            files[artefact.name.decode()] = ctypes.string_at(artefact.data, artefact.length)
        return files, fa4.fa4CompilationGetReport(made).decode(errors="replace"), said
    finally:
        fa4.fa4CompilationDestroy(made)


def describe_ptx(name: str, ptx: str) -> dict:
    """The object of fa4DescribePtx; `name` stands for the file in messages. Raises SimulationError."""
    described, data = ctypes.c_void_p(), ptx.encode()
    Simulation._check(lambda m: library().fa4DescribePtx(name.encode(), data, len(data), described, m))
    return json.loads(_take_text(described))


class Simulation:
    """The launches of a manifest in fa4-sim. A context manager; errors are SimulationError."""

    def __init__(self, manifest: str | Path):
        """`manifest` is its text, or the path of a manifest, a record or a folder of records."""
        self.handle, self.fa4 = ctypes.c_void_p(), library()
        if isinstance(manifest, Path):
            self._check(lambda m: self.fa4.fa4SimulationRead(os.fsencode(manifest), self.handle, m))
        else:
            data = manifest.encode()
            self._check(lambda m: self.fa4.fa4SimulationCreate(data, len(data), self.handle, m))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.fa4.fa4SimulationDestroy(self.handle)
        self.handle = ctypes.c_void_p()

    @staticmethod
    def _check(call, said=()):
        message = ctypes.c_void_p()
        status = call(message)
        text = _take_text(message)
        if status == FINDINGS:
            raise SimulationError("\n".join(text for _, text in said) or text)
        if status == INTERNAL:
            raise Fa4Error(f"a fault of fa4: {text}")
        if status != OK:
            raise SimulationError(text)

    def set_module(self, path: str, ptx: str):
        data = ptx.encode()
        self._check(lambda m: self.fa4.fa4SimulationSetModule(self.handle, path.encode(), data, len(data), m))

    def set_number(self, name: str, value: int | float):
        """Sets a size, or another scalar of the call."""
        change = self.fa4.fa4SimulationSetReal if isinstance(value, float) else self.fa4.fa4SimulationSetSize
        self._check(lambda m: change(self.handle, name.encode(), value, m))

    def set_array(self, name: str, array):
        """Copies a numpy array of the tensor's own element type."""
        import numpy as np

        array = np.ascontiguousarray(array)
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        # An array without elements may have no address.
        data = array.ctypes.data or ctypes.addressof(shape)
        change = self.fa4.fa4SimulationSetBuffer
        self._check(lambda m: change(self.handle, name.encode(), shape, array.ndim, data, array.nbytes, m))

    def set_npy(self, name: str, data: bytes):
        """Copies an array from the bytes of a .npy file, whose elements are converted to the tensor's type."""
        self._check(lambda m: self.fa4.fa4SimulationSetNpy(self.handle, name.encode(), data, len(data), m))

    def _options(self, options: Mapping, said: list):
        handler = _collector(said)
        return _SimulateOptions(size=ctypes.sizeof(_SimulateOptions), handler=handler, **options)

    def run(self, **options):
        """Runs all launches; `options` are members of Fa4SimulateOptions."""
        said: list = []
        given = self._options(options, said)
        self._check(lambda m: self.fa4.fa4SimulationRun(self.handle, given, m), said)

    def time(self, **options) -> str:
        """Runs all launches by the clock; returns the JSON of fa4SimulationTime."""
        said: list = []
        given, times = self._options(options, said), ctypes.c_void_p()
        self._check(lambda m: self.fa4.fa4SimulationTime(self.handle, given, times, m), said)
        return _take_text(times)

    def report(self, *, timed: bool = False, timeout: float | None = None, **options) -> dict:
        """Runs all launches, and returns the object of fa4SimulationReport. The library works in another thread, so that
        Ctrl-C ends a run. Raises TimeoutError after `timeout` seconds."""
        interrupt, report = ctypes.c_bool(False), ctypes.c_void_p()
        given = self._options({**options, "interrupt": ctypes.pointer(interrupt)}, [])
        with futures.ThreadPoolExecutor(1) as pool:
            work = lambda m: self.fa4.fa4SimulationReport(self.handle, given, timed, report, m)
            done = pool.submit(self._check, work)
            try:
                done.result(timeout)
            except TimeoutError:
                raise TimeoutError(f"no result after {timeout} s") from None
            finally:
                interrupt.value = True
        return json.loads(_take_text(report))

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor after a run."""
        rank = self.fa4.fa4SimulationGetBufferShape(self.handle, name.encode(), None, 0)
        shape = (ctypes.c_int64 * rank)()
        self.fa4.fa4SimulationGetBufferShape(self.handle, name.encode(), shape, rank)
        return tuple(shape)

    def get_array(self, name: str, shape, dtype):
        """The contents of a tensor as a numpy array of this shape and dtype, which must be its own."""
        import numpy as np

        array = np.empty(shape, dtype)
        size = self.fa4.fa4SimulationGetBufferSize(self.handle, name.encode())
        if size != array.nbytes:
            raise SimulationError(f"'{name}' has {size} bytes, not the {array.nbytes} of shape {tuple(shape)}")
        if size:
            self._check(lambda m: self.fa4.fa4SimulationGetBuffer(self.handle, name.encode(), array.ctypes.data, size, m))
        return array
