// A function that launches several kernels gets a manifest of its own, with all
// launches in their order on one memory. `t` exists between the kernels only.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile twice.mlir -o out --verify-ptx=false
// $ cat out/twice.json
// ...
//   "launches": [
// ...
//       "entry": "double",
// ...
//             "tensor": "x"
// ...
//       "ptx": "double.ptx"
// ...
//       "entry": "again",
// ...
//             "tensor": "t"
// ...
//       "ptx": "again.ptx"
// ...
//   "sizes": {
//     "N": null,
// ...
//     "t": {
// ...
//       "fill": "undefined",
//       "role": "workspace",
// ...
//     "x": {
// ...
//       "role": "in",
// ...
//     "y": {
// ...
//       "role": "out",
// ...
// $ fa4-sim out/twice.json N=300 --random --check --output x=x.npy --output y=y.npy
// ...
// $ python3 -c "import array, sys; x, y = (array.array('f', open(f, 'rb').read()[-1200:]) for f in sys.argv[1:]); assert any(x) and list(y) == [4 * v for v in x]" x.npy y.npy
// $ fa4-compile control.mlir -o none --verify-ptx=false
// control.mlir:{{[0-9]+}}:5: error: 'tile.launch' op is in control flow, which a manifest of launches cannot say
//     tile.launch @copy ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
//     ^
// [1]
// $ fa4-compile shapes.mlir -o none --verify-ptx=false
// shapes.mlir:{{[0-9]+}}:3: error: 'tile.launch' op passes 't' with another shape than the launch before: its kernel calls it 'u'
//   tile.launch @other ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
//   ^
// [1]
// $ fa4-compile scalars.mlir -o none --verify-ptx=false
// scalars.mlir:{{[0-9]+}}:3: error: 'tile.launch' op passes another value as 'f' than the launch before
//   tile.launch @scale ins(%y : memref<?xf32>) outs(%z : memref<?xf32>) scalars(%g : f32)
//   ^
// [1]
//
// What a function computes beside its launches would be missing.
//
// $ fa4-compile beside.mlir -o none --verify-ptx=false
// beside.mlir:{{[0-9]+}}:3: error: 'memref.copy' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   memref.copy %x, %y : memref<?xf32> to memref<?xf32>
//   ^
// [1]
// $ fa4-compile computed.mlir -o none --verify-ptx=false
// computed.mlir:{{[0-9]+}}:3: error: 'tile.launch' op passes as 'f' what 'arith.addf' computes, which a manifest of launches cannot say
//   tile.launch @scale ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) scalars(%g : f32)
//   ^
// [1]
// $ fa4-compile sum.mlir -o none --verify-ptx=false
// sum.mlir:{{[0-9]+}}:8: error: 'arith.addf' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   %x = arith.addf %o, %o : !t
//        ^
// [1]
// $ fa4-compile slice.mlir -o none --verify-ptx=false
// slice.mlir:4:8: error: 'tensor.extract_slice' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   %x = tensor.extract_slice %o[0, 0, 0, 0] [1, 32, 1, 64] [1, 2, 1, 1] : !t to tensor<1x32x1x64xbf16>
//        ^
// [1]
// $ fa4-compile call.mlir -o none --verify-ptx=false
// call.mlir:5:8: error: 'func.call' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   %x = func.call @g(%o) : (!t) -> !t
//        ^
// [1]
// $ fa4-compile branch.mlir -o none --verify-ptx=false
// branch.mlir:4:8: error: 'arith.select' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   %x = scf.if %c -> !t {
//        ^
// [1]
//
// A branch that only chooses has become a choice.
//
// $ fa4-compile generic.mlir -o none --verify-ptx=false
// generic.mlir:4:8: error: 'linalg.exp' op is in a function of several launches, and a manifest of launches cannot say it; host code can (attn-to-host)
//   %x = linalg.exp ins(%o : !t) outs(%e : !t) -> !t
//        ^
// [1]
// $ ls none
// ...
// [2]
//
// A cast is another name of the same memory, and what nobody uses is nothing.
//
// $ fa4-compile cast.mlir -o cast --verify-ptx=false
// $ fa4-sim cast/f.json Sq=8 Sk=8 Sq=12
// fa4-sim: error: 'Sq' is given twice: 8 and 12
// [2]
// $ fa4-sim cast/f.json Sq=8 Sk=8 --random --check
// ...
//
// A launch on sizes of 0 is what its kernel says instead, by the sequence's names of its results. The next one runs.
//
// $ fa4-compile empty.mlir -o empty --verify-ptx=false
// $ cat empty/f.json
// ...
//         "condition": "M == 0 || N == 0",
// ...
//             "tensor": "y",
//             "value": "1.5"
// ...
//         "condition": "N == 0",
// ...
//             "tensor": "y_1",
//             "value": "-inf"
// ...
//       "condition": "M >= 0 && M <= 536870912",
// ...
// $ fa4-sim empty/f.json M=0 N=300 --random --check --output y_1=y_1.npy 2>/dev/null
// ok: launches 2, {{.*}} findings 0
// $ python3 -c "import array, sys; assert list(array.array('f', open(sys.argv[1], 'rb').read()[-1200:])) == [1.5] * 300" y_1.npy
// $ fa4-sim empty/f.json M=7 N=0 --random --check
// ok: launches 2, {{.*}} findings 0
// $ fa4-sim out/twice.json N=0 --random
// fa4-sim: error: out/twice.json: size N must be from 1 to 536870912; this call has N = 0, sm_count = 148
// [2]

//--- empty.mlir
tile.kernel @first(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once", tile.if_empty = 1.5 : f32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
tile.kernel @second(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                    %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once", tile.if_empty = 0xFF800000 : f32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @f(%x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>) {
  tile.launch @first ins(%x : memref<?xf32>) outs(%t : memref<?xf32>)
  tile.launch @second ins(%t : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

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

//--- beside.mlir
tile.kernel @copy(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                  %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  tile.store %v, %y[%at] : vector<128xf32>, memref<?xf32>
}
func.func @beside(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  tile.launch @copy ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
  return
}

//--- computed.mlir
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
func.func @computed(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %f: f32) {
  %g = arith.addf %f, %f : f32
  tile.launch @scale ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) scalars(%g : f32)
  tile.launch @scale ins(%y : memref<?xf32>) outs(%z : memref<?xf32>) scalars(%g : f32)
  return
}

//--- sum.mlir
!t = tensor<1x64x1x64xbf16>
func.func @f(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
  %x = arith.addf %o, %o : !t
  %p = attn.sdpa %x, %q, %q layout<bshd> : !t, !t, !t -> !t
  return %p : !t
}

//--- slice.mlir
!t = tensor<1x64x1x64xbf16>
func.func @f(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
  %x = tensor.extract_slice %o[0, 0, 0, 0] [1, 32, 1, 64] [1, 2, 1, 1] : !t to tensor<1x32x1x64xbf16>
  %p = attn.sdpa %q, %x, %x layout<bshd> : !t, tensor<1x32x1x64xbf16>, tensor<1x32x1x64xbf16> -> !t
  return %p : !t
}

//--- call.mlir
!t = tensor<1x64x1x64xbf16>
func.func private @g(!t) -> !t
func.func @f(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
  %x = func.call @g(%o) : (!t) -> !t
  %p = attn.sdpa %x, %q, %q layout<bshd> : !t, !t, !t -> !t
  return %p : !t
}

//--- branch.mlir
!t = tensor<1x64x1x64xbf16>
func.func @f(%q: !t, %c: i1) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
  %x = scf.if %c -> !t {
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  %p = attn.sdpa %x, %q, %q layout<bshd> : !t, !t, !t -> !t
  return %p : !t
}

//--- generic.mlir
!t = tensor<1x64x1x64xbf16>
func.func @f(%q: !t, %e: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
  %x = linalg.exp ins(%o : !t) outs(%e : !t) -> !t
  %p = attn.sdpa %x, %q, %q layout<bshd> : !t, !t, !t -> !t
  return %p : !t
}

//--- cast.mlir
!t = tensor<?x?x1x64xbf16>
!u = tensor<1x?x1x64xbf16>
func.func @f(%q: !t, %s: f32) -> !t {
  %unused = arith.addf %s, %s : f32
  %u = tensor.cast %q : !t to !u
  %o = attn.sdpa %u, %u, %u layout<bshd> : !u, !u, !u -> !u
  %p = attn.sdpa %o, %u, %u layout<bshd> : !u, !u, !u -> !u
  %r = tensor.cast %p : !u to !t
  return %r : !t
}

