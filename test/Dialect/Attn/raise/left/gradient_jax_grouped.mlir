// As JAX writes the gradient of jax.nn.dot_product_attention with fewer heads of keys: those of keys and values are sums over
// queries and groups. Only the attention itself is raised, and remarks say why.
//
// RUN: fa4-opt %s --raise-to-attn --verify-diagnostics

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3, d2)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d2, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d0, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5, d3)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5, d2)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5, d3)>
#map24 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4)>
#map27 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>
func.func @gradient_jax_grouped(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x2x4xf32>, %arg2: tensor<2x8x2x4xf32>, %arg3: tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<1.000000e+00> : tensor<f32>
  %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 4] : tensor<2x6x4x4xf32> into tensor<2x6x2x2x4xf32>
  %0 = tensor.empty() : tensor<2x2x6x2x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x2x6x2x8xf32>) -> tensor<2x2x6x2x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x2x2x4xf32>, tensor<2x8x2x4xf32>) outs(%1 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x6x2x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x2x6x2x8xf32>, tensor<2x2x6x2x8xf32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x6x2x8xf32>
  %5 = tensor.empty() : tensor<2x2x6x2xf32>
  %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x2x6x2xf32>) -> tensor<2x2x6x2xf32>
  %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x2x6x2x8xf32>) outs(%6 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = arith.maximumf %out, %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x6x2xf32>
  %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%5 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2xf32>
  %9 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %7 : tensor<2x2x6x2xf32>, tensor<2x2x6x2xf32>) outs(%5 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.maximumf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x6x2xf32>
  %10 = tensor.empty() : tensor<2x2x2x6xf32>
  %11 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x2x6x2xf32>) outs(%10 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_4 = tensor.expand_shape %11 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %12 = tensor.empty() : tensor<2x2x2x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x2x6x2x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %14 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x2x2x6x1xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %15 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %14 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.subf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = math.exp %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %17 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x2x6x8xf32>) outs(%17 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = arith.addf %out, %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_5 = tensor.expand_shape %18 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x2x2x6x1xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.divf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %21 = tensor.empty() : tensor<2x2x2x6x1xf32>
  %22 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5, %expanded_5 : tensor<2x2x2x6x1xf32>, tensor<2x2x2x6x1xf32>) outs(%21 : tensor<2x2x2x6x1xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x1xf32>
  %23 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%21 : tensor<2x2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x1xf32>
  %24 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23, %22 : tensor<2x2x2x6x1xf32>, tensor<2x2x2x6x1xf32>) outs(%21 : tensor<2x2x2x6x1xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.divf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x1xf32>
  %25 = tensor.empty() : tensor<2x2x4x2x6xf32>
  %26 = linalg.fill ins(%cst_0 : f32) outs(%25 : tensor<2x2x4x2x6xf32>) -> tensor<2x2x4x2x6xf32>
  %27 = linalg.generic {indexing_maps = [#map11, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %20 : tensor<2x8x2x4xf32>, tensor<2x2x2x6x8xf32>) outs(%26 : tensor<2x2x4x2x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x4x2x6xf32>
  %28 = tensor.empty() : tensor<2x6x2x2x4xf32>
  %29 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x2x4x2x6xf32>) outs(%28 : tensor<2x6x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x2x2x4xf32>
  %collapsed = tensor.collapse_shape %29 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x4xf32> into tensor<2x6x4x4xf32>
  %expanded_6 = tensor.expand_shape %arg3 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 4] : tensor<2x6x4x4xf32> into tensor<2x6x2x2x4xf32>
  %30 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x6x2x2x4xf32>) outs(%25 : tensor<2x2x4x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x2x6xf32>
  %31 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x2x2x6x8xf32>) -> tensor<2x2x2x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map15, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%30, %arg2 : tensor<2x2x4x2x6xf32>, tensor<2x8x2x4xf32>) outs(%31 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x2x6x8xf32>
  %33 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %34 = tensor.empty() : tensor<2x2x4x8xf32>
  %35 = linalg.fill ins(%cst_0 : f32) outs(%34 : tensor<2x2x4x8xf32>) -> tensor<2x2x4x8xf32>
  // expected-remark@below {{not raised to attn.sdpa: it sums over 2 dimensions, and the product with the values only over the keys}}
  %36 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%30, %20 : tensor<2x2x4x2x6xf32>, tensor<2x2x2x6x8xf32>) outs(%35 : tensor<2x2x4x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x4x8xf32>
  %37 = tensor.empty() : tensor<2x8x2x4xf32>
  %38 = linalg.generic {indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x2x4x8xf32>) outs(%37 : tensor<2x8x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x2x4xf32>
  %39 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x2x2x6x1xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %40 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33, %39 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %41 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40, %16 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %42 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%41 : tensor<2x2x2x6x8xf32>) outs(%17 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = arith.addf %out, %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_7 = tensor.expand_shape %42 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %43 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<2x2x2x6x1xf32>) outs(%21 : tensor<2x2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = arith.negf %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x1xf32>
  %44 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33, %19 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.divf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %45 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%43 : tensor<2x2x2x6x1xf32>) outs(%17 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %59 = arith.addf %out, %in : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6xf32>
  %46 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%45 : tensor<2x2x2x6xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %47 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44, %46 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.addf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %48 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47, %16 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x2x6x8xf32>
  %49 = linalg.generic {indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<2x2x2x6x8xf32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2x8xf32>
  %50 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49, %3 : tensor<2x2x6x2x8xf32>, tensor<2x2x6x2x8xf32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    linalg.yield %59 : f32
  } -> tensor<2x2x6x2x8xf32>
  %51 = tensor.empty() : tensor<2x2x8x4xf32>
  %52 = linalg.fill ins(%cst_0 : f32) outs(%51 : tensor<2x2x8x4xf32>) -> tensor<2x2x8x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: it sums over 2 dimensions, and the product with the values only over the keys}}
  %53 = linalg.generic {indexing_maps = [#map22, #map23, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%50, %expanded : tensor<2x2x6x2x8xf32>, tensor<2x6x2x2x4xf32>) outs(%52 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x8x4xf32>
  %54 = linalg.generic {indexing_maps = [#map24, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<2x2x8x4xf32>) outs(%37 : tensor<2x8x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x2x4xf32>
  %55 = tensor.empty() : tensor<2x2x6x2x4xf32>
  %56 = linalg.fill ins(%cst_0 : f32) outs(%55 : tensor<2x2x6x2x4xf32>) -> tensor<2x2x6x2x4xf32>
  // expected-remark@below {{not raised to attn.sdpa_backward: what is multiplied holds no product of the output's gradient and the values}}
  %57 = linalg.generic {indexing_maps = [#map25, #map26, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%50, %arg1 : tensor<2x2x6x2x8xf32>, tensor<2x8x2x4xf32>) outs(%56 : tensor<2x2x6x2x4xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %59 = arith.mulf %in, %in_9 : f32
    %60 = arith.addf %out, %59 : f32
    linalg.yield %60 : f32
  } -> tensor<2x2x6x2x4xf32>
  %58 = linalg.generic {indexing_maps = [#map27, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57 : tensor<2x2x6x2x4xf32>) outs(%28 : tensor<2x6x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x2x2x4xf32>
  %collapsed_8 = tensor.collapse_shape %58 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed, %collapsed_8, %54, %38 : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
}
