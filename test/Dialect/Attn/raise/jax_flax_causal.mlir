// As JAX writes it, by StableHLO's way to linalg: queries that are scaled first, and a causal mask with the lowest number.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_flax_causal(
// CHECK: attn.sdpa {{.*}}layout<bshd> mask<causal, top_left> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<() -> ()>
#map1 = affine_map<(d0, d1, d2, d3) -> ()>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d0, 0)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> (0, d1)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2) -> ()>
#map13 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
func.func @jax_flax_causal(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 2.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 0.000000e+00 : f32
  %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_3 = arith.constant dense<-3.40282347E+38> : tensor<f32>
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = []} outs(%0 : tensor<f32>) {
  ^bb0(%out: f32):
    linalg.yield %cst : f32
  } -> tensor<f32>
  %2 = tensor.empty() : tensor<2x6x4x4xf32>
  %3 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<f32>) outs(%2 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  %4 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %3 : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) outs(%2 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.divf %in, %in_7 : f32
    linalg.yield %37 : f32
  } -> tensor<2x6x4x4xf32>
  %5 = tensor.empty() : tensor<2x4x6x8xf32>
  %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %7 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%6 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.mulf %in, %in_7 : f32
    %38 = arith.addf %out, %37 : f32
    linalg.yield %38 : f32
  } -> tensor<2x4x6x8xf32>
  %8 = tensor.empty() : tensor<6xi32>
  %9 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel"]} outs(%8 : tensor<6xi32>) {
  ^bb0(%out: i32):
    %37 = linalg.index 0 : index
    %38 = arith.index_cast %37 : index to i32
    linalg.yield %38 : i32
  } -> tensor<6xi32>
  %expanded = tensor.expand_shape %9 [[0, 1]] output_shape [6, 1] : tensor<6xi32> into tensor<6x1xi32>
  %10 = tensor.empty() : tensor<8xi32>
  %11 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel"]} outs(%10 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %37 = linalg.index 0 : index
    %38 = arith.index_cast %37 : index to i32
    linalg.yield %38 : i32
  } -> tensor<8xi32>
  %expanded_4 = tensor.expand_shape %11 [[0, 1]] output_shape [1, 8] : tensor<8xi32> into tensor<1x8xi32>
  %12 = tensor.empty() : tensor<6x8xi32>
  %13 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%expanded : tensor<6x1xi32>) outs(%12 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %14 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%expanded_4 : tensor<1x8xi32>) outs(%12 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %15 = tensor.empty() : tensor<6x8xi1>
  %16 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%13, %14 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%15 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_7: i32, %out: i1):
    %37 = arith.cmpi sge, %in, %in_7 : i32
    linalg.yield %37 : i1
  } -> tensor<6x8xi1>
  %17 = tensor.empty() : tensor<2x4x6x8xi1>
  %18 = linalg.generic {indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<6x8xi1>) outs(%17 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %19 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map2, #map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %7, %19 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_7: f32, %in_8: f32, %out: f32):
    %37 = arith.select %in, %in_7, %in_8 : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6x8xf32>
  %21 = tensor.empty() : tensor<2x4x6xf32>
  %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %23 = linalg.generic {indexing_maps = [#map2, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x6x8xf32>) outs(%22 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %37 = arith.maximumf %out, %in : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6xf32>
  %24 = linalg.generic {indexing_maps = [#map12, #map13], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%21 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %25 = linalg.generic {indexing_maps = [#map13, #map13, #map13], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %23 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%21 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.maximumf %in, %in_7 : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6xf32>
  %expanded_5 = tensor.expand_shape %25 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %26 = linalg.generic {indexing_maps = [#map14, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %27 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %26 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.subf %in, %in_7 : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x4x6x8xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %37 = math.exp %in : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6x8xf32>
  %29 = linalg.fill ins(%cst_1 : f32) outs(%21 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %30 = linalg.generic {indexing_maps = [#map2, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x4x6x8xf32>) outs(%29 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %37 = arith.addf %out, %in : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6xf32>
  %expanded_6 = tensor.expand_shape %30 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %31 = linalg.generic {indexing_maps = [#map14, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %31 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%5 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.divf %in, %in_7 : f32
    linalg.yield %37 : f32
  } -> tensor<2x4x6x8xf32>
  %33 = tensor.empty() : tensor<2x4x4x6xf32>
  %34 = linalg.fill ins(%cst_1 : f32) outs(%33 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %35 = linalg.generic {indexing_maps = [#map15, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %32 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%34 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %37 = arith.mulf %in, %in_7 : f32
    %38 = arith.addf %out, %37 : f32
    linalg.yield %38 : f32
  } -> tensor<2x4x4x6xf32>
  %36 = linalg.generic {indexing_maps = [#map17, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x4x6xf32>) outs(%2 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %36 : tensor<2x6x4x4xf32>
}
