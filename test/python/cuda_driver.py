# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver API by ctypes, for the programs that test_driver.py runs: `call("cuMemAlloc", ...)` raises CudaError with the
name of the error. Arrays go to the device and back by `upload` and `download`."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

cuda = ctypes.CDLL("libcuda.so.1")


class CudaError(RuntimeError):
    pass


def call(name, *arguments):
    """Integers are passed as 64 bits, in which smaller ones are found too."""
    passed = [c_uint64(a % 2**64) if isinstance(a, int) else a for a in arguments]
    error = getattr(cuda, name)(*passed)
    if error:
        text = c_char_p()
        cuda.cuGetErrorName(error, byref(text))
        raise CudaError(f"{name}: {(text.value or b'?').decode()}")


def fails(name, *arguments):
    """The name of the error that a call must return."""
    try:
        call(name, *arguments)
    except CudaError as error:
        return str(error).split(": ")[1]
    return "CUDA_SUCCESS"


def start():
    call("cuInit", 0)
    context = c_void_p()
    call("cuDevicePrimaryCtxRetain", byref(context), 0)
    call("cuCtxSetCurrent", context)


def allocate(size):
    address = c_uint64()
    call("cuMemAlloc_v2", byref(address), size)
    return address.value


def upload(array):
    address = allocate(array.nbytes)
    call("cuMemcpyHtoD_v2", address, c_void_p(array.ctypes.data), array.nbytes)
    return address


def download(address, like):
    array = np.empty_like(like)
    call("cuMemcpyDtoH_v2", c_void_p(array.ctypes.data), address, array.nbytes)
    return array


def load(text, name):
    module, function = c_void_p(), c_void_p()
    call("cuModuleLoadData", byref(module), c_char_p(text.encode()))
    call("cuModuleGetFunction", byref(function), module, c_char_p(name.encode()))
    return function


def pointers(*params):
    """The array of pointers to parameters, which are ctypes objects, that a launch takes."""
    return (c_void_p * len(params))(*(ctypes.addressof(p) for p in params)), params


def launch(function, grid, block, *params, smem=0):
    array, keep = pointers(*params)
    call("cuLaunchKernel", function, *grid, *block, smem, None, array, None)


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("smem", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", c_uint)]  # fmt: skip


def launch_config(grid, block, cluster=None, smem=0, serialized=False):
    """A CUlaunchConfig; `serialized` allows programmatic stream serialization (PDL)."""
    attributes = [LaunchAttribute(4, 0, (c_uint * 16)(*cluster))] if cluster else []
    attributes += [LaunchAttribute(6, 0, (c_uint * 16)(1))] if serialized else []
    array = (LaunchAttribute * max(len(attributes), 1))(*attributes)
    return LaunchConfig((c_uint * 3)(*grid), (c_uint * 3)(*block), smem, None, array, len(attributes))


def tensor_map(address, dims, byte_strides, box, kind, swizzle):
    """The 128 bytes of a map; innermost dimension first."""
    room = ctypes.create_string_buffer(192)
    at = (ctypes.addressof(room) + 63) // 64 * 64
    rank, ones = len(dims), (c_uint * 5)(1, 1, 1, 1, 1)
    call("cuTensorMapEncodeTiled", c_void_p(at), kind, rank, address, (c_uint64 * rank)(*dims),
         (c_uint64 * rank)(*byte_strides), (c_uint * rank)(*box), ones, 0, swizzle, 0, 0)  # fmt: skip
    return (ctypes.c_char * 128).from_buffer_copy((ctypes.c_char * 128).from_address(at))


def attribute(number):
    value = c_int()
    call("cuDeviceGetAttribute", byref(value), number, 0)
    return value.value


def symbol(name, version=13000):
    """(result, function, status) of cuGetProcAddress."""
    function, status = c_void_p(), c_int()
    result = fails("cuGetProcAddress_v2", c_char_p(name.encode()), byref(function), version, 0, byref(status))
    return result, function.value, status.value


__all__ = [n for n in dir() if not n.startswith("_")] + ["c_size_t"]
