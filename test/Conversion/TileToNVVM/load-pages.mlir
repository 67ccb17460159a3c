// A load from pages. Where all of its rows count, the pages of its parts are read first, and each part is a copy by the
// map that begins where the tensor does: (i, j) is row i + j of a page, and i = 64, the rows of a box, is outside, for a
// page that the tensor does not have. Otherwise there is a loop over the parts, which end as a load with `to` does.
//
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm' | FileCheck %s --dump-input=never

// CHECK: {tensormap = {box = [64, 64, 1, 1], byte_strides = ["128", "8192", "128"], dims = ["64", "64", "P", "65"], offset = "-8192", swizzle = "128B", tensor = "k"}}
// CHECK-SAME: {tensormap = {box = [64, 64, 1, 1], byte_strides = ["128", "8192", "128"], dims = ["64", "64", "P", "65"], swizzle = "128B", tensor = "k"}}
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(128 : i32)
// CHECK-DAG: %[[SIZE:.*]] = llvm.mlir.constant(64 : i32)
// CHECK: %[[LAST:.*]] = llvm.udiv %{{.*}}, %[[SIZE]]
// CHECK: llvm.icmp "ult" %[[LAST]]
// CHECK: llvm.icmp "sle"
// CHECK: llvm.cond_br %{{.*}}, ^[[WHOLE:bb[0-9]+]], ^[[CUT:bb[0-9]+]]
// CHECK: ^[[WHOLE]]:
// CHECK: %[[A:.*]] = llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i32
// CHECK: %[[IS_A:.*]] = llvm.icmp "ult" %[[A]]
// CHECK: %[[I_A:.*]] = llvm.select %[[IS_A]], %[[ZERO:.*]], %[[SIZE]]
// CHECK: %[[B:.*]] = llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i32
// CHECK: %[[I_B:.*]] = llvm.select
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%[[ZERO]], %[[I_A]], %[[A]], %[[ZERO]]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %{{.*}}, box[%[[ZERO]], %[[I_B]], %[[B]], %[[ZERO]]]
// CHECK: ^[[CUT]]:
// CHECK: llvm.br ^[[LOOP:bb[0-9]+]]
// CHECK: ^[[LOOP]](%[[ROW:.*]]: i32):
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0
// CHECK: llvm.cond_br %{{.*}}, ^[[LOOP]]({{.*}}{loop_annotation
tile.kernel @k(%k: memref<?x64x64xbf16> {tile.name = "k", tile.dims = ["P", "64", "64"]},
               %t: memref<?x?xi32> {tile.name = "page_table", tile.dims = ["B", "N"]},
               %y: memref<?x?x64xf32> {tile.name = "y", tile.dims = ["B", "Sk", "64"], tile.output = "partial"},
               %end: index {tile.name = "end"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"B">]} {
  %i, %b = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %v = tile.load %k[%b, %row, %c0] to(%end) pages(%t : memref<?x?xi32>) : memref<?x64x64xbf16> -> vector<128x64xbf16>
  %v32 = arith.extf %v : vector<128x64xbf16> to vector<128x64xf32>
  tile.store %v32, %y[%b, %row, %c0] : vector<128x64xf32>, memref<?x?x64xf32>
}
