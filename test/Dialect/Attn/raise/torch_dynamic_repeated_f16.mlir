// As torch-mlir writes it: heads of keys that are expanded and become one dimension, in front of a broadcast of sizes
// that are not known.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_dynamic_repeated_f16(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale(0.17{{.*}})
// CHECK-SAME: : tensor<2x4x?x4xf16>, tensor<2x2x?x4xf16>, tensor<2x2x?x4xf16> -> tensor<2x4x?x4xf16>
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_dynamic_repeated_f16(%arg0: tensor<2x4x?x4xf16>, %arg1: tensor<2x2x?x4xf16>, %arg2: tensor<2x2x?x4xf16>) -> tensor<2x4x?x4xf16> {
  %c2_i64 = arith.constant 2 : i64
  %c4_i64 = arith.constant 4 : i64
  %c0_i64 = arith.constant 0 : i64
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c8_i64 = arith.constant 8 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %c1_i64 = arith.constant 1 : i64
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant 1.700000e-01 : f64
  %dim = tensor.dim %arg0, %c2 : tensor<2x4x?x4xf16>
  %0 = arith.index_cast %dim : index to i64
  %dim_2 = tensor.dim %arg1, %c2 : tensor<2x2x?x4xf16>
  %1 = tensor.empty(%dim_2) : tensor<2x2x2x?x4xf16>
  %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x?x4xf16>) outs(%1 : tensor<2x2x2x?x4xf16>) {
  ^bb0(%in: f16, %out: f16):
    linalg.yield %in : f16
  } -> tensor<2x2x2x?x4xf16>
  %collapsed = tensor.collapse_shape %2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x?x4xf16> into tensor<2x4x?x4xf16>
  %3 = tensor.empty(%dim_2) : tensor<2x4x4x?xf16>
  %transposed = linalg.transpose ins(%collapsed : tensor<2x4x?x4xf16>) outs(%3 : tensor<2x4x4x?xf16>) permutation = [0, 1, 3, 2]
  %4 = arith.cmpi sge, %0, %c0_i64 : i64
  cf.assert %4, "unimplemented: dynamic negative broadcast sizes"
  %5 = tensor.empty(%dim) : tensor<2x4x?x4xf16>
  %6 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x?x4xf16>) {
  ^bb0(%out: f16):
    %54 = linalg.index 0 : index
    %55 = linalg.index 1 : index
    %56 = linalg.index 2 : index
    %57 = linalg.index 3 : index
    %58 = arith.cmpi eq, %dim, %c1 : index
    %59 = arith.select %58, %c0, %56 : index
    %extracted = tensor.extract %arg0[%54, %55, %59, %57] : tensor<2x4x?x4xf16>
    linalg.yield %extracted : f16
  } -> tensor<2x4x?x4xf16>
  %collapsed_3 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x?x4xf16> into tensor<8x?x4xf16>
  cf.assert %4, "unimplemented: dynamic negative broadcast sizes"
  %7 = tensor.empty(%dim) : tensor<2x4x4x?xf16>
  %8 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%7 : tensor<2x4x4x?xf16>) {
  ^bb0(%out: f16):
    %54 = linalg.index 0 : index
    %55 = linalg.index 1 : index
    %56 = linalg.index 2 : index
    %57 = linalg.index 3 : index
    %58 = arith.cmpi eq, %dim_2, %c1 : index
    %59 = arith.select %58, %c0, %57 : index
    %extracted = tensor.extract %transposed[%54, %55, %56, %59] : tensor<2x4x4x?xf16>
    linalg.yield %extracted : f16
  } -> tensor<2x4x4x?xf16>
  %collapsed_4 = tensor.collapse_shape %8 [[0, 1], [2], [3]] : tensor<2x4x4x?xf16> into tensor<8x4x?xf16>
  %9 = tensor.empty(%dim, %dim) : tensor<8x?x?xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %11 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x?x4xf16>, tensor<8x4x?xf16>) outs(%10 : tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %12 = tensor.empty(%dim, %dim) : tensor<8x?x?xf16>
  %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11 : tensor<8x?x?xf32>) outs(%12 : tensor<8x?x?xf16>) {
  ^bb0(%in: f32, %out: f16):
    %54 = arith.truncf %in : f32 to f16
    linalg.yield %54 : f16
  } -> tensor<8x?x?xf16>
  %14 = arith.muli %0, %c8_i64 : i64
  %15 = arith.cmpi slt, %0, %c0_i64 : i64
  %16 = arith.select %15, %c8_i64, %14 : i64
  %17 = arith.extui %15 : i1 to i64
  %18 = arith.muli %16, %0 : i64
  %19 = arith.addi %17, %c1_i64 : i64
  %20 = arith.select %15, %c8_i64, %18 : i64
  %21 = arith.select %15, %19, %17 : i64
  %22 = arith.cmpi sle, %21, %c1_i64 : i64
  cf.assert %22, "must have at most one inferred (negative) dimension"
  %23 = arith.muli %14, %0 : i64
  %24 = arith.divsi %23, %20 : i64
  %25 = arith.select %15, %24, %0 : i64
  %from_elements = tensor.from_elements %c2_i64, %c4_i64, %25, %25 : tensor<4xi64>
  %reshape = tensor.reshape %13(%from_elements) : (tensor<8x?x?xf16>, tensor<4xi64>) -> tensor<2x4x?x?xf16>
  %26 = arith.index_cast %25 : i64 to index
  %27 = tensor.empty(%26, %26) : tensor<2x4x?x?xf16>
  %28 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape : tensor<2x4x?x?xf16>) outs(%27 : tensor<2x4x?x?xf16>) {
  ^bb0(%in: f16, %out: f16):
    %54 = arith.truncf %cst_1 : f64 to f16
    %55 = arith.mulf %in, %54 : f16
    linalg.yield %55 : f16
  } -> tensor<2x4x?x?xf16>
  %29 = tensor.empty(%26, %26) : tensor<2x4x?x?xf32>
  %30 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x4x?x?xf16>) outs(%29 : tensor<2x4x?x?xf32>) {
  ^bb0(%in: f16, %out: f32):
    %54 = arith.extf %in : f16 to f32
    linalg.yield %54 : f32
  } -> tensor<2x4x?x?xf32>
  %31 = tensor.empty(%26) : tensor<2x4x?xi64>
  %32 = linalg.fill ins(%c0_i64 : i64) outs(%31 : tensor<2x4x?xi64>) -> tensor<2x4x?xi64>
  %33 = tensor.empty(%26) : tensor<2x4x?xf32>
  %34 = linalg.fill ins(%cst_0 : f32) outs(%33 : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %35:2 = linalg.generic {indexing_maps = [#map2, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x?x?xf32>) outs(%34, %32 : tensor<2x4x?xf32>, tensor<2x4x?xi64>) {
  ^bb0(%in: f32, %out: f32, %out_11: i64):
    %54 = linalg.index 3 : index
    %55 = arith.index_cast %54 : index to i64
    %56 = arith.maximumf %in, %out : f32
    %57 = arith.cmpf ogt, %in, %out : f32
    %58 = arith.select %57, %55, %out_11 : i64
    linalg.yield %56, %58 : f32, i64
  } -> (tensor<2x4x?xf32>, tensor<2x4x?xi64>)
  %expanded = tensor.expand_shape %35#0 [[0], [1], [2, 3]] output_shape [2, 4, %26, 1] : tensor<2x4x?xf32> into tensor<2x4x?x1xf32>
  %36 = linalg.generic {indexing_maps = [#map2, #map5, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %expanded : tensor<2x4x?x?xf32>, tensor<2x4x?x1xf32>) outs(%29 : tensor<2x4x?x?xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.subf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x?x?xf32>
  %37 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x?x?xf32>) outs(%29 : tensor<2x4x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = math.exp %in : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x?x?xf32>
  %38 = tensor.empty(%26) : tensor<2x4x?x1xf32>
  %39 = linalg.fill ins(%cst : f32) outs(%38 : tensor<2x4x?x1xf32>) -> tensor<2x4x?x1xf32>
  %40 = linalg.generic {indexing_maps = [#map2, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x4x?x?xf32>) outs(%39 : tensor<2x4x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %54 = arith.addf %in, %out : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x?x1xf32>
  %41 = linalg.generic {indexing_maps = [#map2, #map5, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %40 : tensor<2x4x?x?xf32>, tensor<2x4x?x1xf32>) outs(%29 : tensor<2x4x?x?xf32>) {
  ^bb0(%in: f32, %in_11: f32, %out: f32):
    %54 = arith.divf %in, %in_11 : f32
    linalg.yield %54 : f32
  } -> tensor<2x4x?x?xf32>
  %42 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41 : tensor<2x4x?x?xf32>) outs(%27 : tensor<2x4x?x?xf16>) {
  ^bb0(%in: f32, %out: f16):
    %54 = arith.truncf %in : f32 to f16
    linalg.yield %54 : f16
  } -> tensor<2x4x?x?xf16>
  %dim_5 = tensor.dim %arg2, %c2 : tensor<2x2x?x4xf16>
  %43 = tensor.empty(%dim_5) : tensor<2x2x2x?x4xf16>
  %44 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x?x4xf16>) outs(%43 : tensor<2x2x2x?x4xf16>) {
  ^bb0(%in: f16, %out: f16):
    linalg.yield %in : f16
  } -> tensor<2x2x2x?x4xf16>
  %collapsed_6 = tensor.collapse_shape %44 [[0], [1, 2], [3], [4]] : tensor<2x2x2x?x4xf16> into tensor<2x4x?x4xf16>
  cf.assert %4, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %4, "unimplemented: dynamic negative broadcast sizes"
  %45 = tensor.empty(%dim, %dim) : tensor<2x4x?x?xf16>
  %46 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%45 : tensor<2x4x?x?xf16>) {
  ^bb0(%out: f16):
    %54 = linalg.index 0 : index
    %55 = linalg.index 1 : index
    %56 = linalg.index 2 : index
    %57 = linalg.index 3 : index
    %58 = arith.cmpi eq, %26, %c1 : index
    %59 = arith.select %58, %c0, %56 : index
    %60 = arith.select %58, %c0, %57 : index
    %extracted = tensor.extract %42[%54, %55, %59, %60] : tensor<2x4x?x?xf16>
    linalg.yield %extracted : f16
  } -> tensor<2x4x?x?xf16>
  cf.assert %22, "must have at most one inferred (negative) dimension"
  %from_elements_7 = tensor.from_elements %c8_i64, %25, %25 : tensor<3xi64>
  %reshape_8 = tensor.reshape %46(%from_elements_7) : (tensor<2x4x?x?xf16>, tensor<3xi64>) -> tensor<8x?x?xf16>
  cf.assert %4, "unimplemented: dynamic negative broadcast sizes"
  %47 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%5 : tensor<2x4x?x4xf16>) {
  ^bb0(%out: f16):
    %54 = linalg.index 0 : index
    %55 = linalg.index 1 : index
    %56 = linalg.index 2 : index
    %57 = linalg.index 3 : index
    %58 = arith.cmpi eq, %dim_5, %c1 : index
    %59 = arith.select %58, %c0, %56 : index
    %extracted = tensor.extract %collapsed_6[%54, %55, %59, %57] : tensor<2x4x?x4xf16>
    linalg.yield %extracted : f16
  } -> tensor<2x4x?x4xf16>
  %collapsed_9 = tensor.collapse_shape %47 [[0, 1], [2], [3]] : tensor<2x4x?x4xf16> into tensor<8x?x4xf16>
  %48 = arith.cmpi eq, %25, %0 : i64
  cf.assert %48, "mismatching contracting dimension"
  %49 = tensor.empty(%26) : tensor<8x?x4xf32>
  %50 = linalg.fill ins(%cst : f32) outs(%49 : tensor<8x?x4xf32>) -> tensor<8x?x4xf32>
  %51 = linalg.batch_matmul ins(%reshape_8, %collapsed_9 : tensor<8x?x?xf16>, tensor<8x?x4xf16>) outs(%50 : tensor<8x?x4xf32>) -> tensor<8x?x4xf32>
  %52 = tensor.empty(%26) : tensor<8x?x4xf16>
  %53 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%51 : tensor<8x?x4xf32>) outs(%52 : tensor<8x?x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %54 = arith.truncf %in : f32 to f16
    linalg.yield %54 : f16
  } -> tensor<8x?x4xf16>
  %expanded_10 = tensor.expand_shape %53 [[0, 1], [2], [3]] output_shape [2, 4, %26, 4] : tensor<8x?x4xf16> into tensor<2x4x?x4xf16>
  return %expanded_10 : tensor<2x4x?x4xf16>
}
