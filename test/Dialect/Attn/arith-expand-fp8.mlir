// Conversions between fp8 and wider floats become integer arithmetic that any
// CPU has. Conversions that round twice, or in another way, must be left alone,
// as their results would differ.
//
// RUN: fa4-opt %s -arith-expand-fp8 -canonicalize | FileCheck %s
// The values themselves: every fp8 number extended and rounded back, and the
// numbers between, against the reference implementation in test/python.

// CHECK-LABEL: func @extend
// CHECK-SAME: (%[[X:.*]]: f8E4M3FN)
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X]] : f8E4M3FN to i8
// CHECK: arith.extui %[[BITS]] : i8 to i32
// CHECK-NOT: arith.extf
// CHECK: %[[Y:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: return %[[Y]]
func.func @extend(%x: f8E4M3FN) -> f32 {
  %y = arith.extf %x : f8E4M3FN to f32
  return %y : f32
}

// CHECK-LABEL: func @extend_to_f16_and_f64
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.extf %{{.*}} : f32 to f64
func.func @extend_to_f16_and_f64(%x: f8E5M2) -> (f16, f64) {
  %y = arith.extf %x : f8E5M2 to f16
  %z = arith.extf %x : f8E5M2 to f64
  return %y, %z : f16, f64
}

// CHECK-LABEL: func @truncate_vector
// CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : vector<4xi8> to vector<4xf8E5M2>
func.func @truncate_vector(%x: vector<4xf32>) -> vector<4xf8E5M2> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xf8E5M2>
  return %y : vector<4xf8E5M2>
}

// CHECK-LABEL: func @truncate_bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: arith.truncf
func.func @truncate_bf16(%x: bf16) -> f8E4M3FN {
  %y = arith.truncf %x : bf16 to f8E4M3FN
  return %y : f8E4M3FN
}

// Left alone: two roundings are not one, other roundings, other types.
// CHECK-LABEL: func @left_alone
// CHECK: arith.truncf %{{.*}} : f64 to f8E4M3FN
// CHECK: arith.truncf %{{.*}} toward_zero : f32 to f8E4M3FN
// CHECK: arith.truncf %{{.*}} : f32 to f8E4M3B11FNUZ
func.func @left_alone(%x: f64, %y: f32) -> (f8E4M3FN, f8E4M3FN, f8E4M3B11FNUZ) {
  %a = arith.truncf %x : f64 to f8E4M3FN
  %b = arith.truncf %y toward_zero : f32 to f8E4M3FN
  %c = arith.truncf %y : f32 to f8E4M3B11FNUZ
  return %a, %b, %c : f8E4M3FN, f8E4M3FN, f8E4M3B11FNUZ
}
