# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the CTAs of a cluster do together (mapa, shared memory of the others,
remote arrivals, cluster barriers, multicast), named barriers, setmaxnreg, bulk
copies and reductions."""

import struct

from fa4_bench.instructions.case import HEADER, Buffer, Case, pack

PROLOGUE = """
.visible .entry k(.param .u64 source, .param .u64 target)
.reqntid {threads}, 1, 1{cluster}
{{
  .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .b32 %rank, %thread;
  .shared .align 128 .b8 data[2048];
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd0, [source];
  ld.param.u64 %rd1, [target];
  mov.u32 %thread, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %p0, %thread, 0;
"""

# Stores each thread's word of shared memory, which is at %r3 (%r2 bytes from the first), 32 a CTA, and
# keeps the CTA until all of the cluster have.
WORD_OF_EACH_THREAD = """  ld.shared.b32 %r8, [%r3];
  mad.lo.u32 %r9, %rank, 128, %r2;
  cvt.u64.u32 %rd2, %r9;
  add.u64 %rd3, %rd1, %rd2;
  st.global.b32 [%rd3], %r8;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;"""


def _case(name, body, source, expected, threads=32, ctas=1, cluster=1, initial=None):
    directive = f"\n.reqnctapercluster {cluster}, 1, 1" if cluster > 1 else ""
    ptx = HEADER + PROLOGUE.format(threads=threads, cluster=directive) + body + "\n  ret;\n}\n"
    target = Buffer("target", bytes(4 * len(expected)) if initial is None else pack(initial), pack(expected))
    return Case(name, ptx, [Buffer("source", pack(source)), target], threads, ctas, cluster)


def _neighbour():
    """Each CTA writes into its neighbour's shared memory through mapa and arrives on its mbarrier; the neighbour waits
    and reads."""
    body = """
  @%p0 mbarrier.init.shared.b64 [bar], 32;
  @%p0 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  add.u32 %r0, %rank, 1;
  and.b32 %r0, %r0, 3;
  mov.u32 %r1, data;
  shl.b32 %r2, %thread, 2;
  add.u32 %r3, %r1, %r2;
  mapa.shared::cluster.u32 %r4, %r3, %r0;
  mov.u32 %r5, bar;
  mapa.shared::cluster.u32 %r6, %r5, %r0;
  mad.lo.u32 %r7, %rank, 1000, %thread;
  st.shared::cluster.b32 [%r4], %r7;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra wait;
"""
    body += WORD_OF_EACH_THREAD
    expected = [(rank - 1) % 4 * 1000 + thread for rank in range(4) for thread in range(32)]
    return _case("cluster-mapa-remote-arrive", body, [0], expected, ctas=4, cluster=4)


def _read_back():
    """A load from another CTA's shared memory behind a cluster barrier; the last barrier keeps that CTA."""
    body = """
  mov.u32 %r1, data;
  shl.b32 %r2, %thread, 2;
  add.u32 %r3, %r1, %r2;
  mad.lo.u32 %r7, %rank, 77, %thread;
  st.shared.b32 [%r3], %r7;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  xor.b32 %r0, %rank, 1;
  mapa.shared::cluster.u32 %r4, %r3, %r0;
  ld.shared::cluster.b32 %r8, [%r4];
  barrier.cluster.arrive.release.aligned;
  mad.lo.u32 %r9, %rank, 128, %r2;
  cvt.u64.u32 %rd2, %r9;
  add.u64 %rd3, %rd1, %rd2;
  st.global.b32 [%rd3], %r8;
  barrier.cluster.wait.acquire.aligned;"""
    expected = [(rank ^ 1) * 77 + thread for rank in range(2) for thread in range(32)]
    return _case("cluster-distributed-shared", body, [0], expected, ctas=2, cluster=2)


def _multicast():
    """CTA 0's bulk copy reaches CTAs 0, 1 and 3 at the same offset, and signals each one's mbarrier."""
    body = """
  @%p0 mbarrier.init.shared.b64 [bar], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  mov.u32 %r1, data;
  shl.b32 %r2, %thread, 2;
  add.u32 %r3, %r1, %r2;
  mov.b32 %r4, 7;
  st.shared.b32 [%r3], %r4;
  fence.proxy.async.shared::cta;
  setp.ne.u32 %p2, %rank, 2;
  and.pred %p3, %p0, %p2;
  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  setp.eq.u32 %p4, %rank, 0;
  and.pred %p4, %p4, %p0;
  mov.b16 %ctas, 11;
  @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd0], 128, [bar], %ctas;
  @!%p2 bra done;
wait:
  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra wait;
done:
"""
    body = "  .reg .b16 %ctas;" + body + WORD_OF_EACH_THREAD
    source = [5 * i + 3 for i in range(32)]
    expected = [value for rank in range(4) for value in (source if rank != 2 else [7] * 32)]
    return _case("bulk-copy-multicast", body, source, expected, ctas=4, cluster=4)


def _reduce():
    """Two CTAs add to the same words of global memory by cp.reduce.async.bulk."""
    body = """
  mov.u32 %r1, data;
  shl.b32 %r2, %thread, 2;
  add.u32 %r3, %r1, %r2;
  mov.u32 %r4, %ctaid.x;
  mad.lo.u32 %r5, %r4, 10, %thread;
  cvt.rn.f32.u32 %r6, %r5;
  st.shared.b32 [%r3], %r6;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], 128;
  @%p0 cp.async.bulk.commit_group;
  @%p0 cp.async.bulk.wait_group 0;"""
    expected = [struct.unpack("<I", struct.pack("<f", 2 * thread + 10))[0] for thread in range(32)]
    return _case("bulk-reduce-add-f32", body, [0], expected, ctas=2)


def _named_barriers():
    """Warp 0 arrives at a named barrier where warp 1 waits, and the other way round, 40 times: a word is handed on."""
    body = """
  mov.u32 %r1, data;
  shr.u32 %r0, %thread, 5;
  setp.ne.u32 %p1, %r0, 0;
  mov.u32 %r4, 0;
  and.b32 %r5, %thread, 31;
  setp.eq.u32 %p2, %r5, 0;
  mov.u32 %r6, 1;
  setp.eq.u32 %p3, %thread, 0;
  @%p3 st.shared.b32 [%r1], %r4;
  bar.sync 0;
turn:
  @%p1 bar.sync 1, 64;
  @!%p1 bra first;
  ld.shared.b32 %r7, [%r1];
  mad.lo.u32 %r7, %r7, 3, 1;
  bar.warp.sync -1;
  @%p2 st.shared.b32 [%r1], %r7;
  bar.arrive 2, 64;
  bra next;
first:
  ld.shared.b32 %r7, [%r1];
  xor.b32 %r7, %r7, 0x5555;
  bar.warp.sync -1;
  @%p2 st.shared.b32 [%r1], %r7;
  bar.arrive 1, 64;
  bar.sync 2, 64;
next:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, 40;
  @%p4 bra turn;
  bar.sync 0;
  ld.shared.b32 %r8, [%r1];
  @%p3 st.global.b32 [%rd1], %r8;"""
    value = 0
    for _ in range(40):
        value = ((value ^ 0x5555) * 3 + 1) & 0xFFFFFFFF
    return _case("named-barriers", body, [0], [value], threads=64)


def _registers():
    """setmaxnreg: one warpgroup gives registers back, the others take them; elect.sync and griddepcontrol."""
    body = """
  griddepcontrol.wait;
  shr.u32 %r0, %thread, 7;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 bra producer;
  setmaxnreg.inc.sync.aligned.u32 240;
  bra together;
producer:
  setmaxnreg.dec.sync.aligned.u32 24;
together:
  elect.sync _|%p2, -1;
  mov.b32 %r1, 1;
  @%p2 red.global.add.u32 [%rd1], %r1;
  griddepcontrol.launch_dependents;"""
    return _case("setmaxnreg-elect", body, [0], [12], threads=384)


def cases():
    return [_neighbour(), _read_back(), _multicast(), _reduce(), _named_barriers(), _registers()]
