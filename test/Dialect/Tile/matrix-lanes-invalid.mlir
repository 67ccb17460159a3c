// What a thread of a matrix role holds of a tile is fixed by the hardware: parts of other sizes, values of other
// numbers of rows and tiles that are written in part are refused, because no instruction has them.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// Of 64 columns, a thread holds 16 in each of two rows.
tile.kernel @long_parts() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    // expected-error @below {{has a part 'vector<32xf32>' of 'vector<64x64xf32>', of which a thread holds 16 elements a row}}
    %0 = tile.to_lanes %t : vector<64x64xf32> -> vector<32xf32>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @one_row() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    // expected-error @below {{has 16 elements of 'vector<64x64xf32>', of which a thread holds 32}}
    %0 = tile.to_lanes %t : vector<64x64xf32> -> vector<16xf32>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @other_elements() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(matrix) {
    %0 = arith.constant dense<1.0> : vector<16xf32>
    // expected-error @below {{has a part 'vector<16xf32>' of 'vector<64x64xbf16>', of which a thread holds 16 elements a row}}
    %t = tile.from_lanes %0, %0 : vector<16xf32>, vector<16xf32> -> vector<64x64xbf16>
  }
}

// -----

tile.kernel @too_many() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(matrix) {
    %0 = arith.constant dense<1.0> : vector<16xbf16>
    // expected-error @below {{has 48 elements of 'vector<64x64xbf16>', of which a thread holds 32}}
    %t = tile.from_lanes %0, %0, %0 : vector<16xbf16>, vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
  }
}

// -----

// A warpgroup holds 64 rows.
tile.kernel @rows() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(matrix) {
    %0 = arith.constant dense<1.0> : vector<16xbf16>
    // expected-error @below {{must be in a role whose threads hold 128 rows}}
    %t = tile.from_lanes %0, %0 : vector<16xbf16>, vector<16xbf16> -> vector<128x64xbf16>
  }
}

// -----

tile.kernel @issuer() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(issuer) {
    %0 = arith.constant dense<1.0> : vector<16xbf16>
    // expected-error @below {{must be in a role whose threads hold 64 rows}}
    %t = tile.from_lanes %0, %0 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
  }
}

// -----

// A thread has a value for each of its two rows.
tile.kernel @put_one(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(matrix) {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    // expected-error @below {{writes elements of 1 rows; a thread holds parts of 2}}
    tile.put %v, %y[%c0] dim 0 : f32, memref<?xf32>
  }
}

// -----

tile.kernel @put_two(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(vector) {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    // expected-error @below {{writes elements of 2 rows; a thread holds parts of 1}}
    tile.put %v and(%v : f32), %y[%c0] dim 0 : f32, memref<?xf32>
  }
}

// -----

tile.kernel @write_part() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %y = tile.channel "y" smem stages(1) : <vector<64x128xbf16>>
  tile.role @r kind(matrix) {
    %0 = arith.constant dense<1.0> : vector<16xbf16>
    %t = tile.from_lanes %0, %0 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    tile.acquire %y : <vector<64x128xbf16>>
    // expected-error @below {{writes a tile of type 'vector<64x64xbf16>' at column 64 of a channel of 'vector<64x128xbf16>'; a tile is written as a whole}}
    tile.write %t, %y[64] : vector<64x64xbf16>, <vector<64x128xbf16>>
    tile.commit %y : <vector<64x128xbf16>>
  }
}

// -----

tile.kernel @combine_half() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  tile.role @r kind(matrix) {
    %x = arith.constant 1.0 : f16
    // expected-error @below {{operand #0 must be 32-bit float or 32-bit signless integer}}
    %y = tile.combine #vector.kind<add>, %x over [1, 2] : f16
  }
}

// -----

func.func @combine_maximum_of_integers(%x: i32) -> i32 {
  // expected-error @below {{combines values of type 'i32' by maximumf, which is not for this type}}
  %y = tile.combine #vector.kind<maximumf>, %x over [1, 2] : i32
  return %y : i32
}

// -----

func.func @combine_unsigned_of_floats(%x: f32) -> f32 {
  // expected-error @below {{combines values of type 'f32' by minui, which is not for this type}}
  %y = tile.combine #vector.kind<minui>, %x over [1, 2] : f32
  return %y : f32
}

// -----

func.func @combine_other_warps(%x: f32) -> f32 {
  // expected-error @below {{has the mask 32; masks are powers of two below 32, the threads of a warp}}
  %y = tile.combine #vector.kind<add>, %x over [1, 32] : f32
  return %y : f32
}

// -----

func.func @combine_two_at_once(%x: f32) -> f32 {
  // expected-error @below {{has the mask 3; masks are powers of two below 32}}
  %y = tile.combine #vector.kind<add>, %x over [3] : f32
  return %y : f32
}

// -----

func.func @combine_nothing(%x: f32) -> f32 {
  // expected-error @below {{has no masks}}
  %y = tile.combine #vector.kind<add>, %x over [] : f32
  return %y : f32
}
