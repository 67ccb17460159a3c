# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles FlashAttention-4's kernels for sm_100a, without a GPU.

usage: compile_fa4.py DIRECTORY REPEAT KERNEL...

KERNEL is hd<head dim>-<full|causal>, or bwd-hd<head dim>-<full|causal> for the
three kernels of the gradient. DIRECTORY gets KERNEL.ptx, KERNEL.cubin (as CuTe-DSL
assembles it; of a gradient the last one) and times.json: for each kernel the seconds of each
of REPEAT compilations, all in this process, the imports done before. A
compilation that is repeated starts from an empty cache. Tile sizes, stages and
clusters are FlashAttention-4's choice for 148 SMs.

Run it in an environment that has flash-attn-4 and nvidia-cutlass-dsl[cu13]
(environment.sh makes one)."""
import glob
import json
import os
import re
import shutil
import sys
import time
import warnings

from gpus import B200

SHAPE = dict(b=2, s=4096, h=16)


def newest(folder, kind):
    files = glob.glob(f"{folder}/*.{kind}")
    if not files:
        sys.exit(f"compile_fa4.py: CuTe-DSL left no {kind} in {folder}")
    return max(files, key=os.path.getmtime)


def tensors(torch, head_dim, names):
    shape = (SHAPE["b"], SHAPE["s"], SHAPE["h"], head_dim)
    return [torch.empty(*shape, dtype=torch.bfloat16, device="cuda") for _ in names]


def forward(torch, interface, head_dim, causal):
    """A function that calls the forward kernel with nothing compiled."""
    interface._flash_attn_fwd.compile_cache = interface.get_jit_cache("fwd")
    q, k, v = tensors(torch, head_dim, "qkv")
    return lambda: interface._flash_attn_fwd(q, k, v, causal=causal, return_lse=True)


def backward(torch, interface, head_dim, causal):
    """The same of the gradient's three."""
    for function, cache in (("_flash_attn_bwd", "bwd"), ("_bwd_preprocess", "bwd_pre"), ("_bwd_postprocess_convert", "bwd_post")):
        getattr(interface, function).compile_cache = interface.get_jit_cache(cache)
    given = tensors(torch, head_dim, ("q", "k", "v", "out", "dout"))
    lse = torch.empty(SHAPE["b"], SHAPE["h"], SHAPE["s"], dtype=torch.float32, device="cuda")
    return lambda: interface._flash_attn_bwd(*given, lse, causal=causal)


def main():
    directory, repeat, *kernels = sys.argv[1:]
    build = f"{directory}/build"
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(build)
    os.environ.update(FLASH_ATTENTION_ARCH="sm_100", CUTE_DSL_ARCH="sm_100a", FLASH_ATTENTION_NUM_SMS="148",
                      CUTE_DSL_KEEP_PTX="1", CUTE_DSL_KEEP_CUBIN="1", CUTE_DSL_DUMP_DIR=build,
                      FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED="0")
    warnings.filterwarnings("ignore")
    started = time.perf_counter()
    import cutlass
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    cutlass.utils.HardwareInfo = B200
    from flash_attn.cute import interface

    times = {"import": time.perf_counter() - started}
    for kernel in kernels:
        direction, head_dim, mask = re.fullmatch(r"(bwd-)?hd(\d+)-(full|causal)", kernel).groups()
        seconds = []
        for _ in range(int(repeat)):
            with FakeTensorMode():
                call = (backward if direction else forward)(torch, interface, int(head_dim), mask == "causal")
                before = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - before)
        times[kernel] = seconds
        with open(newest(build, "ptx"), "rb") as source, open(f"{directory}/{kernel}.ptx", "wb") as file:
            file.write(source.read().replace(b"\0", b""))
        shutil.copy(newest(build, "cubin"), f"{directory}/{kernel}.cubin")
    shutil.rmtree(build)
    with open(f"{directory}/times.json", "w") as file:
        json.dump(times, file, indent=1)


if __name__ == "__main__":
    main()
