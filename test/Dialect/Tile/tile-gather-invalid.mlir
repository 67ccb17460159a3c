// What tile.gather reads does not change while the kernel runs, has its type, and an index for each dimension.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @outside(%x: memref<?xf32>, %i: vector<128xindex>) -> vector<128xf32> {
  // expected-error @below {{'tile.gather' op must read an argument of a tile.kernel, which does not change while the kernel runs}}
  %v = tile.gather %x[%i] : memref<?xf32>, vector<128xindex> -> vector<128xf32>
  return %v : vector<128xf32>
}

// -----

tile.kernel @rank(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">]} {
  %i = vector.step : vector<128xindex>
  // expected-error @below {{'tile.gather' op needs 2 indices, one a dimension}}
  %v = tile.gather %x[%i] : memref<?x?xf32>, vector<128xindex> -> vector<128xf32>
}

// -----

tile.kernel @type(%x: memref<?xbf16> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %i = vector.step : vector<128xindex>
  // expected-error @below {{'tile.gather' op reads 'vector<128xf32>' from 'memref<?xbf16>'}}
  %v = tile.gather %x[%i] : memref<?xbf16>, vector<128xindex> -> vector<128xf32>
}

// -----

tile.kernel @shape(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %i = vector.step : vector<128xindex>
  %j = vector.step : vector<64xindex>
  // expected-error @below {{'tile.gather' op all non-scalar operands/results must have the same shape and base type}}
  %v = tile.gather %x[%i, %j] : memref<?x?xf32>, vector<128xindex>, vector<64xindex> -> vector<128xf32>
}

// -----

tile.kernel @written(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %rows = vector.step : vector<128xindex>
  // expected-error @below {{'tile.gather' op reads 'x', to which the kernel writes}}
  %v = tile.gather %x[%rows] : memref<?xf32>, vector<128xindex> -> vector<128xf32>
  // expected-note @below {{it is written here}}
  tile.store %v, %x[%i] : vector<128xf32>, memref<?xf32>
}
