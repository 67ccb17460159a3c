// As torch-mlir writes it: a bias from a table by distance.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_bias_table(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(1.000{{.*}}) captures(
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_bias_table(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>, %arg3: tensor<7x2xf32>) -> tensor<2x2x6x4xf32> {
  %c3_i64 = arith.constant 3 : i64
  %c-3_i64 = arith.constant -3 : i64
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %c7_i64 = arith.constant 7 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<8xi64>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%0 : tensor<8xi64>) {
  ^bb0(%out: i64):
    %31 = linalg.index 0 : index
    %32 = arith.index_cast %31 : index to i64
    linalg.yield %32 : i64
  } -> tensor<8xi64>
  %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
  %2 = tensor.empty() : tensor<6xi64>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%2 : tensor<6xi64>) {
  ^bb0(%out: i64):
    %31 = linalg.index 0 : index
    %32 = arith.index_cast %31 : index to i64
    linalg.yield %32 : i64
  } -> tensor<6xi64>
  %expanded_1 = tensor.expand_shape %3 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %4 = tensor.empty() : tensor<6x8xi64>
  %5 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_1 : tensor<1x8xi64>, tensor<6x1xi64>) outs(%4 : tensor<6x8xi64>) {
  ^bb0(%in: i64, %in_9: i64, %out: i64):
    %31 = arith.subi %in, %in_9 : i64
    linalg.yield %31 : i64
  } -> tensor<6x8xi64>
  %6 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<6x8xi64>) outs(%4 : tensor<6x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %31 = arith.maxsi %in, %c-3_i64 : i64
    %32 = arith.minsi %31, %c3_i64 : i64
    linalg.yield %32 : i64
  } -> tensor<6x8xi64>
  %7 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<6x8xi64>) outs(%4 : tensor<6x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %31 = arith.addi %in, %c3_i64 : i64
    linalg.yield %31 : i64
  } -> tensor<6x8xi64>
  %8 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf32>) outs(%8 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %9 = tensor.empty() : tensor<4x6x8xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %11 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%10 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded_3 = tensor.expand_shape %11 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %12 = tensor.empty() : tensor<6x8x2xf32>
  %13 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7 : tensor<6x8xi64>) outs(%12 : tensor<6x8x2xf32>) {
  ^bb0(%in: i64, %out: f32):
    %31 = arith.cmpi slt, %in, %c0_i64 : i64
    %32 = arith.addi %in, %c7_i64 : i64
    %33 = arith.select %31, %32, %in : i64
    %34 = arith.index_cast %33 : i64 to index
    %35 = linalg.index 2 : index
    %extracted = tensor.extract %arg3[%34, %35] : tensor<7x2xf32>
    linalg.yield %extracted : f32
  } -> tensor<6x8x2xf32>
  %14 = tensor.empty() : tensor<2x6x8xf32>
  %transposed_4 = linalg.transpose ins(%13 : tensor<6x8x2xf32>) outs(%14 : tensor<2x6x8xf32>) permutation = [2, 0, 1] 
  %15 = tensor.empty() : tensor<2x2x6x8xf32>
  %16 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3, %transposed_4 : tensor<2x2x6x8xf32>, tensor<2x6x8xf32>) outs(%15 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %31 = arith.addf %in, %in_9 : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x6x8xf32>
  %17 = tensor.empty() : tensor<2x2x6xi64>
  %18 = linalg.fill ins(%c0_i64 : i64) outs(%17 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %19 = tensor.empty() : tensor<2x2x6xf32>
  %20 = linalg.fill ins(%cst_0 : f32) outs(%19 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %21:2 = linalg.generic {indexing_maps = [#map6, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x6x8xf32>) outs(%20, %18 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_9: i64):
    %31 = linalg.index 3 : index
    %32 = arith.index_cast %31 : index to i64
    %33 = arith.maximumf %in, %out : f32
    %34 = arith.cmpf ogt, %in, %out : f32
    %35 = arith.select %34, %32, %out_9 : i64
    linalg.yield %33, %35 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_5 = tensor.expand_shape %21#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %22 = linalg.generic {indexing_maps = [#map6, #map9, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %expanded_5 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%15 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %31 = arith.subf %in, %in_9 : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x6x8xf32>
  %23 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x2x6x8xf32>) outs(%15 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %31 = math.exp %in : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x6x8xf32>
  %24 = tensor.empty() : tensor<2x2x6x1xf32>
  %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %26 = linalg.generic {indexing_maps = [#map6, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x2x6x8xf32>) outs(%25 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %31 = arith.addf %in, %out : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x6x1xf32>
  %27 = linalg.generic {indexing_maps = [#map6, #map9, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %26 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%15 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %31 = arith.divf %in, %in_9 : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_6 = tensor.collapse_shape %27 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %28 = tensor.empty() : tensor<4x6x4xf32>
  %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %30 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%29 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_8 = tensor.expand_shape %30 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_8 : tensor<2x2x6x4xf32>
}
