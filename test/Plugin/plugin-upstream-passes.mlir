// Upstream's passes between ours in stock mlir-opt: the function is inlined, the
// op tiled over batch and key/value heads, and bufferized, so that each tile
// writes into its part of the whole; then each becomes the launch of one kernel.
//
// REQUIRES: plugin
// DEFINE: %{buffers} = inline,symbol-dce,transform-interpreter,canonicalize,cse,eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},canonicalize,cse,canonicalize
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(%{buffers})' | FileCheck %s --check-prefix=BUFFERS
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(%{buffers},attn-to-nvvm,nvvm-to-binary)' | tee %t.mlir | FileCheck %s
// RUN: rm -rf %t && mkdir %t && cd %t && env MODULE=%t.mlir %commands %s
//
// $ python3 "$S"/Inputs/embedded.py "$MODULE" .
// $ fa4-sim layer_kernel.json Sq=64 Sk=64 q_stride0=65536 out_stride0=65536 k_stride0=16384 v_stride0=16384 --random --check
// ok: {{.*}} findings 0

// BUFFERS-LABEL: func.func @layer
// BUFFERS-SAME: (%[[Q:.*]]: memref<4x?x16x64xbf16>, %[[K:.*]]: memref<4x?x4x64xbf16>, %[[V:.*]]: memref<4x?x4x64xbf16>)
// BUFFERS: %[[OUT:.*]] = memref.alloc(
// BUFFERS: scf.forall (%[[B:.*]], %[[H:.*]]) in (4, 2)
// BUFFERS-DAG: %[[QS:.*]] = memref.subview %[[Q]][%[[B]], 0,
// BUFFERS-DAG: %[[KS:.*]] = memref.subview %[[K]][%[[B]], 0,
// BUFFERS-DAG: %[[VS:.*]] = memref.subview %[[V]][%[[B]], 0,
// BUFFERS-DAG: %[[OS:.*]] = memref.subview %[[OUT]][%[[B]], 0,
// BUFFERS: attn.sdpa %[[QS]], %[[KS]], %[[VS]] {{.*}} outs(%[[OS]] :
// BUFFERS-NOT: memref.copy
// BUFFERS: return %[[OUT]]

// CHECK: gpu.binary @layer_kernel
// CHECK-LABEL: func.func @layer
// CHECK: scf.forall
// CHECK: tile.launch @layer_kernel

func.func private @attend(%q: tensor<4x?x16x64xbf16>, %k: tensor<4x?x4x64xbf16>, %v: tensor<4x?x4x64xbf16>) -> tensor<4x?x16x64xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<4x?x16x64xbf16>, tensor<4x?x4x64xbf16>, tensor<4x?x4x64xbf16> -> tensor<4x?x16x64xbf16>
  return %out : tensor<4x?x16x64xbf16>
}
func.func @layer(%q: tensor<4x?x16x64xbf16>, %k: tensor<4x?x4x64xbf16>, %v: tensor<4x?x4x64xbf16>) -> tensor<4x?x16x64xbf16> {
  %out = call @attend(%q, %k, %v) : (tensor<4x?x16x64xbf16>, tensor<4x?x4x64xbf16>, tensor<4x?x4x64xbf16>) -> tensor<4x?x16x64xbf16>
  return %out : tensor<4x?x16x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
