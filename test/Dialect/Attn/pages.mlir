// Keys and values in pages of a cache: the page table is printed as it is parsed, sizes follow from it, the tiled op has
// the rows of its sequences and all pages, and what is decomposed for a CPU reads one page for each key.
//
// RUN: fa4-opt %s | fa4-opt --canonicalize | FileCheck %s
// RUN: fa4-opt %s --attn-decompose | FileCheck %s --check-prefix=CPU
// RUN: fa4-opt %s --transform-interpreter --canonicalize | FileCheck %s --check-prefix=TILE

// CHECK-LABEL: func @batch
// The batch of the result is that of the table, and not the number of pages.
// CHECK: attn.sdpa {{.*}} layout<bshd> seqlens_k(%{{.*}} : tensor<4xi32>) page_table(%{{.*}} : tensor<4x?xi32>) sinks(
// CHECK-SAME: tensor<9x16x2x64xf16> -> tensor<4x?x8x64xf16>
// CPU-LABEL: func @batch
// CPU: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in
// CPU: %[[SIZE:.*]] = arith.constant 16 : index
// CPU: linalg.generic
// CPU-NEXT: ^bb0
// CPU-NEXT: %[[KEY:.*]] = linalg.index 0
// CPU-NEXT: %[[NUMBER:.*]] = arith.divui %[[KEY]], %[[SIZE]]
// CPU-NEXT: %[[PAGE:.*]] = tensor.extract %arg{{[0-9]}}[%[[B]], %[[NUMBER]]] : tensor<4x?xi32>
// CPU-NEXT: %[[AT:.*]] = arith.index_cast %[[PAGE]]
// CPU-NEXT: %[[ROW:.*]] = arith.remui %[[KEY]], %[[SIZE]]
// CPU-NEXT: %[[COLUMN:.*]] = linalg.index 1
// CPU-NEXT: tensor.extract %arg1[%[[AT]], %[[ROW]], %[[HEAD]], %[[COLUMN]]] : tensor<9x16x2x64xf16>
// TILE-LABEL: func @batch
// TILE: scf.forall (%[[B:.*]], %[[HEAD:.*]]) in (%{{.*}}, 2)
// TILE-DAG: tensor.extract_slice %arg1[0, 0, %[[HEAD]], 0] [9, 16, 1, 64]
// TILE-DAG: tensor.extract_slice %{{.*}}[%[[B]], 0] [1, %{{.*}}] [1, 1] : tensor<4x?xi32>
func.func @batch(%q: tensor<?x?x8x64xf16>, %k: tensor<9x16x2x64xf16>, %len: tensor<4xi32>, %t: tensor<4x?xi32>, %s: tensor<8xf32>) -> tensor<?x?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> seqlens_k(%len : tensor<4xi32>) page_table(%t : tensor<4x?xi32>) sinks(%s : tensor<8xf32>)
    : tensor<?x?x8x64xf16>, tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16> -> tensor<?x?x8x64xf16>
  return %o : tensor<?x?x8x64xf16>
}

// Packed queries have bounds, and their keys have none.
// CHECK-LABEL: func @packed
// CHECK: attn.sdpa {{.*}} layout<htd> cu_seqlens(%{{.*}} : tensor<?xi32>) page_table(%{{.*}} : tensor<?x?xi32>)
func.func @packed(%q: tensor<8x?x64xf16>, %k: tensor<?x2x16x64xf16>, %cu: tensor<?xi32>, %t: tensor<?x?xi32>) -> (tensor<8x?x64xf16>, tensor<8x?xf32>) {
  %o, %l = attn.sdpa %q, %k, %k layout<htd> cu_seqlens(%cu : tensor<?xi32>) page_table(%t : tensor<?x?xi32>)
    : tensor<8x?x64xf16>, tensor<?x2x16x64xf16>, tensor<?x2x16x64xf16> -> tensor<8x?x64xf16>, tensor<8x?xf32>
  return %o, %l : tensor<8x?x64xf16>, tensor<8x?xf32>
}

// A window of 63 keys hides nothing of 4 pages of 16.
// CHECK-LABEL: func @all_keys
// CHECK-NOT: mask<
func.func @all_keys(%q: tensor<1x4x1x64xf16>, %k: tensor<9x16x1x64xf16>, %t: tensor<1x4xi32>) -> tensor<1x4x1x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<window, left = 63, right = 63, top_left> page_table(%t : tensor<1x4xi32>)
    : tensor<1x4x1x64xf16>, tensor<9x16x1x64xf16>, tensor<9x16x1x64xf16> -> tensor<1x4x1x64xf16>
  return %o : tensor<1x4x1x64xf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} attributes{sym_name = "batch"} in %root : (!transform.any_op) -> !transform.any_op
    %op = transform.structured.match ops{["attn.sdpa"]} in %f : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
