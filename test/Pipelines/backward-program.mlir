// The gradient of attention as a tile program
// (test/Dialect/Tile/backward-program.mlir with head dim 64) goes through the
// passes that plan kernels: subtile, roles, schedule, memory. No pass may need
// to know that this is not the forward kernel.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s < %t/program.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=WIDE < %t/wide.mlir
//
// $ fa4-opt "$S"/backward-program.mlir -o program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))'
// $ fa4-opt program.mlir | diff program.mlir -
// $ fa4-opt "$S"/../Dialect/Tile/backward-program.mlir -o wide.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))'
// $ fa4-test-opt wide.mlir --pass-pipeline='builtin.module(tile.kernel(tile-explore-protocol{max-passes=2}))' -o /dev/null
//
// With head dim 128 the five results of MMAs need 640 columns if each has its own.
// dq has those of dp, which compute0 has read when it hands over ds; dp of the next
// block is issued when dq has been read: dq is acquired before it. dq leaves in
// parts of 32 columns, because shared memory does not hold two stages of all.
//
// WIDE-DAG: %[[S:.*]] = tile.channel "mma_compute0" tmem stages(1) place<offset(0)
// WIDE-DAG: tile.channel "compute0_mma.0" tmem stages(1) in_place_of(%[[S]] : {{.*}}) place<offset(0)
// WIDE-DAG: tile.channel "compute0_mma.1" tmem stages(1) in_place_of(%[[S]] : {{.*}}) at(48) place<offset(48)
// WIDE-DAG: %[[DP:.*]] = tile.channel "mma_compute0_2" tmem stages(1) place<offset(128) full({{[0-9]+}}) arrivals(1)> :
// WIDE-DAG: tile.channel "mma_epilogue" tmem stages(1) in_place_of(%[[DP]] : {{.*}}) place<offset(128) full({{[0-9]+}}) arrivals(1) empty
// WIDE-DAG: tile.channel "mma_epilogue_2" tmem stages(1) place<offset(256)
// WIDE-DAG: tile.channel "mma_epilogue_3" tmem stages(1) place<offset(384)
// WIDE-DAG: tile.channel "epilogue_store" smem stages(2) {{.*}} : <vector<128x32xf32>>
// WIDE: tile.role @mma
// WIDE: tile.acquire %mma_epilogue :
// WIDE-NEXT: tile.mma
// WIDE-NEXT: tile.commit %mma_compute0_2,
// WIDE: scf.for
// WIDE: tile.commit %mma_compute0,
// WIDE: tile.wait %compute0_mma_2
// WIDE: tile.commit %mma_epilogue,
// WIDE: tile.acquire %mma_epilogue :
// WIDE-NEXT: tile.mma
// WIDE-NEXT: tile.commit %mma_compute0_2,
// WIDE-NEXT: scf.yield

// The store of a part is issued before the last one has ended.
// WIDE: tile.role @store
// WIDE: scf.for %[[I:.*]] = %c0
// WIDE: tile.wait %epilogue_store
// WIDE-NEXT: tile.reduce_add
// WIDE-NEXT: arith.cmpi ne, %[[I]], %c0
// WIDE-NEXT: scf.if
// WIDE-NEXT: tile.release %epilogue_store
// WIDE: tile.wait %epilogue_store
// WIDE-NEXT: tile.reduce_add
// WIDE-NEXT: tile.release %epilogue_store
// WIDE: tile.reduce_add
// WIDE: tile.reduce_add
// WIDE-NEXT: tile.release %epilogue_store
// WIDE-NEXT: }
// WIDE: scf.if
// WIDE-NEXT: tile.release %epilogue_store

// Operands that are loaded: those of the loop are prefetched.
// CHECK-DAG: tile.channel "k" smem stages(1) {{.*}} : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "v" smem stages(1) {{.*}} : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "q" smem stages({{[2-9]}}) {{.*}} : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "dout" smem stages({{[2-9]}}) {{.*}} : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "lse" smem stages({{[2-9]}}) {{.*}} : <vector<128xf32>>
// CHECK-DAG: tile.channel "delta" smem stages({{[2-9]}}) {{.*}} : <vector<128xf32>>
// s with p in its place; dp, whose ds goes to shared memory for both of its uses.
// CHECK-DAG: %[[S:.*]] = tile.channel "mma_compute0" tmem stages(1) place<offset(0) full({{.*}})> : <vector<128x128xf32>>
// CHECK-DAG: tile.channel "compute0_mma.0" tmem stages(1) in_place_of(%[[S]] : {{.*}}) place<offset(0)
// CHECK-DAG: tile.channel "mma_compute0_2" tmem stages(1) place<offset(128) {{.*}} : <vector<128x128xf32>>
// CHECK-DAG: tile.channel "compute0_mma_2" smem stages(1) {{.*}} : <vector<128x128xbf16>>
// dq leaves in each iteration, dv and dk behind the loop.
// CHECK-DAG: tile.channel "mma_epilogue" tmem stages(1) place<offset(256) full({{.*}}) empty({{.*}})> : <vector<128x64xf32>>
// CHECK-DAG: tile.channel "mma_epilogue_2" tmem stages(1) place<offset(320) full({{[0-9]+}}) arrivals(1)> : <vector<128x64xf32>>
// CHECK-DAG: tile.channel "mma_epilogue_3" tmem stages(1) place<offset(384) full({{[0-9]+}}) arrivals(1)> : <vector<128x64xf32>>

// CHECK: tile.role @compute0 kind(vector) first_warp(0)
// CHECK: scf.for
// CHECK: tile.wait %mma_compute0 :
// CHECK: math.exp2
// CHECK: tile.commit %compute0_mma.0
// CHECK: tile.wait %mma_compute0_2 :
// CHECK: tile.commit %compute0_mma_2,

// CHECK: tile.role @epilogue kind(vector) first_warp(4)
// CHECK: scf.for
// CHECK: tile.wait %mma_epilogue :
// CHECK: tile.commit %epilogue_store,
// CHECK: }
// CHECK: tile.wait %mma_epilogue_2 :
// CHECK: tile.wait %mma_epilogue_3 :

// dV(i) S(i+1) dK(i) dQ(i) dP(i+1)
// CHECK: tile.role @mma kind(issuer)
// CHECK: scf.for
// CHECK: %[[P:.*]] = tile.wait %compute0_mma.0
// CHECK: tile.mma %[[P]],
// CHECK: %[[Q:.*]] = tile.wait %q
// CHECK: tile.mma %{{.*}}, transpose %[[Q]]
// CHECK: tile.commit %mma_compute0,
// CHECK: %[[DS:.*]] = tile.wait %compute0_mma_2
// CHECK: tile.mma %[[DS]],
// CHECK: tile.acquire %mma_epilogue :
// CHECK: tile.mma transpose %[[DS]],
// CHECK: tile.commit %mma_epilogue,
// CHECK: tile.acquire %mma_compute0_2
// CHECK: %[[DO:.*]] = tile.wait %dout
// CHECK: tile.mma %{{.*}}, transpose %[[DO]]
// CHECK: scf.yield

// CHECK: tile.role @load kind(issuer)
// CHECK: tile.role @store kind(issuer)
// CHECK: tile.reduce_add
// CHECK: tile.store
// CHECK: tile.store

tile.kernel @backward(
    %q: memref<?x?x?x64xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "H", "64"]},
    %k: memref<?x?x?x64xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "H", "64"]},
    %v: memref<?x?x?x64xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "H", "64"]},
    %dout: memref<?x?x?x64xbf16> {tile.name = "dout", tile.dims = ["B", "Sq", "H", "64"]},
    %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "H", "Sq"]},
    %delta: memref<?x?x?xf32> {tile.name = "delta", tile.dims = ["B", "H", "Sq"]},
    %dq: memref<?x?x?x64xf32> {tile.name = "dq", tile.dims = ["B", "Sq", "H", "64"], tile.output = "accumulate"},
    %dk: memref<?x?x?x64xbf16> {tile.name = "dk", tile.dims = ["B", "Sk", "H", "64"], tile.output = "once"},
    %dv: memref<?x?x?x64xbf16> {tile.name = "dv", tile.dims = ["B", "Sk", "H", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"H">, #tile.extent<"B">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %c = arith.constant dense<0.180336880> : vector<128x128xf32>
  %scale = arith.constant dense<0.125> : vector<128x64xf32>
  %log2e = arith.constant dense<-1.44269502> : vector<128xf32>

  %kt, %h, %b = tile.work_tile : index, index, index
  %key0 = arith.muli %kt, %c128 : index
  %sq = memref.dim %q, %c1 : memref<?x?x?x64xbf16>
  %n = arith.ceildivsi %sq, %c128 : index
  %tk = tile.load %k[%b, %key0, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
  %tv = tile.load %v[%b, %key0, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>

  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%dvi = %zero, %dki = %zero) -> (vector<128x64xf32>, vector<128x64xf32>) {
    %query0 = arith.muli %i, %c128 : index
    %tq = tile.load %q[%b, %query0, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
    %tlse = tile.load %lse[%b, %h, %query0] : memref<?x?x?xf32> -> vector<128xf32>

    // P^T = exp2(c S^T - log2(e) LSE)
    %st = tile.mma %tk, transpose %tq : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %nl = arith.mulf %tlse, %log2e : vector<128xf32>
    %nlb = vector.broadcast %nl : vector<128xf32> to vector<128x128xf32>
    %y = math.fma %st, %c, %nlb : vector<128x128xf32>
    %pt = math.exp2 %y : vector<128x128xf32>
    %pb = arith.truncf %pt : vector<128x128xf32> to vector<128x128xbf16>

    // dV += P^T dO
    %tdo = tile.load %dout[%b, %query0, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
    %tdelta = tile.load %delta[%b, %h, %query0] : memref<?x?x?xf32> -> vector<128xf32>
    %dvo = tile.mma %pb, %tdo acc %dvi : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>

    // dS^T = P^T (dP^T - delta)
    %dpt = tile.mma %tv, transpose %tdo : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %deltab = vector.broadcast %tdelta : vector<128xf32> to vector<128x128xf32>
    %diff = arith.subf %dpt, %deltab : vector<128x128xf32>
    %dst = arith.mulf %pt, %diff : vector<128x128xf32>
    %dsb = arith.truncf %dst : vector<128x128xf32> to vector<128x128xbf16>

    // dK += dS^T Q, dQ += dS K
    %dko = tile.mma %dsb, %tq acc %dki : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    %tdq = tile.mma transpose %dsb, %tk : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    tile.reduce_add %tdq, %dq[%b, %query0, %h, %c0] dims [1, 3] : vector<128x64xf32>, memref<?x?x?x64xf32>
    scf.yield %dvo, %dko : vector<128x64xf32>, vector<128x64xf32>
  }

  %dvb = arith.truncf %r#0 : vector<128x64xf32> to vector<128x64xbf16>
  tile.store %dvb, %dv[%b, %key0, %h, %c0] dims [1, 3] : vector<128x64xbf16>, memref<?x?x?x64xbf16>
  %dks = arith.mulf %r#1, %scale : vector<128x64xf32>
  %dkb = arith.truncf %dks : vector<128x64xf32> to vector<128x64xbf16>
  tile.store %dkb, %dk[%b, %key0, %h, %c0] dims [1, 3] : vector<128x64xbf16>, memref<?x?x?x64xbf16>
}
