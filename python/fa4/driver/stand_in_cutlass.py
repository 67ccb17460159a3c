# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuTe-DSL without a GPU, for programs on the stand-in driver (fa4.driver): its host code calls the stand-in's functions, and
its PTX is found in files.

CuTe-DSL assembles PTX in its own process, and gives the driver a cubin. It can keep the PTX, too: in a folder of this process,
where the driver looks for each kernel by its name. The host code that it generates calls functions of its runtime library,
of which libcuda.so.1 has those that NVIDIA's runtime is behind (RuntimeApi.cpp)."""

import atexit
import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from fa4.tools import driver_library_folder

GLUE = "libfa4-glue.so"
# What the glue calls of NVIDIA's runtime. torch has loaded that into the process, so that the names must not be looked for there.
FORWARDS = """
int _cudaGetDeviceCount(int *), _cudaLibraryUnload(void *);
const char *_cudaGetErrorName(int), *_cudaGetErrorString(int);
int cudaGetDeviceCount(int *count) { return _cudaGetDeviceCount(count); }
int cudaLibraryUnload(void *library) { return _cudaLibraryUnload(library); }
const char *cudaGetErrorName(int error) { return _cudaGetErrorName(error); }
const char *cudaGetErrorString(int error) { return _cudaGetErrorString(error); }
"""


def _build_glue(runtime, folder):
    """CuTe-DSL's functions for TVM's calling convention (FlashAttention-4 uses it) call NVIDIA's runtime within
    libcute_dsl_runtime.so. They come as an object file, too, which is linked against the stand-in driver here. Returns the
    library's path, or nothing where the compiler or the object is missing: programs that do not need them run all the same."""
    archive, name = runtime.with_name("libcuda_dialect_runtime_static.a"), "tvm_ffi_extension.c.o"
    library, driver = f"{folder}/{GLUE}", f"{driver_library_folder()}/libcuda.so.1"
    Path(folder, "forwards.c").write_text(FORWARDS)
    link = ["cc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", library, "forwards.c", name, driver, f"-Wl,-rpath,{driver_library_folder()}"]
    try:
        for command in (["ar", "x", archive, name], link):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


def prepare() -> None:
    """Sets what CuTe-DSL and the driver read from the environment: before CuTe-DSL is imported and the driver starts."""
    runtime = Path(sysconfig.get_path("purelib")) / "nvidia_cutlass_dsl" / "cu13" / "lib" / "libcute_dsl_runtime.so"
    dumps = tempfile.mkdtemp(prefix="fa4-cute-")
    atexit.register(shutil.rmtree, dumps, ignore_errors=True)
    folders = ":".join(filter(None, [dumps, os.environ.get("FA4_DRIVER_PTX")]))
    # In the order in which functions are looked for.
    libraries = ":".join(filter(None, [f"{driver_library_folder()}/libcuda.so.1", _build_glue(runtime, dumps), str(runtime)]))
    # What FlashAttention-4 keeps from earlier runs is assembled.
    os.environ.update(CUTE_DSL_LIBS=libraries, FA4_DRIVER_PTX=folders, FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED="0")
    for dsl in ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL"):
        settings = {"KEEP_PTX": "1", "DUMP_DIR": dumps, "ARCH": os.environ["CUTE_DSL_ARCH"]}
        os.environ.update({f"{dsl}_{name}": value for name, value in settings.items()})


EMPTY_KERNEL = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n\0"


def _empty_kernel(hardware_info):
    """What HardwareInfo asks about occupancy with. It would compile one, and search the cubin for its name."""
    from cuda.bindings import driver

    error, library = driver.cuLibraryLoadData(EMPTY_KERNEL, None, None, 0, None, None, 0)
    kernel = None if error.value else driver.cuLibraryGetKernel(library, b"empty")[1]
    if kernel is None:
        raise RuntimeError(f"the stand-in driver cannot load an empty kernel: {error}")
    return hardware_info._checkCudaErrors(driver.cuKernelGetFunction(kernel))


# Functions of cuda.bindings.runtime, which has NVIDIA's runtime inside, that programs of CuTe-DSL call (cutlass.testing), and
# the driver's, which take and return the same.
OF_THE_DRIVER = {
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaStreamBeginCapture": "cuStreamBeginCapture",
    "cudaStreamEndCapture": "cuStreamEndCapture",
    "cudaGraphGetNodes": "cuGraphGetNodes",
    "cudaGraphInstantiate": "cuGraphInstantiate",
    "cudaGraphLaunch": "cuGraphLaunch",
    "cudaGraphExecDestroy": "cuGraphExecDestroy",
    "cudaGraphDestroy": "cuGraphDestroy",
}


def _replace_runtime(runtime, driver):
    """Lets functions of the module `runtime` call those of the module `driver`; errors have the same numbers in both."""

    def through(function):
        def call(*arguments, **options):
            error, *results = function(*arguments, **options)
            return (runtime.cudaError_t(int(error)), *results)

        return call

    for name, of_driver in OF_THE_DRIVER.items():
        if hasattr(runtime, name):
            setattr(runtime, name, through(getattr(driver, of_driver)))


def install() -> None:
    """Changes CuTe-DSL, when it has been imported, where it would ask NVIDIA's runtime."""
    from cuda.bindings import driver, runtime
    from cutlass.cutlass_dsl import cuda_jit_executor
    from cutlass.utils import hardware_info

    # Behind torch, which has its own functions of the same names, and before CuTe-DSL's own library.
    for library in os.environ["CUTE_DSL_LIBS"].split(":"):
        if library.endswith(GLUE):
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    cuda_jit_executor.CudaDialectJitCompiledFunction.num_devices = 1
    hardware_info.HardwareInfo._get_device_function = _empty_kernel
    _replace_runtime(runtime, driver)
