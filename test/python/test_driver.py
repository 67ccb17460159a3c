# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stand-in driver library (tools/fa4-driver): programs of the CUDA driver API that run on it. Each is a process of its own,
as a driver starts once, with the environment that a test gives it."""

import json
import os
import shutil
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from fa4 import sim, tools
from fa4_testing import gpu

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["FA4_OPT"]).resolve().parents[1] / "lib" / "fa4-driver"
AXPY = ROOT / "docs" / "examples" / "axpy.ptx"
pytestmark = pytest.mark.skipif(not (LIBRARY / "libcuda.so.1").exists(), reason="needs the target fa4-driver")

PREAMBLE = f"""
from cuda_driver import *
import json, os, sys
AXPY = open({str(AXPY)!r}).read()
def axpy(x, y, factor, n, count=None):
    return x, y, ctypes.c_float(factor), ctypes.c_uint(n)
"""


def run(program, tmp_path, *arguments, status=0, chip="sm_90a", **environment):
    """Runs a program behind PREAMBLE; its output and its error output. Nothing of the user's settings is seen."""
    path = tmp_path / "program.py"
    path.write_text(PREAMBLE + textwrap.dedent(program))
    settings = {f"FA4_DRIVER_{name}": str(value) for name, value in {"chip": chip, **environment}.items()}
    settings = {name.upper(): value for name, value in settings.items()}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FA4_DRIVER_")}
    env = {**inherited, "LD_LIBRARY_PATH": str(LIBRARY), "PYTHONPATH": str(Path(__file__).parent), **settings}
    done = subprocess.run([sys.executable, path, *arguments], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_launch(tmp_path):
    """A program allocates memory, loads a module, and launches a kernel with parameters by pointers and by a buffer.
    Results and the log of launches must be right."""
    output, errors = run(
        """
        start()
        function = load(AXPY, "axpy")
        x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
        dx, dy = upload(x), upload(y)
        launch(function, (4, 1, 1), (32, 1, 1), *axpy(c_uint64(dx), c_uint64(dy), 0.5, 100))
        call("cuCtxSynchronize")
        assert (download(dy, y) == x / 2 + 1).all()
        # x, y, factor and n in one buffer.
        buffer = ctypes.create_string_buffer(np.array([dx, dy], np.uint64).tobytes() + np.float32(1).tobytes() + np.uint32(50).tobytes(), 24)
        size = c_size_t(24)
        extra = (c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), None)
        call("cuLaunchKernel", function, 2, 1, 1, 32, 1, 1, 0, None, None, extra)
        assert (download(dy, y)[:50] == (x * 1.5 + 1)[:50]).all() and (download(dy, y)[50:] == (x / 2 + 1)[50:]).all()
        print("fine")
        """,
        tmp_path,
        log=tmp_path / "log.jsonl",
    )
    assert output == "fine\n" and errors == ""
    first, second = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert (first["kernel"], first["grid"], first["block"], first["cluster"]) == ("axpy", [4, 1, 1], [32, 1, 1], [1, 1, 1])
    assert first["findings"] == 0 and first["status"] == 0 and first["seconds"] > 0 and second["launch"] == 1


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_program_in_c(tmp_path):
    """A program in C that is linked against the library, as nvcc links, runs without Python and without dlopen."""
    (tmp_path / "program.c").write_text(
        r"""
        #include <stdio.h>
        #include <stdlib.h>
        typedef unsigned long long ptr;
        int cuInit(unsigned), cuDeviceGet(int *, int), cuCtxCreate_v2(void **, unsigned, int), cuCtxSynchronize(void);
        int cuMemAlloc_v2(ptr *, size_t), cuMemcpyHtoD_v2(ptr, const void *, size_t), cuMemcpyDtoH_v2(void *, ptr, size_t);
        int cuMemsetD32_v2(ptr, unsigned, size_t), cuModuleLoad(void **, const char *), cuModuleGetFunction(void **, void *, const char *);
        int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
        int cuMemFree_v2(ptr), cuGetErrorString(int, const char **), cuCtxDestroy_v2(void *), cuArray3DCreate_v2(void *, void *);
        static void check(int error, int line) {
          const char *text = "?";
          if (!error) return;
          cuGetErrorString(error, &text);
          printf("line %d: %s\n", line, text);
          exit(1);
        }
        #define CHECK(call) check(call, __LINE__)
        int main(int argc, char **argv) {
          int device; void *context, *module, *kernel; ptr x, y;
          float values[64], factor = 3; unsigned n = 64;
          for (int i = 0; i < 64; i++) values[i] = i;
          CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuCtxCreate_v2(&context, 0, device));
          CHECK(cuMemAlloc_v2(&x, sizeof values)); CHECK(cuMemAlloc_v2(&y, sizeof values));
          CHECK(cuMemcpyHtoD_v2(x, values, sizeof values)); CHECK(cuMemsetD32_v2(y, 0x3f800000, 64));
          CHECK(cuModuleLoad(&module, argv[1])); CHECK(cuModuleGetFunction(&kernel, module, "axpy"));
          void *params[] = {&x, &y, &factor, &n};
          CHECK(cuLaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, 0, params, 0)); CHECK(cuCtxSynchronize());
          CHECK(cuMemcpyDtoH_v2(values, y, sizeof values)); CHECK(cuMemFree_v2(x)); CHECK(cuMemFree_v2(y));
          for (int i = 0; i < 64; i++) if (values[i] != 3 * i + 1) return printf("%d: %f\n", i, values[i]), 1;
          printf("array: %d %d\n", cuArray3DCreate_v2(0, 0), cuArray3DCreate_v2(0, 0));
          CHECK(cuCtxDestroy_v2(context));
          return puts("fine"), 0;
        }
        """
    )
    link = [f"-L{LIBRARY}", "-l:libcuda.so.1", f"-Wl,-rpath,{LIBRARY}"]
    subprocess.run(["cc", "-o", tmp_path / "program", tmp_path / "program.c", *link], check=True)
    done = subprocess.run([tmp_path / "program", AXPY], env={"FA4_DRIVER_CHIP": "sm_90a"}, capture_output=True, text=True)
    assert done.stdout == "array: 801 801\nfine\n" and done.returncode == 0
    # Said once.
    assert done.stderr == "fa4-driver: cuArray3DCreate_v2 is not supported\n"


def test_findings(tmp_path):
    """A finding is the error of the calls that wait for the launch, with fa4-sim's text, until the context is reset."""
    output, errors = run(
        """
        start()
        function = load(AXPY, "axpy")
        x = upload(np.zeros(32, np.float32)); y = upload(np.zeros(32, np.float32))
        stream, event = c_void_p(), c_void_p()
        call("cuStreamCreate", byref(stream), 0); call("cuEventCreate", byref(event), 0)
        launch(function, (1, 1, 1), (64, 1, 1), *axpy(c_uint64(x), c_uint64(y), 1, 33))
        for name, arguments in [("cuCtxSynchronize", ()), ("cuStreamSynchronize", (stream,)), ("cuStreamQuery", (None,)),
                                ("cuMemcpyDtoH_v2", (ctypes.create_string_buffer(4), x, 4)), ("cuMemsetD8_v2", (x, 0, 4)),
                                ("cuMemAlloc_v2", (byref(c_uint64()), 4)), ("cuEventSynchronize", (event,))]:
            assert fails(name, *arguments) == "CUDA_ERROR_LAUNCH_FAILED", name
        assert fails("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, None) == "CUDA_ERROR_LAUNCH_FAILED"
        call("cuDevicePrimaryCtxReset_v2", 0)
        launch(function, (1, 1, 1), (64, 1, 1), *axpy(c_uint64(x), c_uint64(y), 1, 32))
        call("cuCtxSynchronize")
        """,
        tmp_path,
        log=tmp_path / "log.jsonl",
    )
    assert "fa4-driver: launch 0 of 'axpy' failed\nmodule1.ptx:" in errors
    assert "ld.global.f32 %f2, [%rd4]" in errors and "past the end of memory1" in errors
    first, second = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert first["status"] == 719 and first["findings"] == 1 and first["reports"][0]["kind"] == "out-of-bounds"
    assert second["status"] == 0 and second["findings"] == 0


RACE = """
    start()
    function = load(os.environ["PTX"], "axpy")
    x, y = upload(np.ones(64, np.float32)), upload(np.zeros(64, np.float32))
    launch(function, (2, 1, 1), (32, 1, 1), *axpy(c_uint64(x), c_uint64(y), 1, 64))
    print(fails("cuCtxSynchronize"))
    """


@pytest.mark.parametrize("settings, result", [({}, "LAUNCH_FAILED"), ({"check": 0}, "SUCCESS"), ({"allow": "race"}, "SUCCESS")])
def test_checks(tmp_path, settings, result, monkeypatch):
    """All threads write to one element: the checks must find the race, unless they are turned off or this kind of
    finding is allowed."""
    monkeypatch.setenv("PTX", AXPY.read_text().replace("add.s64 %rd5, %rd2, %rd3", "mov.b64 %rd5, %rd2"))
    output, errors = run(RACE, tmp_path, **settings)
    assert output == f"CUDA_{'' if result == 'SUCCESS' else 'ERROR_'}{result}\n" and ("[race]" in errors) == (result != "SUCCESS")


def test_kernel_of_fa4_compile(tmp_path, rng):
    """A kernel of attention, with tensor maps that cuTensorMapEncodeTiled makes, 200 KiB of dynamic shared memory and
    PDL, gives the same bits as the manifest's run."""
    kernel = gpu.compile(gpu.Op(head_dim=64).mlir(), tmp_path / "kernel")
    described = json.loads(kernel.manifest.read_text())
    arrays = {n: rng.standard_normal((1, 128, 2, 64)).astype(gpu.DTYPES["bf16"]) for n in "qkv"}
    arrays |= {"out": np.zeros_like(arrays["q"]), "lse": np.zeros((1, 2, 128), np.float32)}
    # The manifest as fa4-sim has understood it: a map's bytes are those of the driver's function.
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array.view(np.uint16 if array.itemsize == 2 else array.dtype))
    launched = described["launches"][0] if "launches" in described else described
    (tmp_path / "kernel.json").write_text(json.dumps(described))
    sizes = {n: v for n, v in (described.get("sizes") or {}).items()}
    values = evaluate(launched, described, arrays, sizes)
    (tmp_path / "call.json").write_text(json.dumps(values))
    output, errors = run(
        """
        call_ = json.load(open("call.json"))
        start()
        function = load(open(call_["ptx"]).read(), call_["entry"])
        arrays = {n: np.load(n + ".npy") for n in ("q", "k", "v", "out", "lse")}
        at = {n: upload(a) for n, a in arrays.items()}
        params = []
        for p in call_["params"]:
            if "tensormap" in p:
                m = p["tensormap"]
                params.append(tensor_map(at[m["tensor"]] + m["offset"], m["dims"], m["byte_strides"], m["box"], m["kind"], m["swizzle"]))
            elif "tensor" in p:
                params.append(c_uint64(at[p["tensor"]] + p["offset"]))
            else:
                params.append((ctypes.c_char * (len(p["bytes"]) // 2)).from_buffer_copy(bytes.fromhex(p["bytes"])))
        config = launch_config(call_["grid"], call_["block"], call_["cluster"], call_["smem"], serialized=True)
        array, keep = pointers(*params)
        assert fails("cuLaunchKernelEx", byref(config), function, array, None) == "CUDA_ERROR_INVALID_VALUE"
        call("cuFuncSetAttribute", function, 8, call_["smem"])
        call("cuLaunchKernelEx", byref(config), function, array, None)
        call("cuCtxSynchronize")
        for n in ("out", "lse"):
            np.save(n + ".result.npy", download(at[n], arrays[n]))
        """,
        tmp_path,
        chip="sm_100a",
    )
    assert "bytes of dynamic shared memory are over the 49152 that MAX_DYNAMIC_SHARED_SIZE_BYTES allows" in errors
    expected = gpu.simulate(kernel, {n: arrays[n] for n in "qkv"}, ["out", "lse"], check=False)
    np.testing.assert_array_equal(np.load(tmp_path / "out.result.npy"), expected[0].view(np.uint16))
    np.testing.assert_array_equal(np.load(tmp_path / "lse.result.npy"), expected[1])


def evaluate(launched, described, arrays, sizes):
    """The launch of a manifest with all expressions as numbers. Python's operators do for those of fa4-compile."""
    for name, tensor in described["tensors"].items():
        if name in arrays:
            sizes |= {s: n for s, n in zip(tensor["shape"], arrays[name].shape) if isinstance(s, str) and s in sizes}
    names = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "align": lambda a, b: -(-a // b) * b} | sizes

    def number(value):
        return int(eval(value.replace("/", "//"), names)) if isinstance(value, str) else value

    def parameter(param):
        if "tensormap" in param:
            m = param["tensormap"]
            lists = {k: [number(v) for v in m[k]] for k in ("dims", "byte_strides", "box")}
            kind = {"bf16": 9, "f16": 6, "f32": 7}[m.get("dtype") or described["tensors"][m["tensor"]]["dtype"]]
            swizzle = ["none", "32B", "64B", "128B"].index(m.get("swizzle", "none"))
            place = {"tensor": m["tensor"], "offset": number(m.get("offset", 0))}
            return {"tensormap": {**lists, **place, "kind": kind, "swizzle": swizzle}}
        if "tensor" in param:
            return {"tensor": param["tensor"], "offset": number(param.get("offset", 0))}
        dtype = sim.DTYPES[param.get("type", "i32")].type
        value = eval(param["value"], names) if isinstance(param["value"], str) else param["value"]
        return {"bytes": np.asarray(value).astype(dtype).tobytes().hex()}

    def triple(key):
        values = [number(v) for v in launched.get(key) or [1]]
        return values + [1] * (3 - len(values))

    folder = "kernel"
    ptx = f"{folder}/{launched.get('ptx') or described['ptx']}"
    shape = {key: triple(key) for key in ("grid", "block", "cluster")}
    params = [parameter(p) for p in launched["params"]]
    return {"ptx": ptx, "entry": launched["entry"], "smem": number(launched.get("dynamic_smem", 0)), "params": params, **shape}


def test_bad_calls(tmp_path):
    """Each bad call returns the error that the driver would return, and a text says why."""
    output, errors = run(
        r"""
        assert fails("cuDeviceGet", byref(c_int()), 0) == "CUDA_ERROR_NOT_INITIALIZED"
        call("cuInit", 0)
        module, function, address = c_void_p(), c_void_p(), c_uint64()
        assert fails("cuMemAlloc_v2", byref(address), 4) == "CUDA_ERROR_INVALID_CONTEXT"
        assert fails("cuDeviceGet", byref(c_int()), 1) == "CUDA_ERROR_INVALID_DEVICE"
        start()
        for image, error in [(b"\x7fELF\2\1\1" + bytes(60), "CUDA_ERROR_INVALID_IMAGE"), (b"P\xedU\xba\1\0", "CUDA_ERROR_INVALID_IMAGE"),
                             (b"hello", "CUDA_ERROR_INVALID_PTX"), (AXPY.replace("fma.rn", "fma.rx").encode(), "CUDA_ERROR_INVALID_PTX"),
                             (AXPY.replace("sm_90a", "sm_100a").encode(), "CUDA_ERROR_NO_BINARY_FOR_GPU")]:
            assert fails("cuModuleLoadData", byref(module), c_char_p(image)) == error, image
        assert fails("cuModuleLoad", byref(module), c_char_p(b"absent.ptx")) == "CUDA_ERROR_FILE_NOT_FOUND"
        call("cuModuleLoadData", byref(module), c_char_p(AXPY.encode()))
        assert fails("cuModuleGetFunction", byref(function), module, c_char_p(b"apxy")) == "CUDA_ERROR_NOT_FOUND"
        assert fails("cuModuleGetFunction", byref(function), c_void_p(64), c_char_p(b"axpy")) == "CUDA_ERROR_INVALID_HANDLE"
        call("cuModuleGetFunction", byref(function), module, c_char_p(b"axpy"))
        x = upload(np.zeros(32, np.float32))
        good = axpy(c_uint64(x), c_uint64(x), 1, 32)
        array, keep = pointers(*good)
        for grid, block in [((0, 1, 1), (32, 1, 1)), ((1, 1, 70000), (32, 1, 1)), ((1, 1, 1), (2048, 1, 1))]:
            assert fails("cuLaunchKernel", function, *grid, *block, 0, None, array, None) == "CUDA_ERROR_INVALID_VALUE", grid
        assert fails("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, None) == "CUDA_ERROR_INVALID_VALUE"
        wide = launch_config((32, 1, 1), (32, 1, 1), (16, 1, 1))
        assert fails("cuLaunchKernelEx", byref(wide), function, array, None) == "CUDA_ERROR_INVALID_CLUSTER_SIZE"
        call("cuFuncSetAttribute", function, 14, 1)
        call("cuLaunchKernelEx", byref(wide), function, *[pointers(*axpy(c_uint64(x), c_uint64(x), 1, 0))[0]], None)
        assert fails("cuFuncSetAttribute", function, 8, 300000) == "CUDA_ERROR_INVALID_VALUE"
        assert fails("cuMemFree_v2", x + 4) == "CUDA_ERROR_INVALID_VALUE"
        call("cuMemFree_v2", x)
        assert fails("cuMemFree_v2", x) == "CUDA_ERROR_INVALID_VALUE"
        assert fails("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), x, 4) == "CUDA_ERROR_INVALID_VALUE"
        assert fails("cuMemAlloc_v2", byref(address), 1 << 40) == "CUDA_ERROR_OUT_OF_MEMORY"
        try:
            tensor_map(1 << 33, [64, 64], [100], [64, 64], 9, 3)
        except CudaError as error:
            print(error)
        call("cuModuleUnload", module)
        assert fails("cuModuleUnload", module) == "CUDA_ERROR_INVALID_HANDLE"
        # Functions by name: what is there, what is known but not there, what nobody knows.
        assert symbol("cuMemAlloc")[0] == "CUDA_SUCCESS" and symbol("cuCtxCreate", 13000)[1] != symbol("cuCtxCreate", 11000)[1]
        result, stub, _ = symbol("cuArrayCreate")
        assert result == "CUDA_SUCCESS" and ctypes.CFUNCTYPE(c_int)(stub)() == 801
        assert symbol("cuFrobnicate") == ("CUDA_ERROR_NOT_FOUND", None, 1) and symbol("malloc")[1] is None
        """,
        tmp_path,
    )
    assert output == "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE\n"
    for message in (
        "the image is a cubin, and the simulator runs PTX text. Name the folders that hold the PTX in FA4_DRIVER_PTX",
        "the image is a fatbin",
        "module1.ptx:1:1: error",
        "unsupported instruction form 'fma.rx.f32'",
        "module3.ptx is for sm_100a, the device is sm_90a; FA4_DRIVER_CHIP names another one",
        "absent.ptx: No such file or directory",
        "module4.ptx has no entry 'apxy'; there is: axpy",
        "grid (0,1,1), block (32,1,1) or cluster (1,1,1) is empty",
        "block (2048,1,1) is over 1024 threads",
        "entry 'axpy': parameter 'x' is missing",
        "a cluster of 16 CTAs needs NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
        "300000 bytes of dynamic shared memory are over the 232448 that an SM has for it",
        "is not what an allocation of this kind returned, or is free already",
        "cuMemcpyDtoH: 4 bytes from ",
        "tensor map: byte stride of dimension 1 is 100, not a multiple of 16",
        "cuArrayCreate is not supported",
    ):
        assert message in errors, message


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"chip": "sm_80"}, "FA4_DRIVER_CHIP: no table of the chip 'sm_80'"),
        ({"check": "yes"}, "FA4_DRIVER_CHECK is 0 or 1, not 'yes'"),
        ({"allow": "races"}, "FA4_DRIVER_ALLOW: 'races' is no finding behind which a run can go on; did you mean 'race'?"),
        ({"seed": "x"}, "FA4_DRIVER_SEED is a number, not 'x'"),
        ({"policy": "lazzy"}, "FA4_DRIVER_POLICY: unknown policy 'lazzy' (known: random, eager, lazy, priority)"),
    ],
)
def test_bad_settings(tmp_path, settings, message):
    """A setting of the driver has a wrong value: cuInit must fail and the error output must name the setting."""
    _, errors = run('assert fails("cuInit", 0) == "CUDA_ERROR_NO_DEVICE"', tmp_path, **settings)
    assert f"fa4-driver: {message}" in errors


def test_device(tmp_path):
    """The library answers with the facts of the chip that programs ask for most."""
    output, _ = run(
        """
        start()
        name = ctypes.create_string_buffer(64)
        call("cuDeviceGetName", name, 64, 0)
        print(name.value.decode(), *map(attribute, (75, 76, 16, 10, 97, 81, 8, 39, 120)))
        free, total = c_size_t(), c_size_t()
        allocate(1 << 20); call("cuMemGetInfo_v2", byref(free), byref(total)); assert total.value - free.value == 1 << 20
        """,
        tmp_path,
        chip="sm_100a",
    )
    assert output == "fa4-sim sm_100a 10 0 148 32 232448 233472 49152 2048 1\n"


def test_host_memory(tmp_path):
    """A kernel reads and writes memory of the host that is registered, allocated for it, or managed, at its own address."""
    run(
        """
        start()
        function = load(AXPY, "axpy")
        x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
        call("cuMemHostRegister_v2", c_void_p(x.ctypes.data), x.nbytes, 0)
        assert fails("cuMemHostRegister_v2", c_void_p(x.ctypes.data + 64), 64, 0) == "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
        managed, pinned, kind = c_uint64(), c_void_p(), c_uint()
        call("cuMemAllocManaged", byref(managed), y.nbytes, 1)
        call("cuMemcpy", managed, c_uint64(y.ctypes.data), y.nbytes)
        launch(function, (2, 1, 1), (32, 1, 1), *axpy(c_uint64(x.ctypes.data), managed, 2, 64))
        call("cuCtxSynchronize")
        result = np.ctypeslib.as_array((ctypes.c_float * 64).from_address(managed.value))
        assert (result == 2 * x + 1).all()
        call("cuMemHostAlloc", byref(pinned), 256, 0)
        call("cuPointerGetAttribute", byref(kind), 2, c_uint64(pinned.value)); assert kind.value == 1
        call("cuPointerGetAttribute", byref(kind), 2, managed); assert kind.value == 2
        assert fails("cuPointerGetAttribute", byref(kind), 2, c_uint64(y.ctypes.data)) == "CUDA_ERROR_INVALID_VALUE"
        call("cuMemFreeHost", pinned); call("cuMemFree_v2", managed); call("cuMemHostUnregister", c_void_p(x.ctypes.data))
        launch(function, (1, 1, 1), (32, 1, 1), *axpy(c_uint64(x.ctypes.data), c_uint64(x.ctypes.data), 2, 1))
        assert fails("cuCtxSynchronize") == "CUDA_ERROR_LAUNCH_FAILED"
        """,
        tmp_path,
    )


def test_memory_that_a_framework_frees_by_itself(tmp_path):
    """Registered memory that overlaps a new registration is replaced by it. Memory that the driver has allocated is
    kept, and the registration refused."""
    run(
        """
        start()
        block = ctypes.create_string_buffer(4096); at = ctypes.addressof(block)
        replace = lambda offset, size: fails("cuFa4ReplaceHost", c_void_p(at + offset), size)
        known = lambda offset: fails("cuPointerGetAttribute", byref(c_int()), 9, c_uint64(at + offset)) == "CUDA_SUCCESS"
        assert replace(0, 1024) == replace(1024, 1024) == replace(1024, 1024) == "CUDA_SUCCESS"
        assert replace(512, 1024) == "CUDA_SUCCESS" and not known(0) and known(512) and known(1535) and not known(1536)
        assert replace(2048, 64) == "CUDA_SUCCESS" and known(512)
        pinned = c_void_p(); call("cuMemHostAlloc", byref(pinned), 256, 0)
        assert fails("cuFa4ReplaceHost", c_void_p(pinned.value - 8), 64) == "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
        """,
        tmp_path,
    )


def test_the_runtime_under_cute_dsl(tmp_path):
    """CuTe-DSL calls functions of the runtime with an underscore in front: they must start the driver and its context
    by themselves."""
    output, errors = run(
        """
        class Config(ctypes.Structure):
            _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("smem", c_size_t), ("stream", c_void_p), ("attributes", c_void_p), ("count", c_uint)]
        x, library, kernel, count = c_uint64(), c_void_p(), c_void_p(), c_int()
        values = np.ones(32, np.float32)
        call("_cudaGetDeviceCount", byref(count)); assert count.value == 1
        call("_cudaMalloc", byref(x), values.nbytes)
        call("_cudaMemcpy", x, c_uint64(values.ctypes.data), values.nbytes, 1)
        call("_cudaLibraryLoadData", byref(library), c_char_p(AXPY.encode()), None, None, 0, None, None, 0)
        call("_cudaLibraryGetKernel", byref(kernel), library, c_char_p(b"axpy"))
        call("_cudaKernelSetAttributeForDevice", kernel, 8, 65536, 0)
        call("_cuKernelGetAttribute", byref(count), 8, kernel, 0); assert count.value == 65536
        array, keep = pointers(*axpy(x, x, 2, 32))
        config = Config((c_uint * 3)(1, 1, 1), (c_uint * 3)(32, 1, 1), 65536, None, None, 0)
        call("_cudaLaunchKernelEx", byref(config), kernel, array)
        call("_cudaDeviceSynchronize")
        assert (download(x.value, values) == 3).all()
        assert fails("_cudaGraphLaunch", None, None) == "CUDA_ERROR_INVALID_HANDLE"
        assert fails("_cudaGetDeviceProperties", None, None) == "CUDA_ERROR_NOT_SUPPORTED"
        # How many CTAs fit an SM: by threads, by shared memory; how much each of two has.
        blocks, room = c_int(), c_size_t()
        for threads, smem, fit in [(32, 0, 32), (1024, 0, 2), (128, 100000, 2), (128, 232448, 1), (2048, 0, 0)]:
            call("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), kernel, threads, smem); assert blocks.value == fit, threads
        call("cuOccupancyAvailableDynamicSMemPerBlock", byref(room), kernel, 2, 128); assert room.value == 233472 // 2 - 1024
        config = launch_config((132, 1, 1), (128, 1, 1), (2, 1, 1), smem=200000)
        call("cuOccupancyMaxActiveClusters", byref(blocks), kernel, byref(config)); assert blocks.value == 66
        """,
        tmp_path,
    )
    assert errors == "fa4-driver: _cudaGetDeviceProperties is not supported\n"


def test_globals_keep_their_values(tmp_path):
    """A variable of a module has one memory, which all launches of the module and the host share."""
    run(
        """
        start()
        text = AXPY.split("\\n.visible")[0] + '''
        .visible .global .align 4 .u32 total = 5;
        .visible .entry count() { .reg .b32 %r<2>; .reg .b64 %a; mov.b64 %a, total; atom.global.add.u32 %r1, [%a], 1; ret; }
        '''
        function, module, address, size = load(text, "count"), c_void_p(), c_uint64(), c_size_t()
        for _ in range(2):
            launch(function, (3, 1, 1), (1, 1, 1))
        call("cuFuncGetModule", byref(module), function)
        call("cuModuleGetGlobal_v2", byref(address), byref(size), module, c_char_p(b"total"))
        assert size.value == 4 and download(address.value, np.zeros(1, np.uint32))[0] == 11
        assert fails("cuModuleGetGlobal_v2", byref(address), byref(size), module, c_char_p(b"totals")) == "CUDA_ERROR_NOT_FOUND"
        """,
        tmp_path,
    )


def test_machine_code_with_its_ptx_beside(tmp_path):
    """A cubin is loaded: the newest PTX below the folders that has its entry must run in its place."""
    folder = tmp_path / "dumps" / "deep"
    folder.mkdir(parents=True)
    (folder / "axpy.ptx").write_text(AXPY.read_text() + "\0")
    (folder / "other.ptx").write_text(AXPY.read_text().replace("axpy", "axpy2"))
    program = r"""
        start()
        function = load("\x7fELF" + " " * 60, "axpy")
        x = upload(np.ones(32, np.float32))
        launch(function, (1, 1, 1), (32, 1, 1), *axpy(c_uint64(x), c_uint64(x), 1, 32))
        assert (download(x, np.zeros(32, np.float32)) == 2).all()
        module, function = c_void_p(), c_void_p()
        call("cuModuleLoadData", byref(module), c_char_p(b"\x7fELF" + bytes(60)))
        assert fails("cuModuleGetFunction", byref(function), module, c_char_p(b"axp")) == "CUDA_ERROR_NOT_FOUND"
        """
    _, errors = run(program, tmp_path, ptx=f"{tmp_path}/absent:{tmp_path}/dumps")
    assert f"no .ptx file in {tmp_path}/absent:{tmp_path}/dumps has the entry 'axp'" in errors


def test_kernels_that_a_cubin_names(tmp_path):
    """A program that lists the kernels of a library gets those of a cubin whose PTX is there."""
    names = ["", ".shstrtab", ".text.axpy", ".nv.constant0.axpy", ".nv.constant0.gone", ".nv.info.axpy"]
    strings = b"".join(n.encode() + b"\0" for n in names)
    headers = b""
    for i, name in enumerate(names):
        at = len(b"".join(n.encode() + b"\0" for n in names[:i]))
        headers += struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, 64 if name == ".shstrtab" else 0, len(strings), 0, 0, 1, 0)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(strings), 0, 64, 0, 0, 64, len(names), 1)
    (tmp_path / "a.cubin").write_bytes(header + strings + headers)
    (tmp_path / "axpy.ptx").write_text(AXPY.read_text())
    _, errors = run(
        """
        start()
        library, kernels, count, name = c_void_p(), (c_void_p * 2)(), c_uint(), c_char_p()
        call("cuLibraryLoadFromFile", byref(library), c_char_p(b"a.cubin"), None, None, 0, None, None, 0)
        call("cuLibraryGetKernelCount", byref(count), library); assert count.value == 1
        call("cuLibraryEnumerateKernels", kernels, 2, library); assert kernels[1] is None
        call("cuKernelGetName", byref(name), c_void_p(kernels[0])); assert name.value == b"axpy"
        """,
        tmp_path,
        ptx=tmp_path,
    )
    assert "has the entry 'gone'" in errors


def test_the_log_of_a_bad_image(tmp_path):
    """A module with a syntax error is loaded: the caller's log must have the error, cut to its length."""
    run(
        r"""
        start()
        module, log = c_void_p(), ctypes.create_string_buffer(b"-" * 40, 40)
        options, values = (c_int * 3)(0, 5, 6), (c_void_p * 3)(32, ctypes.addressof(log), 32)
        assert fails("cuModuleLoadDataEx", byref(module), c_char_p(b"}\n"), 3, options, values) == "CUDA_ERROR_INVALID_PTX"
        assert log.raw.startswith(b"module1.ptx:1:1: error") and log.raw[31:33] == b"\0-", log.raw
        log.value = b"none"
        call("cuModuleLoadDataEx", byref(module), c_char_p(AXPY.encode()), 3, options, values); assert log.value == b"none"
        """,
        tmp_path,
    )


def test_record(tmp_path):
    """FA4_DRIVER_RECORD keeps each launch as a record, which fa4-sim runs to the same result."""
    program = """
        start()
        function = load(AXPY, "axpy")
        x, y = upload(np.arange(64, dtype=np.float32)), upload(np.ones(64, np.float32))
        for n in (64, 32):
            launch(function, (2, 1, 1), (32, 1, 1), *axpy(c_uint64(x), c_uint64(y), 2, n))
        """
    run(program, tmp_path, record=tmp_path / "recorded")
    result = np.zeros(256, np.uint8)
    given = np.load(tmp_path / "recorded" / "launch-0-memory2.npy")
    result[:] = given
    assert sim.launch(tmp_path / "recorded", args={"memory2": result}).runs == 2
    n = np.arange(64)
    np.testing.assert_array_equal(result.view(np.float32), np.where(n < 32, 4 * n + 1, 2 * n + 1))


VARIABLES = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry count(.param .u64 out, .param .u64 other) {
  .reg .b32 a, b; .reg .b64 o, p;
  ld.param.u64 o, [out]; ld.param.u64 p, [other];
  ld.global.u32 a, [counter]; ld.global.u32 b, [p];
  st.global.v2.u32 [o], {a, b};
  add.u32 a, a, 1; st.global.u32 [counter], a;
  ret;
}
"""


def test_record_of_variables(tmp_path):
    """A record has the variables of the kernel's module, and those of others, at their addresses and with their contents."""
    program = f"""
        start()
        text = {VARIABLES!r}
        function, other = load(text, "count"), load(text, "count")
        def variable(function):
            module, at, size = c_void_p(), c_uint64(), c_size_t()
            call("cuFuncGetModule", byref(module), function)
            call("cuModuleGetGlobal_v2", byref(at), byref(size), module, b"counter")
            assert size.value == 4
            return at
        out = upload(np.zeros(2, np.uint32))
        call("cuMemsetD32_v2", variable(other).value, 70, 1)
        for _ in range(2):
            launch(function, (1, 1, 1), (1, 1, 1), c_uint64(out), variable(other))
        assert download(out, np.zeros(2, np.uint32)).tolist() == [6, 70]
        """
    run(program, tmp_path, record=tmp_path / "recorded")
    out = np.zeros(8, np.uint8)
    for what, want in (("launch-0.json", 5), ("launch-1.json", 6), (".", 6)):
        sim.launch(tmp_path / "recorded" / what, args={"memory1": out})
        assert out.view(np.uint32).tolist() == [want, 70], what


def test_what_hardware_tolerates_fails_no_launch(tmp_path):
    """A fault that hardware tolerates fails no launch. It is reported once for a kernel; without checks it is a
    note."""
    text = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry twice(.param .u64 out) {
  .reg .b64 o; .shared .align 8 .b64 bar;
  mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [bar], 1;
  ld.param.u64 o, [out]; st.global.u32 [o], 7;
  ret;
}
"""
    program = f"""
        start()
        function, out = load({text!r}, "twice"), upload(np.zeros(1, np.uint32))
        for _ in range(2):
            launch(function, (1, 1, 1), (1, 1, 1), c_uint64(out))
        call("cuCtxSynchronize")
        assert download(out, np.zeros(1, np.uint32)) == 7
        """
    for check, severity, findings in ((1, "strict", 1), (0, "note", 0)):
        log = tmp_path / f"log{check}"
        _, errors = run(program, tmp_path, check=check, log=log)
        assert errors.count("barrier-reuse") == 1 and f": {severity}: mbarrier bar" in errors, errors
        assert "launch 0 of 'twice':\n" in errors
        launches = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(entry["status"], entry["findings"], entry["strict"]) for entry in launches] == [(0, findings, findings)] * 2
        assert [len(entry["notes"]) for entry in launches] == [1 - findings] * 2
    assert run(program, tmp_path, allow="barrier-reuse")[1] == ""


def test_policy(tmp_path):
    """One thread polls for a value that another thread's copy brings. With the lazy policy, the copy comes only when
    nothing else goes on."""
    text = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b64 o; .reg .b32 d, b, n, v; .reg .pred p; .shared .align 16 .b8 data[16]; .shared .align 8 .b64 bar;
  ld.param.u64 o, [out]; mov.u32 d, data; mov.u32 b, bar; mov.u32 n, 0;
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [o], 16, [b];
again:
  mbarrier.test_wait.parity.shared.b64 p, [bar], 0;
  @p bra over;
  add.u32 n, n, 1;
  setp.lt.u32 p, n, 1000;
  @p bra again;
over:
  st.global.u32 [o+16], n;
wait:
  mbarrier.try_wait.parity.shared.b64 p, [bar], 0;
  @!p bra wait;
  ret;
}
"""
    program = f"""
        start()
        function, out = load({text!r}, "k"), upload(np.zeros(5, np.uint32))
        launch(function, (1, 1, 1), (1, 1, 1), c_uint64(out))
        print(download(out, np.zeros(5, np.uint32))[4])
        """
    tries = {policy: int(run(program, tmp_path, policy=policy, check=0)[0]) for policy in ("eager", "lazy")}
    assert tries["lazy"] == 1000 > tries["eager"]


@pytest.mark.skipif(not shutil.which("nm"), reason="needs nm")
def test_nothing_but_the_api_is_exported():
    """The library exports only the API: LLVM's and the C++ library's symbols in it must not meet those of a compiler in
    the same process."""
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY / "libcuda.so.1"], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert "cuInit" in names and "cuGraphCreate" in names and len(names) > 400
    assert not [name for name in names if not name.lstrip("_").startswith("cu")]


def test_ptxas_hands_ptx_on(tmp_path):
    """The stand-in ptxas gets PTX: it must copy it to its output, and fail on text that is no PTX."""
    ptxas = LIBRARY / "ptxas"
    command = [ptxas, "-lineinfo", "-v", "--gpu-name=sm_100a", AXPY, "-o", tmp_path / "a.cubin"]
    subprocess.run(command, check=True)
    assert (tmp_path / "a.cubin").read_text() == AXPY.read_text()
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    assert "release 13.0" in version
    (tmp_path / "no.ptx").write_text("hello")
    for given in ([tmp_path / "no.ptx"], []):
        assert subprocess.run([ptxas, *given, "-o", tmp_path / "b"], capture_output=True).returncode
    assert not (tmp_path / "b").exists()
    assert tools.ROOT == ROOT
