// A sum of 128 columns is staged and added in parts of 32, for which there is room behind the place: the next tile adds a
// part when it has been added. A part is waited for before it is added, and passed on while the next one is.
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
