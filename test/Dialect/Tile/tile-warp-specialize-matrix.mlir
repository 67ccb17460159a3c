// Where MMAs accumulate in registers, the threads that hold a result start the MMA: products, what is computed from
// them and what they are computed from are one role of kind matrix. There must be no role for MMAs, no channel between
// them and the arithmetic, and each MMA must be awaited where it stands: the stage that it reads is released behind that.
//
// RUN: fa4-opt %S/Inputs/matrix-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize))' | FileCheck %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize))' | FileCheck %s --check-prefixes=MEMORY,SUMS

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

// What lanes compute for a product that another role adds to goes to memory once, for the MMAs of both roles. Two such
// sums of two roles' values are one for each of them, and no role of its own: it reads its own value from memory, too,
// while it has it in registers for another product. A vector that is broadcast in both roles is one channel and ties
// them to nothing. Products of a sum are not awaited in between.
//
// SUMS-LABEL: tile.kernel @sums(
// SUMS-DAG:   tile.channel "C" smem stages(1) : <vector<64xf32>>
// SUMS-DAG:   %[[OWN:.*]] = tile.channel "compute0_{{compute[01]}}" smem stages(1) : <vector<64x64xbf16>>
// SUMS-DAG:   %[[OTHER:.*]] = tile.channel "compute1_{{compute[01]}}" smem stages(1) : <vector<64x64xbf16>>
// SUMS:       tile.role @compute0 kind(matrix)
// SUMS:         tile.wait %C
// SUMS:         tile.commit %[[OWN]], %[[NARROW:.*]] :
// SUMS:         tile.mma %[[NARROW]], %{{.*}} -> !tile.pending<vector<64x128xf32>>
// SUMS:         tile.wait %K :
// SUMS:         tile.wait %[[OTHER]]
// SUMS-NEXT:    %[[FIRST:.*]] = tile.mma transpose %{{.*}} -> !tile.pending<vector<64x64xf32>>
// SUMS-NEXT:    tile.wait %[[OWN]]
// SUMS-NEXT:    %[[SUM:.*]] = tile.mma transpose %{{.*}} onto %[[FIRST]]
// SUMS-NEXT:    tile.await %[[SUM]]
// SUMS-DAG:     tile.release %K :
// SUMS-DAG:     tile.release %K_2 :
// SUMS-DAG:     tile.release %[[OTHER]]
// SUMS-DAG:     tile.release %[[OWN]]
// SUMS:       tile.role @compute1 kind(matrix)
// SUMS:         tile.wait %C
// SUMS:         tile.commit %[[OTHER]]
// SUMS:         tile.mma transpose
// SUMS:         tile.mma transpose %{{.*}} onto
// SUMS-NOT:   tile.role @compute2
tile.kernel @sums(%k: memref<?x128xbf16> {tile.name = "K", tile.dims = ["N", "128"]},
                  %q: memref<?x128xbf16> {tile.name = "Q", tile.dims = ["M", "128"]},
                  %c: memref<?xf32> {tile.name = "C", tile.dims = ["M"]},
                  %d: memref<?x128xf32> {tile.name = "D", tile.dims = ["M", "128"], tile.output = "partial"},
                  %e: memref<?x128xf32> {tile.name = "E", tile.dims = ["N", "128"], tile.output = "once"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %at = arith.muli %i, %c128 : index
  %behind = arith.addi %at, %c64 : index
  %tk0 = tile.load %k[%at, %c0] : memref<?x128xbf16> -> vector<64x128xbf16>
  %tk1 = tile.load %k[%behind, %c0] : memref<?x128xbf16> -> vector<64x128xbf16>
  %tq = tile.load %q[%c0, %c0] : memref<?x128xbf16> -> vector<64x128xbf16>
  %tc = tile.load %c[%c0] : memref<?xf32> -> vector<64xf32>
  %wide = vector.broadcast %tc : vector<64xf32> to vector<64x64xf32>
  %s0 = tile.mma %tk0, transpose %tq : vector<64x128xbf16>, vector<64x128xbf16> -> vector<64x64xf32>
  %s1 = tile.mma %tk1, transpose %tq : vector<64x128xbf16>, vector<64x128xbf16> -> vector<64x64xf32>
  %m0 = arith.mulf %s0, %wide : vector<64x64xf32>
  %m1 = arith.mulf %s1, %wide : vector<64x64xf32>
  %n0 = arith.truncf %m0 : vector<64x64xf32> to vector<64x64xbf16>
  %n1 = arith.truncf %m1 : vector<64x64xf32> to vector<64x64xbf16>
  %e0 = tile.mma %n0, %tq : vector<64x64xbf16>, vector<64x128xbf16> -> vector<64x128xf32>
  %e1 = tile.mma %n1, %tq : vector<64x64xbf16>, vector<64x128xbf16> -> vector<64x128xf32>
  tile.store %e0, %e[%at, %c0] : vector<64x128xf32>, memref<?x128xf32>
  tile.store %e1, %e[%behind, %c0] : vector<64x128xf32>, memref<?x128xf32>
  %left0 = vector.extract_strided_slice %tk0 {offsets = [0, 0], sizes = [64, 64], strides = [1, 1]} : vector<64x128xbf16> to vector<64x64xbf16>
  %left1 = vector.extract_strided_slice %tk1 {offsets = [0, 0], sizes = [64, 64], strides = [1, 1]} : vector<64x128xbf16> to vector<64x64xbf16>
  %right0 = vector.extract_strided_slice %tk0 {offsets = [0, 64], sizes = [64, 64], strides = [1, 1]} : vector<64x128xbf16> to vector<64x64xbf16>
  %right1 = vector.extract_strided_slice %tk1 {offsets = [0, 64], sizes = [64, 64], strides = [1, 1]} : vector<64x128xbf16> to vector<64x64xbf16>
  %l0 = tile.mma transpose %n0, %left0 : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
  %l1 = tile.mma transpose %n1, %left1 acc %l0 : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
  tile.reduce_add %l1, %d[%c0, %c0] : vector<64x64xf32>, memref<?x128xf32>
  %r0 = tile.mma transpose %n0, %right0 : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
  %r1 = tile.mma transpose %n1, %right1 acc %r0 : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
  tile.reduce_add %r1, %d[%c0, %c64] : vector<64x64xf32>, memref<?x128xf32>
}
