// As torch-mlir writes it: F.scaled_dot_product_attention of sizes that are not known.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_dynamic_sdpa(
// CHECK: attn.sdpa {{.*}}layout<bhsd> scale({{0.5|0.4999}}{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
func.func @torch_dynamic_sdpa(%arg0: tensor<?x2x?x4xf32>, %arg1: tensor<?x2x?x4xf32>, %arg2: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %c2_i64 = arith.constant 2 : i64
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
  %c8_i64 = arith.constant 8 : i64
  %dim = tensor.dim %arg0, %c0 : tensor<?x2x?x4xf32>
  %0 = arith.index_cast %dim : index to i64
  %dim_4 = tensor.dim %arg0, %c2 : tensor<?x2x?x4xf32>
  %1 = arith.index_cast %dim_4 : index to i64
  %dim_5 = tensor.dim %arg2, %c0 : tensor<?x2x?x4xf32>
  %dim_6 = tensor.dim %arg2, %c2 : tensor<?x2x?x4xf32>
  %2 = tensor.empty(%dim_5, %dim_6) : tensor<?x2x?x4xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<?x2x?x4xf32>) outs(%2 : tensor<?x2x?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %112 = arith.truncf %cst_3 : f64 to f32
    %113 = arith.mulf %in, %112 : f32
    linalg.yield %113 : f32
  } -> tensor<?x2x?x4xf32>
  %4 = tensor.empty(%dim_5, %dim_6) : tensor<?x2x4x?xf32>
  %transposed = linalg.transpose ins(%arg2 : tensor<?x2x?x4xf32>) outs(%4 : tensor<?x2x4x?xf32>) permutation = [0, 1, 3, 2] 
  %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<?x2x4x?xf32>) outs(%4 : tensor<?x2x4x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %112 = arith.truncf %cst_3 : f64 to f32
    %113 = arith.mulf %in, %112 : f32
    linalg.yield %113 : f32
  } -> tensor<?x2x4x?xf32>
  %6 = arith.muli %0, %c2_i64 : i64
  %7 = arith.cmpi sge, %0, %c0_i64 : i64
  cf.assert %7, "unimplemented: dynamic negative broadcast sizes"
  %8 = arith.cmpi sge, %1, %c0_i64 : i64
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  %9 = tensor.empty(%dim, %dim_4) : tensor<?x2x?x4xf32>
  %10 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%9 : tensor<?x2x?x4xf32>) {
  ^bb0(%out: f32):
    %112 = linalg.index 0 : index
    %113 = linalg.index 1 : index
    %114 = linalg.index 2 : index
    %115 = linalg.index 3 : index
    %116 = arith.cmpi eq, %dim_5, %c1 : index
    %117 = arith.select %116, %c0, %112 : index
    %118 = arith.cmpi eq, %dim_6, %c1 : index
    %119 = arith.select %118, %c0, %114 : index
    %extracted = tensor.extract %3[%117, %113, %119, %115] : tensor<?x2x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x?x4xf32>
  %11 = arith.cmpi slt, %6, %c0_i64 : i64
  %12 = arith.select %11, %c1_i64, %6 : i64
  %13 = arith.extui %11 : i1 to i64
  %14 = arith.muli %12, %1 : i64
  %15 = arith.addi %13, %c1_i64 : i64
  %16 = arith.cmpi slt, %1, %c0_i64 : i64
  %17 = arith.select %16, %12, %14 : i64
  %18 = arith.select %16, %15, %13 : i64
  %19 = arith.muli %17, %c4_i64 : i64
  %20 = arith.cmpi sle, %18, %c1_i64 : i64
  cf.assert %20, "must have at most one inferred (negative) dimension"
  %21 = arith.muli %6, %1 : i64
  %22 = arith.muli %21, %c4_i64 : i64
  %23 = arith.divsi %22, %19 : i64
  %24 = arith.select %11, %23, %6 : i64
  %25 = arith.select %16, %23, %1 : i64
  %from_elements = tensor.from_elements %24, %25, %c4_i64 : tensor<3xi64>
  %reshape = tensor.reshape %10(%from_elements) : (tensor<?x2x?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  cf.assert %7, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  %26 = tensor.empty(%dim, %dim_4) : tensor<?x2x4x?xf32>
  %27 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%26 : tensor<?x2x4x?xf32>) {
  ^bb0(%out: f32):
    %112 = linalg.index 0 : index
    %113 = linalg.index 1 : index
    %114 = linalg.index 2 : index
    %115 = linalg.index 3 : index
    %116 = arith.cmpi eq, %dim_5, %c1 : index
    %117 = arith.select %116, %c0, %112 : index
    %118 = arith.cmpi eq, %dim_6, %c1 : index
    %119 = arith.select %118, %c0, %115 : index
    %extracted = tensor.extract %5[%117, %113, %114, %119] : tensor<?x2x4x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x4x?xf32>
  %28 = arith.muli %12, %c4_i64 : i64
  %29 = arith.muli %28, %1 : i64
  %30 = arith.select %16, %28, %29 : i64
  cf.assert %20, "must have at most one inferred (negative) dimension"
  %31 = arith.muli %0, %c8_i64 : i64
  %32 = arith.muli %31, %1 : i64
  %33 = arith.divsi %32, %30 : i64
  %34 = arith.select %11, %33, %6 : i64
  %35 = arith.select %16, %33, %1 : i64
  %from_elements_7 = tensor.from_elements %34, %c4_i64, %35 : tensor<3xi64>
  %reshape_8 = tensor.reshape %27(%from_elements_7) : (tensor<?x2x4x?xf32>, tensor<3xi64>) -> tensor<?x4x?xf32>
  %36 = arith.index_cast %24 : i64 to index
  %37 = arith.index_cast %25 : i64 to index
  %38 = arith.index_cast %35 : i64 to index
  %39 = arith.cmpi eq, %24, %34 : i64
  cf.assert %39, "mismatching contracting dimension"
  %40 = tensor.empty(%36, %37, %38) : tensor<?x?x?xf32>
  %41 = linalg.fill ins(%cst : f32) outs(%40 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %42 = linalg.batch_matmul ins(%reshape, %reshape_8 : tensor<?x?x4xf32>, tensor<?x4x?xf32>) outs(%41 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %43 = arith.cmpi slt, %0, %c0_i64 : i64
  %44 = arith.select %43, %c1_i64, %0 : i64
  %45 = arith.extui %43 : i1 to i64
  %46 = arith.muli %44, %c2_i64 : i64
  %47 = arith.muli %46, %1 : i64
  %48 = arith.addi %45, %c1_i64 : i64
  %49 = arith.select %16, %46, %47 : i64
  %50 = arith.select %16, %48, %45 : i64
  %51 = arith.muli %49, %1 : i64
  %52 = arith.addi %50, %c1_i64 : i64
  %53 = arith.select %16, %46, %51 : i64
  %54 = arith.select %16, %52, %45 : i64
  %55 = arith.cmpi sle, %54, %c1_i64 : i64
  cf.assert %55, "must have at most one inferred (negative) dimension"
  %56 = arith.muli %24, %25 : i64
  %57 = arith.muli %56, %35 : i64
  %58 = arith.divsi %57, %53 : i64
  %59 = arith.select %43, %58, %0 : i64
  %60 = arith.select %16, %58, %1 : i64
  %from_elements_9 = tensor.from_elements %59, %c2_i64, %60, %60 : tensor<4xi64>
  %reshape_10 = tensor.reshape %42(%from_elements_9) : (tensor<?x?x?xf32>, tensor<4xi64>) -> tensor<?x2x?x?xf32>
  %61 = arith.index_cast %59 : i64 to index
  %62 = arith.index_cast %60 : i64 to index
  %63 = tensor.empty(%61, %62) : tensor<?x2x?xi64>
  %64 = linalg.fill ins(%c0_i64 : i64) outs(%63 : tensor<?x2x?xi64>) -> tensor<?x2x?xi64>
  %65 = tensor.empty(%61, %62) : tensor<?x2x?xf32>
  %66 = linalg.fill ins(%cst_0 : f32) outs(%65 : tensor<?x2x?xf32>) -> tensor<?x2x?xf32>
  %67:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%reshape_10 : tensor<?x2x?x?xf32>) outs(%66, %64 : tensor<?x2x?xf32>, tensor<?x2x?xi64>) {
  ^bb0(%in: f32, %out: f32, %out_16: i64):
    %112 = linalg.index 3 : index
    %113 = arith.index_cast %112 : index to i64
    %114 = arith.maximumf %in, %out : f32
    %115 = arith.cmpf ogt, %in, %out : f32
    %116 = arith.select %115, %113, %out_16 : i64
    linalg.yield %114, %116 : f32, i64
  } -> (tensor<?x2x?xf32>, tensor<?x2x?xi64>)
  %expanded = tensor.expand_shape %67#0 [[0], [1], [2, 3]] output_shape [%61, 2, %62, 1] : tensor<?x2x?xf32> into tensor<?x2x?x1xf32>
  %68 = tensor.empty(%61, %62, %62) : tensor<?x2x?x?xf32>
  %69 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_10, %expanded : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32>) outs(%68 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %112 = arith.subf %in, %in_16 : f32
    linalg.yield %112 : f32
  } -> tensor<?x2x?x?xf32>
  %70 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%69 : tensor<?x2x?x?xf32>) outs(%68 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %112 = math.exp %in : f32
    linalg.yield %112 : f32
  } -> tensor<?x2x?x?xf32>
  %71 = tensor.empty(%61, %62) : tensor<?x2x?x1xf32>
  %72 = linalg.fill ins(%cst : f32) outs(%71 : tensor<?x2x?x1xf32>) -> tensor<?x2x?x1xf32>
  %73 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%70 : tensor<?x2x?x?xf32>) outs(%72 : tensor<?x2x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %112 = arith.addf %in, %out : f32
    linalg.yield %112 : f32
  } -> tensor<?x2x?x1xf32>
  %74 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%70, %73 : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32>) outs(%68 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %112 = arith.divf %in, %in_16 : f32
    linalg.yield %112 : f32
  } -> tensor<?x2x?x?xf32>
  %75 = tensor.empty(%61, %62, %62) : tensor<?x2x?x?xi1>
  %76 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_10 : tensor<?x2x?x?xf32>) outs(%75 : tensor<?x2x?x?xi1>) {
  ^bb0(%in: f32, %out: i1):
    %112 = arith.extf %in : f32 to f64
    %113 = arith.cmpf oeq, %112, %cst_2 : f64
    linalg.yield %113 : i1
  } -> tensor<?x2x?x?xi1>
  %77 = tensor.empty(%61, %62) : tensor<?x2x?x1xi1>
  %78 = linalg.fill ins(%true : i1) outs(%77 : tensor<?x2x?x1xi1>) -> tensor<?x2x?x1xi1>
  %79 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%76 : tensor<?x2x?x?xi1>) outs(%78 : tensor<?x2x?x1xi1>) {
  ^bb0(%in: i1, %out: i1):
    %112 = arith.andi %in, %out : i1
    linalg.yield %112 : i1
  } -> tensor<?x2x?x1xi1>
  %80 = arith.cmpi sge, %59, %c0_i64 : i64
  cf.assert %80, "negative values not allowed in new dimensions"
  %81 = arith.cmpi sge, %60, %c0_i64 : i64
  cf.assert %81, "negative values not allowed in new dimensions"
  cf.assert %81, "negative values not allowed in new dimensions"
  %82 = linalg.generic {indexing_maps = [#map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%68 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x2x?x?xf32>
  %83 = arith.cmpi eq, %61, %61 : index
  cf.assert %83, "mismatched size for broadcast"
  %84 = arith.cmpi eq, %62, %62 : index
  cf.assert %84, "mismatched size for broadcast"
  cf.assert %84, "mismatched size for broadcast"
  %85 = linalg.generic {indexing_maps = [#map2, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%79, %82, %74 : tensor<?x2x?x1xi1>, tensor<?x2x?x?xf32>, tensor<?x2x?x?xf32>) outs(%68 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: i1, %in_16: f32, %in_17: f32, %out: f32):
    %112 = arith.select %in, %in_16, %in_17 : f32
    linalg.yield %112 : f32
  } -> tensor<?x2x?x?xf32>
  cf.assert %7, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  %86 = tensor.empty(%dim, %dim_4, %dim_4) : tensor<?x2x?x?xf32>
  %87 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%86 : tensor<?x2x?x?xf32>) {
  ^bb0(%out: f32):
    %112 = linalg.index 0 : index
    %113 = linalg.index 1 : index
    %114 = linalg.index 2 : index
    %115 = linalg.index 3 : index
    %116 = arith.cmpi eq, %61, %c1 : index
    %117 = arith.select %116, %c0, %112 : index
    %118 = arith.cmpi eq, %62, %c1 : index
    %119 = arith.select %118, %c0, %114 : index
    %120 = arith.select %118, %c0, %115 : index
    %extracted = tensor.extract %85[%117, %113, %119, %120] : tensor<?x2x?x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x?x?xf32>
  %88 = arith.muli %17, %1 : i64
  %89 = arith.addi %18, %c1_i64 : i64
  %90 = arith.select %16, %12, %88 : i64
  %91 = arith.select %16, %89, %13 : i64
  %92 = arith.cmpi sle, %91, %c1_i64 : i64
  cf.assert %92, "must have at most one inferred (negative) dimension"
  %93 = arith.muli %21, %1 : i64
  %94 = arith.divsi %93, %90 : i64
  %95 = arith.select %11, %94, %6 : i64
  %96 = arith.select %16, %94, %1 : i64
  %from_elements_11 = tensor.from_elements %95, %96, %96 : tensor<3xi64>
  %reshape_12 = tensor.reshape %87(%from_elements_11) : (tensor<?x2x?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  cf.assert %7, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  %97 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%9 : tensor<?x2x?x4xf32>) {
  ^bb0(%out: f32):
    %112 = linalg.index 0 : index
    %113 = linalg.index 1 : index
    %114 = linalg.index 2 : index
    %115 = linalg.index 3 : index
    %116 = arith.cmpi eq, %dim_5, %c1 : index
    %117 = arith.select %116, %c0, %112 : index
    %118 = arith.cmpi eq, %dim_6, %c1 : index
    %119 = arith.select %118, %c0, %114 : index
    %extracted = tensor.extract %arg2[%117, %113, %119, %115] : tensor<?x2x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x?x4xf32>
  cf.assert %20, "must have at most one inferred (negative) dimension"
  %reshape_13 = tensor.reshape %97(%from_elements) : (tensor<?x2x?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %98 = arith.index_cast %95 : i64 to index
  %99 = arith.index_cast %96 : i64 to index
  %100 = arith.cmpi eq, %95, %24 : i64
  cf.assert %100, "mismatching contracting dimension"
  %101 = arith.cmpi eq, %96, %25 : i64
  cf.assert %101, "mismatching contracting dimension"
  %102 = tensor.empty(%98, %99) : tensor<?x?x4xf32>
  %103 = linalg.fill ins(%cst : f32) outs(%102 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %104 = linalg.batch_matmul ins(%reshape_12, %reshape_13 : tensor<?x?x?xf32>, tensor<?x?x4xf32>) outs(%103 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %105 = arith.muli %49, %c4_i64 : i64
  %106 = arith.cmpi sle, %50, %c1_i64 : i64
  cf.assert %106, "must have at most one inferred (negative) dimension"
  %107 = arith.muli %95, %96 : i64
  %108 = arith.muli %107, %c4_i64 : i64
  %109 = arith.divsi %108, %105 : i64
  %110 = arith.select %43, %109, %0 : i64
  %111 = arith.select %16, %109, %1 : i64
  %from_elements_14 = tensor.from_elements %110, %c2_i64, %111, %c4_i64 : tensor<4xi64>
  %reshape_15 = tensor.reshape %104(%from_elements_14) : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x2x?x4xf32>
  return %reshape_15 : tensor<?x2x?x4xf32>
}
