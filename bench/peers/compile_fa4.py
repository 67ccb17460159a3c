# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles FlashAttention-4's forward kernels for sm_100a, without a GPU.

usage: compile_fa4.py DIRECTORY REPEAT KERNEL...

KERNEL is hd<head dim>-<full|causal>. DIRECTORY gets KERNEL.ptx, KERNEL.cubin
(as CuTe-DSL assembles it) and times.json: for each kernel the seconds of each
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
        head_dim, mask = re.fullmatch(r"hd(\d+)-(full|causal)", kernel).groups()
        seconds = []
        for _ in range(int(repeat)):
            interface._flash_attn_fwd.compile_cache = interface.get_jit_cache("fwd")
            with FakeTensorMode():
                q, k, v = (torch.empty(SHAPE["b"], SHAPE["s"], SHAPE["h"], int(head_dim), dtype=torch.bfloat16,
                                       device="cuda") for _ in range(3))
                before = time.perf_counter()
                interface._flash_attn_fwd(q, k, v, causal=mask == "causal", return_lse=True)
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
