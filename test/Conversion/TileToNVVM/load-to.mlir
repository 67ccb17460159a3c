// A load and a sum that end at a row (`to`): as for a store, the map begins the 128 rows of a box in front of the tensor,
// and has the dimension of rows twice. Rows behind are out of bounds: loads put zeros there, sums leave them. A load
// of a tile that is behind its end altogether takes a map that begins at the tensor, since on a card it reads from there.
// Another map serves the load that does not end at a row.
//
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm' | FileCheck %s --dump-input=never
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=unroll' | fa4-opt | FileCheck %s --check-prefix=UNROLL --dump-input=never

// UNROLL: tile.load %{{.*}} to(%{{.*}}) : memref<?x64xbf16>
// UNROLL: tile.reduce_add %{{.*}} to(%{{.*}}) : vector

// CHECK: {tensormap = {box = [64, 128, 1], byte_strides = ["128", "128"], dims = ["64", "128", "N + 1"], offset = "-16384", swizzle = "128B", tensor = "x"}}
// CHECK-SAME: {tensormap = {box = [64, 128, 1], byte_strides = ["128", "128"], dims = ["64", "128", "N + 1"], swizzle = "128B", tensor = "x"}}
// CHECK-SAME: {tensormap = {box = [64, 128], byte_strides = ["128"], dims = ["64", "N"], swizzle = "128B", tensor = "x"}}
// CHECK-SAME: {tensormap = {box = [32, 128, 1], byte_strides = ["256", "256"], dims = ["64", "128", "N + 1"], offset = "-32768", swizzle = "128B", tensor = "y"}}
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(128 : i32)
// CHECK: %[[IS_BEHIND:.*]] = llvm.icmp "sge" %[[I:.*]], %[[ROWS]] : i32
// CHECK-NEXT: llvm.cond_br %[[IS_BEHIND]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%[[ZERO:[0-9]+]], %[[I]], %[[J:[0-9]+]]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %{{.*}}, box[%[[ZERO]], %[[I]], %[[J]]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg2, %{{.*}}, box[%[[ZERO]], %[[ROW:[0-9]+]]]
// CHECK: %[[BEHIND:.*]] = llvm.add %[[ROW:.*]], %{{.*}} : i32
// CHECK-NEXT: %[[INSIDE:.*]] = llvm.intr.smin(%arg4, %arg5)
// CHECK-NEXT: %[[IN_TILE:.*]] = llvm.intr.smin(%[[INSIDE]], %[[BEHIND]])
// CHECK: %[[Y_J:[0-9]+]] = llvm.select
// CHECK-NEXT: %[[Y_I:.*]] = llvm.sub %[[BEHIND]], %[[Y_J]] : i32
// CHECK: nvvm.cp.async.bulk.tensor.reduce %arg3, %{{.*}}, box[%{{.*}}, %[[Y_I]], %[[Y_J]]] {redKind = #nvvm.tma_redux_kind<add>}
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "partial", tile.initial = 0.0 : f32},
               %end: index {tile.name = "end"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %v = tile.load %x[%row, %c0] to(%end) : memref<?x64xbf16> -> vector<128x64xbf16>
  %w = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %v32 = arith.extf %v : vector<128x64xbf16> to vector<128x64xf32>
  %w32 = arith.extf %w : vector<128x64xbf16> to vector<128x64xf32>
  %sum = arith.addf %v32, %w32 : vector<128x64xf32>
  tile.reduce_add %sum, %y[%row, %c0] to(%end) : vector<128x64xf32>, memref<?x64xf32>
}
