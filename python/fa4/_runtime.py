# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on tensors of a GPU: libfa4_runtime.so (docs/runtime.md) by ctypes, and DLPack.

The library is looked for beside libfa4.so, or where the environment variable FA4_RUNTIME_LIBRARY says. It
loads the CUDA driver; neither a CUDA toolkit nor a framework is needed.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Mapping
from typing import Any

from fa4 import _library
from fa4.arrays import torch_dtypes
from fa4.captured import is_torch_tensor
from fa4.errors import LaunchError
from fa4.spec import SpecError

# Numbers of DLPack.
CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
CODES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32",
         (1, 64): "u64", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (6, 8): "bool"}  # fmt: skip
# Argument structs of calls that were made before, so that a call again is a look into a table.
KEPT_CALLS = 256


class DLTensor(ctypes.Structure):
    """Of DLPack's header."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Image(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class _LoadOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("manifest", ctypes.c_char_p), ("manifestLength", ctypes.c_size_t),
        ("file", ctypes.c_char_p), ("images", ctypes.POINTER(_Image)), ("numImages", ctypes.c_size_t),
        ("hasDevice", ctypes.c_bool), ("device", ctypes.c_int32),
    ]  # fmt: skip


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("address", ctypes.c_uint64), ("dtype", ctypes.c_char_p),
        ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]  # fmt: skip


class _Scalar(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("isFloat", ctypes.c_bool), ("integer", ctypes.c_int64),
        ("floating", ctypes.c_double),
    ]  # fmt: skip


class _Arguments(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("tensors", ctypes.POINTER(_Tensor)), ("numTensors", ctypes.c_size_t),
        ("scalars", ctypes.POINTER(_Scalar)), ("numScalars", ctypes.c_size_t), ("workspace", ctypes.c_uint64),
        ("workspaceBytes", ctypes.c_uint64),
    ]  # fmt: skip


@functools.cache
def runtime():
    """The loaded library, with the types of its functions. Raises LibraryNotFoundError."""
    pointer, status = ctypes.c_void_p, ctypes.c_int
    out = ctypes.POINTER(pointer)
    functions = {
        "fa4RuntimeFreeText": (None, [pointer]),
        "fa4RuntimeLoad": (status, [ctypes.POINTER(_LoadOptions), out, out]),
        "fa4RuntimeUnload": (None, [pointer]),
        "fa4RuntimeGetWorkspaceBytes": (status, [pointer, ctypes.POINTER(_Arguments), ctypes.POINTER(ctypes.c_uint64), out]),
        "fa4RuntimePrepare": (status, [pointer, ctypes.POINTER(_Arguments), out, out]),
        "fa4RuntimeLaunch": (status, [pointer, pointer, out]),
        "fa4RuntimeDestroyCall": (None, [pointer]),
        "fa4RuntimeRun": (status, [pointer, ctypes.POINTER(_Arguments), pointer, out]),
    }
    return _library.load(_library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY"), functions)


def _check(status: int, message: ctypes.c_void_p):
    if status:
        text = ctypes.string_at(message.value).decode(errors="replace") if message.value else f"status {status}"
        runtime().fa4RuntimeFreeText(message)
        raise LaunchError(text)


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def describe(name: str, tensor) -> tuple[int, int, str, tuple[int, ...], tuple[int, ...]]:
    """(device, address, dtype, shape, strides in elements) of a tensor of a CUDA device. Raises LaunchError."""
    if is_torch_tensor(tensor):
        return _describe_torch(name, tensor)
    if not hasattr(tensor, "__dlpack__"):
        raise TypeError(f"{name} is a tensor of a GPU, or a number for a size or a capture, not {type(tensor).__name__}")
    kind, device = tensor.__dlpack_device__()
    if kind not in CUDA_DEVICES:
        raise LaunchError(f"{name} is not in the memory of a CUDA device; Kernel.simulate runs on numpy arrays")
    # The launch is on the caller's stream: nobody is to wait for another one.
    capsule = tensor.__dlpack__(stream=-1)
    given = DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    dtype = CODES.get((given.code, given.bits)) if given.lanes == 1 else None
    if dtype is None:
        raise LaunchError(f"{name} has elements of a type that no kernel takes")
    shape = tuple(given.shape[: given.ndim])
    strides = tuple(given.strides[: given.ndim]) if given.strides else _row_major(shape)
    return device, (given.data or 0) + given.byte_offset, dtype, shape, strides


def _describe_torch(name: str, tensor):
    """Without DLPack, which takes no tensor that requires a gradient, and longer."""
    if not tensor.is_cuda:
        raise LaunchError(f"{name} is not in the memory of a CUDA device; Kernel.simulate runs on numpy arrays")
    dtype = torch_dtypes().get(tensor.dtype)
    if dtype is None:
        raise LaunchError(f"{name} has elements of a type that no kernel takes")
    return tensor.device.index or 0, tensor.data_ptr(), dtype, tuple(tensor.shape), tensor.stride()


def _row_major(shape):
    strides, count = [], 1
    for size in reversed(shape):
        strides.append(count)
        count *= size
    return tuple(reversed(strides))


def _current_stream(device) -> int:
    """torch's current stream of a device. What torch's own compiler asks makes no object of a stream, which takes longer than to launch."""
    torch = sys.modules["torch"]
    if device.index is not None and (current := getattr(torch._C, "_cuda_getCurrentRawStream", None)):
        return current(device.index)
    return torch.cuda.current_stream(device).cuda_stream


def stream_of(stream, torch_device=None) -> int:
    """The CUstream of what a caller gives for one; None: torch's current one on a device of torch, else the default stream."""
    if stream is None:
        return 0 if torch_device is None else _current_stream(torch_device)
    if type(stream) is int:
        return stream
    for attribute in ("cuda_stream", "ptr"):
        stream = getattr(stream, attribute, stream)
    if not isinstance(stream, int):
        raise TypeError(f"stream is a number, an object with cuda_stream or ptr, or None, not {type(stream).__name__}")
    return stream


def device_of_torch(tensors):
    """The device of the first tensor of torch; None where there is none."""
    return next((tensor.device for tensor in tensors if is_torch_tensor(tensor)), None)


def _torch_memory(count: int, stream: int, device):
    """Memory of torch's allocator, for work on a stream: it belongs to that stream, or to the graph that is being captured."""
    cuda = sys.modules["torch"].cuda
    if stream == _current_stream(device):
        return sys.modules["torch"].empty(count, dtype=sys.modules["torch"].uint8, device=device)
    with cuda.stream(cuda.ExternalStream(stream, device=device) if stream else cuda.default_stream(device)):
        return sys.modules["torch"].empty(count, dtype=sys.modules["torch"].uint8, device=device)


class _Call:
    """The arguments of a call as the library takes them, with what they point to."""

    def __init__(self, tensors: Mapping[str, tuple], numbers: Mapping[str, int | float]):
        self.tensors = (_Tensor * max(len(tensors), 1))()
        for each, (name, (_, address, dtype, shape, strides)) in zip(self.tensors, tensors.items()):
            sizes, steps = ((ctypes.c_int64 * max(len(values), 1))(*values) for values in (shape, strides))
            each.size, each.name, each.address = ctypes.sizeof(_Tensor), name.encode(), address
            each.dtype, each.rank, each.shape, each.strides = dtype.encode(), len(shape), sizes, steps
        self.scalars = (_Scalar * max(len(numbers), 1))()
        for each, (name, value) in zip(self.scalars, numbers.items()):
            each.size, each.name, each.isFloat = ctypes.sizeof(_Scalar), name.encode(), isinstance(value, float)
            each.integer, each.floating = 0 if each.isFloat else value, value if each.isFloat else 0.0
        self.arguments = _Arguments(
            size=ctypes.sizeof(_Arguments), tensors=self.tensors, numTensors=len(tensors),
            scalars=self.scalars, numScalars=len(numbers),
        )  # fmt: skip
        self._workspace: int | None = None

    def workspace_bytes(self, program: _Program) -> int:
        """How much memory the launches work in, beside the tensors. Raises LaunchError where sizes are wrong."""
        if self._workspace is None:
            count, message = ctypes.c_uint64(), ctypes.c_void_p()
            _check(program.library.fa4RuntimeGetWorkspaceBytes(program.handle, self.arguments, count, message), message)
            self._workspace = count.value
        return self._workspace

    def with_workspace(self, address: int, count: int) -> _Arguments:
        """The arguments with memory of the caller's for this launch."""
        arguments = _Arguments.from_buffer_copy(self.arguments)
        arguments.workspace, arguments.workspaceBytes = address, count
        return arguments


class _Program:
    """A kernel that is loaded on a device."""

    def __init__(self, kernel, device: int):
        self.library, self.handle = runtime(), ctypes.c_void_p()
        self.has_workspaces = any(tensor.get("role") == "workspace" for tensor in kernel.manifest["tensors"].values())
        images = (_Image * len(kernel.modules))()
        for image, (name, ptx) in zip(images, kernel.modules.items()):
            # The driver reads PTX to a zero.
            data = ptx.encode() + b"\0"
            image.size, image.name, image.data, image.length = ctypes.sizeof(_Image), name.encode(), data, len(data)
        manifest, message = kernel.manifest_text.encode(), ctypes.c_void_p()
        options = _LoadOptions(
            size=ctypes.sizeof(_LoadOptions), manifest=manifest, manifestLength=len(manifest), images=images,
            numImages=len(images), hasDevice=True, device=device,
        )  # fmt: skip
        _check(self.library.fa4RuntimeLoad(options, self.handle, message), message)

    def __del__(self):
        # At the end of the process the driver may be gone already.
        if not sys.is_finalizing() and getattr(self, "handle", None):
            self.library.fa4RuntimeUnload(self.handle)


def _run(program: _Program, call: _Call, stream: int, torch_device):
    """Launches. Workspaces come from torch's allocator, as temporary tensors of the stream, where there are tensors of torch; else the runtime has
    one for each stream."""
    arguments, memory = call.arguments, None
    if program.has_workspaces and torch_device is not None and (count := call.workspace_bytes(program)):
        memory = _torch_memory(count, stream, torch_device)
        arguments = call.with_workspace(memory.data_ptr(), count)
    message = ctypes.c_void_p()
    _check(program.library.fa4RuntimeRun(program.handle, arguments, stream, message), message)


class PreparedCall:
    """A call that has been checked: `launch(stream)` looks up what it needs, and launches. It may be captured in a CUDA graph. The tensors
    must live as long as this object and as graphs of it; workspaces are shared with all other calls on the stream."""

    def __init__(self, program: _Program, call: _Call, torch_device):
        self._program, self._call, self._device = program, call, torch_device
        self._handle, message = ctypes.c_void_p(), ctypes.c_void_p()
        count = call.workspace_bytes(program) if program.has_workspaces else 0
        memory = _torch_memory(count, stream_of(None, torch_device), torch_device) if count and torch_device is not None else None
        arguments = call.arguments if memory is None else call.with_workspace(memory.data_ptr(), count)
        _check(program.library.fa4RuntimePrepare(program.handle, arguments, self._handle, message), message)
        if count:
            # It was made to check the call: each launch works in the memory that its stream has then.
            self._destroy()

    def launch(self, stream=None):
        """Launches on a stream: a number, an object with `cuda_stream` or `ptr`, or None for torch's current stream where the tensors are
        torch's, else the default stream."""
        number = stream_of(stream, self._device)
        if self._handle is None:
            return _run(self._program, self._call, number, self._device)
        message = ctypes.c_void_p()
        _check(self._program.library.fa4RuntimeLaunch(self._handle, number, message), message)

    def _destroy(self):
        self._program.library.fa4RuntimeDestroyCall(self._handle)
        self._handle = None

    def __del__(self):
        if not sys.is_finalizing() and getattr(self, "_handle", None):
            self._destroy()


class LoadedKernel:
    """A kernel on the devices on which it has been launched."""

    def __init__(self, kernel):
        self.kernel, self.programs, self.calls = kernel, {}, {}
        # Where the names of a call are not those of the manifest.
        self.by_manifest = kernel.by_manifest if kernel.unread or kernel.spec and kernel.spec.captured_tensors else None
        self.tensors = [name for name, tensor in kernel.manifest["tensors"].items() if tensor.get("role") != "workspace"]
        self.lock = threading.Lock()

    def _complete(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """The call with the tensors that the spec's functions have reached by themselves, on the device of the others."""
        if not self.kernel.spec or not self.kernel.spec.found:
            return call
        return self.kernel.complete(call, next((each.device for each in call.values() if is_torch_tensor(each)), "cuda"))

    def _arguments(self, call: Mapping[str, Any]) -> tuple[_Program, _Call]:
        call = self.by_manifest(call) if self.by_manifest else call
        given = {name: describe(name, value) for name, value in call.items() if name in self.tensors}
        scalars = {name: value for name, value in call.items() if name not in given}
        key = (*given.items(), *scalars.items())
        if known := self.calls.get(key):
            return known
        if missing := [name for name in self.tensors if name not in given]:
            raise SpecError(f"the call has no {', '.join(missing)}; results are tensors of the caller, too")
        devices = {device for device, *_ in given.values()}
        if len(devices) != 1:
            raise LaunchError(f"the tensors are on several devices: {', '.join(map(str, sorted(devices)))}")
        numbers = self.kernel.numbers_of(scalars, {name: shape for name, (_, _, _, shape, _) in given.items()})
        with self.lock:
            device = devices.pop()
            if device not in self.programs:
                self.programs[device] = _Program(self.kernel, device)
            while len(self.calls) >= KEPT_CALLS:
                self.calls.pop(next(iter(self.calls)))
            self.calls[key] = made = (self.programs[device], _Call(given, numbers))
        return made

    def launch(self, stream, call: Mapping[str, Any]):
        call = self._complete(call)
        program, arguments = self._arguments(call)
        device = device_of_torch(call.values())
        _run(program, arguments, stream_of(stream, device), device)

    def prepare(self, call: Mapping[str, Any]) -> PreparedCall:
        call = self._complete(call)
        prepared = PreparedCall(*self._arguments(call), device_of_torch(call.values()))
        # What was made of the tensors of functions lives as long as it.
        prepared.tensors = call
        return prepared
