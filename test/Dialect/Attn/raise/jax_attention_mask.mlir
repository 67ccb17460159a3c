// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention with a mask.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_mask(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}}) captures(
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> ()>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
func.func @jax_attention_mask(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2x1x6x8xi1>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %cst_3 = arith.constant dense<true> : tensor<i1>
  %cst_4 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 4] : tensor<2x6x4x4xf32> into tensor<2x6x4x1x4xf32>
  %0 = tensor.empty() : tensor<2x4x6x1x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x1x8xf32>) -> tensor<2x4x6x1x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x4x1x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.mulf %in, %in_10 : f32
    %30 = arith.addf %out, %29 : f32
    linalg.yield %30 : f32
  } -> tensor<2x4x6x1x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.mulf %in, %in_10 : f32
    linalg.yield %29 : f32
  } -> tensor<2x4x6x1x8xf32>
  %5 = tensor.empty() : tensor<1x2x4x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<i1>) outs(%5 : tensor<1x2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<1x2x4x6x8xi1>
  %expanded_5 = tensor.expand_shape %arg3 [[0, 1], [2], [3], [4]] output_shape [1, 2, 1, 6, 8] : tensor<2x1x6x8xi1> into tensor<1x2x1x6x8xi1>
  %7 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<1x2x1x6x8xi1>) outs(%5 : tensor<1x2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<1x2x4x6x8xi1>
  %8 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6, %7 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xi1>) outs(%5 : tensor<1x2x4x6x8xi1>) {
  ^bb0(%in: i1, %in_10: i1, %out: i1):
    %29 = arith.andi %in, %in_10 : i1
    linalg.yield %29 : i1
  } -> tensor<1x2x4x6x8xi1>
  %9 = tensor.empty() : tensor<1x2x4x6x8xf32>
  %10 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %collapsed = tensor.collapse_shape %4 [[0, 1, 2, 3, 4]] : tensor<2x4x6x1x8xf32> into tensor<384xf32>
  %expanded_6 = tensor.expand_shape %collapsed [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %11 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8, %expanded_6, %10 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
    %29 = arith.select %in, %in_10, %in_11 : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6x8xf32>
  %12 = tensor.empty() : tensor<1x2x4x6xf32>
  %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %14 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%11 : tensor<1x2x4x6x8xf32>) outs(%13 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %29 = arith.maximumf %out, %in : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6xf32>
  %15 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%12 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6xf32>
  %16 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %14 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) outs(%12 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.maximumf %in, %in_10 : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_7 = tensor.expand_shape %16 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %17 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x2x4x6x1xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11, %17 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.subf %in, %in_10 : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6x8xf32>
  %19 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<1x2x4x6x8xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %29 = math.exp %in : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6x8xf32>
  %20 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %21 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<1x2x4x6x8xf32>) outs(%20 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %29 = arith.addf %out, %in : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_8 = tensor.expand_shape %21 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %22 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<1x2x4x6x1xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %23 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%9 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.divf %in, %in_10 : f32
    linalg.yield %29 : f32
  } -> tensor<1x2x4x6x8xf32>
  %24 = tensor.empty() : tensor<2x4x4x1x6xf32>
  %25 = linalg.fill ins(%cst_0 : f32) outs(%24 : tensor<2x4x4x1x6xf32>) -> tensor<2x4x4x1x6xf32>
  %26 = linalg.generic {indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %23 : tensor<2x8x4x4xf32>, tensor<1x2x4x6x8xf32>) outs(%25 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %29 = arith.mulf %in, %in_10 : f32
    %30 = arith.addf %out, %29 : f32
    linalg.yield %30 : f32
  } -> tensor<2x4x4x1x6xf32>
  %27 = tensor.empty() : tensor<2x6x4x1x4xf32>
  %28 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x4x1x6xf32>) outs(%27 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_9 = tensor.collapse_shape %28 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed_9 : tensor<2x6x4x4xf32>
}
