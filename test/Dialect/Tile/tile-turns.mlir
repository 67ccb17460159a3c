// Work tiles that take turns at adding: what awaits and passes on a turn is done by
// the role that stores, in its order, and upstream's passes leave it where it is.
//
// RUN: fa4-opt %s --canonicalize --cse --loop-invariant-code-motion --control-flow-sink --tile-verify-outputs | FileCheck %s
// RUN: fa4-opt %s --tile-subtile --tile-assign-work --tile-warp-specialize | FileCheck %s --check-prefix=ROLES
// RUN: fa4-opt %s --tile-subtile --tile-assign-work --tile-warp-specialize --canonicalize --cse --loop-invariant-code-motion --tile-schedule | FileCheck %s --check-prefix=STAGES
// RUN: fa4-opt %s --tile-subtile --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --tile-to-nvvm | FileCheck %s --check-prefix=NVVM
// RUN: fa4-opt %s --tile-subtile --tile-assign-work --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --tile-to-nvvm | FileCheck %s --check-prefix=ORDER

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

// NVVM: %[[NUMBER:.*]] = llvm.sub %{{.*}}, %{{.*}} : i32
// NVVM: llvm.load %[[PLACE:.*]] atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// NVVM: nvvm.cp.async.bulk.tensor.reduce
// NVVM: nvvm.cp.async.bulk.commit.group
// NVVM: nvvm.cp.async.bulk.wait_group 0 {read}
// NVVM: nvvm.mbarrier.arrive
// NVVM: nvvm.cp.async.bulk.wait_group 0{{$}}
// NVVM: llvm.inline_asm has_side_effects {{.*}}"red.release.gpu.global.add.u32 [$0], $1;"

// ORDER: llvm.load {{.*}} atomic syncscope("device") acquire
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

// A sum of 128 columns is staged and added in parts of 32, for which there is room behind the place: the next tile adds a part
// when it has been added. A part is waited for before it is added, and passed on while the next one is.
//
// RUN: fa4-opt %S/Inputs/deterministic.mlir --attn-to-nvvm='to=schedule pairs=off' | FileCheck %s --check-prefix=PARTS
// RUN: fa4-opt %S/Inputs/deterministic.mlir --attn-to-nvvm='to=nvvm pairs=off' | FileCheck %s --check-prefix=COUNTS
// PARTS: %[[TURN:.*]] = tile.await_turn {{.*}} parts(4) : memref<?x?x?xi32>
// PARTS-COUNT-2: tile.reduce_add {{.*}} in_turn(%[[TURN]])
// PARTS-NEXT: tile.release
// PARTS: tile.reduce_add {{.*}} in_turn(%[[TURN]])
// PARTS-NEXT: tile.release
// PARTS: tile.reduce_add {{.*}} in_turn(%[[TURN]])
// PARTS-NEXT: tile.release
// PARTS-NEXT: tile.release
// PARTS-NEXT: tile.pass_turn %[[TURN]]
// COUNTS: acquire
// COUNTS: tensor.reduce
// COUNTS: acquire
// COUNTS: tensor.reduce
// COUNTS: wait_group 1{{$}}
// COUNTS: red.release
// COUNTS: acquire
// COUNTS: tensor.reduce
// COUNTS: wait_group 1{{$}}
// COUNTS: red.release
// COUNTS: acquire
// COUNTS: tensor.reduce
// COUNTS: wait_group 1{{$}}
// COUNTS: red.release
// COUNTS: wait_group 0{{$}}
// COUNTS: red.release
