# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs by the CUDA driver alone, for `fa4 selftest` and measurements: which there are, memory on them, and time. No framework is needed."""

import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass

from fa4.errors import LaunchError

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
# Compute capability -> the chip that fa4 calls it.
CHIPS = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a"}


@dataclass(frozen=True)
class Device:
    """A GPU. `chip` is empty for one that fa4 does not know."""

    number: int
    name: str
    capability: tuple[int, int]
    driver: int  # 13000 for CUDA 13.0.

    @property
    def chip(self) -> str:
        return CHIPS.get(self.capability, "")


class Driver:
    """The driver library. Raises LaunchError where there is none, or no GPU."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise LaunchError(f"no CUDA driver: {error}") from None
        self.call("cuInit", c_int(0))

    def call(self, name: str, *arguments):
        if error := getattr(self.library, name)(*arguments):
            text = c_char_p()
            self.library.cuGetErrorName(c_int(error), byref(text))
            raise LaunchError(f"{name}: {text.value.decode() if text.value else f'unknown error {error}'}")

    def devices(self) -> list[Device]:
        count, version, found = c_int(), c_int(), []
        self.call("cuDeviceGetCount", byref(count))
        self.call("cuDriverGetVersion", byref(version))
        for number in range(count.value):
            device, major, minor, name = c_int(), c_int(), c_int(), ctypes.create_string_buffer(256)
            self.call("cuDeviceGet", byref(device), c_int(number))
            self.call("cuDeviceGetName", name, c_int(256), device)
            self.call("cuDeviceGetAttribute", byref(major), c_int(MAJOR), device)
            self.call("cuDeviceGetAttribute", byref(minor), c_int(MINOR), device)
            found.append(Device(number, name.value.decode(), (major.value, minor.value), version.value))
        return found

    def use(self, device: Device):
        """Makes the primary context of a GPU the thread's."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), c_int(device.number))
        self.call("cuCtxSetCurrent", context)

    def synchronize(self):
        self.call("cuCtxSynchronize")

    def time(self, work, count: int) -> float:
        """The microseconds of a piece of work on the default stream, as the mean of `count`, behind one that is not counted."""
        begin, end, elapsed = c_void_p(), c_void_p(), c_float()
        work()
        for event in (begin, end):
            self.call("cuEventCreate", byref(event), c_int(0))
        self.call("cuEventRecord", begin, None)
        for _ in range(count):
            work()
        self.call("cuEventRecord", end, None)
        self.call("cuEventSynchronize", end)
        self.call("cuEventElapsedTime", byref(elapsed), begin, end)
        for event in (begin, end):
            self.call("cuEventDestroy_v2", event)
        return elapsed.value * 1e3 / count


def chip_of(capability: tuple[int, int], name: str = "") -> str:
    """The chip of a compute capability. Raises LaunchError for one that fa4 does not know."""
    if capability not in CHIPS:
        raise LaunchError(f"fa4 knows no GPU of compute capability {capability[0]}.{capability[1]}{f' ({name})' if name else ''}")
    return CHIPS[capability]


def native_chip() -> str:
    """The chip of this machine's GPU: torch's current one if torch has begun to use GPUs, else the driver's first. Raises LaunchError."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return chip_of(torch.cuda.get_device_capability(), torch.cuda.get_device_name())
    devices = Driver().devices()
    if not devices:
        raise LaunchError("there is no GPU")
    return chip_of(devices[0].capability, devices[0].name)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]


class DeviceArray:
    """A copy of a numpy array in the memory of the GPU whose context is the thread's, which others see by `__dlpack__`. `device` is
    what it says of itself: DLPack's kind and number."""

    def __init__(self, driver: Driver, array, device: tuple[int, int] = (2, 0), strides: tuple[int, ...] | None = None):
        import numpy as np

        from fa4 import _runtime, kernel

        self.array, self.device, self._driver = np.ascontiguousarray(array), device, driver
        codes = {kernel.numpy_dtype(name): key for key, name in _runtime.CODES.items()}
        code, bits = codes[self.array.dtype]
        self.address = c_uint64()
        driver.call("cuMemAlloc_v2", byref(self.address), c_size_t(max(self.array.nbytes, 1)))
        driver.call("cuMemcpyHtoD_v2", self.address, c_void_p(self.array.ctypes.data), c_size_t(self.array.nbytes))
        rank = self.array.ndim
        self._shape = (ctypes.c_int64 * rank)(*self.array.shape)
        self._strides = (ctypes.c_int64 * rank)(*strides) if strides else None
        self._tensor = _runtime.DLTensor(
            data=self.address.value, device_type=device[0], device_id=device[1], ndim=rank, code=code, bits=bits, lanes=1,
            shape=self._shape, strides=self._strides,
        )  # fmt: skip

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        # The object lives as long as the call that asks, and its memory until `free`: the capsule owns nothing.
        return _new_capsule(ctypes.addressof(self._tensor), b"dltensor", None)

    def get(self):
        """A numpy array of what is there now; waits for the GPU."""
        import numpy as np

        array = np.empty_like(self.array)
        self._driver.synchronize()
        self._driver.call("cuMemcpyDtoH_v2", c_void_p(array.ctypes.data), self.address, c_size_t(array.nbytes))
        return array

    def free(self):
        self._driver.call("cuMemFree_v2", self.address)
