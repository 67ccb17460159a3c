// Kernels whose outputs are written once, each in another way. The pass must prove
// all of them: it says nothing.
//
// RUN: fa4-opt %s --split-input-file --tile-verify-outputs --verify-diagnostics -o /dev/null

// Two halves of a work tile along one axis of the grid; the end of N cuts off what
// is behind it.
tile.kernel @halves(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// Three axes, of which two step by one; dimensions in another order than the
// tile's; two roles, one of which writes a row a thread.
tile.kernel @roles(%y: memref<?x?x?x96xf32> {tile.name = "y", tile.dims = ["B", "Sq", "H", "96"], tile.output = "once"},
                   %z: memref<?x?x?xf32> {tile.name = "z", tile.dims = ["B", "H", "Sq"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 128>, #tile.extent<"H">, #tile.extent<"B">]} {
  tile.role @lanes kind(vector) {
    %w:3 = tile.work_tile : index, index, index
    %c128 = arith.constant 128 : index
    %one = arith.constant 1.0 : f32
    %row = arith.muli %w#0, %c128 : index
    tile.put %one, %z[%w#2, %w#1, %row] dim 2 : f32, memref<?x?x?xf32>
  }
  tile.role @store kind(issuer) {
    %w:3 = tile.work_tile : index, index, index
    %c128 = arith.constant 128 : index
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<1.0> : vector<96x128xf32>
    %row = arith.muli %c128, %w#0 : index
    tile.store %v, %y[%w#2, %row, %w#1, %c0] dims [3, 1] : vector<96x128xf32>, memref<?x?x?x96xf32>
  }
}

// -----

// A loop over the blocks of a dimension, by its size or by the number of blocks.
tile.kernel @loops(%y: memref<?x?xf32> {tile.name = "y", tile.dims = ["M", "N"], tile.output = "once"},
                   %z: memref<?x?xf32> {tile.name = "z", tile.dims = ["M", "N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %n = memref.dim %y, %c1 : memref<?x?xf32>
  scf.for %j = %c0 to %n step %c64 {
    tile.store %v, %y[%row, %j] : vector<128x64xf32>, memref<?x?xf32>
  }
  %blocks = arith.ceildivsi %n, %c64 : index
  scf.for %j = %c0 to %blocks step %c1 {
    %col = arith.muli %j, %c64 : index
    tile.store %v, %z[%row, %col] : vector<128x64xf32>, memref<?x?xf32>
  }
}

// -----

// Both branches write the same elements; a grid of one work tile has no coordinate
// that counts; a dimension that is smaller than the tile cuts it off.
tile.kernel @branches(%flag: i32 {tile.name = "flag"},
                      %y: memref<100x64xf32> {tile.name = "y", tile.dims = ["100", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"100" by 128>]} {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %w = arith.constant dense<2.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %is = arith.cmpi eq, %flag, %c0_i32 : i32
  scf.if %is {
    tile.store %v, %y[%row, %c0] : vector<128x64xf32>, memref<100x64xf32>
  } else {
    tile.store %w, %y[%row, %c0] : vector<128x64xf32>, memref<100x64xf32>
  }
}

// -----

// Each work tile adds to all rows of a tensor that it shares with others.
tile.kernel @accumulate(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "accumulate"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<64x64xf32>
  %m = memref.dim %y, %c0 : memref<?x64xf32>
  scf.for %j = %c0 to %m step %c128 {
    %k = arith.addi %j, %c64 : index
    tile.reduce_add %v, %y[%j, %c0] : vector<64x64xf32>, memref<?x64xf32>
    tile.reduce_add %v, %y[%k, %c0] : vector<64x64xf32>, memref<?x64xf32>
  }
}

// -----

// Nothing is claimed of a part.
tile.kernel @partial(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : vector<64x64xf32>
  tile.store %v, %y[%c0, %c0] : vector<64x64xf32>, memref<?x64xf32>
}

// -----

// As many blocks as work tiles: the dimension ends where the last of them does.
tile.kernel @aligned(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                     %y: memref<?xf32> {tile.name = "y", tile.dims = ["align(N, 128)"], tile.output = "once"},
                     %z: memref<?xf32> {tile.name = "z", tile.dims = ["align(N, 64)"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<128xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  tile.store %v, %y[%row] : vector<128xf32>, memref<?xf32>
  tile.store %v, %z[%row] : vector<128xf32>, memref<?xf32>
}

// -----

// Of what a pair of CTAs adds together, each CTA adds half: rows from 64 times its number in the pair on, in two parts.
tile.kernel @pair(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "accumulate"},
                  %x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">, #tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 1>} {
  tile.role @store kind(issuer) {
    %w:2 = tile.work_tile : index, index
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %v = arith.constant dense<1.0> : vector<64x32xf32>
    %pair = arith.divui %w#1, %c2 : index
    %first = arith.muli %pair, %c2 : index
    %rank = arith.subi %w#1, %first : index
    %offset = arith.muli %rank, %c64 : index
    %m = memref.dim %y, %c0 : memref<?x64xf32>
    scf.for %j = %c0 to %m step %c128 {
      %row = arith.addi %j, %offset : index
      tile.reduce_add %v, %y[%row, %c0] : vector<64x32xf32>, memref<?x64xf32>
      tile.reduce_add %v, %y[%row, %c32] : vector<64x32xf32>, memref<?x64xf32>
    }
  }
}

// -----

// The same where a CTA has several work tiles.
tile.kernel @pairs(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "accumulate"},
                  %x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">, #tile.extent<"N" by 128>], schedule = #tile.schedule<static>,
                cluster = #tile.cluster<size = 2, axis = 1>} {
  tile.role @store kind(issuer) {
    tile.work (%w0, %w1) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %v = arith.constant dense<1.0> : vector<64x32xf32>
      %pair = arith.divui %w1, %c2 : index
      %first = arith.muli %pair, %c2 : index
      %rank = arith.subi %w1, %first : index
      %offset = arith.muli %rank, %c64 : index
      %m = memref.dim %y, %c0 : memref<?x64xf32>
      scf.for %j = %c0 to %m step %c128 {
        %row = arith.addi %j, %offset : index
        tile.reduce_add %v, %y[%row, %c0] : vector<64x32xf32>, memref<?x64xf32>
        tile.reduce_add %v, %y[%row, %c32] : vector<64x32xf32>, memref<?x64xf32>
      }
    }
  }
}
