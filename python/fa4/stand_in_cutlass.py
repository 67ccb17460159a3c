# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuTe-DSL without a GPU, for programs on the stand-in driver (fa4.driver): its host code calls the stand-in's functions, and
its PTX is found in files.

CuTe-DSL assembles PTX in its own process, and gives the driver a cubin. It can keep the PTX, too: in a folder of this process,
where the driver looks for each kernel by its name. The host code that it generates calls functions of its runtime library,
of which libcuda.so.1 has those that NVIDIA's runtime is behind (RuntimeApi.cpp)."""

import atexit
import os
import shutil
import sysconfig
import tempfile
from pathlib import Path

from fa4.driver import library_folder


def prepare() -> None:
    """Sets what CuTe-DSL and the driver read from the environment: before CuTe-DSL is imported and the driver starts."""
    runtime = Path(sysconfig.get_path("purelib")) / "nvidia_cutlass_dsl" / "cu13" / "lib" / "libcute_dsl_runtime.so"
    dumps = tempfile.mkdtemp(prefix="fa4-cute-")
    atexit.register(shutil.rmtree, dumps, ignore_errors=True)
    folders = ":".join(filter(None, [dumps, os.environ.get("FA4_DRIVER_PTX")]))
    libraries = f"{library_folder()}/libcuda.so.1:{runtime}"
    os.environ.update(CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=dumps, CUTE_DSL_LIBS=libraries, FA4_DRIVER_PTX=folders)


def install() -> None:
    """Changes CuTe-DSL, when it has been imported, where it would ask NVIDIA's runtime."""
    from cutlass.cutlass_dsl import cuda_jit_executor

    cuda_jit_executor.CudaDialectJitCompiledFunction.num_devices = 1
