// What tile.load_rows reads does not change while the kernel runs, and has its type.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @outside(%x: memref<?xf32>, %i: index) -> vector<128xf32> {
  // expected-error @below {{'tile.load_rows' op must read an argument of a tile.kernel, which does not change while the kernel runs}}
  %v = tile.load_rows %x[%i] dim 0 : memref<?xf32> -> vector<128xf32>
  return %v : vector<128xf32>
}

// -----

tile.kernel @dim(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_rows' op names dimension 2 of a tensor of 2}}
  %v = tile.load_rows %x[%i, %i] dim 2 : memref<?x?xf32> -> vector<128xf32>
}

// -----

tile.kernel @type(%x: memref<?xbf16> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_rows' op reads 'vector<128xf32>' from 'memref<?xbf16>'}}
  %v = tile.load_rows %x[%i] dim 0 : memref<?xbf16> -> vector<128xf32>
}

// -----

tile.kernel @stored(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_rows' op reads 'x', to which the kernel writes}}
  %v = tile.load_rows %x[%i] dim 0 : memref<?xf32> -> vector<128xf32>
  // expected-note @below {{it is written here}}
  tile.store %v, %x[%i] : vector<128xf32>, memref<?xf32>
}
