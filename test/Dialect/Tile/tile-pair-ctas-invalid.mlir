// What an MMA that sums over the axis of a pair must be, and a bound that may be wider, and
// what is in the way where they are not.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on}))' --verify-diagnostics

// Blocks of 128 rows that begin at every 64th overlap: the rows of both are not 256.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @block(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %c64 = arith.constant 64 : index
  %half = arith.muli %i, %c64 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%half, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-note @+1 {{'tile.mma' has a B that may differ between the CTAs of a pair, which have one between them, and does not sum over the axis of the pair}}
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The columns of B differ, too.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @column(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %row] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-note @+1 {{'tile.mma' has a B that may differ}}
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----
// Each CTA would have half of the rows of the accumulator.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @accumulator(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-note @+1 {{'tile.mma' sums over the axis of the pair to an accumulator, but only memory has the sums of all CTAs}}
  %tc = tile.mma transpose %ta, %tb acc %zero : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Behind the last work tile, B may have more rows.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @inside(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["L", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  // expected-note @+1 {{'tile.load' is not behind the end of its tensor where a CTA of a pair has no work tile, because their number is odd, but the pair sums over its rows}}
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----
// Behind the last work tile, A may have more rows.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @inside_a(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["L", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  // expected-note @+1 {{'tile.load' is not behind the end of its tensor where a CTA of a pair has no work tile, because their number is odd, but the pair sums over it}}
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// A is the same rows in all work tiles.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @same_a(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  // expected-note @+1 {{'tile.load' is summed over the axis of the pair, but is not the block of the work tile}}
  %ta = tile.load %a[%c0, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// What is exchanged is rows of both CTAs.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @by_columns(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %x = arith.addf %ta, %ta : vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-note @+1 {{'tile.mma' sums over the columns of a tile that lanes compute, which the CTAs of a pair cannot exchange; they exchange rows}}
  %tc = tile.mma %x, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// A CTA has half of the rows.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @stored(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  // expected-note @+1 {{'tile.store' uses a sum over the axis of the pair, of which each CTA has half of the rows; only tile.reduce_add can}}
  tile.store %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Work tiles that add to places of their own sum over nothing.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @places(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
    %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  // expected-note @+1 {{'tile.reduce_add' adds a sum over the axis of the pair to places that may differ between its CTAs}}
  tile.reduce_add %tc, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The pass does not compute a branch again for the other CTA.
// expected-error @+1 {{cannot be run by pairs of CTAs}}
tile.kernel @branch(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %o: memref<?x64xf32> {tile.name = "o", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %row = arith.muli %i, %c128 : index
  %m = memref.dim %q, %c0 : memref<?x64xbf16>
  %isEnd = arith.cmpi sgt, %row, %m : index
  %n = scf.if %isEnd -> index {
    scf.yield %c1 : index
  } else {
    %l = arith.divui %m, %i : index
    scf.yield %l : index
  }
  // expected-note @+1 {{'tile.at_least' has a bound that the other CTA of a pair cannot compute from the coordinates of the work tile}}
  %end = tile.at_least %n
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %block = %c0 to %end step %c1 iter_args(%x = %zero) -> (vector<128x64xf32>) {
    %j = arith.muli %block, %c128 : index
    %tk = tile.load %q[%j, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
    %y = tile.mma %tq, %tk acc %x : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
    scf.yield %y : vector<128x64xf32>
  }
  tile.store %sum, %o[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
}
