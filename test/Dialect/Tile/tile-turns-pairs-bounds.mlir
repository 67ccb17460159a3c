// Work tiles take turns at blocks behind a bound that differs between them. A pair of CTAs begins at the smaller one of
// the bounds of its two work tiles. That turns have room is decided before this bound is in the program, so the
// analysis must know the bound of the pair; without it, there would be no pair.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-verify-outputs))' | FileCheck %s

// CHECK: tile.kernel @sum
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK: %[[FROM:.*]] = arith.minsi
// CHECK: %[[PASSES:.*]] = arith.subi %{{.*}}, %[[FROM]] : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[PASSES]]
// CHECK: tile.await_turn %{{.*}}[%{{.*}}] of %{{.*}} in %{{.*}} to %{{.*}} : memref<?xi32>
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "N", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(N, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %y, %c0 : memref<?x128xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last_block = arith.subi %blocks, %c1 : index
  // A work tile adds to the blocks from the one of its own number on.
  %from = tile.at_most %i
  %passes = arith.subi %blocks, %from : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %passes step %c1 {
    %block = arith.subi %last_block, %j : index
    %first = arith.muli %block, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %block : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}
