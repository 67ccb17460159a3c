# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch recorded kernels on a GPU by libfa4_runtime: whether the results are right, and what a launch costs on the host.

usage: python3 launch_overhead.py RECORD... [--library libfa4_runtime.so] [--write FILE.json] [--fa4]

RECORD is a folder of recorded launches of FlashAttention-4 on the GPU's architecture (bench/peers/record_fa4.py), with q, k, v, out and
lse, and for a gradient dout, dq, dk and dv; "causal" in its name means what it says. Results are compared with attention in float64. Times are those of the host
from the call until it returns, while the GPU has less work than it can queue: the median of many, in microseconds. With --fa4 FlashAttention-4's own Python function, where it is
installed, is timed on the same sizes. Needs torch, a C compiler and the driver; nothing else of fa4, so that it runs on a machine with a card alone."""

import argparse
import contextlib
import ctypes
import datetime
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p, sizeof
from pathlib import Path

import torch

# The clock is read in C: a call from Python would be most of what is measured.
CLOCK = r"""
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
int measure(int (*f)(void *, void *, void *, void *), void *a, void *b, void *c, void *d, int (*synchronize)(void), int count, int burst, double *times) {
  for (int i = 0; i < count; ++i) {
    if (i % burst == 0 && synchronize()) return -1;
    double begin = now();
    int status = f(a, b, c, d);
    times[i] = now() - begin;
    if (status) return status;
  }
  return synchronize();
}
"""


class LoadOptions(Structure):
    _fields_ = [("size", c_size_t), ("manifest", c_char_p), ("manifestLength", c_size_t), ("file", c_char_p), ("images", c_void_p), ("numImages", c_size_t), ("hasDevice", c_bool), ("device", c_int32)]


class Tensor(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("address", c_uint64), ("dtype", c_char_p), ("rank", c_int32), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64))]


class Arguments(Structure):
    _fields_ = [("size", c_size_t), ("tensors", POINTER(Tensor)), ("numTensors", c_size_t), ("scalars", c_void_p), ("numScalars", c_size_t), ("workspace", c_uint64), ("workspaceBytes", c_uint64)]


DTYPES = {torch.bfloat16: b"bf16", torch.float16: b"f16", torch.float32: b"f32", torch.int32: b"i32"}


class Runtime:
    """libfa4_runtime by ctypes; a status that is not 0 is a RuntimeError with the sentence."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.fa4RuntimeDestroyCall.argtypes = self.library.fa4RuntimeUnload.argtypes = [c_void_p]

    def call(self, name, *arguments):
        message = c_char_p()
        if status := getattr(self.library, name)(*arguments, byref(message)):
            raise RuntimeError(f"{name}: {status}: {message.value.decode()}")

    def load(self, folder, device=None):
        options = LoadOptions(size=sizeof(LoadOptions), file=str(folder).encode(), hasDevice=device is not None, device=device or 0)
        program = c_void_p()
        self.call("fa4RuntimeLoad", byref(options), byref(program))
        return program

    def arguments(self, tensors):
        array, keep = (Tensor * len(tensors))(), []
        for entry, (name, t) in zip(array, tensors.items()):
            shape, strides = (c_int64 * t.dim())(*t.shape), (c_int64 * t.dim())(*t.stride())
            keep += [shape, strides, t]
            entry.size, entry.name, entry.address, entry.dtype, entry.rank = sizeof(Tensor), name.encode(), t.data_ptr(), DTYPES[t.dtype], t.dim()
            entry.shape, entry.strides = shape, strides
        result = Arguments(size=sizeof(Arguments), tensors=array, numTensors=len(array))
        result.keep = keep
        return result

    def prepare(self, program, arguments):
        call = c_void_p()
        self.call("fa4RuntimePrepare", program, byref(arguments), byref(call))
        return call

    def launch(self, call, stream=None):
        self.call("fa4RuntimeLaunch", call, c_void_p(stream))

    def run(self, program, arguments, stream=None):
        self.call("fa4RuntimeRun", program, byref(arguments), c_void_p(stream))


def attend(q, k, v, causal):
    """Attention in the inputs' type; q is [b, sq, h, d], k and v have perhaps fewer heads. Returns out and lse, [b, h, sq]."""
    group = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(group, 2) for x in (k, v))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1 + k.shape[1] - q.shape[1])
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v), scores.logsumexp(-1)


def make_tensors(folder, device):
    """Random inputs and poisoned results for a record, and what the kernels should make of them."""
    described = json.loads(sorted(folder.glob("launch-*.json"))[-1].read_text())["tensors"]
    types = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    tensors = {}
    for name, d in described.items():
        if not (name[0] == "t" and name[1:].isdigit()):
            base = torch.full([1 + sum((n - 1) * s for n, s in zip(d["shape"], d["strides"]))], math.nan, device=device, dtype=types[d["dtype"]])
            tensors[name] = base.as_strided(d["shape"], d["strides"])
    inputs = [n for n in ("q", "k", "v", "dout") if n in tensors]
    for name in inputs:
        tensors[name].copy_(torch.randn(tensors[name].shape, device=device))
    wide = {n: tensors[n].double().requires_grad_() for n in inputs}
    causal = "causal" in folder.name
    out, lse = attend(wide["q"], wide["k"], wide["v"], causal)
    if "dout" not in tensors:
        return tensors, {"out": out.detach(), "lse": lse.detach()}
    tensors["out"].copy_(out.detach())
    tensors["lse"].copy_(lse.detach())
    gradients = torch.autograd.grad(out, [wide[n] for n in "qkv"], wide["dout"])
    return tensors, {"d" + n: g for n, g in zip("qkv", gradients)}


def errors(tensors, wanted):
    return {n: float((tensors[n].double() - w).norm() / w.norm()) for n, w in wanted.items()}


def poison(tensors, wanted):
    for name in wanted:
        tensors[name].fill_(math.nan)


class Timer:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        (path / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", path / "clock.c", "-o", path / "clock.so"], check=True)
        self.measure = ctypes.CDLL(str(path / "clock.so")).measure
        self.synchronize = ctypes.CDLL("libcuda.so.1").cuCtxSynchronize

    def __call__(self, function, *arguments, count=2000, burst=50):
        """The median and the ninth decile of the times of a C function with up to four pointers as arguments."""
        times = (c_double * count)()
        padded = [a if a is not None else c_void_p() for a in arguments] + [c_void_p()] * (4 - len(arguments))
        status = self.measure(function, *padded, self.synchronize, count, burst, times)
        assert status == 0, status
        return summary(times)


def summary(times):
    ordered = sorted(times)
    return {"median_us": round(statistics.median(ordered), 3), "p90_us": round(ordered[len(ordered) * 9 // 10], 3)}


def time_python(function, count=2000, burst=50):
    times = []
    for i in range(count):
        if i % burst == 0:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1e6)
    torch.cuda.synchronize()
    return summary(times)


class LaunchConfig(Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("smem", ctypes.c_uint), ("stream", c_void_p), ("attributes", c_void_p), ("count", ctypes.c_uint)]


def time_driver(timer):
    """The driver's own cuLaunchKernelEx of a kernel that does nothing: no launcher can be faster."""
    driver, module, function = ctypes.CDLL("libcuda.so.1"), c_void_p(), c_void_p()
    empty = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { ret; }\n\0"
    assert driver.cuModuleLoadData(byref(module), empty) == 0
    assert driver.cuModuleGetFunction(byref(function), module, b"empty") == 0
    config = LaunchConfig((ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(32, 1, 1), 0, None, None, 0)
    return timer(driver.cuLaunchKernelEx, byref(config), function, None, None)


def check_uses(runtime, program, tensors, wanted):
    """The errors of a launch that was captured in a graph, and of launches from four threads on streams of their own."""
    arguments = runtime.arguments(tensors)
    call = runtime.prepare(program, arguments)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        runtime.launch(call, stream.cuda_stream)
    poison(tensors, wanted)
    graph.replay()
    torch.cuda.synchronize()
    found = {"graph": errors(tensors, wanted)}
    del graph
    runtime.library.fa4RuntimeDestroyCall(call)
    copies = [{n: (t.clone() if n in wanted else t) for n, t in tensors.items()} for _ in range(4)]
    for copy in copies:
        poison(copy, wanted)
    torch.cuda.synchronize()

    def work(copy):
        own = torch.cuda.Stream()
        for _ in range(50):
            runtime.run(program, runtime.arguments(copy), own.cuda_stream)
        own.synchronize()

    threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found["threads"] = {n: max(errors(c, wanted)[n] for c in copies) for n in wanted}
    return found


def time_fa4(tensors, causal):
    """FlashAttention-4's function in Python, after its first calls; None where it is not installed."""
    try:
        from flash_attn.cute import interface
    except ImportError as error:
        print("FlashAttention-4:", error, file=sys.stderr)
        return None
    t = tensors
    if "dout" in t:
        call = lambda: interface._flash_attn_bwd(*(t[n] for n in ("q", "k", "v", "out", "dout", "lse")), causal=causal, dq=t["dq"], dk=t["dk"], dv=t["dv"])
    else:
        call = lambda: interface._flash_attn_fwd(t["q"], t["k"], t["v"], causal=causal, return_lse=True, out=t["out"], lse=t["lse"])
    for _ in range(10):
        call()
    return time_python(call)


def measure_record(runtime, timer, folder, with_fa4):
    device = torch.device("cuda", torch.cuda.current_device())
    tensors, wanted = make_tensors(folder, device)
    begin = time.perf_counter()
    program = runtime.load(folder)
    load = (time.perf_counter() - begin) * 1e3
    arguments = runtime.arguments(tensors)
    begin = time.perf_counter()
    call = runtime.prepare(program, arguments)
    first_prepare = (time.perf_counter() - begin) * 1e6
    runtime.launch(call)
    torch.cuda.synchronize()
    result = {"record": folder.name, "launches": runtime.library.fa4RuntimeGetNumLaunches(program), "load_ms": round(load, 2), "first_prepare_us": round(first_prepare, 1), "errors": errors(tensors, wanted)}
    # What bf16 alone costs: torch's own attention on the same inputs.
    if "dout" not in tensors:
        group = tensors["q"].shape[2] // tensors["k"].shape[2]
        q, k, v = (tensors[n].transpose(1, 2) for n in "qkv")
        own = torch.nn.functional.scaled_dot_product_attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), is_causal="causal" in folder.name)
        result["torch_error"] = float((own.transpose(1, 2).double() - wanted["out"]).norm() / wanted["out"].norm())
    result["uses"] = check_uses(runtime, program, tensors, wanted)
    message = c_char_p()
    library = runtime.library
    result["launch"] = timer(library.fa4RuntimeLaunch, call, None, byref(message))
    result["run"] = timer(library.fa4RuntimeRun, program, byref(arguments), None, byref(message))
    other = c_void_p()
    result["prepare"] = timer(library.fa4RuntimePrepare, program, byref(arguments), byref(other), byref(message), count=200)
    result["launch_by_ctypes"] = time_python(lambda: library.fa4RuntimeLaunch(call, None, None))
    result["arguments_and_run_by_ctypes"] = time_python(lambda: runtime.run(program, runtime.arguments(tensors)))
    if with_fa4:
        result["flash_attention_4"] = time_fa4(tensors, "causal" in folder.name)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD")
    parser.add_argument("--library", default="libfa4_runtime.so")
    parser.add_argument("--write", type=Path, metavar="FILE.json")
    parser.add_argument("--fa4", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    runtime, timer = Runtime(options.library), Timer()
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(byref(version))
    report = {"date": datetime.date.today().isoformat(), "card": torch.cuda.get_device_name(), "driver": version.value, "torch": torch.__version__, "python": sys.version.split()[0], "empty_kernel_by_driver": time_driver(timer), "records": []}
    with contextlib.suppress(OSError):
        report["processor"] = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    for folder in options.records:
        report["records"].append(measure_record(runtime, timer, folder, options.fa4))
        print(json.dumps(report["records"][-1]), flush=True)
    print(json.dumps({k: v for k, v in report.items() if k != "records"}))
    if options.write:
        options.write.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
