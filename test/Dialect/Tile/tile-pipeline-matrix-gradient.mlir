// The gradient's loop has two results from which lanes compute the operands of three products, and dq's operand comes
// from the lanes of two roles. Which products run a pass later follows from a thread's registers; an MMA that is awaited
// too early leaves the tensor cores idle, and one whose operands or results do not fit makes ptxas spill.
//
// RUN: sed 's/HD/64/g' %s | fa4-opt --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s --check-prefix=HELD
// RUN: sed 's/HD/128/g' %s | fa4-opt --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s --check-prefix=LATE
// RUN: sed 's/HD/144/g' %s | fa4-opt --attn-to-nvvm='to=schedule chip=sm_90a' | FileCheck %s --check-prefix=KEPT

// Head dim 64, 128 queries at a time: MMAs begin sums of scores and of dP with the numbers of the queries. A thread has
// registers for P or what it is narrowed to, and not for both: dv starts when P has been used for the scores' gradient.
// HELD-LABEL: tile.kernel @gradient_kernel(
// HELD-DAG:     %terms = tile.channel "terms" smem stages(2) : <vector<128x32xbf16>>
// HELD-DAG:     %q = tile.channel "q" smem stages(2)
// HELD-DAG:     %dout = tile.channel "dout" smem stages(2)
// HELD-DAG:     %compute0_store = tile.channel "compute0_store" smem stages(1) : <vector<64x64xf32>>
// HELD:         tile.role @compute0 kind(matrix)
// HELD:           scf.for {{.*}} iter_args(%[[DV:[a-z0-9]*]] = %{{[^,]*}}, %[[DK:[a-z0-9]*]] = %{{[^,]*}}) ->
// HELD:             %[[T0:.*]] = tile.mma %{{.*}}, transpose %{{.*}} : vector<64x16xbf16>, vector<128x16xbf16>
// HELD:             %[[S0:.*]] = tile.mma %{{.*}}, transpose %{{.*}} onto %[[T0]]
// HELD:             %[[T1:.*]] = tile.mma %{{.*}}, transpose %{{.*}} : vector<64x16xbf16>, vector<128x16xbf16>
// HELD:             %[[DP0:.*]] = tile.mma %{{.*}}, transpose %{{.*}} onto %[[T1]]
// HELD-NEXT:        tile.await %[[S0]]
// HELD:             %[[P:.*]] = math.exp2
// HELD-NEXT:        tile.await %[[DP0]]
// HELD:             %[[DS:.*]] = arith.truncf
// HELD:             tile.commit %compute0_compute0
// HELD:             tile.commit %compute0_compute1
// HELD-NEXT:        %[[NARROW:.*]] = arith.truncf %[[P]]
// HELD:             %[[DV0:.*]] = tile.mma %[[NARROW]], %{{.*}} acc %[[DV]] if
// HELD:             %[[DQ:.*]] = tile.mma transpose %{{.*}} onto
// HELD:             %[[DK0:.*]] = tile.mma %[[DS]], %{{.*}} acc %[[DK]] if
// HELD-NEXT:        tile.await %[[DV0]]
// HELD:             tile.await %[[DQ]]
// HELD:             tile.commit %compute0_store
// HELD:             tile.await %[[DK0]]

// Head dim 128: no registers are left for operands of the pass before, or for dq beside the scores. So dv and dk stay in
// their pass, and dq, whose operands are in memory, is late: it starts when the scores' registers are free.
// The sums' channels have one stage: a pass lies between two values. Results behind the loop share one.
// LATE-LABEL: tile.kernel @gradient_kernel(
// LATE-DAG:    %dout = tile.channel "dout" smem stages(2)
// LATE-DAG:    %compute0_store = tile.channel "compute0_store" smem stages(1) : <vector<64x64xf32>>
// LATE-DAG:    %compute0_store_2 = tile.channel "compute0_store_2" smem stages(1) : <vector<64x64xbf16>>
// LATE:        tile.role @compute0 kind(matrix)
// LATE:          scf.for {{.*}} iter_args(%[[DV:[a-z0-9]*]] = %{{[^,]*}}, %[[DK:[a-z0-9]*]] = %{{[^,]*}}) ->
// LATE:            %[[S0:.*]] = tile.mma %{{.*}}, transpose %{{.*}} onto
// LATE:            %[[DP0:.*]] = tile.mma %{{.*}}, transpose %{{.*}} onto
// LATE:            tile.await %[[S0]]
// LATE:            %[[DV0:.*]] = tile.mma %{{.*}}, %{{.*}} acc %[[DV]] if
// LATE-NEXT:       tile.await %[[DP0]]
// LATE:            tile.commit %[[DS0:.*]], %{{.*}} : <vector<64x64xbf16>>
// LATE:            tile.wait %[[DS0]]
// LATE:            %[[SUM:.*]] = tile.mma transpose %{{.*}} -> !tile.pending<vector<64x64xf32>>
// LATE:            %[[DQ:.*]] = tile.mma transpose %{{.*}} onto %[[SUM]]
// LATE:            %[[DK0:.*]] = tile.mma %{{.*}}, %{{.*}} acc %[[DK]] if
// LATE-NEXT:       tile.await %[[DV0]]
// LATE-NEXT:       tile.release %dout
// LATE-NEXT:       tile.await %[[DQ]]
// LATE:            tile.commit %compute0_store
// LATE:            tile.await %[[DK0]]
// LATE-NEXT:       tile.release %q

// Head dim 144 leaves dq to a kernel of its own: two products of lanes' operands, which start as soon as these are
// there, and end with the pass.
// KEPT-LABEL: tile.kernel @gradient_kernel(
// KEPT:        tile.role @compute0 kind(matrix)
// KEPT:          scf.for
// KEPT:            %[[S0:.*]] = tile.mma
// KEPT:            %[[DP0:.*]] = tile.mma
// KEPT:            tile.await %[[S0]]
// KEPT:            %[[DV0:.*]] = tile.mma
// KEPT-NEXT:       tile.await %[[DP0]]
// KEPT:            %[[DK0:.*]] = tile.mma
// KEPT-NEXT:       tile.await %[[DV0]]
// KEPT-NEXT:       tile.release %dout
// KEPT-NEXT:       tile.await %[[DK0]]
// KEPT-NEXT:       tile.release %q
// KEPT:          tile.kernel @gradient_dq_kernel(

func.func @gradient(%q: tensor<?x?x?xHDxbf16>, %k: tensor<?x?x?xHDxbf16>, %v: tensor<?x?x?xHDxbf16>,
                    %out: tensor<?x?x?xHDxbf16>, %dout: tensor<?x?x?xHDxbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    : tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>,
      tensor<?x?x?xHDxbf16>, tensor<?x?x?xf32> -> tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>
  return %dq, %dk, %dv : tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>, tensor<?x?x?xHDxbf16>
}
