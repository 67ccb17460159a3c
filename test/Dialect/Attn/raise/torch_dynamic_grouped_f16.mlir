// As torch-mlir writes it: F.scaled_dot_product_attention with enable_gqa of sizes that are not known: what repeats the
// heads of keys is not computed.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_dynamic_grouped_f16(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale({{0.5|0.4999}}{{.*}})
// CHECK-SAME: : tensor<?x4x?x4xf16>, tensor<?x2x?x4xf16>, tensor<?x2x?x4xf16> -> tensor<?x4x?x4xf16>
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map4 = affine_map<(d0, d1, d2, d3) -> ()>
func.func @torch_dynamic_grouped_f16(%arg0: tensor<?x4x?x4xf16>, %arg1: tensor<?x2x?x4xf16>, %arg2: tensor<?x2x?x4xf16>) -> tensor<?x4x?x4xf16> {
  %c0_i64 = arith.constant 0 : i64
  %c4_i64 = arith.constant 4 : i64
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1_i64 = arith.constant 1 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
  %cst_2 = arith.constant 0xFFF0000000000000 : f64
  %cst_3 = arith.constant 0.70710678118654757 : f64
  %c16_i64 = arith.constant 16 : i64
  %dim = tensor.dim %arg0, %c2 : tensor<?x4x?x4xf16>
  %0 = arith.index_cast %dim : index to i64
  %dim_4 = tensor.dim %arg2, %c0 : tensor<?x2x?x4xf16>
  %1 = arith.index_cast %dim_4 : index to i64
  %dim_5 = tensor.dim %arg0, %c0 : tensor<?x4x?x4xf16>
  %2 = tensor.empty(%dim_5, %dim) : tensor<?x4x?x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<?x4x?x4xf16>) outs(%2 : tensor<?x4x?x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %134 = arith.extf %in : f16 to f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x4xf32>
  %dim_6 = tensor.dim %arg1, %c0 : tensor<?x2x?x4xf16>
  %dim_7 = tensor.dim %arg1, %c2 : tensor<?x2x?x4xf16>
  %4 = tensor.empty(%dim_6, %dim_7) : tensor<?x2x?x4xf32>
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<?x2x?x4xf16>) outs(%4 : tensor<?x2x?x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %134 = arith.extf %in : f16 to f32
    linalg.yield %134 : f32
  } -> tensor<?x2x?x4xf32>
  %dim_8 = tensor.dim %arg2, %c2 : tensor<?x2x?x4xf16>
  %6 = tensor.empty(%dim_4, %dim_8) : tensor<?x2x?x4xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<?x2x?x4xf16>) outs(%6 : tensor<?x2x?x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %134 = arith.extf %in : f16 to f32
    linalg.yield %134 : f32
  } -> tensor<?x2x?x4xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<?x4x?x4xf32>) outs(%2 : tensor<?x4x?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %134 = arith.truncf %cst_3 : f64 to f32
    %135 = arith.mulf %in, %134 : f32
    linalg.yield %135 : f32
  } -> tensor<?x4x?x4xf32>
  %expanded = tensor.expand_shape %5 [[0], [1], [2, 3], [4]] output_shape [%dim_6, 2, 1, %dim_7, 4] : tensor<?x2x?x4xf32> into tensor<?x2x1x?x4xf32>
  %9 = arith.cmpi sge, %1, %c0_i64 : i64
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  %10 = arith.cmpi sge, %0, %c0_i64 : i64
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %11 = tensor.empty(%dim_4, %dim) : tensor<?x2x2x?x4xf32>
  %12 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%11 : tensor<?x2x2x?x4xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 3 : index
    %137 = linalg.index 4 : index
    %138 = arith.cmpi eq, %dim_6, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %dim_7, %c1 : index
    %141 = arith.select %140, %c0, %136 : index
    %extracted = tensor.extract %expanded[%139, %135, %c0, %141, %137] : tensor<?x2x1x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x2x?x4xf32>
  %13 = arith.cmpi slt, %1, %c0_i64 : i64
  %14 = arith.select %13, %c1_i64, %1 : i64
  %15 = arith.extui %13 : i1 to i64
  %16 = arith.muli %14, %c4_i64 : i64
  %17 = arith.muli %16, %0 : i64
  %18 = arith.addi %15, %c1_i64 : i64
  %19 = arith.cmpi slt, %0, %c0_i64 : i64
  %20 = arith.select %19, %16, %17 : i64
  %21 = arith.select %19, %18, %15 : i64
  %22 = arith.muli %20, %c4_i64 : i64
  %23 = arith.cmpi sle, %21, %c1_i64 : i64
  cf.assert %23, "must have at most one inferred (negative) dimension"
  %24 = arith.muli %1, %c4_i64 : i64
  %25 = arith.muli %24, %0 : i64
  %26 = arith.muli %25, %c4_i64 : i64
  %27 = arith.divsi %26, %22 : i64
  %28 = arith.select %13, %27, %1 : i64
  %29 = arith.select %19, %27, %0 : i64
  %from_elements = tensor.from_elements %28, %c4_i64, %29, %c4_i64 : tensor<4xi64>
  %reshape = tensor.reshape %12(%from_elements) : (tensor<?x2x2x?x4xf32>, tensor<4xi64>) -> tensor<?x4x?x4xf32>
  %expanded_9 = tensor.expand_shape %7 [[0], [1], [2, 3], [4]] output_shape [%dim_4, 2, 1, %dim_8, 4] : tensor<?x2x?x4xf32> into tensor<?x2x1x?x4xf32>
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %30 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%11 : tensor<?x2x2x?x4xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 3 : index
    %137 = linalg.index 4 : index
    %138 = arith.cmpi eq, %dim_4, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %dim_8, %c1 : index
    %141 = arith.select %140, %c0, %136 : index
    %extracted = tensor.extract %expanded_9[%139, %135, %c0, %141, %137] : tensor<?x2x1x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x2x?x4xf32>
  cf.assert %23, "must have at most one inferred (negative) dimension"
  %reshape_10 = tensor.reshape %30(%from_elements) : (tensor<?x2x2x?x4xf32>, tensor<4xi64>) -> tensor<?x4x?x4xf32>
  %31 = arith.index_cast %28 : i64 to index
  %32 = arith.index_cast %29 : i64 to index
  %33 = tensor.empty(%31, %32) : tensor<?x4x4x?xf32>
  %transposed = linalg.transpose ins(%reshape : tensor<?x4x?x4xf32>) outs(%33 : tensor<?x4x4x?xf32>) permutation = [0, 1, 3, 2]
  %34 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<?x4x4x?xf32>) outs(%33 : tensor<?x4x4x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %134 = arith.truncf %cst_3 : f64 to f32
    %135 = arith.mulf %in, %134 : f32
    linalg.yield %135 : f32
  } -> tensor<?x4x4x?xf32>
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %35 = tensor.empty(%dim_4, %dim) : tensor<?x4x?x4xf32>
  %36 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%35 : tensor<?x4x?x4xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 2 : index
    %137 = linalg.index 3 : index
    %138 = arith.cmpi eq, %dim_5, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %dim, %c1 : index
    %141 = arith.select %140, %c0, %136 : index
    %extracted = tensor.extract %8[%139, %135, %141, %137] : tensor<?x4x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x4x?x4xf32>
  %37 = arith.cmpi slt, %24, %c0_i64 : i64
  %38 = arith.select %37, %c1_i64, %24 : i64
  %39 = arith.extui %37 : i1 to i64
  %40 = arith.muli %38, %0 : i64
  %41 = arith.addi %39, %c1_i64 : i64
  %42 = arith.select %19, %38, %40 : i64
  %43 = arith.select %19, %41, %39 : i64
  %44 = arith.muli %42, %c4_i64 : i64
  %45 = arith.cmpi sle, %43, %c1_i64 : i64
  cf.assert %45, "must have at most one inferred (negative) dimension"
  %46 = arith.divsi %26, %44 : i64
  %47 = arith.select %37, %46, %24 : i64
  %48 = arith.select %19, %46, %0 : i64
  %from_elements_11 = tensor.from_elements %47, %48, %c4_i64 : tensor<3xi64>
  %reshape_12 = tensor.reshape %36(%from_elements_11) : (tensor<?x4x?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %49 = tensor.empty(%dim_4, %dim) : tensor<?x4x4x?xf32>
  %50 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%49 : tensor<?x4x4x?xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 2 : index
    %137 = linalg.index 3 : index
    %138 = arith.cmpi eq, %31, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %32, %c1 : index
    %141 = arith.select %140, %c0, %137 : index
    %extracted = tensor.extract %34[%139, %135, %136, %141] : tensor<?x4x4x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x4x4x?xf32>
  %51 = arith.muli %38, %c4_i64 : i64
  %52 = arith.muli %51, %0 : i64
  %53 = arith.select %19, %51, %52 : i64
  cf.assert %45, "must have at most one inferred (negative) dimension"
  %54 = arith.muli %1, %c16_i64 : i64
  %55 = arith.muli %54, %0 : i64
  %56 = arith.divsi %55, %53 : i64
  %57 = arith.select %37, %56, %24 : i64
  %58 = arith.select %19, %56, %0 : i64
  %from_elements_13 = tensor.from_elements %57, %c4_i64, %58 : tensor<3xi64>
  %reshape_14 = tensor.reshape %50(%from_elements_13) : (tensor<?x4x4x?xf32>, tensor<3xi64>) -> tensor<?x4x?xf32>
  %59 = arith.index_cast %47 : i64 to index
  %60 = arith.index_cast %48 : i64 to index
  %61 = arith.index_cast %58 : i64 to index
  %62 = arith.cmpi eq, %47, %57 : i64
  cf.assert %62, "mismatching contracting dimension"
  %63 = tensor.empty(%59, %60, %61) : tensor<?x?x?xf32>
  %64 = linalg.fill ins(%cst : f32) outs(%63 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %65 = linalg.batch_matmul ins(%reshape_12, %reshape_14 : tensor<?x?x4xf32>, tensor<?x4x?xf32>) outs(%64 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %66 = arith.muli %20, %0 : i64
  %67 = arith.addi %21, %c1_i64 : i64
  %68 = arith.select %19, %16, %66 : i64
  %69 = arith.select %19, %67, %15 : i64
  %70 = arith.cmpi sle, %69, %c1_i64 : i64
  cf.assert %70, "must have at most one inferred (negative) dimension"
  %71 = arith.muli %47, %48 : i64
  %72 = arith.muli %71, %58 : i64
  %73 = arith.divsi %72, %68 : i64
  %74 = arith.select %13, %73, %1 : i64
  %75 = arith.select %19, %73, %0 : i64
  %from_elements_15 = tensor.from_elements %74, %c4_i64, %75, %75 : tensor<4xi64>
  %reshape_16 = tensor.reshape %65(%from_elements_15) : (tensor<?x?x?xf32>, tensor<4xi64>) -> tensor<?x4x?x?xf32>
  %76 = arith.index_cast %74 : i64 to index
  %77 = arith.index_cast %75 : i64 to index
  %78 = tensor.empty(%76, %77) : tensor<?x4x?xi64>
  %79 = linalg.fill ins(%c0_i64 : i64) outs(%78 : tensor<?x4x?xi64>) -> tensor<?x4x?xi64>
  %80 = tensor.empty(%76, %77) : tensor<?x4x?xf32>
  %81 = linalg.fill ins(%cst_0 : f32) outs(%80 : tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
  %82:2 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%reshape_16 : tensor<?x4x?x?xf32>) outs(%81, %79 : tensor<?x4x?xf32>, tensor<?x4x?xi64>) {
  ^bb0(%in: f32, %out: f32, %out_23: i64):
    %134 = linalg.index 3 : index
    %135 = arith.index_cast %134 : index to i64
    %136 = arith.maximumf %in, %out : f32
    %137 = arith.cmpf ogt, %in, %out : f32
    %138 = arith.select %137, %135, %out_23 : i64
    linalg.yield %136, %138 : f32, i64
  } -> (tensor<?x4x?xf32>, tensor<?x4x?xi64>)
  %expanded_17 = tensor.expand_shape %82#0 [[0], [1], [2, 3]] output_shape [%76, 4, %77, 1] : tensor<?x4x?xf32> into tensor<?x4x?x1xf32>
  %83 = tensor.empty(%76, %77, %77) : tensor<?x4x?x?xf32>
  %84 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_16, %expanded_17 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%83 : tensor<?x4x?x?xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %134 = arith.subf %in, %in_23 : f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x?xf32>
  %85 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84 : tensor<?x4x?x?xf32>) outs(%83 : tensor<?x4x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %134 = math.exp %in : f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x?xf32>
  %86 = tensor.empty(%76, %77) : tensor<?x4x?x1xf32>
  %87 = linalg.fill ins(%cst : f32) outs(%86 : tensor<?x4x?x1xf32>) -> tensor<?x4x?x1xf32>
  %88 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%85 : tensor<?x4x?x?xf32>) outs(%87 : tensor<?x4x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %134 = arith.addf %in, %out : f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x1xf32>
  %89 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%85, %88 : tensor<?x4x?x?xf32>, tensor<?x4x?x1xf32>) outs(%83 : tensor<?x4x?x?xf32>) {
  ^bb0(%in: f32, %in_23: f32, %out: f32):
    %134 = arith.divf %in, %in_23 : f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x?xf32>
  %90 = tensor.empty(%76, %77, %77) : tensor<?x4x?x?xi1>
  %91 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_16 : tensor<?x4x?x?xf32>) outs(%90 : tensor<?x4x?x?xi1>) {
  ^bb0(%in: f32, %out: i1):
    %134 = arith.extf %in : f32 to f64
    %135 = arith.cmpf oeq, %134, %cst_2 : f64
    linalg.yield %135 : i1
  } -> tensor<?x4x?x?xi1>
  %92 = tensor.empty(%76, %77) : tensor<?x4x?x1xi1>
  %93 = linalg.fill ins(%true : i1) outs(%92 : tensor<?x4x?x1xi1>) -> tensor<?x4x?x1xi1>
  %94 = linalg.generic {indexing_maps = [#map, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%91 : tensor<?x4x?x?xi1>) outs(%93 : tensor<?x4x?x1xi1>) {
  ^bb0(%in: i1, %out: i1):
    %134 = arith.andi %in, %out : i1
    linalg.yield %134 : i1
  } -> tensor<?x4x?x1xi1>
  %95 = arith.cmpi sge, %74, %c0_i64 : i64
  cf.assert %95, "negative values not allowed in new dimensions"
  %96 = arith.index_cast %74 : i64 to index
  %97 = arith.cmpi sge, %75, %c0_i64 : i64
  cf.assert %97, "negative values not allowed in new dimensions"
  %98 = arith.index_cast %75 : i64 to index
  cf.assert %97, "negative values not allowed in new dimensions"
  %99 = tensor.empty(%96, %98, %98) : tensor<?x4x?x?xf32>
  %100 = linalg.generic {indexing_maps = [#map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%99 : tensor<?x4x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x4x?x?xf32>
  %101 = arith.cmpi eq, %76, %96 : index
  cf.assert %101, "mismatched size for broadcast"
  %102 = arith.cmpi eq, %77, %98 : index
  cf.assert %102, "mismatched size for broadcast"
  %103 = arith.cmpi eq, %98, %77 : index
  cf.assert %103, "mismatched size for broadcast"
  %104 = tensor.empty(%76, %77, %98) : tensor<?x4x?x?xf32>
  %105 = linalg.generic {indexing_maps = [#map3, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%94, %100, %89 : tensor<?x4x?x1xi1>, tensor<?x4x?x?xf32>, tensor<?x4x?x?xf32>) outs(%104 : tensor<?x4x?x?xf32>) {
  ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
    %134 = arith.select %in, %in_23, %in_24 : f32
    linalg.yield %134 : f32
  } -> tensor<?x4x?x?xf32>
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %106 = tensor.empty(%dim_4, %dim, %dim) : tensor<?x4x?x?xf32>
  %107 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%106 : tensor<?x4x?x?xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 2 : index
    %137 = linalg.index 3 : index
    %138 = arith.cmpi eq, %76, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %77, %c1 : index
    %141 = arith.select %140, %c0, %136 : index
    %142 = arith.cmpi eq, %98, %c1 : index
    %143 = arith.select %142, %c0, %137 : index
    %extracted = tensor.extract %105[%139, %135, %141, %143] : tensor<?x4x?x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x4x?x?xf32>
  %108 = arith.muli %42, %0 : i64
  %109 = arith.addi %43, %c1_i64 : i64
  %110 = arith.select %19, %38, %108 : i64
  %111 = arith.select %19, %109, %39 : i64
  %112 = arith.cmpi sle, %111, %c1_i64 : i64
  cf.assert %112, "must have at most one inferred (negative) dimension"
  %113 = arith.muli %25, %0 : i64
  %114 = arith.divsi %113, %110 : i64
  %115 = arith.select %37, %114, %24 : i64
  %116 = arith.select %19, %114, %0 : i64
  %from_elements_18 = tensor.from_elements %115, %116, %116 : tensor<3xi64>
  %reshape_19 = tensor.reshape %107(%from_elements_18) : (tensor<?x4x?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %10, "unimplemented: dynamic negative broadcast sizes"
  %117 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%35 : tensor<?x4x?x4xf32>) {
  ^bb0(%out: f32):
    %134 = linalg.index 0 : index
    %135 = linalg.index 1 : index
    %136 = linalg.index 2 : index
    %137 = linalg.index 3 : index
    %138 = arith.cmpi eq, %31, %c1 : index
    %139 = arith.select %138, %c0, %134 : index
    %140 = arith.cmpi eq, %32, %c1 : index
    %141 = arith.select %140, %c0, %136 : index
    %extracted = tensor.extract %reshape_10[%139, %135, %141, %137] : tensor<?x4x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x4x?x4xf32>
  cf.assert %45, "must have at most one inferred (negative) dimension"
  %reshape_20 = tensor.reshape %117(%from_elements_11) : (tensor<?x4x?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %118 = arith.index_cast %115 : i64 to index
  %119 = arith.index_cast %116 : i64 to index
  %120 = arith.cmpi eq, %115, %47 : i64
  cf.assert %120, "mismatching contracting dimension"
  %121 = arith.cmpi eq, %116, %48 : i64
  cf.assert %121, "mismatching contracting dimension"
  %122 = tensor.empty(%118, %119) : tensor<?x?x4xf32>
  %123 = linalg.fill ins(%cst : f32) outs(%122 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %124 = linalg.batch_matmul ins(%reshape_19, %reshape_20 : tensor<?x?x?xf32>, tensor<?x?x4xf32>) outs(%123 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  cf.assert %23, "must have at most one inferred (negative) dimension"
  %125 = arith.muli %115, %116 : i64
  %126 = arith.muli %125, %c4_i64 : i64
  %127 = arith.divsi %126, %22 : i64
  %128 = arith.select %13, %127, %1 : i64
  %129 = arith.select %19, %127, %0 : i64
  %from_elements_21 = tensor.from_elements %128, %c4_i64, %129, %c4_i64 : tensor<4xi64>
  %reshape_22 = tensor.reshape %124(%from_elements_21) : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x4x?x4xf32>
  %130 = arith.index_cast %128 : i64 to index
  %131 = arith.index_cast %129 : i64 to index
  %132 = tensor.empty(%130, %131) : tensor<?x4x?x4xf16>
  %133 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_22 : tensor<?x4x?x4xf32>) outs(%132 : tensor<?x4x?x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %134 = arith.truncf %in : f32 to f16
    linalg.yield %134 : f16
  } -> tensor<?x4x?x4xf16>
  return %133 : tensor<?x4x?x4xf16>
}
