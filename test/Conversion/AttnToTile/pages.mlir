// Keys and values in pages: loads find the page by the table, a sequence has as many keys as all of its pages have, and
// what is a size of keys elsewhere is one of pages.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a | FileCheck %s

// CHECK-LABEL: tile.kernel @prefill_kernel(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x64x2x128xbf16> {tile.dims = ["Pages", "64", "2", "128"], tile.name = "k"}
// CHECK-SAME: %[[LENGTHS:[^:]*]]: memref<?xi32> {tile.dims = ["B"], tile.name = "seqlens_k"}
// CHECK-SAME: %[[TABLE:[^:]*]]: memref<?x?xi32> {tile.dims = ["B", "SeqPages"], tile.name = "page_table"}
// CHECK-SAME: condition = "SeqPages <= {{[0-9]+}}", message = "the number of pages of a sequence, SeqPages, must be at most {{[0-9]+}}"
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: %[[N:.*]] = memref.dim %[[TABLE]], %c1
// CHECK: %[[ROOM:.*]] = arith.muli %[[N]], %c64
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[ROOM]]
// CHECK: tile.load %[[K]][%[[AT]]#2, %{{.*}}, %{{.*}}, %c0] dims [1, 3] to(%[[END]]) pages(%[[TABLE]] : memref<?x?xi32>) : memref<?x64x2x128xbf16> -> vector<128x128xbf16>
// CHECK: tile.load %{{.*}} to(%[[END]]) pages(%[[TABLE]] : memref<?x?xi32>)
func.func @prefill(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x64x2x128xbf16>, %len: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, bottom_right> seqlens_k(%len : tensor<?xi32>) page_table(%t : tensor<?x?xi32>)
    : tensor<?x?x8x128xbf16>, tensor<?x64x2x128xbf16>, tensor<?x64x2x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// There is at most one split for each 256 keys, which are four pages; a page of more has one.
// CHECK-LABEL: tile.kernel @step_kernel(
// CHECK-SAME: tile.dims = ["B", "2", "min(ceildiv(SeqPages, 4), share(66, 264, B))", "4", "128"], {{.*}}tile.name = "split_sum"
// CHECK: tile.load %{{.*}} pages(
func.func @step(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x64x2x128xbf16>, %t: tensor<?x?xi32>) -> tensor<?x1x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<?x?xi32>)
    : tensor<?x1x8x128xbf16>, tensor<?x64x2x128xbf16>, tensor<?x64x2x128xbf16> -> tensor<?x1x8x128xbf16>
  return %o : tensor<?x1x8x128xbf16>
}

// CHECK-LABEL: tile.kernel @large_pages_kernel(
// CHECK-SAME: tile.dims = ["B", "2", "min(SeqPages, share(66, 264, B))", "4", "128"], {{.*}}tile.name = "split_sum"
func.func @large_pages(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x512x2x128xbf16>, %t: tensor<?x?xi32>) -> tensor<?x1x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<?x?xi32>)
    : tensor<?x1x8x128xbf16>, tensor<?x512x2x128xbf16>, tensor<?x512x2x128xbf16> -> tensor<?x1x8x128xbf16>
  return %o : tensor<?x1x8x128xbf16>
}

// Packed queries have a list of tiles with the bounds of queries alone. Keys are those of the tile's sequence.
// CHECK-LABEL: tile.kernel @packed_query_tiles_kernel(
// CHECK-NOT: cu_seqlens_k
// CHECK-NOT: tile_first_keys
// CHECK-LABEL: tile.kernel @packed_kernel(
// CHECK: %[[PACKED:.*]]:2 = tile.work_tile
// CHECK: %[[NUMBER:.*]] = tile.load_scalar %{{.*}}[%[[PACKED]]#0]
// CHECK: %[[CAST:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: %[[SEQUENCE:.*]] = arith.maxsi %[[CAST]], %c0
// CHECK: tile.load %{{.*}}[%[[SEQUENCE]], %{{.*}}, %{{.*}}, %c0] dims [1, 3] to(%{{.*}}) pages(
func.func @packed(%q: tensor<?x8x128xbf16>, %k: tensor<?x64x2x128xbf16>, %cu: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<thd> cu_seqlens(%cu : tensor<?xi32>) page_table(%t : tensor<?x?xi32>)
    : tensor<?x8x128xbf16>, tensor<?x64x2x128xbf16>, tensor<?x64x2x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// A table that is read at each key has an element for each that there is room for.
// CHECK-LABEL: tile.kernel @bias_kernel(
// CHECK-SAME: condition = "capture0_0 >= SeqPages * 64", message = "dimension 0 of 'capture0', capture0_0, must be at least SeqPages * 64: a region reads it at each key"
func.func @bias(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x64x2x128xbf16>, %t: tensor<?x?xi32>, %bias: tensor<?xf32>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<?x?xi32>) captures(%bias : tensor<?xf32>)
    : tensor<?x?x8x128xbf16>, tensor<?x64x2x128xbf16>, tensor<?x64x2x128xbf16> -> tensor<?x?x8x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<?xf32>) {
      %x = tensor.extract %c[%j] : tensor<?xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x8x128xbf16>
}
