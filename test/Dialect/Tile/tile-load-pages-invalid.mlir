// The rules of tile.load with pages, and of a table that does not change, are broken once each.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @no_argument(%k: memref<?x16x64xbf16>, %t: memref<?x?xi32>, %i: index) {
  // expected-error @+1 {{'pages' must be an argument of a tile.kernel, which does not change while the kernel runs}}
  %v = tile.load %k[%i, %i, %i] to(%i) pages(%t : memref<?x?xi32>) : memref<?x16x64xbf16> -> vector<128x64xbf16>
  return
}

// -----

tile.kernel @rows(%k: memref<?x16x64xbf16> {tile.name = "k", tile.dims = ["P", "16", "64"]},
                  %t: memref<?x?xi32> {tile.name = "t", tile.dims = ["B", "N"]}) attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  // expected-error @+1 {{'pages' needs a tile of 2 dimensions, neither of which is dimension 0, that of the pages}}
  %v = tile.load %k[%b, %b, %b] dims [1] to(%b) pages(%t : memref<?x?xi32>) : memref<?x16x64xbf16> -> vector<16xbf16>
}

// -----

tile.kernel @dims(%k: memref<?x16x64xbf16> {tile.name = "k", tile.dims = ["P", "16", "64"]},
                  %t: memref<?x?xi32> {tile.name = "t", tile.dims = ["B", "N"]}) attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  // expected-error @+1 {{'pages' needs a tile of 2 dimensions, neither of which is dimension 0, that of the pages}}
  %v = tile.load %k[%b, %b, %b] dims [0, 2] to(%b) pages(%t : memref<?x?xi32>) : memref<?x16x64xbf16> -> vector<128x64xbf16>
}

// -----

tile.kernel @size(%k: memref<?x?x64xbf16> {tile.name = "k", tile.dims = ["P", "S", "64"]},
                  %t: memref<?x?xi32> {tile.name = "t", tile.dims = ["B", "N"]}) attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  // expected-error @+1 {{'pages' needs a static number of rows in a page, 1 or more}}
  %v = tile.load %k[%b, %b, %b] to(%b) pages(%t : memref<?x?xi32>) : memref<?x?x64xbf16> -> vector<128x64xbf16>
}

// -----

tile.kernel @no_end(%k: memref<?x16x64xbf16> {tile.name = "k", tile.dims = ["P", "16", "64"]},
                    %t: memref<?x?xi32> {tile.name = "t", tile.dims = ["B", "N"]}) attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  // expected-error @+1 {{'pages' needs 'to', and must not have 'inner'}}
  %v = tile.load %k[%b, %b, %b] pages(%t : memref<?x?xi32>) : memref<?x16x64xbf16> -> vector<128x64xbf16>
}

// -----

tile.kernel @written(%k: memref<?x16x64xbf16> {tile.name = "k", tile.dims = ["P", "16", "64"]},
                     %t: memref<?x?xi32> {tile.name = "t", tile.dims = ["B", "N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  // expected-error @+1 {{reads 't', which is an output ('tile.output')}}
  %v = tile.load %k[%b, %b, %b] to(%b) pages(%t : memref<?x?xi32>) : memref<?x16x64xbf16> -> vector<128x64xbf16>
}
