# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in the memory of a CUDA device without a framework: what `__dlpack__` gives to who asks."""

import ctypes
from types import SimpleNamespace

import numpy as np
from cuda_driver import download, upload

from fa4 import _runtime, kernel

NAMES = {str(kernel.numpy_dtype(name)): key for key, name in _runtime.CODES.items() if name != "bool"}
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class DeviceTensor:
    """A copy of a numpy array. `device` is what it says of itself, (kind, number) of DLPack."""

    def __init__(self, array, device=(2, 0), strides=None):
        self.array, self.device = np.ascontiguousarray(array), device
        self.address = upload(self.array)
        code, bits = NAMES[str(array.dtype)]
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*strides) if strides else None
        self.tensor = _runtime._DLTensor(
            data=self.address, device_type=device[0], device_id=device[1], ndim=array.ndim, code=code, bits=bits, lanes=1,
            shape=self.shape, strides=self.strides,
        )  # fmt: skip

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        assert stream == -1
        return _new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)

    def get(self):
        return download(self.address, self.array)


def stream():
    """An object as frameworks have them, of the default stream."""
    return SimpleNamespace(cuda_stream=0)
