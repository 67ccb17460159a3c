// Turns that would not come, or of which that is not shown, and what is no turn.
//
// RUN: fa4-opt %s --split-input-file --tile-verify-outputs --verify-diagnostics -o /dev/null

// Heads that share a coordinate of work tiles take turns in the loop. How many do is a
// size, or the quotient of a size and a constant; blocks may be a constant number.
tile.kernel @k(%y: memref<?x512x64xf32> {tile.name = "y", tile.dims = ["H", "512", "64"], tile.output = "ordered"},
               %turns: memref<?x512xi32> {tile.name = "turns", tile.dims = ["H", "512"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"1">]} {
  %i, %kv = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %group = memref.dim %y, %c0 : memref<?x512x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %steps = arith.muli %group, %c4 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %steps step %c1 {
    %block = arith.divui %j, %group : index
    %passed = arith.muli %block, %group : index
    %rest = arith.subi %j, %passed : index
    %before = arith.muli %kv, %group : index
    %head = arith.addi %before, %rest : index
    %row = arith.muli %block, %c128 : index
    %turn = tile.await_turn %turns[%head, %row] of %i in %c0 to %last : memref<?x512xi32>
    tile.reduce_add %v, %y[%head, %row, %c0] dims [1, 2] in_turn(%turn) : vector<128x64xf32>, memref<?x512x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x?x64xf32> {tile.name = "y", tile.dims = ["H", "K", "64"], tile.output = "ordered"},
               %turns: memref<?x?xi32> {tile.name = "turns", tile.dims = ["H", "K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"3">]} {
  %i, %kv = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %heads = memref.dim %y, %c0 : memref<?x?x64xf32>
  %k = memref.dim %y, %c1 : memref<?x?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %group = arith.divui %heads, %c3 : index
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %steps = arith.muli %blocks, %group : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %steps step %c1 {
    %block = arith.divui %j, %group : index
    %passed = arith.muli %block, %group : index
    %rest = arith.subi %j, %passed : index
    %before = arith.muli %kv, %group : index
    %head = arith.addi %before, %rest : index
    %row = arith.muli %block, %c128 : index
    %turn = tile.await_turn %turns[%head, %row] of %i in %c0 to %last : memref<?x?xi32>
    tile.reduce_add %v, %y[%head, %row, %c0] dims [1, 2] in_turn(%turn) : vector<128x64xf32>, memref<?x?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// The same head for two coordinates of work tiles, which add one less than there are heads.
tile.kernel @k(%y: memref<?x?x64xf32> {tile.name = "y", tile.dims = ["H", "K", "64"], tile.output = "ordered"},
               %turns: memref<?x?xi32> {tile.name = "turns", tile.dims = ["H", "K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"3">]} {
  %i, %kv = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %heads = memref.dim %y, %c0 : memref<?x?x64xf32>
  %k = memref.dim %y, %c1 : memref<?x?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %group = arith.divui %heads, %c3 : index
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %steps = arith.muli %blocks, %group : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %steps step %c1 {
    %block = arith.divui %j, %group : index
    %passed = arith.muli %block, %group : index
    %rest = arith.subi %j, %passed : index
    %before = arith.muli %kv, %group : index
    %fewer = arith.subi %before, %kv : index
    %head = arith.addi %fewer, %rest : index
    %row = arith.muli %block, %c128 : index
    // expected-error@+1 {{takes turns that are not proven to come: work tiles that differ in coordinate 1 may come to one place, but turns go along axis 0}}
    %turn = tile.await_turn %turns[%head, %row] of %i in %c0 to %last : memref<?x?xi32>
    tile.reduce_add %v, %y[%head, %row, %c0] dims [1, 2] in_turn(%turn) : vector<128x64xf32>, memref<?x?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// What every work tile adds to every block, in turn, is right.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
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

// From the last block to the first one, too.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %after = arith.subi %blocks, %j : index
    %back = arith.subi %after, %c1 : index
    %place = arith.muli %back, %c128 : index
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// A work tile that leaves out the blocks in front of its own is no longer awaited there.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %i to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %j2 = arith.minsi %j, %last : index
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %j2 : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// The last tile that comes is not the last one of the grid.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %i to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: a work tile from 'first' to 'last' may not come to the place, and those behind it would wait forever}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %sum = arith.addi %i, %c1 : index
    %next = arith.minsi %sum, %last : index
    // expected-error @below {{takes turns that are not proven to come: work tiles that come to one place may not agree on which are the first and the last one there}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %next : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: a work tile may come to a place where it is not one of those from 'first' to 'last'}}
    %turn = tile.await_turn %turns[%row] of %i in %c1 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// Twice in one work tile.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: a work tile from 'first' to 'last' may not come to the place, and those behind it would wait forever}}
    %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %half = arith.divui %j, %c2 : index
    %place = arith.muli %half, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: a work tile may come to a place in two passes of its loop, and would wait for itself}}
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"64">]} {
  %i, %h = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: work tiles that differ in coordinate 1 may come to one place, but turns go along axis 0}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"64">], schedule = #tile.schedule<lpt>, order = #tile.order<axis = 1>} {
  %i, %h = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: they go along axis 0 of the grid, but the order of work tiles along axis 1}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  tile.work (%i) {
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: with the schedule 'clc' the hardware hands out work tiles in an order that is not known; 'grid', 'lpt' and 'static' have one}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c2 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: the step of the loop around it is not 1}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %small = arith.cmpi slt, %j, %k : index
    scf.if %small {
    // expected-error @below {{takes turns that are not proven to come: the operation is in a branch}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
    }
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-note @below {{see this operation}}
    %odd = arith.andi %j, %c1 : index
    %place = arith.muli %odd, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: who takes turns, where, or in which passes of the loop, is no linear arithmetic on coordinates and sizes}}
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{output 'y': is added to without a turn (in_turn), so that the sums depend on timing}}
    tile.reduce_add %v, %y[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{output 'y': is written by tile.store, but work tiles take turns at adding to it}}
    tile.store %v, %y[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-note @below {{the other operation}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
    // expected-error @below {{takes turns that another operation counts, too: each needs an argument of its own}}
    %other = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%other) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %other
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{has a turn that no tile.pass_turn passes on: the next work tile would wait forever}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{has a turn that is passed on twice, so that two work tiles would have the next one}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
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
    tile.pass_turn %turn
    // expected-error @below {{adds in a turn that has been passed on before}}
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{takes turns by a value that is no coordinate of the work tile (a result of tile.work_tile or an argument of tile.work)}}
    %turn = tile.await_turn %turns[%row] of %j in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{needs 1 indices, one a dimension}}
    %turn = tile.await_turn %turns[%row, %c0] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    // expected-error @below {{has a turn that is passed on in another block, which may run a different number of times}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    %small = arith.cmpi slt, %j, %k : index
    scf.if %small {
      tile.pass_turn %turn
    }
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %row = arith.muli %j, %c128 : index
    %w = arith.constant dense<1.0> : vector<64xf32>
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    // expected-error @below {{adds a value a row in turn; only a matrix can be added in turn, because one thread starts to add it}}
    tile.reduce_add %w, %y[%row, %c0] in_turn(%turn) : vector<64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// The place behind that of the block, of which the last one does not exist.
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
    // expected-error@+1 {{takes turns that are not proven to come: a place may be outside of the tensor that counts turns}}
    %turn = tile.await_turn %turns[%next] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// Two parts, of which the second one is counted at the next element: rows come in blocks of 128.
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

// There is no element between the places.
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
    // expected-error@+1 {{takes turns that are not proven to come: a part of a turn may be counted where one at another place is}}
    %turn = tile.await_turn %turns[%j] of %i in %c0 to %last parts(2) : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.reduce_add %v, %y[%row, %c64] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// The last block may be one row.
tile.kernel @k(%y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
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
    // expected-error@+1 {{takes turns that are not proven to come: a place may be outside of the tensor that counts turns}}
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
    // expected-error@+1 {{has 1 tile.reduce_add in its turn, but parts(2): each part is one of them}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last parts(2) : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
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
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last parts(2) : memref<?xi32>
    tile.reduce_add %v, %y[%row, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    // expected-error@+1 {{is a part of a turn, and may add to what another part adds to: parts differ in a constant index, by a tile at least}}
    tile.reduce_add %v, %y[%row, %c32] in_turn(%turn) : vector<128x64xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// A size that the tensor does not have says nothing of who takes turns.
tile.kernel @no_dimension(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                          %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                          %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %minus = arith.constant -2 : index
  %c128 = arith.constant 128 : index
  // expected-note @below {{see this operation}}
  %n = memref.dim %x, %minus : memref<?x64xf32>
  %blocks = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %blocks, %c1 : index
  %all = arith.constant dense<1.0> : vector<128x64xf32>
  // expected-error @below {{who takes turns, where, or in which passes of the loop, is no linear arithmetic on coordinates and sizes}}
  %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
  tile.reduce_add %all, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
  tile.pass_turn %turn
}
