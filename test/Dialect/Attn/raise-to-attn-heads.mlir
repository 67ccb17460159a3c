// What raise-to-attn finds: heads that share keys, and heads and batches in one dimension; IR as
// frameworks print it. test/python/test_raise.py compares each function
// with what becomes of it, in numbers.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @grouped_by_map(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @grouped_by_map(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x4x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x4x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h floordiv 2, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x4x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x4x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x4x6x8xf32>) outs(%pm0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6xf32>
  %pe0 = tensor.empty() : tensor<2x4x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x4x6x8xf32>, tensor<2x4x6xf32>) outs(%pe0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x4x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x4x6x8xf32>) outs(%pl0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x4x6x8xf32>, tensor<2x4x6xf32>) outs(%pe0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %o0e = tensor.empty() : tensor<2x4x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h floordiv 2, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x4x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x4x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @grouped_by_broadcast(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @grouped_by_broadcast(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x4x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %kke = tensor.empty() : tensor<2x2x2x8x4xf32>
  %kkb = linalg.broadcast ins(%k : tensor<2x2x8x4xf32>) outs(%kke : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %kk = tensor.collapse_shape %kkb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %vve = tensor.empty() : tensor<2x2x2x8x4xf32>
  %vvb = linalg.broadcast ins(%v : tensor<2x2x8x4xf32>) outs(%vve : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %vv = tensor.collapse_shape %vvb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %s0e = tensor.empty() : tensor<2x4x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %kk : tensor<2x4x6x4xf32>, tensor<2x4x8x4xf32>) outs(%s0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pm0e = tensor.empty() : tensor<2x4x6xf32>
  %pm0 = linalg.fill ins(%ninf : f32) outs(%pm0e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x4x6x8xf32>) outs(%pm0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.maximumf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6xf32>
  %pe0 = tensor.empty() : tensor<2x4x6x8xf32>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x4x6x8xf32>, tensor<2x4x6xf32>) outs(%pe0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %x = arith.subf %a, %m : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pl0e = tensor.empty() : tensor<2x4x6xf32>
  %pl0 = linalg.fill ins(%zero : f32) outs(%pl0e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x4x6x8xf32>) outs(%pl0 : tensor<2x4x6xf32>) {
  ^bb0(%a: f32, %c: f32):
    %y = arith.addf %c, %a : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x4x6x8xf32>, tensor<2x4x6xf32>) outs(%pe0 : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %o0e = tensor.empty() : tensor<2x4x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %vv : tensor<2x4x6x8xf32>, tensor<2x4x8x4xf32>) outs(%o0 : tensor<2x4x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @one_head_of_keys(
// CHECK-NOT: linalg.generic
// CHECK: tensor.expand_shape %arg1
// CHECK: attn.sdpa
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @one_head_of_keys(%q: tensor<2x2x6x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
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
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @merged_heads(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK: captures(%arg3 : tensor<2x1x6x8xf32>)
// CHECK: tensor.extract %{{.*}}[%b, %{{.*}}, %i, %j]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @merged_heads(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x1x6x8xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %s0e = tensor.empty() : tensor<4x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<4x6x4xf32>, tensor<4x8x4xf32>) outs(%s0 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, 0, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s4, %bias : tensor<2x2x6x8xf32>, tensor<2x1x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.addf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %pe = tensor.empty() : tensor<2x2x6x8xf32>
  %p4 = linalg.softmax dimension(3) ins(%sx : tensor<2x2x6x8xf32>) outs(%pe : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %o0e = tensor.empty() : tensor<4x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%o0 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @merged_grouped_heads(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @merged_grouped_heads(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x1x6x8xf32>) -> tensor<2x4x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %kke = tensor.empty() : tensor<2x2x2x8x4xf32>
  %kkb = linalg.broadcast ins(%k : tensor<2x2x8x4xf32>) outs(%kke : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %kk = tensor.collapse_shape %kkb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %vve = tensor.empty() : tensor<2x2x2x8x4xf32>
  %vvb = linalg.broadcast ins(%v : tensor<2x2x8x4xf32>) outs(%vve : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %vv = tensor.collapse_shape %vvb [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<2x4x8x4xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x6x4xf32> into tensor<8x6x4xf32>
  %k3 = tensor.collapse_shape %kk [[0, 1], [2], [3]] : tensor<2x4x8x4xf32> into tensor<8x8x4xf32>
  %v3 = tensor.collapse_shape %vv [[0, 1], [2], [3]] : tensor<2x4x8x4xf32> into tensor<8x8x4xf32>
  %s0e = tensor.empty() : tensor<8x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<8x6x4xf32>, tensor<8x8x4xf32>) outs(%s0 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
  %sxe = tensor.empty() : tensor<2x4x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, 0, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s4, %bias : tensor<2x4x6x8xf32>, tensor<2x1x6x8xf32>) outs(%sxe : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.addf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pe = tensor.empty() : tensor<2x4x6x8xf32>
  %p4 = linalg.softmax dimension(3) ins(%sx : tensor<2x4x6x8xf32>) outs(%pe : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
  %o0e = tensor.empty() : tensor<8x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<8x6x8xf32>, tensor<8x8x4xf32>) outs(%o0 : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 4, 6, 4] : tensor<8x6x4xf32> into tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

// CHECK-LABEL: func.func @merged_and_grouped_at_once(
// CHECK-NOT: linalg.generic
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @merged_and_grouped_at_once(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x1x6x8xf32>) -> tensor<2x4x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %k3e = tensor.empty() : tensor<2x2x2x8x4xf32>
  %k3b = linalg.broadcast ins(%k : tensor<2x2x8x4xf32>) outs(%k3e : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %k3 = tensor.collapse_shape %k3b [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<8x8x4xf32>
  %v3e = tensor.empty() : tensor<2x2x2x8x4xf32>
  %v3b = linalg.broadcast ins(%v : tensor<2x2x8x4xf32>) outs(%v3e : tensor<2x2x2x8x4xf32>) dimensions = [2]
  %v3 = tensor.collapse_shape %v3b [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x4xf32> into tensor<8x8x4xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x6x4xf32> into tensor<8x6x4xf32>
  %s0e = tensor.empty() : tensor<8x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<8x6x4xf32>, tensor<8x8x4xf32>) outs(%s0 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
  %sxe = tensor.empty() : tensor<2x4x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, 0, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s4, %bias : tensor<2x4x6x8xf32>, tensor<2x1x6x8xf32>) outs(%sxe : tensor<2x4x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.addf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x8xf32>
  %pe = tensor.empty() : tensor<2x4x6x8xf32>
  %p4 = linalg.softmax dimension(3) ins(%sx : tensor<2x4x6x8xf32>) outs(%pe : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
  %o0e = tensor.empty() : tensor<8x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<8x6x8xf32>, tensor<8x8x4xf32>) outs(%o0 : tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 4, 6, 4] : tensor<8x6x4xf32> into tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

// As torch-mlir prints it: reductions keep their dimension, the maximum comes with its
// index, heads are merged for the products, and a mask of -inf is a tensor that is filled in.
// CHECK-LABEL: func.func @torch_like(
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(5.000000e-01) captures(%arg3 : tensor<6x8xi1>)
// CHECK: mask_mod
// CHECK: tensor.extract %{{.*}}[%i, %j]
// CHECK-NOT: linalg.generic
// CHECK: return
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#kept = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#mask = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#swap = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
func.func @torch_like(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %mask: tensor<6x8xi1>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %none = arith.constant 0 : i64
  %half = arith.constant 5.0e-01 : f32
  %kte = tensor.empty() : tensor<2x2x4x8xf32>
  %kt = linalg.generic {indexing_maps = [#id, #swap], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%k : tensor<2x2x8x4xf32>) outs(%kte : tensor<2x2x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x8xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %k3 = tensor.collapse_shape %kt [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %s0 = tensor.empty() : tensor<4x6x8xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %s3 = linalg.batch_matmul ins(%q3, %k3 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%s1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %s = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %e0 = tensor.empty() : tensor<2x2x6x8xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<2x2x6x8xf32>) outs(%e0 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = arith.mulf %in, %half : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x8xf32>
  %masked = linalg.generic {indexing_maps = [#mask, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%mask, %scaled : tensor<6x8xi1>, tensor<2x2x6x8xf32>) outs(%e0 : tensor<2x2x6x8xf32>) {
  ^bb0(%m: i1, %in: f32, %out: f32):
    %x = arith.select %m, %in, %ninf : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x8xf32>
  %m0 = tensor.empty() : tensor<2x2x6x1xf32>
  %m1 = linalg.fill ins(%lowest : f32) outs(%m0 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %n0 = tensor.empty() : tensor<2x2x6x1xi64>
  %n1 = linalg.fill ins(%none : i64) outs(%n0 : tensor<2x2x6x1xi64>) -> tensor<2x2x6x1xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #kept, #kept], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%masked : tensor<2x2x6x8xf32>) outs(%m1, %n1 : tensor<2x2x6x1xf32>, tensor<2x2x6x1xi64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %j = linalg.index 3 : index
    %ji = arith.index_cast %j : index to i64
    %x = arith.maximumf %in, %out : f32
    %more = arith.cmpf ogt, %in, %out : f32
    %y = arith.select %more, %ji, %at : i64
    linalg.yield %x, %y : f32, i64
  } -> (tensor<2x2x6x1xf32>, tensor<2x2x6x1xi64>)
  %d = linalg.generic {indexing_maps = [#id, #kept, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%masked, %m#0 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%e0 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %max: f32, %out: f32):
    %x = arith.subf %in, %max : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x8xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%d : tensor<2x2x6x8xf32>) outs(%e0 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = math.exp %in : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x8xf32>
  %l1 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %l = linalg.generic {indexing_maps = [#id, #kept], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%e : tensor<2x2x6x8xf32>) outs(%l1 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = arith.addf %in, %out : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x1xf32>
  %p = linalg.generic {indexing_maps = [#id, #kept, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%e, %l : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%e0 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %x = arith.divf %in, %sum : f32
    linalg.yield %x : f32
  } -> tensor<2x2x6x8xf32>
  %p3 = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %o0 = tensor.empty() : tensor<4x6x4xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %o3 = linalg.batch_matmul ins(%p3, %v3 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%o1 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

// As StableHLO is lowered: a general product, iotas that are compared, broadcasts of tensors.
// CHECK-LABEL: func.func @stablehlo_like(
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bshd> scale(5.000000e-01) :
// CHECK: mask_mod
// CHECK: arith.cmpi sge
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @stablehlo_like(%q: tensor<2x6x2x4xf32>, %k: tensor<2x8x2x4xf32>, %v: tensor<2x8x2x4xf32>) -> tensor<2x6x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %half = arith.constant dense<5.0e-01> : tensor<2x2x6x8xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<2x2x6x8xf32>
  %e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x6x2x4xf32>, tensor<2x8x2x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %scaled = arith.mulf %s, %half : tensor<2x2x6x8xf32>
  %ne = tensor.empty() : tensor<6x8xi32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%ne : tensor<6x8xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %x = arith.index_cast %i : index to i32
    linalg.yield %x : i32
  } -> tensor<6x8xi32>
  %columns = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%ne : tensor<6x8xi32>) {
  ^bb0(%out: i32):
    %j = linalg.index 1 : index
    %x = arith.index_cast %j : index to i32
    linalg.yield %x : i32
  } -> tensor<6x8xi32>
  %visible = arith.cmpi sge, %rows, %columns : tensor<6x8xi32>
  %ve = tensor.empty() : tensor<2x2x6x8xi1>
  %all = linalg.broadcast ins(%visible : tensor<6x8xi1>) outs(%ve : tensor<2x2x6x8xi1>) dimensions = [0, 1]
  %x = arith.select %all, %scaled, %hidden : tensor<2x2x6x8xi1>, tensor<2x2x6x8xf32>
  %re = tensor.empty() : tensor<2x2x6xf32>
  %m0 = linalg.fill ins(%ninf : f32) outs(%re : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %m = linalg.reduce ins(%x : tensor<2x2x6x8xf32>) outs(%m0 : tensor<2x2x6xf32>) dimensions = [3]
    (%in: f32, %out: f32) {
      %y = arith.maximumf %out, %in : f32
      linalg.yield %y : f32
    }
  %mb = linalg.broadcast ins(%m : tensor<2x2x6xf32>) outs(%e : tensor<2x2x6x8xf32>) dimensions = [3]
  %d = arith.subf %x, %mb : tensor<2x2x6x8xf32>
  %exp = math.exp %d : tensor<2x2x6x8xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %l = linalg.reduce ins(%exp : tensor<2x2x6x8xf32>) outs(%l0 : tensor<2x2x6xf32>) dimensions = [3]
    (%in: f32, %out: f32) {
      %y = arith.addf %out, %in : f32
      linalg.yield %y : f32
    }
  %lb = linalg.broadcast ins(%l : tensor<2x2x6xf32>) outs(%e : tensor<2x2x6x8xf32>) dimensions = [3]
  %p = arith.divf %exp, %lb : tensor<2x2x6x8xf32>
  %oe = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %o1 = linalg.generic {indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, h, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x8x2x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %y = arith.mulf %a, %b : f32
    %z = arith.addf %c, %y : f32
    linalg.yield %z : f32
  } -> tensor<2x2x6x4xf32>
  %te = tensor.empty() : tensor<2x6x2x4xf32>
  %o = linalg.transpose ins(%o1 : tensor<2x2x6x4xf32>) outs(%te : tensor<2x6x2x4xf32>) permutation = [0, 2, 1, 3]
  return %o : tensor<2x6x2x4xf32>
}
