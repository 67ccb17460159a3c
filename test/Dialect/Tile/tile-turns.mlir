// Work tiles that take turns at adding: what awaits and passes on a turn is done by
// the role that stores, in its order, and upstream's passes leave it where it is.
//
// RUN: fa4-opt %s --canonicalize --cse --loop-invariant-code-motion --control-flow-sink --tile-verify-outputs | FileCheck %s
// RUN: fa4-opt %s --tile-subtile --tile-assign-work --tile-warp-specialize | FileCheck %s --check-prefix=ROLES
// RUN: fa4-opt %s --tile-subtile --tile-assign-work --tile-warp-specialize --canonicalize --cse --loop-invariant-code-motion --tile-schedule | FileCheck %s --check-prefix=STAGES

// CHECK: scf.for
// CHECK: %[[TURN:.*]] = tile.await_turn %{{.*}}[%{{.*}}] of %{{.*}} in %{{.*}} to %{{.*}} : memref<?xi32>
// CHECK: tile.reduce_add %{{.*}} in_turn(%[[TURN]])
// CHECK: tile.pass_turn %[[TURN]]

// Tiles that take turns come in sections, so that few of them begin together.
// ROLES: order = #tile.order<axis = 0, {{.*}}>, schedule = #tile.schedule<lpt>
// ROLES-LABEL: tile.role @store
// ROLES: %[[TURN:.*]] = tile.await_turn
// ROLES: %[[TILE:.*]] = tile.wait
// ROLES: tile.reduce_add %[[TILE]], {{.*}} in_turn(%[[TURN]])
// ROLES: tile.release
// ROLES: tile.pass_turn %[[TURN]]

// The next tile is staged while the last one is added, but given back within the
// turn, because the end of the turn waits for all stores.
// STAGES: "epilogue_store" smem stages(2)
// STAGES: tile.await_turn
// STAGES: tile.reduce_add
// STAGES-NEXT: tile.release
// STAGES-NEXT: tile.pass_turn

tile.kernel @sum(%a: memref<?x?x64xbf16> {tile.name = "a", tile.dims = ["N", "K", "64"]},
                 %b: memref<?x64x64xbf16> {tile.name = "b", tile.dims = ["N", "64", "64"]},
                 %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %a, %c0 : memref<?x?x64xbf16>
  %k = memref.dim %a, %c1 : memref<?x?x64xbf16>
  %last = arith.subi %n, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %tb = tile.load %b[%i, %c0, %c0] : memref<?x64x64xbf16> -> vector<64x64xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %ta = tile.load %a[%i, %row, %c0] : memref<?x?x64xbf16> -> vector<128x64xbf16>
    %p = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}
