// Work tiles that take turns, all of them, for small sizes: what has to be wrong for no
// size, by running it.
//
// RUN: fa4-test-opt %s --split-input-file --tile-explore-protocol --verify-diagnostics -o /dev/null

// Every work tile adds to every block in turn, from the first one on or from the last one.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], order = #tile.order<axis = 0, descending = true>, schedule = #tile.schedule<lpt>} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// A turn that is counted from another work tile than the first one.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %second = arith.addi %c0, %c1 : index
    // expected-error@+1 {{work tile (0) waits forever for turn -1 at [0]: work tiles before it pass 0 (K = 1, N = 1)}}
    %turn = tile.await_turn %turns[%row] of %i in %second to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// A work tile is expected that there is not.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error@+1 {{work tile 1 takes turns at [0], but comes there 0 times (K = 1, N = 1)}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %tiles : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// One that comes is not expected.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %less = arith.subi %last, %c1 : index
    // expected-error@+1 {{a work tile comes to [0] that is not one of those that take turns there (K = 1, N = 1)}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %less : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// Two blocks at one place: the work tile would wait for itself.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error@+1 {{work tile (0) waits forever for turn 0 at [0]: work tiles before it pass 1 (K = 129, N = 1)}}
    %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// One block at two places.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    // expected-error@+1 {{work tile (0) adds in turn at [128] to what others add to in turn at [0] (K = 129, N = 1)}}
    tile.reduce_add %v, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// The place behind that of the block.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %next = arith.addi %row, %c128 : index
    // expected-error@+1 {{work tile (0) takes a turn at [128], which is outside of the tensor that counts turns (K = 1, N = 1)}}
    %turn = tile.await_turn %turns[%next] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// Sums without a turn.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error@+1 {{work tile (0) adds without a turn (K = 1, N = 1)}}
    tile.reduce_add %v, %y[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

// Parts that are counted one behind the other, and at the next place.
tile.kernel @k(%y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last parts(2) : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.reduce_add %v, %y[%row, %c64] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----


tile.kernel @k(%y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error@+1 {{counts a part of its turn at}}
    %turn = tile.await_turn %turns[%j] of %i in %c0 to %last parts(2) : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.reduce_add %v, %y[%row, %c64] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}
