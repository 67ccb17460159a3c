// As torch-mlir writes it: queries with a factor.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_scaled_queries(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(3.700{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_scaled_queries(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 3.700000e-01 : f64
  %0 = tensor.empty() : tensor<2x2x6x4xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x6x4xf32>) outs(%0 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %21 = arith.truncf %cst_1 : f64 to f32
    %22 = arith.mulf %in, %21 : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x6x4xf32>
  %2 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf32>) outs(%2 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %3 = tensor.empty() : tensor<4x6x8xf32>
  %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %5 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%4 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %6 = tensor.empty() : tensor<2x2x6xi64>
  %7 = linalg.fill ins(%c0_i64 : i64) outs(%6 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %8 = tensor.empty() : tensor<2x2x6xf32>
  %9 = linalg.fill ins(%cst_0 : f32) outs(%8 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %10:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%9, %7 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_7: i64):
    %21 = linalg.index 3 : index
    %22 = arith.index_cast %21 : index to i64
    %23 = arith.maximumf %in, %out : f32
    %24 = arith.cmpf ogt, %in, %out : f32
    %25 = arith.select %24, %22, %out_7 : i64
    linalg.yield %23, %25 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_3 = tensor.expand_shape %10#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %11 = tensor.empty() : tensor<2x2x6x8xf32>
  %12 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %expanded_3 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%11 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %21 = arith.subf %in, %in_7 : f32
    linalg.yield %21 : f32
  } -> tensor<2x2x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x2x6x8xf32>) outs(%11 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %21 = math.exp %in : f32
    linalg.yield %21 : f32
  } -> tensor<2x2x6x8xf32>
  %14 = tensor.empty() : tensor<2x2x6x1xf32>
  %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %16 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x2x6x8xf32>) outs(%15 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %21 = arith.addf %in, %out : f32
    linalg.yield %21 : f32
  } -> tensor<2x2x6x1xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %16 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%11 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %21 = arith.divf %in, %in_7 : f32
    linalg.yield %21 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_4 = tensor.collapse_shape %17 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_5 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %18 = tensor.empty() : tensor<4x6x4xf32>
  %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %20 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%19 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_6 = tensor.expand_shape %20 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_6 : tensor<2x2x6x4xf32>
}
