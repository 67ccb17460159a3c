// The lowest number of f32 as a score, which is no finite number in base 2, becomes the lowest that is. What is compared
// or multiplied keeps its constants, and so do scores that are infinite.
//
// RUN: fa4-opt %s --attn-to-tile | FileCheck %s

// CHECK-LABEL: tile.kernel @f_kernel
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<-2.358200e+38>
// CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<3.000000e+38>
// CHECK: arith.cmpf olt, %{{.*}}, %[[HIGH]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[LOW]]
// CHECK-NOT: -3.40282347E+38
func.func @f(%q: memref<1x?x2x64xbf16>, %k: memref<1x?x2x64xbf16>, %o: memref<1x?x2x64xbf16>) {
  attn.sdpa %q, %k, %k layout<bshd> outs(%o : memref<1x?x2x64xbf16>)
    : memref<1x?x2x64xbf16>, memref<1x?x2x64xbf16>, memref<1x?x2x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c7 = arith.constant 7 : index
      %high = arith.constant 3.0e+38 : f32
      %lowest = arith.constant -3.40282347E+38 : f32
      %is_near = arith.cmpi slt, %j, %c7 : index
      %is_low = arith.cmpf olt, %s, %high : f32
      %seen = arith.andi %is_near, %is_low : i1
      %t = arith.select %seen, %s, %lowest : f32
      attn.yield %t : f32
    }
  return
}
