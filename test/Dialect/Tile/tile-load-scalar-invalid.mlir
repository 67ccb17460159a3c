// What tile.load_scalar reads does not change while the kernel runs.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @outside(%x: memref<?xi32>, %i: index) -> i32 {
  // expected-error @below {{'tile.load_scalar' op must read an argument of a tile.kernel, which does not change while the kernel runs}}
  %n = tile.load_scalar %x[%i] : memref<?xi32>
  return %n : i32
}

// -----

tile.kernel @rank(%x: memref<?x?xi32> {tile.name = "x", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_scalar' op needs 2 indices, one a dimension}}
  %n = tile.load_scalar %x[%i] : memref<?x?xi32>
}

// -----

tile.kernel @type(%x: memref<?xi16> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %i = tile.work_tile : index
  // expected-error @below {{result #0 must be 32-bit float or bfloat16 type or 16-bit float or 32-bit signless integer or 64-bit signless integer, but got 'i16'}}
  %n = tile.load_scalar %x[%i] : memref<?xi16>
}

// -----

tile.kernel @stored(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_scalar' op reads 'x', to which the kernel writes: roles read a scalar at any time, so its tensor must not change}}
  %n = tile.load_scalar %x[%i] : memref<?xf32>
  %row = vector.broadcast %n : f32 to vector<128xf32>
  // expected-note @below {{it is written here}}
  tile.store %row, %x[%i] : vector<128xf32>, memref<?xf32>
}

// -----

tile.kernel @added(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_scalar' op reads 'x', to which the kernel writes}}
  %n = tile.load_scalar %x[%i] : memref<?xf32>
  %row = vector.broadcast %n : f32 to vector<128xf32>
  // expected-note @below {{it is written here}}
  tile.reduce_add %row, %x[%i] : vector<128xf32>, memref<?xf32>
}

// -----

// In one role, a put of another one.
tile.kernel @put(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    // expected-note @below {{it is written here}}
    tile.put %v, %x[%c0] dim 0 : f32, memref<?xf32>
  }
  tile.role @other kind(vector) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'tile.load_scalar' op reads 'x', to which the kernel writes}}
    %n = tile.load_scalar %x[%c0] : memref<?xf32>
  }
}

// -----

tile.kernel @output(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  // expected-error @below {{'tile.load_scalar' op reads 'x', which is an output ('tile.output')}}
  %n = tile.load_scalar %x[%i] : memref<?xf32>
}
