# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_host_code.py runs in a process of its own, with the stand-in for the CUDA driver: the compiled host code of a training step,
called twice on a stream, then with arguments that the kernels refuse, and once more."""

import ctypes
import sys
from ctypes import byref, c_char_p, c_void_p

import ml_dtypes
import numpy as np
from cuda_driver import call, download, start, upload
from fa4 import reference

BATCH, LENGTH, KEYS, HEADS, KEY_HEADS, DIM = 1, 48, 80, 2, 1, 64


class Descriptor(ctypes.Structure):
    """A memref of four dimensions."""

    _fields_ = [("allocated", ctypes.c_uint64), ("aligned", ctypes.c_uint64), ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]

    @classmethod
    def of(cls, address, array, offset=0):
        strides = [s // array.itemsize for s in array.strides]
        return cls(address, address - offset * array.itemsize, offset, (ctypes.c_int64 * 4)(*array.shape), (ctypes.c_int64 * 4)(*strides))


class Results(ctypes.Structure):
    _fields_ = [(name, Descriptor) for name in ("out", "dq", "dk", "dv")]


def copy_arrays(runtime, stream):
    """What a memref.copy becomes: views of one array into views of another."""
    source, target = np.arange(4 * 6 * 10, dtype=np.int16).reshape(4, 6, 10), np.zeros((4, 6, 10), np.int16)
    at, to = upload(source), upload(target)
    views = [np.s_[:], np.s_[1:3, ::2, 2:7], np.s_[0, :, 3]]
    for view in views:
        a, b = source[view], target[view]
        for a, b in ((a, b), (a.T, b.T)):
            offset = a.__array_interface__["data"][0] - source.__array_interface__["data"][0]
            strides = [s // 2 for s in a.strides]
            values = [at + offset, to + offset, *a.shape, *strides, *strides]
            runtime.fa4RuntimeHostCopy(ctypes.c_int64(a.ndim), ctypes.c_int64(2), (ctypes.c_int64 * len(values))(*values), stream)
            call("cuStreamSynchronize", stream)
            target[...] = 0
            b[...] = a
            assert (download(to, target) == target).all(), view
            call("cuMemsetD8_v2", ctypes.c_uint64(to), 0, ctypes.c_size_t(target.nbytes))
    # Into another order of dimensions.
    values = [at, to, 4, 6, 10, 60, 10, 1, 1, 4, 24]
    runtime.fa4RuntimeHostCopy(ctypes.c_int64(3), ctypes.c_int64(2), (ctypes.c_int64 * len(values))(*values), stream)
    call("cuStreamSynchronize", stream)
    assert (download(to, target).reshape(10, 6, 4) == source.T).all()
    message = c_char_p()
    assert runtime.fa4RuntimeHostTakeError(byref(message)) == 0, message.value


def main(code, runtime):
    library, runtime = ctypes.CDLL(code), ctypes.CDLL(runtime)
    start()
    rng = np.random.default_rng(7)
    shapes = {"q": (BATCH, LENGTH, HEADS, DIM), "k": (BATCH, KEYS, KEY_HEADS, DIM), "v": (BATCH, KEYS, KEY_HEADS, DIM), "dout": (BATCH, LENGTH, HEADS, DIM)}
    arrays = {name: rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for name, shape in shapes.items()}
    inputs = {name: Descriptor.of(upload(array), array) for name, array in arrays.items()}
    stream = c_void_p()
    call("cuStreamCreate", byref(stream), 0)

    def step():
        results, message = Results(), c_char_p()
        library._mlir_ciface_training_step(byref(results), *(byref(d) for d in inputs.values()), stream)
        status = runtime.fa4RuntimeHostTakeError(byref(message))
        return results, status, message.value

    form = {"layout": "bshd", "mask": reference.Mask.causal("bottom_right")}
    q, k, v, dout = (arrays[n].astype(np.float64) for n in ("q", "k", "v", "dout"))
    wanted = dict(zip(("out", "lse"), reference.sdpa(q, k, v, **form)))
    wanted |= dict(zip(("dq", "dk", "dv"), reference.sdpa_backward(q, k, v, dout, **form)))
    for _ in range(2):
        results, status, message = step()
        assert status == 0, message
        call("cuStreamSynchronize", stream)
        for name, like in (("out", "q"), ("dq", "q"), ("dk", "k"), ("dv", "v")):
            descriptor = getattr(results, name)
            assert tuple(descriptor.sizes) == shapes[like] and descriptor.offset == 0, name
            got = download(descriptor.aligned, arrays[like]).astype(np.float64)
            error = np.linalg.norm(got - wanted[name]) / np.linalg.norm(wanted[name])
            assert error < 6e-3, (name, error)
            call("cuMemFreeAsync", descriptor.allocated, stream)
    # Without keys out and dq are zeros, and dk and dv have no elements.
    keys = {name: inputs[name].sizes[1] for name in ("k", "v")}
    for name in keys:
        inputs[name].sizes[1] = 0
    results, status, message = step()
    assert status == 0, message
    call("cuStreamSynchronize", stream)
    for name, like in (("out", "q"), ("dq", "q"), ("dk", "k"), ("dv", "v")):
        descriptor = getattr(results, name)
        assert descriptor.sizes[1] == (0 if like == "k" or like == "v" else LENGTH)
        assert like in keys or not download(descriptor.aligned, arrays[like]).any(), name
        call("cuMemFreeAsync", descriptor.allocated, stream)
    for name, size in keys.items():
        inputs[name].sizes[1] = size
    # A failure is told once, and what follows it is left out.
    good = inputs["k"].aligned
    inputs["k"].aligned += 2
    _, status, message = step()
    assert status == 5 and b"tensor 'k' is at 0x" in message and b"no multiple of 16" in message, (status, message)
    inputs["k"].aligned = good
    _, status, message = step()
    assert status == 0, message
    copy_arrays(runtime, stream)
    print("done")


main(*sys.argv[1:])
