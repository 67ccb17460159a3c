// The gradient of attention as a tile program is accepted by the dialect. Other
// tests send it through the passes, to show that these do not ask which kernel
// they see.
//
// RUN: fa4-opt %s | FileCheck %s

// The gradient of attention as a tile program: one tile of 128 keys a CTA and a
// loop over blocks of 128 queries. Full attention, one key/value head a query
// head. Scores are transposed (rows are keys), so that both accumulators have
// keys as rows; statistics of queries are broadcast along rows.
//
// Out of bounds loads give 0: a query beyond Sq has dO = 0 and delta = 0 and so
// adds nothing, a key beyond Sk only reaches rows of dk and dv that are not stored.
//
// dq is summed over key tiles, in f32 and without the factor `scale`: what
// converts it afterwards multiplies. delta = rowsum(dout * out), c = scale * log2(e).

// On pairs of CTAs (tile-pair-ctas-gradient.mlir), Q and dO are the B of an MMA by rows and of another one by columns, and
// dQ sums over the keys of both CTAs: its K is that of both, its dS is exchanged, and each CTA adds half of the queries.
// K and V are the A of the others, whole in each CTA.

// CHECK-LABEL: tile.kernel @backward
// CHECK: tile.reduce_add

// PAIR-LABEL: tile.kernel @backward
// PAIR-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// PAIR-DAG: %[[K:.*]] = tile.load %arg1{{.*}} dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
// PAIR-DAG: %[[KT:.*]] = tile.load %arg1{{.*}} split(1) : memref<?x?x?x128xbf16> -> vector<256x128xbf16>
// PAIR-DAG: %[[V:.*]] = tile.load %arg2{{.*}} dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
// PAIR: scf.for
// PAIR-DAG: %[[QT:.*]] = tile.load %arg0{{.*}} split(1)
// PAIR-DAG: %[[Q:.*]] = tile.load %arg0{{.*}} split(0)
// PAIR-DAG: tile.mma %[[K]], transpose %[[Q]] :
// PAIR-DAG: %[[DO:.*]] = tile.load %arg3{{.*}} split(0)
// PAIR-DAG: %[[DOT:.*]] = tile.load %arg3{{.*}} split(1)
// PAIR-DAG: tile.mma %{{.*}}, %[[DOT]] acc
// PAIR-DAG: tile.mma %[[V]], transpose %[[DO]] :
// PAIR: %[[PART:.*]] = arith.select %{{.*}} : vector<128x128xbf16>
// PAIR: tile.mma %[[PART]], %[[QT]] acc
// PAIR: %[[X:.*]] = tile.exchange %[[PART]] : vector<128x128xbf16> -> vector<256x64xbf16>
// PAIR: %[[DQ:.*]] = tile.mma transpose %[[X]], %[[KT]] : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
// PAIR: tile.reduce_add %[[DQ]], %arg6

tile.kernel @backward(
    %q: memref<?x?x?x128xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "H", "128"]},
    %k: memref<?x?x?x128xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "H", "128"]},
    %v: memref<?x?x?x128xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "H", "128"]},
    %dout: memref<?x?x?x128xbf16> {tile.name = "dout", tile.dims = ["B", "Sq", "H", "128"]},
    %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "H", "Sq"]},
    %delta: memref<?x?x?xf32> {tile.name = "delta", tile.dims = ["B", "H", "Sq"]},
    %dq: memref<?x?x?x128xf32> {tile.name = "dq", tile.dims = ["B", "Sq", "H", "128"], tile.output = "accumulate"},
    %dk: memref<?x?x?x128xbf16> {tile.name = "dk", tile.dims = ["B", "Sk", "H", "128"], tile.output = "once"},
    %dv: memref<?x?x?x128xbf16> {tile.name = "dv", tile.dims = ["B", "Sk", "H", "128"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"H">, #tile.extent<"B">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %c = arith.constant dense<0.127517432> : vector<128x128xf32>
  %scale = arith.constant dense<0.0883883461> : vector<128x128xf32>
  %log2e = arith.constant dense<-1.44269502> : vector<128xf32>

  %kt, %h, %b = tile.work_tile : index, index, index
  %key0 = arith.muli %kt, %c128 : index
  %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
  %n = arith.ceildivsi %sq, %c128 : index
  %tk = tile.load %k[%b, %key0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
  %tv = tile.load %v[%b, %key0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>

  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%dvi = %zero, %dki = %zero) -> (vector<128x128xf32>, vector<128x128xf32>) {
    %query0 = arith.muli %i, %c128 : index
    %tq = tile.load %q[%b, %query0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    %tlse = tile.load %lse[%b, %h, %query0] : memref<?x?x?xf32> -> vector<128xf32>

    // P^T = exp2(c S^T - log2(e) LSE)
    %st = tile.mma %tk, transpose %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %nl = arith.mulf %tlse, %log2e : vector<128xf32>
    %nlb = vector.broadcast %nl : vector<128xf32> to vector<128x128xf32>
    %y = math.fma %st, %c, %nlb : vector<128x128xf32>
    %pt = math.exp2 %y : vector<128x128xf32>
    %pb = arith.truncf %pt : vector<128x128xf32> to vector<128x128xbf16>

    // dV += P^T dO
    %tdo = tile.load %dout[%b, %query0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    %tdelta = tile.load %delta[%b, %h, %query0] : memref<?x?x?xf32> -> vector<128xf32>
    %dvo = tile.mma %pb, %tdo acc %dvi : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>

    // dS^T = P^T (dP^T - delta)
    %dpt = tile.mma %tv, transpose %tdo : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %deltab = vector.broadcast %tdelta : vector<128xf32> to vector<128x128xf32>
    %diff = arith.subf %dpt, %deltab : vector<128x128xf32>
    %dst = arith.mulf %pt, %diff : vector<128x128xf32>
    %dsb = arith.truncf %dst : vector<128x128xf32> to vector<128x128xbf16>

    // dK += dS^T Q, dQ += dS K
    %dko = tile.mma %dsb, %tq acc %dki : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %tdq = tile.mma transpose %dsb, %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.reduce_add %tdq, %dq[%b, %query0, %h, %c0] dims [1, 3] : vector<128x128xf32>, memref<?x?x?x128xf32>
    scf.yield %dvo, %dko : vector<128x128xf32>, vector<128x128xf32>
  }

  %dvb = arith.truncf %r#0 : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %dvb, %dv[%b, %key0, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
  %dks = arith.mulf %r#1, %scale : vector<128x128xf32>
  %dkb = arith.truncf %dks : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %dkb, %dk[%b, %key0, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
}
