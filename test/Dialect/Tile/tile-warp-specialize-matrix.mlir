// Where MMAs accumulate in registers, the threads that hold a result start the MMA: products, what is computed from
// them and what they are computed from are one role of kind matrix. There must be no role for MMAs, no channel between
// them and the arithmetic, and each MMA must be awaited where it stands: the stage that it reads is released behind that.
//
// RUN: fa4-opt %S/Inputs/matrix-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize))' | FileCheck %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize))' | FileCheck %s --check-prefix=MEMORY

// CHECK-NOT:   tmem
// CHECK-DAG:   %[[Q:.*]] = tile.channel "q" smem stages(1) : <vector<64x64xbf16>>
// CHECK-DAG:   %[[K:.*]] = tile.channel "k" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG:   %[[V:.*]] = tile.channel "v" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG:   %[[Q2:.*]] = tile.channel "q_2" smem stages(1) : <vector<64x64xbf16>>
// CHECK-DAG:   %[[OUT:.*]] = tile.channel "compute0_store" smem stages(1) : <vector<64x64xbf16>>
// CHECK-DAG:   tile.channel "compute1_store"
// CHECK-NOT:   tile.channel
//
// A thread of 2 warpgroups beside one that loads has 240 registers, and one of the third has 24.
//
// CHECK:       tile.role @compute0 kind(matrix) first_warp(0) registers(240)
// CHECK:         %[[TQ:.*]] = tile.wait %[[Q]]
// CHECK:         %[[R:.*]]:2 = scf.for %{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}) -> (vector<64x64xf32>, vector<64xf32>)
// CHECK-NEXT:      %[[TK:.*]] = tile.wait %[[K]]
// CHECK-NEXT:      %[[S0:.*]] = tile.mma %[[TQ]], transpose %[[TK]] : {{.*}} -> !tile.pending<vector<64x128xf32>>
// CHECK-NEXT:      %[[S:.*]] = tile.await %[[S0]]
// CHECK-NEXT:      tile.release %[[K]]
// CHECK-NEXT:      vector.multi_reduction <maximumf>, %[[S]], %[[M]]
// CHECK-NEXT:      %[[P:.*]] = arith.maximumf %[[S]]
// CHECK-NEXT:      %[[PB:.*]] = arith.truncf %[[P]]
// CHECK-NEXT:      %[[MORE:.*]] = arith.cmpi ne
// CHECK-NEXT:      %[[TV:.*]] = tile.wait %[[V]]
// CHECK-NEXT:      %[[O0:.*]] = tile.mma %[[PB]], %[[TV]] acc %[[O]] if %[[MORE]]
// CHECK-NEXT:      %[[O1:.*]] = tile.await %[[O0]]
// CHECK-NEXT:      tile.release %[[V]]
// CHECK-NEXT:      scf.yield %[[O1]]
// CHECK:         tile.release %[[Q]]
// CHECK:         tile.acquire %[[OUT]]
// CHECK-NEXT:    tile.commit %[[OUT]], %{{.*}} : <vector<64x64xbf16>>
// CHECK-NEXT:    tile.store %[[R]]#1, %arg4
// CHECK:       tile.role @compute1 kind(matrix) first_warp(4) registers(240)
// CHECK:         tile.wait %[[Q2]]
// CHECK:       tile.role @load kind(issuer) first_warp(8) registers(24)
// CHECK:       tile.role @store kind(issuer) first_warp(9) registers(24)
// CHECK:       tile.role @idle kind(idle) warps(2) first_warp(10) registers(24)

// An operand B is read from shared memory: a value that lanes have computed gets there by a channel, from a role of its
// own. That role starts no MMA, and so its threads have whole rows.
//
// MEMORY-DAG:  %[[A:.*]] = tile.channel "A" smem
// MEMORY-DAG:  %[[B:.*]] = tile.channel "compute0_compute1" smem stages(1) : <vector<128x64xbf16>>
// MEMORY:      tile.role @compute0 kind(vector)
// MEMORY-NOT:  tile.mma
// MEMORY:        tile.commit %[[B]]
// MEMORY:      tile.role @compute1 kind(matrix)
// MEMORY:        %[[TA:.*]] = tile.wait %[[A]]
// MEMORY:        %[[TB:.*]] = tile.wait %[[B]]
// MEMORY:        tile.mma %[[TA]], %[[TB]]
// MEMORY-NEXT:   tile.await
tile.kernel @product(%a: memref<?x128xbf16> {tile.name = "A", tile.dims = ["M", "128"]},
                     %b: memref<128x64xbf16> {tile.name = "B", tile.dims = ["128", "64"]},
                     %c: memref<?x64xf32> {tile.name = "C", tile.dims = ["M", "64"], tile.output = "once"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"M" by 64>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = tile.work_tile : index
  %row = arith.muli %t, %c64 : index
  %ta = tile.load %a[%row, %c0] : memref<?x128xbf16> -> vector<64x128xbf16>
  %tb = tile.load %b[%c0, %c0] : memref<128x64xbf16> -> vector<128x64xbf16>
  %twice = arith.addf %tb, %tb : vector<128x64xbf16>
  %s = tile.mma %ta, %twice : vector<64x128xbf16>, vector<128x64xbf16> -> vector<64x64xf32>
  tile.store %s, %c[%row, %c0] : vector<64x64xf32>, memref<?x64xf32>
}
