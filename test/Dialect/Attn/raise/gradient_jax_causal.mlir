// As JAX's vjp writes it, by StableHLO's way to linalg: the gradient of causal jax.nn.dot_product_attention.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @gradient_jax_causal(
// CHECK: attn.sdpa {{.*}}layout<bshd> mask<causal, top_left> scale(5.000{{.*}})
// CHECK: attn.sdpa_backward {{.*}}layout<bshd> mask<causal, top_left> scale(5.000{{.*}})
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
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3, d2)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d2, d3)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map23 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map24 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map25 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5, d2)>
#map27 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5, d3)>
#map28 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map29 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map30 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4)>
#map31 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>
func.func @gradient_jax_causal(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0> : tensor<i32>
  %cst_2 = arith.constant dense<false> : tensor<i1>
  %cst_3 = arith.constant dense<1.000000e+00> : tensor<f32>
  %cst_4 = arith.constant dense<0.000000e+00> : tensor<f32>
  %cst_5 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_6 = arith.constant dense<-2.38197633E+38> : tensor<f32>
  %cst_7 = arith.constant dense<true> : tensor<i1>
  %cst_8 = arith.constant dense<5.000000e-01> : tensor<f32>
  %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 4] : tensor<2x6x4x4xf32> into tensor<2x6x4x1x4xf32>
  %0 = tensor.empty() : tensor<2x4x6x1x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x1x8xf32>) -> tensor<2x4x6x1x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x4x1x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x6x1x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<2x4x6x1x8xf32>
  %5 = tensor.empty() : tensor<2x4x6x8xi1>
  %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_7 : tensor<i1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %7 = tensor.empty() : tensor<6x8xi1>
  %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<i1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<6x8xi1>
  %9 = tensor.empty() : tensor<6xi32>
  %10 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel"]} outs(%9 : tensor<6xi32>) {
  ^bb0(%out: i32):
    %79 = linalg.index 0 : index
    %80 = arith.index_cast %79 : index to i32
    linalg.yield %80 : i32
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
  ^bb0(%in: i32, %in_23: i32, %out: i32):
    %79 = arith.addi %in, %in_23 : i32
    linalg.yield %79 : i32
  } -> tensor<6x8xi32>
  %15 = tensor.empty() : tensor<8xi32>
  %16 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel"]} outs(%15 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %79 = linalg.index 0 : index
    %80 = arith.index_cast %79 : index to i32
    linalg.yield %80 : i32
  } -> tensor<8xi32>
  %17 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<8xi32>) outs(%11 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %18 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%14, %17 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_23: i32, %out: i1):
    %79 = arith.cmpi sge, %in, %in_23 : i32
    linalg.yield %79 : i1
  } -> tensor<6x8xi1>
  %19 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<6x8xi1>
  %20 = linalg.generic {indexing_maps = [#map8, #map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%18, %8, %19 : tensor<6x8xi1>, tensor<6x8xi1>, tensor<6x8xi1>) outs(%7 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %in_23: i1, %in_24: i1, %out: i1):
    %79 = arith.select %in, %in_23, %in_24 : i1
    linalg.yield %79 : i1
  } -> tensor<6x8xi1>
  %expanded_9 = tensor.expand_shape %20 [[0, 1, 2], [3]] output_shape [1, 1, 6, 8] : tensor<6x8xi1> into tensor<1x1x6x8xi1>
  %21 = linalg.generic {indexing_maps = [#map12, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<1x1x6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %22 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %21 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xi1>) outs(%5 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %in_23: i1, %out: i1):
    %79 = arith.andi %in, %in_23 : i1
    linalg.yield %79 : i1
  } -> tensor<2x4x6x8xi1>
  %expanded_10 = tensor.expand_shape %22 [[0, 1], [2], [3], [4]] output_shape [1, 2, 4, 6, 8] : tensor<2x4x6x8xi1> into tensor<1x2x4x6x8xi1>
  %23 = tensor.empty() : tensor<1x2x4x6x8xf32>
  %24 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %collapsed = tensor.collapse_shape %4 [[0, 1, 2, 3, 4]] : tensor<2x4x6x1x8xf32> into tensor<384xf32>
  %expanded_11 = tensor.expand_shape %collapsed [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %25 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10, %expanded_11, %24 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
    %79 = arith.select %in, %in_23, %in_24 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %26 = tensor.empty() : tensor<1x2x4x6xf32>
  %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %28 = linalg.generic {indexing_maps = [#map4, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<1x2x4x6x8xf32>) outs(%27 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = arith.maximumf %out, %in : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6xf32>
  %29 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%26 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6xf32>
  %30 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %28 : tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>) outs(%26 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.maximumf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_12 = tensor.expand_shape %30 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %31 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<1x2x4x6x1xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25, %31 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.subf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %33 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = math.exp %in : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %34 = linalg.fill ins(%cst_0 : f32) outs(%26 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
  %35 = linalg.generic {indexing_maps = [#map4, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%33 : tensor<1x2x4x6x8xf32>) outs(%34 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = arith.addf %out, %in : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_13 = tensor.expand_shape %35 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %36 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13 : tensor<1x2x4x6x1xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %37 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33, %36 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.divf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %38 = tensor.empty() : tensor<1x2x4x6x1xf32>
  %39 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13, %expanded_13 : tensor<1x2x4x6x1xf32>, tensor<1x2x4x6x1xf32>) outs(%38 : tensor<1x2x4x6x1xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x1xf32>
  %40 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%38 : tensor<1x2x4x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x1xf32>
  %41 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40, %39 : tensor<1x2x4x6x1xf32>, tensor<1x2x4x6x1xf32>) outs(%38 : tensor<1x2x4x6x1xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.divf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x1xf32>
  %42 = tensor.empty() : tensor<2x4x4x1x6xf32>
  %43 = linalg.fill ins(%cst_0 : f32) outs(%42 : tensor<2x4x4x1x6xf32>) -> tensor<2x4x4x1x6xf32>
  %44 = linalg.generic {indexing_maps = [#map15, #map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %37 : tensor<2x8x4x4xf32>, tensor<1x2x4x6x8xf32>) outs(%43 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x4x1x6xf32>
  %45 = tensor.empty() : tensor<2x6x4x1x4xf32>
  %46 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<2x4x4x1x6xf32>) outs(%45 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_14 = tensor.collapse_shape %46 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  %expanded_15 = tensor.expand_shape %arg3 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 4] : tensor<2x6x4x4xf32> into tensor<2x6x4x1x4xf32>
  %47 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_15 : tensor<2x6x4x1x4xf32>) outs(%42 : tensor<2x4x4x1x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x4x1x6xf32>
  %48 = tensor.empty() : tensor<2x4x1x6x8xf32>
  %49 = linalg.fill ins(%cst_0 : f32) outs(%48 : tensor<2x4x1x6x8xf32>) -> tensor<2x4x1x6x8xf32>
  %50 = linalg.generic {indexing_maps = [#map19, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%47, %arg2 : tensor<2x4x4x1x6xf32>, tensor<2x8x4x4xf32>) outs(%49 : tensor<2x4x1x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x1x6x8xf32>
  %collapsed_16 = tensor.collapse_shape %50 [[0, 1, 2, 3, 4]] : tensor<2x4x1x6x8xf32> into tensor<384xf32>
  %expanded_17 = tensor.expand_shape %collapsed_16 [[0, 1, 2, 3, 4]] output_shape [1, 2, 4, 6, 8] : tensor<384xf32> into tensor<1x2x4x6x8xf32>
  %51 = tensor.empty() : tensor<2x4x4x8xf32>
  %52 = linalg.fill ins(%cst_0 : f32) outs(%51 : tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %53 = linalg.generic {indexing_maps = [#map20, #map21, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%47, %37 : tensor<2x4x4x1x6xf32>, tensor<1x2x4x6x8xf32>) outs(%52 : tensor<2x4x4x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x4x8xf32>
  %54 = tensor.empty() : tensor<2x8x4x4xf32>
  %55 = linalg.generic {indexing_maps = [#map23, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<2x4x4x8xf32>) outs(%54 : tensor<2x8x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x4x4xf32>
  %56 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%41 : tensor<1x2x4x6x1xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %57 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17, %56 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %58 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57, %33 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %59 = linalg.generic {indexing_maps = [#map4, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%58 : tensor<1x2x4x6x8xf32>) outs(%34 : tensor<1x2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = arith.addf %out, %in : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6xf32>
  %expanded_18 = tensor.expand_shape %59 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 6, 1] : tensor<1x2x4x6xf32> into tensor<1x2x4x6x1xf32>
  %60 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_18 : tensor<1x2x4x6x1xf32>) outs(%38 : tensor<1x2x4x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = arith.negf %in : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x1xf32>
  %61 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17, %36 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.divf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %62 = tensor.empty() : tensor<2x4x6xf32>
  %63 = linalg.fill ins(%cst_0 : f32) outs(%62 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %64 = linalg.generic {indexing_maps = [#map24, #map25], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%60 : tensor<1x2x4x6x1xf32>) outs(%63 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %79 = arith.addf %out, %in : f32
    linalg.yield %79 : f32
  } -> tensor<2x4x6xf32>
  %expanded_19 = tensor.expand_shape %64 [[0, 1], [2], [3]] output_shape [1, 2, 4, 6] : tensor<2x4x6xf32> into tensor<1x2x4x6xf32>
  %65 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_19 : tensor<1x2x4x6xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %66 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%61, %65 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.addf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %67 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%66, %33 : tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %68 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x2x4x6x8xf32>
  %69 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10, %67, %68 : tensor<1x2x4x6x8xi1>, tensor<1x2x4x6x8xf32>, tensor<1x2x4x6x8xf32>) outs(%23 : tensor<1x2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
    %79 = arith.select %in, %in_23, %in_24 : f32
    linalg.yield %79 : f32
  } -> tensor<1x2x4x6x8xf32>
  %collapsed_20 = tensor.collapse_shape %69 [[0, 1, 2, 3, 4]] : tensor<1x2x4x6x8xf32> into tensor<384xf32>
  %expanded_21 = tensor.expand_shape %collapsed_20 [[0, 1, 2, 3, 4]] output_shape [2, 4, 6, 1, 8] : tensor<384xf32> into tensor<2x4x6x1x8xf32>
  %70 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_21, %3 : tensor<2x4x6x1x8xf32>, tensor<2x4x6x1x8xf32>) outs(%0 : tensor<2x4x6x1x8xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    linalg.yield %79 : f32
  } -> tensor<2x4x6x1x8xf32>
  %71 = tensor.empty() : tensor<2x4x8x4xf32>
  %72 = linalg.fill ins(%cst_0 : f32) outs(%71 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %73 = linalg.generic {indexing_maps = [#map26, #map27, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%70, %expanded : tensor<2x4x6x1x8xf32>, tensor<2x6x4x1x4xf32>) outs(%72 : tensor<2x4x8x4xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x8x4xf32>
  %74 = linalg.generic {indexing_maps = [#map28, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%73 : tensor<2x4x8x4xf32>) outs(%54 : tensor<2x8x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x4x4xf32>
  %75 = tensor.empty() : tensor<2x4x6x1x4xf32>
  %76 = linalg.fill ins(%cst_0 : f32) outs(%75 : tensor<2x4x6x1x4xf32>) -> tensor<2x4x6x1x4xf32>
  %77 = linalg.generic {indexing_maps = [#map29, #map30, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%70, %arg1 : tensor<2x4x6x1x8xf32>, tensor<2x8x4x4xf32>) outs(%76 : tensor<2x4x6x1x4xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %79 = arith.mulf %in, %in_23 : f32
    %80 = arith.addf %out, %79 : f32
    linalg.yield %80 : f32
  } -> tensor<2x4x6x1x4xf32>
  %78 = linalg.generic {indexing_maps = [#map31, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%77 : tensor<2x4x6x1x4xf32>) outs(%45 : tensor<2x6x4x1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x1x4xf32>
  %collapsed_22 = tensor.collapse_shape %78 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x4xf32> into tensor<2x6x4x4xf32>
  return %collapsed_14, %collapsed_22, %74, %55 : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
}
