// As torch-mlir writes it: queries and keys that are normalized first.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_normalized(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(3.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
func.func @torch_normalized(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %cst = arith.constant 0.000000e+00 : f32
  %c0_i64 = arith.constant 0 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 9.9999999999999998E-13 : f64
  %cst_2 = arith.constant 5.000000e-01 : f32
  %cst_3 = arith.constant 3.000000e+00 : f32
  %cst_4 = arith.constant 2.000000e+00 : f32
  %0 = tensor.empty() : tensor<2x2x6x1xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0 : tensor<2x2x6x4xf32>) outs(%1 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = math.absf %in : f32
    %35 = math.powf %34, %cst_4 : f32
    %36 = arith.addf %35, %out : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x1xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x2x6x1xf32>) outs(%0 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = math.powf %in, %cst_2 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x1xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x2x6x1xf32>) outs(%0 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = arith.truncf %cst_1 : f64 to f32
    %35 = arith.cmpf ult, %in, %34 : f32
    %36 = arith.select %35, %34, %in : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x1xf32>
  %5 = tensor.empty() : tensor<2x2x6x4xf32>
  %collapsed = tensor.collapse_shape %4 [[0], [1], [2, 3]] : tensor<2x2x6x1xf32> into tensor<2x2x6xf32>
  %6 = linalg.generic {indexing_maps = [#map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed : tensor<2x2x6xf32>) outs(%5 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x6x4xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %6 : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) outs(%5 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %in_12: f32, %out: f32):
    %34 = arith.divf %in, %in_12 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x4xf32>
  %8 = tensor.empty() : tensor<2x2x8x1xf32>
  %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<2x2x8x1xf32>) -> tensor<2x2x8x1xf32>
  %10 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1 : tensor<2x2x8x4xf32>) outs(%9 : tensor<2x2x8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = math.absf %in : f32
    %35 = math.powf %34, %cst_4 : f32
    %36 = arith.addf %35, %out : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x8x1xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x2x8x1xf32>) outs(%8 : tensor<2x2x8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = math.powf %in, %cst_2 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x8x1xf32>
  %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x2x8x1xf32>) outs(%8 : tensor<2x2x8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = arith.truncf %cst_1 : f64 to f32
    %35 = arith.cmpf ult, %in, %34 : f32
    %36 = arith.select %35, %34, %in : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x8x1xf32>
  %13 = tensor.empty() : tensor<2x2x8x4xf32>
  %collapsed_5 = tensor.collapse_shape %12 [[0], [1], [2, 3]] : tensor<2x2x8x1xf32> into tensor<2x2x8xf32>
  %14 = linalg.generic {indexing_maps = [#map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed_5 : tensor<2x2x8xf32>) outs(%13 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x8x4xf32>
  %15 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %14 : tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) outs(%13 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_12: f32, %out: f32):
    %34 = arith.divf %in, %in_12 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x8x4xf32>
  %16 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%15 : tensor<2x2x8x4xf32>) outs(%16 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed_6 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_7 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %17 = tensor.empty() : tensor<4x6x8xf32>
  %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %19 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%18 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %19 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %20 = tensor.empty() : tensor<2x2x6x8xf32>
  %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%20 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = arith.mulf %in, %cst_3 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x8xf32>
  %22 = tensor.empty() : tensor<2x2x6xi64>
  %23 = linalg.fill ins(%c0_i64 : i64) outs(%22 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %24 = tensor.empty() : tensor<2x2x6xf32>
  %25 = linalg.fill ins(%cst_0 : f32) outs(%24 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %26:2 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x2x6x8xf32>) outs(%25, %23 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_12: i64):
    %34 = linalg.index 3 : index
    %35 = arith.index_cast %34 : index to i64
    %36 = arith.maximumf %in, %out : f32
    %37 = arith.cmpf ogt, %in, %out : f32
    %38 = arith.select %37, %35, %out_12 : i64
    linalg.yield %36, %38 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_8 = tensor.expand_shape %26#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %27 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %expanded_8 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%20 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_12: f32, %out: f32):
    %34 = arith.subf %in, %in_12 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x2x6x8xf32>) outs(%20 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = math.exp %in : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x8xf32>
  %29 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x2x6x8xf32>) outs(%1 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %34 = arith.addf %in, %out : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x1xf32>
  %30 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %29 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%20 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_12: f32, %out: f32):
    %34 = arith.divf %in, %in_12 : f32
    linalg.yield %34 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_9 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_10 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %31 = tensor.empty() : tensor<4x6x4xf32>
  %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %33 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%32 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_11 = tensor.expand_shape %33 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_11 : tensor<2x2x6x4xf32>
}
