// tile.launch prints and parses, and its memory effects let upstream passes
// remove a launch without uses, but not one that writes memory.
//
// RUN: fa4-opt %s --verify-roundtrip | FileCheck --dump-input=never %s
// RUN: fa4-opt %s --cse --canonicalize | FileCheck --dump-input=never %s --check-prefix=EFFECTS

tile.kernel @copy(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                  %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]}, %f: f32 {tile.name = "f"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %t = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %t, %y[%at] : vector<128xf32>, memref<?xf32>
}

// CHECK-LABEL: func.func @tensors
// CHECK: tile.launch @copy ins(%{{.*}} : tensor<?xf32>) outs(%{{.*}} : tensor<?xf32>) scalars(%{{.*}} : f32) -> tensor<?xf32>
// A launch on tensors without uses does nothing.
// EFFECTS-LABEL: func.func @tensors
// EFFECTS-COUNT-1: tile.launch
// EFFECTS-NOT: tile.launch
func.func @tensors(%x: tensor<?xf32>, %init: tensor<?xf32>, %f: f32) -> tensor<?xf32> {
  %unused = tile.launch @copy ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) scalars(%f : f32) -> tensor<?xf32>
  %y = tile.launch @copy ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) scalars(%f : f32) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func.func @memrefs
// CHECK: tile.launch @copy ins(%{{.*}} : memref<?xf32>) outs(%{{.*}} : memref<?xf32>) scalars(%{{.*}} : f32){{$}}
// EFFECTS-LABEL: func.func @memrefs
// EFFECTS-COUNT-2: tile.launch
func.func @memrefs(%x: memref<?xf32>, %y: memref<?xf32>, %f: f32) {
  tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) scalars(%f : f32)
  tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) scalars(%f : f32)
  return
}
