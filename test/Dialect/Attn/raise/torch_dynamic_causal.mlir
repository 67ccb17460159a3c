// As torch-mlir writes it: a causal mask of sizes that are not known, with the lowest number: each query sees the first key.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_dynamic_causal(
// CHECK: attn.sdpa {{.*}}layout<bhsd> mask<causal, top_left> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
func.func @torch_dynamic_causal(%arg0: tensor<?x2x?x4xf32>, %arg1: tensor<?x2x?x4xf32>, %arg2: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %c1_i64 = arith.constant 1 : i64
  %c2_i64 = arith.constant 2 : i64
  %c0_i64 = arith.constant 0 : i64
  %c4_i64 = arith.constant 4 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant dense<-3.40282347E+38> : tensor<f32>
  %c8_i64 = arith.constant 8 : i64
  %cst_2 = arith.constant 5.000000e-01 : f32
  %dim = tensor.dim %arg0, %c0 : tensor<?x2x?x4xf32>
  %0 = arith.index_cast %dim : index to i64
  %dim_3 = tensor.dim %arg0, %c2 : tensor<?x2x?x4xf32>
  %1 = arith.index_cast %dim_3 : index to i64
  %2 = tensor.empty(%dim_3) : tensor<?xi64>
  %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%2 : tensor<?xi64>) {
  ^bb0(%out: i64):
    %105 = linalg.index 0 : index
    %106 = arith.index_cast %105 : index to i64
    linalg.yield %106 : i64
  } -> tensor<?xi64>
  %expanded = tensor.expand_shape %3 [[0, 1]] output_shape [%dim_3, 1] : tensor<?xi64> into tensor<?x1xi64>
  %expanded_4 = tensor.expand_shape %3 [[0, 1]] output_shape [1, %dim_3] : tensor<?xi64> into tensor<1x?xi64>
  %4 = tensor.empty(%dim_3, %dim_3) : tensor<?x?xi1>
  %5 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_4 : tensor<?x1xi64>, tensor<1x?xi64>) outs(%4 : tensor<?x?xi1>) {
  ^bb0(%in: i64, %in_16: i64, %out: i1):
    %105 = arith.cmpi sge, %in, %in_16 : i64
    linalg.yield %105 : i1
  } -> tensor<?x?xi1>
  %dim_5 = tensor.dim %arg2, %c0 : tensor<?x2x?x4xf32>
  %dim_6 = tensor.dim %arg2, %c2 : tensor<?x2x?x4xf32>
  %6 = tensor.empty(%dim_5, %dim_6) : tensor<?x2x4x?xf32>
  %transposed = linalg.transpose ins(%arg2 : tensor<?x2x?x4xf32>) outs(%6 : tensor<?x2x4x?xf32>) permutation = [0, 1, 3, 2] 
  %7 = arith.muli %0, %c2_i64 : i64
  %8 = arith.cmpi sge, %0, %c0_i64 : i64
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  %9 = arith.cmpi sge, %1, %c0_i64 : i64
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  %10 = tensor.empty(%dim, %dim_3) : tensor<?x2x?x4xf32>
  %11 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%10 : tensor<?x2x?x4xf32>) {
  ^bb0(%out: f32):
    %105 = linalg.index 0 : index
    %106 = linalg.index 1 : index
    %107 = linalg.index 2 : index
    %108 = linalg.index 3 : index
    %109 = arith.cmpi eq, %dim_5, %c1 : index
    %110 = arith.select %109, %c0, %105 : index
    %111 = arith.cmpi eq, %dim_6, %c1 : index
    %112 = arith.select %111, %c0, %107 : index
    %extracted = tensor.extract %arg2[%110, %106, %112, %108] : tensor<?x2x?x4xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x?x4xf32>
  %12 = arith.cmpi slt, %7, %c0_i64 : i64
  %13 = arith.select %12, %c1_i64, %7 : i64
  %14 = arith.extui %12 : i1 to i64
  %15 = arith.muli %13, %1 : i64
  %16 = arith.addi %14, %c1_i64 : i64
  %17 = arith.cmpi slt, %1, %c0_i64 : i64
  %18 = arith.select %17, %13, %15 : i64
  %19 = arith.select %17, %16, %14 : i64
  %20 = arith.muli %18, %c4_i64 : i64
  %21 = arith.cmpi sle, %19, %c1_i64 : i64
  cf.assert %21, "must have at most one inferred (negative) dimension"
  %22 = arith.muli %7, %1 : i64
  %23 = arith.muli %22, %c4_i64 : i64
  %24 = arith.divsi %23, %20 : i64
  %25 = arith.select %12, %24, %7 : i64
  %26 = arith.select %17, %24, %1 : i64
  %from_elements = tensor.from_elements %25, %26, %c4_i64 : tensor<3xi64>
  %reshape = tensor.reshape %11(%from_elements) : (tensor<?x2x?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  %27 = tensor.empty(%dim, %dim_3) : tensor<?x2x4x?xf32>
  %28 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%27 : tensor<?x2x4x?xf32>) {
  ^bb0(%out: f32):
    %105 = linalg.index 0 : index
    %106 = linalg.index 1 : index
    %107 = linalg.index 2 : index
    %108 = linalg.index 3 : index
    %109 = arith.cmpi eq, %dim_5, %c1 : index
    %110 = arith.select %109, %c0, %105 : index
    %111 = arith.cmpi eq, %dim_6, %c1 : index
    %112 = arith.select %111, %c0, %108 : index
    %extracted = tensor.extract %transposed[%110, %106, %107, %112] : tensor<?x2x4x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x4x?xf32>
  %29 = arith.muli %13, %c4_i64 : i64
  %30 = arith.muli %29, %1 : i64
  %31 = arith.select %17, %29, %30 : i64
  cf.assert %21, "must have at most one inferred (negative) dimension"
  %32 = arith.muli %0, %c8_i64 : i64
  %33 = arith.muli %32, %1 : i64
  %34 = arith.divsi %33, %31 : i64
  %35 = arith.select %12, %34, %7 : i64
  %36 = arith.select %17, %34, %1 : i64
  %from_elements_7 = tensor.from_elements %35, %c4_i64, %36 : tensor<3xi64>
  %reshape_8 = tensor.reshape %28(%from_elements_7) : (tensor<?x2x4x?xf32>, tensor<3xi64>) -> tensor<?x4x?xf32>
  %37 = arith.index_cast %25 : i64 to index
  %38 = arith.index_cast %26 : i64 to index
  %39 = arith.index_cast %36 : i64 to index
  %40 = arith.cmpi eq, %25, %35 : i64
  cf.assert %40, "mismatching contracting dimension"
  %41 = tensor.empty(%37, %38, %39) : tensor<?x?x?xf32>
  %42 = linalg.fill ins(%cst : f32) outs(%41 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %43 = linalg.batch_matmul ins(%reshape, %reshape_8 : tensor<?x?x4xf32>, tensor<?x4x?xf32>) outs(%42 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %44 = arith.cmpi slt, %0, %c0_i64 : i64
  %45 = arith.select %44, %c1_i64, %0 : i64
  %46 = arith.extui %44 : i1 to i64
  %47 = arith.muli %45, %c2_i64 : i64
  %48 = arith.muli %47, %1 : i64
  %49 = arith.addi %46, %c1_i64 : i64
  %50 = arith.select %17, %47, %48 : i64
  %51 = arith.select %17, %49, %46 : i64
  %52 = arith.muli %50, %1 : i64
  %53 = arith.addi %51, %c1_i64 : i64
  %54 = arith.select %17, %47, %52 : i64
  %55 = arith.select %17, %53, %46 : i64
  %56 = arith.cmpi sle, %55, %c1_i64 : i64
  cf.assert %56, "must have at most one inferred (negative) dimension"
  %57 = arith.muli %25, %26 : i64
  %58 = arith.muli %57, %36 : i64
  %59 = arith.divsi %58, %54 : i64
  %60 = arith.select %44, %59, %0 : i64
  %61 = arith.select %17, %59, %1 : i64
  %from_elements_9 = tensor.from_elements %60, %c2_i64, %61, %61 : tensor<4xi64>
  %reshape_10 = tensor.reshape %43(%from_elements_9) : (tensor<?x?x?xf32>, tensor<4xi64>) -> tensor<?x2x?x?xf32>
  %62 = arith.index_cast %60 : i64 to index
  %63 = arith.index_cast %61 : i64 to index
  %64 = tensor.empty(%62, %63, %63) : tensor<?x2x?x?xf32>
  %65 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%reshape_10 : tensor<?x2x?x?xf32>) outs(%64 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %105 = arith.mulf %in, %cst_2 : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x?xf32>
  %66 = arith.cmpi eq, %dim_3, %63 : index
  cf.assert %66, "mismatched size for broadcast"
  cf.assert %66, "mismatched size for broadcast"
  %67 = tensor.empty(%62, %dim_3, %dim_3) : tensor<?x2x?x?xf32>
  %68 = linalg.generic {indexing_maps = [#map5, #map4, #map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %65, %cst_1 : tensor<?x?xi1>, tensor<?x2x?x?xf32>, tensor<f32>) outs(%67 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: i1, %in_16: f32, %in_17: f32, %out: f32):
    %105 = arith.select %in, %in_16, %in_17 : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x?xf32>
  %69 = tensor.empty(%62, %dim_3) : tensor<?x2x?xi64>
  %70 = linalg.fill ins(%c0_i64 : i64) outs(%69 : tensor<?x2x?xi64>) -> tensor<?x2x?xi64>
  %71 = tensor.empty(%62, %dim_3) : tensor<?x2x?xf32>
  %72 = linalg.fill ins(%cst_0 : f32) outs(%71 : tensor<?x2x?xf32>) -> tensor<?x2x?xf32>
  %73:2 = linalg.generic {indexing_maps = [#map4, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%68 : tensor<?x2x?x?xf32>) outs(%72, %70 : tensor<?x2x?xf32>, tensor<?x2x?xi64>) {
  ^bb0(%in: f32, %out: f32, %out_16: i64):
    %105 = linalg.index 3 : index
    %106 = arith.index_cast %105 : index to i64
    %107 = arith.maximumf %in, %out : f32
    %108 = arith.cmpf ogt, %in, %out : f32
    %109 = arith.select %108, %106, %out_16 : i64
    linalg.yield %107, %109 : f32, i64
  } -> (tensor<?x2x?xf32>, tensor<?x2x?xi64>)
  %expanded_11 = tensor.expand_shape %73#0 [[0], [1], [2, 3]] output_shape [%62, 2, %dim_3, 1] : tensor<?x2x?xf32> into tensor<?x2x?x1xf32>
  %74 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%68, %expanded_11 : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32>) outs(%67 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %105 = arith.subf %in, %in_16 : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x?xf32>
  %75 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74 : tensor<?x2x?x?xf32>) outs(%67 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %105 = math.exp %in : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x?xf32>
  %76 = tensor.empty(%62, %dim_3) : tensor<?x2x?x1xf32>
  %77 = linalg.fill ins(%cst : f32) outs(%76 : tensor<?x2x?x1xf32>) -> tensor<?x2x?x1xf32>
  %78 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%75 : tensor<?x2x?x?xf32>) outs(%77 : tensor<?x2x?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %105 = arith.addf %in, %out : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x1xf32>
  %79 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%75, %78 : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32>) outs(%67 : tensor<?x2x?x?xf32>) {
  ^bb0(%in: f32, %in_16: f32, %out: f32):
    %105 = arith.divf %in, %in_16 : f32
    linalg.yield %105 : f32
  } -> tensor<?x2x?x?xf32>
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  %80 = tensor.empty(%dim, %dim_3, %dim_3) : tensor<?x2x?x?xf32>
  %81 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%80 : tensor<?x2x?x?xf32>) {
  ^bb0(%out: f32):
    %105 = linalg.index 0 : index
    %106 = linalg.index 1 : index
    %107 = linalg.index 2 : index
    %108 = linalg.index 3 : index
    %109 = arith.cmpi eq, %62, %c1 : index
    %110 = arith.select %109, %c0, %105 : index
    %111 = arith.cmpi eq, %dim_3, %c1 : index
    %112 = arith.select %111, %c0, %107 : index
    %113 = arith.select %111, %c0, %108 : index
    %extracted = tensor.extract %79[%110, %106, %112, %113] : tensor<?x2x?x?xf32>
    linalg.yield %extracted : f32
  } -> tensor<?x2x?x?xf32>
  %82 = arith.muli %18, %1 : i64
  %83 = arith.addi %19, %c1_i64 : i64
  %84 = arith.select %17, %13, %82 : i64
  %85 = arith.select %17, %83, %14 : i64
  %86 = arith.cmpi sle, %85, %c1_i64 : i64
  cf.assert %86, "must have at most one inferred (negative) dimension"
  %87 = arith.muli %22, %1 : i64
  %88 = arith.divsi %87, %84 : i64
  %89 = arith.select %12, %88, %7 : i64
  %90 = arith.select %17, %88, %1 : i64
  %from_elements_12 = tensor.from_elements %89, %90, %90 : tensor<3xi64>
  %reshape_13 = tensor.reshape %81(%from_elements_12) : (tensor<?x2x?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  cf.assert %8, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %9, "unimplemented: dynamic negative broadcast sizes"
  cf.assert %21, "must have at most one inferred (negative) dimension"
  %91 = arith.index_cast %89 : i64 to index
  %92 = arith.index_cast %90 : i64 to index
  %93 = arith.cmpi eq, %89, %25 : i64
  cf.assert %93, "mismatching contracting dimension"
  %94 = arith.cmpi eq, %90, %26 : i64
  cf.assert %94, "mismatching contracting dimension"
  %95 = tensor.empty(%91, %92) : tensor<?x?x4xf32>
  %96 = linalg.fill ins(%cst : f32) outs(%95 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %97 = linalg.batch_matmul ins(%reshape_13, %reshape : tensor<?x?x?xf32>, tensor<?x?x4xf32>) outs(%96 : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %98 = arith.muli %50, %c4_i64 : i64
  %99 = arith.cmpi sle, %51, %c1_i64 : i64
  cf.assert %99, "must have at most one inferred (negative) dimension"
  %100 = arith.muli %89, %90 : i64
  %101 = arith.muli %100, %c4_i64 : i64
  %102 = arith.divsi %101, %98 : i64
  %103 = arith.select %44, %102, %0 : i64
  %104 = arith.select %17, %102, %1 : i64
  %from_elements_14 = tensor.from_elements %103, %c2_i64, %104, %c4_i64 : tensor<4xi64>
  %reshape_15 = tensor.reshape %97(%from_elements_14) : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x2x?x4xf32>
  return %reshape_15 : tensor<?x2x?x4xf32>
}
