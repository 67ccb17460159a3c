// Programs that cannot be cut into roles, such as an accumulator that starts
// from loaded data, are refused on the value that is the reason.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize))' --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

tile.kernel @conditional_load(%x: memref<?x128xf32> {tile.name = "x", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %i = tile.work_tile : index
  %first = arith.cmpi eq, %i, %c0 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  // expected-error @below {{'scf.if' op has loads, stores, MMAs or loops in its regions; only arithmetic can be conditional}}
  %v = scf.if %first -> (vector<128x128xf32>) {
    %t = tile.load %x[%c0, %c0] : memref<?x128xf32> -> vector<128x128xf32>
    scf.yield %t : vector<128x128xf32>
  } else {
    scf.yield %zero : vector<128x128xf32>
  }
  tile.store %v, %x[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The accumulator starts from a loaded tile, which nobody could put into tensor memory.
tile.kernel @carried(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
                     %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant dense<2.0> : vector<128x128xf32>
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %init = arith.constant dense<1.0> : vector<128x128xf32>
  // expected-error @below {{a value that a loop carries from role 'mma' to 'correction' can only be an accumulator that starts from zero}}
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%o = %init) -> (vector<128x128xf32>) {
    %s = arith.mulf %o, %two : vector<128x128xf32>
    %m = tile.mma %a, %a acc %s : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    scf.yield %m : vector<128x128xf32>
  }
  tile.store %r, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

tile.kernel @rows(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %b = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  // expected-error @below {{'tile.mma' op has 256 rows; the MMA of sm_100a that is supported has 128 (see tile-subtile)}}
  %m = tile.mma %a, %b : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  tile.store %m, %y[%i, %c0] : vector<256x64xf32>, memref<?x64xf32>
}

// -----

// The 64 rows of a CTA alone lie in tensor memory as no role holds them.
tile.kernel @rows_alone(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                        %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 64>]} {
  %c0 = arith.constant 0 : index
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  // expected-error @below {{'tile.mma' op has 64 rows; the MMA of sm_100a that is supported has 128 (see tile-subtile)}}
  %m = tile.mma %a, %a : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
  tile.store %m, %y[%i, %c0] : vector<64x64xf32>, memref<?x64xf32>
}

// -----

tile.kernel @rows_of_pair(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                          %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 32>]} {
  %c0 = arith.constant 0 : index
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<32x64xbf16>
  %b = tile.load %x[%c0, %c0] split(1) : memref<?x64xbf16> -> vector<64x64xbf16>
  // expected-error @below {{'tile.mma' op has 32 rows; the MMA of sm_100a that is supported has 128 or 64 in each CTA of a pair (see tile-subtile)}}
  %m = tile.mma %a, %b : vector<32x64xbf16>, vector<64x64xbf16> -> vector<32x64xf32>
  tile.store %m, %y[%i, %c0] : vector<32x64xf32>, memref<?x64xf32>
}

// -----

// Nothing in the loop makes what it carries.
tile.kernel @handed_on(%x: memref<?x128xf32> {tile.name = "x", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.work_tile : index
  %init = arith.constant dense<1.0> : vector<128x128xf32>
  // expected-error @below {{carries 'vector<128x128xf32>', which no operation in it makes}}
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%o = %init) -> (vector<128x128xf32>) {
    scf.yield %o : vector<128x128xf32>
  }
  tile.store %r, %x[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

tile.kernel @swapped(%x: memref<?x128xf32> {tile.name = "x", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x128xf32> -> vector<128x128xf32>
  %b = tile.load %x[%c0, %c0] : memref<?x128xf32> -> vector<128x128xf32>
  // expected-error @below {{carries 'vector<128x128xf32>', which no operation in it makes}}
  %r:2 = scf.for %j = %c0 to %i step %c1 iter_args(%o = %a, %p = %b) -> (vector<128x128xf32>, vector<128x128xf32>) {
    scf.yield %p, %o : vector<128x128xf32>, vector<128x128xf32>
  }
  tile.store %r#0, %x[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// An MMA writes its result to one place. The loop carries the result to the role that
// rescales it, and the exponential of another role reads it in each iteration.
tile.kernel @two_buffers(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
                         %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
                         %z: memref<?x128xf32> {tile.name = "z", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant dense<2.0> : vector<128x128xf32>
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%o = %zero) -> (vector<128x128xf32>) {
    %s = arith.mulf %o, %two : vector<128x128xf32>
    // expected-error @below {{makes a value that a loop carries to one role and that another role uses as well}}
    %m = tile.mma %a, %a acc %s : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %e = math.exp2 %m : vector<128x128xf32>
    tile.reduce_add %e, %z[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
    scf.yield %m : vector<128x128xf32>
  }
  tile.store %r, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Each CTA has half of the tile in its memory, and no MMA brings the halves together.
tile.kernel @split_for_lanes(%x: memref<128x64xbf16> {tile.name = "x", tile.dims = ["128", "64"]},
                             %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  // expected-error @below {{is split over the CTAs of a cluster, each of which has a part of the tile for MMAs, but 'arith.addf' uses all of the tile}}
  %v = tile.load %x[%c0, %c0] split(0) : memref<128x64xbf16> -> vector<128x64xbf16>
  // expected-note @below {{the tile is used here}}
  %twice = arith.addf %v, %v : vector<128x64xbf16>
  tile.store %twice, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
}

// -----

tile.kernel @split_for_store(%x: memref<128x64xbf16> {tile.name = "x", tile.dims = ["128", "64"]},
                             %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  // expected-error @below {{is split over the CTAs of a cluster, each of which has a part of the tile for MMAs, but 'tile.store' uses all of the tile}}
  %v = tile.load %x[%c0, %c0] split(0) : memref<128x64xbf16> -> vector<128x64xbf16>
  // expected-note @below {{the tile is used here}}
  tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
}

// -----

// A copy engine would not write the half that goes to the other CTA where the exchange reads it.
tile.kernel @exchange_of_load(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
                              %z: memref<256x64xbf16> {tile.name = "z", tile.dims = ["256", "64"]},
                              %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %to = arith.muli %i, %c64 : index
  %v = tile.load %x[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-error @below {{must take a tile that lanes compute for it alone, but this tile is loaded}}
  %a = tile.exchange %v : vector<128x128xbf16> -> vector<256x64xbf16>
  %b = tile.load %z[%c0, %c0] split(1) : memref<256x64xbf16> -> vector<256x64xbf16>
  %r = tile.mma transpose %a, %b : vector<256x64xbf16>, vector<256x64xbf16> -> vector<64x64xf32>
  %e = tile.copy %r : vector<64x64xf32>
  tile.store %e, %y[%to, %c0] : vector<64x64xf32>, memref<?x64xf32>
}
