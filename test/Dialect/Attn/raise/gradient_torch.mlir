// As torch-mlir writes it: the gradient by hand, with the factor of the scores behind the products.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @gradient_torch(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK: attn.sdpa_backward {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @gradient_torch(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>, %arg3: tensor<2x2x6x4xf32>) -> (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) {
  %cst = arith.constant 0.000000e+00 : f32
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %0 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf32>) outs(%0 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %1 = tensor.empty() : tensor<4x6x8xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %3 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %4 = tensor.empty() : tensor<2x2x6x8xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = arith.mulf %in, %cst_1 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %6 = tensor.empty() : tensor<2x2x6xi64>
  %7 = linalg.fill ins(%c0_i64 : i64) outs(%6 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %8 = tensor.empty() : tensor<2x2x6xf32>
  %9 = linalg.fill ins(%cst_0 : f32) outs(%8 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %10:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%5 : tensor<2x2x6x8xf32>) outs(%9, %7 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_20: i64):
    %35 = linalg.index 3 : index
    %36 = arith.index_cast %35 : index to i64
    %37 = arith.maximumf %in, %out : f32
    %38 = arith.cmpf ogt, %in, %out : f32
    %39 = arith.select %38, %36, %out_20 : i64
    linalg.yield %37, %39 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_3 = tensor.expand_shape %10#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %expanded_3 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_20: f32, %out: f32):
    %35 = arith.subf %in, %in_20 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = math.exp %in : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %13 = tensor.empty() : tensor<2x2x6x1xf32>
  %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x2x6x8xf32>) outs(%14 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = arith.addf %in, %out : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x1xf32>
  %16 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %15 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_20: f32, %out: f32):
    %35 = arith.divf %in, %in_20 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %transposed_4 = linalg.transpose ins(%arg2 : tensor<2x2x8x4xf32>) outs(%0 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed_5 = tensor.collapse_shape %arg3 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_6 = tensor.collapse_shape %transposed_4 [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %17 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded_7 = tensor.expand_shape %17 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7, %16 : tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_20: f32, %out: f32):
    %35 = arith.mulf %in, %in_20 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %19 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x2x6x8xf32>) outs(%14 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = arith.addf %in, %out : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x1xf32>
  %20 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7, %19 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_20: f32, %out: f32):
    %35 = arith.subf %in, %in_20 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %21 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %20 : tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_20: f32, %out: f32):
    %35 = arith.mulf %in, %in_20 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_8 = tensor.collapse_shape %16 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_9 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %22 = tensor.empty() : tensor<4x6x4xf32>
  %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %24 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%23 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_10 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  %collapsed_11 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_12 = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %25 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%23 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_13 = tensor.expand_shape %25 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  %26 = tensor.empty() : tensor<2x2x6x4xf32>
  %27 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13 : tensor<2x2x6x4xf32>) outs(%26 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = arith.mulf %in, %cst_1 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x6x4xf32>
  %28 = tensor.empty() : tensor<2x2x8x6xf32>
  %transposed_14 = linalg.transpose ins(%21 : tensor<2x2x6x8xf32>) outs(%28 : tensor<2x2x8x6xf32>) permutation = [0, 1, 3, 2] 
  %collapsed_15 = tensor.collapse_shape %transposed_14 [[0, 1], [2], [3]] : tensor<2x2x8x6xf32> into tensor<4x8x6xf32>
  %29 = tensor.empty() : tensor<4x8x4xf32>
  %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %31 = linalg.batch_matmul ins(%collapsed_15, %collapsed : tensor<4x8x6xf32>, tensor<4x6x4xf32>) outs(%30 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %expanded_16 = tensor.expand_shape %31 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf32> into tensor<2x2x8x4xf32>
  %32 = tensor.empty() : tensor<2x2x8x4xf32>
  %33 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_16 : tensor<2x2x8x4xf32>) outs(%32 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %35 = arith.mulf %in, %cst_1 : f32
    linalg.yield %35 : f32
  } -> tensor<2x2x8x4xf32>
  %transposed_17 = linalg.transpose ins(%16 : tensor<2x2x6x8xf32>) outs(%28 : tensor<2x2x8x6xf32>) permutation = [0, 1, 3, 2] 
  %collapsed_18 = tensor.collapse_shape %transposed_17 [[0, 1], [2], [3]] : tensor<2x2x8x6xf32> into tensor<4x8x6xf32>
  %34 = linalg.batch_matmul ins(%collapsed_18, %collapsed_5 : tensor<4x8x6xf32>, tensor<4x6x4xf32>) outs(%30 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %expanded_19 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf32> into tensor<2x2x8x4xf32>
  return %expanded_10, %27, %33, %expanded_19 : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>
}
