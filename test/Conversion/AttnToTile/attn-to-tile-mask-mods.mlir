// A causal mask or a window that is written as a mask_mod, or as scores of -inf,
// gives the tile program that the mask attribute gives, whichever passes were
// run before: only then are blocks of keys skipped.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
// RUN: FileCheck %s --input-file causal.tile
//
// CHECK: tile.kernel @f_kernel
// CHECK-NOT: arith.cmpi sge, %{{.*}} : vector<{{.*}}xindex>
//
// $ fa4-opt causal.mlir --attn-to-tile -o causal.tile
//
// $ fa4-opt at-most.mlir --attn-to-tile | diff causal.tile -
// $ fa4-opt at-most.mlir --canonicalize --attn-to-tile | diff causal.tile -
// $ fa4-opt negated.mlir --attn-to-tile | diff causal.tile -
// $ fa4-opt chosen.mlir --attn-to-tile | diff causal.tile -
// $ fa4-opt scores.mlir --attn-to-tile | diff causal.tile -
// $ fa4-opt scores.mlir --canonicalize --attn-to-tile | diff causal.tile -
// $ fa4-opt folded.mlir --attn-to-tile | diff causal.tile -
//
// $ fa4-opt window.mlir --attn-to-tile -o window.tile
// $ diff -q causal.tile window.tile
// Files causal.tile and window.tile differ
// [1]
// $ fa4-opt distance.mlir --attn-to-tile | diff window.tile -
// $ fa4-opt maximum.mlir --attn-to-tile | diff window.tile -
// $ fa4-opt two-sides.mlir --attn-to-tile | diff window.tile -
//
// $ fa4-opt gradient.mlir --attn-to-tile -o gradient.tile
// $ fa4-opt gradient-mod.mlir --attn-to-tile | diff gradient.tile -
// $ fa4-opt gradient-scores.mlir --attn-to-tile | diff gradient.tile -
//
// So do documents of one length, which stay a mask_mod within a window.
//
// $ fa4-opt documents-window.mlir --attn-to-tile -o documents.tile
// $ fa4-opt documents.mlir --attn-to-tile | diff documents.tile -
// $ fa4-opt documents.mlir --canonicalize --attn-to-tile | diff documents.tile -
//
// What is no band stays a mask_mod, and so does the rest of a product. Of a
// prefix of 128 keys, the blocks of a tile end behind the key 127, or where its
// last query is.
//
// $ fa4-opt prefix.mlir --attn-to-tile
// ...
// {{.*}}arith.maxsi %{{.*}}, %c127 : index
// ...
// {{.*}}tile.at_least %{{.*}}
// ...
// {{.*}}arith.cmpi slt, %{{.*}} : vector<{{.*}}xindex>
// ...
// $ fa4-opt score-dependent.mlir --attn-to-tile
// ...
// {{.*}}arith.cmpf ogt, %{{.*}} : vector<256x128xf32>
// ...

//--- causal.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, top_left> : !t, !t, !t -> !t
  return %o : !t
}

//--- at-most.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %r = arith.cmpi sge, %i, %j : index
      attn.yield %r : i1
    }
  return %o : !t
}

//--- negated.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %true = arith.constant true
      %after = arith.cmpi sgt, %j, %i : index
      %r = arith.xori %after, %true : i1
      attn.yield %r : i1
    }
  return %o : !t
}

//--- chosen.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %true = arith.constant true
      %false = arith.constant false
      %after = arith.cmpi sgt, %j, %i : index
      %r = arith.select %after, %false, %true : i1
      attn.yield %r : i1
    }
  return %o : !t
}

//--- scores.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %hidden = arith.constant 0xFF800000 : f32
      %visible = arith.cmpi sge, %i, %j : index
      %r = arith.select %visible, %s, %hidden : f32
      attn.yield %r : f32
    }
  return %o : !t
}

//--- folded.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %big = arith.constant 4294967296 : index
      %less = arith.constant 4294967295 : index
      %one = arith.subi %big, %less : index
      %end = arith.addi %i, %one : index
      %r = arith.cmpi slt, %j, %end : index
      attn.yield %r : i1
    }
  return %o : !t
}

//--- window.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<window, left = 128, right = 128, top_left> : !t, !t, !t -> !t
  return %o : !t
}

//--- distance.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 128 : index
      %x = arith.subi %i, %j : index
      %a = math.absi %x : index
      %r = arith.cmpi sle, %a, %c : index
      attn.yield %r : i1
    }
  return %o : !t
}

//--- maximum.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 129 : index
      %zero = arith.constant 0 : index
      %x = arith.subi %i, %j : index
      %y = arith.subi %zero, %x : index
      %a = arith.maxsi %x, %y : index
      %r = arith.cmpi sgt, %c, %a : index
      attn.yield %r : i1
    }
  return %o : !t
}

//--- two-sides.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 128 : index
      %true = arith.constant true
      %x = arith.subi %i, %j : index
      %y = arith.subi %j, %i : index
      %far = arith.cmpi sgt, %x, %c : index
      %ahead = arith.cmpi slt, %c, %y : index
      %either = arith.ori %far, %ahead : i1
      %r = arith.xori %true, %either : i1
      attn.yield %r : i1
    }
  return %o : !t
}

//--- documents-window.mlir
!t = tensor<1x?x2x64xbf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %l: !l) -> (!t, !t) {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<window, left = 255, right = 255, top_left> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 256 : index
      %di = arith.floordivsi %i, %c : index
      %dj = arith.floordivsi %j, %c : index
      %r = arith.cmpi eq, %di, %dj : index
      attn.yield %r : i1
    }
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd> mask<window, left = 255, right = 255, top_left> : !t, !t, !t, !t, !t, !l -> !t, !t, !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 256 : index
      %di = arith.floordivsi %i, %c : index
      %dj = arith.floordivsi %j, %c : index
      %r = arith.cmpi eq, %di, %dj : index
      attn.yield %r : i1
    }
  return %o, %dk : !t, !t
}

//--- documents.mlir
!t = tensor<1x?x2x64xbf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %l: !l) -> (!t, !t) {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 256 : index
      %di = arith.floordivsi %i, %c : index
      %dj = arith.floordivsi %j, %c : index
      %r = arith.cmpi eq, %di, %dj : index
      attn.yield %r : i1
    }
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd> : !t, !t, !t, !t, !t, !l -> !t, !t, !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 256 : index
      %di = arith.floordivsi %i, %c : index
      %dj = arith.floordivsi %j, %c : index
      %r = arith.cmpi eq, %di, %dj : index
      attn.yield %r : i1
    }
  return %o, %dk : !t, !t
}

//--- prefix.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 128 : index
      %causal = arith.cmpi sge, %i, %j : index
      %prefix = arith.cmpi slt, %j, %c : index
      %r = arith.ori %causal, %prefix : i1
      attn.yield %r : i1
    }
  return %o : !t
}

//--- score-dependent.mlir
!t = tensor<1x?x2x64xbf16>
func.func @f(%q: !t, %k: !t) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %hidden = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %visible = arith.cmpf ogt, %s, %zero : f32
      %r = arith.select %visible, %s, %hidden : f32
      attn.yield %r : f32
    }
  return %o : !t
}

//--- gradient.mlir
!t = tensor<1x?x2x64xbf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %l: !l) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd> mask<window, left = 128, right = 0, top_left>
    : !t, !t, !t, !t, !t, !l -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

//--- gradient-mod.mlir
!t = tensor<1x?x2x64xbf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %l: !l) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd>
    : !t, !t, !t, !t, !t, !l -> !t, !t, !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 128 : index
      %causal = arith.cmpi sge, %i, %j : index
      %x = arith.subi %i, %j : index
      %near = arith.cmpi sle, %x, %c : index
      %r = arith.andi %causal, %near : i1
      attn.yield %r : i1
    }
  return %dq, %dk, %dv : !t, !t, !t
}

//--- gradient-scores.mlir
!t = tensor<1x?x2x64xbf16>
!l = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %l: !l) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd> mask<causal, top_left>
    : !t, !t, !t, !t, !t, !l -> !t, !t, !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 128 : index
      %hidden = arith.constant 0xFF800000 : f32
      %x = arith.subi %i, %j : index
      %far = arith.cmpi sgt, %x, %c : index
      %r = arith.select %far, %hidden, %s : f32
      attn.yield %r : f32
    }
  return %dq, %dk, %dv : !t, !t, !t
}
