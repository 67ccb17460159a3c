// Tiling over batch and key/value heads gives ops on slices that compute the
// same values: regions must still see the indices of the whole tensors.
//
// RUN: fa4-opt %s -transform-interpreter -canonicalize -cse -split-input-file | FileCheck %s

// Batch and key/value heads; a tile of 1 x 2 key/value heads has 4 query heads.
// CHECK-LABEL: func @gqa
// CHECK-SAME: (%[[Q:.*]]: tensor<4x?x8x64xf16>, %[[K:.*]]: tensor<4x?x4x64xf16>
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK:   scf.for %[[H:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK:     %[[HQ:.*]] = affine.apply {{.*}}[%[[H]]]
// CHECK:     %[[QS:.*]] = tensor.extract_slice %[[Q]][%[[B]], 0, %[[HQ]], 0] [1, %{{.*}}, 4, 64]
// CHECK:     %[[KS:.*]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[H]], 0] [1, %{{.*}}, 2, 64]
// CHECK-DAG: %[[EO:.*]] = tensor.empty(%{{.*}}) : tensor<1x?x4x64xf16>
// CHECK-DAG: %[[EL:.*]] = tensor.empty(%{{.*}}) : tensor<1x4x?xf32>
// CHECK:     %[[O:.*]], %[[L:.*]] = attn.sdpa %[[QS]], %[[KS]], %[[KS]] layout<bshd> mask<causal, bottom_right>
// CHECK-SAME: outs(%[[EO]], %[[EL]] :
// CHECK-SAME: -> tensor<1x?x4x64xf16>, tensor<1x4x?xf32>
// CHECK:     tensor.insert_slice %[[O]] into %{{.*}}[%[[B]], 0, %[[HQ]], 0]
// CHECK:     tensor.insert_slice %[[L]] into %{{.*}}[%[[B]], %[[HQ]], 0]
func.func @gqa(%q: tensor<4x?x8x64xf16>, %k: tensor<4x?x4x64xf16>) -> (tensor<4x?x8x64xf16>, tensor<4x8x?xf32>) {
  %o, %l = attn.sdpa %q, %k, %k layout<bshd> mask<causal, bottom_right>
    : tensor<4x?x8x64xf16>, tensor<4x?x4x64xf16>, tensor<4x?x4x64xf16> -> tensor<4x?x8x64xf16>, tensor<4x8x?xf32>
  return %o, %l : tensor<4x?x8x64xf16>, tensor<4x8x?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The regions go on seeing the indices of the whole.
// CHECK-LABEL: func @regions
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (4, 2)
// CHECK: attn.sdpa {{.*}} layout<bhsd> seqlens_k(%{{.*}} : tensor<1xi32>) sinks(%{{.*}} : tensor<4xf32>) captures(%{{.*}}, %[[B]], %[[HQ:.*]] : tensor<8xf32>, index, index)
// CHECK: score_mod(%score: f32, %b: index, %h: index, %i: index, %j: index, %[[SLOPES:.*]]: tensor<8xf32>, %{{.*}}: index, %[[FIRST:.*]]: index)
// CHECK:   %[[HEAD:.*]] = arith.addi %h, %[[FIRST]]
// CHECK:   tensor.extract %[[SLOPES]][%[[HEAD]]]
// CHECK: mask_mod(%b: index, %h: index, %i: index, %j: index, %{{.*}}: tensor<8xf32>, %[[FIRSTB:.*]]: index, %{{.*}}: index)
// CHECK:   %[[BATCH:.*]] = arith.addi %b, %[[FIRSTB]]
// CHECK:   arith.cmpi ult, %[[BATCH]], %j
func.func @regions(%q: tensor<4x8x16x64xf16>, %k: tensor<4x2x16x64xf16>, %slopes: tensor<8xf32>, %len: tensor<4xi32>, %sinks: tensor<8xf32>) -> tensor<4x8x16x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bhsd> seqlens_k(%len : tensor<4xi32>) sinks(%sinks : tensor<8xf32>) captures(%slopes : tensor<8xf32>)
    : tensor<4x8x16x64xf16>, tensor<4x2x16x64xf16>, tensor<4x2x16x64xf16> -> tensor<4x8x16x64xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<8xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<8xf32>
      %r = arith.addf %s, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<8xf32>) {
      %c = arith.cmpi ult, %b, %j : index
      attn.yield %c : i1
    }
  return %o : tensor<4x8x16x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A packed batch is tiled over heads only.
// CHECK-LABEL: func @packed
// CHECK: scf.forall (%[[H:.*]]) in (2)
// CHECK: tensor.extract_slice %{{.*}}[0, %{{.*}}, 0] [%{{.*}}, 4, 64]
// CHECK: attn.sdpa {{.*}} layout<thd> cu_seqlens(%{{.*}}, %{{.*}} : tensor<5xi32>, tensor<5xi32>)
func.func @packed(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %cu: tensor<5xi32>) -> tensor<?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<thd> cu_seqlens(%cu, %cu : tensor<5xi32>, tensor<5xi32>)
    : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CHECK-LABEL: func @backward
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (4, 2)
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = attn.sdpa_backward
// CHECK-SAME: -> tensor<1x8x4x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[B]], 0, %{{.*}}, 0] [1, 8, 4, 64]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[B]], 0, %[[H]], 0] [1, 8, 1, 64]
func.func @backward(%q: tensor<4x8x8x64xf16>, %k: tensor<4x8x2x64xf16>, %l: tensor<4x8x8xf32>) -> (tensor<4x8x8x64xf16>, tensor<4x8x2x64xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd>
    : tensor<4x8x8x64xf16>, tensor<4x8x2x64xf16>, tensor<4x8x2x64xf16>, tensor<4x8x8x64xf16>, tensor<4x8x8x64xf16>, tensor<4x8x8xf32>
      -> tensor<4x8x8x64xf16>, tensor<4x8x2x64xf16>, tensor<4x8x2x64xf16>
  return %dq, %dk : tensor<4x8x8x64xf16>, tensor<4x8x2x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["attn.sdpa_backward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
