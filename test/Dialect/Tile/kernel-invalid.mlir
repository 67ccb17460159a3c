// Kernels that no chip can run are refused by the verifier, before a pass
// computes with their sizes.
//
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
  // expected-error @+1 {{a channel carries values of at most 1048576 elements, not 'vector<1048577xf32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<1048577xf32>>
}

// -----

tile.kernel @carried(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128xf32>>
  tile.role @r kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %s) -> (!tile.channel<vector<128xf32>>) {
      // expected-error @+1 {{'tile.wait' op failed to verify that its channel is the result of a tile.channel}}
      tile.wait %c : <vector<128xf32>>
      scf.yield %c : !tile.channel<vector<128xf32>>
    }
  }
}

// -----

tile.kernel @rank() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{a channel carries values of one or more static dimensions, not 'vector<f32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<f32>>
}

// -----

tile.kernel @scalable() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{a channel carries values of one or more static dimensions, not 'vector<[128]xf32>'}}
  %s = tile.channel "s" smem stages(1) : <vector<[128]xf32>>
}

// -----

tile.kernel @element() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{elements of 'vector<128xindex>' have no size in memory}}
  %s = tile.channel "s" smem stages(1) : <vector<128xindex>>
}

// -----

tile.kernel @stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has stages(1073741824), not from -1073741823 to 1073741823}}
  %s = tile.channel "s" smem stages(1073741824) : <vector<128xf32>>
}

// -----

// A place is whole.
tile.kernel @half_placed() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{expected 'full'}}
  %s = tile.channel "s" smem stages(1) place<offset(0)> : <vector<128xf32>>
}

// -----

tile.kernel @uncounted() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{expected 'arrivals'}}
  %s = tile.channel "s" smem stages(1) place<offset(0) full(0) empty(1) arrivals(1)> : <vector<128xf32>>
}

// -----

tile.kernel @offset() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has offset(9223372036854775807), not from -1073741823 to 1073741823}}
  %s = tile.channel "s" smem stages(1) place<offset(9223372036854775807) full(0) arrivals(1)> : <vector<128xf32>>
}

// -----

tile.kernel @full() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has full(-9223372036854775808), not from -1073741823 to 1073741823}}
  %s = tile.channel "s" smem stages(1) place<offset(0) full(-9223372036854775808) arrivals(1)> : <vector<128xf32>>
}

// -----

tile.kernel @empty() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has empty(1073741824), not from -1073741823 to 1073741823}}
  %s = tile.channel "s" smem stages(1) place<offset(0) full(0) arrivals(1) empty(1073741824) arrivals(1)> : <vector<128xf32>>
}

// -----

tile.kernel @warps() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has warps(4611686018427387904), not from -1073741823 to 1073741823}}
  tile.role @r kind(idle) warps(4611686018427387904) {
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
  tile.role @r kind(vector) {
    // expected-error @+1 {{accesses 'vector<2xf32>' at column 9223372036854775807; a lane has 64 columns of a row of 'vector<128x64xf32>'}}
    %v = tile.read %c[9223372036854775807] : <vector<128x64xf32>> -> vector<2xf32>
  }
}

// -----

// A lane has half of a row of 64 rows in a pair of CTAs.
tile.kernel @folded_column() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<64x64xf32>>
  tile.role @r kind(vector) {
    // expected-error @+1 {{accesses 'vector<2xf32>' at column 32; a lane has 32 columns of a row of 'vector<64x64xf32>'}}
    %v = tile.read %c[32] : <vector<64x64xf32>> -> vector<2xf32>
  }
}

// -----

// expected-error @below {{'tile.kernel' op must have an argument or an operation}}
"tile.kernel"() <{chip = "sm_100a", function_type = () -> (), grid = [#tile.extent<"1">], sym_name = "empty"}> ({
^bb0:
}) : () -> ()

// -----

// Roles run at the same time and share no registers, so that nothing but tensors,
// scalars of the launch and channels is the same value in all of them.

tile.kernel @beside(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{'arith.constant' op is beside roles: a kernel that has roles has its channels and roles and nothing else}}
  %c0 = arith.constant 0 : index
  tile.role @r kind(vector) {
  }
}

// -----

tile.kernel @captures(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c0 = arith.constant 0 : index
  tile.role @r kind(vector) {
    // expected-error @+1 {{'memref.dim' op uses a value of 'arith.constant', which is outside of role 'r': a role uses the kernel's arguments and channels, and computes everything else for itself}}
    %n = memref.dim %x, %c0 : memref<?xf32>
  }
}

// -----

// An index that a nested operation uses.
tile.kernel @nested(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]}, %on: i32 {tile.name = "on"}) attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  tile.role @r kind(vector) {
    %v = arith.constant 1.0 : f32
    %zero = arith.constant 0 : i32
    %some = arith.cmpi ne, %on, %zero : i32
    scf.if %some {
      // expected-error @+1 {{'tile.put' op uses a value of 'tile.work_tile', which is outside of role 'r'}}
      tile.put %v, %x[%i] dim 0 : f32, memref<?xf32>
    }
  }
}

// -----

// A private kernel could be deleted, or its arguments changed behind its launches.

// expected-error @+1 {{'tile.kernel' op must be public, because it is launched from outside of the module}}
tile.kernel private @hidden(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{is for 'sm_42', which is not a known chip; known are sm_90a, sm_100a, sm_103a}}
tile.kernel @chip() attributes {chip = "sm_42", grid = [#tile.extent<"1">]} {
  %i = tile.work_tile : index
}

// -----

// The table of the chip knows how many warps a role of a kind has, but for warps that do nothing.

tile.kernel @kind() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{'tensor' is no kind of role; there are issuer, vector, idle, matrix}}
  tile.role @r kind(tensor) {
  }
}

// -----

tile.kernel @idle() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{is of kind 'idle', so it must say how many 'warps' it has}}
  tile.role @r kind(idle) {
  }
}

// -----

tile.kernel @issuer() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{issues from one thread, so it has 1 warp, not 4}}
  tile.role @r kind(issuer) warps(4) {
  }
}

// -----

tile.kernel @vector() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has 6 warps; a role of kind 'vector' on sm_100a has a multiple of 4}}
  tile.role @r kind(vector) warps(6) {
  }
}

// -----

tile.kernel @none() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{needs at least one warp}}
  tile.role @r kind(vector) warps(0) {
  }
}

// -----

tile.kernel @works() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{is idle, but its body has operations}}
  tile.role @r kind(idle) warps(1) {
    %i = tile.work_tile : index
  }
}

// -----

tile.kernel @group() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{first warp of a warpgroup must be a multiple of 4}}
  tile.role @r kind(vector) first_warp(2) {
  }
}

// -----

tile.kernel @budget() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{register budget must be a multiple of 8 from 24 to 256, not 20}}
  tile.role @r kind(vector) registers(20) {
  }
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'align(N)' is neither a name, a number, 'align(NAME, MULTIPLE)', 'ceildiv(NAME, BLOCK)', 'times(NAME, FACTOR)' nor 'share(FEW, MANY, NAME)', nor a sum or the 'min' of two of these}}
tile.kernel @align(%x: memref<?xf32> {tile.name = "x", tile.dims = ["align(N)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'min(A, B, C)' is neither a name, a number}}
tile.kernel @smallest(%x: memref<?xf32> {tile.name = "x", tile.dims = ["min(A, B, C)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'min(A, )' is neither a name, a number}}
tile.kernel @nothing(%x: memref<?xf32> {tile.name = "x", tile.dims = ["min(A, )"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'min(1, 2)' is neither a name, a number}}
tile.kernel @numbers(%x: memref<?xf32> {tile.name = "x", tile.dims = ["min(1, 2)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'share(1, 2, N))' is neither a name, a number}}
tile.kernel @bracket(%x: memref<?xf32> {tile.name = "x", tile.dims = ["share(1, 2, N))"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': dimension name 'A, B' is neither a name, a number}}
tile.kernel @comma(%x: memref<?xf32> {tile.name = "x", tile.dims = ["A, B"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
}

// -----

// expected-error @+1 {{argument 'x': 'tile.if_empty' is for outputs, but there is no 'tile.output'}}
tile.kernel @input(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.if_empty = 0.0 : f32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}

// -----

// expected-error @+1 {{argument 'x': 'tile.if_empty' of an output with elements of type 'i32' must be 0}}
tile.kernel @integers(%x: memref<?xi32> {tile.name = "x", tile.dims = ["N"], tile.output = "once", tile.if_empty = 1.0 : f32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}

// -----

// expected-error @+1 {{argument 'x': 'tile.if_empty' must be an f32 that is no NaN, not 0 : i32}}
tile.kernel @integer(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "once", tile.if_empty = 0 : i32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}

// -----

// expected-error @+1 {{argument 'x': 'tile.if_empty' must be an f32 that is no NaN, not 0x7FC00000 : f32}}
tile.kernel @nan(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "once", tile.if_empty = 0x7FC00000 : f32})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}

// -----

// expected-error @below {{has a work_count of 'n', which is no argument of one dimension of i32}}
tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">], work_count = "n"} {
}

// -----

// expected-error @below {{has a work_count of 'x', which is no argument of one dimension of i32}}
tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">], work_count = "x"} {
}

// -----

// expected-error @below {{writes to 'n', its work_count}}
tile.kernel @k(%n: memref<?xi32> {tile.name = "n", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">], work_count = "n"} {
}

// -----

// expected-error @below {{has a work_count and a cluster: not supported}}
tile.kernel @k(%n: memref<?xi32> {tile.name = "n", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">], cluster = #tile.cluster<size = 2, axis = 0>, work_count = "n"} {
}

// -----

// expected-error @below {{has a work_count and turns: not supported}}
tile.kernel @k(%n: memref<?xi32> {tile.name = "n", tile.dims = ["N"]},
               %turns: memref<?xi32> {tile.name = "turns", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">], work_count = "n"} {
  %i = tile.work_tile : index
  %turn = tile.await_turn %turns[%i] of %i in %i to %i : memref<?xi32>
  tile.pass_turn %turn
}
