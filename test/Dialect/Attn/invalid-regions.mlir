// Each rule for score_mod and mask_mod regions is broken once: arguments,
// yielded types, effects, and values from outside that are not captured.
//
// RUN: fa4-opt %s -split-input-file -verify-diagnostics

!t = tensor<1x8x1x16xf16>
func.func @score_mod_arguments(%q: !t) {
  // expected-error @+1 {{score_mod must take arguments ('f32', 'index', 'index', 'index', 'index'), got ('f32', 'index', 'index')}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index) {
      attn.yield %s : f32
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @mask_mod_captures(%q: !t, %c: f32) {
  // expected-error @+1 {{mask_mod must take arguments ('index', 'index', 'index', 'index', 'f32'), got ('index', 'index', 'index', 'index')}}
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%c : f32) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %r = arith.cmpi ule, %j, %i : index
      attn.yield %r : i1
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @score_mod_yield(%q: !t) {
  // expected-error @+1 {{score_mod must yield 'f32', got 'index'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %i : index
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @mask_mod_yield(%q: !t) {
  // expected-error @+1 {{mask_mod must yield 'i1', got 'index'}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      attn.yield %i : index
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @no_yield(%q: !t) {
  // expected-error @+1 {{mask_mod must end with attn.yield}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      llvm.unreachable
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @blocks(%q: !t) {
  // expected-error @+1 {{expects region #1 to have 0 or 1 blocks}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      cf.br ^bb1
    ^bb1:
      %r = arith.cmpi ule, %j, %i : index
      attn.yield %r : i1
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @store(%q: !t, %m: memref<8xf32>) {
  // expected-error @+1 {{score_mod must not have side effects, but 'memref.store' has}}
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%m : memref<8xf32>) : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: memref<8xf32>) {
      // expected-note @+1 {{the operation is here}}
      memref.store %s, %c[%i] : memref<8xf32>
      attn.yield %s : f32
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @nested_store(%q: !t, %m: memref<8xf32>) {
  // expected-error @+1 {{mask_mod must not have side effects, but 'scf.if' has}}
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%m : memref<8xf32>) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: memref<8xf32>) {
      %r = arith.cmpi ule, %j, %i : index
      // expected-note @+1 {{the operation is here}}
      scf.if %r {
        %f = arith.constant 1.0 : f32
        memref.store %f, %c[%i] : memref<8xf32>
      }
      attn.yield %r : i1
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func private @f(f32) -> f32
func.func @unknown_effects(%q: !t) {
  // expected-error @+1 {{score_mod contains 'func.call', whose side effects are unknown}}
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-note @+1 {{the operation is here}}
      %r = func.call @f(%s) : (f32) -> f32
      attn.yield %r : f32
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @not_isolated(%q: !t, %c: f32) {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{use of undeclared SSA value name}}
      %r = arith.mulf %s, %c : f32
      attn.yield %r : f32
    }
  return
}

// -----

!t = tensor<1x8x1x16xf16>
func.func @ill_typed(%q: !t) {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error @+2 {{use of value '%i' expects different type than prior uses: 'f32' vs 'index'}}
      // expected-note @-2 {{prior use here}}
      %r = arith.addf %s, %i : f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @yield_parent() {
  %c = arith.constant true
  // expected-error @+1 {{expects parent op to be one of 'attn.sdpa, attn.sdpa_backward'}}
  attn.yield %c : i1
}
