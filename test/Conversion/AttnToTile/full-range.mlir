// A score_mod that hides keys by a large number may leave rows of such numbers only, whose exponents
// would overflow: in these rows the factor of scores and the reference get a power of two that brings
// them into range. The passes behind must still see a maximum there: the accumulator is rescaled when
// it pays, and a polynomial computes part of the exponentials.
//
// RUN: fa4-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s --dump-input=never
// RUN: split-file %s %t
// RUN: fa4-compile %t/hides.mlir --emit=split-exp -o - | FileCheck %s --dump-input=never --check-prefix=BEHIND

// CHECK-LABEL: tile.kernel @hides_kernel
// CHECK-DAG: %[[FIELD:.*]] = arith.constant dense<2139095040> : vector<{{[0-9]+}}xi32>
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<2.14748365E+9>
// CHECK: %[[REFERENCE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xf32>
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[REFERENCE]]
// CHECK: %[[SIZE:.*]] = math.absf %[[REFERENCE]]
// CHECK: %[[QUOTIENT:.*]] = arith.divf %[[LIMIT]], %[[SIZE]]
// CHECK: arith.minimumf %[[QUOTIENT]]
// CHECK: %[[BITS:.*]] = arith.andi %{{.*}}, %[[FIELD]]
// CHECK: %[[T:.*]] = arith.bitcast %[[BITS]]
// CHECK: %[[FACTOR:.*]] = arith.mulf %[[T]], %{{.*}}
// CHECK: %[[SHIFT:.*]] = arith.mulf %[[NEGATIVE]], %[[T]]
// CHECK: math.fma
// BEHIND-DAG: arith.minimumf {{.*}}f32
// BEHIND-DAG: tile.exp2 {{.*}} polynomial
// BEHIND-DAG: tile.rescale

//--- hides.mlir
!t = tensor<1x2x256x64xbf16>

func.func @hides(%q: !t, %k: !t, %v: !t) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bhsd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %low = arith.constant -1.0e10 : f32
      %visible = arith.cmpi sge, %i, %j : index
      %result = arith.select %visible, %s, %low : f32
      attn.yield %result : f32
    }
  return %out : !t
}

//--- ordinary.mlir
// -----

// Without such a number the exponents are those of kernels without a score_mod.
// CHECK-LABEL: tile.kernel @ordinary_kernel
// CHECK-NOT: arith.bitcast
func.func @ordinary(%q: tensor<1x2x256x64xbf16>, %k: tensor<1x2x256x64xbf16>, %v: tensor<1x2x256x64xbf16>) -> tensor<1x2x256x64xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bhsd> : tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16> -> tensor<1x2x256x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 15.0 : f32
      %small = arith.divf %s, %cap : f32
      %tanh = math.tanh %small : f32
      %result = arith.mulf %tanh, %cap : f32
      attn.yield %result : f32
    }
  return %out : tensor<1x2x256x64xbf16>
}
