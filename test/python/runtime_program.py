# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_runtime.py runs in a process of its own, with the stand-in for the CUDA driver: a training step, four kernels and their workspaces, from its
manifest by libfa4_runtime and from a CUDA graph, compared with float64; and a record of launches, whose addresses are another process's."""

import ctypes
import json
import struct
import sys
from ctypes import Structure, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p, sizeof
from pathlib import Path

import ml_dtypes
import numpy as np
from cuda_driver import call, download, start, upload
from fa4 import reference
from fa4.tools import ROOT

BATCH, LENGTH, HEADS, KEY_HEADS, DIM = 1, 40, 2, 1, 64


class LoadOptions(Structure):
    _fields_ = [("size", c_size_t), ("manifest", c_char_p), ("manifestLength", c_size_t), ("file", c_char_p), ("images", c_void_p), ("numImages", c_size_t), ("hasDevice", c_bool), ("device", c_int32)]


class Tensor(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("address", c_uint64), ("dtype", c_char_p), ("rank", c_int32), ("shape", c_void_p), ("strides", c_void_p)]


class Arguments(Structure):
    _fields_ = [("size", c_size_t), ("tensors", c_void_p), ("numTensors", c_size_t), ("scalars", c_void_p), ("numScalars", c_size_t), ("workspace", c_uint64), ("workspaceBytes", c_uint64)]


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.keep = []

    def __call__(self, name, *arguments):
        message = c_char_p()
        status = getattr(self.library, name)(*arguments, byref(message))
        assert status == 0, (name, status, message.value)

    def load(self, file):
        program = c_void_p()
        self("fa4RuntimeLoad", byref(LoadOptions(size=sizeof(LoadOptions), file=str(file).encode())), byref(program))
        return program

    def arguments(self, addresses, arrays):
        tensors = (Tensor * len(addresses))()
        for tensor, (name, address) in zip(tensors, addresses.items()):
            shape = (c_int64 * arrays[name].ndim)(*arrays[name].shape)
            dtype = {2: b"bf16", 4: b"f32"}[arrays[name].itemsize]
            self.keep.append((shape, name.encode()))
            tensor.size, tensor.name, tensor.address, tensor.dtype = sizeof(Tensor), self.keep[-1][1], address, dtype
            tensor.rank, tensor.shape = arrays[name].ndim, ctypes.addressof(shape)
        self.keep.append(tensors)
        return Arguments(size=sizeof(Arguments), tensors=ctypes.addressof(tensors), numTensors=len(tensors))


def run_record(runtime, folder):
    """t0 = 2 x, and y[4:] += t0[:60], of which the record has the addresses as bytes; t1 is a view of t0, as frameworks record them."""
    x, y, t0 = 0x7000_0000_0000, 0x7001_0000_0000, 0x7002_0000_0000
    tensors = {"x": ("f32", 64, x), "y": ("f32", 64, y), "t0": ("f32", 64, t0), "t1": ("f32", 8, t0 + 32)}
    described = {n: {"dtype": d, "shape": [size], "strides": [1], "address": hex(a)} for n, (d, size, a) in tensors.items()}
    params = [("<Q", x), ("<Q", t0), ("<f", 2.0), ("<I", 64)], [("<Q", t0), ("<Q", y + 16), ("<f", 1.0), ("<I", 60)]
    folder.mkdir()
    (folder / "axpy.ptx").write_text((ROOT / "docs" / "examples" / "axpy.ptx").read_text().replace("sm_90a", "sm_90"))
    for i, words in enumerate(params):
        record = {"kernel": "axpy", "ptx": "axpy.ptx", "grid": [2, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1]}
        record |= {"dynamic_smem": 0, "params": [{"bytes": struct.pack(*word).hex()} for word in words], "tensors": described}
        (folder / f"launch-{i}.json").write_text(json.dumps(record))
    program = runtime.load(folder)
    arrays = {"x": np.arange(64, dtype=np.float32), "y": np.ones(64, np.float32)}
    addresses = {name: upload(array) for name, array in arrays.items()}
    for times in (1, 2):
        runtime("fa4RuntimeRun", program, byref(runtime.arguments(addresses, arrays)), None)
        # The workspace is zeros before each launch.
        want = 1 + np.concatenate([np.zeros(4), times * 2 * np.arange(60)])
        np.testing.assert_array_equal(download(addresses["y"], arrays["y"]), want)
    # The same from a graph, whose workspace is its own: allocated while the stream is captured.
    stream, graph, executable = c_void_p(), c_void_p(), c_void_p()
    call("cuStreamCreate", byref(stream), 1)
    call("cuStreamBeginCapture_v2", stream, 0)
    runtime("fa4RuntimeRun", program, byref(runtime.arguments(addresses, arrays)), stream)
    call("cuStreamEndCapture", stream, byref(graph))
    call("cuGraphInstantiateWithFlags", byref(executable), graph, 0)
    call("cuGraphDestroy", graph)
    call("cuGraphLaunch", executable, stream)
    call("cuStreamSynchronize", stream)
    want = 1 + np.concatenate([np.zeros(4), 6 * np.arange(60)])
    np.testing.assert_array_equal(download(addresses["y"], arrays["y"]), want)
    call("cuGraphExecDestroy", executable)
    runtime.library.fa4RuntimeUnload(program)


def main(library, manifest):
    runtime = Runtime(library)
    start()
    run_record(runtime, Path(manifest).parent / "record")
    rng = np.random.default_rng(3)
    shapes = {"q": HEADS, "dout": HEADS, "out": HEADS, "dq": HEADS, "k": KEY_HEADS, "v": KEY_HEADS, "dk": KEY_HEADS, "dv": KEY_HEADS}
    arrays = {name: rng.standard_normal((BATCH, LENGTH, heads, DIM)).astype(ml_dtypes.bfloat16) for name, heads in shapes.items()}
    form = {"layout": "bshd", "mask": reference.Mask.causal("bottom_right")}
    q, k, v, dout = (arrays[n].astype(np.float64) for n in ("q", "k", "v", "dout"))
    wanted = {"out": reference.sdpa(q, k, v, **form)[0]}
    wanted |= dict(zip(("dq", "dk", "dv"), reference.sdpa_backward(q, k, v, dout, **form)))
    stream, graph, executable = c_void_p(), c_void_p(), c_void_p()
    call("cuStreamCreate", byref(stream), 1)
    addresses = {name: upload(array) for name, array in arrays.items()}
    program = runtime.load(manifest)
    arguments = runtime.arguments(addresses, arrays)

    def check():
        call("cuStreamSynchronize", stream)
        for name, want in wanted.items():
            got = download(addresses[name], arrays[name]).astype(np.float64)
            error = np.linalg.norm(got - want) / np.linalg.norm(want)
            assert error < 6e-3, (name, error)
            call("cuMemsetD8_v2", addresses[name], 0xFF, arrays[name].nbytes)

    count = c_uint64()
    runtime("fa4RuntimeGetWorkspaceBytes", program, byref(arguments), byref(count))
    assert count.value > LENGTH * HEADS * DIM * 4
    runtime("fa4RuntimeRun", program, byref(arguments), stream)
    check()
    prepared = c_void_p()
    runtime("fa4RuntimePrepare", program, byref(arguments), byref(prepared))
    call("cuStreamBeginCapture_v2", stream, 0)
    runtime("fa4RuntimeLaunch", prepared, stream)
    call("cuStreamEndCapture", stream, byref(graph))
    call("cuGraphInstantiateWithFlags", byref(executable), graph, 0)
    call("cuGraphLaunch", executable, stream)
    check()
    runtime.library.fa4RuntimeDestroyCall(prepared)
    call("cuGraphExecDestroy", executable)
    call("cuGraphDestroy", graph)
    # Prepared and allocated while a stream is captured for the first time, and launched on another one when others have worked there.
    other = c_void_p()
    call("cuStreamCreate", byref(other), 1)
    call("cuStreamBeginCapture_v2", other, 0)
    runtime("fa4RuntimeRun", program, byref(arguments), other)
    call("cuStreamEndCapture", other, byref(graph))
    call("cuGraphInstantiateWithFlags", byref(executable), graph, 0)
    call("cuGraphDestroy", graph)
    runtime("fa4RuntimeRun", program, byref(arguments), other)
    call("cuStreamSynchronize", other)
    check()
    call("cuGraphLaunch", executable, stream)
    check()
    call("cuGraphExecDestroy", executable)
    runtime.library.fa4RuntimeUnload(program)
    print("done")


main(*sys.argv[1:])
