// A rounding mode that nothing carries out is an error, not dropped.
//
// RUN: fa4-opt %s -arith-expand-rounding -split-input-file -verify-diagnostics

func.func @type(%x: f32) -> f8E4M3FNUZ {
  // expected-error @+1 {{'arith.truncf' op has no code on a CPU that rounds upward to 'f8E4M3FNUZ'}}
  %y = arith.truncf %x upward : f32 to f8E4M3FNUZ
  return %y : f8E4M3FNUZ
}

// -----

func.func @scaled(%x: f32, %s: f8E8M0FNU) -> f4E2M1FN {
  // expected-error @+1 {{'arith.scaling_truncf' op has no code on a CPU that rounds toward_zero to 'f4E2M1FN'}}
  %y = arith.scaling_truncf %x, %s toward_zero : f32, f8E8M0FNU to f4E2M1FN
  return %y : f4E2M1FN
}
