// A program that a pair of CTAs would be good for, but whose turns have no places for the other CTA of a
// pair, is left as it is, and runs without pairs.
//
// RUN: fa4-opt %s --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{print},tile-verify-outputs))' | FileCheck %s

// CHECK: tile.kernel @sum
// CHECK-NOT: cluster
// CHECK: tile.load %{{.*}} : memref<?x?x128xbf16> -> vector<128x128xbf16>
// CHECK-NOT: tile.exchange
// CHECK: tile.await_turn %{{.*}}[%{{.*}}] of %{{.*}} in
// expected-remark @+1 {{no pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' takes turns at places beside which there is no room for those of the other CTA of a pair}}
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}
