// Pairs of CTAs that ask for work: right numbers with hardware that gives work away in any order. The simulator
// finds each fault that one can make in the request of a cluster.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-compile %S/gemm.mlir --from=tile --schedule=clc --pairs=on -o %t --emit=warp-specialize,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=ASK < %t/gemm.warp-specialize.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=GRID < %t/gemm.json
// RUN: cd %t && fa4-sim gemm.json M=1500 N=136 K=264 --random --check --seeds 0:7 --output A=A.npy --output B=B.npy C=C.npy
// RUN: python3 %S/Inputs/check_scaled_relu.py %t/A.npy %t/B.npy %t/C.npy
// GRID: "2 * ceildiv(M, 512) * ceildiv(N, 128)"

// ASK: tile.role @mma kind(issuer) {{.*}} leader
// ASK: tile.wait %next
// ASK: tile.role @request kind(issuer) {{.*}} leader
// ASK: tile.request

// RUN: cp gemm.ptx right.ptx
// The response comes to the leader only.
// RUN: sed 's/\.multicast::cluster::all//' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=ALONE
// ALONE: of CTA rank 1 {{.*}} 0 of 1 arrivals pending, 16 bytes pending
// The other CTA's barrier does not expect it.
// RUN: sed '/expect_tx.relaxed.cluster/d' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=EXPECT
// EXPECT: of CTA rank 1 {{.*}} 1 of 1 arrivals pending, -16 bytes pending
// It expects the bytes of two responses.
// RUN: sed 's/\(mov.b32.*\), 16;/\1, 32;/' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=BYTES
// BYTES: cannot be met: 16 of the 32 bytes
// Each CTA gives the response back at its own barrier.
// RUN: sed '/mapa/{N;N;/arrive.release.cluster/s/mapa[^;]*\(%%rd[0-9]*\), \(%%rd[0-9]*\), 0;/mov.b64 \1, \2;/}' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=OWN
// OWN: 130 of 262 arrivals of phase 0 are missing
// By an arrival that orders no accesses of memory.
// RUN: sed 's/arrive.release.cluster/arrive.relaxed.cluster/' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=ORDER
// ORDER: its arrival or its wait is relaxed
// The leader does not wait for the other CTA.
// RUN: sed 's/, 262;/, 132;/; s/mbarrier.arrive.release.cluster[^;]*;/{ .reg .pred q; .reg .u32 r; mov.u32 r, %%cluster_ctarank; setp.eq.u32 q, r, 0; @q & }/' right.ptx > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 2>&1 | FileCheck --dump-input=never %s --check-prefix=ONE
// ONE: write of shared {{.*}}, CTA rank 1
// ONE-NEXT: try_cancel
// Both CTAs ask: the branch around the role is never taken.
// RUN: python3 -c "t = open('right.ptx').read(); i = t.rindex('setp.ne', 0, t.rindex('elect.sync', 0, t.index('try_cancel'))); print(t[:i] + t[i:].replace('setp.ne.b32', 'setp.gt.u32', 1).replace(', 0;', ', 1;', 1))" > gemm.ptx
// RUN: not fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 --seeds 0:3 2>&1 | FileCheck --dump-input=never %s --check-prefix=BOTH
// BOTH: barrier-over-arrival
