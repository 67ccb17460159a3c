// As torch-mlir writes it: the gradient by hand in f16, with the factor of the scores behind the products.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @gradient_torch_f16(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK: attn.sdpa_backward {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @gradient_torch_f16(%arg0: tensor<2x2x6x4xf16>, %arg1: tensor<2x2x8x4xf16>, %arg2: tensor<2x2x8x4xf16>, %arg3: tensor<2x2x6x4xf16>) -> (tensor<2x2x6x4xf16>, tensor<2x2x6x4xf16>, tensor<2x2x8x4xf16>, tensor<2x2x8x4xf16>) {
  %cst = arith.constant 0.000000e+00 : f32
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 0.000000e+00 : f16
  %cst_2 = arith.constant 5.000000e-01 : f16
  %0 = tensor.empty() : tensor<2x2x4x8xf16>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf16>) outs(%0 : tensor<2x2x4x8xf16>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf16> into tensor<4x6x4xf16>
  %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf16> into tensor<4x4x8xf16>
  %1 = tensor.empty() : tensor<4x6x8xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %3 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<4x6x4xf16>, tensor<4x4x8xf16>) outs(%2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %4 = tensor.empty() : tensor<4x6x8xf16>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<4x6x8xf32>) outs(%4 : tensor<4x6x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x6x8xf16>
  %expanded = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf16> into tensor<2x2x6x8xf16>
  %6 = tensor.empty() : tensor<2x2x6x8xf16>
  %7 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf16>) outs(%6 : tensor<2x2x6x8xf16>) {
  ^bb0(%in: f16, %out: f16):
    %49 = arith.mulf %in, %cst_2 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x8xf16>
  %8 = tensor.empty() : tensor<2x2x6x8xf32>
  %9 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<2x2x6x8xf16>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f16, %out: f32):
    %49 = arith.extf %in : f16 to f32
    linalg.yield %49 : f32
  } -> tensor<2x2x6x8xf32>
  %10 = tensor.empty() : tensor<2x2x6xi64>
  %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %12 = tensor.empty() : tensor<2x2x6xf32>
  %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %14:2 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%9 : tensor<2x2x6x8xf32>) outs(%13, %11 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_21: i64):
    %49 = linalg.index 3 : index
    %50 = arith.index_cast %49 : index to i64
    %51 = arith.maximumf %in, %out : f32
    %52 = arith.cmpf ogt, %in, %out : f32
    %53 = arith.select %52, %50, %out_21 : i64
    linalg.yield %51, %53 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_4 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %15 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %expanded_4 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_21: f32, %out: f32):
    %49 = arith.subf %in, %in_21 : f32
    linalg.yield %49 : f32
  } -> tensor<2x2x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x2x6x8xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %49 = math.exp %in : f32
    linalg.yield %49 : f32
  } -> tensor<2x2x6x8xf32>
  %17 = tensor.empty() : tensor<2x2x6x1xf32>
  %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map1, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x6x8xf32>) outs(%18 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %49 = arith.addf %in, %out : f32
    linalg.yield %49 : f32
  } -> tensor<2x2x6x1xf32>
  %20 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_21: f32, %out: f32):
    %49 = arith.divf %in, %in_21 : f32
    linalg.yield %49 : f32
  } -> tensor<2x2x6x8xf32>
  %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x2x6x8xf32>) outs(%6 : tensor<2x2x6x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x8xf16>
  %transposed_5 = linalg.transpose ins(%arg2 : tensor<2x2x8x4xf16>) outs(%0 : tensor<2x2x4x8xf16>) permutation = [0, 1, 3, 2] 
  %collapsed_6 = tensor.collapse_shape %arg3 [[0, 1], [2], [3]] : tensor<2x2x6x4xf16> into tensor<4x6x4xf16>
  %collapsed_7 = tensor.collapse_shape %transposed_5 [[0, 1], [2], [3]] : tensor<2x2x4x8xf16> into tensor<4x4x8xf16>
  %22 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<4x6x4xf16>, tensor<4x4x8xf16>) outs(%2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<4x6x8xf32>) outs(%4 : tensor<4x6x8xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x6x8xf16>
  %expanded_8 = tensor.expand_shape %23 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf16> into tensor<2x2x6x8xf16>
  %24 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %21 : tensor<2x2x6x8xf16>, tensor<2x2x6x8xf16>) outs(%6 : tensor<2x2x6x8xf16>) {
  ^bb0(%in: f16, %in_21: f16, %out: f16):
    %49 = arith.mulf %in, %in_21 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x8xf16>
  %25 = tensor.empty() : tensor<2x2x6x1xf16>
  %26 = linalg.fill ins(%cst_1 : f16) outs(%25 : tensor<2x2x6x1xf16>) -> tensor<2x2x6x1xf16>
  %27 = linalg.generic {indexing_maps = [#map1, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x2x6x8xf16>) outs(%26 : tensor<2x2x6x1xf16>) {
  ^bb0(%in: f16, %out: f16):
    %49 = arith.addf %in, %out : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x1xf16>
  %28 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %27 : tensor<2x2x6x8xf16>, tensor<2x2x6x1xf16>) outs(%6 : tensor<2x2x6x8xf16>) {
  ^bb0(%in: f16, %in_21: f16, %out: f16):
    %49 = arith.subf %in, %in_21 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x8xf16>
  %29 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %28 : tensor<2x2x6x8xf16>, tensor<2x2x6x8xf16>) outs(%6 : tensor<2x2x6x8xf16>) {
  ^bb0(%in: f16, %in_21: f16, %out: f16):
    %49 = arith.mulf %in, %in_21 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x8xf16>
  %collapsed_9 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x2x6x8xf16> into tensor<4x6x8xf16>
  %collapsed_10 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf16> into tensor<4x8x4xf16>
  %30 = tensor.empty() : tensor<4x6x4xf32>
  %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %32 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<4x6x8xf16>, tensor<4x8x4xf16>) outs(%31 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %33 = tensor.empty() : tensor<4x6x4xf16>
  %34 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32 : tensor<4x6x4xf32>) outs(%33 : tensor<4x6x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x6x4xf16>
  %expanded_11 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf16> into tensor<2x2x6x4xf16>
  %collapsed_12 = tensor.collapse_shape %29 [[0, 1], [2], [3]] : tensor<2x2x6x8xf16> into tensor<4x6x8xf16>
  %collapsed_13 = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x2x8x4xf16> into tensor<4x8x4xf16>
  %35 = linalg.batch_matmul ins(%collapsed_12, %collapsed_13 : tensor<4x6x8xf16>, tensor<4x8x4xf16>) outs(%31 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %36 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<4x6x4xf32>) outs(%33 : tensor<4x6x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x6x4xf16>
  %expanded_14 = tensor.expand_shape %36 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf16> into tensor<2x2x6x4xf16>
  %37 = tensor.empty() : tensor<2x2x6x4xf16>
  %38 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_14 : tensor<2x2x6x4xf16>) outs(%37 : tensor<2x2x6x4xf16>) {
  ^bb0(%in: f16, %out: f16):
    %49 = arith.mulf %in, %cst_2 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x6x4xf16>
  %39 = tensor.empty() : tensor<2x2x8x6xf16>
  %transposed_15 = linalg.transpose ins(%29 : tensor<2x2x6x8xf16>) outs(%39 : tensor<2x2x8x6xf16>) permutation = [0, 1, 3, 2] 
  %collapsed_16 = tensor.collapse_shape %transposed_15 [[0, 1], [2], [3]] : tensor<2x2x8x6xf16> into tensor<4x8x6xf16>
  %40 = tensor.empty() : tensor<4x8x4xf32>
  %41 = linalg.fill ins(%cst : f32) outs(%40 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %42 = linalg.batch_matmul ins(%collapsed_16, %collapsed : tensor<4x8x6xf16>, tensor<4x6x4xf16>) outs(%41 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %43 = tensor.empty() : tensor<4x8x4xf16>
  %44 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%42 : tensor<4x8x4xf32>) outs(%43 : tensor<4x8x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x8x4xf16>
  %expanded_17 = tensor.expand_shape %44 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf16> into tensor<2x2x8x4xf16>
  %45 = tensor.empty() : tensor<2x2x8x4xf16>
  %46 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17 : tensor<2x2x8x4xf16>) outs(%45 : tensor<2x2x8x4xf16>) {
  ^bb0(%in: f16, %out: f16):
    %49 = arith.mulf %in, %cst_2 : f16
    linalg.yield %49 : f16
  } -> tensor<2x2x8x4xf16>
  %transposed_18 = linalg.transpose ins(%21 : tensor<2x2x6x8xf16>) outs(%39 : tensor<2x2x8x6xf16>) permutation = [0, 1, 3, 2] 
  %collapsed_19 = tensor.collapse_shape %transposed_18 [[0, 1], [2], [3]] : tensor<2x2x8x6xf16> into tensor<4x8x6xf16>
  %47 = linalg.batch_matmul ins(%collapsed_19, %collapsed_6 : tensor<4x8x6xf16>, tensor<4x6x4xf16>) outs(%41 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %48 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%47 : tensor<4x8x4xf32>) outs(%43 : tensor<4x8x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %49 = arith.truncf %in : f32 to f16
    linalg.yield %49 : f16
  } -> tensor<4x8x4xf16>
  %expanded_20 = tensor.expand_shape %48 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf16> into tensor<2x2x8x4xf16>
  return %expanded_11, %38, %46, %expanded_20 : tensor<2x2x6x4xf16>, tensor<2x2x6x4xf16>, tensor<2x2x8x4xf16>, tensor<2x2x8x4xf16>
}
