// Rows of a tile that are no elements of two dimensions are refused by the verifier.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @not_a_matrix(%q: memref<?x?xf32>, %i: index) {
  // expected-error @+1 {{'inner' is a dimension and its number of elements, and the tile is a matrix}}
  %t = tile.load %q[%i, %i] dims [0] inner [1, 4] : memref<?x?xf32> -> vector<64xf32>
  return
}

// -----

func.func @one_number(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{'inner' is a dimension and its number of elements, and the tile is a matrix}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [1] : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}

// -----

func.func @same_dimension(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{'inner' names dimension 0, which must be one of the memref that is not in dims}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [0, 4] : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}

// -----

func.func @no_dimension(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{'inner' names dimension 3, which must be one of the memref that is not in dims}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [3, 4] : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}

// -----

func.func @rows_that_are_left_over(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{a tile of 64 rows has 'inner' of 3, which must divide them}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [1, 3] : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}

// -----

func.func @no_rows(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{a tile of 64 rows has 'inner' of 0, which must divide them}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [1, 0] : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}

// -----

func.func @ends(%q: memref<?x?x64xbf16>, %i: index) {
  // expected-error @+1 {{has 'inner' beside 'to' or a split of rows}}
  %t = tile.load %q[%i, %i, %i] dims [0, 2] inner [1, 4] to(%i) : memref<?x?x64xbf16> -> vector<64x64xbf16>
  return
}
