// Each attention op without a kernel is refused on the op, with the reason in
// words. An op that slipped through would fail in a later pass, in terms of
// tiles that its author has never written.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --attn-to-tile --split-input-file --verify-diagnostics
//
// $ fa4-opt $S/attn-to-tile-invalid.mlir --attn-to-tile=chip=sm_42
// {{.*}}error: no target 'sm_42'; known are sm_90a, sm_100a, sm_103a
// ...
// [1]
// $ fa4-opt $S/attn-to-tile-invalid.mlir --attn-to-tile=keys=48
// {{.*}}error: attn-to-tile: keys must be a multiple of 32 up to 256, or 0 for a number that is chosen; got 48
// ...
// [1]
// $ fa4-opt $S/../../../docs/examples/causal_gqa.mlir --attn-to-tile=keys=256
// {{.*}}error: 'attn.sdpa' op not supported on sm_100a: head dims 128 of q and k, 128 of v with blocks of 256 keys: the smallest tiles exceed the 512 columns of tensor memory
// ...
// [1]

func.func @f32(%x: tensor<1x64x1x64xf32>) -> tensor<1x64x1x64xf32> {
  // expected-error @+1 {{not supported on sm_100a: elements of f32: only bf16 and f16}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xf32>, tensor<1x64x1x64xf32>, tensor<1x64x1x64xf32> -> tensor<1x64x1x64xf32>
  return %o : tensor<1x64x1x64xf32>
}

// -----

func.func @fp8(%x: tensor<1x64x1x64xf8E4M3FN>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: elements of f8E4M3FN: only bf16 and f16}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xf8E4M3FN>, tensor<1x64x1x64xf8E4M3FN>, tensor<1x64x1x64xf8E4M3FN> -> tensor<1x64x1x64xbf16>
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @dynamic_dim(%x: tensor<1x64x1x?xbf16>) -> tensor<1x64x1x?xbf16> {
  // expected-error @+1 {{not supported on sm_100a: a dynamic head dim}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x?xbf16>, tensor<1x64x1x?xbf16>, tensor<1x64x1x?xbf16> -> tensor<1x64x1x?xbf16>
  return %o : tensor<1x64x1x?xbf16>
}

// -----

func.func @qk_dim(%x: tensor<1x64x1x80xbf16>, %v: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: head dim 80: only multiples of 32}}
  %o = attn.sdpa %x, %x, %v layout<bshd> : tensor<1x64x1x80xbf16>, tensor<1x64x1x80xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @dim72(%x: tensor<1x64x1x72xbf16>) -> tensor<1x64x1x72xbf16> {
  // expected-error @+1 {{not supported on sm_100a: head dim 72: only multiples of 32}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x72xbf16>, tensor<1x64x1x72xbf16>, tensor<1x64x1x72xbf16> -> tensor<1x64x1x72xbf16>
  return %o : tensor<1x64x1x72xbf16>
}

// -----

func.func @dim288(%x: tensor<1x640x1x64xbf16>, %v: tensor<1x640x1x288xbf16>) -> tensor<1x640x1x288xbf16> {
  // expected-error @+1 {{not supported on sm_100a: head dims 64 of q and k, 288 of v: the smallest tiles exceed the 256 columns of an MMA}}
  %o = attn.sdpa %x, %x, %v layout<bshd> : tensor<1x640x1x64xbf16>, tensor<1x640x1x64xbf16>, tensor<1x640x1x288xbf16> -> tensor<1x640x1x288xbf16>
  return %o : tensor<1x640x1x288xbf16>
}

// -----

func.func @memory(%x: tensor<1x640x1x352xbf16>, %v: tensor<1x640x1x256xbf16>) -> tensor<1x640x1x256xbf16> {
  // expected-error @+1 {{not supported on sm_100a: head dims 352 of q and k, 256 of v: the smallest tiles exceed the 232448 bytes of shared memory}}
  %o = attn.sdpa %x, %x, %v layout<bshd> : tensor<1x640x1x352xbf16>, tensor<1x640x1x352xbf16>, tensor<1x640x1x256xbf16> -> tensor<1x640x1x256xbf16>
  return %o : tensor<1x640x1x256xbf16>
}

// -----

func.func @packed(%x: tensor<64x1x64xbf16>, %l: tensor<1x64xf32>, %cu: tensor<3xi32>) -> (tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: a deterministic gradient of packed sequences (layout thd) with these head dims}}
  %g:3 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<thd> deterministic cu_seqlens(%cu, %cu : tensor<3xi32>, tensor<3xi32>)
    : tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<1x64xf32> -> tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>
  return %g#0, %g#1, %g#2 : tensor<64x1x64xbf16>, tensor<64x1x64xbf16>, tensor<64x1x64xbf16>
}

// -----

func.func @far(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: a mask that reaches 4000000000 keys, more than 1073741824}}
  %o = attn.sdpa %x, %x, %x layout<bshd> mask<causal, left = 4000000000, top_left> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @empty(%q: tensor<1x64x1x64xbf16>, %x: tensor<1x0x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'k' has no elements}}
  %o = attn.sdpa %q, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x0x1x64xbf16>, tensor<1x0x1x64xbf16> -> tensor<1x64x1x64xbf16>
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @capture(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %a: memref<8x8xi64>) {
  // expected-error @+1 {{not supported on sm_100a: a capture of type memref<8x8xi64>: only f32, i32, index, and tensors of f32, bf16, f16 or i32 with 1 to 4 dimensions}}
  attn.sdpa %x, %x, %x layout<bshd> captures(%a : memref<8x8xi64>) outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %m: memref<8x8xi64>) {
      %t = arith.constant true
      attn.yield %t : i1
    }
  return
}

// -----

func.func @control_flow(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'scf.for' in score_mod: only elementwise operations on numbers of up to 32 bits and index}}
  attn.sdpa %x, %x, %x layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // expected-note @+1 {{this operation of score_mod}}
      %r = scf.for %n = %c0 to %i step %c1 iter_args(%t = %s) -> (f32) {
        %n1 = arith.negf %t : f32
        scf.yield %n1 : f32
      }
      attn.yield %r : f32
    }
  return
}

// -----

func.func @wide(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'arith.index_cast' in mask_mod: only elementwise operations on numbers of up to 32 bits and index}}
  attn.sdpa %x, %x, %x layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-note @+1 {{this operation of mask_mod}}
      %w = arith.index_cast %i : index to i64
      %x = arith.index_cast %j : index to i64
      %c = arith.cmpi ne, %w, %x : i64
      attn.yield %c : i1
    }
  return
}

// -----

func.func @columns(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16, strided<[4096, 1, 4096, 64]>>, %y: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: the innermost stride of 'k' is not 1}}
  attn.sdpa %y, %x, %y layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16, strided<[4096, 1, 4096, 64]>>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @stride(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16, strided<[4160, 65, 65, 1]>>, %y: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'v' has a stride of 130 bytes, not a multiple of 16}}
  attn.sdpa %y, %y, %x layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16, strided<[4160, 65, 65, 1]>>
  return
}

// -----

func.func @layout(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16, affine_map<(a, b, c, d) -> (a, b floordiv 2, c, d)>>, %y: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'q' has a layout other than strides}}
  attn.sdpa %x, %y, %y layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16, affine_map<(a, b, c, d) -> (a, b floordiv 2, c, d)>>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @space(%x: memref<1x64x1x64xbf16>, %y: memref<1x64x1x64xbf16, 3>) {
  // expected-error @+1 {{not supported on sm_100a: 'out' is in memory space 3 : i64}}
  attn.sdpa %x, %x, %x layout<bshd> outs(%y : memref<1x64x1x64xbf16, 3>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @gradient_score_mod(%dq: memref<1x64x1x64xbf16>, %dk: memref<1x64x1x64xbf16>, %dv: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: score_mod cannot be differentiated through 'arith.bitcast'}}
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>)
    : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x1x64xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %bits = arith.bitcast %s : f32 to i32
      %r = arith.bitcast %bits : i32 to f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @gradient_derivative(%dq: memref<1x64x1x64xbf16>, %dk: memref<1x64x1x64xbf16>, %dv: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: 'math.ipowi' in score_mod: a thread has no code for it}}
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>)
    : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x1x64xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %h : index to i32
      // expected-note @+1 {{this operation of score_mod}}
      %power = math.ipowi %n, %n : i32
      %factor = arith.sitofp %power : i32 to f32
      %r = arith.mulf %s, %factor : f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @gradient_type(%dq: memref<1x64x1x64xf32>, %dk: memref<1x64x1x64xbf16>, %dv: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: dq of f32 for inputs of bf16}}
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x64xf32>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>)
    : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x1x64xf32>
  return
}

// -----

func.func @gradient_head_dim(%dq: memref<1x64x1x256xbf16>, %dk: memref<1x64x1x256xbf16>, %dv: memref<1x64x1x256xbf16>, %x: memref<1x64x1x256xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: head dims 256 of q and k, 256 of v: the smallest tiles exceed the 512 columns of tensor memory}}
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>)
    : memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>, memref<1x64x1x256xbf16>, memref<1x1x64xf32>
  return
}

// -----

// A value has whole units of 32 columns.
func.func @gradient_columns(%dq: memref<1x64x1x240xbf16>, %dk: memref<1x64x1x240xbf16>, %dv: memref<1x64x1x144xbf16>, %x: memref<1x64x1x240xbf16>, %y: memref<1x64x1x144xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: head dims 240 of q and k, 144 of v: the smallest tiles exceed the 512 columns of tensor memory}}
  attn.sdpa_backward %x, %x, %y out(%y) dout(%y) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x240xbf16>, memref<1x64x1x240xbf16>, memref<1x64x1x144xbf16>)
    : memref<1x64x1x240xbf16>, memref<1x64x1x240xbf16>, memref<1x64x1x144xbf16>, memref<1x64x1x144xbf16>, memref<1x64x1x144xbf16>, memref<1x1x64xf32>
  return
}

// -----

func.func @gradient_mma(%dq: memref<1x64x1x288xbf16>, %dk: memref<1x64x1x288xbf16>, %dv: memref<1x64x1x32xbf16>, %x: memref<1x64x1x288xbf16>, %y: memref<1x64x1x32xbf16>, %lse: memref<1x1x64xf32>) {
  // expected-error @+1 {{not supported on sm_100a: head dims 288 of q and k, 32 of v: the smallest tiles exceed the 256 columns of an MMA}}
  attn.sdpa_backward %x, %x, %y out(%y) dout(%y) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x288xbf16>, memref<1x64x1x288xbf16>, memref<1x64x1x32xbf16>)
    : memref<1x64x1x288xbf16>, memref<1x64x1x288xbf16>, memref<1x64x1x32xbf16>, memref<1x64x1x32xbf16>, memref<1x64x1x32xbf16>, memref<1x1x64xf32>
  return
}

// -----

module @outer {
  module @inner {
    func.func @nested(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>) {
      // expected-error @+1 {{must be in a function of the module}}
      attn.sdpa %x, %x, %x layout<bshd> outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
      return
    }
  }
}

// -----

func.func @power(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'math.ipowi' in score_mod: a thread has no code for it}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %h : index to i32
      // expected-note @+1 {{this operation of score_mod}}
      %power = math.ipowi %n, %n : i32
      %factor = arith.sitofp %power : i32 to f32
      %r = arith.mulf %s, %factor : f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @fp8_inside(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'arith.truncf' in score_mod: a thread has no code for it}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-note @+1 {{this operation of score_mod}}
      %n = arith.truncf %s : f32 to f8E4M3FN
      %r = arith.extf %n : f8E4M3FN to f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @two_results(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'arith.addui_extended' in score_mod: a thread has no code for it}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %i : index to i32
      // expected-note @+1 {{this operation of score_mod}}
      %sum, %carry = arith.addui_extended %n, %n : i32, i1
      %r = arith.sitofp %sum : i32 to f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

// Limits of static sizes, strides and offsets; those of dynamic ones are conditions of the manifest.

// -----

func.func @negative_stride(%q: memref<1x64x1x64xbf16, strided<[4096, -64, 64, 1], offset: 4032>>, %k: memref<1x64x1x64xbf16>, %v: memref<1x64x1x64xbf16>, %o: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'q' has a negative stride, -64}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16, strided<[4096, -64, 64, 1], offset: 4032>>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @misaligned_offset(%q: memref<1x64x1x64xbf16>, %k: memref<1x64x1x64xbf16, strided<[4096, 64, 64, 1], offset: 4>>, %v: memref<1x64x1x64xbf16>, %o: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'k' begins 8 bytes behind an aligned address, not a multiple of 16}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16, strided<[4096, 64, 64, 1], offset: 4>>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @zero_stride_of_out(%q: memref<1x64x1x64xbf16>, %k: memref<1x64x1x64xbf16>, %v: memref<1x64x1x64xbf16>, %o: memref<1x64x1x64xbf16, strided<[4096, 0, 64, 1], offset: 0>>) {
  // expected-error @+1 {{not supported on sm_100a: 'out' has a stride of 0, so that several results would be written to one place}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16, strided<[4096, 0, 64, 1], offset: 0>>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @large_stride(%q: memref<1x64x1x64xbf16>, %k: memref<1x64x1x64xbf16>, %v: memref<1x64x1x64xbf16, strided<[4096, 549755813888, 64, 1], offset: 0>>, %o: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'v' has a stride of 549755813888 elements, not below 1099511627776 bytes}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16, strided<[4096, 549755813888, 64, 1], offset: 0>>
  return
}

// -----

func.func @negative_lse_stride(%q: memref<1x64x1x64xbf16>, %k: memref<1x64x1x64xbf16>, %v: memref<1x64x1x64xbf16>, %o: memref<1x64x1x64xbf16>, %l: memref<1x1x64xf32, strided<[64, -64, 1], offset: 64>>) {
  // expected-error @+1 {{not supported on sm_100a: 'lse' has a negative stride, -64}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o, %l : memref<1x64x1x64xbf16>, memref<1x1x64xf32, strided<[64, -64, 1], offset: 64>>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @keys(%q: memref<1x64x1x64xbf16>, %k: memref<1x1152921504606846976x1x64xbf16>, %v: memref<1x1152921504606846976x1x64xbf16>, %o: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'k' has a size of 1152921504606846976, more than 536870912}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x1152921504606846976x1x64xbf16>, memref<1x1152921504606846976x1x64xbf16>
  return
}

// -----

func.func @queries(%q: memref<1x4294967297x1x64xbf16>, %k: memref<1x64x1x64xbf16>, %v: memref<1x64x1x64xbf16>, %o: memref<1x4294967297x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'q' has a size of 4294967297, more than 536870912}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x4294967297x1x64xbf16>) : memref<1x4294967297x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
  return
}

// -----

func.func @no_keys(%q: memref<1x64x1x64xbf16>, %k: memref<1x0x1x64xbf16>, %v: memref<1x0x1x64xbf16>, %o: memref<1x64x1x64xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: 'k' has no elements}}
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x0x1x64xbf16>, memref<1x0x1x64xbf16>
  return
}

// -----

func.func @capture_of_five(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %a: memref<1x1x1x1x8xf32>) {
  // expected-error @+1 {{not supported on sm_100a: a capture of type memref<1x1x1x1x8xf32>: only f32, i32, index, and tensors of f32, bf16, f16 or i32 with 1 to 4 dimensions}}
  attn.sdpa %x, %x, %x layout<bshd> captures(%a : memref<1x1x1x1x8xf32>) outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %m: memref<1x1x1x1x8xf32>) {
      %t = arith.constant true
      attn.yield %t : i1
    }
  return
}

// -----

func.func @few_elements(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %a: memref<?x63xf32>) {
  // expected-error @+1 {{not supported on sm_100a: dimension 1 of 'capture0' has 63 elements, but is read at Sk = 64 indices}}
  attn.sdpa %x, %x, %x layout<bshd> captures(%a : memref<?x63xf32>) outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: memref<?x63xf32>) {
      %e = memref.load %m[%b, %j] : memref<?x63xf32>
      %r = arith.addf %s, %e : f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @view(%dest: memref<1x64x1x64xbf16>, %x: memref<1x64x1x64xbf16>, %a: memref<?xf32>) {
  // expected-error @+1 {{not supported on sm_100a: 'bufferization.to_tensor' in score_mod: only elements of captured tensors can be read}}
  attn.sdpa %x, %x, %x layout<bshd> captures(%a : memref<?xf32>) outs(%dest : memref<1x64x1x64xbf16>) : memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>, memref<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: memref<?xf32>) {
      // expected-note @+1 {{this operation of score_mod}}
      %view = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>
      %e = tensor.extract %view[%j] : tensor<?xf32>
      %r = arith.addf %s, %e : f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @derivative_by_capture(%x: tensor<1x64x1x64xbf16>, %lse: tensor<1x1x64xf32>, %a: f32) {
  // expected-error @+1 {{not supported on sm_100a: score_mod cannot be differentiated by capture 0 through 'arith.bitcast'}}
  %g:4 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> captures(%a : f32) wrt [0]
    : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x1x64xf32>
      -> tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: f32) {
      %bits = arith.bitcast %m : f32 to i32
      %n = arith.sitofp %bits : i32 to f32
      %r = arith.addf %s, %n : f32
      attn.yield %r : f32
    }
  return
}

// -----

func.func @wide_index(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: the index 9223372036854775807 in mask_mod: an index has 32 bits in a kernel, from -2147483648 to 2147483647}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      // expected-note @+1 {{this operation of mask_mod}}
      %none = arith.constant 9223372036854775807 : index
      %r = arith.cmpi slt, %j, %none : index
      attn.yield %r : i1
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

// A divisor that would become 0, and that no constant of the region is yet.
func.func @wide_folded_index(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: the index 4294967296 in score_mod: an index has 32 bits in a kernel}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %part = arith.constant 65536 : index
      // expected-note @+1 {{this operation of score_mod}}
      %all = arith.muli %part, %part : index
      %q = arith.divui %j, %all : index
      %n = arith.index_cast %q : index to i32
      %f = arith.sitofp %n : i32 to f32
      %r = arith.addf %s, %f : f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @rounding(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'arith.truncf' in score_mod: a thread has no code for it}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-note @+1 {{this operation of score_mod}}
      %n = arith.truncf %s upward : f32 to bf16
      %r = arith.extf %n : bf16 to f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @capture_of_another_length(%x: tensor<1x64x2x64xbf16>, %c: tensor<1xf32>) -> tensor<1x64x2x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'capture0' has 1 numbers for 2 query heads}}
  %o = attn.sdpa %x, %x, %x layout<bshd> captures(%c : tensor<1xf32>) : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> -> tensor<1x64x2x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<1xf32>) {
      %g = tensor.extract %t[%h] : tensor<1xf32>
      %r = arith.mulf %s, %g : f32
      attn.yield %r : f32
    }
  return %o : tensor<1x64x2x64xbf16>
}

// -----

#sparse = #sparse_tensor.encoding<{ map = (a, b, c, d) -> (a : dense, b : dense, c : dense, d : compressed) }>
func.func @sparse(%x: tensor<1x64x1x64xbf16, #sparse>, %y: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16> {
  // expected-error @+1 {{not supported on sm_100a: 'q' has the encoding #sparse_tensor.encoding<}}
  %o = attn.sdpa %x, %y, %y layout<bshd> : tensor<1x64x1x64xbf16, #sparse>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16>
  return %o : tensor<1x64x1x64xbf16>
}

// -----

func.func @encoding(%x: tensor<1x64x1x64xbf16>) -> tensor<1x64x1x64xbf16, "blocked"> {
  // expected-error @+1 {{not supported on sm_100a: 'out' has the encoding "blocked"}}
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16> -> tensor<1x64x1x64xbf16, "blocked">
  return %o : tensor<1x64x1x64xbf16, "blocked">
}
