// Sums of an ordered output of which it is not shown that turns order them: work tiles add to one element in turns
// at different places, or twice in a turn.
//
// RUN: fa4-opt %s --split-input-file --tile-verify-outputs --verify-diagnostics -o /dev/null

// Of two sums in a turn, nobody knows which comes first.
tile.kernel @twice(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                   %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %half = arith.constant dense<1.0> : vector<128x32xf32>
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  // expected-note @below {{the earlier operation}}
  tile.reduce_add %half, %y[%c0, %c32] in_turn(%turn) : vector<128x32xf32>, memref<128x64xf32>
  tile.reduce_add %half, %y[%c0, %c0] in_turn(%turn) : vector<128x32xf32>, memref<128x64xf32>
  // expected-error @below {{may add to the same elements as an earlier operation in its turn; the order of these sums is undefined}}
  tile.reduce_add %all, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
  tile.pass_turn %turn
}

// -----

tile.kernel @in_a_loop(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                       %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                       %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  scf.for %j = %c0 to %blocks step %c1 {
    // expected-error @below {{adds in a loop in its turn, so that the order of the sums is not known}}
    tile.reduce_add %all, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
  }
  tile.pass_turn %turn
}

// -----

// Rows of the first block get the sums of all turns, which are taken at a place for each block.
tile.kernel @elsewhere(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                       %y: memref<256x64xf32> {tile.name = "y", tile.dims = ["256", "64"], tile.output = "ordered"},
                       %turns: memref<256xi32> {tile.name = "turns", tile.dims = ["256"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %c2 step %c1 {
    %place = arith.muli %j, %c128 : index
    %row = arith.muli %j, %c64 : index
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<256xi32>
    // expected-error @below {{may add to the same elements as work tiles that take turns at another place; the order of these sums is undefined}}
    // expected-note @below {{the addition of the other work tile}}
    tile.reduce_add %all, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<256x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @unknown_place(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                           %y: memref<256x64xf32> {tile.name = "y", tile.dims = ["256", "64"], tile.output = "ordered"},
                           %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %odd = arith.remui %i, %c128 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  // expected-error @below {{adds in its turn at an index that is no linear arithmetic on coordinates and sizes, so that the order of the sums is not known}}
  tile.reduce_add %all, %y[%odd, %c0] in_turn(%turn) : vector<128x64xf32>, memref<256x64xf32>
  tile.pass_turn %turn
}

// -----

// Turns that two operations take, each counted in a tensor of its own, are in no common order.
tile.kernel @two_turns(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                       %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                       %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]},
                       %others: memref<1xi32> {tile.name = "others", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  // expected-note @below {{the earlier operation}}
  tile.reduce_add %all, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
  tile.pass_turn %turn
  %again = tile.await_turn %others[%c0] of %i in %c0 to %last : memref<1xi32>
  // expected-error @below {{adds in the turn of another tile.await_turn than an earlier operation that adds to this output: turns of two have no order}}
  tile.reduce_add %all, %y[%c0, %c0] in_turn(%again) : vector<128x64xf32>, memref<128x64xf32>
  tile.pass_turn %again
}

// -----

tile.kernel @in_front(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                      %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %minus = arith.constant -16 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  // expected-error @below {{adds in its turn at an index of dimension 1 that may be negative}}
  tile.reduce_add %all, %y[%c0, %minus] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
  tile.pass_turn %turn
}
