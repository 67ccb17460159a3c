# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch without a GPU, for programs on the stand-in driver (fa4.driver): "cuda" is the host.

torch's own CUDA code needs NVIDIA's runtime library and machine code, which the stand-in driver does not run. Here a tensor on
"cuda" is one of the host, and says that it is on "cuda:0"; torch computes on the CPU. When somebody asks for its address (a
launch does), its memory becomes accessible to the driver until torch frees it. What is left of `torch.cuda` are questions about
the device, streams, events, synchronisation, and graphs of the driver's work: torch's own operations, which the CPU does at once, cannot
be captured. The rest raises AttributeError or RuntimeError as it would without a GPU.
"""

import contextlib
import ctypes
import functools
import os
import types
import weakref

import torch
import torch.utils.dlpack
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = torch.device("cuda", 0)
_registered: dict[int, int] = {}  # Address -> bytes.


class _Driver:
    """The few calls of the driver that torch's side needs."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        if error := getattr(self.library, name)(*arguments):
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f"CUDA error: {(text.value or b'unknown').decode()} ({name})")

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, 256, 0)
        return text.value.decode()


def _make_accessible(driver, storage, address):
    """Kernels may use the storage from now on, and until it is freed."""
    if not storage.nbytes() or address in _registered:
        return
    driver.call("cuFa4ReplaceHost", ctypes.c_void_p(address), ctypes.c_size_t(storage.nbytes()))
    _registered[address] = storage.nbytes()
    if _capturing:
        # Memory of a captured graph is the graph's, as in the private pools of torch's allocator.
        _capturing[-1].storages.append(storage)

    def forget():
        _registered.pop(address, None)
        driver.library.cuMemHostUnregister(ctypes.c_void_p(address))

    weakref.finalize(storage, forget).atexit = False


def _is_cuda(device):
    if isinstance(device, int) and not isinstance(device, bool):
        return True
    if isinstance(device, str):
        device = device.split(":")[0]
    return getattr(device, "type", device) == "cuda"


_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def _scale_blocks(matrix, scales):
    """Returns the rows of `matrix` (4-bit pairs, or 8-bit floats) times the scale factors of their blocks, as f32. The factors are in
    the order that cuBLAS takes: tiles of 128 rows and 4 blocks, a tile's rows r, r + 32, r + 64, r + 96 behind one another."""
    if matrix.dtype == torch.float4_e2m1fn_x2:
        pairs = matrix.contiguous().view(torch.uint8)
        codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2).long()
        values = torch.tensor(_E2M1 + tuple(-x for x in _E2M1))[codes]
    else:
        values = matrix.float()
    rows, columns = values.shape
    tiles = -(-rows // 128)
    blocks = scales.numel() // (tiles * 128)
    factors = scales.flatten().float().view(tiles, blocks // 4, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(tiles * 128, blocks)
    size = 16 if scales.dtype == torch.float8_e4m3fn else 32
    return values * factors[:rows].repeat_interleave(size, dim=1)[:, :columns]


def _scaled_mm(a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """torch._scaled_mm with a scale factor for each block of 16 or 32 elements, which torch's CPU code does not have."""
    result = _scale_blocks(a, scale_a) @ _scale_blocks(b.t(), scale_b).t()
    return (result if bias is None else result + bias).to(out_dtype or torch.bfloat16)


def _has_blocks(function, args, kwargs):
    scale = args[2] if len(args) > 2 else kwargs.get("scale_a")
    return function is torch._scaled_mm and scale is not None and scale.dtype in (torch.float8_e4m3fn, torch.float8_e8m0fnu)


class _HostForDevice(TorchFunctionMode):
    """Whoever asks for "cuda" gets the host, and whoever asks a tensor where it is hears "cuda:0"."""

    answers = {
        torch.Tensor.device.__get__: DEVICE,
        torch.Tensor.is_cuda.__get__: True,
        torch.Tensor.is_cpu.__get__: False,
        torch.Tensor.get_device: 0,
    }

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function in self.answers:
            return self.answers[function]
        if _has_blocks(function, args, kwargs):
            return _scaled_mm(*args, **kwargs)
        # What is copied between host and device is other memory than what it was copied from.
        if function in (torch.Tensor.cuda, torch.Tensor.cpu):
            return args[0].clone()
        if kwargs.get("device") is not None and _is_cuda(kwargs["device"]):
            kwargs["device"] = "cpu"
        kwargs.pop("pin_memory", None)
        if function is torch.Tensor.to:
            moves = any(isinstance(a, (str, torch.device)) for a in args[1:]) or "device" in kwargs
            args = [args[0], *("cpu" if isinstance(a, (str, torch.device)) and _is_cuda(a) else a for a in args[1:])]
            result = function(*args, **kwargs)
            return result.clone() if moves and result is args[0] else result
        return function(*args, **kwargs)


class Stream:
    """A stream of the stand-in driver, which does all work at once unless it is captured: the default one is as good as any."""

    device = DEVICE
    driver = None  # Of all streams; `install` sets it.

    def __init__(self, *args, stream_ptr=None, **kwargs):
        self.cuda_stream = 0 if stream_ptr is None else stream_ptr
        if stream_ptr is None:
            made = ctypes.c_void_p()
            self.driver.call("cuStreamCreate", ctypes.byref(made), 0)
            self.cuda_stream = made.value

    def synchronize(self):
        torch.cuda.synchronize()

    def query(self):
        return True

    def wait_stream(self, other):
        pass

    wait_event = record_event = wait_stream

    def __enter__(self):
        _current.append(self)
        return self

    def __exit__(self, *exception):
        _current.pop()


# The streams that `with torch.cuda.stream(s)` has made current, the last one at the end.
_current: list[Stream] = []


def _current_stream(device=None):
    return _current[-1] if _current else Stream(stream_ptr=0)


# Operations that compute nothing, but for views: memory is had now, as with a GPU.
_ALLOCATE = ("detach", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
# The graphs that are being captured, the last one at the end.
_capturing: list["CUDAGraph"] = []


class _NothingOfTorch(TorchDispatchMode):
    """While a graph is captured, torch computes nothing: it would do so now, and not when the graph is launched. Operators of somebody
    else's launch kernels, which are captured."""

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        computes = not function.is_view and function._schema.name.removeprefix("aten::") not in _ALLOCATE
        if function.namespace == "aten" and computes:
            raise RuntimeError(f"{function}: torch's own operations cannot be captured in a graph on the stand-in driver")
        return function(*args, **(kwargs or {}))


class CUDAGraph:
    """A graph of the driver's work."""

    def __init__(self, *args, **kwargs):
        self.exec = self.stream = None
        self.storages: list = []  # Memory of the tensors that were made during the capture.

    def capture_begin(self, *args, **kwargs):
        self.stream = _current_stream()
        self.stream.driver.call("cuStreamBeginCapture", ctypes.c_void_p(self.stream.cuda_stream), 0)
        _capturing.append(self)

    def capture_end(self):
        _capturing.remove(self)
        driver, graph, made = self.stream.driver, ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuStreamEndCapture", ctypes.c_void_p(self.stream.cuda_stream), ctypes.byref(graph))
        driver.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        driver.call("cuGraphDestroy", graph)
        self.exec = made

    def replay(self):
        if self.exec is None:
            raise RuntimeError("the graph has not been captured")
        self.stream.driver.call("cuGraphLaunch", self.exec, None)

    def reset(self):
        if self.exec is not None:
            self.stream.driver.call("cuGraphExecDestroy", self.exec)
            self.exec = None
        self.storages.clear()


@contextlib.contextmanager
def _capture(graph, pool=None, stream=None, capture_error_mode="global"):
    with stream or Stream():
        graph.capture_begin()
        try:
            with _NothingOfTorch():
                yield
        except BaseException:
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            graph.reset()
            raise
        graph.capture_end()


class Event:
    """A time on the host's clock."""

    def __init__(self, driver, *args, **kwargs):
        self.driver, self.event = driver, ctypes.c_void_p()
        driver.call("cuEventCreate", ctypes.byref(self.event), 0)

    def record(self, stream=None):
        self.driver.call("cuEventRecord", self.event, ctypes.c_void_p((stream or _current_stream()).cuda_stream))

    def synchronize(self):
        self.driver.call("cuEventSynchronize", self.event)

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        milliseconds = ctypes.c_float()
        self.driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), self.event, end.event)
        return milliseconds.value


def _say_cuda(capsule):
    """Changes a DLPack capsule of a tensor on the host to one on the first CUDA device. Where the device's type and number lie:
    behind the data's address; in versioned capsules four words precede them."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = b"dltensor_versioned" if "dltensor_versioned" in repr(capsule) else b"dltensor"
    at = pointer(capsule, name) + (32 if name == b"dltensor_versioned" else 0) + 8
    (ctypes.c_int32 * 2).from_address(at)[:] = [2, 0]
    return capsule


def _properties(driver):
    return types.SimpleNamespace(
        name=driver.name(),
        major=driver.attribute(75),
        minor=driver.attribute(76),
        multi_processor_count=driver.attribute(16),
        warp_size=32,
        total_memory=80 << 30,
        L2_cache_size=driver.attribute(38),
        regs_per_multiprocessor=driver.attribute(82),
        max_threads_per_multi_processor=driver.attribute(39),
        shared_memory_per_block=driver.attribute(8),
        shared_memory_per_block_optin=driver.attribute(97),
        shared_memory_per_multiprocessor=driver.attribute(81),
        is_integrated=0,
        gcnArchName="",
    )


def _let_operators_see_cuda():
    """An operator of torch.library is called below the mode, and from compiled code: what it does in Python is about "cuda" all the same. One that
    is for "cuda" gets the host's tensors, which are all that there are."""
    definition = torch._library.custom_ops.CustomOpDef
    register = definition.register_kernel

    def register_kernel(self, device_types, fn=None, /):
        def inner(function):
            @functools.wraps(function)
            def on_cuda(*args, **kwargs):
                with _HostForDevice(), _NothingOfTorch() if _capturing else contextlib.nullcontext():
                    return function(*args, **kwargs)

            kinds = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
            if "cuda" in kinds:
                register(self, ["cpu"], on_cuda)
                self._fa4_has_cuda = True
            elif kinds != ["cpu"] or not getattr(self, "_fa4_has_cuda", False):
                register(self, device_types, on_cuda)
            return function

        return inner if fn is None else inner(fn)

    definition.register_kernel = register_kernel


def install() -> None:
    """Changes torch for the whole process. Raises RuntimeError where the driver's settings are wrong."""
    driver = _Driver()
    properties = _properties(driver)
    Stream.driver = driver

    def data_ptr(tensor):
        storage = torch._C.TensorBase.untyped_storage(tensor)
        _make_accessible(driver, storage, storage.data_ptr())
        return torch._C.TensorBase.data_ptr(tensor)

    def dlpack(tensor, *args, **kwargs):
        data_ptr(tensor)
        versioned = (kwargs.get("max_version") or (0,))[0] >= 1
        make = torch._C._to_dlpack_versioned if versioned else torch._C._to_dlpack
        with torch._C.DisableTorchFunction():
            return _say_cuda(make(tensor.detach()))

    def is_capturing():
        status = ctypes.c_int()
        driver.call("cuStreamIsCapturing", ctypes.c_void_p(_current_stream().cuda_stream), ctypes.byref(status))
        return bool(status.value)

    torch.Tensor.data_ptr = data_ptr
    torch.Tensor.__dlpack__ = dlpack
    torch.Tensor.__dlpack_device__ = lambda tensor: (2, 0)
    torch.utils.dlpack.to_dlpack = dlpack
    # The fast way of DLPack, in C, would say that a tensor is on the host.
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        del torch.Tensor.__dlpack_c_exchange_api__
    torch._C._cuda_getCurrentRawStream = lambda device: _current_stream().cuda_stream
    nothing = {name: lambda *a, **k: None for name in ("init", "_lazy_init", "set_device", "set_stream", "empty_cache", "manual_seed", "manual_seed_all", "reset_peak_memory_stats")}
    context = {name: lambda *a, **k: contextlib.nullcontext() for name in ("device", "device_of")}
    zero = {name: lambda *a, **k: 0 for name in ("current_device", "max_memory_allocated", "memory_reserved")}
    answers = {
        "is_available": lambda: True,
        # Random numbers "on cuda" are the host's.
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "memory_allocated": lambda device=None: sum(_registered.values()),
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "synchronize": lambda device=None: driver.call("cuCtxSynchronize"),
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_properties": lambda device=None: properties,
        "get_device_name": lambda device=None: properties.name,
        "current_stream": _current_stream,
        "default_stream": lambda device=None: Stream(stream_ptr=0),
        "stream": lambda stream: stream or contextlib.nullcontext(),
        "is_current_stream_capturing": is_capturing,
        "Stream": Stream,
        "ExternalStream": lambda stream_ptr, device=None: Stream(stream_ptr=stream_ptr),
        "CUDAGraph": CUDAGraph,
        "graph": _capture,
        "graph_pool_handle": lambda: (0, 0),
        "Event": lambda *args, **kwargs: Event(driver, *args, **kwargs),
    }
    for name, value in {**nothing, **context, **zero, **answers}.items():
        setattr(torch.cuda, name, value)
    # torch.compile would ask the accelerator, which is torch's own CUDA code, for its stream.
    torch.accelerator.is_available = lambda: False
    _HostForDevice().__enter__()
    # While torch.autograd.grad runs, the mode is off: it is a torch function itself. The backward of a Function needs it.
    node = torch.autograd.function.BackwardCFunction
    backward = node.apply

    def apply(context, *arguments):
        with _HostForDevice():
            return backward(context, *arguments)

    node.apply = apply
    _let_operators_see_cuda()
