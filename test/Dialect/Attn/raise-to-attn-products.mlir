// What raise-to-attn finds: orders of dimensions and of operations, types and sizes. test/python/test_raise.py compares each function
// with what becomes of it, in numbers.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @decomposed(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(1.000000e+00) :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @decomposed(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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

// CHECK-LABEL: func.func @late_quotient(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @late_quotient(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %u0e = tensor.empty() : tensor<2x2x6x4xf32>
  %u0 = linalg.fill ins(%zero : f32) outs(%u0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%pe, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%u0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  %oe = tensor.empty() : tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, d) -> (b, h, i, d)>, affine_map<(b, h, i, d) -> (b, h, i)>, affine_map<(b, h, i, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%u, %pl : tensor<2x2x6x4xf32>, tensor<2x2x6xf32>) outs(%oe : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @late_quotient_transposed(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK: linalg.transpose
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @late_quotient_transposed(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x6x2x4xf32> {
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
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %u0e = tensor.empty() : tensor<2x2x6x4xf32>
  %u0 = linalg.fill ins(%zero : f32) outs(%u0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%pe, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%u0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  %oe = tensor.empty() : tensor<2x6x2x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, i, h, d) -> (b, h, i, d)>, affine_map<(b, i, h, d) -> (b, h, i)>, affine_map<(b, i, h, d) -> (b, i, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%u, %pl : tensor<2x2x6x4xf32>, tensor<2x2x6xf32>) outs(%oe : tensor<2x6x2x4xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x6x2x4xf32>
  return %o : tensor<2x6x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @reciprocal(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @reciprocal(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
    %one = arith.constant 1.0 : f32
    %i = arith.divf %one, %m : f32
    %y = arith.mulf %a, %i : f32
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

// CHECK-LABEL: func.func @bshd(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bshd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @bshd(%q: tensor<2x6x2x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>) -> tensor<2x6x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x6x2x4xf32>, tensor<2x8x2x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %o0e = tensor.empty() : tensor<2x6x2x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, i, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x8x2x4xf32>) outs(%o0 : tensor<2x6x2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x6x2x4xf32>
  return %o : tensor<2x6x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @sbhd(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<sbhd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @sbhd(%q: tensor<6x2x2x4xf32>, %k: tensor<8x2x2x4xf32>, %v: tensor<8x2x2x4xf32>) -> tensor<6x2x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (i, b, h, d)>, affine_map<(b, h, i, j, d) -> (j, b, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<6x2x2x4xf32>, tensor<8x2x2x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %o0e = tensor.empty() : tensor<6x2x2x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<6x2x2x4xf32>) -> tensor<6x2x2x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (j, b, h, d)>, affine_map<(b, h, i, j, d) -> (i, b, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<8x2x2x4xf32>) outs(%o0 : tensor<6x2x2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<6x2x2x4xf32>
  return %o : tensor<6x2x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @keys_transposed(
// CHECK-NOT: linalg.generic
// CHECK: linalg.transpose ins(%arg1
// CHECK: attn.sdpa
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @keys_transposed(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x4x8xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, d, j)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x4x8xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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

// CHECK-LABEL: func.func @factors_swapped(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @factors_swapped(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%k, %q : tensor<2x2x8x4xf32>, tensor<2x2x6x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%v, %p : tensor<2x2x8x4xf32>, tensor<2x2x6x8xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @matrices(
// CHECK-NOT: linalg.generic
// CHECK: tensor.expand_shape %arg0
// CHECK: attn.sdpa
// CHECK: tensor.collapse_shape
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @matrices(%q: tensor<6x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %kte = tensor.empty() : tensor<4x8xf32>
  %kt = linalg.transpose ins(%k : tensor<8x4xf32>) outs(%kte : tensor<4x8xf32>) permutation = [1, 0]
  %s0e = tensor.empty() : tensor<6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<6x4xf32>, tensor<4x8xf32>) outs(%s0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %m0e = tensor.empty() : tensor<6xf32>
  %m0 = linalg.fill ins(%ninf : f32) outs(%m0e : tensor<6xf32>) -> tensor<6xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<6x8xf32>) outs(%m0 : tensor<6xf32>) dimensions = [1]
  %be = tensor.empty() : tensor<6x8xf32>
  %mb = linalg.broadcast ins(%m : tensor<6xf32>) outs(%be : tensor<6x8xf32>) dimensions = [1]
  %d = linalg.sub ins(%s, %mb : tensor<6x8xf32>, tensor<6x8xf32>) outs(%be : tensor<6x8xf32>) -> tensor<6x8xf32>
  %e = linalg.exp ins(%d : tensor<6x8xf32>) outs(%be : tensor<6x8xf32>) -> tensor<6x8xf32>
  %l0e = tensor.empty() : tensor<6xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%l0e : tensor<6xf32>) -> tensor<6xf32>
  %l = linalg.reduce {arith.addf} ins(%e : tensor<6x8xf32>) outs(%l0 : tensor<6xf32>) dimensions = [1]
  %lb = linalg.broadcast ins(%l : tensor<6xf32>) outs(%be : tensor<6x8xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %lb : tensor<6x8xf32>, tensor<6x8xf32>) outs(%be : tensor<6x8xf32>) -> tensor<6x8xf32>
  %o0e = tensor.empty() : tensor<6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %o = linalg.matmul ins(%p, %v : tensor<6x8xf32>, tensor<8x4xf32>) outs(%o0 : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %o : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @half_inputs(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @half_inputs(%q: tensor<2x2x6x4xf16>, %k: tensor<2x2x8x4xf16>, %v: tensor<2x2x8x4xf16>) -> tensor<2x2x6x4xf16> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf16>, tensor<2x2x8x4xf16>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %x = arith.mulf %a32, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %p16 = arith.truncf %p : tensor<2x2x6x8xf32> to tensor<2x2x6x8xf16>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o32 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p16, %v : tensor<2x2x6x8xf16>, tensor<2x2x8x4xf16>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %x = arith.mulf %a32, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  %o = arith.truncf %o32 : tensor<2x2x6x4xf32> to tensor<2x2x6x4xf16>
  return %o : tensor<2x2x6x4xf16>
}

// -----

// CHECK-LABEL: func.func @half_scores(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(1.000000e+00) :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @half_scores(%q: tensor<2x2x6x4xf16>, %k: tensor<2x2x8x4xf16>, %v: tensor<2x2x8x4xf16>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s32 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf16>, tensor<2x2x8x4xf16>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %x = arith.mulf %a32, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %s16 = arith.truncf %s32 : tensor<2x2x6x8xf32> to tensor<2x2x6x8xf16>
  %s = arith.extf %s16 : tensor<2x2x6x8xf16> to tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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
  %p16 = arith.truncf %p : tensor<2x2x6x8xf32> to tensor<2x2x6x8xf16>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p16, %v : tensor<2x2x6x8xf16>, tensor<2x2x8x4xf16>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %x = arith.mulf %a32, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// Sizes that are not known, and scores in f32 of inputs in bf16.
// CHECK-LABEL: func.func @dynamic(
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bshd> scale(1.000000e+00) : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
// CHECK-NEXT: return
func.func @dynamic(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %s0: tensor<?x?x?x?xf32>, %o0: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xbf16> {
  %zero = arith.constant 0.0 : f32
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) outs(%s1 : tensor<?x?x?x?xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %a32 = arith.extf %a : bf16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %x = arith.mulf %b32, %a32 : f32
    %y = arith.addf %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?x?xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<?x?x?x?xf32>) outs(%s0 : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %p16 = arith.truncf %p : tensor<?x?x?x?xf32> to tensor<?x?x?x?xbf16>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, h, d)>, affine_map<(b, h, i, d, j) -> (b, i, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%p16, %v : tensor<?x?x?x?xbf16>, tensor<?x?x?x64xbf16>) outs(%o1 : tensor<?x?x?x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %a32 = arith.extf %a : bf16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %x = arith.mulf %a32, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?x64xf32>
  %o16 = arith.truncf %o : tensor<?x?x?x64xf32> to tensor<?x?x?x64xbf16>
  return %o16 : tensor<?x?x?x64xbf16>
}

// -----

// A factor of the queries is one of the scores.
// CHECK-LABEL: func.func @scaled_queries(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(1.250000e-01)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @scaled_queries(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %re = tensor.empty() : tensor<2x2x6x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%q : tensor<2x2x6x4xf32>) outs(%re : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %f = arith.constant 0.125 : f32
    %y = arith.mulf %a, %f : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%r, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
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

// The softmax to the base 2 is one of scores with the factor log 2.
// CHECK-LABEL: func.func @base_two(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(0.693147182)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @base_two(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pm0e = tensor.empty() : tensor<2x2x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6xf32>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp2 %x : f32
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

// The factor of the scores is a tensor with one element, collapsed to one without dimensions.
// CHECK-LABEL: func.func @factor_of_no_dimension(
// CHECK: attn.sdpa {{.*}} captures(%arg3 : tensor<1xf32>)
// CHECK: tensor.extract %{{.+}}[%c0] : tensor<1xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @factor_of_no_dimension(%q: tensor<2x6x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %c1: tensor<1xf32>) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q, %k : tensor<2x6x4xf32>, tensor<2x8x4xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %c = tensor.collapse_shape %c1 [] : tensor<1xf32> into tensor<f32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> ()>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%s, %c : tensor<2x6x8xf32>, tensor<f32>) outs(%se : tensor<2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %x: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x6x8xf32>) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %oe = tensor.empty() : tensor<2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}

// -----

// What is hidden from the negative scores is not hidden: they are +inf there.
// CHECK-LABEL: func.func @mask_that_is_subtracted(
// CHECK: attn.sdpa
// CHECK-NOT: mask_mod
// CHECK: score_mod
// CHECK: arith.select
// CHECK: arith.subf
// CHECK: return
func.func @mask_that_is_subtracted(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>, %m: tensor<6x8xi1>) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%s, %m : tensor<2x6x8xf32>, tensor<6x8xi1>) outs(%se : tensor<2x6x8xf32>) {
  ^bb0(%a: f32, %c: i1, %x: f32):
    %hidden = arith.constant 0xFF800000 : f32
    %y = arith.select %c, %a, %hidden : f32
    %w = arith.subf %low, %y : f32
    linalg.yield %w : f32
  } -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x6x8xf32>) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %oe = tensor.empty() : tensor<2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}
