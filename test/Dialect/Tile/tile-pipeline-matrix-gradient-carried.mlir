// The gradient's loop where registers hold what all MMAs need (tile-pipeline-matrix-gradient.mlir has the others): with 64
// queries at a time, since lanes add the numbers of queries if the scale is negative. All five products are under way at
// once, three of them of the pass before. The loop carries the stages of
// q and dout, which MMAs of both passes read. The scores' gradient is handed over as soon as the MMA that read the one
// before has ended, and dq, 32 columns a role, leaves behind that.
//
// RUN: fa4-opt %s --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s

// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK-DAG:     %k = tile.channel "k" smem stages(1)
// CHECK-DAG:     %[[DS0:.*]] = tile.channel "compute0_compute0" smem stages(2) : <vector<64x64xbf16>>
// CHECK-DAG:     %[[DS1:.*]] = tile.channel "compute1_compute0" smem stages(2) : <vector<64x64xbf16>>
// CHECK:         tile.role @compute0 kind(matrix)
// CHECK:           tile.commit %[[DS0]]
// CHECK:           scf.for {{.*}} iter_args(%[[P:[a-z0-9]*]] = %{{.*}}, %[[DO:[a-z0-9]*]] = %{{.*}}, %[[DV:[a-z0-9]*]] = %{{.*}}, %[[DS:[a-z0-9]*]] = %{{.*}}, %[[Q:[a-z0-9]*]] = %{{.*}}, %[[DK:[a-z0-9]*]] =
// CHECK:             %[[S0:.*]] = tile.mma %{{.*}}, transpose %
// CHECK:             %[[DP0:.*]] = tile.mma %{{.*}}, transpose %
// CHECK:             %[[DV0:.*]] = tile.mma %[[P]], %[[DO]] acc %[[DV]] if
// CHECK:             %[[DK0:.*]] = tile.mma %[[DS]], %[[Q]] acc %[[DK]] if
// CHECK:             vector.extract_strided_slice {{.*}} {offsets = [0, 0], sizes = [64, 32]
// CHECK:             %[[W0:.*]] = tile.wait %[[DS0]]
// CHECK:             %[[SUM:.*]] = tile.mma transpose %[[W0]], %{{.*}} -> !tile.pending<vector<64x32xf32>>
// CHECK:             %[[W1:.*]] = tile.wait %[[DS1]]
// CHECK:             %[[DQ:.*]] = tile.mma transpose %[[W1]], %{{.*}} onto %[[SUM]]
// CHECK-NEXT:        tile.await %[[S0]]
// CHECK:             math.exp2
// CHECK:             tile.await %[[DP0]]
// CHECK:             tile.await %[[DV0]]
// CHECK-NEXT:        tile.release %dout
// CHECK-NEXT:        tile.await %[[DK0]]
// CHECK-NEXT:        tile.release %q
// CHECK-NEXT:        %[[NEXT:.*]] = arith.truncf
// CHECK-NEXT:        tile.commit %[[DS0]], %[[NEXT]]
// CHECK-NEXT:        %[[OUT:.*]] = tile.await %[[DQ]]
// CHECK-NEXT:        tile.release %[[DS0]]
// CHECK-NEXT:        tile.release %[[DS1]]
// CHECK-NEXT:        tile.copy %[[OUT]]
// CHECK:             tile.commit %compute0_store
// CHECK:             scf.yield
// CHECK:         tile.role @compute1 kind(matrix)
// CHECK:             vector.extract_strided_slice {{.*}} {offsets = [0, 32], sizes = [64, 32]
func.func @gradient(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                    %out: tensor<?x?x?x64xbf16>, %dout: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> scale(-1.0)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>,
      tensor<?x?x?x64xbf16>, tensor<?x?x?xf32> -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
}
