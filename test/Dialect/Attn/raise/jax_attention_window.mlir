// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention(local_window_size=(2, 1)).
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_window(
// CHECK: attn.sdpa {{.*}}layout<bshd> mask<window, left = 2, right = 1, top_left> scale(5.000{{.*}})
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
#map7 = affine_map<(d0, d1) -> ()>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> (d0, 0)>
#map10 = affine_map<(d0, d1) -> (0, d1)>
#map11 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
func.func @jax_attention_window(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi32>
  %cst_0 = arith.constant dense<[[0], [1], [2], [3], [4], [5]]> : tensor<6x1xi32>
  %cst_1 = arith.constant 0xFF800000 : f32
  %cst_2 = arith.constant 0.000000e+00 : f32
  %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_4 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %cst_5 = arith.constant dense<1> : tensor<i32>
  %cst_6 = arith.constant dense<2> : tensor<i32>
  %cst_7 = arith.constant dense<true> : tensor<i1>
  %cst_8 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 4] : tensor<2x6x4x4xf32> into tensor<2x6x4x1x4xf32>
  %0 = tensor.empty() : tensor<2x4x6x1x8xf32>
  %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<2x4x6x1x8xf32>) -> tensor<2x4x6x1x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x4x1x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.mulf %in, %in_15 : f32
    %43 = arith.addf %out, %42 : f32
    linalg.yield %43 : f32
  } -> tensor<2x4x6x1x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.mulf %in, %in_15 : f32
    linalg.yield %42 : f32
  } -> tensor<2x4x6x1x8xf32>
  %5 = tensor.empty() : tensor<2x4x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_7 : tensor<i1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %7 = tensor.empty() : tensor<1x8xi32>
  %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<i32>) outs(%7 : tensor<1x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<1x8xi32>
  %9 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst, %8 : tensor<1x8xi32>, tensor<1x8xi32>) outs(%7 : tensor<1x8xi32>) {
  ^bb0(%in: i32, %in_15: i32, %out: i32):
    %42 = arith.addi %in, %in_15 : i32
    linalg.yield %42 : i32
  } -> tensor<1x8xi32>
  %10 = tensor.empty() : tensor<6x8xi32>
  %11 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<6x1xi32>) outs(%10 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %12 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<1x8xi32>) outs(%10 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %13 = tensor.empty() : tensor<6x8xi1>
  %14 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%11, %12 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%13 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_15: i32, %out: i1):
    %42 = arith.cmpi sle, %in, %in_15 : i32
    linalg.yield %42 : i1
  } -> tensor<6x8xi1>
  %15 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<i32>) outs(%7 : tensor<1x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<1x8xi32>
  %16 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst, %15 : tensor<1x8xi32>, tensor<1x8xi32>) outs(%7 : tensor<1x8xi32>) {
  ^bb0(%in: i32, %in_15: i32, %out: i32):
    %42 = arith.subi %in, %in_15 : i32
    linalg.yield %42 : i32
  } -> tensor<1x8xi32>
  %17 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<1x8xi32>) outs(%10 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %18 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%11, %17 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%13 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_15: i32, %out: i1):
    %42 = arith.cmpi sge, %in, %in_15 : i32
    linalg.yield %42 : i1
  } -> tensor<6x8xi1>
  %19 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%18, %14 : tensor<6x8xi1>, tensor<6x8xi1>) outs(%13 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %in_15: i1, %out: i1):
    %42 = arith.andi %in, %in_15 : i1
    linalg.yield %42 : i1
  } -> tensor<6x8xi1>
  %expanded_9 = tensor.expand_shape %19 [[0, 1, 2], [3]] output_shape [1, 1, 6, 8] : tensor<6x8xi1> into tensor<1x1x6x8xi1>
  %20 = linalg.generic {indexing_maps = [#map11, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<1x1x6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %21 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %20 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %in_15: i1, %out: i1):
    %42 = arith.andi %in, %in_15 : i1
    linalg.yield %42 : i1
  } -> tensor<2x4x6x8xi1>
  %expanded_10 = tensor.expand_shape %21 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 6, 8] : tensor<2x4x6x8xi1> into tensor<1x2x4x6x8xi1>
  %22 = tensor.empty() : tensor<1x2x4x6x8xf32>
  %23 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %collapsed = tensor.collapse_shape %4 [[0, 1, 2, 3, 4]] : tensor<2x4x6x1x8xf32> into tensor<384xf32>
  %expanded_11 = tensor.expand_shape %collapsed [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %24 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10, %expanded_11, %23 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_15: f32, %in_16: f32, %out: f32):
    %42 = arith.select %in, %in_15, %in_16 : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6x8xf32>
  %25 = tensor.empty() : tensor<1x2x4x6xf32>
  %26 = linalg.fill ins(%cst_1 : f32) outs(%25 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %27 = linalg.generic {indexing_maps = [#map4, #map12], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<1x2x4x6x8xf32>) outs(%26 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %42 = arith.maximumf %out, %in : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6xf32>
  %28 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%25 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6xf32>
  %29 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %27 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) outs(%25 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.maximumf %in, %in_15 : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_12 = tensor.expand_shape %29 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %30 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<1x2x4x6x1xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %31 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24, %30 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.subf %in, %in_15 : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<1x2x4x6x8xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %42 = math.exp %in : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6x8xf32>
  %33 = linalg.fill ins(%cst_2 : f32) outs(%25 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %34 = linalg.generic {indexing_maps = [#map4, #map12], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<1x2x4x6x8xf32>) outs(%33 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %42 = arith.addf %out, %in : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_13 = tensor.expand_shape %34 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %35 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13 : tensor<1x2x4x6x1xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %36 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32, %35 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%22 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.divf %in, %in_15 : f32
    linalg.yield %42 : f32
  } -> tensor<1x2x4x6x8xf32>
  %37 = tensor.empty() : tensor<2x4x4x1x6xf32>
  %38 = linalg.fill ins(%cst_2 : f32) outs(%37 : tensor<2x4x4x1x6xf32>) -> tensor<2x4x4x1x6xf32>
  %39 = linalg.generic {indexing_maps = [#map14, #map15, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %36 : tensor<2x8x4x4xf32>, tensor<1x2x4x6x8xf32>) outs(%38 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %in_15: f32, %out: f32):
    %42 = arith.mulf %in, %in_15 : f32
    %43 = arith.addf %out, %42 : f32
    linalg.yield %43 : f32
  } -> tensor<2x4x4x1x6xf32>
  %40 = tensor.empty() : tensor<2x6x4x1x4xf32>
  %41 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x4x4x1x6xf32>) outs(%40 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_14 = tensor.collapse_shape %41 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed_14 : tensor<2x6x4x4xf32>
}
