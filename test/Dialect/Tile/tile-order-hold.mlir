// Where lanes compute one value from two results of MMAs, they give the first one back
// before they wait for the second one, and hold what they have computed: the MMAs of the
// next scores run meanwhile. If lanes read both a few columns at a time, the buffer
// of the scores would be free when the second one has been
// read, and these MMAs would come too late to be hidden.
//
// RUN: fa4-opt %s --attn-to-nvvm="to=schedule pairs=off" | FileCheck %s

// In the main kernel, columns are 64 queries: lanes have registers for the numbers that
// belong to them, and read these before they wait for the scores.
// CHECK-LABEL: tile.kernel @f_kernel(
// CHECK-LABEL: tile.role @compute0
// CHECK: scf.for
// CHECK: tile.wait %shift
// CHECK: tile.release %shift
// CHECK: tile.wait %mma_compute0 :
// CHECK: tile.commit %compute0_mma.1
// CHECK: tile.wait %delta
// CHECK: tile.release %delta
// CHECK: tile.wait %mma_compute0_2

// The kernel of dq with head dims 192 and 128.
// CHECK-LABEL: tile.kernel @f_dq_kernel(
// CHECK-LABEL: tile.role @compute0
// CHECK: scf.for
// CHECK: %[[S:.*]] = tile.wait %mma_compute0 :
// CHECK: math.fma %[[S]]
// CHECK-NEXT: tile.release %mma_compute0 :
// CHECK: math.exp2
// CHECK: tile.wait %mma_compute0_2
// CHECK: tile.acquire %compute0_mma.0
// CHECK: tile.commit %compute0_mma.1
// CHECK-NEXT: tile.release %mma_compute0_2

// The next scores are issued in front of what is multiplied by the last gradient.
// CHECK-LABEL: tile.role @mma
// CHECK: scf.for
// CHECK: tile.commit %mma_compute0,
// CHECK: tile.wait %compute0_mma.0
// CHECK: tile.commit %mma_compute0_2,

func.func @f(%q: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x192xbf16> {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd>
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>
  return %dq : tensor<?x?x?x192xbf16>
}
