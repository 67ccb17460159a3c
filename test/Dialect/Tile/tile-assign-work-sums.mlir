// The gradient adds to sums of dq, and how much of them is in use is unknown: heads of a group move the loads along two
// dimensions. On Hopper the heads go one after the other, the longest work tile of each first; side by side, the sums of
// all heads would go to memory and back. A kernel that adds nothing has no such order.
//
// RUN: fa4-opt %s --attn-to-nvvm="to=assign-work chip=sm_90a" | FileCheck %s
// RUN: fa4-opt %s --attn-to-nvvm="to=assign-work chip=sm_100a" | FileCheck %s --check-prefix=SIDE
// RUN: sed "s,bottom_right>,bottom_right> deterministic," %s | fa4-opt --attn-to-nvvm="to=assign-work chip=sm_90a" | FileCheck %s --check-prefix=ALONE

// CHECK:      tile.kernel @causal_kernel
// CHECK-SAME: order = #tile.order<axis = 0, cache_bytes = 31457280, group_bytes = 31457280>
// SIDE:       tile.kernel @causal_kernel
// SIDE-SAME:  order = #tile.order<axis = 0, cache_bytes = 66322432>
// ALONE:      tile.kernel @causal_kernel
// ALONE-SAME: order = #tile.order<axis = 0, cache_bytes = 31457280, few_blocks = 8>
func.func @causal(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %out: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %k, %k out(%out) dout(%out) lse(%lse) layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %g#0 : tensor<?x?x?x64xbf16>
}
