// With head dims 192 and 128, tensor memory has no room for dq beside the sums of dk and
// dv: dq has a kernel whose rows are queries, and the main kernel works on 64 queries at a
// time. Nothing is added to memory, so that there are no sums to make zero or to round,
// and the op needs no turns to be deterministic.
//
// RUN: fa4-opt %s --split-input-file --attn-to-tile | FileCheck %s

// CHECK-LABEL: tile.kernel @wide_preprocess_kernel(
// CHECK-NOT: tile.name = "sums"
// CHECK-NOT: tile.name = "turns"
// CHECK-SAME: grid = [#tile.extent<"Sq" by 128>
// CHECK: tile.store %{{.*}} : vector<128xf32>
// CHECK: tile.store %{{.*}} : vector<128xf32>
// CHECK-NOT: tile.store

// CHECK-LABEL: tile.kernel @wide_kernel(
// CHECK-NOT: tile.name = "sums"
// CHECK-SAME: tile.if_empty = 0.000000e+00 : f32, tile.name = "dk", tile.output = "once"
// CHECK-SAME: tile.if_empty = 0.000000e+00 : f32, tile.name = "dv", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"Sk" by 128>, #tile.extent<"Hkv">
// CHECK: scf.for
// CHECK: tile.mma %{{.*}}, transpose %{{.*}} : vector<128x192xbf16>, vector<64x192xbf16> -> vector<128x64xf32>
// CHECK: tile.mma {{.*}} acc %{{.*}} -> vector<128x128xf32>
// CHECK: tile.mma %{{.*}}, transpose %{{.*}} : vector<128x128xbf16>, vector<64x128xbf16> -> vector<128x64xf32>
// CHECK: tile.mma {{.*}} acc %{{.*}} -> vector<128x192xf32>
// CHECK-NOT: tile.mma
// CHECK-NOT: tile.reduce_add
// CHECK: scf.yield

// As the main kernel's last products, but of rows of queries: the LSE is a number a row.
// CHECK-LABEL: tile.kernel @wide_dq_kernel(
// CHECK-SAME: tile.name = "q"
// CHECK-SAME: tile.name = "shift"
// CHECK-SAME: tile.if_empty = 0.000000e+00 : f32, tile.name = "dq", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"Sq" by 128>, #tile.extent<"Hq">
// CHECK-SAME: tile.programmatic_launch
// CHECK-SAME: condition = "Hkv == 0 ? Hq == 0 : Hq % Hkv == 0"
// CHECK: %[[SHIFT:.*]] = tile.load_rows
// CHECK: %[[DELTA:.*]] = tile.load_rows
// CHECK: %[[DQ:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<128x192xf32>)
// CHECK: %[[K:.*]] = tile.load {{.*}} -> vector<128x192xbf16>
// CHECK: tile.mma %{{.*}}, transpose %[[K]]
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[DP:.*]] = tile.mma %{{.*}}, transpose %{{.*}} : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
// CHECK: %[[DIFF:.*]] = arith.subf %[[DP]]
// CHECK: %[[DS:.*]] = arith.mulf %[[P]], %[[DIFF]]
// CHECK: %[[ROUND:.*]] = arith.truncf %[[DS]]
// CHECK: %[[NEXT:.*]] = tile.mma %[[ROUND]], %[[K]] acc %[[ACC]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[DQ]]
// CHECK: %[[OUT:.*]] = arith.truncf %[[SCALED]]
// CHECK: tile.store %[[OUT]]

// CHECK-NOT: tile.kernel
// CHECK-LABEL: func.func @wide(
// CHECK: %[[ROWS:.*]]:2 = tile.launch @wide_preprocess_kernel
// CHECK: %[[KV:.*]]:2 = tile.launch @wide_kernel ins({{.*}}, %[[ROWS]]#0, %[[ROWS]]#1 :
// CHECK: %[[Q:.*]] = tile.launch @wide_dq_kernel ins({{.*}}, %[[ROWS]]#0, %[[ROWS]]#1 :
// CHECK: return %[[Q]], %[[KV]]#0, %[[KV]]#1
func.func @wide(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>,
                %out: tensor<?x?x?x128xbf16>, %dout: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> mask<causal, bottom_right> deterministic
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>,
      tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>
}

// -----

// The probabilities are multiplied by the derivative of score_mod, and the gradient of a
// capture has two kernels more.
// CHECK-LABEL: tile.kernel @mods_dq_kernel(
// CHECK-SAME: tile.name = "cap
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[W:.*]] = arith.mulf %[[P]]
// CHECK: tile.mma
// CHECK: arith.mulf %[[W]]
// CHECK-LABEL: tile.kernel @mods_capture0_kernel(
// CHECK-SAME: grid = [#tile.extent<"Sq" by 256>
func.func @mods(%q: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %cap: f32) -> tensor<?xf32> {
  %g:4 = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd> captures(%cap : f32) wrt [0]
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %r = arith.mulf %s, %c : f32
      attn.yield %r : f32
    }
  return %g#3 : tensor<?xf32>
}

// -----

// Shared memory has room for one tile of queries of a capture's gradient.
// CHECK-LABEL: tile.kernel @square_capture0_kernel(
// CHECK-SAME: grid = [#tile.extent<"Sq" by 128>
func.func @square(%q: tensor<?x?x?x192xbf16>, %lse: tensor<?x?x?xf32>, %cap: f32) -> tensor<?xf32> {
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%lse) layout<bshd> captures(%cap : f32) wrt [0]
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %r = arith.mulf %s, %c : f32
      attn.yield %r : f32
    }
  return %g#3 : tensor<?xf32>
}
