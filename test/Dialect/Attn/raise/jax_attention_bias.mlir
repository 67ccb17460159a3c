// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention with a bias.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_bias(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}}) captures(
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
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
func.func @jax_attention_bias(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2x4x6x8xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 4] : tensor<2x6x4x4xf32> into tensor<2x6x4x1x4xf32>
  %0 = tensor.empty() : tensor<2x4x6x1x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x1x8xf32>) -> tensor<2x4x6x1x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x4x1x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.mulf %in, %in_8 : f32
    %25 = arith.addf %out, %24 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x1x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.mulf %in, %in_8 : f32
    linalg.yield %24 : f32
  } -> tensor<2x4x6x1x8xf32>
  %collapsed = tensor.collapse_shape %4 [[0, 1, 2, 3, 4]] : tensor<2x4x6x1x8xf32> into tensor<384xf32>
  %expanded_3 = tensor.expand_shape %collapsed [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %expanded_4 = tensor.expand_shape %arg3 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 6, 8] : tensor<2x4x6x8xf32> into tensor<1x2x4x6x8xf32>
  %5 = tensor.empty() : tensor<1x2x4x6x8xf32>
  %6 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3, %expanded_4 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.addf %in, %in_8 : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6x8xf32>
  %7 = tensor.empty() : tensor<1x2x4x6xf32>
  %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %9 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<1x2x4x6x8xf32>) outs(%8 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = arith.maximumf %out, %in : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6xf32>
  %10 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%7 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6xf32>
  %11 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %9 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) outs(%7 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.maximumf %in, %in_8 : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_5 = tensor.expand_shape %11 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %12 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<1x2x4x6x1xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6, %12 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.subf %in, %in_8 : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6x8xf32>
  %14 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<1x2x4x6x8xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = math.exp %in : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6x8xf32>
  %15 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<1x2x4x6x8xf32>) outs(%15 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = arith.addf %out, %in : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_6 = tensor.expand_shape %16 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %17 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x2x4x6x1xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14, %17 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%5 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.divf %in, %in_8 : f32
    linalg.yield %24 : f32
  } -> tensor<1x2x4x6x8xf32>
  %19 = tensor.empty() : tensor<2x4x4x1x6xf32>
  %20 = linalg.fill ins(%cst_0 : f32) outs(%19 : tensor<2x4x4x1x6xf32>) -> tensor<2x4x4x1x6xf32>
  %21 = linalg.generic {indexing_maps = [#map9, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %18 : tensor<2x8x4x4xf32>, tensor<1x2x4x6x8xf32>) outs(%20 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %24 = arith.mulf %in, %in_8 : f32
    %25 = arith.addf %out, %24 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x4x1x6xf32>
  %22 = tensor.empty() : tensor<2x6x4x1x4xf32>
  %23 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x4x1x6xf32>) outs(%22 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_7 = tensor.collapse_shape %23 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed_7 : tensor<2x6x4x4xf32>
}
