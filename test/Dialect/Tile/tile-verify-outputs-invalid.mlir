// Kernels that leave elements of an output unwritten, write some twice, or of which
// that is not known: the error (or remark, where nothing is claimed) names the
// elements or the reason.
//
// RUN: fa4-opt %s --split-input-file --tile-verify-outputs --verify-diagnostics -o /dev/null

// expected-error @below {{output 'y': no tile.store, tile.put or tile.reduce_add writes it}}
tile.kernel @none(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
}

// -----

// expected-error @below {{output 'y': no store writes elements [128:256, 0:64] of the [0:256, 0:64] of each work tile}}
tile.kernel @half(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  // expected-note @below {{this store writes [0:128, 0:64]}}
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @twice(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-note @below {{the other store}}
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-error @below {{output 'y': elements [128:256, 0:64] of the [0:256, 0:64] of each work tile are written twice}}
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// Without tile.output, what is written counts as an output, too.
tile.kernel @unmarked(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-note @below {{the other store}}
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-error @below {{are written twice}}
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @overlap(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %c32 = arith.constant 32 : index
  %o = arith.addi %a, %c32 : index
  // expected-note @below {{the other store}}
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-error @below {{elements [32:128, 0:64] of the [0:256, 0:64] of each work tile are written twice}}
  tile.store %v, %y[%o, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @outside(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %o = arith.addi %b, %c128 : index
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-error @below {{writes [256:384, 0:64], not inside of the [0:256, 0:64] of its work tile}}
  tile.store %v, %y[%o, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @stride(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c128 : index
  // expected-error @below {{work tiles begin 128 elements apart in dimension 0 (N), but the grid has one for each 256}}
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @same_place(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  // expected-error @below {{work tiles that differ in coordinate 0 only write the same elements}}
  tile.store %v, %y[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @other_size(%y: memref<?x?xf32> {tile.name = "y", tile.dims = ["M", "N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 64>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %m, %n = tile.work_tile : index, index
  %r = arith.muli %n, %c64 : index
  %c = arith.muli %m, %c128 : index
  // expected-error @below {{the work tile's coordinate 1 counts along 'N', but selects elements of dimension 0 (M)}}
  tile.store %v, %y[%r, %c] : vector<128x64xf32>, memref<?x?xf32>
}

// -----

tile.kernel @one_for_two(%y: memref<?x?xf32> {tile.name = "y", tile.dims = ["M", "N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 64>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %m, %n = tile.work_tile : index, index
  %r = arith.muli %m, %c128 : index
  // expected-error @below {{one coordinate selects elements of dimension 0 (M) and of dimension 1 (N)}}
  tile.store %v, %y[%r, %r] : vector<128x64xf32>, memref<?x?xf32>
}

// -----

tile.kernel @column(%y: memref<?x?xf32> {tile.name = "y", tile.dims = ["M", "N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %m = tile.work_tile : index
  %r = arith.muli %m, %c128 : index
  // expected-error @below {{no coordinate of the work tile selects elements of dimension 1 (N), so that not all of them are written}}
  tile.store %v, %y[%r, %c0] : vector<128x64xf32>, memref<?x?xf32>
}

// -----

tile.kernel @read(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  // expected-error @below {{output 'y': is read here, while other work tiles may be writing it}}
  %t = tile.load %y[%a, %c0] : memref<?x64xf32> -> vector<128x64xf32>
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @adds(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  // expected-error @below {{is written by tile.reduce_add, but each element is to be written once}}
  tile.reduce_add %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @stores(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "accumulate"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  // expected-error @below {{is written by tile.store, but work tiles add to its elements (tile.reduce_add)}}
  tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @adds_twice(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  // expected-note @below {{the other store}}
  tile.reduce_add %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  // expected-error @below {{are written twice}}
  tile.reduce_add %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// A condition may leave the store out: not known, so not as claimed.
tile.kernel @condition(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %is = arith.cmpi eq, %i, %c1 : index
  scf.if %is {
    // expected-error @below {{output 'y': not proven that each element is written once: the store may be left out}}
    tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// The same, where nothing is claimed.
tile.kernel @condition_unmarked(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %is = arith.cmpi eq, %i, %c1 : index
  scf.if %is {
    // expected-remark @below {{output 'y': not proven that each element is written once: the store may be left out}}
    tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
  tile.store %v, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @index(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %n = memref.dim %y, %c0 : memref<?x64xf32>
  %o = arith.subi %n, %a : index
  // expected-error @below {{the index of dimension 0 (N) is no multiple of a coordinate of the work tile plus a constant}}
  tile.store %v, %y[%o, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @repeats(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %a = arith.muli %i, %c256 : index
  %b = arith.addi %a, %c128 : index
  %n = memref.dim %y, %c0 : memref<?x64xf32>
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @below {{passes of the loop around the store write the same elements}}
    tile.store %v, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @loop_end(%y: memref<?x?xf32> {tile.name = "y", tile.dims = ["M", "N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<128x64xf32>
  %m = tile.work_tile : index
  %r = arith.muli %m, %c128 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  // expected-error @below {{the passes of this loop are not known to be the blocks of dimension 1 (N)}}
  scf.for %j = %c0 to %n step %c64 {
    tile.store %v, %y[%r, %j] : vector<128x64xf32>, memref<?x?xf32>
  }
}

// -----

// Threads of a role: with eight warps, two halves of 128 rows overlap.
tile.kernel @lanes(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  tile.role @r kind(vector) warps(8) {
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %one = arith.constant 1.0 : f32
    %i = tile.work_tile : index
    %a = arith.muli %i, %c256 : index
    %b = arith.addi %a, %c128 : index
    tile.put %one, %y[%a] dim 0 : f32, memref<?xf32>
    // expected-error @below {{writes [128:384], not inside of the [0:256] of its work tile}}
    tile.put %one, %y[%b] dim 0 : f32, memref<?xf32>
  }
}

// -----

// A dimension that is rounded up further than the work tiles reach.
tile.kernel @aligned(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                     %y: memref<?xf32> {tile.name = "y", tile.dims = ["align(N, 256)"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<128xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  // expected-error @below {{output 'y': the work tile's coordinate 0 counts along 'N', but selects elements of dimension 0 (align(N, 256))}}
  tile.store %v, %y[%row] : vector<128xf32>, memref<?xf32>
}

// -----

// Each CTA of a pair adds 32 of 64 rows.
// expected-error @below {{output 'y': no store writes elements [32:64, 0:64] of the [0:128, 0:64] of each work tile}}
tile.kernel @pair_hole(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "accumulate"},
                 %x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<32x64xf32>
  %i = tile.work_tile : index
  %pair = arith.divui %i, %c2 : index
  %first = arith.muli %pair, %c2 : index
  %rank = arith.subi %i, %first : index
  %offset = arith.muli %rank, %c64 : index
  %m = memref.dim %y, %c0 : memref<?x64xf32>
  scf.for %j = %c0 to %m step %c128 {
    %row = arith.addi %j, %offset : index
    // expected-note @below {{this store writes [0:32, 0:64]}}
    // expected-note @below {{this store writes [64:96, 0:64]}}
    tile.reduce_add %v, %y[%row, %c0] : vector<32x64xf32>, memref<?x64xf32>
  }
}

// -----

// One half of the columns each CTA of a pair adds in part, the other one as a whole: twice.
tile.kernel @pair_mixed(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "accumulate"},
                 %x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %v = arith.constant dense<1.0> : vector<64x32xf32>
  %w = arith.constant dense<1.0> : vector<128x32xf32>
  %i = tile.work_tile : index
  %pair = arith.divui %i, %c2 : index
  %first = arith.muli %pair, %c2 : index
  %rank = arith.subi %i, %first : index
  %offset = arith.muli %rank, %c64 : index
  %m = memref.dim %y, %c0 : memref<?x64xf32>
  scf.for %j = %c0 to %m step %c128 {
    %row = arith.addi %j, %offset : index
    // expected-error @below {{output 'y': not proven that each element is written once: some stores depend on the number of the CTA in its cluster, and others do not}}
    tile.reduce_add %v, %y[%row, %c0] : vector<64x32xf32>, memref<?x64xf32>
    tile.reduce_add %w, %y[%j, %c32] : vector<128x32xf32>, memref<?x64xf32>
  }
}

// -----

// The size of a dimension that the tensor does not have is no bound of a loop.
tile.kernel @no_dimension(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                          %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %minus = arith.constant -2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %x, %minus : memref<?x64xf32>
  %end = arith.ceildivsi %n, %c128 : index
  // expected-error @below {{output 'y': not proven that each element is written once: the passes of this loop are not known to be the blocks of dimension 0 (N)}}
  scf.for %j = %c0 to %end step %c1 {
    %row = arith.muli %j, %c128 : index
    %t = tile.load %x[%row, %c0] : memref<?x64xf32> -> vector<128x64xf32>
    tile.store %t, %y[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}

// -----

// Some of the work tiles of the grid are none.
tile.kernel @count(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"},
                   %n: memref<?xi32> {tile.name = "n", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], work_count = "n"} {
  %i = tile.work_tile : index
  %c128 = arith.constant 128 : index
  %first = arith.muli %i, %c128 : index
  %v = arith.constant dense<0.0> : vector<128xf32>
  // expected-error @below {{output 'y': not proven that each element is written once: 'work_count' leaves out work tiles of the grid}}
  tile.store %v, %y[%first] : vector<128xf32>, memref<?xf32>
}
