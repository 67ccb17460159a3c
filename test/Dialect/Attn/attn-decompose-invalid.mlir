// An op that the CPU path cannot decompose, such as a gradient through a
// function without derivative, is refused with the operation that is the
// reason.
//
// RUN: fa4-opt %s -attn-decompose -split-input-file -verify-diagnostics -o /dev/null
// RUN: not fa4-opt %s -attn-decompose=query-block=-1 -split-input-file 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: error: query-block must not be negative, got -1

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @remainder(%q: !q, %l: !l) {
  // expected-error @+1 {{score_mod cannot be differentiated through 'arith.remf'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q, !q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %two = arith.constant 2.0 : f32
      // expected-note @+1 {{the operation is here}}
      %r = arith.remf %s, %two : f32
      attn.yield %r : f32
    }
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @bits(%q: !q, %l: !l) {
  // expected-error @+1 {{score_mod cannot be differentiated through 'arith.bitcast'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> : !q, !q, !q, !q, !q, !l -> !q, !q, !q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %positive = arith.constant 0.0 : f32
      %c = arith.cmpf ogt, %s, %positive : f32
      %x = scf.if %c -> f32 {
        // expected-note @+1 {{the operation is here}}
        %i32 = arith.bitcast %s : f32 to i32
        %y = arith.bitcast %i32 : i32 to f32
        scf.yield %y : f32
      } else {
        scf.yield %positive : f32
      }
      attn.yield %x : f32
    }
  return
}

// -----

!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @loop(%q: !q, %l: !l, %n: index) {
  // expected-error @+1 {{score_mod cannot be differentiated through 'scf.for'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%n : index) : !q, !q, !q, !q, !q, !l -> !q, !q, !q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-note @+1 {{the operation is here}}
      %r = scf.for %k = %c0 to %m step %c1 iter_args(%x = %s) -> f32 {
        %y = arith.mulf %x, %s : f32
        scf.yield %y : f32
      }
      attn.yield %r : f32
    }
  return
}

// -----

// What does not depend on the score may be anything.
!q = tensor<1x8x1x16xf16>
!l = tensor<1x1x8xf32>
func.func @constant_to_the_score(%q: !q, %l: !l, %c: f32) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c : f32) : !q, !q, !q, !q, !q, !l -> !q, !q, !q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32) {
      %two = arith.constant 2.0 : f32
      %m = arith.remf %x, %two : f32
      %n = arith.fptosi %s : f32 to i32
      %o = arith.sitofp %n : i32 to f32
      %p = arith.addf %m, %o : f32
      %r = arith.addf %s, %p : f32
      attn.yield %r : f32
    }
  return
}

// -----

// Of a captured vector, only the number of the query head has a gradient.
!q = tensor<1x8x2x16xf16>
!l = tensor<1x2x8xf32>
func.func @read_elsewhere(%q: !q, %l: !l, %c: tensor<2xf32>) {
  // expected-error @+1 {{score_mod cannot be differentiated through 'tensor.extract'}}
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> captures(%c : tensor<2xf32>) wrt [0] : !q, !q, !q, !q, !q, !l -> !q, !q, !q, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<2xf32>) {
      // expected-note @+1 {{the operation is here}}
      %x = tensor.extract %m[%b] : tensor<2xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    }
  return
}

// -----

#sparse = #sparse_tensor.encoding<{ map = (a, b, c, d) -> (a : dense, b : dense, c : dense, d : compressed) }>
func.func @sparse(%q: tensor<1x8x2x16xf16, #sparse>, %k: tensor<1x8x2x16xf16>) -> tensor<1x8x2x16xf16> {
  // expected-error @+1 {{has a tensor with the encoding #sparse_tensor.encoding<}}
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<1x8x2x16xf16, #sparse>, tensor<1x8x2x16xf16>, tensor<1x8x2x16xf16> -> tensor<1x8x2x16xf16>
  return %o : tensor<1x8x2x16xf16>
}
