// A rounding mode that a CPU does not have becomes the nearest even number and a step to its neighbour. What a CPU does
// by itself stays as it is.
//
// RUN: fa4-opt %s -arith-expand-rounding -canonicalize | FileCheck %s
// RUN: fa4-opt %s -attn-to-llvm | FileCheck %s --check-prefix=LLVM --implicit-check-not=constrained
// RUN: fa4-opt %s -attn-to-host | FileCheck %s --check-prefix=LLVM --implicit-check-not=constrained
// The values themselves: test/python/test_cpu.py.

// CHECK-LABEL: func @toward_zero
// CHECK-SAME: (%[[X:.*]]: f32)
// CHECK: %[[NEAREST:.*]] = arith.truncf %[[X]] : f32 to f16
// CHECK: %[[BITS:.*]] = arith.bitcast %[[NEAREST]] : f16 to i16
// CHECK: arith.cmpf ugt
// CHECK: %[[MOVED:.*]] = arith.addi
// CHECK: %[[Y:.*]] = arith.bitcast %[[MOVED]] : i16 to f16
// CHECK: return %[[Y]]
// LLVM-LABEL: llvm.func @toward_zero
func.func @toward_zero(%x: f32) -> f16 {
  %y = arith.truncf %x toward_zero : f32 to f16
  return %y : f16
}

// CHECK-LABEL: func @vector
// CHECK-NOT: toward_zero
// CHECK: arith.addi %{{.*}}, %{{.*}} : vector<4xi32>
// LLVM-LABEL: llvm.func @vector
func.func @vector(%x: vector<4xf64>) -> vector<4xf32> {
  %y = arith.truncf %x upward : vector<4xf64> to vector<4xf32>
  return %y : vector<4xf32>
}

// CHECK-LABEL: func @nearest_even
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: arith.truncf %{{.*}} fastmath<nnan> : f32 to bf16
// CHECK-NEXT: return
func.func @nearest_even(%x: f32) -> (f16, bf16) {
  %y = arith.truncf %x to_nearest_even : f32 to f16
  %z = arith.truncf %x to_nearest_even fastmath<nnan> : f32 to bf16
  return %y, %z : f16, bf16
}

// From f64 to bf16 the path is by f32, which must not round to the nearest number, too.
// CHECK-LABEL: func @not_twice
// CHECK-SAME: (%[[X:.*]]: f64)
// CHECK: arith.truncf %[[X]] : f64 to f32
// CHECK: arith.cmpf one
// CHECK: %[[ODD:.*]] = arith.ori
// CHECK: %[[F32:.*]] = arith.bitcast %[[ODD]] : i32 to f32
// CHECK: %[[Y:.*]] = arith.truncf %[[F32]] : f32 to bf16
// CHECK: return %[[Y]]
func.func @not_twice(%x: f64) -> bf16 {
  %y = arith.truncf %x : f64 to bf16
  return %y : bf16
}
