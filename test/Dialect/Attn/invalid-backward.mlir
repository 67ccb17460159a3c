// Each rule of the gradient's verifier that attn.sdpa does not have is broken
// once, and must be reported with its message.
//
// RUN: fa4-opt %s -split-input-file -verify-diagnostics

// The rules that the gradient has beyond those it shares with attn.sdpa.

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @shared(%q: !q, %l: !l, %k: tensor<1x8x1x32xf16>) {
  // expected-error @+1 {{size D is 32 in 'k' but 16 in 'q'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, tensor<1x8x1x32xf16>, !q, !q, !q, !l -> !q, tensor<1x8x1x32xf16>, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @out_rank(%q: !q, %l: !l, %o: tensor<8x1x16xf16>) {
  // expected-error @+1 {{'out' must have rank 4 in layout bshd, got 3}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%o) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, tensor<8x1x16xf16>, !q, !l -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dout_element(%q: !q, %l: !l, %o: tensor<1x8x1x16xf8E4M3FN>) {
  // expected-error @+1 {{element type of 'dout' must be f16, bf16, f32 or 'f16' as the input, got 'f8E4M3FN'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%o) lse(%l) layout<bshd> : !q, !q, !q, !q, tensor<1x8x1x16xf8E4M3FN>, !l -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dout_other_element(%q: !q, %l: !l, %o: tensor<1x8x1x16xf32>) {
  // expected-error @+1 {{element type of 'dout' is 'f32' but that of 'out' is 'f16'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%o) lse(%l) layout<bshd> : !q, !q, !q, !q, tensor<1x8x1x16xf32>, !l -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dout_shape(%q: !q, %l: !l, %o: tensor<1x9x1x16xf16>) {
  // expected-error @+1 {{size Sq is 9 in 'dout' but 8 in 'q'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%o) lse(%l) layout<bshd> : !q, !q, !q, !q, tensor<1x9x1x16xf16>, !l -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
func.func @lse_type(%q: !q, %l: tensor<1x8xf32>) {
  // expected-error @+1 {{'lse' must be of rank 3 and f32, got 'tensor<1x8xf32>'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, tensor<1x8xf32> -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dlse_shape(%q: !q, %l: !l, %d: tensor<1x1x9xf32>) {
  // expected-error @+1 {{size Sq is 9 in 'dlse' but 8 in 'q'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) dlse(%d : tensor<1x1x9xf32>) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @too_few_results(%q: !q, %l: !l) {
  // expected-error @+1 {{needs the results 'dq', 'dk' and 'dv' on tensors}}
  %dq, %dk = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q
  return
}

// -----

!q = memref<1x8x1x16xf16>
!l = memref<1x1x8xf32>
func.func @too_few_destinations(%q: !q, %l: !l) {
  // expected-error @+1 {{needs 3 to 4 destinations (outs) on memrefs, got 1}}
  attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> outs(%q : !q) : !q, !q, !q, !q, !q, !l
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dk_rank(%q: !q, %l: !l) {
  // expected-error @+1 {{'dk' must have rank 4 in layout bshd, got 3}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, tensor<8x1x16xf16>, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dv_element(%q: !q, %l: !l) {
  // expected-error @+1 {{element type of 'dv' must be f16, bf16, f32 or 'f16' as the input, got 'f64'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q, tensor<1x8x1x16xf64>
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dq_shape(%q: !q, %l: !l) {
  // expected-error @+1 {{size Sq is 4 in 'dq' but 8 in 'q'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> tensor<1x4x1x16xf16>, !q, !q
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dsinks_without_sinks(%q: !q, %l: !l) {
  // expected-error @+1 {{'dsinks' needs 'sinks'}}
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<1xf32>
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dsinks_type(%q: !q, %l: !l, %s: tensor<1xf32>) {
  // expected-error @+1 {{'dsinks' must be of rank 1 and f32, bf16 or f16, got 'tensor<1x1xf32>'}}
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> sinks(%s : tensor<1xf32>) : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<1x1xf32>
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @dsinks_size(%q: !q, %l: !l, %s: tensor<1xf32>) {
  // expected-error @+1 {{size Hq is 2 in 'dsinks' but 1 in 'q'}}
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> sinks(%s : tensor<1xf32>) : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_order(%q: !q, %l: !l, %c0: f32, %c1: f32) {
  // expected-error @+1 {{'wrt' must have numbers of captures in rising order, below 2, got 0}}
  %g:5 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0, %c1 : f32, f32) wrt [1, 0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: f32, %m1: f32) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_number(%q: !q, %l: !l, %c0: f32) {
  // expected-error @+1 {{'wrt' must have numbers of captures in rising order, below 1, got 1}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : f32) wrt [1] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: f32) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_type(%q: !q, %l: !l, %c0: i32) {
  // expected-error @+1 {{capture 0 in 'wrt' must be f32, or f32 for each query head, got 'i32'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : i32) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: i32) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_rank(%q: !q, %l: !l, %c0: tensor<2x2xf32>) {
  // expected-error @+1 {{capture 0 in 'wrt' must be f32, or f32 for each query head, got 'tensor<2x2xf32>'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : tensor<2x2xf32>) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: tensor<2x2xf32>) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_heads(%q: !q, %l: !l, %c0: tensor<3xf32>) {
  // expected-error @+1 {{size Hq is 3 in 'capture 0' but 2 in 'q'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : tensor<3xf32>) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: tensor<3xf32>) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @wrt_no_mod(%q: !q, %l: !l, %c0: f32) {
  // expected-error @+1 {{'wrt' needs a score_mod}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : f32) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
  return
}

// -----

func.func @wrt_without(%q: tensor<1x8x2x16xf16>, %l: tensor<1x2x8xf32>, %c0: f32) {
  // expected-error @+1 {{has 1 results behind dq, dk, dv and dsinks, but 'wrt' asks for 0}}
  %0:4 = "attn.sdpa_backward"(%q, %q, %q, %q, %q, %l, %c0) <{layout = #attn.layout<bshd>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>, resultSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> ({
    ^bb0(%arg3: f32, %arg4: index, %arg5: index, %arg6: index, %arg7: index, %arg8: f32):
      "attn.yield"(%arg3) : (f32) -> ()
    }, {
    }) : (tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x2x8xf32>, f32) -> (tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16>, tensor<2xf32>)
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @dcapture_type(%q: !q, %l: !l, %c0: f32) {
  // expected-error @+1 {{the gradient of a capture must be of rank 1 and f32, got 'tensor<f32>'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : f32) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<f32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: f32) {
      attn.yield %s : f32
    }
  return
}

// -----

!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @dcapture_size(%q: !q, %l: !l, %c0: f32) {
  // expected-error @+1 {{size Hq is 3 in 'dcaptures' but 2 in 'q'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c0 : f32) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<3xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m0: f32) {
      attn.yield %s : f32
    }
  return
}
