// Lists of blocks: they are printed as they are parsed, the batch of the result is theirs, the tiled op has the lists of
// its sequences and heads, and what is decomposed for a CPU looks at each number of a list for each score. A gradient has
// the same lists by blocks of keys, too, which a CPU does not need.
//
// RUN: fa4-opt %s | fa4-opt --canonicalize | FileCheck %s
// RUN: fa4-opt %s --attn-decompose | FileCheck %s --check-prefix=CPU
// RUN: fa4-opt %s --transform-interpreter --canonicalize | FileCheck %s --check-prefix=TILE

// CHECK-LABEL: func @heads
// CHECK: attn.sdpa {{.*}} layout<bshd> mask<causal, top_left> block_list(%{{.*}}, %{{.*}} : tensor<4x2x?x7xi32>, tensor<4x2x?xi32>) block_size [128, 64] sinks(
// CPU-LABEL: func @heads
// CPU: scf.forall (%[[B:.*]], %[[KV:.*]]) in
// CPU: %[[SHARING:.*]] = arith.divui
// CPU: %[[L:.*]] = arith.divui %{{.*}}, %[[SHARING]]
// CPU: %[[N:.*]] = arith.divui %{{.*}}, %c128
// CPU: %[[J:.*]] = arith.divui %{{.*}}, %c64
// CPU: arith.cmpi uge, %[[N]]
// CPU: tensor.extract %arg3[%[[B]], %[[L]], %[[N]]] : tensor<4x2x?xi32>
// CPU: scf.for %[[ENTRY:[^ ]*]] =
// CPU: %[[LISTED:.*]] = tensor.extract %arg2[%[[B]], %[[L]], %[[N]], %[[ENTRY]]] : tensor<4x2x?x7xi32>
// CPU: %[[AT:.*]] = arith.index_cast %[[LISTED]]
// CPU: arith.cmpi eq, %[[AT]], %[[J]]
// TILE-LABEL: func @heads
// TILE: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in (4, 2)
// TILE-DAG: tensor.extract_slice %arg2[%[[B]], %[[HEAD]], 0, 0] [1, 1, %{{.*}}, 7]
// TILE-DAG: tensor.extract_slice %arg3[%[[B]], %[[HEAD]], 0] [1, 1, %{{.*}}]
func.func @heads(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x2x64xf16>, %list: tensor<4x2x?x7xi32>, %counts: tensor<4x2x?xi32>, %s: tensor<8xf32>) -> tensor<4x?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, top_left> block_list(%list, %counts : tensor<4x2x?x7xi32>, tensor<4x2x?xi32>) block_size [128, 64] sinks(%s : tensor<8xf32>)
    : tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16> -> tensor<4x?x8x64xf16>
  return %o : tensor<4x?x8x64xf16>
}

// All heads have the lists of one, or each query head has its own.
// TILE-LABEL: func @one_head
// TILE: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in (4, 2)
// TILE: tensor.extract_slice %arg2[%[[B]], 0, 0, 0] [1, 1, 3, 7]
func.func @one_head(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x2x64xf16>, %list: tensor<4x1x3x7xi32>, %counts: tensor<4x1x3xi32>) -> tensor<4x?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<4x1x3x7xi32>, tensor<4x1x3xi32>) block_size [128, 64]
    : tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16> -> tensor<4x?x8x64xf16>
  return %o : tensor<4x?x8x64xf16>
}

// TILE-LABEL: func @query_heads
// TILE: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in (4, 2)
// TILE: tensor.extract_slice %arg2[%[[B]], %{{.*}}, 0, 0] [1, 4, 3, 7]
func.func @query_heads(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x2x64xf16>, %list: tensor<4x8x3x7xi32>, %counts: tensor<4x8x3xi32>) -> tensor<4x?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<4x8x3x7xi32>, tensor<4x8x3xi32>) block_size [128, 64]
    : tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16> -> tensor<4x?x8x64xf16>
  return %o : tensor<4x?x8x64xf16>
}

// CHECK-LABEL: func @gradient
// CHECK: attn.sdpa_backward {{.*}} block_list(%{{.*}}, %{{.*}} : tensor<4x2x?x7xi32>, tensor<4x2x?xi32>) query_list(%{{.*}}, %{{.*}} : tensor<4x2x?x5xi32>, tensor<4x2x?xi32>) block_size [128, 64] :
// CPU-LABEL: func @gradient
// CPU: tensor.extract %arg5[{{.*}}] : tensor<4x2x?xi32>
// CPU: tensor.extract %arg4[{{.*}}] : tensor<4x2x?x7xi32>
// CPU-NOT: tensor.extract %arg6
// TILE-LABEL: func @gradient
// TILE: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in (4, 2)
// TILE-DAG: tensor.extract_slice %arg4[%[[B]], %[[HEAD]], 0, 0] [1, 1, %{{.*}}, 7]
// TILE-DAG: tensor.extract_slice %arg6[%[[B]], %[[HEAD]], 0, 0] [1, 1, %{{.*}}, 5]
// TILE-DAG: tensor.extract_slice %arg7[%[[B]], %[[HEAD]], 0] [1, 1, %{{.*}}]
func.func @gradient(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x2x64xf16>, %do: tensor<4x?x8x64xf16>, %lse: tensor<4x8x?xf32>,
                    %list: tensor<4x2x?x7xi32>, %counts: tensor<4x2x?xi32>, %queries: tensor<4x2x?x5xi32>, %qcounts: tensor<4x2x?xi32>)
    -> (tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%do) lse(%lse) layout<bshd>
      block_list(%list, %counts : tensor<4x2x?x7xi32>, tensor<4x2x?xi32>) query_list(%queries, %qcounts : tensor<4x2x?x5xi32>, tensor<4x2x?xi32>) block_size [128, 64]
    : tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x8x64xf16>, tensor<4x?x8x64xf16>, tensor<4x8x?xf32>
      -> tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16>
  return %dq, %dk, %dv : tensor<4x?x8x64xf16>, tensor<4x?x2x64xf16>, tensor<4x?x2x64xf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.sdpa", "attn.sdpa_backward"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %op : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tiled, %loop = transform.structured.tile_using_forall %each tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
