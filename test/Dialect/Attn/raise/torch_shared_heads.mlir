// As torch-mlir writes it: one head of keys for all queries.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_shared_heads(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_shared_heads(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x1x8x4xf32>, %arg2: tensor<2x1x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %0 = tensor.empty() : tensor<2x1x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x1x8x4xf32>) outs(%0 : tensor<2x1x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %1 = tensor.empty() : tensor<2x2x4x8xf32>
  %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x1x4x8xf32> into tensor<2x4x8xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_2 : tensor<2x4x8xf32>) outs(%1 : tensor<2x2x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x8xf32>
  %collapsed_3 = tensor.collapse_shape %2 [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %3 = tensor.empty() : tensor<4x6x8xf32>
  %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %5 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%4 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %6 = tensor.empty() : tensor<2x2x6x8xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%6 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = arith.mulf %in, %cst_1 : f32
    linalg.yield %24 : f32
  } -> tensor<2x2x6x8xf32>
  %8 = tensor.empty() : tensor<2x2x6xi64>
  %9 = linalg.fill ins(%c0_i64 : i64) outs(%8 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %10 = tensor.empty() : tensor<2x2x6xf32>
  %11 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %12:2 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%7 : tensor<2x2x6x8xf32>) outs(%11, %9 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_9: i64):
    %24 = linalg.index 3 : index
    %25 = arith.index_cast %24 : index to i64
    %26 = arith.maximumf %in, %out : f32
    %27 = arith.cmpf ogt, %in, %out : f32
    %28 = arith.select %27, %25, %out_9 : i64
    linalg.yield %26, %28 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_4 = tensor.expand_shape %12#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %13 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %expanded_4 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%6 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %24 = arith.subf %in, %in_9 : f32
    linalg.yield %24 : f32
  } -> tensor<2x2x6x8xf32>
  %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x2x6x8xf32>) outs(%6 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = math.exp %in : f32
    linalg.yield %24 : f32
  } -> tensor<2x2x6x8xf32>
  %15 = tensor.empty() : tensor<2x2x6x1xf32>
  %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %17 = linalg.generic {indexing_maps = [#map1, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x2x6x8xf32>) outs(%16 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %24 = arith.addf %in, %out : f32
    linalg.yield %24 : f32
  } -> tensor<2x2x6x1xf32>
  %18 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %17 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%6 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %24 = arith.divf %in, %in_9 : f32
    linalg.yield %24 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_5 = tensor.collapse_shape %18 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %19 = tensor.empty() : tensor<2x2x8x4xf32>
  %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x1x8x4xf32> into tensor<2x8x4xf32>
  %20 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_6 : tensor<2x8x4xf32>) outs(%19 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x8x4xf32>
  %collapsed_7 = tensor.collapse_shape %20 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %21 = tensor.empty() : tensor<4x6x4xf32>
  %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %23 = linalg.batch_matmul ins(%collapsed_5, %collapsed_7 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%22 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_8 = tensor.expand_shape %23 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_8 : tensor<2x2x6x4xf32>
}
