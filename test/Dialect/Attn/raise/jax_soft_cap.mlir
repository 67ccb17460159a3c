// As JAX writes it, by StableHLO's way to linalg: a soft cap.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_soft_cap(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(2.500{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2) -> ()>
#map7 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
func.func @jax_soft_cap(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<2.000000e+00> : tensor<f32>
  %cst_3 = arith.constant dense<2.500000e-01> : tensor<f32>
  %0 = tensor.empty() : tensor<2x4x6x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.mulf %in, %in_5 : f32
    %26 = arith.addf %out, %25 : f32
    linalg.yield %26 : f32
  } -> tensor<2x4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.mulf %in, %in_5 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %5 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = math.tanh %in : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %6 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %7 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %6 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.mulf %in, %in_5 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %8 = tensor.empty() : tensor<2x4x6xf32>
  %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %10 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%7 : tensor<2x4x6x8xf32>) outs(%9 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = arith.maximumf %out, %in : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6xf32>
  %11 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%8 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %12 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11, %10 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%8 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.maximumf %in, %in_5 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6xf32>
  %expanded = tensor.expand_shape %12 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %13 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %14 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %13 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.subf %in, %in_5 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %15 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = math.exp %in : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %16 = linalg.fill ins(%cst_0 : f32) outs(%8 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %17 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<2x4x6x8xf32>) outs(%16 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = arith.addf %out, %in : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6xf32>
  %expanded_4 = tensor.expand_shape %17 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %18 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %19 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %18 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.divf %in, %in_5 : f32
    linalg.yield %25 : f32
  } -> tensor<2x4x6x8xf32>
  %20 = tensor.empty() : tensor<2x4x4x6xf32>
  %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %22 = linalg.generic {indexing_maps = [#map9, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %19 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%21 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_5: f32, %out: f32):
    %25 = arith.mulf %in, %in_5 : f32
    %26 = arith.addf %out, %25 : f32
    linalg.yield %26 : f32
  } -> tensor<2x4x4x6xf32>
  %23 = tensor.empty() : tensor<2x6x4x4xf32>
  %24 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x4x4x6xf32>) outs(%23 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %24 : tensor<2x6x4x4xf32>
}
