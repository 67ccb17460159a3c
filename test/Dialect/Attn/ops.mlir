// Every form of the attn operations parses, prints and parses again to the same
// operation.
//
// RUN: fa4-opt %s | fa4-opt | FileCheck %s
// RUN: fa4-opt %s --mlir-print-op-generic | fa4-opt | FileCheck %s
// RUN: fa4-opt %s --emit-bytecode | fa4-opt | FileCheck %s

// CHECK-LABEL: func @plain
// CHECK: %{{.*}} = attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} layout<bshd> : tensor<2x128x8x64xf16>, tensor<2x256x8x64xf16>, tensor<2x256x8x32xf16> -> tensor<2x128x8x32xf16>{{$}}
func.func @plain(%q: tensor<2x128x8x64xf16>, %k: tensor<2x256x8x64xf16>, %v: tensor<2x256x8x32xf16>) -> tensor<2x128x8x32xf16> {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<2x128x8x64xf16>, tensor<2x256x8x64xf16>, tensor<2x256x8x32xf16> -> tensor<2x128x8x32xf16>
  return %o : tensor<2x128x8x32xf16>
}

// CHECK-LABEL: func @lse_scale_causal
// CHECK: %[[O:.*]], %[[L:.*]] = attn.sdpa %{{.*}} layout<bhsd> mask<causal, top_left> scale(1.250000e-01)
// CHECK-SAME: -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
// CHECK: return %[[O]], %[[L]]
func.func @lse_scale_causal(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>) -> (tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>) {
  %o, %l = attn.sdpa %q, %k, %v layout<bhsd> mask<causal, top_left> scale(0.125)
    : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16> -> tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
  return %o, %l : tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
}

// CHECK-LABEL: func @windows
// CHECK: mask<window, left = 127, right = 128, bottom_right>
// CHECK: mask<causal, left = 127, bottom_right>
// CHECK: mask<causal, left = 127, bottom_right>
// CHECK: mask<window, right = -1, top_left>
// CHECK: mask<window, left = 3, top_left>
func.func @windows(%x: tensor<1x512x1x64xf16>) -> tensor<1x512x1x64xf16> {
  %0 = attn.sdpa %x, %x, %x layout<bshd> mask<window, left = 127, right = 128, bottom_right>
    : tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16> -> tensor<1x512x1x64xf16>
  %1 = attn.sdpa %0, %x, %x layout<bshd> mask<window, left = 127, right = 0, bottom_right>
    : tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16> -> tensor<1x512x1x64xf16>
  %2 = attn.sdpa %1, %x, %x layout<bshd> mask<causal, left = 127, bottom_right>
    : tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16> -> tensor<1x512x1x64xf16>
  %3 = attn.sdpa %2, %x, %x layout<bshd> mask<window, right = -1, top_left>
    : tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16> -> tensor<1x512x1x64xf16>
  %4 = attn.sdpa %3, %x, %x layout<bshd> mask<window, left = 3, top_left>
    : tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16>, tensor<1x512x1x64xf16> -> tensor<1x512x1x64xf16>
  return %4 : tensor<1x512x1x64xf16>
}

// CHECK-LABEL: func @megatron
// CHECK: layout<sbhd>
func.func @megatron(%q: tensor<?x2x8x64xf16>, %k: tensor<?x2x8x64xf16>) -> tensor<?x2x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<sbhd>
    : tensor<?x2x8x64xf16>, tensor<?x2x8x64xf16>, tensor<?x2x8x64xf16> -> tensor<?x2x8x64xf16>
  return %o : tensor<?x2x8x64xf16>
}

// CHECK-LABEL: func @packed
// CHECK: attn.sdpa {{.*}} layout<thd> mask<causal, bottom_right> cu_seqlens(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<5xi32>) seqlens_k(%{{.*}} : tensor<4xi32>)
// CHECK: attn.sdpa {{.*}} layout<htd> cu_seqlens(
func.func @packed(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %h: tensor<8x?x64xf16>, %hk: tensor<2x?x64xf16>,
                  %cuq: tensor<?xi32>, %cuk: tensor<5xi32>, %len: tensor<4xi32>) -> (tensor<?x8x64xf16>, tensor<8x?xf32>, tensor<8x?x64xf16>) {
  %o, %l = attn.sdpa %q, %k, %k layout<thd> mask<causal, bottom_right>
      cu_seqlens(%cuq, %cuk : tensor<?xi32>, tensor<5xi32>) seqlens_k(%len : tensor<4xi32>)
    : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x8x64xf16>, tensor<8x?xf32>
  %p = attn.sdpa %h, %hk, %hk layout<htd> cu_seqlens(%cuq, %cuk : tensor<?xi32>, tensor<5xi32>)
    : tensor<8x?x64xf16>, tensor<2x?x64xf16>, tensor<2x?x64xf16> -> tensor<8x?x64xf16>
  return %o, %l, %p : tensor<?x8x64xf16>, tensor<8x?xf32>, tensor<8x?x64xf16>
}

// CHECK-LABEL: func @sinks_fp8
// CHECK: attn.sdpa {{.*}} seqlens_k(%{{.*}} : tensor<2xi32>) sinks(%{{.*}} : tensor<8xbf16>)
// CHECK-SAME: tensor<2x16x8x64xf8E4M3FN>{{.*}} -> tensor<2x16x8x64xbf16>
// CHECK: attn.sdpa {{.*}} tensor<1x4x1x16xf8E5M2> -> tensor<1x4x1x16xf8E5M2>
func.func @sinks_fp8(%q: tensor<2x16x8x64xf8E4M3FN>, %len: tensor<2xi32>, %s: tensor<8xbf16>, %e: tensor<1x4x1x16xf8E5M2>)
    -> (tensor<2x16x8x64xbf16>, tensor<1x4x1x16xf8E5M2>) {
  %o = attn.sdpa %q, %q, %q layout<bshd> seqlens_k(%len : tensor<2xi32>) sinks(%s : tensor<8xbf16>)
    : tensor<2x16x8x64xf8E4M3FN>, tensor<2x16x8x64xf8E4M3FN>, tensor<2x16x8x64xf8E4M3FN> -> tensor<2x16x8x64xbf16>
  %p = attn.sdpa %e, %e, %e layout<bshd>
    : tensor<1x4x1x16xf8E5M2>, tensor<1x4x1x16xf8E5M2>, tensor<1x4x1x16xf8E5M2> -> tensor<1x4x1x16xf8E5M2>
  return %o, %p : tensor<2x16x8x64xbf16>, tensor<1x4x1x16xf8E5M2>
}

// CHECK-LABEL: func @destinations
// CHECK: attn.sdpa {{.*}} outs(%{{.*}}, %{{.*}} : tensor<2x?x8x64xf32>, tensor<2x8x?xf32>) {my.tag = 1 : i64} :
func.func @destinations(%q: tensor<2x?x8x64xf32>, %o: tensor<2x?x8x64xf32>, %l: tensor<2x8x?xf32>) -> tensor<2x?x8x64xf32> {
  %r, %s = attn.sdpa %q, %q, %q layout<bshd> outs(%o, %l : tensor<2x?x8x64xf32>, tensor<2x8x?xf32>) {my.tag = 1 : i64}
    : tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32> -> tensor<2x?x8x64xf32>, tensor<2x8x?xf32>
  return %r : tensor<2x?x8x64xf32>
}

// CHECK-LABEL: func @memrefs
// CHECK: attn.sdpa {{.*}} outs(%{{.*}} : memref<2x?x8x64xf16, strided<[?, ?, ?, 1]>>) : memref<2x?x8x64xf16>, {{.*}}memref<2x?x8x64xf16, 1>{{$}}
func.func @memrefs(%q: memref<2x?x8x64xf16>, %k: memref<2x?x8x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
                   %v: memref<2x?x8x64xf16, 1>, %o: memref<2x?x8x64xf16, strided<[?, ?, ?, 1]>>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<2x?x8x64xf16, strided<[?, ?, ?, 1]>>)
    : memref<2x?x8x64xf16>, memref<2x?x8x64xf16, strided<[?, ?, ?, 1], offset: ?>>, memref<2x?x8x64xf16, 1>
  return
}

// CHECK-LABEL: func @mods
// CHECK: captures(%{{.*}}, %{{.*}} : tensor<8xf32>, index)
// CHECK: score_mod(%score: f32, %b: index, %h: index, %i: index, %j: index, %[[S:.*]]: tensor<8xf32>, %{{.*}}: index) {
// CHECK:   %[[E:.*]] = tensor.extract %[[S]][%h]
// CHECK:   attn.yield %{{.*}} : f32
// CHECK: mask_mod(%b: index, %h: index, %i: index, %j: index, %{{.*}}: tensor<8xf32>, %[[P:.*]]: index) {
// CHECK:   arith.cmpi ult, %j, %[[P]]
// CHECK:   attn.yield %{{.*}} : i1
func.func @mods(%q: tensor<1x16x8x64xf16>, %slopes: tensor<8xf32>, %prefix: index) -> tensor<1x16x8x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%slopes, %prefix : tensor<8xf32>, index)
    : tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16> -> tensor<1x16x8x64xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<8xf32>, %p: index) {
      %slope = tensor.extract %sl[%h] : tensor<8xf32>
      %r = arith.addf %s, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<8xf32>, %p: index) {
      %c = arith.cmpi ult, %j, %p : index
      attn.yield %c : i1
    }
  return %o : tensor<1x16x8x64xf16>
}

// CHECK-LABEL: func @mask_only
// CHECK: attn.sdpa {{.*}}
// CHECK-NEXT: mask_mod(
func.func @mask_only(%q: tensor<1x16x8x64xf16>) -> tensor<1x16x8x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd>
    : tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16> -> tensor<1x16x8x64xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi ne, %i, %j : index
      attn.yield %c : i1
    }
  return %o : tensor<1x16x8x64xf16>
}

// CHECK-LABEL: func @backward
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = attn.sdpa_backward %{{.*}}, %{{.*}}, %{{.*}} out(%{{.*}}) dout(%{{.*}}) lse(%{{.*}}) layout<bshd> mask<causal, bottom_right> deterministic :
func.func @backward(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x32xf16>, %o: tensor<2x?x8x32xf16>,
                    %lse: tensor<2x8x?xf32>) -> tensor<2x?x8x64xf16> {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%o) dout(%o) lse(%lse) layout<bshd> mask<causal, bottom_right> deterministic
    : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>, tensor<2x?x8x32xf16>, tensor<2x?x8x32xf16>, tensor<2x8x?xf32>
      -> tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>
  return %dq : tensor<2x?x8x64xf16>
}

// CHECK-LABEL: func @backward_all
// CHECK: attn.sdpa_backward {{.*}} lse(%{{.*}}) dlse(%{{.*}} : tensor<8x?xf32>) layout<thd> scale(5.000000e-01) cu_seqlens({{.*}}) seqlens_k({{.*}}) sinks({{.*}}) captures({{.*}}) outs({{.*}})
// CHECK-SAME: -> tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<8xf32>{{$}}
// CHECK-NEXT: score_mod(
func.func @backward_all(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %o: tensor<?x8x64xbf16>, %lse: tensor<8x?xf32>,
                        %cu: tensor<?xi32>, %len: tensor<?xi32>, %sinks: tensor<8xf32>, %cap: f32,
                        %dqi: tensor<?x8x64xf32>, %dki: tensor<?x2x64xf32>, %dsi: tensor<8xf32>) -> tensor<8xf32> {
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %k, %k out(%o) dout(%o) lse(%lse) dlse(%lse : tensor<8x?xf32>) layout<thd> scale(0.5)
      cu_seqlens(%cu, %cu : tensor<?xi32>, tensor<?xi32>) seqlens_k(%len : tensor<?xi32>) sinks(%sinks : tensor<8xf32>)
      captures(%cap : f32) outs(%dqi, %dki, %dki, %dsi : tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<8xf32>)
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<8x?xf32>
      -> tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<8xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %r = arith.mulf %s, %c : f32
      attn.yield %r : f32
    }
  return %ds : tensor<8xf32>
}

// CHECK-LABEL: func @backward_memrefs
// CHECK: attn.sdpa_backward {{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>) :
func.func @backward_memrefs(%x: memref<1x8x1x64xf16>, %lse: memref<1x1x8xf32>, %dq: memref<1x8x1x64xf16>, %dk: memref<1x8x1x64xf16>, %dv: memref<1x8x1x64xf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
      outs(%dq, %dk, %dv : memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>)
    : memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x8x1x64xf16>, memref<1x1x8xf32>
  return
}

// CHECK-LABEL: func @dcaptures
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = attn.sdpa_backward {{.*}} captures(%{{.*}}, %{{.*}}, %{{.*}} : f32, i32, tensor<1xf32>) wrt [0, 2] : {{.*}} -> {{.*}}, tensor<1xf32>, tensor<1xf32>{{$}}
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[DSINKS:.*]], %{{.*}} = attn.sdpa_backward {{.*}} sinks(%{{.*}}) captures(%{{.*}}) wrt [0] : {{.*}} -> {{.*}}, tensor<1xf16>, tensor<1xf32>{{$}}
// CHECK: return %[[DSINKS]]
func.func @dcaptures(%x: tensor<1x8x1x64xf16>, %lse: tensor<1x1x8xf32>, %a: f32, %n: i32, %v: tensor<1xf32>, %sinks: tensor<1xf16>) -> tensor<1xf16> {
  %g:5 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> captures(%a, %n, %v : f32, i32, tensor<1xf32>) wrt [0, 2]
    : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x1x8xf32>
      -> tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1xf32>, tensor<1xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32, %m: i32, %w: tensor<1xf32>) {
      %e = tensor.extract %w[%h] : tensor<1xf32>
      %t = arith.mulf %s, %c : f32
      %r = arith.addf %t, %e : f32
      attn.yield %r : f32
    }
  %dq, %dk, %dv, %ds, %dc = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> sinks(%sinks : tensor<1xf16>) captures(%a : f32) wrt [0]
    : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x1x8xf32>
      -> tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1xf16>, tensor<1xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %r = arith.mulf %s, %c : f32
      attn.yield %r : f32
    }
  return %ds : tensor<1xf16>
}
