// As torch-mlir writes it: a mask of blocks, with a parity.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_blocks(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK: return
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> ()>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1) -> (0, d1)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> ()>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_blocks(%arg0: tensor<2x2x6x4xf32>, %arg1: tensor<2x2x8x4xf32>, %arg2: tensor<2x2x8x4xf32>) -> tensor<2x2x6x4xf32> {
  %c2_i64 = arith.constant 2 : i64
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_2 = arith.constant 5.000000e-01 : f32
  %cst_3 = arith.constant dense<2> : tensor<i64>
  %0 = tensor.empty() : tensor<6xi64>
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%0 : tensor<6xi64>) {
  ^bb0(%out: i64):
    %36 = linalg.index 0 : index
    %37 = arith.index_cast %36 : index to i64
    linalg.yield %37 : i64
  } -> tensor<6xi64>
  %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %2 = tensor.empty() : tensor<6x1xi64>
  %3 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %cst_3 : tensor<6x1xi64>, tensor<i64>) outs(%2 : tensor<6x1xi64>) {
  ^bb0(%in: i64, %in_11: i64, %out: i64):
    %36 = arith.sitofp %in : i64 to f64
    %37 = arith.sitofp %in_11 : i64 to f64
    %38 = arith.divf %36, %37 : f64
    %39 = math.floor %38 : f64
    %40 = arith.fptosi %39 : f64 to i64
    linalg.yield %40 : i64
  } -> tensor<6x1xi64>
  %4 = tensor.empty() : tensor<8xi64>
  %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%4 : tensor<8xi64>) {
  ^bb0(%out: i64):
    %36 = linalg.index 0 : index
    %37 = arith.index_cast %36 : index to i64
    linalg.yield %37 : i64
  } -> tensor<8xi64>
  %expanded_4 = tensor.expand_shape %5 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
  %6 = tensor.empty() : tensor<1x8xi64>
  %7 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded_4, %cst_3 : tensor<1x8xi64>, tensor<i64>) outs(%6 : tensor<1x8xi64>) {
  ^bb0(%in: i64, %in_11: i64, %out: i64):
    %36 = arith.sitofp %in : i64 to f64
    %37 = arith.sitofp %in_11 : i64 to f64
    %38 = arith.divf %36, %37 : f64
    %39 = math.floor %38 : f64
    %40 = arith.fptosi %39 : f64 to i64
    linalg.yield %40 : i64
  } -> tensor<1x8xi64>
  %8 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed = linalg.transpose ins(%arg1 : tensor<2x2x8x4xf32>) outs(%8 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_5 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %9 = tensor.empty() : tensor<4x6x8xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %11 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%10 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded_6 = tensor.expand_shape %11 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %12 = tensor.empty() : tensor<2x2x6x8xf32>
  %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x2x6x8xf32>) outs(%12 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %36 = arith.mulf %in, %cst_2 : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x8xf32>
  %14 = tensor.empty() : tensor<6x8xi1>
  %15 = linalg.generic {indexing_maps = [#map4, #map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %3 : tensor<1x8xi64>, tensor<6x1xi64>) outs(%14 : tensor<6x8xi1>) {
  ^bb0(%in: i64, %in_11: i64, %out: i1):
    %36 = arith.cmpi sle, %in, %in_11 : i64
    linalg.yield %36 : i1
  } -> tensor<6x8xi1>
  %16 = tensor.empty() : tensor<6x8xi64>
  %17 = linalg.generic {indexing_maps = [#map5, #map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%3, %7 : tensor<6x1xi64>, tensor<1x8xi64>) outs(%16 : tensor<6x8xi64>) {
  ^bb0(%in: i64, %in_11: i64, %out: i64):
    %36 = arith.subi %in, %in_11 : i64
    linalg.yield %36 : i64
  } -> tensor<6x8xi64>
  %18 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<6x8xi64>) outs(%16 : tensor<6x8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %36 = arith.remsi %in, %c2_i64 : i64
    %37 = arith.cmpi ne, %36, %c0_i64 : i64
    %38 = arith.cmpi slt, %36, %c0_i64 : i64
    %39 = arith.andi %37, %38 : i1
    %40 = arith.addi %36, %c2_i64 : i64
    %41 = arith.select %39, %40, %36 : i64
    linalg.yield %41 : i64
  } -> tensor<6x8xi64>
  %19 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<6x8xi64>) outs(%14 : tensor<6x8xi1>) {
  ^bb0(%in: i64, %out: i1):
    %36 = arith.cmpi eq, %in, %c0_i64 : i64
    linalg.yield %36 : i1
  } -> tensor<6x8xi1>
  %20 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%15, %19 : tensor<6x8xi1>, tensor<6x8xi1>) outs(%14 : tensor<6x8xi1>) {
  ^bb0(%in: i1, %in_11: i1, %out: i1):
    %36 = arith.andi %in, %in_11 : i1
    linalg.yield %36 : i1
  } -> tensor<6x8xi1>
  %21 = linalg.generic {indexing_maps = [#map6, #map3, #map7, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %13, %cst_1 : tensor<6x8xi1>, tensor<2x2x6x8xf32>, tensor<f32>) outs(%12 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: i1, %in_11: f32, %in_12: f32, %out: f32):
    %36 = arith.select %in, %in_11, %in_12 : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x8xf32>
  %22 = tensor.empty() : tensor<2x2x6xi64>
  %23 = linalg.fill ins(%c0_i64 : i64) outs(%22 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %24 = tensor.empty() : tensor<2x2x6xf32>
  %25 = linalg.fill ins(%cst_0 : f32) outs(%24 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %26:2 = linalg.generic {indexing_maps = [#map3, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x2x6x8xf32>) outs(%25, %23 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_11: i64):
    %36 = linalg.index 3 : index
    %37 = arith.index_cast %36 : index to i64
    %38 = arith.maximumf %in, %out : f32
    %39 = arith.cmpf ogt, %in, %out : f32
    %40 = arith.select %39, %37, %out_11 : i64
    linalg.yield %38, %40 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_7 = tensor.expand_shape %26#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %27 = linalg.generic {indexing_maps = [#map3, #map9, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %expanded_7 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%12 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %36 = arith.subf %in, %in_11 : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x8xf32>
  %28 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x2x6x8xf32>) outs(%12 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %36 = math.exp %in : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x8xf32>
  %29 = tensor.empty() : tensor<2x2x6x1xf32>
  %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %31 = linalg.generic {indexing_maps = [#map3, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x2x6x8xf32>) outs(%30 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %36 = arith.addf %in, %out : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x1xf32>
  %32 = linalg.generic {indexing_maps = [#map3, #map9, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %31 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%12 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %36 = arith.divf %in, %in_11 : f32
    linalg.yield %36 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_8 = tensor.collapse_shape %32 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %collapsed_9 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %33 = tensor.empty() : tensor<4x6x4xf32>
  %34 = linalg.fill ins(%cst : f32) outs(%33 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %35 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%34 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_10 = tensor.expand_shape %35 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  return %expanded_10 : tensor<2x2x6x4xf32>
}
