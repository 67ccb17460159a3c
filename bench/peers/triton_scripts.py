# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Triton and Gluon, as people write them: torch's tensors, the real runtime, a check against torch.

usage: python -m fa4.driver triton_scripts.py attention|softmax|gluon-hopper|gluon-blackwell|gluon-attention

`attention` is the kernel of triton_kernel.py, with tensor maps that it makes itself; `softmax` chooses its configuration by
autotuning; the Gluon programs are matrix products with tensor maps of the host, mbarriers, and wgmma or tcgen05, and attention
for Hopper."""
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


@gluon.jit
def hopper_attention(q, k, v, o, scale_log2, sk, num_warps: gl.constexpr):
    """One tile of queries a program, one of keys a turn; rows of all heads stand below each other."""
    M: gl.constexpr = q.block_type.shape[0]
    D: gl.constexpr = q.block_type.shape[1]
    N: gl.constexpr = k.block_type.shape[0]
    row, first_key = (gl.program_id(1) * gl.num_programs(0) + gl.program_id(0)) * M, gl.program_id(1) * sk
    q_tile = gl.allocate_shared_memory(q.dtype, q.block_type.shape, q.layout)
    k_tile = gl.allocate_shared_memory(k.dtype, k.block_type.shape, k.layout)
    v_tile = gl.allocate_shared_memory(v.dtype, v.block_type.shape, v.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], hopper.mbarrier.MBarrierLayout())
    hopper.mbarrier.init(bar, count=1)
    hopper.mbarrier.expect(bar, q.block_type.nbytes)
    hopper.tma.async_load(q, [row, 0], bar, q_tile)
    hopper.mbarrier.wait(bar, phase=0)
    s_layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, N, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, D, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=o_layout, k_width=2)
    rows: gl.constexpr = gl.SliceLayout(1, s_layout)
    top = gl.full([M], -float("inf"), gl.float32, rows)
    total = gl.full([M], 0.0, gl.float32, rows)
    sums = gl.zeros((M, D), gl.float32, o_layout)
    phase = 1
    for key in range(0, sk, N):
        hopper.mbarrier.expect(bar, k.block_type.nbytes + v.block_type.nbytes)
        hopper.tma.async_load(k, [first_key + key, 0], bar, k_tile)
        hopper.tma.async_load(v, [first_key + key, 0], bar, v_tile)
        hopper.mbarrier.wait(bar, phase=phase)
        zeros = gl.zeros((M, N), gl.float32, s_layout)
        s = hopper.warpgroup_mma(q_tile, k_tile.permute((1, 0)), zeros, is_async=False) * scale_log2
        new_top = gl.maximum(top, gl.max(s, 1))
        p = gl.exp2(s - gl.expand_dims(new_top, 1))
        correction = gl.exp2(top - new_top)
        total = total * correction + gl.sum(p, 1)
        factors = gl.convert_layout(correction, gl.SliceLayout(1, o_layout))
        p16 = gl.convert_layout(p.to(q.dtype), p_layout)
        sums = hopper.warpgroup_mma(p16, v_tile, sums * gl.expand_dims(factors, 1), is_async=False)
        top = new_top
        phase ^= 1
    hopper.mbarrier.invalidate(bar)
    store_tile(o, row, 0, sums / gl.expand_dims(gl.convert_layout(total, gl.SliceLayout(1, o_layout)), 1))


def gluon_attention():
    heads, sq, sk, size = 2, 128, 192, 64
    q, k, v = (torch.randn(heads * n, size, dtype=torch.float16, device="cuda") for n in (sq, sk, sk))
    o = torch.empty_like(q)

    def describe(tensor):
        return TensorDescriptor.from_tensor(tensor, [64, size], gl.NVMMASharedLayout.get_default_for([64, size], gl.float16))

    hopper_attention[(sq // 64, heads)](*map(describe, (q, k, v, o)), math.log2(math.e) / math.sqrt(size), sk, num_warps=4)
    s = q.float().view(heads, sq, size) @ k.float().view(heads, sk, size).transpose(1, 2) / math.sqrt(size)
    expected = torch.softmax(s, -1) @ v.float().view(heads, sk, size)
    torch.testing.assert_close(o.float().view(heads, sq, size), expected, atol=5e-3, rtol=1e-2)


def gluon_matmul(kernel):
    m, n, k, block = 256, 192, 320, (128, 64, 64)
    a, b = torch.randn(m, k, dtype=torch.float16, device="cuda"), torch.randn(k, n, dtype=torch.float16, device="cuda")
    c = torch.empty(m, n, dtype=torch.float16, device="cuda")

    def describe(tensor, shape):
        return TensorDescriptor.from_tensor(tensor, shape, gl.NVMMASharedLayout.get_default_for(shape, gl.float16))

    bm, bn, bk = block
    kernel[(m // bm, n // bn)](describe(a, [bm, bk]), describe(b, [bk, bn]), describe(c, [bm, bn]), k, num_warps=4)
    torch.testing.assert_close(c, (a.float() @ b.float()).half(), atol=1e-2, rtol=1e-2)


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(y + i, i < n) + tl.load(x + i, i < n), i < n)


def graph():
    """A launch that torch captures in a graph is done when the graph is replayed; torch's own operations are refused there."""
    n = 200
    x, y = torch.arange(float(n), device="cuda"), torch.zeros(n, device="cuda")
    add_kernel[(2,)](x, y, n, BLOCK=128)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        assert torch.cuda.is_current_stream_capturing()
        add_kernel[(2,)](x, y, n, BLOCK=128)
    assert not torch.cuda.is_current_stream_capturing() and torch.equal(y, x)
    for _ in range(3):
        captured.replay()
    assert torch.equal(y, 4 * x)
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x + y
    except RuntimeError as error:
        assert "cannot be captured" in str(error)
    else:
        raise AssertionError("torch's addition was captured")
    with torch.cuda.stream(torch.cuda.Stream()):
        add_kernel[(2,)](x, y, n, BLOCK=128)
    assert torch.equal(y, 5 * x)


PROGRAMS = {
    "graph": graph,
    "attention": attention,
    "softmax": softmax,
    "gluon-hopper": lambda: gluon_matmul(hopper_matmul),
    "gluon-attention": gluon_attention,
    "gluon-blackwell": lambda: gluon_matmul(blackwell_matmul),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]]()
    print("PASS")
