// As torch-mlir writes it: nn.MultiheadAttention.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_mha(
// CHECK: attn.sdpa {{.*}}layout<
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2) -> (d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map6 = affine_map<(d0, d1) -> (d1)>
#map7 = affine_map<(d0, d1) -> (d0, d1)>
func.func @torch_mha(%arg0: tensor<2x6x8xf32>, %arg1: tensor<2x8x8xf32>, %arg2: tensor<2x8x8xf32>) -> tensor<2x6x8xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x2x6x8xf32>
  %cst_2 = arith.constant dense_resource<torch_tensor_8_torch.float32> : tensor<8xf32>
  %cst_3 = arith.constant dense_resource<torch_tensor_8_8_torch.float32> : tensor<8x8xf32>
  %cst_4 = arith.constant 0xFFF0000000000000 : f64
  %cst_5 = arith.constant 0.70710678118654757 : f64
  %cst_6 = arith.constant dense_resource<torch_tensor_24_torch.float32> : tensor<24xf32>
  %cst_7 = arith.constant dense_resource<torch_tensor_24_8_torch.float32> : tensor<24x8xf32>
  %0 = tensor.empty() : tensor<6x2x8xf32>
  %transposed = linalg.transpose ins(%arg0 : tensor<2x6x8xf32>) outs(%0 : tensor<6x2x8xf32>) permutation = [1, 0, 2] 
  %1 = tensor.empty() : tensor<8x2x8xf32>
  %transposed_8 = linalg.transpose ins(%arg1 : tensor<2x8x8xf32>) outs(%1 : tensor<8x2x8xf32>) permutation = [1, 0, 2] 
  %transposed_9 = linalg.transpose ins(%arg2 : tensor<2x8x8xf32>) outs(%1 : tensor<8x2x8xf32>) permutation = [1, 0, 2] 
  %extracted_slice = tensor.extract_slice %cst_7[0, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_10 = tensor.extract_slice %cst_7[8, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_11 = tensor.extract_slice %cst_7[16, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_12 = tensor.extract_slice %cst_6[0] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %extracted_slice_13 = tensor.extract_slice %cst_6[8] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %extracted_slice_14 = tensor.extract_slice %cst_6[16] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %2 = tensor.empty() : tensor<8x8xf32>
  %transposed_15 = linalg.transpose ins(%extracted_slice : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %3 = tensor.empty() : tensor<6x8x8xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_15 : tensor<8x8xf32>) outs(%3 : tensor<6x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x8x8xf32>
  %5 = linalg.fill ins(%cst : f32) outs(%0 : tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
  %6 = linalg.batch_matmul ins(%transposed, %4 : tensor<6x2x8xf32>, tensor<6x8x8xf32>) outs(%5 : tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %extracted_slice_12 : tensor<6x2x8xf32>, tensor<8xf32>) outs(%0 : tensor<6x2x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.addf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<6x2x8xf32>
  %transposed_16 = linalg.transpose ins(%extracted_slice_10 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %8 = tensor.empty() : tensor<8x8x8xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_16 : tensor<8x8xf32>) outs(%8 : tensor<8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8x8xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %11 = linalg.batch_matmul ins(%transposed_8, %9 : tensor<8x2x8xf32>, tensor<8x8x8xf32>) outs(%10 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %12 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11, %extracted_slice_13 : tensor<8x2x8xf32>, tensor<8xf32>) outs(%1 : tensor<8x2x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.addf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<8x2x8xf32>
  %transposed_17 = linalg.transpose ins(%extracted_slice_11 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_17 : tensor<8x8xf32>) outs(%8 : tensor<8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8x8xf32>
  %14 = linalg.batch_matmul ins(%transposed_9, %13 : tensor<8x2x8xf32>, tensor<8x8x8xf32>) outs(%10 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %15 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %extracted_slice_14 : tensor<8x2x8xf32>, tensor<8xf32>) outs(%1 : tensor<8x2x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.addf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<8x2x8xf32>
  %collapsed = tensor.collapse_shape %7 [[0], [1, 2]] : tensor<6x2x8xf32> into tensor<6x16xf32>
  %expanded = tensor.expand_shape %collapsed [[0], [1, 2]] output_shape [6, 4, 4] : tensor<6x16xf32> into tensor<6x4x4xf32>
  %16 = tensor.empty() : tensor<4x6x4xf32>
  %transposed_18 = linalg.transpose ins(%expanded : tensor<6x4x4xf32>) outs(%16 : tensor<4x6x4xf32>) permutation = [1, 0, 2] 
  %collapsed_19 = tensor.collapse_shape %12 [[0], [1, 2]] : tensor<8x2x8xf32> into tensor<8x16xf32>
  %expanded_20 = tensor.expand_shape %collapsed_19 [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %17 = tensor.empty() : tensor<4x8x4xf32>
  %transposed_21 = linalg.transpose ins(%expanded_20 : tensor<8x4x4xf32>) outs(%17 : tensor<4x8x4xf32>) permutation = [1, 0, 2] 
  %collapsed_22 = tensor.collapse_shape %15 [[0], [1, 2]] : tensor<8x2x8xf32> into tensor<8x16xf32>
  %expanded_23 = tensor.expand_shape %collapsed_22 [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %transposed_24 = linalg.transpose ins(%expanded_23 : tensor<8x4x4xf32>) outs(%17 : tensor<4x8x4xf32>) permutation = [1, 0, 2] 
  %expanded_25 = tensor.expand_shape %transposed_18 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  %expanded_26 = tensor.expand_shape %transposed_21 [[0, 1], [2], [3]] output_shape [2, 2, 8, 4] : tensor<4x8x4xf32> into tensor<2x2x8x4xf32>
  %18 = tensor.empty() : tensor<2x2x6x4xf32>
  %19 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_25 : tensor<2x2x6x4xf32>) outs(%18 : tensor<2x2x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.truncf %cst_5 : f64 to f32
    %53 = arith.mulf %in, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x2x6x4xf32>
  %20 = tensor.empty() : tensor<2x2x4x8xf32>
  %transposed_27 = linalg.transpose ins(%expanded_26 : tensor<2x2x8x4xf32>) outs(%20 : tensor<2x2x4x8xf32>) permutation = [0, 1, 3, 2] 
  %21 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_27 : tensor<2x2x4x8xf32>) outs(%20 : tensor<2x2x4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.truncf %cst_5 : f64 to f32
    %53 = arith.mulf %in, %52 : f32
    linalg.yield %53 : f32
  } -> tensor<2x2x4x8xf32>
  %collapsed_28 = tensor.collapse_shape %19 [[0, 1], [2], [3]] : tensor<2x2x6x4xf32> into tensor<4x6x4xf32>
  %collapsed_29 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x2x4x8xf32> into tensor<4x4x8xf32>
  %22 = tensor.empty() : tensor<4x6x8xf32>
  %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %24 = linalg.batch_matmul ins(%collapsed_28, %collapsed_29 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%23 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %expanded_30 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 2, 6, 8] : tensor<4x6x8xf32> into tensor<2x2x6x8xf32>
  %25 = tensor.empty() : tensor<2x2x6xi64>
  %26 = linalg.fill ins(%c0_i64 : i64) outs(%25 : tensor<2x2x6xi64>) -> tensor<2x2x6xi64>
  %27 = tensor.empty() : tensor<2x2x6xf32>
  %28 = linalg.fill ins(%cst_0 : f32) outs(%27 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %29:2 = linalg.generic {indexing_maps = [#map3, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_30 : tensor<2x2x6x8xf32>) outs(%28, %26 : tensor<2x2x6xf32>, tensor<2x2x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_39: i64):
    %52 = linalg.index 3 : index
    %53 = arith.index_cast %52 : index to i64
    %54 = arith.maximumf %in, %out : f32
    %55 = arith.cmpf ogt, %in, %out : f32
    %56 = arith.select %55, %53, %out_39 : i64
    linalg.yield %54, %56 : f32, i64
  } -> (tensor<2x2x6xf32>, tensor<2x2x6xi64>)
  %expanded_31 = tensor.expand_shape %29#0 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %30 = tensor.empty() : tensor<2x2x6x8xf32>
  %31 = linalg.generic {indexing_maps = [#map3, #map5, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_30, %expanded_31 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%30 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.subf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<2x2x6x8xf32>
  %32 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x2x6x8xf32>) outs(%30 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = math.exp %in : f32
    linalg.yield %52 : f32
  } -> tensor<2x2x6x8xf32>
  %33 = tensor.empty() : tensor<2x2x6x1xf32>
  %34 = linalg.fill ins(%cst : f32) outs(%33 : tensor<2x2x6x1xf32>) -> tensor<2x2x6x1xf32>
  %35 = linalg.generic {indexing_maps = [#map3, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<2x2x6x8xf32>) outs(%34 : tensor<2x2x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %52 = arith.addf %in, %out : f32
    linalg.yield %52 : f32
  } -> tensor<2x2x6x1xf32>
  %36 = linalg.generic {indexing_maps = [#map3, #map5, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32, %35 : tensor<2x2x6x8xf32>, tensor<2x2x6x1xf32>) outs(%30 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.divf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<2x2x6x8xf32>
  %37 = tensor.empty() : tensor<2x2x6x8xi1>
  %38 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_30 : tensor<2x2x6x8xf32>) outs(%37 : tensor<2x2x6x8xi1>) {
  ^bb0(%in: f32, %out: i1):
    %52 = arith.extf %in : f32 to f64
    %53 = arith.cmpf oeq, %52, %cst_4 : f64
    linalg.yield %53 : i1
  } -> tensor<2x2x6x8xi1>
  %39 = tensor.empty() : tensor<2x2x6x1xi1>
  %40 = linalg.fill ins(%true : i1) outs(%39 : tensor<2x2x6x1xi1>) -> tensor<2x2x6x1xi1>
  %41 = linalg.generic {indexing_maps = [#map3, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%38 : tensor<2x2x6x8xi1>) outs(%40 : tensor<2x2x6x1xi1>) {
  ^bb0(%in: i1, %out: i1):
    %52 = arith.andi %in, %out : i1
    linalg.yield %52 : i1
  } -> tensor<2x2x6x1xi1>
  %42 = linalg.generic {indexing_maps = [#map5, #map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41, %cst_1, %36 : tensor<2x2x6x1xi1>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%30 : tensor<2x2x6x8xf32>) {
  ^bb0(%in: i1, %in_39: f32, %in_40: f32, %out: f32):
    %52 = arith.select %in, %in_39, %in_40 : f32
    linalg.yield %52 : f32
  } -> tensor<2x2x6x8xf32>
  %collapsed_32 = tensor.collapse_shape %42 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
  %43 = linalg.fill ins(%cst : f32) outs(%16 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %44 = linalg.batch_matmul ins(%collapsed_32, %transposed_24 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%43 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %expanded_33 = tensor.expand_shape %44 [[0, 1], [2], [3]] output_shape [2, 2, 6, 4] : tensor<4x6x4xf32> into tensor<2x2x6x4xf32>
  %45 = tensor.empty() : tensor<6x2x2x4xf32>
  %transposed_34 = linalg.transpose ins(%expanded_33 : tensor<2x2x6x4xf32>) outs(%45 : tensor<6x2x2x4xf32>) permutation = [2, 0, 1, 3] 
  %collapsed_35 = tensor.collapse_shape %transposed_34 [[0, 1], [2, 3]] : tensor<6x2x2x4xf32> into tensor<12x8xf32>
  %transposed_36 = linalg.transpose ins(%cst_3 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %46 = tensor.empty() : tensor<12x8xf32>
  %47 = linalg.fill ins(%cst : f32) outs(%46 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %48 = linalg.matmul ins(%collapsed_35, %transposed_36 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%47 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %49 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<8xf32>) outs(%46 : tensor<12x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<12x8xf32>
  %50 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%48, %49 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%46 : tensor<12x8xf32>) {
  ^bb0(%in: f32, %in_39: f32, %out: f32):
    %52 = arith.addf %in, %in_39 : f32
    linalg.yield %52 : f32
  } -> tensor<12x8xf32>
  %expanded_37 = tensor.expand_shape %50 [[0, 1], [2]] output_shape [6, 2, 8] : tensor<12x8xf32> into tensor<6x2x8xf32>
  %51 = tensor.empty() : tensor<2x6x8xf32>
  %transposed_38 = linalg.transpose ins(%expanded_37 : tensor<6x2x8xf32>) outs(%51 : tensor<2x6x8xf32>) permutation = [1, 0, 2] 
  return %transposed_38 : tensor<2x6x8xf32>
}

{-#
dialect_resources: {
  builtin: {
    torch_tensor_8_torch.float32: "0x040000000000000000000000000000000000000000000000000000000000000000000000",
    torch_tensor_8_8_torch.float32: "0x040000004A94A5BD5CCD80BC5F7F5CBE35E2F43DB7EDE43DA5FCEEBBB8D8A2BDE22B5FBEAF5D7A3E52C186BE9350143E3B79F3BD0DAC2EBEB113823D42103CBEB8D4A63DE7318E3DAB6786BE9B1D713DED331A3E5E4E0F3EB44A36BDBD6594BE2A3D5FBD457AFB3D811904BE4C6C093EAD1A713E000A3DBED280643BDFB3153EA901E33CDDEEF13C0ED3343DD54E8EBEAA9DE33C6BB37A3E771EA33EDFC9543EA00E423DC313293EDB1F30BE350296BE8FA99BBE2F96B43E7BD1653EDB407ABE1CA50D3E2FB3883E1AF3B43E4A489E3ED43E8C3E5E00A6BDE11BFEBD2FA0943E0CE14A3E05DE59BE50BDA23E0EEC2E3E315C453ED2EA62BED6BCCF3D96D5FDBDCE708D3E",
    torch_tensor_24_torch.float32: "0x04000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    torch_tensor_24_8_torch.float32: "0x040000008A0096BEC5B7DABE1B0AB2BE0A07AF3EDEE56F3E3901D03E4F9CB13E8BFDC5BEF34B97BE064B8FBD13FB8FBE0EF3993EDB9BA7BE835658BE542FD6BEC1BD7BBE6658B63E6A85B53EF9B39E3EBB2EAB3E8722C53E4714E3BD6019433E8185C53ECBAF123E78A1DD3E4DFA653E2CD2893E33301BBE07C2543EF1CC4B3D1DC9D3BDA7F379BE49CD78BE8898AABEEBD5943E7F9D9D3E47DC49BDCF4B80BEE65AAB3EBBC68D3E1FD7033DDF5851BE55C1CB3E8B53353EEF4DA8BE0B30D43EE65AA83EF89D21BE1B43793E17F07BBED0F98ABD733FBC3EA291923CC3CA9CBE573314BE64B8F0BD5817ABBD8EBC293D7B09CD3EA4EBBD3C53E388BEABCFB53C659B543E5CF25B3E599FCABE1DB09EBDCAC1A4BECC313DBE82C11F3E09709DBE57D3243E1E2DBC3E5BA8E83C12C393BE87DD1EBEC2A5C13D0002A9BEC6495C3EE646C9BE031FD5BE6A6BD7BEB7E6B3BD7E14953E35D6D1BEB946B83E445F31BEC4DD013EB6C3A13CD3E9C7BE44DDB73E9FBF6E3E0F5FDC3E7C03603EC55692BE8107B93EF8A4BE3C1B45523E7CC4B1BEEF11FFBD49AFD9BEF3B32CBE0250BF3D8312AEBE76570D3ED8056E3EED14773D635694BEECE3ABBE3DCC08BEE1A2423EC2AFDA3E82F87E3EDEB947BD10771B3E0C81D9BE3D5BBDBE73E54E3EBD267BBEFA51553EC6819CBE939F5BBE299DB6BE0363673E22B934BD5B9FAA3E9C34893ED95A753E8121643C501709BE11D2C0BD14B76B3DD3CC5B3E91529BBEEC11BA3E89D840BD4EC6B9BE62E86FBE932AC43EC2C0CA3EC85BCDBECC5D9C3E6C375E3ED43A833E7AADBB3E28F96EBE3C040C3EC074353EF30503BE0A63143EAA25FFBDF111893EAE0CF6BDAB4C25BEEA40DF3DDF451D3E97A258BEFAC81C3D097C803E297830BD74F1063E14E3D5BDCD691B3E9A99A0BE115E82BE741161BE3CBFCB3E60A0EEBDE4F69ABAE6D356BECA52DD3EBC87D83E7F34A7BE40BAB3BE870CA8BEECDB08BB240DE2BD4A1D91BE7A091FBEB88BA73DCDAC67BE6980C43D105CCBBD9ADB56BE6EAB733DF54BB63E72E395BEC7B6A43C728323BEDD8ED93EDB57D2BE9F89D4BE"
  }
}
#-}
