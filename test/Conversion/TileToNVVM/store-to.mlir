// A store that ends at a row (`to`), of a tensor with strides that are known at the launch only. The map begins the 128 rows
// of a box in front of the tensor, and has the dimension of rows twice: (i, j) is row i + j - 128, where j is the row that
// the store ends at, i = row + 128 - j has extent 128, and rows behind are out of bounds. No coordinate
// is negative, at which the copy engine would trap, unless the store's own row is.
//
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm' | FileCheck %s --dump-input=never

// CHECK: {tensormap = {box = [64, 1, 128, 1], byte_strides = ["2 * y_stride1", "2 * y_stride0", "2 * y_stride0"], dims = ["64", "3", "128", "301"], offset = "-256 * y_stride0", swizzle = "128B", tensor = "y"}}
// CHECK-DAG: %[[SIZE:.*]] = llvm.mlir.constant(300 : i32)
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(128 : i32)
// CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[BEHIND:.*]] = llvm.add %[[ROW:.*]], %[[ROWS]] : i32
// CHECK-NEXT: %[[INSIDE:.*]] = llvm.intr.smin(%arg2, %[[SIZE]])
// CHECK-NEXT: %[[IN_TILE:.*]] = llvm.intr.smin(%[[INSIDE]], %[[BEHIND]])
// CHECK-NEXT: %[[POSITIVE:.*]] = llvm.intr.smax(%[[IN_TILE]], %[[ZERO]])
// CHECK-NEXT: %[[IS_NEGATIVE:.*]] = llvm.icmp "slt" %[[ROW]], %[[ZERO]] : i32
// CHECK-NEXT: %[[J:.*]] = llvm.select %[[IS_NEGATIVE]], %[[ROW]], %[[POSITIVE]] : i1, i32
// CHECK-NEXT: %[[I:.*]] = llvm.sub %[[BEHIND]], %[[J]] : i32
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %arg1, %{{.*}}, box[%[[ZERO]], %{{.*}}, %[[I]], %[[J]]]
tile.kernel @k(%x: memref<?x3x64xbf16> {tile.name = "x", tile.dims = ["N", "3", "64"]},
               %y: memref<300x3x64xbf16, strided<[?, ?, 1]>> {tile.name = "y", tile.dims = ["300", "3", "64"], tile.output = "partial"},
               %end: index {tile.name = "end"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"3">]} {
  %i, %h = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %v = tile.load %x[%row, %h, %c0] dims [0, 2] : memref<?x3x64xbf16> -> vector<128x64xbf16>
  tile.store %v, %y[%row, %h, %c0] dims [0, 2] to(%end) : vector<128x64xbf16>, memref<300x3x64xbf16, strided<[?, ?, 1]>>
}
