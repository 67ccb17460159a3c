// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention with fewer heads of keys.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_grouped(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
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
func.func @jax_attention_grouped(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x2x4xf32>, %arg2: tensor<2x8x2x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 4] : tensor<2x6x4x4xf32> into tensor<2x6x2x2x4xf32>
  %0 = tensor.empty() : tensor<2x2x6x2x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x2x6x2x8xf32>) -> tensor<2x2x6x2x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x2x2x4xf32>, tensor<2x8x2x4xf32>) outs(%1 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.mulf %in, %in_5 : f32
    %27 = arith.addf %out, %26 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x2x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x2x6x2x8xf32>, tensor<2x2x6x2x8xf32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.mulf %in, %in_5 : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x6x2x8xf32>
  %5 = tensor.empty() : tensor<2x2x6x2xf32>
  %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x2x6x2xf32>) -> tensor<2x2x6x2xf32>
  %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x2x6x2x8xf32>) outs(%6 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.maximumf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x6x2xf32>
  %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%5 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2xf32>
  %9 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %7 : tensor<2x2x6x2xf32>, tensor<2x2x6x2xf32>) outs(%5 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.maximumf %in, %in_5 : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x6x2xf32>
  %10 = tensor.empty() : tensor<2x2x2x6xf32>
  %11 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x2x6x2xf32>) outs(%10 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_3 = tensor.expand_shape %11 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %12 = tensor.empty() : tensor<2x2x2x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x2x6x2x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %14 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<2x2x2x6x1xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %15 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %14 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.subf %in, %in_5 : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x2x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = math.exp %in : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x2x6x8xf32>
  %17 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x2x6x8xf32>) outs(%17 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %26 = arith.addf %out, %in : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_4 = tensor.expand_shape %18 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x2x2x6x1xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.divf %in, %in_5 : f32
    linalg.yield %26 : f32
  } -> tensor<2x2x2x6x8xf32>
  %21 = tensor.empty() : tensor<2x2x4x2x6xf32>
  %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<2x2x4x2x6xf32>) -> tensor<2x2x4x2x6xf32>
  %23 = linalg.generic {indexing_maps = [#map11, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %20 : tensor<2x8x2x4xf32>, tensor<2x2x2x6x8xf32>) outs(%22 : tensor<2x2x4x2x6xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %26 = arith.mulf %in, %in_5 : f32
    %27 = arith.addf %out, %26 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x4x2x6xf32>
  %24 = tensor.empty() : tensor<2x6x2x2x4xf32>
  %25 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x2x4x2x6xf32>) outs(%24 : tensor<2x6x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x2x2x4xf32>
  %collapsed = tensor.collapse_shape %25 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed : tensor<2x6x4x4xf32>
}
