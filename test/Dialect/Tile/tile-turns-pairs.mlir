// Work tiles that take turns, on pairs of CTAs: pairs take them. Each CTA of a pair adds
// half of the rows of a sum over the work tiles of both, and comes to a place of its own,
// 64 elements behind that of the first one. That turns come is proven, and explored.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck %s < pairs.mlir
//
// $ fa4-opt $S/tile-turns-pairs.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-pair-ctas{pairs=on}))' -o pairs.mlir
// $ fa4-test-opt pairs.mlir --tile-verify-outputs --tile-explore-protocol -o /dev/null
// $ fa4-opt pairs.mlir --tile-assign-work --tile-warp-specialize --tile-schedule -o schedule.mlir
// $ fa4-test-opt schedule.mlir --tile-verify-outputs --tile-verify-protocol -o /dev/null
// $ fa4-opt schedule.mlir --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --tile-to-nvvm
// ...
// {{.*}}llvm.load {{.*}} atomic syncscope("device") acquire{{.*}}
// ...
// {{.*}}red.release.gpu.global.add.u32{{.*}}
// ...

// CHECK: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK: %[[TILE:.*]] = tile.work_tile
// CHECK: %[[PAIR:.*]] = arith.divui %[[TILE]], %{{.*}} : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[PAIR]], %{{.*}} : index
// CHECK: %[[RANK:.*]] = arith.subi %[[TILE]], %[[FIRST]] : index
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.muli
// CHECK: %[[FROM:.*]] = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK: %[[TO:.*]] = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[RANK]], %{{.*}} : index
// CHECK: %[[PLACE:.*]] = arith.addi %[[ROW]], %[[OFFSET]] : index
// CHECK: tile.await_turn %{{.*}}[%[[PLACE]]] of %[[PAIR]] in %[[FROM]] to %[[TO]]

tile.kernel @sum(%a: memref<?x?xbf16> {tile.name = "a", tile.dims = ["N", "K"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
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
    %ta = tile.load %a[%row, %first] : memref<?x?xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}
