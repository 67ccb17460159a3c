// What raise-to-attn finds: what is done with the scores. test/python/test_raise.py compares each function
// with what becomes of it, in numbers.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @scaled(
// CHECK-NOT: linalg.generic
// CHECK: scale(1.250000e-01) :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @scaled(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %f = arith.constant 0.125 : f32
    %y = arith.mulf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @divided(
// CHECK-NOT: linalg.generic
// CHECK: scale(5.000000e-01) :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @divided(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %f = arith.constant 2.0 : f32
    %y = arith.divf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @scaled_on_tensors(
// CHECK-NOT: linalg.generic
// CHECK: scale(5.000000e-01) :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @scaled_on_tensors(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %f = arith.constant dense<0.5> : tensor<2x2x6x8xf32>
  %sx = arith.mulf %s, %f : tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @scaled_by_argument(
// CHECK-NOT: linalg.generic
// CHECK: captures(%arg3 : f32)
// CHECK: score_mod(%score: f32
// CHECK: arith.mulf %score
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @scaled_by_argument(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %f: f32) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> ()>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %f : tensor<2x2x6x8xf32>, f32) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.mulf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @causal(
// CHECK-NOT: linalg.generic
// CHECK: mask_mod(%b: index, %h: index, %i: index, %j: index)
// CHECK: arith.cmpi ule, %j, %i
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @causal(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %m = arith.cmpi ule, %j, %i : index
    %inf = arith.constant 0xFF800000 : f32
    %y = arith.select %m, %a, %inf : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @causal_added(
// CHECK-NOT: linalg.generic
// CHECK: mask_mod
// CHECK: arith.cmpi ule, %j, %i
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @causal_added(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %m = arith.cmpi ugt, %j, %i : index
    %inf = arith.constant 0xFF800000 : f32
    %z = arith.constant 0.0 : f32
    %w = arith.select %m, %inf, %z : f32
    %y = arith.addf %a, %w : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @window(
// CHECK-NOT: linalg.generic
// CHECK: mask_mod
// CHECK: arith.andi
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @window(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %inf = arith.constant 0xFF800000 : f32
    %two = arith.constant 2 : index
    %l = arith.addi %j, %two : index
    %m0 = arith.cmpi ule, %j, %i : index
    %m1 = arith.cmpi uge, %l, %i : index
    %m = arith.andi %m0, %m1 : i1
    %y = arith.select %m, %a, %inf : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @scaled_and_causal(
// CHECK-NOT: linalg.generic
// CHECK: scale(1.250000e-01)
// CHECK: mask_mod
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @scaled_and_causal(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sye = tensor.empty() : tensor<2x2x6x8xf32>
  %sy = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sye : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %f = arith.constant 0.125 : f32
    %y = arith.mulf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sy : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %m = arith.cmpi ule, %j, %i : index
    %inf = arith.constant 0xFF800000 : f32
    %y = arith.select %m, %a, %inf : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @finite_mask(
// CHECK-NOT: linalg.generic
// CHECK: score_mod
// CHECK: arith.select
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @finite_mask(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %m = arith.cmpi ule, %j, %i : index
    %inf = arith.constant -1.0e9 : f32
    %y = arith.select %m, %a, %inf : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @soft_cap(
// CHECK-NOT: linalg.generic
// CHECK: scale(5.000000e-02)
// CHECK: score_mod
// CHECK: math.tanh %score
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @soft_cap(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %f = arith.constant 20.0 : f32
    %d = arith.divf %a, %f : f32
    %t = math.tanh %d : f32
    %y = arith.mulf %t, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @alibi(
// CHECK-NOT: linalg.generic
// CHECK: captures(%arg3 : tensor<2xf32>)
// CHECK: tensor.extract %{{.*}}[%h]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @alibi(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %slopes: tensor<2xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (h)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %slopes : tensor<2x2x6x8xf32>, tensor<2xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %w = arith.mulf %t0, %df : f32
    %y = arith.addf %a, %w : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @bias(
// CHECK-NOT: linalg.generic
// CHECK: captures(%arg3 : tensor<2x6x8xf32>)
// CHECK: tensor.extract %{{.*}}[%h, %i, %j]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @bias(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x6x8xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %bias : tensor<2x2x6x8xf32>, tensor<2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.addf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @mask_tensor(
// CHECK-NOT: linalg.generic
// CHECK: captures(%arg3 : tensor<6x8xi1>)
// CHECK: mask_mod
// CHECK: tensor.extract %{{.*}}[%i, %j]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @mask_tensor(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %mask: tensor<6x8xi1>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %mask : tensor<2x2x6x8xf32>, tensor<6x8xi1>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: i1, %c: f32):
    %inf = arith.constant 0xFF800000 : f32
    %y = arith.select %t0, %a, %inf : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%sx : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%sx, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x2x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}
