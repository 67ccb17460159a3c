// Places of turns that are quotients. A quotient is understood if its divisor is positive and either a constant, or the
// divisor of the loop, or if it is one of two sizes. With any other quotient a proof could start from what is not so.
//
// RUN: fa4-opt %s --split-input-file --tile-verify-outputs --verify-diagnostics -o /dev/null

// The places are in front of the tensor.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["K", "64"], tile.output = "ordered"},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]},
               %x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %minus2 = arith.constant -2 : index
  %k = memref.dim %y, %c0 : memref<?x64xf32>
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    // expected-note @below {{see this operation}}
    %part = arith.floordivsi %j, %minus2 : index
    %place = arith.muli %part, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: who takes turns, where, or in which passes of the loop, is no linear arithmetic on coordinates and sizes}}
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%place, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}

// -----

// The quotient is 0: only a quotient of two sizes is at least 1.
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
    // expected-note @below {{see this operation}}
    %part = arith.divui %i, %n : index
    %place = arith.muli %part, %c128 : index
    // expected-error @below {{takes turns that are not proven to come: who takes turns, where, or in which passes of the loop, is no linear arithmetic on coordinates and sizes}}
    %turn = tile.await_turn %turns[%place] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%place, %c0] in_turn(%turn) : vector<128x64xf32>, memref<?x64xf32>
    tile.pass_turn %turn
  }
}
