// Roles whose lanes start MMAs take turns: each waits for its turn in front of the first MMA of a pass and hands it on
// behind the last one. The last role hands on the first turn of all, and the first role takes the last one, so that no
// barrier is left half full. Without exponentials, lanes have so little to do beside the MMAs that turns do not pay; nor
// can roles take turns whose loops make other numbers of passes.
//
// RUN: sed -E -e 's/arith.maximumf ([^,]*), [^:]*/math.exp2 \1 /' -e 's/%keys = memref.dim.*/%keys = arith.constant 1024 : index/' %S/Inputs/matrix-program.mlir | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-pipeline,tile-order,tile-ping-pong,tile-verify-protocol,tile-allocate))' | FileCheck %s
// RUN: sed -e 's/%keys = memref.dim.*/%keys = arith.constant 1024 : index/' %S/Inputs/matrix-program.mlir | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-pipeline,tile-order,tile-ping-pong))' | FileCheck %s --check-prefix=NONE
// RUN: fa4-opt %s --tile-ping-pong | FileCheck %s --check-prefix=NONE

// A named barrier counts the threads of both roles. Barrier 0 is that of all threads.
// CHECK-DAG: %[[T0:.*]] = tile.channel "turn_compute0" barrier stages(1) place<offset(0) full(1) arrivals(256)> : <none>
// CHECK-DAG: %[[T1:.*]] = tile.channel "turn_compute1" barrier stages(1) place<offset(0) full(2) arrivals(256)> : <none>
// CHECK:     tile.role @compute0 kind(matrix)
// CHECK-NOT:   tile.wait %[[T0]]
// CHECK:       tile.mma
// CHECK:       scf.for
// CHECK-NOT:     tile.mma
// CHECK:         tile.wait %[[T0]] : <none>
// CHECK-NEXT:    tile.mma
// CHECK:         tile.mma
// CHECK-NEXT:    tile.commit %[[T1]] : <none>
// CHECK:         tile.await
// CHECK:         tile.await
// CHECK:       }
// CHECK:       tile.wait %[[T0]] : <none>
// CHECK-NEXT: }
// CHECK:     tile.role @compute1 kind(matrix)
// CHECK-NEXT:  tile.commit %[[T0]] : <none>
// CHECK:       scf.for
// CHECK:         tile.wait %[[T1]] : <none>
// CHECK-NEXT:    tile.mma
// CHECK:         tile.mma
// CHECK-NEXT:    tile.commit %[[T0]] : <none>
// CHECK:       }
// CHECK-NOT:   tile.wait %[[T1]]
// CHECK:     tile.role @load

// NONE:      tile.kernel
// NONE-NOT:  barrier
// NONE:      tile.role
tile.kernel @passes(%n: index {tile.name = "n"}, %m: index {tile.name = "m"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @compute0 kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      %e = math.exp2 %t : vector<64x64xf32>
    }
    tile.release %x : <vector<64x64xbf16>>
  }
  tile.role @compute1 kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    scf.for %i = %c0 to %m step %c1 {
      %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      %e = math.exp2 %t : vector<64x64xf32>
    }
    tile.release %x : <vector<64x64xbf16>>
  }
}
