// A sum over what two roles of lanes compute belongs to neither of them. Where it is one product, one of them would have
// more work than the other one: it has a role of its own, which both hand their parts to. (A k of 80 columns cannot be
// cut, and 128 queries at a time, whose rows could be, do not fit.)
//
// RUN: fa4-opt %s --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s

// CHECK:        tile.role @compute2 kind(matrix)
// CHECK:          scf.for
// CHECK-NOT:      tile.role
// CHECK:            %[[SUM:.*]] = tile.mma transpose
// CHECK:            %[[DQ:.*]] = tile.mma transpose %{{.*}} onto %[[SUM]]
// CHECK:            tile.await %[[DQ]]
// CHECK:            tile.commit %compute2_store
func.func @gradient(%q: tensor<?x?x?x80xbf16>, %k: tensor<?x?x?x80xbf16>, %v: tensor<?x?x?x80xbf16>,
                    %out: tensor<?x?x?x80xbf16>, %dout: tensor<?x?x?x80xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>,
      tensor<?x?x?x80xbf16>, tensor<?x?x?xf32> -> tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>
}
