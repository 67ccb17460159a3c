// Canonicalisation moves what a mask_mod says about distances into the mask
// attribute, and removes what has no effect. It must keep every mask that is
// not exactly a band.
//
// RUN: fa4-opt %s -canonicalize -split-input-file | FileCheck %s

!t = tensor<1x8x1x16xf16>

// CHECK-LABEL: func @identity_score_mod
// CHECK: attn.sdpa %{{[^:]*}} layout<bshd> :
// CHECK-NOT: score_mod
// CHECK: return
func.func @identity_score_mod(%q: !t, %c: f32) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%c : f32) : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32) {
      %y = arith.mulf %s, %x : f32
      attn.yield %s : f32
    }
  return %o : !t
}

// CHECK-LABEL: func @identity_after_folding
// CHECK-NOT: score_mod
func.func @identity_after_folding(%q: !t) -> !t {
  %one = arith.constant 1.0 : f32
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%one : f32) : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32) {
      %c1 = arith.constant 1.0 : f32
      %y = arith.mulf %s, %c1 : f32
      attn.yield %y : f32
    }
  return %o : !t
}

// CHECK-LABEL: func @kept_score_mod
// CHECK: captures(%{{.*}} : f32)
// CHECK: score_mod(
func.func @kept_score_mod(%q: !t, %c: f32, %unused: index) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%unused, %c : index, f32) : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %u: index, %x: f32) {
      %y = arith.mulf %s, %x : f32
      attn.yield %y : f32
    }
  return %o : !t
}

// CHECK-LABEL: func @true_mask_mod
// CHECK: attn.sdpa %{{[^:]*}} layout<bshd> :
// CHECK-NOT: mask_mod
// CHECK: return
func.func @true_mask_mod(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant true
      attn.yield %c : i1
    }
  return %o : !t
}

// A mask that hides everything is not one that hides nothing.
// CHECK-LABEL: func @false_mask_mod
// CHECK: mask_mod(
func.func @false_mask_mod(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant false
      attn.yield %c : i1
    }
  return %o : !t
}

// Scores of which none is seen need not be modified.
// CHECK-LABEL: func @score_mod_behind_false_mask_mod
// CHECK-NOT: score_mod(
// CHECK: mask_mod(
// CHECK-NOT: score_mod(
// CHECK: return
func.func @score_mod_behind_false_mask_mod(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %y = math.tanh %s : f32
      attn.yield %y : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi slt, %i, %i : index
      attn.yield %c : i1
    }
  return %o : !t
}

// -----

!t = tensor<1x?x1x16xf16>

// CHECK-LABEL: func @causal_mask_mod
// CHECK: attn.sdpa %{{[^:]*}} layout<bshd> mask<causal, top_left> :
// CHECK-NOT: mask_mod
// CHECK: return
func.func @causal_mask_mod(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi uge, %i, %j : index
      attn.yield %c : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @strictly_causal_i32
// CHECK: mask<window, right = -1, top_left>
// CHECK-NOT: mask_mod
// CHECK: return
func.func @strictly_causal_i32(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %c = arith.cmpi slt, %jj, %ii : i32
      attn.yield %c : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @window_mask_mod
// CHECK: mask<causal, left = 127, top_left>
// CHECK-NOT: mask_mod
// CHECK: return
func.func @window_mask_mod(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c128 = arith.constant 128 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %c128 : index
      %past = arith.cmpi sge, %i, %j : index
      %c = arith.andi %near, %past : i1
      attn.yield %c : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @diagonal
// CHECK: mask<causal, left = 0, top_left>
// CHECK-NOT: mask_mod
// CHECK: return
func.func @diagonal(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi eq, %i, %j : index
      attn.yield %c : i1
    }
  return %o : !t
}

// The causal part moves to the attribute, the document part stays; with an
// attribute there already, the narrower bound wins.
// CHECK-LABEL: func @causal_and_document
// CHECK: mask<causal, left = 64, top_left> captures(
// CHECK: mask_mod(
// CHECK-NOT: arith.cmpi {{.*}}ge
// CHECK: %[[SAME:.*]] = arith.cmpi eq
// CHECK: attn.yield %[[SAME]]
func.func @causal_and_document(%q: !t, %doc: tensor<?xi32>) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 64, right = 5, top_left> captures(%doc : tensor<?xi32>) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi32>) {
      %di = tensor.extract %d[%i] : tensor<?xi32>
      %dj = tensor.extract %d[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %di, %dj : i32
      %causal = arith.cmpi sge, %i, %j : index
      %c = arith.andi %causal, %same : i1
      attn.yield %c : i1
    }
  return %o : !t
}

// A bottom-right attribute cannot be met with a top-left band while the lengths
// are unknown.
// CHECK-LABEL: func @alignments_differ
// CHECK: mask<window, left = 64, bottom_right>
// CHECK: mask_mod(
func.func @alignments_differ(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 64, bottom_right> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sge, %i, %j : index
      attn.yield %c : i1
    }
  return %o : !t
}

// Not bands: an unsigned difference that wraps, an alternative.
// CHECK-LABEL: func @not_bands
// CHECK: layout<bshd> :
// CHECK: mask_mod(
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @not_bands(%q: !t) -> !t {
  %0 = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %d = arith.subi %i, %j : index
      %c = arith.cmpi ult, %d, %c64 : index
      attn.yield %c : i1
    }
  %1 = attn.sdpa %0, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4 : index
      %causal = arith.cmpi uge, %i, %j : index
      %sink = arith.cmpi ult, %j, %c4 : index
      %c = arith.ori %causal, %sink : i1
      attn.yield %c : i1
    }
  return %1 : !t
}

// -----

// With static lengths the same band reads as FlashAttention's causal mask.
// CHECK-LABEL: func @bottom_right
// CHECK: mask<causal, bottom_right>
// CHECK-NOT: mask_mod
// CHECK: return
func.func @bottom_right(%q: tensor<1x8x1x16xf16>, %k: tensor<1x12x1x16xf16>) -> tensor<1x8x1x16xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x12x1x16xf16>, tensor<1x12x1x16xf16> -> tensor<1x8x1x16xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4 : index
      %shifted = arith.addi %i, %c4 : index
      %c = arith.cmpi sge, %shifted, %j : index
      attn.yield %c : i1
    }
  return %o : tensor<1x8x1x16xf16>
}

// One query at the end of the sequence sees everything before it.
// CHECK-LABEL: func @decode
// CHECK: layout<bshd> :
func.func @decode(%q: tensor<4x1x8x64xf16>, %k: tensor<4x?x8x64xf16>) -> tensor<4x1x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, bottom_right>
    : tensor<4x1x8x64xf16>, tensor<4x?x8x64xf16>, tensor<4x?x8x64xf16> -> tensor<4x1x8x64xf16>
  return %o : tensor<4x1x8x64xf16>
}

// CHECK-LABEL: func @vacuous_bounds
// CHECK: layout<bshd> mask<window, left = 3, bottom_right> :
// CHECK: layout<bshd> mask<window, right = 2, top_left> :
// CHECK: layout<bshd> mask<window, left = 10, right = 6, bottom_right> :
func.func @vacuous_bounds(%q: tensor<1x8x1x16xf16>, %k: tensor<1x12x1x16xf16>) -> tensor<1x8x1x16xf16> {
  %0 = attn.sdpa %q, %k, %k layout<bshd> mask<window, left = 3, right = 7, bottom_right> : tensor<1x8x1x16xf16>, tensor<1x12x1x16xf16>, tensor<1x12x1x16xf16> -> tensor<1x8x1x16xf16>
  %1 = attn.sdpa %0, %k, %k layout<bshd> mask<window, left = 7, right = 2, top_left> : tensor<1x8x1x16xf16>, tensor<1x12x1x16xf16>, tensor<1x12x1x16xf16> -> tensor<1x8x1x16xf16>
  %2 = attn.sdpa %1, %k, %k layout<bshd> mask<window, left = 10, right = 6, bottom_right> : tensor<1x8x1x16xf16>, tensor<1x12x1x16xf16>, tensor<1x12x1x16xf16> -> tensor<1x8x1x16xf16>
  return %2 : tensor<1x8x1x16xf16>
}

// CHECK-LABEL: func @unused_lse
// CHECK: attn.sdpa {{.*}} outs(%{{.*}} : tensor<1x8x1x16xf16>) : {{.*}} -> tensor<1x8x1x16xf16>{{$}}
func.func @unused_lse(%q: tensor<1x8x1x16xf16>, %o: tensor<1x8x1x16xf16>, %l: tensor<1x1x8xf32>) -> tensor<1x8x1x16xf16> {
  %r, %s = attn.sdpa %q, %q, %q layout<bshd> outs(%o, %l : tensor<1x8x1x16xf16>, tensor<1x1x8xf32>)
    : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>, tensor<1x1x8xf32>
  return %r : tensor<1x8x1x16xf16>
}

// Static sizes flow through casts into the results.
// CHECK-LABEL: func @casts
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x4x16xf16>, %[[K:.*]]: tensor<?x?x2x16xf16>
// CHECK: %{{.*}}, %{{.*}} = attn.sdpa %[[Q]], %[[K]], %[[K]]
// CHECK-SAME: -> tensor<2x8x4x16xf16>, tensor<2x4x8xf32>
func.func @casts(%q: tensor<2x8x4x16xf16>, %k: tensor<?x?x2x16xf16>) -> (tensor<?x?x4x16xf16>, tensor<?x4x?xf32>) {
  %d = tensor.cast %q : tensor<2x8x4x16xf16> to tensor<?x?x4x16xf16>
  %o, %l = attn.sdpa %d, %k, %k layout<bshd> : tensor<?x?x4x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16> -> tensor<?x?x4x16xf16>, tensor<?x4x?xf32>
  return %o, %l : tensor<?x?x4x16xf16>, tensor<?x4x?xf32>
}

// CHECK-LABEL: func @casts_with_destination
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x4x16xf16>, %[[O:.*]]: tensor<?x?x4x16xf16>)
// CHECK: %[[C:.*]] = tensor.cast %[[O]] : tensor<?x?x4x16xf16> to tensor<2x8x4x16xf16>
// CHECK: attn.sdpa %[[Q]], %[[Q]], %[[Q]] layout<bshd> outs(%[[C]] : tensor<2x8x4x16xf16>)
func.func @casts_with_destination(%q: tensor<2x8x4x16xf16>, %o: tensor<?x?x4x16xf16>) -> tensor<?x?x4x16xf16> {
  %r = attn.sdpa %q, %q, %q layout<bshd> outs(%o : tensor<?x?x4x16xf16>) : tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16> -> tensor<?x?x4x16xf16>
  return %r : tensor<?x?x4x16xf16>
}

// CHECK-LABEL: func @memref_casts
// CHECK-SAME: (%[[Q:.*]]: memref<2x8x4x16xf16>, %[[O:.*]]: memref<2x8x4x16xf16>)
// CHECK: attn.sdpa %[[Q]], %[[Q]], %[[Q]] layout<bshd> outs(%[[O]] : memref<2x8x4x16xf16>)
func.func @memref_casts(%q: memref<2x8x4x16xf16>, %o: memref<2x8x4x16xf16>) {
  %d = memref.cast %q : memref<2x8x4x16xf16> to memref<?x?x4x16xf16>
  %e = memref.cast %o : memref<2x8x4x16xf16> to memref<?x?x4x16xf16>
  attn.sdpa %d, %d, %d layout<bshd> outs(%e : memref<?x?x4x16xf16>) : memref<?x?x4x16xf16>, memref<?x?x4x16xf16>, memref<?x?x4x16xf16>
  return
}

// An unused result on tensors leaves nothing; writes to memrefs stay.
// CHECK-LABEL: func @dead
// CHECK-NOT: attn.sdpa{{ }}%{{.*}}tensor
// CHECK: attn.sdpa {{.*}}memref
// CHECK: return
func.func @dead(%q: tensor<1x8x1x16xf16>, %m: memref<1x8x1x16xf16>, %o: memref<1x8x1x16xf16>) {
  %r = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  attn.sdpa %m, %m, %m layout<bshd> outs(%o : memref<1x8x1x16xf16>) : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>
  return
}

// The gradient is simplified by the same rules.
// CHECK-LABEL: func @backward
// CHECK: attn.sdpa_backward {{.*}} layout<bshd> mask<causal, top_left> : {{.*}} -> tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>
// CHECK-NOT: mask_mod
// CHECK: return
func.func @backward(%q: tensor<1x8x1x16xf16>, %l: tensor<1x1x8xf32>) -> tensor<1x?x1x16xf16> {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd>
    : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x1x8xf32>
      -> tensor<1x?x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sle, %j, %i : index
      attn.yield %c : i1
    }
  return %dq : tensor<1x?x1x16xf16>
}

// Captures whose gradients are asked for are known by their numbers, and the score_mod is what
// is differentiated.
// CHECK-LABEL: func @keeps_captures
// CHECK: captures(%{{.*}}, %{{.*}} : index, f32) wrt [1]
// CHECK: score_mod
func.func @keeps_captures(%x: tensor<1x8x1x64xf16>, %lse: tensor<1x1x8xf32>, %unused: index, %c: f32) -> tensor<?xf32> {
  %g:4 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> captures(%unused, %c : index, f32) wrt [1]
    : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x1x8xf32>
      -> tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %n: index, %m: f32) {
      attn.yield %s : f32
    }
  return %g#3 : tensor<?xf32>
}
