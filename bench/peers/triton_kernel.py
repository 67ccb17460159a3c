# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a plain attention forward with Triton for sm_100 or sm_90, without a GPU,
and writes a manifest for it: tensor maps that the kernel makes itself, and
with ws=1 Triton's own warp specialisation.

usage: triton_kernel.py DIRECTORY [hd=128 sq=256 sk=256 hq=1 ws=0 warps=4 arch=sm_100]"""
import json
import os
import re
import shutil
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def forward(q_base, k_base, v_base, o_base, lse_base, scale_log2, sq, sk, D: tl.constexpr, M: tl.constexpr,
            N: tl.constexpr, SPECIALIZE: tl.constexpr):
    row, head = tl.program_id(0) * M, tl.program_id(1)
    q_map = tl.make_tensor_descriptor(q_base + head * sq * D, [sq, D], [D, 1], [M, D])
    k_map = tl.make_tensor_descriptor(k_base + head * sk * D, [sk, D], [D, 1], [N, D])
    v_map = tl.make_tensor_descriptor(v_base + head * sk * D, [sk, D], [D, 1], [N, D])
    o_map = tl.make_tensor_descriptor(o_base + head * sq * D, [sq, D], [D, 1], [M, D])
    q = q_map.load([row, 0])
    top = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    o = tl.zeros([M, D], tl.float32)
    for key in tl.range(0, sk, N, warp_specialize=SPECIALIZE):
        s = tl.dot(q, k_map.load([key, 0]).T) * scale_log2
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new_top[:, None])
        correction = tl.math.exp2(top - new_top)
        total = total * correction + tl.sum(p, 1)
        o = tl.dot(p.to(tl.bfloat16), v_map.load([key, 0]), o * correction[:, None])
        top = new_top
    o_map.store([row, 0], (o / total[:, None]).to(tl.bfloat16))
    ln2: tl.constexpr = 0.6931471805599453
    tl.store(lse_base + head * sq + row + tl.arange(0, M), (top + tl.math.log2(total)) * ln2)


def main():
    directory, *words = sys.argv[1:]
    call = dict(hd=128, sq=256, sk=256, hq=1, ws=0, warps=4, arch="sm_100")
    call.update((name, value if name == "arch" else int(value)) for name, value in (word.split("=") for word in words))
    pointers = dict(q_base="*bf16", k_base="*bf16", v_base="*bf16", o_base="*bf16", lse_base="*fp32")
    constants = dict(D=call["hd"], M=128, N=128, SPECIALIZE=bool(call["ws"]))
    source = ASTSource(forward, constexprs=constants,
                       signature=dict(**pointers, scale_log2="fp32", sq="i32", sk="i32",
                                      **{name: "constexpr" for name in constants}))
    kernel = triton.compile(source, target=GPUTarget("cuda", int(call["arch"].removeprefix("sm_")), 32),
                            options=dict(num_warps=call["warps"], num_stages=3))
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    ptx = kernel.asm["ptx"]
    with open(directory + "/kernel.ptx", "w") as file:
        file.write(ptx)
    threads = int(re.search(r"\.reqntid (\d+)", ptx).group(1))
    tiles = call["sq"] // 128
    scratch = max(getattr(kernel.metadata, "global_scratch_size", 0), 1) * tiles * call["hq"]

    def tensor(tokens, role):
        return dict(dtype="bf16", shape=[call["hq"], tokens, call["hd"]], role=role)

    manifest = dict(
        ptx="kernel.ptx", grid=[tiles, call["hq"]], block=[threads], dynamic_smem=kernel.metadata.shared,
        tensors=dict(q=tensor(call["sq"], "in"), k=tensor(call["sk"], "in"), v=tensor(call["sk"], "in"),
                     out=tensor(call["sq"], "out"), lse=dict(dtype="f32", shape=[call["hq"], call["sq"]], role="out"),
                     scratch=dict(dtype="u8", shape=[scratch], role="workspace")),
        params=[dict(tensor=name) for name in ("q", "k", "v", "out", "lse")]
        + [dict(value=f"1.4426950408889634 / sqrt({call['hd']})", type="f32"), dict(value=call["sq"]),
           dict(value=call["sk"]), dict(tensor="scratch"), dict(tensor="scratch")])
    with open(directory + "/kernel.json", "w") as file:
        json.dump(manifest, file, indent=1)


if __name__ == "__main__":
    main()
