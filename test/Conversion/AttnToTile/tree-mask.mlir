// The example of drafts that are a tree: a position is compared with a length that stands in memory, so that blocks of
// keys without a draft are known to be seen, and the table of the tree is read in the others alone.
//
// RUN: fa4-opt %S/../../../docs/examples/decoding/tree.mlir --attn-to-tile=chip=sm_90a | FileCheck %s

// CHECK-LABEL: tile.kernel @tree_kernel(
// CHECK: scf.for
// CHECK-NOT: tile.gather
// CHECK: scf.if
// CHECK-NEXT: tile.gather %{{.*}} : memref<?xi32>
// CHECK: tile.gather %{{.*}} : memref<?x8x8xi32>
// CHECK: } else {
// CHECK-NOT: tile.gather
// CHECK-LABEL: tile.kernel @tree_merge_kernel(
