// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention with lengths.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_lengths(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}}) captures(
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3) -> ()>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0) -> (d0)>
#map8 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map11 = affine_map<(d0, d1, d2) -> ()>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
func.func @jax_attention_lengths(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2xi32>) -> tensor<2x6x4x4xf32> {
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
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.mulf %in, %in_13 : f32
    %39 = arith.addf %out, %38 : f32
    linalg.yield %39 : f32
  } -> tensor<2x4x6x1x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.mulf %in, %in_13 : f32
    linalg.yield %38 : f32
  } -> tensor<2x4x6x1x8xf32>
  %5 = tensor.empty() : tensor<2x4x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<i1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %7 = tensor.empty() : tensor<8xi32>
  %8 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel"]} outs(%7 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %38 = linalg.index 0 : index
    %39 = arith.index_cast %38 : index to i32
    linalg.yield %39 : i32
  } -> tensor<8xi32>
  %expanded_5 = tensor.expand_shape %8 [[0, 1, 2]] output_shape [1, 1, 8] : tensor<8xi32> into tensor<1x1x8xi32>
  %expanded_6 = tensor.expand_shape %arg3 [[0, 1, 2]] output_shape [2, 1, 1] : tensor<2xi32> into tensor<2x1x1xi32>
  %9 = tensor.empty() : tensor<2x1x8xi32>
  %10 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<1x1x8xi32>) outs(%9 : tensor<2x1x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<2x1x8xi32>
  %11 = linalg.generic {indexing_maps = [#map10, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x1x1xi32>) outs(%9 : tensor<2x1x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<2x1x8xi32>
  %12 = tensor.empty() : tensor<2x1x8xi1>
  %13 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %11 : tensor<2x1x8xi32>, tensor<2x1x8xi32>) outs(%12 : tensor<2x1x8xi1>) {
  ^bb0(%in: i32, %in_13: i32, %out: i1):
    %38 = arith.cmpi slt, %in, %in_13 : i32
    linalg.yield %38 : i1
  } -> tensor<2x1x8xi1>
  %14 = linalg.generic {indexing_maps = [#map11, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<i1>) outs(%12 : tensor<2x1x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x1x8xi1>
  %15 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %13 : tensor<2x1x8xi1>, tensor<2x1x8xi1>) outs(%12 : tensor<2x1x8xi1>) {
  ^bb0(%in: i1, %in_13: i1, %out: i1):
    %38 = arith.andi %in, %in_13 : i1
    linalg.yield %38 : i1
  } -> tensor<2x1x8xi1>
  %expanded_7 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [2, 1, 1, 8] : tensor<2x1x8xi1> into tensor<2x1x1x8xi1>
  %16 = linalg.generic {indexing_maps = [#map12, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<2x1x1x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %17 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %16 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %in_13: i1, %out: i1):
    %38 = arith.andi %in, %in_13 : i1
    linalg.yield %38 : i1
  } -> tensor<2x4x6x8xi1>
  %expanded_8 = tensor.expand_shape %17 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 6, 8] : tensor<2x4x6x8xi1> into tensor<1x2x4x6x8xi1>
  %18 = tensor.empty() : tensor<1x2x4x6x8xf32>
  %19 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %collapsed = tensor.collapse_shape %4 [[0, 1, 2, 3, 4]] : tensor<2x4x6x1x8xf32> into tensor<384xf32>
  %expanded_9 = tensor.expand_shape %collapsed [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %expanded_9, %19 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_13: f32, %in_14: f32, %out: f32):
    %38 = arith.select %in, %in_13, %in_14 : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6x8xf32>
  %21 = tensor.empty() : tensor<1x2x4x6xf32>
  %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %23 = linalg.generic {indexing_maps = [#map4, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<1x2x4x6x8xf32>) outs(%22 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %38 = arith.maximumf %out, %in : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6xf32>
  %24 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%21 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6xf32>
  %25 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %23 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) outs(%21 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.maximumf %in, %in_13 : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_10 = tensor.expand_shape %25 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %26 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<1x2x4x6x1xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %27 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20, %26 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.subf %in, %in_13 : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<1x2x4x6x8xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %38 = math.exp %in : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6x8xf32>
  %29 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %30 = linalg.generic {indexing_maps = [#map4, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<1x2x4x6x8xf32>) outs(%29 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %38 = arith.addf %out, %in : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_11 = tensor.expand_shape %30 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %31 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<1x2x4x6x1xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28, %31 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%18 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.divf %in, %in_13 : f32
    linalg.yield %38 : f32
  } -> tensor<1x2x4x6x8xf32>
  %33 = tensor.empty() : tensor<2x4x4x1x6xf32>
  %34 = linalg.fill ins(%cst_0 : f32) outs(%33 : tensor<2x4x4x1x6xf32>) -> tensor<2x4x4x1x6xf32>
  %35 = linalg.generic {indexing_maps = [#map15, #map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %32 : tensor<2x8x4x4xf32>, tensor<1x2x4x6x8xf32>) outs(%34 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %38 = arith.mulf %in, %in_13 : f32
    %39 = arith.addf %out, %38 : f32
    linalg.yield %39 : f32
  } -> tensor<2x4x4x1x6xf32>
  %36 = tensor.empty() : tensor<2x6x4x1x4xf32>
  %37 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x4x1x6xf32>) outs(%36 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_12 = tensor.collapse_shape %37 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed_12 : tensor<2x6x4x4xf32>
}
