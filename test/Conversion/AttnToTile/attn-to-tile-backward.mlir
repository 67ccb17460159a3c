// The gradient is three kernels, launched one after the other: what the rows of
// queries need, a block of keys over the queries that see it, and dq from its sums.
//
// RUN: fa4-opt %s --split-input-file --attn-to-tile | FileCheck %s

// The rows' factor of 2^x: -log2(e) lse, and -inf for rows that see no key.
// CHECK-LABEL: tile.kernel @causal_preprocess_kernel(
// CHECK-SAME: tile.name = "dlse"
// CHECK-SAME: tile.dims = ["B", "Hq", "align(Sq, 128)"], tile.if_empty = 0.000000e+00 : f32, tile.name = "shift"
// CHECK-SAME: grid = [#tile.extent<"Sq" by 128>, #tile.extent<"Hq">, #tile.extent<"B">]
// Each launch may begin before the one in front of it has ended.
// CHECK-SAME: tile.programmatic_launch
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<-1.44269502> : vector<128xf32>
// CHECK-DAG: %[[INF:.*]] = arith.constant dense<0xFF800000> : vector<128xf32>
// CHECK: %[[LSE:.*]] = tile.load_rows %{{.*}} dim 2 : memref<?x?x?xf32> -> vector<128xf32>
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[LSE]], %[[INF]]
// CHECK: %[[BEHIND:.*]] = arith.cmpi sge
// CHECK: %[[EMPTY:.*]] = arith.ori %[[NONE]], %[[BEHIND]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[LSE]], %[[LOG2E]]
// CHECK: %[[SHIFT:.*]] = arith.select %[[EMPTY]], %[[INF]], %[[SCALED]]
// CHECK: tile.store %[[SHIFT]]
// CHECK: %[[SUM:.*]] = vector.multi_reduction <add>
// CHECK: %[[DELTA:.*]] = arith.subf %[[SUM]], %{{.*}} : vector<128xf32>
// CHECK: tile.store %[[DELTA]]
// CHECK: tile.store %{{.*}} : vector<128x64xf32>, memref<?x?x?x64xf32>

// A tile of keys works on the blocks of queries that see it; the query heads of
// the group take turns. Only blocks on the diagonal and a tile that is cut off
// are masked. More blocks in front of them would be masked, too.
// CHECK-LABEL: tile.kernel @causal_kernel(
// What is added to zeros stays as it is.
// CHECK-SAME: "64"], tile.name = "sums", tile.output = "partial"
// CHECK-SAME: grid = [#tile.extent<"Sk" by 128>, #tile.extent<"Hkv">, #tile.extent<"B">]
// CHECK-SAME: tile.programmatic_launch
// CHECK-SAME: condition = "Hkv == 0 ? Hq == 0 : Hq % Hkv == 0"
// CHECK: %[[GROUP:.*]] = arith.divui
// CHECK: %[[OWN:.*]] = arith.minsi
// CHECK: %[[FIRST:.*]] = tile.at_most %[[OWN]]
// CHECK: %[[CUT:.*]] = arith.cmpi sgt
// CHECK: %[[FULL:.*]] = arith.select %[[CUT]]
// CHECK: %[[END:.*]] = arith.muli %{{.*}}, %[[GROUP]]
// CHECK: %[[MASKED:.*]] = tile.at_least %[[END]]
// CHECK: scf.for %[[STEP:[^ ]*]] =
// CHECK: %[[PASSED:.*]] = arith.divui %[[STEP]], %[[GROUP]]
// CHECK: arith.addi %[[FIRST]], %[[PASSED]]
// CHECK: tile.mma %{{.*}}, transpose %{{.*}} -> vector<128x128xf32>
// CHECK: arith.cmpi slt, %[[STEP]], %[[MASKED]]
// CHECK: scf.if
// CHECK: math.exp2
// CHECK: tile.mma {{.*}} acc
// CHECK: tile.mma {{.*}} acc
// CHECK: %[[DQ:.*]] = tile.mma transpose
// CHECK: tile.reduce_add %[[DQ]]
// CHECK: scf.yield

// CHECK-LABEL: tile.kernel @causal_postprocess_kernel(
// CHECK-SAME: tile.programmatic_launch
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<128x64xf32>
// CHECK: arith.truncf

// CHECK-LABEL: func.func @causal(
// CHECK: %[[A:.*]] = memref.alloc(
// CHECK: %[[B:.*]] = memref.alloc(
// CHECK: %[[C:.*]] = memref.alloc(
// CHECK: tile.launch @causal_preprocess_kernel {{.*}} outs(%[[A]], %[[B]], %[[C]] :
// CHECK: tile.launch @causal_kernel ins({{.*}}, %[[A]], %[[B]] : {{.*}}) outs(%[[C]],
// CHECK: tile.launch @causal_postprocess_kernel ins(%[[C]] :
// CHECK: memref.dealloc %[[A]]
// CHECK: memref.dealloc %[[B]]
// CHECK: memref.dealloc %[[C]]
// CHECK-NOT: attn.
func.func @causal(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>,
                  %o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>, %dlse: memref<?x?x?xf32>,
                  %dq: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>, %dv: memref<?x?x?x64xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%o) dout(%do) lse(%lse) dlse(%dlse : memref<?x?x?xf32>)
      layout<bshd> mask<causal, bottom_right>
      outs(%dq, %dk, %dv : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>,
      memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?xf32>
  return
}

// -----

// Whole tiles of keys without a mask have no branch, and one head a group no
// division. On tensors, the results of a launch are what the next one reads.
// CHECK-LABEL: tile.kernel @full_kernel(
// CHECK-NOT: scf.if
// CHECK-NOT: divui
// CHECK-LABEL: func.func @full(
// CHECK: %[[P:.*]]:3 = tile.launch @full_preprocess_kernel
// CHECK: %[[M:.*]]:3 = tile.launch @full_kernel ins({{.*}}, %[[P]]#0, %[[P]]#1 : {{.*}}) outs(%[[P]]#2,
// CHECK: %[[DQ:.*]] = tile.launch @full_postprocess_kernel ins(%[[M]]#0 :
// CHECK: return %[[DQ]], %[[M]]#1, %[[M]]#2
func.func @full(%q: tensor<1x128x2x64xf16>, %k: tensor<1x256x2x64xf16>, %o: tensor<1x128x2x64xf16>, %lse: tensor<1x2x128xf32>)
    -> (tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%o) dout(%o) lse(%lse) layout<bshd>
    : tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>,
      tensor<1x128x2x64xf16>, tensor<1x128x2x64xf16>, tensor<1x2x128xf32>
      -> tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>
  return %dq, %dk, %dv : tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>
}

// -----

// Regions see keys as rows and queries as columns. The probabilities meet the derivative of the score
// before those of the masked keys meet anything; sinks have a kernel of their own.
// CHECK-LABEL: tile.kernel @regions_kernel(
// CHECK-SAME: tile.name = "capture0"
// CHECK: scf.for
// CHECK: %[[S:.*]] = tile.mma
// CHECK: %[[X:.*]] = arith.mulf %[[S]]
// CHECK: %[[T:.*]] = math.tanh
// CHECK-DAG: %[[SQUARE:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK-DAG: %[[SLOPE:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// CHECK: math.fma
// CHECK: %[[VISIBLE:.*]] = arith.cmpi ult, %{{.*}} : vector<128x128xindex>
// CHECK: arith.select %[[VISIBLE]]
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[W:.*]] = arith.mulf %[[P]], %{{.*}} : vector<128x128xf32>
// CHECK: arith.truncf %[[P]]
// CHECK: %[[DIFFERENCE:.*]] = arith.subf
// CHECK: arith.mulf %[[W]], %[[DIFFERENCE]]
// CHECK-LABEL: tile.kernel @regions_sinks_kernel(
// CHECK-SAME: grid = [#tile.extent<"2" by 128>]
// CHECK: tile.load_rows %{{.*}} dim 0 : memref<2xf32> -> vector<128xf32>
// CHECK: scf.for
// CHECK: vector.multi_reduction <add>
// CHECK: tile.store
func.func @regions(%q: tensor<1x128x2x64xf16>, %k: tensor<1x256x2x64xf16>, %o: tensor<1x128x2x64xf16>, %lse: tensor<1x2x128xf32>,
                   %sinks: tensor<2xf32>, %cap: f32)
    -> (tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>, tensor<2xf32>) {
  %dq, %dk, %dv, %dsinks = attn.sdpa_backward %q, %k, %k out(%o) dout(%o) lse(%lse) layout<bshd>
      sinks(%sinks : tensor<2xf32>) captures(%cap : f32)
    : tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>,
      tensor<1x128x2x64xf16>, tensor<1x128x2x64xf16>, tensor<1x2x128xf32>
      -> tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %x = arith.divf %s, %c : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %c : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: f32) {
      %x = arith.xori %i, %j : index
      %r = arith.cmpi ult, %x, %i : index
      attn.yield %r : i1
    }
  return %dq, %dk, %dv, %dsinks : tensor<1x128x2x64xf16>, tensor<1x256x2x64xf16>, tensor<1x256x2x64xf16>, tensor<2xf32>
}

// -----

// Scores that are all hidden need no score_mod, and no derivative, also where only
// folding shows that they are: with the derivative, the kernel of a head dim of 128 would
// need more tensor memory than there is.
// CHECK-LABEL: tile.kernel @hidden_kernel(
// CHECK-NOT: math.
// CHECK: tile.reduce_add
// CHECK-LABEL: func.func @hidden(
func.func @hidden(%q: tensor<1x128x2x128xf16>, %k: tensor<1x256x2x128xf16>, %lse: tensor<1x2x128xf32>)
    -> (tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd>
    : tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>,
      tensor<1x128x2x128xf16>, tensor<1x128x2x128xf16>, tensor<1x2x128xf32>
      -> tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %r = math.tanh %s : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %r = arith.cmpi slt, %i, %i : index
      attn.yield %r : i1
    }
  return %dq, %dk, %dv : tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>
}

// -----

// So it is where a derivative by a capture is asked for: it is 0.
// CHECK-LABEL: tile.kernel @hidden_capture_kernel(
// CHECK-NOT: math.
// CHECK: tile.reduce_add
// CHECK-LABEL: tile.kernel @hidden_capture_capture0_kernel(
// CHECK-NOT: math.
// CHECK: vector.multi_reduction
// CHECK-LABEL: func.func @hidden_capture(
func.func @hidden_capture(%q: tensor<1x128x2x128xf16>, %k: tensor<1x256x2x128xf16>, %lse: tensor<1x2x128xf32>, %c: f32)
    -> (tensor<1x256x2x128xf16>, tensor<2xf32>) {
  %g:4 = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> captures(%c : f32) wrt [0]
    : tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>,
      tensor<1x128x2x128xf16>, tensor<1x128x2x128xf16>, tensor<1x2x128xf32>
      -> tensor<1x128x2x128xf16>, tensor<1x256x2x128xf16>, tensor<1x256x2x128xf16>, tensor<2xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %cap: f32) {
      %x = arith.mulf %s, %cap : f32
      %r = math.tanh %x : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %cap: f32) {
      %r = arith.cmpi slt, %i, %i : index
      attn.yield %r : i1
    }
  return %g#1, %g#3 : tensor<1x256x2x128xf16>, tensor<2xf32>
}

// -----

// Tiles of keys take turns at the sums of a block of queries: those of which a
// key is seen, from the first one on. Blocks are worked on from the last one to
// the first one, so that no tile waits for those in front of it to come there.
// CHECK-LABEL: tile.kernel @turns_preprocess_kernel(
// CHECK-SAME: memref<?x?x?xi32> {tile.dims = ["B", "Hq", "{{.*}}"], tile.name = "turns", tile.output = "once"}
// CHECK: %[[ZERO:.*]] = arith.constant dense<0> : vector<128xi32>
// CHECK: tile.store %[[ZERO]]
// CHECK-LABEL: tile.kernel @turns_kernel(
// CHECK-SAME: tile.name = "sums", tile.output = "ordered"
// CHECK-SAME: %[[TURNS:[^ ]*]]: memref<?x?x?xi32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : index
// CHECK: %[[TILE:.*]]:3 = tile.work_tile
// CHECK: scf.for %[[STEP:[^ ]*]] =
// CHECK: %[[PASSED:.*]] = arith.divui %[[STEP]]
// CHECK: %[[BLOCK:.*]] = arith.subi %{{.*}}, %[[PASSED]]
// CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]]
// CHECK: %[[TURN:.*]] = tile.await_turn %[[TURNS]][%[[TILE]]#2, %{{.*}}, %[[ROW]]] of %[[TILE]]#0 in %[[NONE]] to
// CHECK: tile.reduce_add %{{.*}}[%[[TILE]]#2, %[[ROW]], {{.*}} in_turn(%[[TURN]])
// CHECK: tile.pass_turn %[[TURN]]
// CHECK-LABEL: func.func @turns(
// CHECK: %[[COUNTS:.*]] = memref.alloc({{.*}}xi32>
// CHECK: tile.launch @turns_preprocess_kernel {{.*}}, %[[COUNTS]] :
// CHECK: tile.launch @turns_kernel {{.*}}, %[[COUNTS]] :
// CHECK: memref.dealloc %[[COUNTS]]
func.func @turns(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>,
                 %o: memref<?x?x?x64xbf16>, %do: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>,
                 %dq: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>, %dv: memref<?x?x?x64xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%o) dout(%do) lse(%lse)
      layout<bshd> mask<causal, bottom_right> deterministic
      outs(%dq, %dk, %dv : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>,
      memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?xf32>
  return
}

// -----

// The gradient of a captured vector: a kernel whose rows are queries sums over the keys, with the
// number of the head read in front of the loop, and another one sums over the queries of each head. In the main kernel heads
// of a group take turns, so that it reads in the loop.
// CHECK-LABEL: tile.kernel @slopes_kernel(
// CHECK-SAME: tile.name = "capture0"
// CHECK: scf.for
// CHECK: tile.load_rows %{{.*}}[%{{.*}}] : memref<?xf32> -> vector<128xf32>
// CHECK-LABEL: tile.kernel @slopes_capture0_kernel(
// CHECK-SAME: tile.if_empty = 0.000000e+00 : f32, tile.name = "parts", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"Sq" by 256>, #tile.extent<"Hq">, #tile.extent<"B">]
// CHECK: tile.load_rows %{{.*}}[%{{.*}}] : memref<?xf32> -> vector<256xf32>
// CHECK: scf.for {{.*}} -> (vector<256xf32>)
// CHECK: tile.mma
// CHECK: math.exp2
// CHECK: tile.mma
// CHECK: vector.multi_reduction <add>
// CHECK-LABEL: tile.kernel @slopes_capture0_sum_kernel(
// CHECK-SAME: tile.if_empty = 0.000000e+00 : f32, tile.name = "dcapture0", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"Hq" by 128>]
// CHECK-LABEL: func @slopes(
// CHECK: %[[PARTS:.*]] = tile.launch @slopes_capture0_kernel
// CHECK: %[[SUM:.*]] = tile.launch @slopes_capture0_sum_kernel ins(%[[PARTS]]
// CHECK: return %[[SUM]]
func.func @slopes(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>, %slopes: tensor<?xf32>) -> tensor<?xf32> {
  %g:4 = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> captures(%slopes : tensor<?xf32>) wrt [0]
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<?xf32>) {
      %slope = tensor.extract %m[%h] : tensor<?xf32>
      %r = arith.mulf %s, %slope : f32
      attn.yield %r : f32
    }
  return %g#3 : tensor<?xf32>
}
