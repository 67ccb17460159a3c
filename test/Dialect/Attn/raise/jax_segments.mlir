// As JAX writes it, by StableHLO's way to linalg: a mask of segments.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_segments(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}}) captures(
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2) -> ()>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
func.func @jax_segments(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2x6xi32>, %arg4: tensor<2x8xi32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<-1.000000e+30> : tensor<f32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<f32>
  %0 = tensor.empty() : tensor<2x4x6x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.mulf %in, %in_8 : f32
    %32 = arith.addf %out, %31 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.mulf %in, %in_8 : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6x8xf32>
  %expanded = tensor.expand_shape %arg3 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xi32> into tensor<2x6x1xi32>
  %expanded_4 = tensor.expand_shape %arg4 [[0], [1, 2]] output_shape [2, 1, 8] : tensor<2x8xi32> into tensor<2x1x8xi32>
  %5 = tensor.empty() : tensor<2x6x8xi32>
  %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x6x1xi32>) outs(%5 : tensor<2x6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<2x6x8xi32>
  %7 = linalg.generic {indexing_maps = [#map7, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x1x8xi32>) outs(%5 : tensor<2x6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<2x6x8xi32>
  %8 = tensor.empty() : tensor<2x6x8xi1>
  %9 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %7 : tensor<2x6x8xi32>, tensor<2x6x8xi32>) outs(%8 : tensor<2x6x8xi1>) {
  ^bb0(%in: i32, %in_8: i32, %out: i1):
    %31 = arith.cmpi eq, %in, %in_8 : i32
    linalg.yield %31 : i1
  } -> tensor<2x6x8xi1>
  %expanded_5 = tensor.expand_shape %9 [[0], [1, 2], [3]] output_shape [2, 1, 6, 8] : tensor<2x6x8xi1> into tensor<2x1x6x8xi1>
  %10 = tensor.empty() : tensor<2x4x6x8xi1>
  %11 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x1x6x8xi1>) outs(%10 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %12 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %4, %12 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_8: f32, %in_9: f32, %out: f32):
    %31 = arith.select %in, %in_8, %in_9 : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6x8xf32>
  %14 = tensor.empty() : tensor<2x4x6xf32>
  %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x4x6x8xf32>) outs(%15 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %31 = arith.maximumf %out, %in : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6xf32>
  %17 = linalg.generic {indexing_maps = [#map10, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%14 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %18 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17, %16 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%14 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.maximumf %in, %in_8 : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6xf32>
  %expanded_6 = tensor.expand_shape %18 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %19 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.subf %in, %in_8 : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6x8xf32>
  %21 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %31 = math.exp %in : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6x8xf32>
  %22 = linalg.fill ins(%cst_0 : f32) outs(%14 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %23 = linalg.generic {indexing_maps = [#map4, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x4x6x8xf32>) outs(%22 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %31 = arith.addf %out, %in : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6xf32>
  %expanded_7 = tensor.expand_shape %23 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %24 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %25 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %24 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.divf %in, %in_8 : f32
    linalg.yield %31 : f32
  } -> tensor<2x4x6x8xf32>
  %26 = tensor.empty() : tensor<2x4x4x6xf32>
  %27 = linalg.fill ins(%cst_0 : f32) outs(%26 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %28 = linalg.generic {indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %25 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%27 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_8: f32, %out: f32):
    %31 = arith.mulf %in, %in_8 : f32
    %32 = arith.addf %out, %31 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x4x6xf32>
  %29 = tensor.empty() : tensor<2x6x4x4xf32>
  %30 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x4x4x6xf32>) outs(%29 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %30 : tensor<2x6x4x4xf32>
}
