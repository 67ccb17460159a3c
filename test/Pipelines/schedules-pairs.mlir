// Pairs of CTAs that ask for work: right numbers with hardware that gives work away in any order. The simulator
// finds each fault that one can make in the request of a cluster.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ fa4-compile "$S"/gemm.mlir --from=tile --schedule=clc --pairs=on -o . --emit=warp-specialize,ptx
// $ cat gemm.warp-specialize.mlir
// ...
//     tile.role @mma kind(issuer) {{.*}} leader {
// ...
// {{.*}}tile.wait %next{{.*}}
// ...
//     tile.role @request kind(issuer) {{.*}} leader {
// ...
// {{.*}}tile.request{{.*}}
// ...
// $ cat gemm.json
// ...
//     "2 * ceildiv(M, 512) * ceildiv(N, 128)"
// ...
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --seeds 0:7 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// $ cp gemm.ptx right.ptx
//
// The response comes to the leader only.
//
// $ sed 's/\.multicast::cluster::all//' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}of CTA rank 1 {{.*}} 0 of 1 arrivals pending, 16 bytes pending{{.*}}
// ...
// [1]
//
// The other CTA's barrier does not expect it.
//
// $ sed '/expect_tx.relaxed.cluster/d' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}of CTA rank 1 {{.*}} 1 of 1 arrivals pending, -16 bytes pending{{.*}}
// ...
// [1]
//
// It expects the bytes of two responses.
//
// $ sed 's/\(mov.b32.*\), 16;/\1, 32;/' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}cannot be met: 16 of the 32 bytes{{.*}}
// ...
// [1]
//
// Each CTA gives the response back at its own barrier.
//
// $ sed '/mapa/{N;N;/arrive.release.cluster/s/mapa[^;]*\(%rd[0-9]*\), \(%rd[0-9]*\), 0;/mov.b64 \1, \2;/}' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}130 of 262 arrivals of phase 0 are missing{{.*}}
// ...
// [1]
//
// By an arrival that orders no accesses of memory.
//
// $ sed 's/arrive.release.cluster/arrive.relaxed.cluster/' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}its arrival or its wait is relaxed, and there is no fence {{.*}}
// ...
// [1]
//
// The leader does not wait for the other CTA.
//
// $ sed 's/, 262;/, 132;/; s/mbarrier.arrive.release.cluster[^;]*;/{ .reg .pred q; .reg .u32 r; mov.u32 r, %cluster_ctarank; setp.eq.u32 q, r, 0; @q & }/' right.ptx > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1
// ...
// {{.*}}write of shared {{.*}}, CTA rank 1
//     clusterlaunchcontrol.try_cancel{{.*}}
// ...
// [1]
//
// Both CTAs ask: the branch around the role is never taken.
//
// $ python3 -c "t = open('right.ptx').read(); i = t.rindex('setp.ne', 0, t.rindex('elect.sync', 0, t.index('try_cancel'))); print(t[:i] + t[i:].replace('setp.ne.b32', 'setp.gt.u32', 1).replace(', 0;', ', 1;', 1))" > gemm.ptx
// $ fa4-sim gemm.json M=1500 N=136 K=264 --random --check --threads 1 --seeds 0:3
// ...
// {{.*}}barrier-over-arrival{{.*}}
// ...
// [1]


