# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel of fa4 as a function of JAX, through XLA's foreign function interface: on a GPU it is launched on XLA's stream, on a CPU it
runs in the simulator.

usage: python3 attention_ffi.py INCLUDE     # fa4's headers: include/ of a checkout or of an installed tree

Needs jax, fa4's package, and a C++ compiler (CXX), which makes a library of attention_ffi.cpp.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import fa4
from fa4 import _library


def build(include: str, folder: str) -> ctypes.CDLL:
    """The two handlers as a library, linked with the libraries of the package."""
    libraries = [_library.find(), _library.find("libfa4_runtime.so", "FA4_RUNTIME_LIBRARY")]
    source, built = Path(__file__).with_name("attention_ffi.cpp"), Path(folder, "libattention_ffi.so")
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{include}", f"-I{jax.ffi.include_dir()}"]
    command += [source, *libraries, *(f"-Wl,-rpath,{library.parent}" for library in libraries), "-o", built]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


def register(library: ctypes.CDLL):
    """One name, with the handler of each platform."""
    jax.ffi.register_ffi_target("fa4_attention", jax.ffi.pycapsule(library.fa4Simulate), platform="cpu")
    jax.ffi.register_ffi_target("fa4_attention", jax.ffi.pycapsule(library.fa4Launch), platform="CUDA")


def attention(kernel: fa4.Kernel, q, k, v):
    """The kernel's `out`. May stand in functions under jax.jit."""
    call = jax.ffi.ffi_call("fa4_attention", jax.ShapeDtypeStruct((*q.shape[:-1], v.shape[-1]), q.dtype))
    return call(q, k, v, manifest=kernel.manifest_text, name=next(iter(kernel.modules)), ptx=kernel.ptx)


def main(include: str):
    with tempfile.TemporaryDirectory() as folder:
        register(build(include, folder))
        spec = fa4.sdpa(q="B Sq 4 64", k="B Sk 2 64", dtype="bf16", mask="causal")
        kernel = fa4.compile(spec, chip="sm_100a")
        rng = np.random.default_rng(0)
        q, k, v = (jnp.asarray(rng.standard_normal((1, 128, heads, 64)), jnp.bfloat16) for heads in (4, 2, 2))
        out = jax.jit(lambda q, k, v: attention(kernel, q, k, v) * 2)(q, k, v)
        expected = 2 * spec.reference(q=np.asarray(q), k=np.asarray(k), v=np.asarray(v)).out
        print("largest error:", float(np.abs(np.asarray(out, np.float32) - expected).max()))


if __name__ == "__main__":
    main(sys.argv[1])
