// A softmax between products that are not those of attention, or that attn.sdpa does not have:
// they stay, and a remark says why.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file --verify-diagnostics | FileCheck %s --implicit-check-not=attn.sdpa

// CHECK: func.func

func.func @softmax_of_argument(%s: tensor<2x2x6x8xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %pe = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x2x6x8xf32>) outs(%pe : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the softmax is of no product of matrices}}
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

func.func @two_products(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %r: tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %s20e = tensor.empty() : tensor<2x2x6x8xf32>
  %s20 = linalg.fill ins(%zero : f32) outs(%s20e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s2 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%r, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s20 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %sxe = tensor.empty() : tensor<2x2x6x8xf32>
  %sx = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %s2 : tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%sxe : tensor<2x2x6x8xf32>) {
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
  // expected-remark@below {{not raised to attn.sdpa: the softmax is of several products of matrices}}
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

func.func @product_on_top_of_another(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %bias: tensor<2x2x6x8xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%bias : tensor<2x2x6x8xf32>) {
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
  // expected-remark@below {{not raised to attn.sdpa: the softmax is of no product of matrices}}
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

func.func @distances(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.subf %a, %b : f32
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
  // expected-remark@below {{not raised to attn.sdpa: the softmax is of no product of matrices}}
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

func.func @values_of_another_type(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf16>) -> tensor<2x2x6x4xf32> {
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
  // expected-remark@below {{not raised to attn.sdpa: queries, keys and values have different element types}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf16>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f16, %c: f32):
    %b32 = arith.extf %b : f16 to f32
    %x = arith.mulf %a, %b32 : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

func.func @values_of_all_batches(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  // expected-remark@below {{not raised to attn.sdpa: keys and values are shared by different numbers of heads}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

func.func @values_of_other_groups(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x4x8x4xf32>) -> tensor<2x4x6x4xf32> {
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
  // expected-remark@below {{not raised to attn.sdpa: keys and values are shared by different numbers of heads}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x4x6x8xf32>, tensor<2x4x8x4xf32>) outs(%o0 : tensor<2x4x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

func.func @interleaved_heads(%q: tensor<2x4x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x4x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x4x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h mod 2, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
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
  // expected-remark@below {{not raised to attn.sdpa: a dimension of the keys is indexed by more than the batch, the head, the row or the element}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h mod 2, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x4x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x4x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x4x6x4xf32>
  return %o : tensor<2x4x6x4xf32>
}

// -----

func.func @diagonal(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, b, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
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
  // expected-remark@below {{not raised to attn.sdpa: the queries are the same for several batches, or are read at a diagonal}}
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

func.func @keys_of_each_query(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x6x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf32>, tensor<2x2x6x8x4xf32>) outs(%s0 : tensor<2x2x6x8xf32>) {
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
  // expected-remark@below {{not raised to attn.sdpa: the first product is not one of queries and keys}}
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

func.func @doubles(%q: tensor<2x2x6x4xf64>, %k: tensor<2x2x8x4xf64>, %v: tensor<2x2x8x4xf64>) -> tensor<2x2x6x4xf64> {
  %zero = arith.constant 0.0 : f64
  %ninf = arith.constant 0xFFF0000000000000 : f64
  %s0e = tensor.empty() : tensor<2x2x6x8xf64>
  %s0 = linalg.fill ins(%zero : f64) outs(%s0e : tensor<2x2x6x8xf64>) -> tensor<2x2x6x8xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x6x4xf64>, tensor<2x2x8x4xf64>) outs(%s0 : tensor<2x2x6x8xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %x = arith.mulf %a, %b : f64
    %y = arith.addf %c, %x : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6x8xf64>
  %pm0e = tensor.empty() : tensor<2x2x6xf64>
  %pm0 = linalg.fill ins(%ninf : f64) outs(%pm0e : tensor<2x2x6xf64>) -> tensor<2x2x6xf64>
  %pm = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%s : tensor<2x2x6x8xf64>) outs(%pm0 : tensor<2x2x6xf64>) {
  ^bb0(%a: f64, %c: f64):
    %y = arith.maximumf %c, %a : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6xf64>
  %pe0 = tensor.empty() : tensor<2x2x6x8xf64>
  %pe = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %pm : tensor<2x2x6x8xf64>, tensor<2x2x6xf64>) outs(%pe0 : tensor<2x2x6x8xf64>) {
  ^bb0(%a: f64, %m: f64, %c: f64):
    %x = arith.subf %a, %m : f64
    %y = math.exp %x : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6x8xf64>
  %pl0e = tensor.empty() : tensor<2x2x6xf64>
  %pl0 = linalg.fill ins(%zero : f64) outs(%pl0e : tensor<2x2x6xf64>) -> tensor<2x2x6xf64>
  %pl = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%pe : tensor<2x2x6x8xf64>) outs(%pl0 : tensor<2x2x6xf64>) {
  ^bb0(%a: f64, %c: f64):
    %y = arith.addf %c, %a : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6xf64>
  %p = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%pe, %pl : tensor<2x2x6x8xf64>, tensor<2x2x6xf64>) outs(%pe0 : tensor<2x2x6x8xf64>) {
  ^bb0(%a: f64, %m: f64, %c: f64):
    %y = arith.divf %a, %m : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6x8xf64>
  %o0e = tensor.empty() : tensor<2x2x6x4xf64>
  %o0 = linalg.fill ins(%zero : f64) outs(%o0e : tensor<2x2x6x4xf64>) -> tensor<2x2x6x4xf64>
  // expected-remark@below {{not raised to attn.sdpa: attn.sdpa has no such element types}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x6x8xf64>, tensor<2x2x8x4xf64>) outs(%o0 : tensor<2x2x6x4xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %x = arith.mulf %a, %b : f64
    %y = arith.addf %c, %x : f64
    linalg.yield %y : f64
  } -> tensor<2x2x6x4xf64>
  return %o : tensor<2x2x6x4xf64>
}

// -----

func.func @three_batch_dimensions(%q: tensor<2x2x2x6x4xf32>, %k: tensor<2x2x2x8x4xf32>, %v: tensor<2x2x2x8x4xf32>) -> tensor<2x2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %s0e = tensor.empty() : tensor<2x2x2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%s0e : tensor<2x2x2x6x8xf32>) -> tensor<2x2x2x6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, h, i, j, d) -> (a, b, h, i, d)>, affine_map<(a, b, h, i, j, d) -> (a, b, h, j, d)>, affine_map<(a, b, h, i, j, d) -> (a, b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<2x2x2x6x4xf32>, tensor<2x2x2x8x4xf32>) outs(%s0 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x2x6x8xf32>
  %pe = tensor.empty() : tensor<2x2x2x6x8xf32>
  %p = linalg.softmax dimension(4) ins(%s : tensor<2x2x2x6x8xf32>) outs(%pe : tensor<2x2x2x6x8xf32>) -> tensor<2x2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x2x6x4xf32>) -> tensor<2x2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the second product has 1 dimensions of queries, 1 of elements and 3 of batches and heads}}
  %o = linalg.generic {indexing_maps = [affine_map<(a, b, h, i, j, d) -> (a, b, h, i, j)>, affine_map<(a, b, h, i, j, d) -> (a, b, h, j, d)>, affine_map<(a, b, h, i, j, d) -> (a, b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%p, %v : tensor<2x2x2x6x8xf32>, tensor<2x2x2x8x4xf32>) outs(%o0 : tensor<2x2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x2x6x4xf32>
  return %o : tensor<2x2x2x6x4xf32>
}
