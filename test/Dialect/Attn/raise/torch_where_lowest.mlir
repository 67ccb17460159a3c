// As torch-mlir writes it: a causal mask with the lowest number: each query sees a key.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_where_lowest(
// CHECK: attn.sdpa {{.*}}layout<bhsd> mask<causal, top_left> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_where_lowest(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant dense<-3.40282347E+38> : tensor<f32>
  %cst_2 = arith.constant 2.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf32>) outs(%0 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %1 = tensor.empty() : tensor<4x6x8xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %3 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%2 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %4 = tensor.empty() : tensor<2x2x6x8xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %27 = arith.divf %in, %cst_2 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x8xf32>
  %6 = tensor.empty() : tensor<6xi64>
  %7 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%6 : tensor<6xi64>) {
  ^bb0(%out: i64):
    %27 = linalg.index 0 : index
    %28 = arith.index_cast %27 : index to i64
    linalg.yield %28 : i64
  } -> tensor<6xi64>
  %expanded_4 = tensor.expand_shape %7 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %8 = tensor.empty() : tensor<8xi64>
  %9 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%8 : tensor<8xi64>) {
  ^bb0(%out: i64):
    %27 = linalg.index 0 : index
    %28 = arith.index_cast %27 : index to i64
    linalg.yield %28 : i64
  } -> tensor<8xi64>
  %expanded_5 = tensor.expand_shape %9 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
  %10 = tensor.empty() : tensor<6x8xi1>
  %11 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%expanded_4, %expanded_5 : tensor<6x1xi64>, tensor<1x8xi64>) outs(%10 : tensor<6x8xi1>) {
  ^bb0(%in: i64, %in_10: i64, %out: i1):
    %27 = arith.cmpi sge, %in, %in_10 : i64
    linalg.yield %27 : i1
  } -> tensor<6x8xi1>
  %12 = linalg.generic {indexing_maps = [#map5, #map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %5, %cst_1 : tensor<6x8xi1>, tensor<2x2x6x8xf32>, tensor<f32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
    %27 = arith.select %in, %in_10, %in_11 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x8xf32>
  %13 = tensor.empty() : tensor<2x2x6xi64>
  %14 = linalg.fill ins(%c0_i64 : i64) outs(%13 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %15 = tensor.empty() : tensor<2x2x6xf32>
  %16 = linalg.fill ins(%cst_0 : f32) outs(%15 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %17:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x2x6x8xf32>) outs(%16, %14 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_10: i64):
    %27 = linalg.index 3 : index
    %28 = arith.index_cast %27 : index to i64
    %29 = arith.maximumf %in, %out : f32
    %30 = arith.cmpf ogt, %in, %out : f32
    %31 = arith.select %30, %28, %out_10 : i64
    linalg.yield %29, %31 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_6 = tensor.expand_shape %17#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %18 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %expanded_6 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %27 = arith.subf %in, %in_10 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x8xf32>
  %19 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x2x6x8xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %27 = math.exp %in : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x8xf32>
  %20 = tensor.empty() : tensor<2x2x6x1xf32>
  %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %22 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<2x2x6x8xf32>) outs(%21 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %27 = arith.addf %in, %out : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x1xf32>
  %23 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%4 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_10: f32, %out: f32):
    %27 = arith.divf %in, %in_10 : f32
    linalg.yield %27 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_7 = tensor.collapse_shape %23 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_8 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %24 = tensor.empty() : tensor<4x6x4xf32>
  %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %26 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%25 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_9 = tensor.expand_shape %26 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_9 : tensor<2x2x6x4xf32>
}
