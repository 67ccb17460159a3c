// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// What no chip has is refused before anything is computed with it; a channel is what its op defines.

tile.kernel @elements(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tile.load' op has a tile of more than 1048576 elements: 'vector<9223372036854775807xf32>'}}
  %t = tile.load %x[%c0] : memref<?xf32> -> vector<9223372036854775807xf32>
}

// -----

tile.kernel @product(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{'arith.constant' op has a tile of more than 1048576 elements: 'vector<4294967296x4294967296xf32>'}}
  %t = arith.constant dense<0.0> : vector<4294967296x4294967296xf32>
}

// -----

tile.kernel @most() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %t = arith.constant dense<0.0> : vector<1024x1024xf32>
}

// -----

tile.kernel @ring() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{'tile.channel' op has a tile of more than 1048576 elements: 'vector<1048577xf32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<1048577xf32>>
}

// -----

tile.kernel @carried(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128xf32>>
  tile.role @r warps(4) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'scf.for' op has a channel that is not the result of a tile.channel}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %s) -> (!tile.channel<vector<128xf32>>) {
      tile.wait %c : <vector<128xf32>>
      scf.yield %c : !tile.channel<vector<128xf32>>
    }
  }
}

// -----

tile.kernel @rank() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{needs values of one or more static dimensions, not 'vector<f32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<f32>>
}

// -----

tile.kernel @scalable() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{needs values of one or more static dimensions, not 'vector<[128]xf32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<[128]xf32>>
}

// -----

tile.kernel @element() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{elements of 'vector<128xindex>' have no size in memory}}
  %s = tile.channel "s" smem stages(1) : <vector<128xindex>>
}

// -----

tile.kernel @stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has stages(1073741824), out of range}}
  %s = tile.channel "s" smem stages(1073741824) : <vector<128xf32>>
}

// -----

tile.kernel @offset() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has offset(9223372036854775807), out of range}}
  %s = tile.channel "s" smem stages(1) offset(9223372036854775807) : <vector<128xf32>>
}

// -----

tile.kernel @full() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has full(-9223372036854775808), out of range}}
  %s = tile.channel "s" smem stages(1) full(-9223372036854775808) : <vector<128xf32>>
}

// -----

tile.kernel @empty() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has empty(1073741824), out of range}}
  %s = tile.channel "s" smem stages(1) empty(1073741824) : <vector<128xf32>>
}

// -----

tile.kernel @warps() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has warps(4611686018427387904), out of range}}
  tile.role @r warps(4611686018427387904) {
  }
}

// -----

// expected-error @+1 {{has smem_bytes of 9223372036854775807, not from 0 to 2147483647}}
tile.kernel @smem() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], smem_bytes = 9223372036854775807 : i64} {
  %c0 = arith.constant 0 : index
}

// -----

// expected-error @+1 {{has tmem_columns of -1, not from 0 to 2147483647}}
tile.kernel @tmem() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], tmem_columns = -1 : i64} {
  %c0 = arith.constant 0 : index
}

// -----

// expected-error @+1 {{grid extent has a tile of 2147483648, more than 2147483647}}
tile.kernel @extent() attributes {chip = "sm_100a", grid = [#tile.extent<"1" by 2147483648>]} {
  %c0 = arith.constant 0 : index
}

// -----

tile.kernel @column() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128x64xf32>>
  tile.role @r warps(4) {
    // expected-error @+1 {{at column 9223372036854775807 of a row}}
    %v = tile.read %c[9223372036854775807] : <vector<128x64xf32>> -> vector<2xf32>
  }
}

// -----

// expected-error @below {{'tile.kernel' op expects arguments or operations}}
"tile.kernel"() <{chip = "sm_100a", function_type = () -> (), grid = [#tile.extent<"1">], sym_name = "empty"}> ({
^bb0:
}) : () -> ()
