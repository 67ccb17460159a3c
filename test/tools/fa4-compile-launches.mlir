// A function that launches several kernels gets a manifest of its own, with all
// launches in their order on one memory. `t` exists between the kernels only.
//
// RUN: split-file %s %t
// RUN: fa4-compile %t/twice.mlir -o %t/out --verify-ptx=false
// RUN: FileCheck %s --input-file %t/out/twice.json --implicit-check-not='"role": "workspace"'
// RUN: fa4-sim %t/out/twice.json N=300 --random --check --output x=%t/x.npy --output y=%t/y.npy
// RUN: python3 -c "import array, sys; x, y = (array.array('f', open(f, 'rb').read()[-1200:]) for f in sys.argv[1:]); assert any(x) and list(y) == [4 * v for v in x]" %t/x.npy %t/y.npy
//
// CHECK: "launches": [
// CHECK: "entry": "double"
// CHECK: "tensor": "x"
// CHECK: "ptx": "double.ptx"
// CHECK: "entry": "again"
// CHECK: "tensor": "t"
// CHECK: "ptx": "again.ptx"
// CHECK: "sizes": {
// CHECK-NEXT: "N": null
// CHECK: "t": {
// CHECK: "fill": "undefined"
// CHECK-NEXT: "role": "workspace"
// CHECK: "x": {
// CHECK: "role": "in"
// CHECK: "y": {
// CHECK: "role": "out"
//
// RUN: not fa4-compile %t/control.mlir -o %t/none --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=CONTROL
// CONTROL: control.mlir:[[#]]:5: error: 'tile.launch' op is in control flow, which a manifest of launches cannot say
// RUN: not fa4-compile %t/shapes.mlir -o %t/none --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=SHAPES
// SHAPES: shapes.mlir:[[#]]:3: error: 'tile.launch' op passes 't' with another shape than the launch before: its kernel calls it 'u'
// RUN: not fa4-compile %t/scalars.mlir -o %t/none --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=SCALARS
// SCALARS: scalars.mlir:[[#]]:3: error: 'tile.launch' op passes another value as 'f' than the launch before
// RUN: not ls %t/none

//--- twice.mlir
tile.kernel @double(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                    %t: memref<?xf32> {tile.name = "t", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %two = arith.constant dense<2.0> : vector<128xf32>
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  %r = arith.mulf %v, %two : vector<128xf32>
  tile.store %r, %t[%at] : vector<128xf32>, memref<?xf32>
}
tile.kernel @again(%x: memref<?xf32> {tile.name = "u", tile.dims = ["N"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %two = arith.constant dense<2.0> : vector<128xf32>
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  %r = arith.mulf %v, %two : vector<128xf32>
  tile.store %r, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @twice(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  tile.launch @double ins(%x : memref<?xf32>) outs(%t : memref<?xf32>)
  tile.launch @again ins(%t : memref<?xf32>) outs(%y : memref<?xf32>)
  memref.dealloc %t : memref<?xf32>
  return
}

//--- control.mlir
tile.kernel @copy(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                  %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @sometimes(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %b: i1) {
  tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  scf.if %b {
    tile.launch @copy ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
  }
  return
}

//--- shapes.mlir
tile.kernel @one(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                 %y: memref<?xf32> {tile.name = "t", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
tile.kernel @other(%x: memref<?xf32> {tile.name = "u", tile.dims = ["M"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["M"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @differ(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  tile.launch @one ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  tile.launch @other ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
  return
}

//--- scalars.mlir
tile.kernel @scale(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"},
                   %f: f32 {tile.name = "f"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  %fs = vector.broadcast %f : f32 to vector<128xf32>
  %r = arith.mulf %v, %fs : vector<128xf32>
  tile.store %r, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @scales(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %f: f32, %g: f32) {
  tile.launch @scale ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) scalars(%f : f32)
  tile.launch @scale ins(%y : memref<?xf32>) outs(%z : memref<?xf32>) scalars(%g : f32)
  return
}
