// As JAX's vjp writes it, by StableHLO's way to linalg: the gradient of attention with jax.nn.softmax.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @gradient_jax_softmax(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}})
// CHECK: attn.sdpa_backward {{.*}}layout<bshd> scale(5.000{{.*}})
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
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
func.func @gradient_jax_softmax(%arg0: tensor<2x6x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>, %arg3: tensor<2x6x4x4xf32>) -> (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant 0.000000e+00 : f32
  %cst_1 = arith.constant dense<1.000000e+00> : tensor<f32>
  %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_3 = arith.constant dense<5.000000e-01> : tensor<f32>
  %0 = tensor.empty() : tensor<2x4x6x8xf32>
  %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x6x8xf32>
  %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %5 = tensor.empty() : tensor<2x4x6xf32>
  %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x4x6x8xf32>) outs(%6 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.maximumf %out, %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6xf32>
  %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%5 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6xf32>
  %9 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %7 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%5 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.maximumf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6xf32>
  %expanded = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %10 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %11 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %10 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.subf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %12 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = math.exp %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %13 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %14 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x4x6x8xf32>) outs(%13 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.addf %out, %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6xf32>
  %expanded_4 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %15 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %15 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.divf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %17 = tensor.empty() : tensor<2x4x6x1xf32>
  %18 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %expanded_4 : tensor<2x4x6x1xf32>, tensor<2x4x6x1xf32>) outs(%17 : tensor<2x4x6x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%17 : tensor<2x4x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x1xf32>
  %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %18 : tensor<2x4x6x1xf32>, tensor<2x4x6x1xf32>) outs(%17 : tensor<2x4x6x1xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.divf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x1xf32>
  %21 = tensor.empty() : tensor<2x4x4x6xf32>
  %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %23 = linalg.generic {indexing_maps = [#map9, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %16 : tensor<2x8x4x4xf32>, tensor<2x4x6x8xf32>) outs(%22 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x4x6xf32>
  %24 = tensor.empty() : tensor<2x6x4x4xf32>
  %25 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x4x6xf32>) outs(%24 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  %26 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x6x4x4xf32>) outs(%21 : tensor<2x4x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x4x6xf32>
  %27 = linalg.generic {indexing_maps = [#map13, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%26, %arg2 : tensor<2x4x4x6xf32>, tensor<2x8x4x4xf32>) outs(%1 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x6x8xf32>
  %28 = tensor.empty() : tensor<2x4x4x8xf32>
  %29 = linalg.fill ins(%cst_0 : f32) outs(%28 : tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32>
  %30 = linalg.generic {indexing_maps = [#map14, #map15, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%26, %16 : tensor<2x4x4x6xf32>, tensor<2x4x6x8xf32>) outs(%29 : tensor<2x4x4x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x4x8xf32>
  %31 = tensor.empty() : tensor<2x8x4x4xf32>
  %32 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x4x8xf32>) outs(%31 : tensor<2x8x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x4x4xf32>
  %33 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %34 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %33 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %35 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34, %12 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %36 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%35 : tensor<2x4x6x8xf32>) outs(%13 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.addf %out, %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6xf32>
  %expanded_5 = tensor.expand_shape %36 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
  %37 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x6x1xf32>) outs(%17 : tensor<2x4x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.negf %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x1xf32>
  %38 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %15 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.divf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %39 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x4x6x1xf32>) outs(%13 : tensor<2x4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.addf %out, %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6xf32>
  %40 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x4x6xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x6x8xf32>
  %41 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38, %40 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.addf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %42 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41, %12 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %43 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42, %3 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    linalg.yield %52 : f32
  } -> tensor<2x4x6x8xf32>
  %44 = tensor.empty() : tensor<2x4x8x4xf32>
  %45 = linalg.fill ins(%cst_0 : f32) outs(%44 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  %46 = linalg.generic {indexing_maps = [#map13, #map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%43, %arg0 : tensor<2x4x6x8xf32>, tensor<2x6x4x4xf32>) outs(%45 : tensor<2x4x8x4xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x8x4xf32>
  %47 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<2x4x8x4xf32>) outs(%31 : tensor<2x8x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x4x4xf32>
  %48 = tensor.empty() : tensor<2x4x6x4xf32>
  %49 = linalg.fill ins(%cst_0 : f32) outs(%48 : tensor<2x4x6x4xf32>) -> tensor<2x4x6x4xf32>
  %50 = linalg.generic {indexing_maps = [#map14, #map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%43, %arg1 : tensor<2x4x6x8xf32>, tensor<2x8x4x4xf32>) outs(%49 : tensor<2x4x6x4xf32>) {
  ^bb0(%in: f32, %in_6: f32, %out: f32):
    %52 = arith.mulf %in, %in_6 : f32
    %53 = arith.addf %out, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x4x6x4xf32>
  %51 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50 : tensor<2x4x6x4xf32>) outs(%24 : tensor<2x6x4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4x4xf32>
  return %25, %51, %47, %32 : tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
}
