// A sum over what two roles of lanes compute belongs to neither of them. Where it is one product, one of them would have
// more work than the other one: it has a role of its own, which both hand their parts to. (A k of 80 columns cannot be
// cut, and 128 queries at a time, whose rows could be, do not fit.)
//
// The numbers of queries are added by MMAs that are equal for both roles' keys, and so are one after CSE. An accumulator has
// one sum, and each role starts MMAs of its own.
//
// RUN: fa4-opt %s --attn-to-nvvm='to=subtile chip=sm_90a' --cse | FileCheck %s --check-prefix=ONE
// RUN: fa4-opt %s --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s

// ONE-LABEL:     tile.kernel @gradient_kernel(
// ONE:             scf.for
// ONE:               %[[X:.*]] = tile.mma %{{.*}} : vector<64x16xbf16>, vector<64x16xbf16>
// ONE-NEXT:          tile.mma %{{.*}} acc %[[X]]
// ONE-NEXT:          tile.mma %{{.*}} acc %[[X]]
// ONE-COUNT-1:       : vector<64x16xbf16>, vector<64x16xbf16>
// ONE-NOT:           : vector<64x16xbf16>, vector<64x16xbf16>

// CHECK-LABEL:   tile.kernel @gradient_kernel(
// CHECK:         tile.role @compute0 kind(matrix)
// CHECK:           scf.for
// CHECK-COUNT-2:     : vector<64x16xbf16>, vector<64x16xbf16>
// CHECK:         tile.role @compute1 kind(matrix)
// CHECK:           scf.for
// CHECK-COUNT-2:     : vector<64x16xbf16>, vector<64x16xbf16>
// CHECK:         tile.role @compute2 kind(matrix)
// CHECK:           scf.for
// CHECK-NOT:       tile.role
// CHECK:             %[[SUM:.*]] = tile.mma transpose
// CHECK:             %[[DQ:.*]] = tile.mma transpose %{{.*}} onto %[[SUM]]
// CHECK:             tile.await %[[DQ]]
// CHECK:             tile.commit %compute2_store
func.func @gradient(%q: tensor<?x?x?x80xbf16>, %k: tensor<?x?x?x80xbf16>, %v: tensor<?x?x?x80xbf16>,
                    %out: tensor<?x?x?x80xbf16>, %dout: tensor<?x?x?x80xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>,
      tensor<?x?x?x80xbf16>, tensor<?x?x?xf32> -> tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>
}
