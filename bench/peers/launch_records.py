# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How CuTe-DSL's launches are recorded without a GPU: the host code that it generates runs against launch_recorder.c
in place of the CUDA runtime, on tensors that claim to be on a device, at made-up addresses. A record is a folder with
launch-N.ptx and launch-N.json for each launch N, which fa4-sim reads (docs/simulator-manifest.md, "Records")."""
import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import sysconfig
import warnings

from gpus import GPUS

FIRST_ADDRESS, ADDRESS_STEP = 0x7000_0000_0000, 1 << 32


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


def prepare_environment(build, recorder, runtime, gpu):
    """What CuTe-DSL reads from the environment when it is imported."""
    os.environ.update(FLASH_ATTENTION_ARCH=gpu.architecture, CUTE_DSL_ARCH=gpu.architecture + "a",
                      FLASH_ATTENTION_NUM_SMS=str(gpu.multiprocessors),
                      CUTE_DSL_KEEP_PTX="1", CUTE_DSL_KEEP_CUBIN="1", CUTE_DSL_DUMP_DIR=build,
                      CUTE_DSL_LIBS=recorder + ":" + runtime, LAUNCH_RECORD=build + "/launches")
    warnings.filterwarnings("ignore")


class Tensors:
    """Tensors by name, at made-up addresses: one range for each storage."""

    def __init__(self, torch):
        self.torch, self.named, self.bases, self.alive = torch, {}, {}, []
        self.dtypes = {torch.bfloat16: ("bf16", 4), torch.float16: ("f16", 2), torch.float32: ("f32", 2),
                       torch.int32: ("i32", 0), torch.int64: ("i64", 0), torch.uint8: ("u8", 1), torch.int8: ("i8", 0)}

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


def parameter_sizes(ptx):
    """Of each kernel of a text: the bytes of its parameters."""
    declaration = r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+\S+?_param_\d+(?:\[(\d+)\])?"
    return {name: [int(count) if count else int(re.sub(r"\D", "", kind)) // 8
                   for kind, count in re.findall(declaration, parameters)]
            for name, parameters in re.findall(r"\.entry\s+([\w$]+)\s*\((.*?)\n?\)", ptx, re.S)}


class Recorder:
    """Writes what the stand-in runtime has noted into `directory`, launch by launch."""

    def __init__(self, directory, library, tensors):
        self.directory, self.library, self.tensors = directory, library, tensors
        self.kernels, self.read, self.files, self.count = {}, set(), {}, 0

    def learn_kernels(self):
        """Reads the PTX that CuTe-DSL has dumped since the last time. A kernel must be known before it is launched. A
        later kernel of the same name (with other tiles) overwrites the file of the one before."""
        dumped = {(os.stat(path).st_mtime_ns, path) for path in glob.glob(self.directory + "/build/*.ptx")}
        for version in sorted(dumped - self.read):
            self.read.add(version)
            with open(version[1], "rb") as file:
                ptx = file.read().replace(b"\0", b"").decode()
            for name, sizes in parameter_sizes(ptx).items():
                self.kernels[name] = ptx
                self.library.launch_recorder_expect(name.encode(), len(sizes), (ctypes.c_size_t * len(sizes))(*sizes))

    def write_launches(self):
        """launch-N.ptx and launch-N.json of the launches that are not written yet; tensor maps as the raw bytes that
        the kernel gets. Kernels of one PTX text share the file of the first launch."""
        with open(os.environ["LAUNCH_RECORD"]) as file:
            launches = file.read().splitlines()
        for line in launches[self.count:]:
            record, name = json.loads(line), f"launch-{self.count}"
            self.count += 1
            ptx = self.files.setdefault(self.kernels[record["kernel"]], name + ".ptx")
            record.update(ptx=ptx, params=[{"bytes": text} for text in record["params"]],
                          tensors=dict(self.tensors.named))
            with open(f"{self.directory}/{ptx}", "w") as file:
                file.write(self.kernels[record["kernel"]])
            with open(f"{self.directory}/{name}.json", "w") as file:
                json.dump(record, file, indent=1)


def start(directory, architecture="sm_100"):
    """An empty folder for a record, the stand-in runtime in this process, and its handle. To be called before anything
    is compiled; `architecture` is a key of gpus.GPUS."""
    gpu = GPUS[architecture]
    shutil.rmtree(directory, ignore_errors=True)
    build = directory + "/build"
    os.makedirs(build)
    recorder, runtime = build_recorder(build)
    prepare_environment(build, recorder, runtime, gpu)
    # Both are imported first: torch must find the real runtime, CuTe-DSL's must be loaded behind the stand-in.
    import cutlass
    import torch  # noqa: F401

    cutlass.utils.HardwareInfo = cutlass.utils.hardware_info.HardwareInfo = gpu
    return ctypes.CDLL(recorder, mode=ctypes.RTLD_GLOBAL)
