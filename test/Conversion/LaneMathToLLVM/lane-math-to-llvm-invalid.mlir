// Operations on whole tiles have no lowering to lanes. The pass must say so on
// the operation instead of crashing or leaving the operation behind.
//
// RUN: fa4-opt %s --lane-math-to-llvm --split-input-file --verify-diagnostics

func.func @no_instruction(%x: f32) -> f32 {
  // expected-error @below {{has no instructions for a thread on these types}}
  %y = math.erf %x : f32
  return %y : f32
}

// -----

func.func @wide(%x: f64) -> f64 {
  // expected-error @below {{has no instructions for a thread on these types}}
  %y = math.exp2 %x : f64
  return %y : f64
}

// -----

func.func @not_unrolled(%x: vector<4xf32>) -> vector<4xf32> {
  // expected-error @below {{has no instructions for a thread on these types}}
  %y = tile.exp2 %x polynomial [0.7, 0.3] pairs [0] : vector<4xf32>
  return %y : vector<4xf32>
}

// -----

func.func @not_distributed(%x: vector<4x4xf32>) -> vector<4x4xf32> {
  // expected-error @below {{has no instructions for a thread on these types}}
  %y = tile.exp2 %x polynomial [0.7, 0.3] pairs [0] : vector<4x4xf32>
  return %y : vector<4x4xf32>
}
