# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records how FlashAttention-4 launches its kernels, without a GPU.

usage: record_fa4.py DIRECTORY {fwd|bwd} [NAME=VALUE]...

Names: hd, hdv, b, sq, sk, hq, hk, causal, dtype (bf16 or f16), and any keyword
of FlashAttention-4's call. With lengths_q=[...] and lengths_k=[...] (forward),
the sequences are packed, and whoever replays the record fills cu_seqlens_q and
cu_seqlens_k. Run it in an environment that has flash-attn-4 and
nvidia-cutlass-dsl[cu13] (sim-peers makes one).

FlashAttention-4's own host code runs on tensors without memory, against
launch_recorder.c in place of the CUDA runtime. DIRECTORY gets, for launch N,
launch-N.ptx and launch-N.json, which fa4-sim reads (docs/simulator-manifest.md,
"Records")."""
import ctypes
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import warnings

from b200 import HardwareInfo

FIRST_ADDRESS, ADDRESS_STEP = 0x7000_0000_0000, 1 << 32
SWIZZLES = ["none", "32B", "64B", "128B"]


def parse_command_line(words):
    directory, mode, *assignments = words
    call = dict(hd=128, hdv=None, causal=0, b=1, sq=256, sk=256, hq=1, hk=1, dtype="bf16", lengths_q=None, lengths_k=None)
    extra = {}
    for word in assignments:
        name, value = word.split("=", 1)
        if name == "dtype":
            call[name] = value
        elif name in call:
            call[name] = json.loads(value)
        else:
            extra[name] = json.loads(value)
    call["hdv"] = call["hdv"] or call["hd"]
    return os.path.abspath(directory), mode, call, extra


def build_recorder(build):
    """The stand-in runtime, together with CuTe-DSL's glue that calls it."""
    runtime = sysconfig.get_path("purelib") + "/nvidia_cutlass_dsl/cu13/lib"
    subprocess.run(["ar", "x", runtime + "/libcuda_dialect_runtime_static.a", "tvm_ffi_extension.c.o"],
                   cwd=build, check=True)
    cuda = os.environ.get("CUDA_HOME") or os.path.dirname(os.path.dirname(shutil.which("nvcc")))
    library = build + "/liblaunch_recorder.so"
    source = os.path.dirname(os.path.realpath(__file__)) + "/launch_recorder.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-Wl,-Bsymbolic", "-I", cuda + "/include", source,
                    build + "/tvm_ffi_extension.c.o", "-o", library], check=True)
    return library, runtime + "/libcute_dsl_runtime.so"


def prepare_environment(build, recorder, runtime):
    os.environ.update(FLASH_ATTENTION_ARCH="sm_100", CUTE_DSL_ARCH="sm_100a", FLASH_ATTENTION_NUM_SMS="148",
                      CUTE_DSL_KEEP_PTX="1", CUTE_DSL_KEEP_CUBIN="1", CUTE_DSL_DUMP_DIR=build,
                      CUTE_DSL_LIBS=recorder + ":" + runtime, LAUNCH_RECORD=build + "/launches")
    warnings.filterwarnings("ignore")


class Tensors:
    """Tensors by name, at made-up addresses: one range for each storage."""

    def __init__(self, torch):
        self.torch, self.named, self.bases, self.alive = torch, {}, {}, []
        self.dtypes = {torch.bfloat16: ("bf16", 4), torch.float16: ("f16", 2), torch.float32: ("f32", 2),
                       torch.int32: ("i32", 0), torch.int64: ("i64", 0), torch.uint8: ("u8", 1)}

    def address(self, tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in self.bases:
            self.bases[storage._cdata] = FIRST_ADDRESS + len(self.bases) * ADDRESS_STEP
            self.alive.append(storage)
        return self.bases[storage._cdata] + tensor.storage_offset() * tensor.element_size()

    def add(self, name, tensor):
        self.named[name] = dict(dtype=self.dtypes[tensor.dtype][0], shape=list(tensor.shape),
                                strides=list(tensor.stride()), address=hex(self.address(tensor)))

    def add_workspace(self, tensor):
        if hex(self.address(tensor)) not in {t["address"] for t in self.named.values()}:
            self.add(f"t{len(self.named)}", tensor)

    def dtype_at(self, address):
        return next(t["dtype"] for t in self.named.values() if int(t["address"], 16) // ADDRESS_STEP == address // ADDRESS_STEP)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class OnDevice:
    """A tensor that claims to be on the first CUDA device (DLPack)."""

    def __init__(self, tensors, tensor):
        rank = tensor.dim()
        shape, strides = (ctypes.c_int64 * rank)(*tensor.shape), (ctypes.c_int64 * rank)(*tensor.stride())
        code = tensors.dtypes[tensor.dtype][1]
        self.managed = DLManagedTensor(
            DLTensor(tensors.address(tensor), 2, 0, rank, code, 8 * tensor.element_size(), 1, shape, strides, 0), None, None)
        tensors.alive.append((self, shape, strides, tensor))

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self):
        return (2, 0)


def describe_parameter(text, tensors):
    """A parameter's bytes; of a tensor map, its meaning (cuTensorMapEncodeTiled's arguments)."""
    raw = bytes.fromhex(text)
    if len(raw) != 128:
        return {"bytes": text}
    address, flags = struct.unpack("<QI", raw[:12])
    if flags & 0xF != 2 or address // ADDRESS_STEP < FIRST_ADDRESS // ADDRESS_STEP:
        raise SystemExit("a parameter of 128 bytes that is no tensor map")
    words = struct.unpack("<10I", raw[12:52])
    rank = (flags >> 4 & 7) + 1
    return {"tensormap": dict(address=hex(address), dtype=tensors.dtype_at(address),
                              dims=[words[5 + i] + 1 for i in range(rank)],
                              byte_strides=[words[i] * 16 for i in range(rank - 1)],
                              box=[raw[55 + i] + 1 for i in range(rank)],
                              swizzle=SWIZZLES[flags >> 13 & 3])}


def parameter_sizes(ptx):
    header = ptx[ptx.index(".entry"):]
    header = header[:header.index("\n)")]
    declaration = r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+\S+?_param_\d+(?:\[(\d+)\])?"
    return [int(count) if count else int(re.sub(r"\D", "", kind)) // 8
            for kind, count in re.findall(declaration, header)]


class RecordingCompiler:
    """In place of the module that FlashAttention-4 compiles with: what it compiles records its launch."""

    def __init__(self, real, directory, library, tensors, from_dlpack):
        self.real, self.directory, self.library = real, directory, library
        self.tensors, self.from_dlpack, self.count = tensors, from_dlpack, 0

    def __getattr__(self, name):
        return getattr(self.real, name)

    def on_device(self, value):
        if isinstance(value, self.tensors.torch.Tensor):
            self.tensors.add_workspace(value)
            self.tensors.alive.append(self.from_dlpack(OnDevice(self.tensors, value)))
            return self.tensors.alive[-1]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.on_device, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.on_device, value))
        return value

    def compile(self, *args, **kwargs):
        function = self.real.compile(*args, **kwargs)
        newest = max(glob.glob(self.directory + "/build/*.ptx"), key=os.path.getmtime)
        with open(newest, "rb") as file:
            ptx = file.read().replace(b"\0", b"").decode()
        return lambda *arguments: self.launch(function, ptx, arguments)

    def launch(self, function, ptx, arguments):
        sizes = parameter_sizes(ptx)
        self.library.launch_recorder_expect(len(sizes), (ctypes.c_size_t * len(sizes))(*sizes))
        function(*map(self.on_device, arguments))
        with open(os.environ["LAUNCH_RECORD"]) as file:
            record = json.loads(file.read().splitlines()[-1])
        name = f"launch-{self.count}"
        self.count += 1
        record.update(ptx=name + ".ptx", params=[describe_parameter(p, self.tensors) for p in record["params"]],
                      tensors=dict(self.tensors.named))
        with open(f"{self.directory}/{name}.ptx", "w") as file:
            file.write(ptx)
        with open(f"{self.directory}/{name}.json", "w") as file:
            json.dump(record, file, indent=1)


def main():
    directory, mode, call, extra = parse_command_line(sys.argv[1:])
    shutil.rmtree(directory, ignore_errors=True)
    build = directory + "/build"
    os.makedirs(build)
    recorder, runtime = build_recorder(build)
    prepare_environment(build, recorder, runtime)
    import cutlass
    import torch
    import tvm_ffi
    from torch._subclasses.fake_tensor import FakeTensorMode

    cutlass.utils.HardwareInfo = HardwareInfo
    library = ctypes.CDLL(recorder, mode=ctypes.RTLD_GLOBAL)  # Before CuTe-DSL's own runtime is loaded.
    from flash_attn.cute import interface

    tensors = Tensors(torch)
    interface.cute = RecordingCompiler(interface.cute, directory, library, tensors, tvm_ffi.from_dlpack)
    interface.is_fake_mode = lambda: False
    dtype = dict(bf16=torch.bfloat16, f16=torch.float16)[call["dtype"]]
    with FakeTensorMode():
        packed = call["lengths_q"] is not None
        if packed:
            call["sq"], call["sk"] = sum(call["lengths_q"]), sum(call["lengths_k"])

        def new(tokens, heads, size):
            batch = [] if packed else [call["b"]]
            return torch.empty(*batch, tokens, heads, size, dtype=dtype, device="cuda")

        lse_shape = ([] if packed else [call["b"]]) + [call["hq"], call["sq"]]
        t = dict(q=new(call["sq"], call["hq"], call["hd"]), k=new(call["sk"], call["hk"], call["hd"]),
                 v=new(call["sk"], call["hk"], call["hdv"]), out=new(call["sq"], call["hq"], call["hdv"]),
                 lse=torch.empty(lse_shape, dtype=torch.float32, device="cuda"))
        if packed:
            count = len(call["lengths_q"]) + 1
            starts = {n: torch.empty(count, dtype=torch.int32, device="cuda") for n in ("cu_seqlens_q", "cu_seqlens_k")}
            t.update(starts)
            extra.update(starts, max_seqlen_q=max(call["lengths_q"]), max_seqlen_k=max(call["lengths_k"]))
        if mode == "bwd":
            t.update(dout=new(call["sq"], call["hq"], call["hdv"]), **{"d" + n: torch.empty_like(t[n]) for n in "qkv"})
        for name, tensor in t.items():
            tensors.add(name, tensor)
        causal = bool(call["causal"])
        if mode == "fwd":
            interface._flash_attn_fwd(t["q"], t["k"], t["v"], causal=causal, return_lse=True, out=t["out"],
                                      lse=t["lse"], **extra)
        else:
            interface._flash_attn_bwd(t["q"], t["k"], t["v"], t["out"], t["dout"], t["lse"], causal=causal,
                                      dq=t["dq"], dk=t["dk"], dv=t["dv"], **extra)
    shutil.rmtree(build)


if __name__ == "__main__":
    main()
