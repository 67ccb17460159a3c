// Bufferization writes destinations in place where the analysis allows it, and
// copies where an operand is still read. A wrong answer would overwrite the
// query while it is read.
//
// RUN: fa4-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -canonicalize -split-input-file | FileCheck %s

// Without destinations, results are allocated with the reified sizes.
// CHECK-LABEL: func @allocates
// CHECK-SAME: (%[[Q:.*]]: memref<2x?x8x64xf16>, %[[V:.*]]: memref<2x?x8x32xf16>)
// CHECK: %[[SQ:.*]] = memref.dim %[[Q]]
// CHECK-DAG: %[[O:.*]] = memref.alloc(%[[SQ]]) {{.*}} : memref<2x?x8x32xf16>
// CHECK-DAG: %[[L:.*]] = memref.alloc(%[[SQ]]) {{.*}} : memref<2x8x?xf32>
// CHECK: attn.sdpa %[[Q]], %[[Q]], %[[V]] layout<bshd> outs(%[[O]], %[[L]] : memref<2x?x8x32xf16>, memref<2x8x?xf32>)
// CHECK: return %[[O]], %[[L]]
func.func @allocates(%q: tensor<2x?x8x64xf16>, %v: tensor<2x?x8x32xf16>) -> (tensor<2x?x8x32xf16>, tensor<2x8x?xf32>) {
  %o, %l = attn.sdpa %q, %q, %v layout<bshd> : tensor<2x?x8x64xf16>, tensor<2x?x8x64xf16>, tensor<2x?x8x32xf16> -> tensor<2x?x8x32xf16>, tensor<2x8x?xf32>
  return %o, %l : tensor<2x?x8x32xf16>, tensor<2x8x?xf32>
}

// -----

// A destination that nobody reads afterwards is written in place.
// CHECK-LABEL: func @in_place
// CHECK-SAME: (%[[Q:.*]]: memref<2x8x8x64xf16>, %[[O:.*]]: memref<2x8x8x64xf16>)
// CHECK-NOT: alloc
// CHECK: attn.sdpa %[[Q]], %[[Q]], %[[Q]] layout<bshd> outs(%[[O]] : memref<2x8x8x64xf16>)
// CHECK: return %[[O]]
func.func @in_place(%q: tensor<2x8x8x64xf16>, %o: tensor<2x8x8x64xf16> {bufferization.writable = true}) -> tensor<2x8x8x64xf16> {
  %r = attn.sdpa %q, %q, %q layout<bshd> outs(%o : tensor<2x8x8x64xf16>) : tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16> -> tensor<2x8x8x64xf16>
  return %r : tensor<2x8x8x64xf16>
}

// -----

// The query as its own destination would be overwritten while it is read.
// CHECK-LABEL: func @conflict
// CHECK-SAME: (%[[Q:.*]]: memref<2x8x8x64xf16>)
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: attn.sdpa %[[Q]], %[[Q]], %[[Q]] layout<bshd> outs(%[[A]] : memref<2x8x8x64xf16>)
func.func @conflict(%q: tensor<2x8x8x64xf16> {bufferization.writable = true}) -> tensor<2x8x8x64xf16> {
  %r = attn.sdpa %q, %q, %q layout<bshd> outs(%q : tensor<2x8x8x64xf16>) : tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16> -> tensor<2x8x8x64xf16>
  return %r : tensor<2x8x8x64xf16>
}

// -----

// Captured tensors are read through their buffers.
// CHECK-LABEL: func @captures
// CHECK-SAME: %[[S:arg[0-9]+]]: memref<8xf32>
// CHECK: captures(%{{.*}}, %[[S]] : f32, memref<8xf32>)
// CHECK: score_mod(%score: f32, %b: index, %h: index, %i: index, %j: index, %{{.*}}: f32, %[[A:.*]]: memref<8xf32>)
// CHECK-NEXT: memref.load %[[A]][%h] : memref<8xf32>
// CHECK: mask_mod(%b: index, %h: index, %i: index, %j: index, %{{.*}}: f32, %[[A:.*]]: memref<8xf32>)
// CHECK-NEXT: memref.load %[[A]][%h] : memref<8xf32>
func.func @captures(%q: tensor<1x16x8x64xf16>, %slopes: tensor<8xf32>, %c: f32) -> tensor<1x16x8x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%c, %slopes : f32, tensor<8xf32>) : tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16>, tensor<1x16x8x64xf16> -> tensor<1x16x8x64xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32, %sl: tensor<8xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<8xf32>
      %m = arith.mulf %slope, %x : f32
      %r = arith.addf %s, %m : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: f32, %sl: tensor<8xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<8xf32>
      %r = arith.cmpf olt, %slope, %x : f32
      attn.yield %r : i1
    }
  return %o : tensor<1x16x8x64xf16>
}

// -----

// CHECK-LABEL: func @backward
// CHECK-SAME: (%[[Q:.*]]: memref<1x?x8x64xf16>, %[[K:.*]]: memref<1x?x2x64xf16>, %[[L:.*]]: memref<1x8x?xf32>, %[[S:.*]]: memref<8xf32>)
// CHECK-DAG: %[[DQ:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<1x?x8x64xf16>
// CHECK-DAG: %[[DS:.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK: attn.sdpa_backward %[[Q]], %[[K]], %[[K]] out(%[[Q]]) dout(%[[Q]]) lse(%[[L]]) layout<bshd> deterministic sinks(%[[S]] : memref<8xf32>) outs(%[[DQ]], %{{.*}}, %{{.*}}, %[[DS]]
func.func @backward(%q: tensor<1x?x8x64xf16>, %k: tensor<1x?x2x64xf16>, %l: tensor<1x8x?xf32>, %s: tensor<8xf32>) -> (tensor<1x?x8x64xf16>, tensor<8xf32>) {
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%l) layout<bshd> deterministic sinks(%s : tensor<8xf32>)
    : tensor<1x?x8x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x8x64xf16>, tensor<1x?x8x64xf16>, tensor<1x8x?xf32>
      -> tensor<1x?x8x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<8xf32>
  return %dq, %ds : tensor<1x?x8x64xf16>, tensor<8xf32>
}
