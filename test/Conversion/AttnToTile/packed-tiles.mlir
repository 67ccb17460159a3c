// RUN: fa4-opt %s --attn-to-tile | FileCheck %s

// Which work tiles there are stands in memory: a kernel in front lists them, one
// for each lane, in a loop over the sequences. There are no more than the blocks
// of all rows and one for each sequence.
// CHECK-LABEL: tile.kernel @forward_query_tiles_kernel(
// CHECK-SAME:  tile.dims = ["ceildiv(Tq, 256) + Bounds"], tile.if_empty = 0.000000e+00 : f32, tile.name = "tile_sequences", tile.output = "once"
// CHECK-SAME:  grid = [#tile.extent<"ceildiv(Tq, 256) + Bounds" by 128>]
// CHECK:       scf.for {{.*}} -> (vector<128xindex>, vector<128xindex>, vector<128xindex>, vector<128xindex>, vector<128xindex>, vector<128xindex>, index)

// The main kernel has a work tile for each of the list that belongs to a sequence, and each head. Rows count
// from the first one of the sequence, and the result ends with its last one: the
// rows behind belong to the next sequence.
// CHECK-LABEL: tile.kernel @forward_kernel(
// CHECK-SAME:  tile.name = "out", tile.output = "partial"
// CHECK-SAME:  grid = [#tile.extent<"ceildiv(Tq, 256) + Bounds">, #tile.extent<"Hq">]
// CHECK-SAME:  work_count = "tile_counts"
// CHECK:       %[[WORK:.*]]:2 = tile.work_tile
// CHECK-COUNT-3: tile.load_scalar %{{.*}}[%[[WORK]]#0]
// CHECK:       %[[FIRST:.*]] = arith.minsi
// CHECK-NEXT:  arith.maxsi %{{.*}}, %[[FIRST]]
// CHECK-NEXT:  %[[END:.*]] = arith.minsi
// CHECK:       %[[ROW:.*]] = arith.addi %[[FIRST]]
// CHECK:       tile.load %{{.*}}[%[[ROW]], %[[WORK]]#1, %{{.*}}] dims [0, 2] to(%[[END]])
// CHECK:       tile.store %{{.*}}, %{{.*}}[%[[ROW]], %[[WORK]]#1, %{{.*}}] dims [0, 2] to(%[[END]])
// CHECK:       tile.store %{{.*}}, %{{.*}}[%[[WORK]]#1, %[[ROW]]] to(%[[END]])
func.func @forward(%x: tensor<?x?x64xbf16>, %cu: tensor<?xi32>) -> (tensor<?x?x64xbf16>, tensor<?x?xf32>) {
  %o, %l = attn.sdpa %x, %x, %x layout<thd> mask<causal, bottom_right> cu_seqlens(%cu, %cu : tensor<?xi32>, tensor<?xi32>)
    : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x64xbf16> -> tensor<?x?x64xbf16>, tensor<?x?xf32>
  return %o, %l : tensor<?x?x64xbf16>, tensor<?x?xf32>
}

// Static sizes make a static list. Tiles of keys and of queries have lists of
// their own, and a list serves all kernels whose tiles have as many rows.
// CHECK-LABEL: tile.kernel @gradient_clear_kernel(
// CHECK-LABEL: tile.kernel @gradient_query_tiles_kernel(
// CHECK-SAME:  tile.dims = ["6"], tile.if_empty = 0.000000e+00 : f32, tile.name = "tile_numbers"
// CHECK-LABEL: tile.kernel @gradient_preprocess_kernel(
// CHECK-LABEL: tile.kernel @gradient_key_tiles_kernel(
// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK-SAME:  tile.name = "dk", tile.output = "partial"
// CHECK-LABEL: tile.kernel @gradient_postprocess_kernel(
// CHECK-NOT:   tile.kernel
func.func @gradient(%x: tensor<300x1x64xbf16>, %lse: tensor<1x300xf32>, %cu: tensor<3xi32>)
    -> (tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>) {
  %g:3 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<thd> cu_seqlens(%cu, %cu : tensor<3xi32>, tensor<3xi32>)
    : tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<1x300xf32>
      -> tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>
  return %g#0, %g#1, %g#2 : tensor<300x1x64xbf16>, tensor<300x1x64xbf16>, tensor<300x1x64xbf16>
}
