// Lane operations that cannot be cut into fragments are refused on the
// operation.
//
// RUN: fa4-opt %s --tile-unroll --split-input-file --verify-diagnostics
// RUN: not fa4-opt %s --tile-unroll=fragment=3 2>&1 | FileCheck %s --dump-input=never
// CHECK: error: tile-unroll: fragment must be a positive even number of columns, not 3

tile.kernel @odd() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x3xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{has 'vector<3xf32>', not an even number of columns}}
    %x = tile.read %s : <vector<128x3xf32>> -> vector<3xf32>
  }
}

// -----

tile.kernel @reverse() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
  tile.role @r kind(vector) {
    %x = tile.read %s : <vector<128x4xf32>> -> vector<4xf32>
    // expected-error @below {{cannot be split into pairs of columns}}
    %y = vector.shuffle %x, %x [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
  }
}

// -----

tile.kernel @matrix() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{has 'vector<128x4xf32>', not an even number of columns}}
    %x = tile.wait %s : <vector<128x4xf32>> -> vector<128x4xf32>
  }
}
