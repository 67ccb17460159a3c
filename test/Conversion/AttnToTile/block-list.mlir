// Lists of blocks: a tile of queries reads its count once and a number of its list in each step, which says where the
// block begins. The mask of a step goes by the block, and not by the number of the step. Tiles of keys of a gradient do so
// with the query list, and dq's kernel, where it has one of its own, with the block list.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a | FileCheck %s

// CHECK-LABEL: tile.kernel @selected_kernel(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x?x2x128xbf16> {{{.*}}tile.name = "k"}
// CHECK-SAME: %[[LIST:[^:]*]]: memref<?x?x?x?xi32> {tile.dims = ["B", "ListHeads", "ListBlocks", "ListEntries"], tile.name = "block_list"}
// CHECK-SAME: %[[COUNTS:[^:]*]]: memref<?x?x?xi32> {tile.dims = ["B", "ListHeads", "ListBlocks"], tile.name = "block_counts"}
// CHECK-SAME: message = "the number of query heads, 8, must be a multiple of that of the heads of 'block_list', ListHeads"
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: tile.load_scalar %[[COUNTS]][%[[AT]]#2, %[[HEAD:.*]], %[[N:.*]]]
// CHECK: scf.for %[[J:.*]] = %c0
// CHECK: %[[ENTRY:.*]] = arith.divui %[[J]], %c2
// CHECK: tile.load_scalar %[[LIST]][%[[AT]]#2, %[[HEAD]], %[[N]], %[[ENTRY]]]
// CHECK: tile.load %[[K]][%[[AT]]#2, %{{.*}}, %{{.*}}, %c0] dims [1, 3] : memref<?x?x2x128xbf16> -> vector<128x128xbf16>
// CHECK: scf.if
func.func @selected(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, bottom_right> block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 256]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// Blocks of 96 keys are visited by 32, tiles of 192 queries are a part of a block of 384.
// CHECK-LABEL: tile.kernel @parts_kernel(
// CHECK-SAME: #tile.extent<"Sq" by 192>
// CHECK: arith.divui %{{.*}}, %c3
// CHECK: vector<32x64xbf16>
func.func @parts(%q: tensor<1x?x1x64xbf16>, %k: tensor<1x?x1x64xbf16>, %list: tensor<1x1x?x?xi32>, %counts: tensor<1x1x?xi32>) -> tensor<1x?x1x64xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<1x1x?x?xi32>, tensor<1x1x?xi32>) block_size [384, 96]
    : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16> -> tensor<1x?x1x64xbf16>
  return %o : tensor<1x?x1x64xbf16>
}

// Few queries of one list: splits have parts of the list, at most one for each 256 keys for which it has room, and the heads
// that share keys have one tile.
// CHECK-LABEL: tile.kernel @step_kernel(
// CHECK-SAME: %[[LIST:[^:]*]]: memref<?x2x1x16xi32> {{{.*}}tile.name = "block_list"}
// CHECK-SAME: %[[COUNTS:[^:]*]]: memref<?x2x1xi32> {{{.*}}tile.name = "block_counts"}
// CHECK-SAME: tile.dims = ["B", "2", "min(4, {{.*}})", "4", "128"], {{.*}}tile.name = "split_sum"
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: %[[HEAD:.*]] = arith.divui
// CHECK: tile.load_scalar %[[COUNTS]][%[[AT]]#2, %[[HEAD]], %c0]
// CHECK: scf.for %[[J:.*]] = %c0
// CHECK: %[[PART:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK: tile.load_scalar %[[LIST]][%[[AT]]#2, %[[HEAD]], %c0, %[[PART]]]
// CHECK-LABEL: tile.kernel @step_merge_kernel(
func.func @step(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %list: tensor<?x2x1x16xi32>, %counts: tensor<?x2x1xi32>) -> tensor<?x1x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<?x2x1x16xi32>, tensor<?x2x1xi32>) block_size [64, 64]
    : tensor<?x1x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16> -> tensor<?x1x8x128xbf16>
  return %o : tensor<?x1x8x128xbf16>
}

// Each query head has a list of its own, and a tile.
// CHECK-LABEL: tile.kernel @lists_of_query_heads_kernel(
// CHECK-SAME: tile.dims = ["B", "8", "{{.*}}", "1", "128"], {{.*}}tile.name = "split_sum"
func.func @lists_of_query_heads(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %list: tensor<?x8x1x?xi32>, %counts: tensor<?x8x1xi32>) -> tensor<?x1x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<?x8x1x?xi32>, tensor<?x8x1xi32>) block_size [1, 64]
    : tensor<?x1x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16> -> tensor<?x1x8x128xbf16>
  return %o : tensor<?x1x8x128xbf16>
}

// A number of the list is two steps for each of the four heads that share the keys. What is no block is masked as one
// behind the end, and the last one is loaded in its place.
// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK-NOT: "block_list"
// CHECK-SAME: %[[LIST:[^:]*]]: memref<?x?x?x?xi32> {tile.dims = ["B", "ListHeads", "ListKeyBlocks", "ListQueries"], tile.name = "query_list"}
// CHECK-SAME: %[[COUNTS:[^:]*]]: memref<?x?x?xi32> {tile.dims = ["B", "ListHeads", "ListKeyBlocks"], tile.name = "query_counts"}
// CHECK-SAME: message = "the number of key/value heads, 2, must be a multiple of that of the heads of 'query_list', ListHeads"
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: tile.load_scalar %[[COUNTS]][%[[AT]]#2, %[[HEAD:.*]], %[[N:.*]]]
// CHECK: scf.for %[[STEP:.*]] = %c0
// CHECK: %[[PASSED:.*]] = arith.divui %[[STEP]], %c4
// CHECK: %[[ENTRY:.*]] = arith.divui %[[PASSED]], %c2
// CHECK: tile.load_scalar %[[LIST]][%[[AT]]#2, %[[HEAD]], %[[N]], %[[ENTRY]]]
// CHECK: tile.reduce_add
func.func @gradient(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>,
                    %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) -> (tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> mask<causal, bottom_right>
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) query_list(%queries, %qcounts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 256]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32>
      -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
}

// CHECK-LABEL: tile.kernel @ordered_kernel(
// CHECK-SAME: tile.name = "query_list"
// CHECK-LABEL: tile.kernel @ordered_dq_kernel(
// CHECK-SAME: tile.name = "block_list"
func.func @ordered(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>,
                   %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) -> (tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> deterministic
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) query_list(%queries, %qcounts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 128]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32>
      -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
}
