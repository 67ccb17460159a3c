// From linalg to kernels in stock mlir-opt, with upstream's passes in between:
// attention is found, tiled over batch and heads, bufferized, and each tile becomes
// the launch of a kernel. Queries and keys are as a framework prints them, with batch
// and heads in one dimension.
//
// REQUIRES: plugin
// DEFINE: %{tiles} = inline,raise-to-attn,canonicalize,transform-interpreter,canonicalize,cse
// DEFINE: %{buffers} = eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},canonicalize,cse,canonicalize
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(%{tiles})' | FileCheck %s --check-prefix=TILES
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(%{tiles},%{buffers},attn-to-nvvm,nvvm-to-binary)' | tee %t.mlir | FileCheck %s
// RUN: rm -rf %t && mkdir %t && cd %t && env MODULE=%t.mlir %commands %s
//
// $ python3 "$S"/Inputs/embedded.py "$MODULE" .
// $ fa4-sim model_kernel.json --random --check
// ok: {{.*}} findings 0

// TILES-LABEL: func.func @model
// TILES: scf.forall (%{{.*}}, %{{.*}}) in (2, 4)
// TILES: attn.sdpa {{.*}} layout<bhsd> mask<causal, top_left> scale(1.250000e-01) outs(
// TILES-NOT: mask_mod
// TILES-NOT: linalg.generic

// CHECK: gpu.binary @model_kernel
// CHECK-LABEL: func.func @model
// CHECK: scf.forall
// CHECK: tile.launch @model_kernel
// CHECK-NOT: memref.copy
// CHECK: return

func.func @model(%q: tensor<2x4x64x64xf16>, %k: tensor<2x4x96x64xf16>, %v: tensor<2x4x96x64xf16>) -> tensor<2x4x64x64xf16> {
  %zero = arith.constant 0.0 : f32
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x64x64xf16> into tensor<8x64x64xf16>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x4x96x64xf16> into tensor<8x96x64xf16>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x4x96x64xf16> into tensor<8x96x64xf16>
  %s0 = tensor.empty() : tensor<8x64x96xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
                     affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<8x64x64xf16>, tensor<8x96x64xf16>) outs(%s1 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%s : tensor<8x64x96xf32>) outs(%s0 : tensor<8x64x96xf32>) {
  ^bb0(%score: f32, %out: f32):
    %factor = arith.constant 0.125 : f32
    %hidden = arith.constant 0xFF800000 : f32
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %visible = arith.cmpi ule, %j, %i : index
    %scaled = arith.mulf %score, %factor : f32
    %masked = arith.select %visible, %scaled, %hidden : f32
    linalg.yield %masked : f32
  } -> tensor<8x64x96xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<8x64x96xf32>) outs(%s0 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
  %p16 = arith.truncf %p : tensor<8x64x96xf32> to tensor<8x64x96xf16>
  %o0 = tensor.empty() : tensor<8x64x64xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %o3 = linalg.batch_matmul ins(%p16, %v3 : tensor<8x64x96xf16>, tensor<8x96x64xf16>)
    outs(%o1 : tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %o16 = arith.truncf %o3 : tensor<8x64x64xf32> to tensor<8x64x64xf16>
  %o = tensor.expand_shape %o16 [[0, 1], [2], [3]] output_shape [2, 4, 64, 64] : tensor<8x64x64xf16> into tensor<2x4x64x64xf16>
  return %o : tensor<2x4x64x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
