// Regions that do not depend on all of their arguments leave programs of
// unusual form, such as scores without a product. They must compile to right
// numbers.
//
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm -o /dev/null
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm=to=warp-specialize | FileCheck --dump-input=never %s

// Scores without a product of q and k: p is still computed by lanes, and the role
// that issues MMAs carries no tile of numbers.
// CHECK-LABEL: tile.kernel @constant_score_kernel
// CHECK: tile.channel "compute0_mma" tmem
// CHECK: tile.role @compute0 kind(vector)
// CHECK: math.exp2 {{.*}} : vector<128x128xf32>
// CHECK: tile.role @mma kind(issuer)
// CHECK-NOT: arith.constant dense
// CHECK-NOT: iter_args
// CHECK: tile.mma
// CHECK: tile.role @load
func.func @constant_score(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>, %c: f32) {
  attn.sdpa %x, %x, %x layout<bshd> captures(%c : f32) outs(%o : memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %n: f32) {
      attn.yield %n : f32
    }
  return
}

// -----

// A constant mask that is a value here and a condition there, in the loops of
// both kinds of blocks.
// CHECK-LABEL: tile.kernel @constant_mask_kernel
func.func @constant_mask(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %late = arith.cmpi ult, %b, %j : index
      %first = arith.cmpi sge, %h, %b : index
      %never = arith.constant false
      %r = arith.select %late, %first, %never : i1
      attn.yield %r : i1
    }
  return
}

// -----

// What a loop leaves behind is a number that every role can compute for itself;
// the role that stores it has nothing else to do in the loop.
// CHECK-LABEL: tile.kernel @count
// CHECK: tile.role @compute0
// CHECK: %[[N:.*]] = scf.for
// CHECK: arith.addf
// CHECK: vector.broadcast %[[N]]
tile.kernel @count(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %none = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x64xbf16>
  %count = scf.for %j = %c0 to %n step %c128 iter_args(%sum = %none) -> (f32) {
    %more = arith.addf %sum, %one : f32
    scf.yield %more : f32
  }
  %q = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %q, transpose %q : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %counts = vector.broadcast %count : f32 to vector<128x128xf32>
  %t = arith.mulf %s, %counts : vector<128x128xf32>
  %h = arith.truncf %t : vector<128x128xf32> to vector<128x128xbf16>
  %o = tile.mma %h, %q : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
  %r = arith.truncf %o : vector<128x64xf32> to vector<128x64xbf16>
  tile.store %r, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
}
