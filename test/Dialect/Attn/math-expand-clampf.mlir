// math.clampf becomes a maximum and a minimum with the bounds in the right
// order; upstream's expansion exchanges them, which gives wrong numbers.
//
// RUN: fa4-opt %s -math-expand-clampf | FileCheck %s

// CHECK-LABEL: func @scalar
// CHECK-SAME: (%[[X:.*]]: f32, %[[LO:.*]]: f32, %[[HI:.*]]: f32)
// CHECK: %[[MAX:.*]] = arith.maximumf %[[X]], %[[LO]] : f32
// CHECK: %[[MIN:.*]] = arith.minimumf %[[MAX]], %[[HI]] : f32
// CHECK: return %[[MIN]]
func.func @scalar(%x: f32, %lo: f32, %hi: f32) -> f32 {
  %r = math.clampf %x to [%lo, %hi] : f32
  return %r : f32
}

// CHECK-LABEL: func @fastmath
// CHECK: arith.maximumf {{.*}} fastmath<nnan> : vector<4xf32>
// CHECK: arith.minimumf {{.*}} fastmath<nnan> : vector<4xf32>
func.func @fastmath(%x: vector<4xf32>, %lo: vector<4xf32>, %hi: vector<4xf32>) -> vector<4xf32> {
  %r = math.clampf %x to [%lo, %hi] fastmath<nnan> : vector<4xf32>
  return %r : vector<4xf32>
}
