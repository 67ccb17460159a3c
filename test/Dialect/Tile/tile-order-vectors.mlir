// A score_mod stands between the scores and the vector that shifts them. Lanes wait for
// the vector, which was loaded long before, in front of the scores: they work on these a
// few columns at a time, up to the commit of the probabilities, and hold none of them while
// they wait. The probabilities then take the place of the scores, so that the next scores
// are issued behind them and in front of the MMAs that use dS.
//
// RUN: fa4-opt %s --attn-to-nvvm="to=warp-specialize pairs=off" | FileCheck %s --check-prefix=BEFORE
// RUN: fa4-opt %s --attn-to-nvvm="to=schedule pairs=off" | FileCheck %s

// BEFORE-LABEL: tile.kernel @f_kernel(
// BEFORE-LABEL: tile.role @compute0
// BEFORE: tile.wait %mma_compute0 :
// BEFORE: arith.sitofp
// BEFORE: tile.wait %shift

// CHECK-LABEL: tile.kernel @f_kernel(
// CHECK-LABEL: tile.role @compute0
// CHECK: scf.for
// CHECK: tile.wait %shift
// CHECK-NOT: tile.wait
// CHECK: tile.wait %mma_compute0 :
// CHECK-NOT: tile.wait
// CHECK: arith.sitofp
// CHECK-NOT: tile.wait
// CHECK: tile.commit %compute0_mma.1
// CHECK: tile.release %mma_compute0 :

// CHECK-LABEL: tile.role @mma
// CHECK: scf.for
// CHECK: tile.wait %compute0_mma.0
// CHECK: tile.commit %mma_compute0,
// CHECK: tile.wait %compute0_mma_2

func.func @f(%q: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>, %dq: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>, %dv: memref<?x?x?x64xbf16>) {
  attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %x0 = arith.subi %j, %i : index
      %x1 = arith.index_cast %x0 : index to i32
      %x2 = arith.sitofp %x1 : i32 to f32
      %x3 = arith.mulf %s, %x2 : f32
      attn.yield %x3 : f32
    }
  return
}
