// As torch-mlir writes it: q, k and v are slices of one tensor, with heads in the last dimension.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_packed(
// CHECK: attn.sdpa {{.*}}layout<bshd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_packed(%arg0: tensor<2x8x24xf32>) -> tensor<2x8x8xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0] [2, 8, 8] [1, 1, 1] : tensor<2x8x24xf32> to tensor<2x8x8xf32>
  %extracted_slice_2 = tensor.extract_slice %arg0[0, 0, 8] [2, 8, 8] [1, 1, 1] : tensor<2x8x24xf32> to tensor<2x8x8xf32>
  %extracted_slice_3 = tensor.extract_slice %arg0[0, 0, 16] [2, 8, 8] [1, 1, 1] : tensor<2x8x24xf32> to tensor<2x8x8xf32>
  %expanded = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
  %0 = tensor.empty() : tensor<2x2x8x4xf32>
  %transposed = linalg.transpose ins(%expanded : tensor<2x8x2x4xf32>) outs(%0 : tensor<2x2x8x4xf32>) permutation = [0, 2, 1, 3] 
  %expanded_4 = tensor.expand_shape %extracted_slice_2 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
  %expanded_5 = tensor.expand_shape %extracted_slice_3 [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
  %transposed_6 = linalg.transpose ins(%expanded_5 : tensor<2x8x2x4xf32>) outs(%0 : tensor<2x2x8x4xf32>) permutation = [0, 2, 1, 3] 
  %1 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed_7 = linalg.transpose ins(%expanded_4 : tensor<2x8x2x4xf32>) outs(%1 : tensor<2x2x4x8xf32>) permutation = [0, 2, 3, 1] 
  %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %collapsed_8 = tensor.collapse_shape %transposed_7 [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %2 = tensor.empty() : tensor<4x8x8xf32>
  %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = linalg.batch_matmul ins(%collapsed, %collapsed_8 : tensor<4x8x4xf32>, tensor<4x4x8xf32>) outs(%3 : tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %expanded_9 = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 2, 8, 8] : tensor<4x8x8xf32> into tensor<2x2x8x8xf32>
  %5 = tensor.empty() : tensor<2x2x8x8xf32>
  %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x2x8x8xf32>) outs(%5 : tensor<2x2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %22 = arith.mulf %in, %cst_1 : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x8x8xf32>
  %7 = tensor.empty() : tensor<2x2x8xi64>
  %8 = linalg.fill ins(%c0_i64 : i64) outs(%7 : tensor<2x2x8xi64>) -> tensor<2x2x8xi64>
  %9 = tensor.empty() : tensor<2x2x8xf32>
  %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %11:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x2x8x8xf32>) outs(%10, %8 : tensor<2x2x8xf32>, tensor<2x2x8xi64>) {
  ^bb0(%in: f32, %out: f32, %out_16: i64):
    %22 = linalg.index 3 : index
    %23 = arith.index_cast %22 : index to i64
    %24 = arith.maximumf %in, %out : f32
    %25 = arith.cmpf ogt, %in, %out : f32
    %26 = arith.select %25, %23, %out_16 : i64
    linalg.yield %24, %26 : f32, i64
  } -> (tensor<2x2x8xf32>, tensor<2x2x8xi64>)
  %expanded_10 = tensor.expand_shape %11#0 [[0], [1], [2, 3]] output_shape [2, 2, 8, 1] : tensor<2x2x8xf32> into tensor<2x2x8x1xf32>
  %12 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %expanded_10 : tensor<2x2x8x8xf32>, tensor<2x2x8x1xf32>) outs(%5 : tensor<2x2x8x8xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %22 = arith.subf %in, %in_16 : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x8x8xf32>
  %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x2x8x8xf32>) outs(%5 : tensor<2x2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %22 = math.exp %in : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x8x8xf32>
  %14 = tensor.empty() : tensor<2x2x8x1xf32>
  %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<2x2x8x1xf32>) -> tensor<2x2x8x1xf32>
  %16 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x2x8x8xf32>) outs(%15 : tensor<2x2x8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %22 = arith.addf %in, %out : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x8x1xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %16 : tensor<2x2x8x8xf32>, tensor<2x2x8x1xf32>) outs(%5 : tensor<2x2x8x8xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %22 = arith.divf %in, %in_16 : f32
    linalg.yield %22 : f32
  } -> tensor<2x2x8x8xf32>
  %collapsed_11 = tensor.collapse_shape %17 [[0, 1], [2], [3]] : tensor<2x2x8x8xf32> into tensor<4x8x8xf32>
  %collapsed_12 = tensor.collapse_shape %transposed_6 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %18 = tensor.empty() : tensor<4x8x4xf32>
  %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %20 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<4x8x8xf32>, tensor<4x8x4xf32>) outs(%19 : tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %expanded_13 = tensor.expand_shape %20 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf32> into tensor<2x2x8x4xf32>
  %21 = tensor.empty() : tensor<2x8x2x4xf32>
  %transposed_14 = linalg.transpose ins(%expanded_13 : tensor<2x2x8x4xf32>) outs(%21 : tensor<2x8x2x4xf32>) permutation = [0, 2, 1, 3] 
  %collapsed_15 = tensor.collapse_shape %transposed_14 [[0], [1], [2, 3]] : tensor<2x8x2x4xf32> into tensor<2x8x8xf32>
  return %collapsed_15 : tensor<2x8x8xf32>
}
