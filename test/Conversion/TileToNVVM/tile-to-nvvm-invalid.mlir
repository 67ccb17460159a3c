// What tile-to-nvvm itself refuses, where nothing was proven before.
// RUN: fa4-opt %s --tile-to-nvvm=verify=false --split-input-file --verify-diagnostics

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{is not placed: it needs 'offset' and 'full' (tile-allocate)}}
  %c = tile.channel "c" smem stages(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{does not say how many 'arrivals' complete a phase of its 'full' barriers (tile-allocate)}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{does not say how many 'arrivals' complete a phase of its 'empty' barriers (tile-allocate)}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) empty(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{does not say how many 'bytes' loads put into a stage (tile-allocate)}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x64xbf16>>
  tile.role @r warps(1) issue first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r warps(1) issue first_warp(0) {
    // expected-error @below {{is in a role that only issues}}
    tile.fence
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{must have its stages at multiples of 1024 bytes}}
  %c = tile.channel "c" smem stages(1) offset(128) full(0) arrivals(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has rows that are no multiple of 32 bytes in shared memory}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x8xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has elements of 64 bits; only 16 and 32 can be lowered}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x8xf64>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{starts with 1 of 2 values; only none or all can be lowered}}
  %c = tile.channel "c" smem stages(2) initial(1) offset(0) full(0) arrivals(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  // expected-error @below {{ends behind the 32 columns of tensor memory of the kernel}}
  %c = tile.channel "c" tmem stages(1) offset(0) full(0) arrivals(1) : <vector<128x64xf32>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{is acquired, but nobody consumes it}}
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) empty(1) arrivals(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has no 'first_warp'}}
  tile.role @r warps(1) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @a warps(2) first_warp(0) {
  }
  // expected-error @below {{has warps of another role}}
  tile.role @b warps(1) first_warp(1) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @a warps(1) first_warp(0) registers(48) {
  }
  // expected-error @below {{has another register budget than a role of the same warpgroup}}
  tile.role @b warps(1) first_warp(1) registers(56) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x64xbf16>>
  tile.role @r warps(4) first_warp(0) {
    // expected-error @below {{must not have a result in a role of lanes (tile-distribute)}}
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x64xbf16>>
  tile.role @r warps(1) issue first_warp(0) {
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{computes with tiles in a role that only issues}}
    %w = arith.negf %v : vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<128x64xbf16>>
  tile.role @r warps(1) issue first_warp(0) {
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{must be in a role that issues, and its result be committed there}}
    %s = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<32x64xbf16>>
  %s = tile.channel "s" tmem stages(1) offset(0) full(1) arrivals(1) : <vector<32x32xf32>>
  tile.role @r warps(1) issue first_warp(0) {
    %v = tile.wait %c : <vector<32x64xbf16>> -> vector<32x64xbf16>
    // expected-error @below {{has M = 32; only 64 and 128 can be issued}}
    %w = tile.mma %v, transpose %v : vector<32x64xbf16>, vector<32x64xbf16> -> vector<32x32xf32>
    tile.commit %s, %w : <vector<32x32xf32>>, vector<32x32xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 64 : i64} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) : <vector<64x64xbf16>>
  %s = tile.channel "s" tmem stages(1) offset(0) full(1) arrivals(1) : <vector<64x64xf32>>
  tile.role @r warps(1) issue first_warp(0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %v = tile.wait %c : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (vector<64x64xf32>) {
      // expected-error @below {{accumulates to a loop's tile that begins with zero: needs a condition}}
      %w = tile.mma %v, %v acc %a : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
      scf.yield %w : vector<64x64xf32>
    }
    tile.commit %s, %r : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(128) : <vector<128x64xbf16>>
  tile.role @r warps(4) first_warp(0) {
    %v = arith.constant dense<1.0> : vector<4xbf16>
    // expected-error @below {{accesses a part of 16 bytes of a swizzled row}}
    tile.write %v, %c : vector<4xbf16>, <vector<128x64xbf16>>
    tile.commit %c : <vector<128x64xbf16>>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{must be in a role to be lowered}}
  %i = tile.work_tile : index
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) offset(0) full(0) arrivals(1) bytes(16384) : <vector<128x64xbf16>>
  tile.role @r warps(1) issue first_warp(0) {
    %c0 = arith.constant 0 : index
    %part = memref.cast %x : memref<?x64xbf16> to memref<128x64xbf16>
    // expected-error @below {{must access an argument of the kernel}}
    %v = tile.load %part[%c0, %c0] : memref<128x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r warps(1) issue first_warp(0) {
    %c2 = arith.constant 2 : index
    // expected-error @below {{asks for size 2 of a tensor of 2 dimensions}}
    %n = memref.dim %x, %c2 : memref<?x64xbf16>
  }
}
