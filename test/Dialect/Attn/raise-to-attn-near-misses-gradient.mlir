// What looks like the gradient of attention and is none, or not all of it: the products stay, and remarks say why. The attention itself
// is raised all the same.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file --verify-diagnostics | FileCheck %s --implicit-check-not=sdpa_backward

// CHECK: func.func

// Without delta.
func.func @no_delta(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %ds = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// Delta is a sum of dp.
func.func @sum_without_p(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%dp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// Delta is a sum over the queries.
func.func @over_queries(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x8xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x8xf32>) dimensions = [2]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x8xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [2]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// Another factor than that of the scores.
func.func @other_factor(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.25> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the factor of the scores is not that of their gradient}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the factor of the scores is not that of their gradient}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// A soft cap whose derivative is left out.
func.func @no_derivative(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %k4 = arith.constant dense<20.0> : tensor<2x2x6x8xf32>
  %td = arith.divf %s, %k4 : tensor<2x2x6x8xf32>
  %t = math.tanh %td : tensor<2x2x6x8xf32>
  %k5 = arith.constant dense<20.0> : tensor<2x2x6x8xf32>
  %sc = arith.mulf %t, %k5 : tensor<2x2x6x8xf32>
  %e6 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%sc : tensor<2x2x6x8xf32>) outs(%e6 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x6x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z8 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e9 = tensor.empty() : tensor<2x2x8x4xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z10 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e11 = tensor.empty() : tensor<2x2x6x8xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z12 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e13 = tensor.empty() : tensor<2x2x6xf32>
  %z14 = linalg.fill ins(%c0 : f32) outs(%e13 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z14 : tensor<2x2x6xf32>) dimensions = [3]
  %e15 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e15 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k16 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k16 : tensor<2x2x6x8xf32>
  %e17 = tensor.empty() : tensor<2x2x6x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z18 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e19 = tensor.empty() : tensor<2x2x8x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied is not p * (dp - delta), with probabilities p, dp = dout v^T and delta the sum of p * dp over the keys, times the derivative of the scores}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z20 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// What is done with the scores has no known derivative.
func.func @unknown_derivative(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %sc = math.absf %s : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%sc : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the queries and keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the derivative of what is done with the scores is not one of sums, products and tanh}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the derivative of what is done with the scores is not one of sums, products and tanh}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// No gradient of keys.
func.func @no_gradient_of_keys(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the keys with it}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return %o, %dq, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// What should be the gradient of keys is a product with the output's gradient.
func.func @keys_from_dout(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the keys with it}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the keys with it}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the softmax is not over the keys}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// The gradient of values is one of another output's gradient.
func.func @other_output_gradient(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>, %w: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the softmax is not over the keys}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %w : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the values with it}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the values with it}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// The gradient of values is one of other probabilities.
func.func @other_probabilities(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %pd = arith.mulf %p, %p : tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied with the output's gradient are not the probabilities}}
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%pd, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z8 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e11 = tensor.empty() : tensor<2x2x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z12 : tensor<2x2x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x2x6x8xf32>
  %e15 = tensor.empty() : tensor<2x2x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the values with it}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the values with it}}
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// Grouped heads: keys and values are repeated for two query heads each, and their gradients are added up.
func.func @heads_not_summed(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x4x6x4xf32>) -> (tensor<2x4x6x4xf32>, tensor<2x4x6x4xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x2x8x4xf32>
  %kb = linalg.broadcast ins(%k : tensor<2x2x8x4xf32>) outs(%e1 : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %kr = tensor.collapse_shape %kb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %e2 = tensor.empty() : tensor<2x2x2x8x4xf32>
  %vb = linalg.broadcast ins(%v : tensor<2x2x8x4xf32>) outs(%e2 : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %vr = tensor.collapse_shape %vb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %e3 = tensor.empty() : tensor<2x4x6x8xf32>
  %z4 = linalg.fill ins(%c0 : f32) outs(%e3 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %kr : tensor<2x4x6x4xf32>, tensor<2x4x8x4xf32>) outs(%z4 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %k5 = arith.constant dense<0.5> : tensor<2x4x6x8xf32>
  %s = arith.mulf %raw, %k5 : tensor<2x4x6x8xf32>
  %e6 = tensor.empty() : tensor<2x4x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x6x8xf32>) outs(%e6 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %e7 = tensor.empty() : tensor<2x4x6x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %vr : tensor<2x4x6x8xf32>, tensor<2x4x8x4xf32>) outs(%z8 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %e9 = tensor.empty() : tensor<2x4x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %vr : tensor<2x4x6x4xf32>, tensor<2x4x8x4xf32>) outs(%z10 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x4x6x8xf32>
  %e11 = tensor.empty() : tensor<2x4x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x4x6x8xf32>) outs(%z12 : tensor<2x4x6xf32>) dimensions = [3]
  %e13 = tensor.empty() : tensor<2x4x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x4x6xf32>) outs(%e13 : tensor<2x4x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x4x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x4x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<2x4x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<2x4x6x8xf32>
  %e15 = tensor.empty() : tensor<2x4x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: there is no gradient of the keys and values with it}}
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %kr : tensor<2x4x6x8xf32>, tensor<2x4x8x4xf32>) outs(%z16 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %e17 = tensor.empty() : tensor<2x4x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the gradients of heads that share a key are not added up}}
  %dkf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x4x6x8xf32>, tensor<2x4x6x4xf32>) outs(%z18 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %e19 = tensor.empty() : tensor<2x4x8x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: the gradients of heads that share a key are not added up}}
  %dvf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x4x6x8xf32>, tensor<2x4x6x4xf32>) outs(%z20 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  return %o, %dq, %dkf, %dvf : tensor<2x4x6x4xf32>, tensor<2x4x6x4xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>
}
