// As torch-mlir writes it: elementwise work on queries, keys and values.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_biased(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_biased(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>, %arg3: tensor<4xf32>) -> tensor<2x2x6x4xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %0 = tensor.empty() : tensor<2x2x6x4xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %arg3 : tensor<2x2x6x4xf32>, tensor<4xf32>) outs(%0 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %25 = arith.addf %in, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x4xf32>
  %2 = tensor.empty() : tensor<2x2x8x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %arg3 : tensor<2x2x8x4xf32>, tensor<4xf32>) outs(%2 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %25 = arith.subf %in, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x8x4xf32>
  %4 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%3 : tensor<2x2x8x4xf32>) outs(%4 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %5 = tensor.empty() : tensor<4x6x8xf32>
  %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %7 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%6 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %7 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %8 = tensor.empty() : tensor<2x2x6x8xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = arith.mulf %in, %cst_1 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x8xf32>
  %10 = tensor.empty() : tensor<2x2x6xi64>
  %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %12 = tensor.empty() : tensor<2x2x6xf32>
  %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %14:2 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%9 : tensor<2x2x6x8xf32>) outs(%13, %11 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_7: i64):
    %25 = linalg.index 3 : index
    %26 = arith.index_cast %25 : index to i64
    %27 = arith.maximumf %in, %out : f32
    %28 = arith.cmpf ogt, %in, %out : f32
    %29 = arith.select %28, %26, %out_7 : i64
    linalg.yield %27, %29 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_3 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %expanded_3 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %25 = arith.subf %in, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x2x6x8xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = math.exp %in : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x8xf32>
  %17 = tensor.empty() : tensor<2x2x6x1xf32>
  %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %19 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x6x8xf32>) outs(%18 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %25 = arith.addf %in, %out : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x1xf32>
  %20 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%8 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %25 = arith.divf %in, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x6x8xf32>
  %21 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2, %arg3 : tensor<2x2x8x4xf32>, tensor<4xf32>) outs(%2 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_7: f32, %out: f32):
    %25 = arith.mulf %in, %in_7 : f32
    linalg.yield %25 : f32
  } -> tensor<2x2x8x4xf32>
  %collapsed_4 = tensor.collapse_shape %20 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_5 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %22 = tensor.empty() : tensor<4x6x4xf32>
  %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %24 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%23 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_6 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_6 : tensor<2x2x6x4xf32>
}
