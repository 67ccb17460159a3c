// Reshapes that name dimensions beyond 32 bits pass upstream's verifier, and are an error of raise-to-attn.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file --verify-diagnostics

func.func @expands(%x: tensor<4x6xf32>) -> tensor<2x2x6xf32> {
  // expected-error @+1 {{'tensor.expand_shape' op names dimension 4294967296 of a tensor of rank 3}}
  %y = tensor.expand_shape %x [[4294967296, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  return %y : tensor<2x2x6xf32>
}

// -----

func.func @collapses(%x: tensor<2x2x6xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{'tensor.collapse_shape' op names dimension 4294967297 of a tensor of rank 3}}
  %y = tensor.collapse_shape %x [[0, 4294967297], [2]] : tensor<2x2x6xf32> into tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
