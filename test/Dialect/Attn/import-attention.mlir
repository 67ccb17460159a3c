// RUN: fa4-opt %s --allow-unregistered-dialect --import-attention --raise-to-attn --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @tm_tensor(
// CHECK: attn.sdpa {{.*}} scale(5.000000e-01) : tensor<2x6x1x4xf16>, tensor<2x8x1x4xf16>, tensor<2x8x1x4xf16> -> tensor<2x6x1x4xf16>
// CHECK-NOT: tm_tensor
// CHECK: return
func.func @tm_tensor(%q: tensor<2x6x4xf16>, %k: tensor<2x8x4xf16>, %v: tensor<2x8x4xf16>, %init: tensor<2x6x4xf16>) -> tensor<2x6x4xf16> {
  %o = "tm_tensor.attention"(%q, %k, %v, %init) <{operandSegmentSizes = array<i32: 3, 1>}>
    : (tensor<2x6x4xf16>, tensor<2x8x4xf16>, tensor<2x8x4xf16>, tensor<2x6x4xf16>) -> tensor<2x6x4xf16>
  return %o : tensor<2x6x4xf16>
}

// Heads, a mask of bool, and sizes that are not known.
// CHECK-LABEL: func.func @tm_tensor_mask(
// CHECK: attn.sdpa %arg0, %arg1, %arg2 layout<bhsd> scale(2.500000e-01) captures(%arg3 : tensor<?x3x?x?xi1>)
// CHECK: mask_mod
// CHECK: tensor.extract %{{.+}}[%b, %h, %i, %j] : tensor<?x3x?x?xi1>
// CHECK: return
func.func @tm_tensor_mask(%q: tensor<?x3x?x16xbf16>, %k: tensor<?x3x?x16xbf16>, %v: tensor<?x3x?x16xbf16>, %m: tensor<?x3x?x?xi1>, %init: tensor<?x3x?x16xbf16>) -> tensor<?x3x?x16xbf16> {
  %o = "tm_tensor.attention"(%q, %k, %v, %m, %init) <{operandSegmentSizes = array<i32: 4, 1>}>
    : (tensor<?x3x?x16xbf16>, tensor<?x3x?x16xbf16>, tensor<?x3x?x16xbf16>, tensor<?x3x?x?xi1>, tensor<?x3x?x16xbf16>) -> tensor<?x3x?x16xbf16>
  return %o : tensor<?x3x?x16xbf16>
}

// Grouped heads, and a region behind the scale.
// CHECK-LABEL: func.func @iree(
// CHECK: attn.sdpa {{.*}} scale(2.500000e-01)
// CHECK: score_mod
// CHECK: math.tanh %score
// CHECK-NOT: iree_linalg_ext
// CHECK: return
func.func @iree(%q: tensor<2x3x6x4xf16>, %k: tensor<2x8x4xf16>, %v: tensor<2x8x4xf16>, %init: tensor<2x3x6x4xf16>) -> tensor<2x3x6x4xf16> {
  %scale = arith.constant 0.25 : f16
  %o = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %init) <{
    indexing_maps = [affine_map<(b, g, i, d, j, e) -> (b, g, i, d)>, affine_map<(b, g, i, d, j, e) -> (b, j, d)>,
                     affine_map<(b, g, i, d, j, e) -> (b, j, e)>, affine_map<(b, g, i, d, j, e) -> ()>,
                     affine_map<(b, g, i, d, j, e) -> (b, g, i, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> ({
  ^bb0(%score: f32):
    %t = math.tanh %score : f32
    "iree_linalg_ext.yield"(%t) : (f32) -> ()
  }) : (tensor<2x3x6x4xf16>, tensor<2x8x4xf16>, tensor<2x8x4xf16>, f16, tensor<2x3x6x4xf16>) -> tensor<2x3x6x4xf16>
  return %o : tensor<2x3x6x4xf16>
}

// A mask that is added, behind the region.
// CHECK-LABEL: func.func @iree_mask(
// CHECK: attn.sdpa {{.*}} captures(%arg4, %arg3 : f32, tensor<6x8xf32>)
// CHECK: score_mod
// CHECK: arith.mulf %score
// CHECK: arith.addf
// CHECK: return
func.func @iree_mask(%q: tensor<2x6x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x4x8xf32>, %m: tensor<6x8xf32>, %scale: f32, %init: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %o = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %m, %init) <{
    indexing_maps = [affine_map<(b, i, d, j, e) -> (b, i, d)>, affine_map<(b, i, d, j, e) -> (b, j, d)>,
                     affine_map<(b, i, d, j, e) -> (b, e, j)>, affine_map<(b, i, d, j, e) -> ()>,
                     affine_map<(b, i, d, j, e) -> (i, j)>, affine_map<(b, i, d, j, e) -> (b, i, e)>],
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> ({
  ^bb0(%score: f32):
    "iree_linalg_ext.yield"(%score) : (f32) -> ()
  }) : (tensor<2x6x4xf32>, tensor<2x8x4xf32>, tensor<2x4x8xf32>, f32, tensor<6x8xf32>, tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}
