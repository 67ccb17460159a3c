// As JAX writes jax.nn.softmax(where=mask): the exponentials are masked, and not the scores. It stays, and a remark says why.
//
// RUN: fa4-opt %s --raise-to-attn --verify-diagnostics

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map10 = affine_map<() -> ()>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
func.func @jax_softmax_where(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<6x8xi1>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
  %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<f32>
  %0 = tensor.empty() : tensor<2x4x6x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.mulf %in, %in_5 : f32
    %33 = arith.addf %out, %32 : f32
    linalg.yield %33 : f32
  } -> tensor<2x4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.mulf %in, %in_5 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %5 = tensor.empty() : tensor<2x4x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %7 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %8 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %4, %7 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_5: f32, %in_6: f32, %out: f32):
    %32 = arith.select %in, %in_5, %in_6 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %9 = tensor.empty() : tensor<2x4x6xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %11 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x6x8xf32>) outs(%10 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.maximumf %out, %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6xf32>
  %12 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%9 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %13 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %11 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%9 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.maximumf %in, %in_5 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6xf32>
  %expanded = tensor.expand_shape %13 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %14 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %15 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %14 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.subf %in, %in_5 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = math.exp %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %17 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %16, %17 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_5: f32, %in_6: f32, %out: f32):
    %32 = arith.select %in, %in_5, %in_6 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %19 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x4x6x8xf32>) outs(%19 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.addf %out, %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6xf32>
  %expanded_4 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %21 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %22 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %21 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.divf %in, %in_5 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %23 = tensor.empty() : tensor<f32>
  %24 = linalg.generic {indexing_maps = [#map10], iterator_types = []} outs(%23 : tensor<f32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_0 : f32
  } -> tensor<f32>
  %25 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %26 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %22, %25 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_5: f32, %in_6: f32, %out: f32):
    %32 = arith.select %in, %in_5, %in_6 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %27 = tensor.empty() : tensor<2x4x4x6xf32>
  %28 = linalg.fill ins(%cst_0 : f32) outs(%27 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  // expected-remark@below {{not raised to attn.sdpa: the sum that is divided by is one of other numbers than the exponentials}}
  %29 = linalg.generic {indexing_maps = [#map11, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %26 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%28 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %32 = arith.mulf %in, %in_5 : f32
    %33 = arith.addf %out, %32 : f32
    linalg.yield %33 : f32
  } -> tensor<2x4x4x6xf32>
  %30 = tensor.empty() : tensor<2x6x4x4xf32>
  %31 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x4x6xf32>) outs(%30 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %31 : tensor<2x6x4x4xf32>
}
