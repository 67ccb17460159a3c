// As JAX writes it, by StableHLO's way to linalg: jax.nn.dot_product_attention with fewer heads of keys, causal.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_attention_grouped_causal(
// CHECK: attn.sdpa {{.*}}layout<bshd> mask<causal, top_left> scale(5.000{{.*}})
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
#map9 = affine_map<(d0) -> (d0)>
#map10 = affine_map<(d0, d1) -> (d0)>
#map11 = affine_map<(d0, d1) -> (d1)>
#map12 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
func.func @jax_attention_grouped_causal(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x2x4xf32>, %arg2: tensor<2x8x2x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0> : tensor<i32>
  %cst_2 = arith.constant dense<false> : tensor<i1>
  %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_4 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %cst_5 = arith.constant dense<true> : tensor<i1>
  %cst_6 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 4] : tensor<2x6x4x4xf32> into tensor<2x6x2x2x4xf32>
  %0 = tensor.empty() : tensor<2x2x6x2x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x2x6x2x8xf32>) -> tensor<2x2x6x2x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x2x2x4xf32>, tensor<2x8x2x4xf32>) outs(%1 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.mulf %in, %in_10 : f32
    %47 = arith.addf %out, %46 : f32
    linalg.yield %47 : f32
  } -> tensor<2x2x6x2x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x2x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x2x6x2x8xf32>, tensor<2x2x6x2x8xf32>) outs(%0 : tensor<2x2x6x2x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.mulf %in, %in_10 : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x6x2x8xf32>
  %5 = tensor.empty() : tensor<2x2x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : tensor<i1>) outs(%5 : tensor<2x2x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x2x6x8xi1>
  %7 = tensor.empty() : tensor<6x8xi1>
  %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<i1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<6x8xi1>
  %9 = tensor.empty() : tensor<6xi32>
  %10 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel"]} outs(%9 : tensor<6xi32>) {
  ^bb0(%out: i32):
    %46 = linalg.index 0 : index
    %47 = arith.index_cast %46 : index to i32
    linalg.yield %47 : i32
  } -> tensor<6xi32>
  %11 = tensor.empty() : tensor<6x8xi32>
  %12 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<6xi32>) outs(%11 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %13 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<i32>) outs(%11 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %14 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%12, %13 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%11 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %in_10: i32, %out: i32):
    %46 = arith.addi %in, %in_10 : i32
    linalg.yield %46 : i32
  } -> tensor<6x8xi32>
  %15 = tensor.empty() : tensor<8xi32>
  %16 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel"]} outs(%15 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %46 = linalg.index 0 : index
    %47 = arith.index_cast %46 : index to i32
    linalg.yield %47 : i32
  } -> tensor<8xi32>
  %17 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<8xi32>) outs(%11 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %18 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%14, %17 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_10: i32, %out: i1):
    %46 = arith.cmpi sge, %in, %in_10 : i32
    linalg.yield %46 : i1
  } -> tensor<6x8xi1>
  %19 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<6x8xi1>
  %20 = linalg.generic {indexing_maps = [#map8, #map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%18, %8, %19 : tensor<6x8xi1>, tensor<6x8xi1>, tensor<6x8xi1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %in_10: i1, %in_11: i1, %out: i1):
    %46 = arith.select %in, %in_10, %in_11 : i1
    linalg.yield %46 : i1
  } -> tensor<6x8xi1>
  %expanded_7 = tensor.expand_shape %20 [[0, 1, 2], [3]] output_shape [1, 1, 6, 8] : tensor<6x8xi1> into tensor<1x1x6x8xi1>
  %21 = linalg.generic {indexing_maps = [#map12, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x1x6x8xi1>) outs(%5 : tensor<2x2x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x2x6x8xi1>
  %22 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %21 : tensor<2x2x6x8xi1>, tensor<2x2x6x8xi1>) outs(%5 : tensor<2x2x6x8xi1>) {
  ^bb0(%in: i1, %in_10: i1, %out: i1):
    %46 = arith.andi %in, %in_10 : i1
    linalg.yield %46 : i1
  } -> tensor<2x2x6x8xi1>
  %23 = tensor.empty() : tensor<2x2x2x6x8xi1>
  %24 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x2x6x8xi1>) outs(%23 : tensor<2x2x2x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x2x2x6x8xi1>
  %25 = tensor.empty() : tensor<2x2x2x6x8xf32>
  %26 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %27 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x2x6x2x8xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24, %27, %26 : tensor<2x2x2x6x8xi1>, tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
    %46 = arith.select %in, %in_10, %in_11 : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6x8xf32>
  %29 = tensor.empty() : tensor<2x2x2x6xf32>
  %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %31 = linalg.generic {indexing_maps = [#map4, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x2x2x6x8xf32>) outs(%30 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %46 = arith.maximumf %out, %in : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6xf32>
  %32 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%29 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6xf32>
  %33 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32, %31 : tensor<2x2x2x6xf32>, tensor<2x2x2x6xf32>) outs(%29 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.maximumf %in, %in_10 : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_8 = tensor.expand_shape %33 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %34 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<2x2x2x6x1xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %35 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28, %34 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.subf %in, %in_10 : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6x8xf32>
  %36 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x2x2x6x8xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %46 = math.exp %in : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6x8xf32>
  %37 = linalg.fill ins(%cst_0 : f32) outs(%29 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
  %38 = linalg.generic {indexing_maps = [#map4, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x2x2x6x8xf32>) outs(%37 : tensor<2x2x2x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %46 = arith.addf %out, %in : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6xf32>
  %expanded_9 = tensor.expand_shape %38 [[0], [1], [2], [3, 4]] output_shape [2, 2, 2, 6, 1] : tensor<2x2x2x6xf32> into tensor<2x2x2x6x1xf32>
  %39 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x2x2x6x1xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x2x6x8xf32>
  %40 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %39 : tensor<2x2x2x6x8xf32>, tensor<2x2x2x6x8xf32>) outs(%25 : tensor<2x2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.divf %in, %in_10 : f32
    linalg.yield %46 : f32
  } -> tensor<2x2x2x6x8xf32>
  %41 = tensor.empty() : tensor<2x2x4x2x6xf32>
  %42 = linalg.fill ins(%cst_0 : f32) outs(%41 : tensor<2x2x4x2x6xf32>) -> tensor<2x2x4x2x6xf32>
  %43 = linalg.generic {indexing_maps = [#map17, #map18, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %40 : tensor<2x8x2x4xf32>, tensor<2x2x2x6x8xf32>) outs(%42 : tensor<2x2x4x2x6xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %46 = arith.mulf %in, %in_10 : f32
    %47 = arith.addf %out, %46 : f32
    linalg.yield %47 : f32
  } -> tensor<2x2x4x2x6xf32>
  %44 = tensor.empty() : tensor<2x6x2x2x4xf32>
  %45 = linalg.generic {indexing_maps = [#map19, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<2x2x4x2x6xf32>) outs(%44 : tensor<2x6x2x2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x2x2x4xf32>
  %collapsed = tensor.collapse_shape %45 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed : tensor<2x6x4x4xf32>
}
