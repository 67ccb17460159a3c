// As torch-mlir writes it: nn.MultiheadAttention that returns its weights.
//
// RUN: fa4-opt %s --raise-to-attn --canonicalize | FileCheck %s
// RUN: fa4-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --canonicalize --cse --raise-to-attn \
// RUN:   --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @torch_mha_weights(
// CHECK: attn.sdpa {{.*}}layout<sbhd> scale(5.000{{.*}})
// CHECK-NOT: arith.maximumf
// CHECK-NOT: arith.divf
// CHECK: return
#map = affine_map<(d0, d1, d2) -> (d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map5 = affine_map<(d0, d1) -> (d1)>
#map6 = affine_map<(d0, d1) -> (d0, d1)>
func.func @torch_mha_weights(%arg0: tensor<2x6x8xf32>, %arg1: tensor<2x8x8xf32>, %arg2: tensor<2x8x8xf32>) -> tensor<2x6x8xf32> {
  %c0_i64 = arith.constant 0 : i64
  %cst = arith.constant 0.000000e+00 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %cst_1 = arith.constant dense_resource<torch_tensor_8_torch.float32> : tensor<8xf32>
  %cst_2 = arith.constant dense_resource<torch_tensor_8_8_torch.float32> : tensor<8x8xf32>
  %cst_3 = arith.constant dense_resource<torch_tensor_24_torch.float32> : tensor<24xf32>
  %cst_4 = arith.constant dense_resource<torch_tensor_24_8_torch.float32> : tensor<24x8xf32>
  %cst_5 = arith.constant 5.000000e-01 : f32
  %0 = tensor.empty() : tensor<6x2x8xf32>
  %transposed = linalg.transpose ins(%arg0 : tensor<2x6x8xf32>) outs(%0 : tensor<6x2x8xf32>) permutation = [1, 0, 2] 
  %1 = tensor.empty() : tensor<8x2x8xf32>
  %transposed_6 = linalg.transpose ins(%arg1 : tensor<2x8x8xf32>) outs(%1 : tensor<8x2x8xf32>) permutation = [1, 0, 2] 
  %transposed_7 = linalg.transpose ins(%arg2 : tensor<2x8x8xf32>) outs(%1 : tensor<8x2x8xf32>) permutation = [1, 0, 2] 
  %extracted_slice = tensor.extract_slice %cst_4[0, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_8 = tensor.extract_slice %cst_4[8, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_9 = tensor.extract_slice %cst_4[16, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %extracted_slice_10 = tensor.extract_slice %cst_3[0] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %extracted_slice_11 = tensor.extract_slice %cst_3[8] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %extracted_slice_12 = tensor.extract_slice %cst_3[16] [8] [1] : tensor<24xf32> to tensor<8xf32>
  %2 = tensor.empty() : tensor<8x8xf32>
  %transposed_13 = linalg.transpose ins(%extracted_slice : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %3 = tensor.empty() : tensor<6x8x8xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_13 : tensor<8x8xf32>) outs(%3 : tensor<6x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x8x8xf32>
  %5 = linalg.fill ins(%cst : f32) outs(%0 : tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
  %6 = linalg.batch_matmul ins(%transposed, %4 : tensor<6x2x8xf32>, tensor<6x8x8xf32>) outs(%5 : tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
  %7 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %extracted_slice_10 : tensor<6x2x8xf32>, tensor<8xf32>) outs(%0 : tensor<6x2x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.addf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<6x2x8xf32>
  %transposed_14 = linalg.transpose ins(%extracted_slice_8 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %8 = tensor.empty() : tensor<8x8x8xf32>
  %9 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_14 : tensor<8x8xf32>) outs(%8 : tensor<8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8x8xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %11 = linalg.batch_matmul ins(%transposed_6, %9 : tensor<8x2x8xf32>, tensor<8x8x8xf32>) outs(%10 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %12 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11, %extracted_slice_11 : tensor<8x2x8xf32>, tensor<8xf32>) outs(%1 : tensor<8x2x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.addf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<8x2x8xf32>
  %transposed_15 = linalg.transpose ins(%extracted_slice_9 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %13 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_15 : tensor<8x8xf32>) outs(%8 : tensor<8x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8x8xf32>
  %14 = linalg.batch_matmul ins(%transposed_7, %13 : tensor<8x2x8xf32>, tensor<8x8x8xf32>) outs(%10 : tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  %15 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %extracted_slice_12 : tensor<8x2x8xf32>, tensor<8xf32>) outs(%1 : tensor<8x2x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.addf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<8x2x8xf32>
  %collapsed = tensor.collapse_shape %7 [[0], [1, 2]] : tensor<6x2x8xf32> into tensor<6x16xf32>
  %expanded = tensor.expand_shape %collapsed [[0], [1, 2]] output_shape [6, 4, 4] : tensor<6x16xf32> into tensor<6x4x4xf32>
  %16 = tensor.empty() : tensor<4x6x4xf32>
  %transposed_16 = linalg.transpose ins(%expanded : tensor<6x4x4xf32>) outs(%16 : tensor<4x6x4xf32>) permutation = [1, 0, 2] 
  %collapsed_17 = tensor.collapse_shape %12 [[0], [1, 2]] : tensor<8x2x8xf32> into tensor<8x16xf32>
  %expanded_18 = tensor.expand_shape %collapsed_17 [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %collapsed_19 = tensor.collapse_shape %15 [[0], [1, 2]] : tensor<8x2x8xf32> into tensor<8x16xf32>
  %expanded_20 = tensor.expand_shape %collapsed_19 [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %17 = tensor.empty() : tensor<4x8x4xf32>
  %transposed_21 = linalg.transpose ins(%expanded_20 : tensor<8x4x4xf32>) outs(%17 : tensor<4x8x4xf32>) permutation = [1, 0, 2] 
  %18 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%transposed_16 : tensor<4x6x4xf32>) outs(%16 : tensor<4x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %43 = arith.mulf %in, %cst_5 : f32
    linalg.yield %43 : f32
  } -> tensor<4x6x4xf32>
  %19 = tensor.empty() : tensor<4x4x8xf32>
  %transposed_22 = linalg.transpose ins(%expanded_18 : tensor<8x4x4xf32>) outs(%19 : tensor<4x4x8xf32>) permutation = [1, 2, 0] 
  %20 = tensor.empty() : tensor<4x6x8xf32>
  %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %22 = linalg.batch_matmul ins(%18, %transposed_22 : tensor<4x6x4xf32>, tensor<4x4x8xf32>) outs(%21 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %23 = tensor.empty() : tensor<4x6xi64>
  %24 = linalg.fill ins(%c0_i64 : i64) outs(%23 : tensor<4x6xi64>) -> tensor<4x6xi64>
  %25 = tensor.empty() : tensor<4x6xf32>
  %26 = linalg.fill ins(%cst_0 : f32) outs(%25 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %27:2 = linalg.generic {indexing_maps = [#map1, #map3, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%22 : tensor<4x6x8xf32>) outs(%26, %24 : tensor<4x6xf32>, tensor<4x6xi64>) {
  ^bb0(%in: f32, %out: f32, %out_30: i64):
    %43 = linalg.index 2 : index
    %44 = arith.index_cast %43 : index to i64
    %45 = arith.maximumf %in, %out : f32
    %46 = arith.cmpf ogt, %in, %out : f32
    %47 = arith.select %46, %44, %out_30 : i64
    linalg.yield %45, %47 : f32, i64
  } -> (tensor<4x6xf32>, tensor<4x6xi64>)
  %expanded_23 = tensor.expand_shape %27#0 [[0], [1, 2]] output_shape [4, 6, 1] : tensor<4x6xf32> into tensor<4x6x1xf32>
  %28 = linalg.generic {indexing_maps = [#map1, #map4, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %expanded_23 : tensor<4x6x8xf32>, tensor<4x6x1xf32>) outs(%20 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.subf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<4x6x8xf32>
  %29 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<4x6x8xf32>) outs(%20 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %43 = math.exp %in : f32
    linalg.yield %43 : f32
  } -> tensor<4x6x8xf32>
  %30 = tensor.empty() : tensor<4x6x1xf32>
  %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %32 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%29 : tensor<4x6x8xf32>) outs(%31 : tensor<4x6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %43 = arith.addf %in, %out : f32
    linalg.yield %43 : f32
  } -> tensor<4x6x1xf32>
  %33 = linalg.generic {indexing_maps = [#map1, #map4, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29, %32 : tensor<4x6x8xf32>, tensor<4x6x1xf32>) outs(%20 : tensor<4x6x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.divf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<4x6x8xf32>
  %34 = linalg.fill ins(%cst : f32) outs(%16 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %35 = linalg.batch_matmul ins(%33, %transposed_21 : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%34 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %36 = tensor.empty() : tensor<6x4x4xf32>
  %transposed_24 = linalg.transpose ins(%35 : tensor<4x6x4xf32>) outs(%36 : tensor<6x4x4xf32>) permutation = [1, 0, 2] 
  %collapsed_25 = tensor.collapse_shape %transposed_24 [[0, 1, 2]] : tensor<6x4x4xf32> into tensor<96xf32>
  %expanded_26 = tensor.expand_shape %collapsed_25 [[0, 1]] output_shape [12, 8] : tensor<96xf32> into tensor<12x8xf32>
  %transposed_27 = linalg.transpose ins(%cst_2 : tensor<8x8xf32>) outs(%2 : tensor<8x8xf32>) permutation = [1, 0] 
  %37 = tensor.empty() : tensor<12x8xf32>
  %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %39 = linalg.matmul ins(%expanded_26, %transposed_27 : tensor<12x8xf32>, tensor<8x8xf32>) outs(%38 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %40 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<8xf32>) outs(%37 : tensor<12x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<12x8xf32>
  %41 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel"]} ins(%39, %40 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%37 : tensor<12x8xf32>) {
  ^bb0(%in: f32, %in_30: f32, %out: f32):
    %43 = arith.addf %in, %in_30 : f32
    linalg.yield %43 : f32
  } -> tensor<12x8xf32>
  %expanded_28 = tensor.expand_shape %41 [[0, 1], [2]] output_shape [6, 2, 8] : tensor<12x8xf32> into tensor<6x2x8xf32>
  %42 = tensor.empty() : tensor<2x6x8xf32>
  %transposed_29 = linalg.transpose ins(%expanded_28 : tensor<6x2x8xf32>) outs(%42 : tensor<2x6x8xf32>) permutation = [1, 0, 2] 
  return %transposed_29 : tensor<2x6x8xf32>
}

{-#
dialect_resources: {
  builtin: {
    torch_tensor_8_torch.float32: "0x040000000000000000000000000000000000000000000000000000000000000000000000",
    torch_tensor_8_8_torch.float32: "0x0400000020897E3EE4DA3ABDC07A8CBE096606BE8E9322BD0DA443BE4910393EBE2BFE3D9CA9693D9CE8AE3D50049F3EA7DD033E34BE9EBE016683BE84911F3E785A453D3090303EA1C9B4BEA40EA7BEFD025E3E9493673E2BC5A3BEAF6C093E10598DBE5C16893E6335E33D53FDB23ECE7BB2BE5443AEBE6CC6743E91B6A03E57D05D3EB1B1703EA77798BE3606833EACE8AABE95C2A13DDE256DBED4CC0FBE2736803DAC580EBE9A2165BD1593ABBEA4ADAABE8C3D0C3E403E19BEB4425CBEA2DA0EBEE7FE93BEF7B490BE49A2583ED800383E37E6403D61C445BEB7E6F03D081E823C9E5E81BE67D09B3D78D3A43E400DB2BE1401B4BE758B393DC54F883EFC4B5CBE",
    torch_tensor_24_torch.float32: "0x04000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    torch_tensor_24_8_torch.float32: "0x04000000FB85623E8485C33E4094DCBE2E1B703E0EBC00BE8618D9BE49D9C43D506571BEF4577B3D8EF08FBE6BD6A6BE557E16BD7EF314BE7DAA813E0EEB183D420DAD3EDA30A63DF8940EBEA32A963ED2D6C13C6672A63DEC9B0EBE63AFCB3A7F82AABDD6C916BDB5E6ACBE62852EBBDC05B8BEB8C7BEBDA27C803E31299ABE607095BEC589D8BDD51AF3BD3420963D6D39933D61D9603EFFB998BE3B55FABC17FE773E2FC4BF3EA76001BD134880BEB9ECFE3D54827C3E35828ABE0AA780BEF7FB433E748AF8BCD165D1BE23A97FBEB7D0333E676416BE8806993EC143AF3E1101813DA03F0CBDB1BF0CBE825EB3BCFF6AA13D0259A9BE9AF1D3BD9069B8BE2C12883E2E308DBEF288CA3E439AE4BD08047EBE0B09553E6F34843DEC84993EB11B393E2493D5BE86398C3EA4FFA6BDE1F843BE04CB8C3EC1B1A13E73DCC2BE6C6020BD4510B63E93B92B3E0EC7BA3E4EF417BEDC9974BEE5A4BE3E45D2383E9DD4D43E713539BE0B598EBE21E44FBD29C0D0BEC2CD2D3E7386A33E85E2D43DEE3E2FBDCFD75B3ED8B98CBE02E1D83ECF72DCBEFC60D4BEFF8DD1BDB218B53EC995313DAD492A3E6B82A2BE18B4213EBF3046BD29BA313E64939C3E48BD403E1CDF16BDC581DABC240C8BBE696120BE1B12903ECBCD31BEA2AF893E02D32FBE7A89CEBD72FC163CE072CBBE25AD8DBBFAC532BDE7551FBDEC46B1BD04C9AE3E159DA33EAF4296BE37F94D3E4BE6ADBE75BDBCBE798A073E1B87D03BECD94EBE39D5D5BE78A82BBED918143E4A35CDBE5760D7BE0F06613D24B79FBEAC3AC2BE7CD62ABEF4C68EBD5476C9BE720994BEBC95E83C270FD1BE474A79BD66278FBE44B199BE9C452E3E62A4AABE8403A8BE9DDD7C3EB8CDA53D46E8C93E510AEDBDDA2B56BE6B2424BDFC920F3B8414A93E5AD5DCBEEA90FCBC2324443EF42C74BEEA4F61BE8A48563E9B6ED4BE7E22D23D9BA3ABBE53665C3E8A90BDBEC24D883EEEDED1BE125BBABEE519D13BF2B2AE3E74DDBDBEFCC845BEAAB7C23E3CB794BD24B2373E0447D5BE41710BBEE22C61BEA6E8BA3EE007383E5BC5A1BE4BFA8E3D7C14A3BB"
  }
}
#-}
