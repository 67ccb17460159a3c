// As JAX writes it, by StableHLO's way to linalg: ALiBi with slopes by a power of 2, causal.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @jax_alibi_causal(
// CHECK: attn.sdpa {{.*}}layout<bshd> mask<causal, top_left> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0) -> ()>
#map7 = affine_map<(d0, d1) -> (0, d1)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> (d0, 0)>
#map10 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map11 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map16 = affine_map<(d0, d1, d2) -> ()>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
func.func @jax_alibi_causal(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x6x4x4xf32> {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant dense<2.000000e+00> : tensor<f32>
  %cst_3 = arith.constant dense<1.000000e+00> : tensor<f32>
  %cst_4 = arith.constant dense<5.000000e-01> : tensor<f32>
  %0 = tensor.empty() : tensor<2x4x6x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.mulf %in, %in_11 : f32
    %55 = arith.addf %out, %54 : f32
    linalg.yield %55 : f32
  } -> tensor<2x4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.mulf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %5 = tensor.empty() : tensor<6xi32>
  %6 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%5 : tensor<6xi32>) {
  ^bb0(%out: i32):
    %54 = linalg.index 0 : index
    %55 = arith.index_cast %54 : index to i32
    linalg.yield %55 : i32
  } -> tensor<6xi32>
  %expanded = tensor.expand_shape %6 [[0, 1]] output_shape [6, 1] : tensor<6xi32> into tensor<6x1xi32>
  %7 = tensor.empty() : tensor<8xi32>
  %8 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%7 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %54 = linalg.index 0 : index
    %55 = arith.index_cast %54 : index to i32
    linalg.yield %55 : i32
  } -> tensor<8xi32>
  %9 = tensor.empty() : tensor<4xi32>
  %10 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%9 : tensor<4xi32>) {
  ^bb0(%out: i32):
    %54 = linalg.index 0 : index
    %55 = arith.index_cast %54 : index to i32
    linalg.yield %55 : i32
  } -> tensor<4xi32>
  %11 = tensor.empty() : tensor<4xf32>
  %12 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%10 : tensor<4xi32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: i32, %out: f32):
    %54 = arith.sitofp %in : i32 to f32
    linalg.yield %54 : f32
  } -> tensor<4xf32>
  %13 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel"]} ins(%cst_3 : tensor<f32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  %14 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%12, %13 : tensor<4xf32>, tensor<4xf32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.addf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<4xf32>
  %15 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%14 : tensor<4xf32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = arith.negf %in : f32
    linalg.yield %54 : f32
  } -> tensor<4xf32>
  %16 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  %17 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%15, %16 : tensor<4xf32>, tensor<4xf32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.mulf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<4xf32>
  %18 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%16, %17 : tensor<4xf32>, tensor<4xf32>) outs(%11 : tensor<4xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = math.powf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<4xf32>
  %expanded_5 = tensor.expand_shape %18 [[0, 1, 2]] output_shape [4, 1, 1] : tensor<4xf32> into tensor<4x1x1xf32>
  %expanded_6 = tensor.expand_shape %8 [[0, 1]] output_shape [1, 8] : tensor<8xi32> into tensor<1x8xi32>
  %19 = tensor.empty() : tensor<6x8xi32>
  %20 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%expanded_6 : tensor<1x8xi32>) outs(%19 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %21 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%expanded : tensor<6x1xi32>) outs(%19 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<6x8xi32>
  %22 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%20, %21 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%19 : tensor<6x8xi32>) {
  ^bb0(%in: i32, %in_11: i32, %out: i32):
    %54 = arith.subi %in, %in_11 : i32
    linalg.yield %54 : i32
  } -> tensor<6x8xi32>
  %23 = tensor.empty() : tensor<6x8xf32>
  %24 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<6x8xi32>) outs(%23 : tensor<6x8xf32>) {
  ^bb0(%in: i32, %out: f32):
    %54 = arith.sitofp %in : i32 to f32
    linalg.yield %54 : f32
  } -> tensor<6x8xf32>
  %expanded_7 = tensor.expand_shape %24 [[0, 1], [2]] output_shape [1, 6, 8] : tensor<6x8xf32> into tensor<1x6x8xf32>
  %25 = tensor.empty() : tensor<4x6x8xf32>
  %26 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<4x1x1xf32>) outs(%25 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x6x8xf32>
  %27 = linalg.generic {indexing_maps = [#map12, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x6x8xf32>) outs(%25 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %27 : tensor<4x6x8xf32>, tensor<4x6x8xf32>) outs(%25 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.mulf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<4x6x8xf32>
  %expanded_8 = tensor.expand_shape %28 [[0, 1], [2], [3]] output_shape [1, 4, 6, 8] : tensor<4x6x8xf32> into tensor<1x4x6x8xf32>
  %29 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<1x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %30 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %29 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.addf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %31 = tensor.empty() : tensor<6x8xi1>
  %32 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%20, %21 : tensor<6x8xi32>, tensor<6x8xi32>) outs(%31 : tensor<6x8xi1>) {
  ^bb0(%in: i32, %in_11: i32, %out: i1):
    %54 = arith.cmpi sle, %in, %in_11 : i32
    linalg.yield %54 : i1
  } -> tensor<6x8xi1>
  %33 = tensor.empty() : tensor<2x4x6x8xi1>
  %34 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<6x8xi1>) outs(%33 : tensor<2x4x6x8xi1>) {
  ^bb0(%in: i1, %out: i1):
    linalg.yield %in : i1
  } -> tensor<2x4x6x8xi1>
  %35 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %36 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34, %30, %35 : tensor<2x4x6x8xi1>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: i1, %in_11: f32, %in_12: f32, %out: f32):
    %54 = arith.select %in, %in_11, %in_12 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %37 = tensor.empty() : tensor<2x4x6xf32>
  %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %39 = linalg.generic {indexing_maps = [#map4, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x4x6x8xf32>) outs(%38 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = arith.maximumf %out, %in : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6xf32>
  %40 = linalg.generic {indexing_maps = [#map16, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%37 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %41 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%40, %39 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%37 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.maximumf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6xf32>
  %expanded_9 = tensor.expand_shape %41 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %42 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %43 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %42 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.subf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %44 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = math.exp %in : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %45 = linalg.fill ins(%cst_0 : f32) outs(%37 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %46 = linalg.generic {indexing_maps = [#map4, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%44 : tensor<2x4x6x8xf32>) outs(%45 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = arith.addf %out, %in : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6xf32>
  %expanded_10 = tensor.expand_shape %46 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %47 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %48 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44, %47 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.divf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x6x8xf32>
  %49 = tensor.empty() : tensor<2x4x4x6xf32>
  %50 = linalg.fill ins(%cst_0 : f32) outs(%49 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %51 = linalg.generic {indexing_maps = [#map18, #map19, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %48 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%50 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.mulf %in, %in_11 : f32
    %55 = arith.addf %out, %54 : f32
    linalg.yield %55 : f32
  } -> tensor<2x4x4x6xf32>
  %52 = tensor.empty() : tensor<2x6x4x4xf32>
  %53 = linalg.generic {indexing_maps = [#map20, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%51 : tensor<2x4x4x6xf32>) outs(%52 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %53 : tensor<2x6x4x4xf32>
}
