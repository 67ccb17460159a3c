// RUN: fa4-opt %s --allow-unregistered-dialect --import-attention --split-input-file --verify-diagnostics

// Attention of another dialect that has no equal in attn is refused at the
// operation, with what is not read: left as it is, nothing would lower it.

func.func @buffers(%q: memref<2x6x4xf16>, %k: memref<2x8x4xf16>, %o: memref<2x6x4xf16>) {
  // expected-error@below {{'tm_tensor.attention' op has operands that are not tensors of one rank of at least 2: buffers are not read}}
  "tm_tensor.attention"(%q, %k, %k, %o) : (memref<2x6x4xf16>, memref<2x8x4xf16>, memref<2x8x4xf16>, memref<2x6x4xf16>) -> ()
  return
}

// -----

func.func @operands(%q: tensor<2x6x4xf16>) -> tensor<2x6x4xf16> {
  // expected-error@below {{'tm_tensor.attention' op has 3 operands, and attention has 4, or 5 with a mask}}
  %o = "tm_tensor.attention"(%q, %q, %q) : (tensor<2x6x4xf16>, tensor<2x6x4xf16>, tensor<2x6x4xf16>) -> tensor<2x6x4xf16>
  return %o : tensor<2x6x4xf16>
}

// -----

func.func @dynamic_scale(%q: tensor<2x6x?xf16>) -> tensor<2x6x?xf16> {
  // expected-error@below {{'tm_tensor.attention' op has queries with a dynamic number of elements, of which the scale is computed}}
  %o = "tm_tensor.attention"(%q, %q, %q, %q) : (tensor<2x6x?xf16>, tensor<2x6x?xf16>, tensor<2x6x?xf16>, tensor<2x6x?xf16>) -> tensor<2x6x?xf16>
  return %o : tensor<2x6x?xf16>
}

// -----

func.func @mask_type(%q: tensor<2x6x4xf16>, %m: tensor<2x6x6xi32>) -> tensor<2x6x4xf16> {
  // expected-error@below {{'tm_tensor.attention' op has a mask of another type than i1 and floating-point numbers}}
  %o = "tm_tensor.attention"(%q, %q, %q, %m, %q) : (tensor<2x6x4xf16>, tensor<2x6x4xf16>, tensor<2x6x4xf16>, tensor<2x6x6xi32>, tensor<2x6x4xf16>) -> tensor<2x6x4xf16>
  return %o : tensor<2x6x4xf16>
}

// -----

func.func @integers(%q: tensor<2x6x4xi32>) -> tensor<2x6x4xi32> {
  // expected-error@below {{'tm_tensor.attention' op has no tensor of floating-point numbers of at most 32 bits as its only result}}
  %o = "tm_tensor.attention"(%q, %q, %q, %q) : (tensor<2x6x4xi32>, tensor<2x6x4xi32>, tensor<2x6x4xi32>, tensor<2x6x4xi32>) -> tensor<2x6x4xi32>
  return %o : tensor<2x6x4xi32>
}

// -----

func.func @no_maps(%q: tensor<2x6x4xf16>, %s: f16) -> tensor<2x6x4xf16> {
  // expected-error@below {{'iree_linalg_ext.attention' op has no indexing map for each of q, k, v, the scale, a mask, and the destination}}
  %o = "iree_linalg_ext.attention"(%q, %q, %q, %s, %q) : (tensor<2x6x4xf16>, tensor<2x6x4xf16>, tensor<2x6x4xf16>, f16, tensor<2x6x4xf16>) -> tensor<2x6x4xf16>
  return %o : tensor<2x6x4xf16>
}

// -----

func.func @two_dimensions_of_keys(%q: tensor<6x4xf16>, %k: tensor<3x8x4xf16>, %s: f16) -> tensor<6x4xf16> {
  // expected-error@below {{'iree_linalg_ext.attention' op has 1 dimensions of elements and 2 of keys, and attention has one of each}}
  %o = "iree_linalg_ext.attention"(%q, %k, %k, %s, %q) {
    indexing_maps = [affine_map<(i, d, m, j, e) -> (i, d)>, affine_map<(i, d, m, j, e) -> (m, j, d)>,
                     affine_map<(i, d, m, j, e) -> (m, j, e)>, affine_map<(i, d, m, j, e) -> ()>,
                     affine_map<(i, d, m, j, e) -> (i, e)>]}
    : (tensor<6x4xf16>, tensor<3x8x4xf16>, tensor<3x8x4xf16>, f16, tensor<6x4xf16>) -> tensor<6x4xf16>
  return %o : tensor<6x4xf16>
}

// -----

func.func @region(%q: tensor<6x4xf16>, %s: f16) -> tensor<6x4xf16> {
  // expected-error@below {{'iree_linalg_ext.attention' op has a region that does not give an f32 for one}}
  %o = "iree_linalg_ext.attention"(%q, %q, %q, %s, %q) <{
    indexing_maps = [affine_map<(i, d, j, e) -> (i, d)>, affine_map<(i, d, j, e) -> (j, d)>, affine_map<(i, d, j, e) -> (j, e)>,
                     affine_map<(i, d, j, e) -> ()>, affine_map<(i, d, j, e) -> (i, e)>]}> ({
  ^bb0(%score: f32):
    %t = arith.truncf %score : f32 to f16
    "iree_linalg_ext.yield"(%t) : (f16) -> ()
  }) : (tensor<6x4xf16>, tensor<6x4xf16>, tensor<6x4xf16>, f16, tensor<6x4xf16>) -> tensor<6x4xf16>
  return %o : tensor<6x4xf16>
}
