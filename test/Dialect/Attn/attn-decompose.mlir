// attn-decompose writes the op's definition as loops and linalg operations.
// Rows without a visible key must become 0, and results must be written in
// place where a destination is given.
//
// RUN: fa4-opt %s -attn-decompose -canonicalize -cse -split-input-file | FileCheck %s
// RUN: fa4-opt %s -attn-decompose=query-block=0 -canonicalize -cse -split-input-file | FileCheck %s --check-prefix=WHOLE

// Loops over batch and key/value head, the group's heads and blocks of rows;
// then scores, masks, softmax, and the result written in place.
// CHECK-LABEL: func @forward
// CHECK-SAME: (%[[Q:.*]]: tensor<2x?x8x64xbf16>, %[[K:.*]]: tensor<2x?x2x64xbf16>, %[[V:.*]]: tensor<2x?x2x32xbf16>)
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-DAG: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: scf.forall (%[[B:.*]], %[[G:.*]]) in (2, 2) shared_outs(%{{.*}}) -> (tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>)
// CHECK:   %[[SHIFT:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK:   scf.for
// CHECK:     scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c64
// CHECK:       affine.min
// CHECK:       %[[S:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         arith.extf %{{.*}} : bf16 to f32
// CHECK:         arith.addf
// CHECK:       %[[X:.*]] = linalg.generic {{.*}}ins(%[[S]]
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:         %[[D:.*]] = arith.subi %{{.*}}, %[[SHIFT]]
// CHECK:         %[[SEEN:.*]] = arith.cmpi sle, %[[D]], %c0
// CHECK:         arith.select %[[SEEN]], %{{.*}}, %[[INF]]
// CHECK:       %[[M:.*]] = linalg.generic {{.*}}ins(%[[X]]
// CHECK:         arith.maximumf
// CHECK:       linalg.generic {{.*}}ins(%[[M]]
// CHECK:       %[[P:.*]] = linalg.generic
// CHECK:         math.exp
// CHECK:       %[[L:.*]] = linalg.generic {{.*}}ins(%[[P]]
// CHECK:         arith.addf
// CHECK:       linalg.generic {{.*}}ins(%[[P]], %{{.*}} : {{.*}}xbf16
// CHECK:       linalg.generic
// CHECK:         arith.divf
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
// CHECK:       linalg.generic {{.*}}ins(%[[M]], %[[L]]
// CHECK:         math.log
// CHECK:   scf.forall.in_parallel
// CHECK-COUNT-2: tensor.parallel_insert_slice

// WHOLE-LABEL: func @forward
// WHOLE: scf.forall
// WHOLE: scf.for
// WHOLE-NOT: scf.for
// WHOLE: scf.forall.in_parallel
func.func @forward(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x32xbf16>) -> (tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>) {
  %o, %l = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x32xbf16> -> tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>
  return %o, %l : tensor<2x?x8x32xbf16>, tensor<2x8x?xf32>
}

// -----

// Sequences are cut out of a packed batch; seqlens_k shortens the keys.
// CHECK-LABEL: func @packed
// CHECK-SAME: %[[CU:[a-z0-9]+]]: tensor<5xi32>, %[[LEN:[a-z0-9]+]]: tensor<4xi32>
// CHECK: scf.forall (%[[B:.*]], %{{.*}}) in (4, 2)
// CHECK-DAG: %[[NEXT:.*]] = {{arith.addi|affine.apply}} {{.*}}
// CHECK-DAG: tensor.extract %[[CU]][%[[B]]]
// CHECK-DAG: tensor.extract %[[LEN]][%[[B]]]
func.func @packed(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %cu: tensor<5xi32>, %len: tensor<4xi32>) -> tensor<?x8x64xf16> {
  %o = attn.sdpa %q, %k, %k layout<thd> cu_seqlens(%cu, %cu : tensor<5xi32>, tensor<5xi32>) seqlens_k(%len : tensor<4xi32>)
    : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}

// -----

// Memrefs are read and written through tensors that share their memory.
// CHECK-LABEL: func @memrefs
// CHECK-SAME: (%[[Q:.*]]: memref<1x?x1x64xf32>, %[[O:.*]]: memref<1x?x1x64xf32>)
// CHECK-DAG: bufferization.to_tensor %[[Q]] restrict : memref<1x?x1x64xf32>
// CHECK-DAG: bufferization.to_tensor %[[O]] restrict writable : memref<1x?x1x64xf32>
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[O]]
func.func @memrefs(%q: memref<1x?x1x64xf32>, %o: memref<1x?x1x64xf32>) {
  attn.sdpa %q, %q, %q layout<bshd> outs(%o : memref<1x?x1x64xf32>) : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>
  return
}

// -----

// Without a scale and with a head dim that is known at run time only.
// CHECK-LABEL: func @dynamic_head_dim
// CHECK: %[[D:.*]] = tensor.dim
// CHECK: %[[F:.*]] = arith.sitofp
// CHECK: %[[R:.*]] = math.sqrt %[[F]]
// CHECK: arith.divf %{{.*}}, %[[R]]
func.func @dynamic_head_dim(%q: tensor<1x8x1x?xf32>) -> tensor<1x8x1x?xf32> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x1x?xf32>, tensor<1x8x1x?xf32>, tensor<1x8x1x?xf32> -> tensor<1x8x1x?xf32>
  return %o : tensor<1x8x1x?xf32>
}

// -----

// Regions are inlined, with indices in the sequence (not in the block).
// CHECK-LABEL: func @mods
// CHECK-SAME: %[[SLOPES:[a-z0-9]+]]: tensor<2xf32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c100 step %c64
// CHECK: %[[I0:.*]] = linalg.index 0
// CHECK: %[[I:.*]] = arith.addi %[[I0]], %[[ROW]]
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: tensor.extract %[[SLOPES]]
// CHECK: %[[SEEN:.*]] = arith.cmpi ne, %[[I]], %[[J]]
// CHECK: arith.select %[[SEEN]]
func.func @mods(%q: tensor<1x100x2x16xf32>, %slopes: tensor<2xf32>) -> tensor<1x100x2x16xf32> {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%slopes : tensor<2xf32>) : tensor<1x100x2x16xf32>, tensor<1x100x2x16xf32>, tensor<1x100x2x16xf32> -> tensor<1x100x2x16xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<2xf32>) {
      %x = tensor.extract %sl[%h] : tensor<2xf32>
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<2xf32>) {
      %c = arith.cmpi ne, %i, %j : index
      attn.yield %c : i1
    }
  return %o : tensor<1x100x2x16xf32>
}

// -----

// The gradient (the batch loop has one turn): probabilities from the LSE, delta, and the derivative of tanh.
// CHECK-LABEL: func @backward
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: scf.forall (%{{.*}}) in (2) shared_outs(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: %[[DELTA:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: %[[S:.*]] = linalg.generic
// CHECK: %[[P:.*]] = linalg.generic {{.*}}ins(%[[S]]
// CHECK:   math.tanh
// CHECK:   math.exp
// CHECK: %[[DP:.*]] = linalg.generic
// CHECK: %[[DS:.*]] = linalg.generic {{.*}}ins(%[[S]], %[[P]], %[[DP]], %[[DELTA]]
// CHECK:   %[[T:.*]] = math.tanh
// CHECK:   %[[T2:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK:   arith.subf %[[ONE]], %[[T2]]
// CHECK: linalg.generic {{.*}}ins(%[[DS]], %{{.*}}
// CHECK: linalg.generic {{.*}}ins(%[[DS]], %{{.*}}
// CHECK: linalg.generic {{.*}}ins(%[[P]], %{{.*}}
// CHECK: scf.forall.in_parallel
// CHECK-COUNT-3: tensor.parallel_insert_slice
func.func @backward(%q: tensor<1x?x4x16xf32>, %k: tensor<1x?x2x16xf32>, %v: tensor<1x?x2x16xf32>, %do: tensor<1x?x4x16xf32>, %l: tensor<1x4x?xf32>) -> (tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%q) dout(%do) lse(%l) layout<bshd>
    : tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>, tensor<1x4x?xf32>
      -> tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %r = math.tanh %s : f32
      attn.yield %r : f32
    }
  return %dq, %dk, %dv : tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>
}

// -----

// dsinks is a sum over batch and queries, a head at a time.
// CHECK-LABEL: func @dsinks
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK: tensor.extract %{{.*}}[%[[H]]] : tensor<4xbf16>
// CHECK: scf.for
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[H]]] [1] [1] : tensor<1xbf16> into tensor<4xbf16>
func.func @dsinks(%q: tensor<2x?x4x16xf32>, %l: tensor<2x4x?xf32>, %s: tensor<4xbf16>) -> tensor<4xbf16> {
  %dq, %dk, %dv, %ds = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd> sinks(%s : tensor<4xbf16>)
    : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x4x?xf32>
      -> tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<4xbf16>
  return %ds : tensor<4xbf16>
}
