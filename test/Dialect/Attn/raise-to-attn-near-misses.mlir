// What looks like a softmax between products and is none: it stays, and a remark says why.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file --verify-diagnostics | FileCheck %s --implicit-check-not=attn.sdpa

// CHECK: func.func

func.func @no_maximum(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    %y = math.exp %a : f32
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
  // expected-remark@below {{not raised to attn.sdpa: no row maximum is subtracted from the scores}}
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

func.func @maximum_of_others(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    ins(%s : tensor<2x2x6x8xf32>) outs(%pm0 : tensor<2x2x6xf32>) {
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
  // expected-remark@below {{not raised to attn.sdpa: the maximum that is subtracted is one of other numbers than the scores}}
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

func.func @sum_of_others(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    ins(%s : tensor<2x2x6x8xf32>) outs(%pl0 : tensor<2x2x6xf32>) {
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
  // expected-remark@below {{not raised to attn.sdpa: the sum that is divided by is one of other numbers than the exponentials}}
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

func.func @maximum_from_zero(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pm0 = linalg.fill ins(%zero : f32) outs(%pm0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
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
  // expected-remark@below {{not raised to attn.sdpa: the maximum begins with 0.00, which may be more than a score}}
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

func.func @sum_from_one(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %one = arith.constant 1.0 : f32
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
  %pl0 = linalg.fill ins(%one : f32) outs(%pl0e : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
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
  // expected-remark@below {{not raised to attn.sdpa: what the exponentials are divided by is not their sum over the keys}}
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

func.func @minimum(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    %y = arith.minimumf %c, %a : f32
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
  // expected-remark@below {{not raised to attn.sdpa: what is subtracted from the scores is not their maximum over the keys}}
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

func.func @divided_by_maximum(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    ins(%pe, %pm : tensor<2x2x6x8xf32>, tensor<2x2x6xf32>) outs(%pe0 : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %y = arith.divf %a, %m : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: what the exponentials are divided by is not their sum over the keys}}
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

func.func @difference_reversed(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
    %x = arith.subf %m, %a : f32
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
  // expected-remark@below {{not raised to attn.sdpa: what is subtracted from the scores is not their maximum over the keys}}
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

func.func @softmax_over_queries(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %pe = tensor.empty() : tensor<2x2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x2x6x8xf32>) outs(%pe : tensor<2x2x6x8xf32>) -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the softmax is not over the keys}}
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

func.func @undivided(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the exponentials are not divided by their sum}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%pe, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

func.func @dropout(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>, %keep: tensor<2x2x6x8xf32>) -> tensor<2x2x6x4xf32> {
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
  %pde = tensor.empty() : tensor<2x2x6x8xf32>
  %pd = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%p, %keep : tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%pde : tensor<2x2x6x8xf32>) {
  ^bb0(%a: f32, %t0: f32, %c: f32):
    %y = arith.mulf %a, %t0 : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x8xf32>
  %o0e = tensor.empty() : tensor<2x2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%o0e : tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the probabilities are multiplied with something else}}
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, j)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]}
    ins(%pd, %v : tensor<2x2x6x8xf32>, tensor<2x2x8x4xf32>) outs(%o0 : tensor<2x2x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %c, %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}

// -----

func.func @quotient_in_a_function(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
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
  // expected-remark@below {{not raised to attn.sdpa: the exponentials are not divided by their sum}}
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
    %x = arith.divf %a, %m : f32
    %y = math.tanh %x : f32
    linalg.yield %y : f32
  } -> tensor<2x2x6x4xf32>
  return %o : tensor<2x2x6x4xf32>
}
