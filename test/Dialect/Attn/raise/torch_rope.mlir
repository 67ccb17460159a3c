// As torch-mlir writes it: rotated queries and keys are operands as they are.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_rope(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_rope(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>, %arg3: tensor<8x4xf32>, %arg4: tensor<8x4xf32>) -> tensor<2x2x6x4xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 5.000000e-01 : f32
  %extracted_slice = tensor.extract_slice %arg3[0, 0] [6, 4] [1, 1] : tensor<8x4xf32> to tensor<6x4xf32>
  %0 = tensor.empty() : tensor<2x2x6x4xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %extracted_slice : tensor<2x2x6x4xf32>, tensor<6x4xf32>) outs(%0 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.mulf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x4xf32>
  %extracted_slice_2 = tensor.extract_slice %arg0[0, 0, 0, 2] [2, 2, 6, 2] [1, 1, 1, 1] : tensor<2x2x6x4xf32> to tensor<2x2x6x2xf32>
  %2 = tensor.empty() : tensor<2x2x6x2xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_2 : tensor<2x2x6x2xf32>) outs(%2 : tensor<2x2x6x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.negf %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x2xf32>
  %extracted_slice_3 = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 2, 6, 2] [1, 1, 1, 1] : tensor<2x2x6x4xf32> to tensor<2x2x6x2xf32>
  %concat = tensor.concat dim(3) %3, %extracted_slice_3 : (tensor<2x2x6x2xf32>, tensor<2x2x6x2xf32>) -> tensor<2x2x6x4xf32>
  %extracted_slice_4 = tensor.extract_slice %arg4[0, 0] [6, 4] [1, 1] : tensor<8x4xf32> to tensor<6x4xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %extracted_slice_4 : tensor<2x2x6x4xf32>, tensor<6x4xf32>) outs(%0 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.mulf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x4xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %4 : tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) outs(%0 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.addf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x4xf32>
  %6 = tensor.empty() : tensor<2x2x8x4xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %arg3 : tensor<2x2x8x4xf32>, tensor<8x4xf32>) outs(%6 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.mulf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x8x4xf32>
  %extracted_slice_5 = tensor.extract_slice %arg1[0, 0, 0, 2] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
  %8 = tensor.empty() : tensor<2x2x8x2xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_5 : tensor<2x2x8x2xf32>) outs(%8 : tensor<2x2x8x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.negf %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x8x2xf32>
  %extracted_slice_6 = tensor.extract_slice %arg1[0, 0, 0, 0] [2, 2, 8, 2] [1, 1, 1, 1] : tensor<2x2x8x4xf32> to tensor<2x2x8x2xf32>
  %concat_7 = tensor.concat dim(3) %9, %extracted_slice_6 : (tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>) -> tensor<2x2x8x4xf32>
  %10 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_7, %arg4 : tensor<2x2x8x4xf32>, tensor<8x4xf32>) outs(%6 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.mulf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x8x4xf32>
  %11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %10 : tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) outs(%6 : tensor<2x2x8x4xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.addf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x8x4xf32>
  %12 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%11 : tensor<2x2x8x4xf32>) outs(%12 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_8 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %13 = tensor.empty() : tensor<4x6x8xf32>
  %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %15 = linalg.batch_matmul ins(%collapsed, %collapsed_8 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%14 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded = tensor.expand_shape %15 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %16 = tensor.empty() : tensor<2x2x6x8xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x2x6x8xf32>) outs(%16 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.mulf %in, %cst_1 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x8xf32>
  %18 = tensor.empty() : tensor<2x2x6xi64>
  %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %20 = tensor.empty() : tensor<2x2x6xf32>
  %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %22:2 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x2x6x8xf32>) outs(%21, %19 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_13: i64):
    %32 = linalg.index 3 : index
    %33 = arith.index_cast %32 : index to i64
    %34 = arith.maximumf %in, %out : f32
    %35 = arith.cmpf ogt, %in, %out : f32
    %36 = arith.select %35, %33, %out_13 : i64
    linalg.yield %34, %36 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_9 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %23 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_9 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%16 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.subf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x8xf32>
  %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x2x6x8xf32>) outs(%16 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = math.exp %in : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x8xf32>
  %25 = tensor.empty() : tensor<2x2x6x1xf32>
  %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %27 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x2x6x8xf32>) outs(%26 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %32 = arith.addf %in, %out : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x1xf32>
  %28 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%16 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_13: f32, %out: f32):
    %32 = arith.divf %in, %in_13 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_10 = tensor.collapse_shape %28 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_11 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %29 = tensor.empty() : tensor<4x6x4xf32>
  %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %31 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%30 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_12 = tensor.expand_shape %31 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_12 : tensor<2x2x6x4xf32>
}
