// Each rule of the verifier of attn.sdpa is broken once, in the verifier's
// order, and must be reported with its message.
//
// RUN: fa4-opt %s -split-input-file -verify-diagnostics

// Every rule of the verifier, one case each, in the verifier's order.

func.func @mixed(%q: tensor<1x8x1x16xf16>, %k: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{operands other than captures must be all tensors or all memrefs}}
  %o = attn.sdpa %q, %k, %q layout<bshd> : tensor<1x8x1x16xf16>, memref<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @mixed_seqlens(%q: tensor<1x8x1x16xf16>, %l: memref<1xi32>) {
  // expected-error @+1 {{operands other than captures must be all tensors or all memrefs}}
  %o = attn.sdpa %q, %q, %q layout<bshd> seqlens_k(%l : memref<1xi32>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @memref_results(%q: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{has no results on memrefs; name destinations with outs}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @unranked(%q: tensor<*xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref, but got 'tensor<*xf16>'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<*xf16>, tensor<*xf16>, tensor<*xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @rank(%q: tensor<8x1x16xf16>) {
  // expected-error @+1 {{'q' must have rank 4 in layout bshd, got 3}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @rank_k(%q: tensor<1x8x1x16xf16>, %k: tensor<8x1x16xf16>) {
  // expected-error @+1 {{'k' must have rank 4 in layout bhsd, got 3}}
  %o = attn.sdpa %q, %k, %q layout<bhsd> : tensor<1x8x1x16xf16>, tensor<8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @element(%q: tensor<1x8x1x16xf64>) {
  // expected-error @+1 {{element type of 'q' must be f16, bf16, f32, f8E4M3FN or f8E5M2, got 'f64'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf64>, tensor<1x8x1x16xf64>, tensor<1x8x1x16xf64> -> tensor<1x8x1x16xf64>
  return
}

// -----

func.func @element_v(%q: tensor<1x8x1x16xf16>, %v: tensor<1x8x1x16xbf16>) {
  // expected-error @+1 {{element type of 'v' is 'bf16' but that of 'q' is 'f16'}}
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xbf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @batch(%q: tensor<2x8x1x16xf16>, %k: tensor<3x8x1x16xf16>) {
  // expected-error @+1 {{size B is 3 in 'k' but 2 in 'q'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<2x8x1x16xf16>, tensor<3x8x1x16xf16>, tensor<3x8x1x16xf16> -> tensor<2x8x1x16xf16>
  return
}

// -----

func.func @key_length(%q: tensor<2x8x1x16xf16>, %k: tensor<2x9x1x16xf16>) {
  // expected-error @+1 {{size Sk is 8 in 'v' but 9 in 'k'}}
  %o = attn.sdpa %q, %k, %q layout<bshd> : tensor<2x8x1x16xf16>, tensor<2x9x1x16xf16>, tensor<2x8x1x16xf16> -> tensor<2x8x1x16xf16>
  return
}

// -----

func.func @kv_heads(%q: tensor<2x8x4x16xf16>, %k: tensor<2x8x2x16xf16>, %v: tensor<2x8x4x16xf16>) {
  // expected-error @+1 {{size Hkv is 4 in 'v' but 2 in 'k'}}
  %o = attn.sdpa %q, %k, %v layout<bshd> : tensor<2x8x4x16xf16>, tensor<2x8x2x16xf16>, tensor<2x8x4x16xf16> -> tensor<2x8x4x16xf16>
  return
}

// -----

func.func @head_dim(%q: tensor<2x8x1x16xf16>, %k: tensor<2x8x1x32xf16>) {
  // expected-error @+1 {{size D is 32 in 'k' but 16 in 'q'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<2x8x1x16xf16>, tensor<2x8x1x32xf16>, tensor<2x8x1x32xf16> -> tensor<2x8x1x32xf16>
  return
}

// -----

func.func @zero_head_dim(%q: tensor<2x8x1x0xf16>) {
  // expected-error @+1 {{size D must not be 0}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<2x8x1x0xf16>, tensor<2x8x1x0xf16>, tensor<2x8x1x0xf16> -> tensor<2x8x1x0xf16>
  return
}

// -----

func.func @zero_heads(%q: tensor<2x8x2x16xf16>, %k: tensor<2x8x0x16xf16>) {
  // expected-error @+1 {{size Hkv must not be 0}}
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<2x8x2x16xf16>, tensor<2x8x0x16xf16>, tensor<2x8x0x16xf16> -> tensor<2x8x2x16xf16>
  return
}

// -----

func.func @head_multiple(%q: tensor<2x8x6x16xf16>, %k: tensor<2x8x4x16xf16>) {
  // expected-error @+1 {{number of query heads (6) must be a multiple of that of key/value heads (4)}}
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<2x8x6x16xf16>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16> -> tensor<2x8x6x16xf16>
  return
}

// -----

func.func @cu_missing(%q: tensor<8x1x16xf16>) {
  // expected-error @+1 {{layout thd needs cu_seqlens}}
  %o = attn.sdpa %q, %q, %q layout<thd> : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @cu_one(%q: tensor<8x1x16xf16>, %cu: tensor<3xi32>) {
  // expected-error @+1 {{cu_seqlens_q and cu_seqlens_k must be given together}}
  %o = attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%cu : tensor<3xi32>) : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @cu_not_packed(%q: tensor<1x8x1x16xf16>, %cu: tensor<2xi32>) {
  // expected-error @+1 {{cu_seqlens needs a packed layout (thd, htd), got bshd}}
  %o = attn.sdpa %q, %q, %q layout<bshd> cu_seqlens(%cu, %cu : tensor<2xi32>, tensor<2xi32>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @cu_type(%q: tensor<8x1x16xf16>, %cu: tensor<3xi64>) {
  // expected-error @+1 {{'cu_seqlens_q' must be of rank 1 and i32, got 'tensor<3xi64>'}}
  %o = attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%cu, %cu : tensor<3xi64>, tensor<3xi64>) : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @cu_type_k(%q: tensor<8x1x16xf16>, %cu: tensor<3xi32>, %cuk: tensor<3x1xi32>) {
  // expected-error @+1 {{'cu_seqlens_k' must be of rank 1 and i32, got 'tensor<3x1xi32>'}}
  %o = attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%cu, %cuk : tensor<3xi32>, tensor<3x1xi32>) : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @cu_empty(%q: tensor<8x1x16xf16>, %cu: tensor<0xi32>) {
  // expected-error @+1 {{'cu_seqlens_q' must have B + 1 elements, got 0}}
  %o = attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%cu, %cu : tensor<0xi32>, tensor<0xi32>) : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @cu_sizes(%q: tensor<8x1x16xf16>, %cu: tensor<3xi32>, %cuk: tensor<4xi32>) {
  // expected-error @+1 {{size B is 3 in 'cu_seqlens_k' but 2 in 'cu_seqlens_q'}}
  %o = attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%cu, %cuk : tensor<3xi32>, tensor<4xi32>) : tensor<8x1x16xf16>, tensor<8x1x16xf16>, tensor<8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @seqlens_k_type(%q: tensor<1x8x1x16xf16>, %l: tensor<1xf32>) {
  // expected-error @+1 {{'seqlens_k' must be of rank 1 and i32, got 'tensor<1xf32>'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> seqlens_k(%l : tensor<1xf32>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @seqlens_k_size(%q: tensor<1x8x1x16xf16>, %l: tensor<2xi32>) {
  // expected-error @+1 {{size B is 2 in 'seqlens_k' but 1 in 'q'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> seqlens_k(%l : tensor<2xi32>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @sinks_type(%q: tensor<1x8x1x16xf16>, %s: tensor<1xf64>) {
  // expected-error @+1 {{'sinks' must be of rank 1 and f32, bf16 or f16, got 'tensor<1xf64>'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> sinks(%s : tensor<1xf64>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @sinks_size(%q: tensor<1x8x4x16xf16>, %k: tensor<1x8x2x16xf16>, %s: tensor<2xf32>) {
  // expected-error @+1 {{size Hq is 2 in 'sinks' but 4 in 'q'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> sinks(%s : tensor<2xf32>) : tensor<1x8x4x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @scale(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{scale must be a finite number}}
  %o = attn.sdpa %q, %q, %q layout<bshd> scale(0x7F800000) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @no_result(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{needs the result 'out' on tensors}}
  attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>
  return
}

// -----

func.func @no_destination(%q: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{needs 1 to 2 destinations (outs) on memrefs, got 0}}
  attn.sdpa %q, %q, %q layout<bshd> : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>
  return
}

// -----

func.func @destination_count(%q: tensor<1x8x1x16xf16>, %o: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{has 2 results but 1 destinations (outs)}}
  %r, %l = attn.sdpa %q, %q, %q layout<bshd> outs(%o : tensor<1x8x1x16xf16>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>, tensor<1x1x8xf32>
  return
}

// -----

func.func @destination_type(%q: tensor<1x8x1x16xf16>, %o: tensor<1x?x1x16xf16>) {
  // expected-error @+1 {{destination 0 has type 'tensor<1x?x1x16xf16>' but the result has type 'tensor<1x8x1x16xf16>'}}
  %r = attn.sdpa %q, %q, %q layout<bshd> outs(%o : tensor<1x?x1x16xf16>) : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @too_many_results(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+2 {{expected at most 2 result types, got 3}}
  %r, %l, %x = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>
    -> tensor<1x8x1x16xf16>, tensor<1x1x8xf32>, tensor<1xf32>
  return
}

// -----

func.func @out_rank(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{'out' must have rank 4 in layout bshd, got 3}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @out_element(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{element type of 'out' must be f16, bf16, f32 or 'f16' as the input, got 'f8E5M2'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf8E5M2>
  return
}

// -----

func.func @out_shape(%q: tensor<1x8x1x16xf16>, %v: tensor<1x8x1x32xf16>) {
  // expected-error @+1 {{size Dv is 16 in 'out' but 32 in 'v'}}
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x32xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @lse_type(%q: tensor<1x8x1x16xf16>) {
  // expected-error @+1 {{'lse' must be of rank 3 and f32, got 'tensor<1x1x8xf16>'}}
  %o, %l = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16> -> tensor<1x8x1x16xf16>, tensor<1x1x8xf16>
  return
}

// -----

func.func @lse_shape(%q: tensor<1x8x2x16xf16>) {
  // expected-error @+1 {{size Hq is 8 in 'lse' but 2 in 'q'}}
  %o, %l = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16> -> tensor<1x8x2x16xf16>, tensor<1x8x2xf32>
  return
}

// -----

// expected-error @+1 {{expected 'causal' or 'window' in a mask, got 'diagonal'}}
#m = #attn.mask<diagonal, top_left>

// -----

// expected-error @+1 {{expected 'left', 'right', 'top_left' or 'bottom_right' in a mask, got 'up'}}
#m = #attn.mask<window, up = 3, top_left>

// -----

// expected-error @+1 {{'left' given twice}}
#m = #attn.mask<window, left = 3, left = 4, top_left>

// -----

// expected-error @+1 {{contradictory mask: 'causal' means right = 0; use 'window' to give another 'right'}}
#m = #attn.mask<causal, right = 4, top_left>

// -----

// expected-error @+1 {{expected ','}}
#m = #attn.mask<causal>

// -----

// expected-error @+1 {{a mask without 'left' and 'right' hides nothing; leave the mask out}}
#m = #attn.mask<window, top_left>

// -----

// expected-error @+1 {{contradictory mask: left + right = -1 is negative, so no query sees a key}}
#m = #attn.mask<window, left = 3, right = -4, top_left>

// -----

// expected-error @+1 {{mask bound 4398046511104 is out of range [-2^40, 2^40]}}
#m = #attn.mask<window, left = 4398046511104, top_left>

// -----

// A destination is memory of its own.
func.func @out_is_q(%q: memref<1x8x1x16xf16>, %k: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 0}}
  attn.sdpa %q, %k, %k layout<bshd> outs(%q : memref<1x8x1x16xf16>)
    : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>
  return
}

// -----

func.func @out_is_a_capture(%q: memref<1x8x1x16xf16>, %o: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 3}}
  attn.sdpa %q, %q, %q layout<bshd> captures(%o : memref<1x8x1x16xf16>) outs(%o : memref<1x8x1x16xf16>)
    : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: memref<1x8x1x16xf16>) {
      %m = arith.cmpi sle, %j, %i : index
      attn.yield %m : i1
    }
  return
}

// -----

func.func @two_gradients_in_one(%q: memref<1x8x1x16xf16>, %lse: memref<1x1x8xf32>, %d: memref<1x8x1x16xf16>, %e: memref<1x8x1x16xf16>) {
  // expected-error @+1 {{destination 2 (outs) must be memory of its own, but is also destination 0}}
  attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%lse) layout<bshd>
    outs(%d, %e, %d : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>)
    : memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>, memref<1x1x8xf32>
  return
}

// -----

// The same memory under another type is the same memory.
!q = memref<1x8x1x16xf16>
func.func @outs_cast(%q: !q, %k: !q, %v: !q) {
  %cast = memref.cast %q : !q to memref<?x8x1x16xf16>
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 0}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%cast : memref<?x8x1x16xf16>) : !q, !q, !q
  return
}

// -----

!q = memref<1x8x1x16xf16>
!s = memref<1x4x1x16xf16, strided<[128, 16, 16, 1]>>
func.func @outs_first_half(%q: !q, %kv: !s) {
  %half = memref.subview %q[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : !q to !s
  %other = memref.subview %q[0, 4, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : !q to memref<1x4x1x16xf16, strided<[128, 16, 16, 1], offset: 64>>
  // Two halves of one array are not the same memory.
  attn.sdpa %half, %kv, %kv layout<bshd> outs(%other : memref<1x4x1x16xf16, strided<[128, 16, 16, 1], offset: 64>>) : !s, !s, !s
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 1}}
  attn.sdpa %other, %q, %q layout<bshd> outs(%half : !s) : memref<1x4x1x16xf16, strided<[128, 16, 16, 1], offset: 64>>, !q, !q
  return
}

// -----

!q = memref<1x8x1x16xf16>
func.func @outs_reinterpreted(%q: !q, %k: !q, %v: !q) {
  %again = memref.reinterpret_cast %v to offset: [0], sizes: [1, 8, 1, 16], strides: [128, 16, 16, 1] : !q to !q
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 2}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%again : !q) : !q, !q, !q
  return
}

// -----

!q = memref<1x8x1x16xf16>
func.func @outs_reshaped(%q: !q, %k: !q, %flat: memref<128xf16>) {
  %v = memref.expand_shape %flat [[0, 1, 2, 3]] output_shape [1, 8, 1, 16] : memref<128xf16> into !q
  %out = memref.expand_shape %flat [[0, 1, 2, 3]] output_shape [1, 8, 1, 16] : memref<128xf16> into !q
  // expected-error @+1 {{destination 0 (outs) must be memory of its own, but is also operand 2}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : !q) : !q, !q, !q
  return
}
