// A role's constants stay in it, whichever of upstream's passes run; what is folded becomes a constant of the role.
//
// RUN: fa4-opt %s --canonicalize | FileCheck %s --check-prefixes=CHECK,FOLD
// RUN: fa4-opt %s --sccp | FileCheck %s --check-prefixes=CHECK,FOLD
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(symbol-dce,loop-invariant-code-motion,cse,control-flow-sink,remove-dead-values))' | FileCheck %s

// CHECK-LABEL: tile.kernel @constants
// CHECK-NOT: arith.constant
// CHECK: tile.role @first
tile.kernel @constants(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // FOLD: %[[C128:.*]] = arith.constant 128 : index
  // FOLD: tile.put %{{.*}}, %{{.*}}[%[[C128]]]
  tile.role @first kind(vector) {
    %c64 = arith.constant 64 : index
    %at = arith.addi %c64, %c64 : index
    %v = arith.constant 1.0 : f32
    tile.put %v, %y[%at] dim 0 : f32, memref<?xf32>
  }
  // CHECK: tile.role @second
  // FOLD: arith.constant 128 : index
  tile.role @second kind(vector) {
    %c64 = arith.constant 64 : index
    %at = arith.addi %c64, %c64 : index
    %v = arith.constant 1.0 : f32
    tile.put %v, %y[%at] dim 0 : f32, memref<?xf32>
  }
}
