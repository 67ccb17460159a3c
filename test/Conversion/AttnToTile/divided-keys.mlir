// Few queries, of which the number is static: the heads that share keys lie in one tile, CTAs divide the keys, and a
// second kernel merges what they have.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a --split-input-file | FileCheck %s
// RUN: fa4-opt %s --attn-to-tile="chip=sm_90a split-keys=false" --split-input-file | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: merge_kernel
// WHOLE-NOT: inner

// Splits are as many as one CTA for each of 132 SMs, or up to four where that is less than two; and have 256 keys.
// CHECK-LABEL: tile.kernel @step_kernel(
// CHECK-SAME: tile.dims = ["B", "8", "min(ceildiv(Sk, 256), share(16, 66, B))", "12", "128"], tile.if_empty = 0.000000e+00 : f32, tile.name = "split_sum", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"min(ceildiv(Sk, 256), share(16, 66, B))">, #tile.extent<"8">, #tile.extent<"B">]
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: %[[HEAD:.*]] = arith.muli %[[AT]]#1, %c3
// Blocks [s m / n, (s + 1) m / n) of split s; none is as if there were no keys.
// CHECK: %[[N:.*]] = memref.dim %{{.*}}, %c2
// CHECK: %[[SM:.*]] = arith.muli %[[AT]]#0, %[[M:.*]] :
// CHECK: arith.divui %[[SM]], %[[N]]
// CHECK: %[[KEYS:.*]] = arith.select %{{.*}}, %c0, %{{.*}} : index
// A query has four rows, of which three are of heads.
// CHECK: tile.load %{{.*}}[%[[AT]]#2, %c0, %[[HEAD]], %c0] dims [1, 3] inner [2, 4] : memref<?x3x24x128xbf16> -> vector<64x128xbf16>
// CHECK: scf.for
// CHECK: tile.load %{{.*}}[%[[AT]]#2, %{{.*}}, %[[AT]]#1, %c0] dims [1, 3] :
// The last key that a row sees is that of its query.
// CHECK: arith.divui %{{.*}} : vector<64xindex>
// CHECK: tile.store %{{.*}}[%[[AT]]#2, %[[AT]]#1, %[[AT]]#0, %c0] : vector<64xf32>, memref<?x8x?x12xf32>
// CHECK: tile.store %{{.*}}[%[[AT]]#2, %[[AT]]#1, %[[AT]]#0, %c0, %c0] : vector<64x128xf32>, memref<?x8x?x12x128xf32>

// CHECK-LABEL: tile.kernel @step_merge_kernel(
// CHECK-SAME: grid = [#tile.extent<"9">, #tile.extent<"8">, #tile.extent<"B">]
// CHECK: scf.for
// CHECK: tile.load_scalar
// CHECK: tile.load_rows
// CHECK: tile.store %{{.*}} dims [3] : vector<128xbf16>, memref<?x3x24x128xbf16>
// CHECK: tile.store %{{.*}} dims [2] to(%{{.*}}) : vector<128xf32>, memref<?x24x3xf32>
func.func @step(%q: memref<?x3x24x128xbf16>, %k: memref<?x?x8x128xbf16>, %v: memref<?x?x8x128xbf16>, %o: memref<?x3x24x128xbf16>,
                %l: memref<?x24x3xf32>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    outs(%o, %l : memref<?x3x24x128xbf16>, memref<?x24x3xf32>) : memref<?x3x24x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>
  return
}

// -----

// A region that asks for the head has one head in a tile. Static sizes are computed here.
// CHECK-LABEL: tile.kernel @by_head_kernel(
// CHECK-SAME: grid = [#tile.extent<"4">, #tile.extent<"4">, #tile.extent<"2">]
// CHECK-NOT: inner
func.func @by_head(%q: tensor<2x1x4x64xbf16>, %k: tensor<2x1000x2x64xbf16>) -> tensor<2x1x4x64xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<2x1x4x64xbf16>, tensor<2x1000x2x64xbf16>, tensor<2x1000x2x64xbf16> -> tensor<2x1x4x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %h : index to i32
      %x = arith.sitofp %n : i32 to f32
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    }
  return %o : tensor<2x1x4x64xbf16>
}

// -----

// Neither more than 16 queries nor 256 keys or less are divided.
// CHECK-LABEL: tile.kernel @many_kernel(
// CHECK-NOT: merge_kernel
func.func @many(%q: tensor<?x17x4x64xbf16>, %k: tensor<?x?x2x64xbf16>) -> tensor<?x17x4x64xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<?x17x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16> -> tensor<?x17x4x64xbf16>
  return %o : tensor<?x17x4x64xbf16>
}
func.func @few_keys(%q: tensor<?x1x4x64xbf16>, %k: tensor<?x256x2x64xbf16>) -> tensor<?x1x4x64xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<?x1x4x64xbf16>, tensor<?x256x2x64xbf16>, tensor<?x256x2x64xbf16> -> tensor<?x1x4x64xbf16>
  return %o : tensor<?x1x4x64xbf16>
}
