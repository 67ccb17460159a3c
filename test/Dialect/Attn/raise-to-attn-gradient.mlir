// What raise-to-attn finds of gradients beside attention: how the gradient of the scores is written, types and heads.
// test/python/test_raise.py compares each function with what becomes of it, in numbers.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize --split-input-file | FileCheck %s

// linalg.softmax, and p * (dp - sum(p * dp)), times the factor.
// CHECK-LABEL: func.func @gradient_softmax(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_softmax(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
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
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z16 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e17 = tensor.empty() : tensor<2x2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z18 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// The softmax in parts, each differentiated by itself, and the factor behind the products.
// CHECK-LABEL: func.func @gradient_of_parts(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_of_parts(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6xf32>
  %z5 = linalg.fill ins(%c1 : f32) outs(%e4 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<2x2x6x8xf32>) outs(%z5 : tensor<2x2x6xf32>) dimensions = [3]
  %e6 = tensor.empty() : tensor<2x2x6x8xf32>
  %mb = linalg.broadcast ins(%m : tensor<2x2x6xf32>) outs(%e6 : tensor<2x2x6x8xf32>) dimensions = [3]
  %x = arith.subf %s, %mb : tensor<2x2x6x8xf32>
  %pe = math.exp %x : tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x6xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %l = linalg.reduce { arith.addf } ins(%pe : tensor<2x2x6x8xf32>) outs(%z8 : tensor<2x2x6xf32>) dimensions = [3]
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %lb = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e9 : tensor<2x2x6x8xf32>) dimensions = [3]
  %p = arith.divf %pe, %lb : tensor<2x2x6x8xf32>
  %e10 = tensor.empty() : tensor<2x2x6x4xf32>
  %z11 = linalg.fill ins(%c0 : f32) outs(%e10 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z11 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e12 = tensor.empty() : tensor<2x2x8x4xf32>
  %z13 = linalg.fill ins(%c0 : f32) outs(%e12 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z13 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e14 = tensor.empty() : tensor<2x2x6x8xf32>
  %z15 = linalg.fill ins(%c0 : f32) outs(%e14 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z15 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %de = arith.divf %dp, %lb : tensor<2x2x6x8xf32>
  %dpe = arith.mulf %dp, %pe : tensor<2x2x6x8xf32>
  %e16 = tensor.empty() : tensor<2x2x6xf32>
  %z17 = linalg.fill ins(%c0 : f32) outs(%e16 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%dpe : tensor<2x2x6x8xf32>) outs(%z17 : tensor<2x2x6xf32>) dimensions = [3]
  %dn = arith.negf %sums : tensor<2x2x6xf32>
  %l2 = arith.mulf %l, %l : tensor<2x2x6xf32>
  %dl = arith.divf %dn, %l2 : tensor<2x2x6xf32>
  %e18 = tensor.empty() : tensor<2x2x6x8xf32>
  %dlb = linalg.broadcast ins(%dl : tensor<2x2x6xf32>) outs(%e18 : tensor<2x2x6x8xf32>) dimensions = [3]
  %dea = arith.addf %de, %dlb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %dea, %pe : tensor<2x2x6x8xf32>
  %e19 = tensor.empty() : tensor<2x2x6x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq0 = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%ds, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z20 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e21 = tensor.empty() : tensor<2x2x8x4xf32>
  %z22 = linalg.fill ins(%c0 : f32) outs(%e21 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk0 = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%ds, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z22 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %k23 = arith.constant dense<0.5> : tensor<2x2x6x4xf32>
  %dq = arith.mulf %dq0, %k23 : tensor<2x2x6x4xf32>
  %k24 = arith.constant dense<0.5> : tensor<2x2x8x4xf32>
  %dk = arith.mulf %dk0, %k24 : tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// p * dp - p * sum(p * dp).
// CHECK-LABEL: func.func @gradient_multiplied_out(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_multiplied_out(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6xf32>
  %z5 = linalg.fill ins(%c1 : f32) outs(%e4 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<2x2x6x8xf32>) outs(%z5 : tensor<2x2x6xf32>) dimensions = [3]
  %e6 = tensor.empty() : tensor<2x2x6x8xf32>
  %mb = linalg.broadcast ins(%m : tensor<2x2x6xf32>) outs(%e6 : tensor<2x2x6x8xf32>) dimensions = [3]
  %x = arith.subf %s, %mb : tensor<2x2x6x8xf32>
  %pe = math.exp %x : tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x6xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %l = linalg.reduce { arith.addf } ins(%pe : tensor<2x2x6x8xf32>) outs(%z8 : tensor<2x2x6xf32>) dimensions = [3]
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %lb = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e9 : tensor<2x2x6x8xf32>) dimensions = [3]
  %p = arith.divf %pe, %lb : tensor<2x2x6x8xf32>
  %e10 = tensor.empty() : tensor<2x2x6x4xf32>
  %z11 = linalg.fill ins(%c0 : f32) outs(%e10 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z11 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e12 = tensor.empty() : tensor<2x2x8x4xf32>
  %z13 = linalg.fill ins(%c0 : f32) outs(%e12 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z13 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e14 = tensor.empty() : tensor<2x2x6x8xf32>
  %z15 = linalg.fill ins(%c0 : f32) outs(%e14 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z15 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e16 = tensor.empty() : tensor<2x2x6xf32>
  %z17 = linalg.fill ins(%c0 : f32) outs(%e16 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z17 : tensor<2x2x6xf32>) dimensions = [3]
  %e18 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e18 : tensor<2x2x6x8xf32>) dimensions = [3]
  %psb = arith.mulf %p, %sb : tensor<2x2x6x8xf32>
  %ds = arith.subf %pdp, %psb : tensor<2x2x6x8xf32>
  %k19 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k19 : tensor<2x2x6x8xf32>
  %e20 = tensor.empty() : tensor<2x2x6x4xf32>
  %z21 = linalg.fill ins(%c0 : f32) outs(%e20 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z21 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e22 = tensor.empty() : tensor<2x2x8x4xf32>
  %z23 = linalg.fill ins(%c0 : f32) outs(%e22 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z23 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// The quotient behind the product, probabilities again from the log-sum-exp, delta from the output.
// CHECK-LABEL: func.func @gradient_from_lse(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_from_lse(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6xf32>
  %z5 = linalg.fill ins(%c1 : f32) outs(%e4 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<2x2x6x8xf32>) outs(%z5 : tensor<2x2x6xf32>) dimensions = [3]
  %e6 = tensor.empty() : tensor<2x2x6x8xf32>
  %mb = linalg.broadcast ins(%m : tensor<2x2x6xf32>) outs(%e6 : tensor<2x2x6x8xf32>) dimensions = [3]
  %x = arith.subf %s, %mb : tensor<2x2x6x8xf32>
  %pe = math.exp %x : tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x6xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %l = linalg.reduce { arith.addf } ins(%pe : tensor<2x2x6x8xf32>) outs(%z8 : tensor<2x2x6xf32>) dimensions = [3]
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %lb = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e9 : tensor<2x2x6x8xf32>) dimensions = [3]
  %e10 = tensor.empty() : tensor<2x2x6x4xf32>
  %z11 = linalg.fill ins(%c0 : f32) outs(%e10 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %ov = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%pe, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z11 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e12 = tensor.empty() : tensor<2x2x6x4xf32>
  %lo = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e12 : tensor<2x2x6x4xf32>) dimensions = [3]
  %o = arith.divf %ov, %lo : tensor<2x2x6x4xf32>
  %ll = math.log %l : tensor<2x2x6xf32>
  %lse = arith.addf %m, %ll : tensor<2x2x6xf32>
  %e13 = tensor.empty() : tensor<2x2x6x8xf32>
  %lseb = linalg.broadcast ins(%lse : tensor<2x2x6xf32>) outs(%e13 : tensor<2x2x6x8xf32>) dimensions = [3]
  %px = arith.subf %s, %lseb : tensor<2x2x6x8xf32>
  %p = math.exp %px : tensor<2x2x6x8xf32>
  %e14 = tensor.empty() : tensor<2x2x8x4xf32>
  %z15 = linalg.fill ins(%c0 : f32) outs(%e14 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z15 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e16 = tensor.empty() : tensor<2x2x6x8xf32>
  %z17 = linalg.fill ins(%c0 : f32) outs(%e16 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z17 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %odo = arith.mulf %o, %do : tensor<2x2x6x4xf32>
  %e18 = tensor.empty() : tensor<2x2x6xf32>
  %z19 = linalg.fill ins(%c0 : f32) outs(%e18 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%odo : tensor<2x2x6x4xf32>) outs(%z19 : tensor<2x2x6xf32>) dimensions = [3]
  %e20 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e20 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k21 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %ds, %k21 : tensor<2x2x6x8xf32>
  %e22 = tensor.empty() : tensor<2x2x6x4xf32>
  %z23 = linalg.fill ins(%c0 : f32) outs(%e22 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z23 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e24 = tensor.empty() : tensor<2x2x8x4xf32>
  %z25 = linalg.fill ins(%c0 : f32) outs(%e24 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z25 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// A causal mask, and the gradient of hidden scores set to zero.
// CHECK-LABEL: func.func @gradient_causal(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> mask<causal, top_left> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_causal(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xi1>
  %visible = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e4 : tensor<2x2x6x8xi1>) {
  ^bb0(%a: i1):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %c = arith.cmpi sge, %i, %j : index
    linalg.yield %c : i1
  } -> tensor<2x2x6x8xi1>
  %k5 = arith.constant dense<0xFF800000> : tensor<2x2x6x8xf32>
  %sm = arith.select %visible, %s, %k5 : tensor<2x2x6x8xi1>, tensor<2x2x6x8xf32>
  %e6 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%sm : tensor<2x2x6x8xf32>) outs(%e6 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e7 = tensor.empty() : tensor<2x2x6x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z8 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e9 = tensor.empty() : tensor<2x2x8x4xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
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
  %k16 = arith.constant dense<0.0> : tensor<2x2x6x8xf32>
  %dsm = arith.select %visible, %ds, %k16 : tensor<2x2x6x8xi1>, tensor<2x2x6x8xf32>
  %k17 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %dsm, %k17 : tensor<2x2x6x8xf32>
  %e18 = tensor.empty() : tensor<2x2x6x4xf32>
  %z19 = linalg.fill ins(%c0 : f32) outs(%e18 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z19 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e20 = tensor.empty() : tensor<2x2x8x4xf32>
  %z21 = linalg.fill ins(%c0 : f32) outs(%e20 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z21 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// A soft cap: the derivative of tanh.
// CHECK-LABEL: func.func @gradient_soft_cap(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_soft_cap(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 0xFF800000 : f32
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
  %e6 = tensor.empty() : tensor<2x2x6xf32>
  %z7 = linalg.fill ins(%c1 : f32) outs(%e6 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %m = linalg.reduce { arith.maximumf } ins(%sc : tensor<2x2x6x8xf32>) outs(%z7 : tensor<2x2x6xf32>) dimensions = [3]
  %e8 = tensor.empty() : tensor<2x2x6x8xf32>
  %mb = linalg.broadcast ins(%m : tensor<2x2x6xf32>) outs(%e8 : tensor<2x2x6x8xf32>) dimensions = [3]
  %x = arith.subf %sc, %mb : tensor<2x2x6x8xf32>
  %pe = math.exp %x : tensor<2x2x6x8xf32>
  %e9 = tensor.empty() : tensor<2x2x6xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %l = linalg.reduce { arith.addf } ins(%pe : tensor<2x2x6x8xf32>) outs(%z10 : tensor<2x2x6xf32>) dimensions = [3]
  %e11 = tensor.empty() : tensor<2x2x6x8xf32>
  %lb = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e11 : tensor<2x2x6x8xf32>) dimensions = [3]
  %p = arith.divf %pe, %lb : tensor<2x2x6x8xf32>
  %e12 = tensor.empty() : tensor<2x2x6x4xf32>
  %z13 = linalg.fill ins(%c0 : f32) outs(%e12 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z13 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e14 = tensor.empty() : tensor<2x2x8x4xf32>
  %z15 = linalg.fill ins(%c0 : f32) outs(%e14 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dv = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z15 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %e16 = tensor.empty() : tensor<2x2x6x8xf32>
  %z17 = linalg.fill ins(%c0 : f32) outs(%e16 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z17 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x2x6x8xf32>
  %e18 = tensor.empty() : tensor<2x2x6xf32>
  %z19 = linalg.fill ins(%c0 : f32) outs(%e18 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x2x6x8xf32>) outs(%z19 : tensor<2x2x6xf32>) dimensions = [3]
  %e20 = tensor.empty() : tensor<2x2x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x2x6xf32>) outs(%e20 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %k21 = arith.constant dense<1.0> : tensor<2x2x6x8xf32>
  %tt = arith.mulf %t, %t : tensor<2x2x6x8xf32>
  %der = arith.subf %k21, %tt : tensor<2x2x6x8xf32>
  %dst = arith.mulf %ds, %der : tensor<2x2x6x8xf32>
  %k22 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %dst, %k22 : tensor<2x2x6x8xf32>
  %e23 = tensor.empty() : tensor<2x2x6x4xf32>
  %z24 = linalg.fill ins(%c0 : f32) outs(%e23 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z24 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e25 = tensor.empty() : tensor<2x2x8x4xf32>
  %z26 = linalg.fill ins(%c0 : f32) outs(%e25 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z26 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// f16 in layout bshd: sums of f32, probabilities rounded to f16 for products, delta from the rounded output, gradients of f16.
// CHECK-LABEL: func.func @gradient_f16(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bshd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_f16(%q: tensor<2x6x2x4xf16>, %k: tensor<2x8x2x4xf16>, %v: tensor<2x8x2x4xf16>, %do: tensor<2x6x2x4xf16>) -> (tensor<2x6x2x4xf16>, tensor<2x6x2x4xf16>, tensor<2x8x2x4xf16>, tensor<2x8x2x4xf16>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x6x2x4xf16>, tensor<2x8x2x4xf16>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %p16 = arith.truncf %p : tensor<2x2x6x8xf32> to tensor<2x2x6x8xf16>
  %e5 = tensor.empty() : tensor<2x6x2x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %o32 = linalg.contract indexing_maps = [affine_map<(b, i, h, d, j) -> (b, h, i, j)>, affine_map<(b, i, h, d, j) -> (b, j, h, d)>, affine_map<(b, i, h, d, j) -> (b, i, h, d)>]
    ins(%p16, %v : tensor<2x2x6x8xf16>, tensor<2x8x2x4xf16>) outs(%z6 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %o = arith.truncf %o32 : tensor<2x6x2x4xf32> to tensor<2x6x2x4xf16>
  %e7 = tensor.empty() : tensor<2x8x2x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
  %dv32 = linalg.contract indexing_maps = [affine_map<(b, j, h, d, i) -> (b, h, i, j)>, affine_map<(b, j, h, d, i) -> (b, i, h, d)>, affine_map<(b, j, h, d, i) -> (b, j, h, d)>]
    ins(%p16, %do : tensor<2x2x6x8xf16>, tensor<2x6x2x4xf16>) outs(%z8 : tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
  %dv = arith.truncf %dv32 : tensor<2x8x2x4xf32> to tensor<2x8x2x4xf16>
  %e9 = tensor.empty() : tensor<2x2x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x6x2x4xf16>, tensor<2x8x2x4xf16>) outs(%z10 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %o2 = arith.extf %o : tensor<2x6x2x4xf16> to tensor<2x6x2x4xf32>
  %do2 = arith.extf %do : tensor<2x6x2x4xf16> to tensor<2x6x2x4xf32>
  %odo = arith.mulf %o2, %do2 : tensor<2x6x2x4xf32>
  %e11 = tensor.empty() : tensor<2x6x2xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<2x6x2xf32>) -> tensor<2x6x2xf32>
  %sums = linalg.reduce { arith.addf } ins(%odo : tensor<2x6x2x4xf32>) outs(%z12 : tensor<2x6x2xf32>) dimensions = [3]
  %e14 = tensor.empty() : tensor<2x2x6xf32>
  %delta = linalg.transpose ins(%sums : tensor<2x6x2xf32>) outs(%e14 : tensor<2x2x6xf32>) permutation = [0, 2, 1]
  %e15 = tensor.empty() : tensor<2x2x6x8xf32>
  %db = linalg.broadcast ins(%delta : tensor<2x2x6xf32>) outs(%e15 : tensor<2x2x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %db : tensor<2x2x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<2x2x6x8xf32>
  %ds16 = arith.truncf %ds : tensor<2x2x6x8xf32> to tensor<2x2x6x8xf16>
  %e16 = tensor.empty() : tensor<2x6x2x4xf32>
  %z17 = linalg.fill ins(%c0 : f32) outs(%e16 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %dq32 = linalg.contract indexing_maps = [affine_map<(b, i, h, d, j) -> (b, h, i, j)>, affine_map<(b, i, h, d, j) -> (b, j, h, d)>, affine_map<(b, i, h, d, j) -> (b, i, h, d)>]
    ins(%ds16, %k : tensor<2x2x6x8xf16>, tensor<2x8x2x4xf16>) outs(%z17 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %k18 = arith.constant dense<0.5> : tensor<2x6x2x4xf32>
  %dqs = arith.mulf %dq32, %k18 : tensor<2x6x2x4xf32>
  %dq = arith.truncf %dqs : tensor<2x6x2x4xf32> to tensor<2x6x2x4xf16>
  %e19 = tensor.empty() : tensor<2x8x2x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
  %dk32 = linalg.contract indexing_maps = [affine_map<(b, j, h, d, i) -> (b, h, i, j)>, affine_map<(b, j, h, d, i) -> (b, i, h, d)>, affine_map<(b, j, h, d, i) -> (b, j, h, d)>]
    ins(%ds16, %q : tensor<2x2x6x8xf16>, tensor<2x6x2x4xf16>) outs(%z20 : tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
  %k21 = arith.constant dense<0.5> : tensor<2x8x2x4xf32>
  %dks = arith.mulf %dk32, %k21 : tensor<2x8x2x4xf32>
  %dk = arith.truncf %dks : tensor<2x8x2x4xf32> to tensor<2x8x2x4xf16>
  return %o, %dq, %dk, %dv : tensor<2x6x2x4xf16>, tensor<2x6x2x4xf16>, tensor<2x8x2x4xf16>, tensor<2x8x2x4xf16>
}

// -----

// Grouped heads: keys and values are repeated for two query heads each, and their gradients are added up.
// CHECK-LABEL: func.func @gradient_grouped(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_grouped(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x4x6x4xf32>) -> (tensor<2x4x6x4xf32>, tensor<2x4x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
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
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %kr : tensor<2x4x6x8xf32>, tensor<2x4x8x4xf32>) outs(%z16 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %e17 = tensor.empty() : tensor<2x4x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %dkf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x4x6x8xf32>, tensor<2x4x6x4xf32>) outs(%z18 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %dkx = tensor.expand_shape %dkf [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 8, 4] : tensor<2x4x8x4xf32> into tensor<2x2x2x8x4xf32>
  %e19 = tensor.empty() : tensor<2x2x8x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.reduce { arith.addf } ins(%dkx : tensor<2x2x2x8x4xf32>) outs(%z20 : tensor<2x2x8x4xf32>) dimensions = [2]
  %e21 = tensor.empty() : tensor<2x4x8x4xf32>
  %z22 = linalg.fill ins(%c0 : f32) outs(%e21 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %dvf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x4x6x8xf32>, tensor<2x4x6x4xf32>) outs(%z22 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %dvx = tensor.expand_shape %dvf [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 8, 4] : tensor<2x4x8x4xf32> into tensor<2x2x2x8x4xf32>
  %e23 = tensor.empty() : tensor<2x2x8x4xf32>
  %z24 = linalg.fill ins(%c0 : f32) outs(%e23 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dv = linalg.reduce { arith.addf } ins(%dvx : tensor<2x2x2x8x4xf32>) outs(%z24 : tensor<2x2x8x4xf32>) dimensions = [2]
  return %o, %dq, %dk, %dv : tensor<2x4x6x4xf32>, tensor<2x4x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// Batch and heads are one dimension of all products, as in PyTorch's bmm.
// CHECK-LABEL: func.func @gradient_merged_heads(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_merged_heads(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %do: tensor<2x2x6x4xf32>) -> (tensor<4x6x4xf32>, tensor<4x6x4xf32>, tensor<4x8x4xf32>, tensor<4x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %qc = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %kc = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %vc = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %doc = tensor.collapse_shape %do [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %e1 = tensor.empty() : tensor<4x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(n, i, j, d) -> (n, i, d)>, affine_map<(n, i, j, d) -> (n, j, d)>, affine_map<(n, i, j, d) -> (n, i, j)>]
    ins(%qc, %kc : tensor<4x6x4xf32>, tensor<4x8x4xf32>) outs(%z2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<4x6x8xf32>
  %s = arith.mulf %raw, %k3 : tensor<4x6x8xf32>
  %e4 = tensor.empty() : tensor<4x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x6x8xf32>) outs(%e4 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %e5 = tensor.empty() : tensor<4x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(n, i, d, j) -> (n, i, j)>, affine_map<(n, i, d, j) -> (n, j, d)>, affine_map<(n, i, d, j) -> (n, i, d)>]
    ins(%p, %vc : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%z6 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %e7 = tensor.empty() : tensor<4x8x4xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %dv = linalg.contract indexing_maps = [affine_map<(n, j, d, i) -> (n, i, j)>, affine_map<(n, j, d, i) -> (n, i, d)>, affine_map<(n, j, d, i) -> (n, j, d)>]
    ins(%p, %doc : tensor<4x6x8xf32>, tensor<4x6x4xf32>) outs(%z8 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %e9 = tensor.empty() : tensor<4x6x8xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(n, i, j, d) -> (n, i, d)>, affine_map<(n, i, j, d) -> (n, j, d)>, affine_map<(n, i, j, d) -> (n, i, j)>]
    ins(%doc, %vc : tensor<4x6x4xf32>, tensor<4x8x4xf32>) outs(%z10 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<4x6x8xf32>
  %e11 = tensor.empty() : tensor<4x6xf32>
  %z12 = linalg.fill ins(%c0 : f32) outs(%e11 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<4x6x8xf32>) outs(%z12 : tensor<4x6xf32>) dimensions = [2]
  %e13 = tensor.empty() : tensor<4x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<4x6xf32>) outs(%e13 : tensor<4x6x8xf32>) dimensions = [2]
  %diff = arith.subf %dp, %sb : tensor<4x6x8xf32>
  %ds = arith.mulf %p, %diff : tensor<4x6x8xf32>
  %k14 = arith.constant dense<0.5> : tensor<4x6x8xf32>
  %dss = arith.mulf %ds, %k14 : tensor<4x6x8xf32>
  %e15 = tensor.empty() : tensor<4x6x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(n, i, d, j) -> (n, i, j)>, affine_map<(n, i, d, j) -> (n, j, d)>, affine_map<(n, i, d, j) -> (n, i, d)>]
    ins(%dss, %kc : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%z16 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %e17 = tensor.empty() : tensor<4x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(n, j, d, i) -> (n, i, j)>, affine_map<(n, j, d, i) -> (n, i, d)>, affine_map<(n, j, d, i) -> (n, j, d)>]
    ins(%dss, %qc : tensor<4x6x8xf32>, tensor<4x6x4xf32>) outs(%z18 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<4x6x4xf32>, tensor<4x6x4xf32>, tensor<4x8x4xf32>, tensor<4x8x4xf32>
}

// -----

// An additive bias, and the output's gradient is that of a squared error, computed from the output.
// CHECK-LABEL: func.func @gradient_bias_loss(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_bias_loss(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x6x8xf32>, %target: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x2x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%z2 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %k3 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %s0 = arith.mulf %raw, %k3 : tensor<2x2x6x8xf32>
  %e4 = tensor.empty() : tensor<2x2x6x8xf32>
  %bb = linalg.broadcast ins(%bias : tensor<2x6x8xf32>) outs(%e4 : tensor<2x2x6x8xf32>) dimensions = [0]
  %s = arith.addf %s0, %bb : tensor<2x2x6x8xf32>
  %e5 = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%e5 : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %e6 = tensor.empty() : tensor<2x2x6x4xf32>
  %z7 = linalg.fill ins(%c0 : f32) outs(%e6 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z7 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %err = arith.subf %o, %target : tensor<2x2x6x4xf32>
  %k8 = arith.constant dense<2.0> : tensor<2x2x6x4xf32>
  %do = arith.mulf %err, %k8 : tensor<2x2x6x4xf32>
  %e9 = tensor.empty() : tensor<2x2x8x4xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
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
  %psb = arith.mulf %sb, %p : tensor<2x2x6x8xf32>
  %ds = arith.subf %pdp, %psb : tensor<2x2x6x8xf32>
  %k16 = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %dss = arith.mulf %k16, %ds : tensor<2x2x6x8xf32>
  %e17 = tensor.empty() : tensor<2x2x6x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %dq = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%dss, %k : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%z18 : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %e19 = tensor.empty() : tensor<2x2x8x4xf32>
  %z20 = linalg.fill ins(%c0 : f32) outs(%e19 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  %dk = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%dss, %q : tensor<2x2x6x8xf32>, tensor<2x2x6x4xf32>) outs(%z20 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  return %o, %dq, %dk, %dv : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}

// -----

// All heads share keys and values, whose gradients are added up over the heads; the factor is a division behind that.
// CHECK-LABEL: func.func @gradient_multi_query(
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = attn.sdpa %{{.*}} scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: attn.sdpa_backward %{{.*}} out(%[[OUT]]) dout(%{{.*}}) lse(%[[LSE]]) layout<bhsd> scale(5.000000e-01)
// CHECK-NOT: linalg.{{contract|reduce}}
// CHECK: return
func.func @gradient_multi_query(%q: tensor<2x3x6x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %do: tensor<2x3x6x4xf32>) -> (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<2x3x6x8xf32>
  %z2 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
  %raw = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x3x6x4xf32>, tensor<2x8x4xf32>) outs(%z2 : tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
  %k3 = arith.constant dense<2.0> : tensor<2x3x6x8xf32>
  %s = arith.divf %raw, %k3 : tensor<2x3x6x8xf32>
  %e4 = tensor.empty() : tensor<2x3x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x3x6x8xf32>) outs(%e4 : tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
  %e5 = tensor.empty() : tensor<2x3x6x4xf32>
  %z6 = linalg.fill ins(%c0 : f32) outs(%e5 : tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x3x6x8xf32>, tensor<2x8x4xf32>) outs(%z6 : tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
  %e7 = tensor.empty() : tensor<2x3x6x8xf32>
  %z8 = linalg.fill ins(%c0 : f32) outs(%e7 : tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
  %dp = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%do, %v : tensor<2x3x6x4xf32>, tensor<2x8x4xf32>) outs(%z8 : tensor<2x3x6x8xf32>) -> tensor<2x3x6x8xf32>
  %pdp = arith.mulf %p, %dp : tensor<2x3x6x8xf32>
  %e9 = tensor.empty() : tensor<2x3x6xf32>
  %z10 = linalg.fill ins(%c0 : f32) outs(%e9 : tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  %sums = linalg.reduce { arith.addf } ins(%pdp : tensor<2x3x6x8xf32>) outs(%z10 : tensor<2x3x6xf32>) dimensions = [3]
  %e11 = tensor.empty() : tensor<2x3x6x8xf32>
  %sb = linalg.broadcast ins(%sums : tensor<2x3x6xf32>) outs(%e11 : tensor<2x3x6x8xf32>) dimensions = [3]
  %diff = arith.subf %dp, %sb : tensor<2x3x6x8xf32>
  %ds = arith.mulf %diff, %p : tensor<2x3x6x8xf32>
  %e12 = tensor.empty() : tensor<2x3x6x4xf32>
  %z13 = linalg.fill ins(%c0 : f32) outs(%e12 : tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
  %dq0 = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%ds, %k : tensor<2x3x6x8xf32>, tensor<2x8x4xf32>) outs(%z13 : tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
  %k14 = arith.constant dense<2.0> : tensor<2x3x6x4xf32>
  %dq = arith.divf %dq0, %k14 : tensor<2x3x6x4xf32>
  %e15 = tensor.empty() : tensor<2x3x8x4xf32>
  %z16 = linalg.fill ins(%c0 : f32) outs(%e15 : tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32>
  %dkf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%ds, %q : tensor<2x3x6x8xf32>, tensor<2x3x6x4xf32>) outs(%z16 : tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32>
  %e17 = tensor.empty() : tensor<2x8x4xf32>
  %z18 = linalg.fill ins(%c0 : f32) outs(%e17 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dk0 = linalg.reduce { arith.addf } ins(%dkf : tensor<2x3x8x4xf32>) outs(%z18 : tensor<2x8x4xf32>) dimensions = [1]
  %k19 = arith.constant dense<2.0> : tensor<2x8x4xf32>
  %dk = arith.divf %dk0, %k19 : tensor<2x8x4xf32>
  %e20 = tensor.empty() : tensor<2x3x8x4xf32>
  %z21 = linalg.fill ins(%c0 : f32) outs(%e20 : tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32>
  %dvf = linalg.contract indexing_maps = [affine_map<(b, h, j, d, i) -> (b, h, i, j)>, affine_map<(b, h, j, d, i) -> (b, h, i, d)>, affine_map<(b, h, j, d, i) -> (b, h, j, d)>]
    ins(%p, %do : tensor<2x3x6x8xf32>, tensor<2x3x6x4xf32>) outs(%z21 : tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32>
  %e22 = tensor.empty() : tensor<2x8x4xf32>
  %z23 = linalg.fill ins(%c0 : f32) outs(%e22 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %dv = linalg.reduce { arith.addf } ins(%dvf : tensor<2x3x8x4xf32>) outs(%z23 : tensor<2x8x4xf32>) dimensions = [1]
  return %o, %dq, %dk, %dv : tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>
}
