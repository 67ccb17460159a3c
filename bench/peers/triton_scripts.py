# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Triton and Gluon, as people write them: torch's tensors, the real runtime, a check against torch.

usage: python -m fa4.driver triton_scripts.py attention|softmax|gluon-hopper|gluon-blackwell

`attention` is the kernel of triton_kernel.py, with tensor maps that it makes itself; `softmax` chooses its configuration by
autotuning; the Gluon programs are matrix products with tensor maps of the host, mbarriers, and wgmma or tcgen05."""
import math
import sys

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell, hopper
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from triton_kernel import forward


def attention():
    heads, sq, sk, size = 2, 256, 384, 64
    triton.set_allocator(lambda bytes_, alignment, stream: torch.empty(bytes_, dtype=torch.int8, device="cuda"))
    q, k, v = (torch.randn(heads, n, size, dtype=torch.bfloat16, device="cuda") for n in (sq, sk, sk))
    out, lse = torch.empty_like(q), torch.empty(heads, sq, device="cuda")
    scale = 1 / math.sqrt(size)
    forward[(sq // 128, heads)](q, k, v, out, lse, scale * math.log2(math.e), sq, sk, D=size, M=128, N=128,
                                SPECIALIZE=False, num_warps=8)
    s = (q.float() @ k.float().transpose(1, 2)) * scale
    torch.testing.assert_close(lse, torch.logsumexp(s, -1), atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(out.float(), torch.softmax(s, -1) @ v.float(), atol=2e-2, rtol=2e-2)


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (2, 4)], key=["columns"])
@triton.jit
def softmax_kernel(x, y, stride, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + column, column < columns, -float("inf"))
    e = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * stride + column, e / tl.sum(e, 0), column < columns)


def softmax():
    x = torch.randn(16, 781, device="cuda")
    y = torch.empty_like(x)
    softmax_kernel[(16,)](x, y, x.stride(0), x.shape[1], BLOCK=1024)
    torch.testing.assert_close(y, torch.softmax(x, -1))


@gluon.jit
def load_tiles(a, b, row, column, k, bar, a_tile, b_tile, phase):
    hopper.mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes)
    hopper.tma.async_load(a, [row, k], bar, a_tile)
    hopper.tma.async_load(b, [k, column], bar, b_tile)
    hopper.mbarrier.wait(bar, phase=phase)


@gluon.jit
def store_tile(c, row, column, result):
    tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    tile.store(result.to(c.dtype))
    hopper.fence_async_shared()
    hopper.tma.async_store(c, [row, column], tile)
    hopper.tma.store_wait(pendings=0)


@gluon.jit
def hopper_matmul(a, b, c, K, num_warps: gl.constexpr):
    M: gl.constexpr = c.block_type.shape[0]
    N: gl.constexpr = c.block_type.shape[1]
    KB: gl.constexpr = a.block_type.shape[1]
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    a_tile = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], hopper.mbarrier.MBarrierLayout())
    hopper.mbarrier.init(bar, count=1)
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, N, 16])
    sums = gl.zeros((M, N), gl.float32, layout)
    phase = 0
    for k in range(0, K, KB):
        load_tiles(a, b, row, column, k, bar, a_tile, b_tile, phase)
        sums = hopper.warpgroup_mma(a_tile, b_tile, sums, is_async=False)
        phase ^= 1
    hopper.mbarrier.invalidate(bar)
    store_tile(c, row, column, sums)


@gluon.jit
def blackwell_matmul(a, b, c, K, num_warps: gl.constexpr):
    M: gl.constexpr = c.block_type.shape[0]
    N: gl.constexpr = c.block_type.shape[1]
    KB: gl.constexpr = a.block_type.shape[1]
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    a_tile = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], hopper.mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], hopper.mbarrier.MBarrierLayout())
    hopper.mbarrier.init(bar, count=1)
    hopper.mbarrier.init(done, count=1)
    tmem_layout: gl.constexpr = blackwell.TensorMemoryLayout([M, N], col_stride=1)
    sums = blackwell.allocate_tensor_memory(gl.float32, [M, N], tmem_layout)
    phase, use_acc = 0, False
    for k in range(0, K, KB):
        load_tiles(a, b, row, column, k, bar, a_tile, b_tile, phase)
        blackwell.tcgen05_mma(a_tile, b_tile, sums, use_acc=use_acc)
        blackwell.tcgen05_commit(done)
        hopper.mbarrier.wait(done, phase=phase)
        phase ^= 1
        use_acc = True
    hopper.mbarrier.invalidate(bar)
    hopper.mbarrier.invalidate(done)
    store_tile(c, row, column, sums.load())


def gluon_matmul(kernel):
    m, n, k, block = 256, 192, 320, (128, 64, 64)
    a, b = torch.randn(m, k, dtype=torch.float16, device="cuda"), torch.randn(k, n, dtype=torch.float16, device="cuda")
    c = torch.empty(m, n, dtype=torch.float16, device="cuda")

    def describe(tensor, shape):
        return TensorDescriptor.from_tensor(tensor, shape, gl.NVMMASharedLayout.get_default_for(shape, gl.float16))

    bm, bn, bk = block
    kernel[(m // bm, n // bn)](describe(a, [bm, bk]), describe(b, [bk, bn]), describe(c, [bm, bn]), k, num_warps=4)
    torch.testing.assert_close(c, (a.float() @ b.float()).half(), atol=1e-2, rtol=1e-2)


PROGRAMS = {
    "attention": attention,
    "softmax": softmax,
    "gluon-hopper": lambda: gluon_matmul(hopper_matmul),
    "gluon-blackwell": lambda: gluon_matmul(blackwell_matmul),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]]()
    print("PASS")
