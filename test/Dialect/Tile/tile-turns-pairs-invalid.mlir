// Turns that pairs of CTAs cannot take, and those that clusters cannot.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-verify-outputs))'

// Each block of sums has a place for one of the two CTAs only: there may be no element 64 behind it.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["K"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' takes turns at places beside which there is no room for those of the other CTA of a pair}}
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// The CTAs of a pair add to one place each for itself, in turn: one would wait for the other.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%c0, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' orders work tiles that each add for themselves, so the two tiles of a pair would wait for each other}}
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%row, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// Where work tiles come to differs.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' takes turns at a place, or with work tiles, that may differ between the CTAs of a pair}}
    %turn = tile.await_turn %turns[%row] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// So do the work tiles that take turns.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' takes turns at a place, or with work tiles, that may differ between the CTAs of a pair}}
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %i : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// Turns go along another axis.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"K">]} {
  %i, %h = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %first, %c0] dims [0, 1] : memref<?x?x128xbf16> -> vector<128x128xbf16>
    %p = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    // expected-note @+1 {{'tile.await_turn' orders work tiles along axis 1 of the grid, but those of a pair are neighbours along axis 0}}
    %turn = tile.await_turn %turns[%first] of %h in %c0 to %last : memref<?xi32>
    tile.reduce_add %p, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// A cluster takes turns as one: by the coordinate, its CTAs would wait for each other.
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x128xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    // expected-error @+1 {{'tile.await_turn' op takes turns by a coordinate in which the CTAs of a cluster differ, so that they would wait for each other; clusters take them by the coordinate divided by 2 (arith.divui)}}
    %turn = tile.await_turn %turns[%first] of %i in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// There are no clusters.
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x128xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %half = arith.divui %i, %c2 : index
    // expected-error @+1 {{'tile.await_turn' op takes turns by the number of a cluster, but there are no clusters along axis 0}}
    %turn = tile.await_turn %turns[%first] of %half in %c0 to %last : memref<?xi32>
    tile.reduce_add %v, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// Both CTAs of a cluster come to one place.
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x128xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %half = arith.divui %i, %c2 : index
    %end = arith.floordivsi %last, %c2 : index
    // expected-error @+1 {{'tile.await_turn' op takes turns that are not proven to come: CTAs that have different numbers in their clusters may come to one place}}
    %turn = tile.await_turn %turns[%first] of %half in %c0 to %end : memref<?xi32>
    tile.reduce_add %v, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// The last cluster does not come to the last block, where it is said to take a turn.
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %row = arith.muli %i, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x128xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %half = arith.divui %i, %c2 : index
    %pairs = arith.divui %tiles, %c2 : index
    %number = arith.muli %half, %c2 : index
    %rank = arith.subi %i, %number : index
    %c64 = arith.constant 64 : index
    %offset = arith.muli %rank, %c64 : index
    %place = arith.addi %first, %offset : index
    // expected-error @+1 {{'tile.await_turn' op takes turns that are not proven to come: a work tile from 'first' to 'last' may not come to the place, and those behind it would wait forever}}
    %turn = tile.await_turn %turns[%place] of %half in %c0 to %pairs : memref<?xi32>
    tile.reduce_add %v, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}

// -----

// Each CTA of a cluster takes turns at a place of its own, but adds to the rows of the other one, too.
tile.kernel @sum(%a: memref<?x?x128xbf16> {tile.name = "a", tile.dims = ["N", "K", "128"]},
                 %b: memref<?x128xbf16> {tile.name = "b", tile.dims = ["N", "128"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["K", "128"], tile.output = "ordered"},
                 %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["align(K, 128)"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %b, %c0 : memref<?x128xbf16>
  %k = memref.dim %y, %c0 : memref<?x128xf32>
  %tiles = arith.ceildivsi %n, %c128 : index
  %last = arith.subi %tiles, %c1 : index
  %blocks = arith.ceildivsi %k, %c128 : index
  %v = arith.constant dense<1.0> : vector<128x128xf32>
  scf.for %j = %c0 to %blocks step %c1 {
    %first = arith.muli %j, %c128 : index
    %half = arith.divui %i, %c2 : index
    %end = arith.floordivsi %last, %c2 : index
    %number = arith.muli %half, %c2 : index
    %rank = arith.subi %i, %number : index
    %c64 = arith.constant 64 : index
    %offset = arith.muli %rank, %c64 : index
    %place = arith.addi %first, %offset : index
    %turn = tile.await_turn %turns[%place] of %half in %c0 to %end : memref<?xi32>
    // expected-error @below {{'tile.reduce_add' op may add to the same elements as work tiles that take turns at another place; the order of these sums is undefined}}
    // expected-note @below {{the addition of the other work tile}}
    tile.reduce_add %v, %y[%first, %c0] in_turn(%turn) : vector<128x128xf32>, memref<?x128xf32>
    tile.pass_turn %turn
  }
}
