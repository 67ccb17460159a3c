// What tile-to-nvvm cannot lower, such as a channel without a place, is an
// error on the operation that is the reason.
//
// What tile-to-nvvm itself refuses, where nothing was proven before.
// RUN: fa4-opt %s --tile-to-nvvm=verify=false --allow-unregistered-dialect --split-input-file --verify-diagnostics

// What is in a response is known to tile.response only.
tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16)> : <i128>
  tile.role @r kind(issuer) first_warp(0) {
    // expected-error @below {{must be used by tile.response only, because nothing else knows what is in a response}}
    %v = tile.wait %c : <i128> -> i128
    %w = arith.trunci %v : i128 to i32
  }
}

// -----

tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16)> : <i128>
  tile.role @r kind(issuer) first_warp(0) {
    %v = arith.constant 1 : i128
    // expected-error @below {{commits a value that is no response to a tile.request of the role}}
    tile.commit %c, %v : <i128>, i128
  }
}

// -----

// The tensor map of a store with 'to' has one dimension more than the tensor.
tile.kernel @k(%y: memref<2x2x2x?x64xbf16> {tile.name = "y", tile.dims = ["2", "2", "2", "N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @store kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{'tile.store' op says 'to' of a tensor of more than 4 dimensions; 'to' takes one of TMA's 5, got 5}}
    tile.store %v, %y[%c0, %c0, %c0, %c0, %c0] to(%c0) : vector<128x64xbf16>, memref<2x2x2x?x64xbf16>
  }
}

// -----

tile.kernel @k(%y: memref<?xbf16> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128xbf16>>
  tile.role @store kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128xbf16>> -> vector<128xbf16>
    // expected-error @below {{'tile.store' op says 'to' of a tile of 1 dimension that TMA copies; it must have 2}}
    tile.store %v, %y[%c0] to(%c0) : vector<128xbf16>, memref<?xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has no place (run tile-allocate first)}}
  %c = tile.channel "c" smem stages(1) : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has no 'bytes' that loads put into a stage (run tile-allocate first)}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @r kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r kind(issuer) first_warp(0) {
    // expected-error @below {{is an operation of lanes, but the role is of kind 'issuer': one thread runs it}}
    tile.fence
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has a stage that begins at byte 128 of shared memory, not at a multiple of 1024}}
  %c = tile.channel "c" smem stages(1) place<offset(128) full(0) arrivals(1)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has rows of 16 bytes in shared memory; what a lane has of a row must be a multiple of 32 bytes, the smallest swizzle}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x8xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has elements of 64 bits; elements of 16 and 32 bits are supported}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x8xf64>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{starts with 1 of 2 stages filled; initial() must be 0 or the number of stages}}
  %c = tile.channel "c" smem stages(2) initial(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  // expected-error @below {{ends at column 64 of tensor memory, but the kernel has 32 columns ('tmem_columns')}}
  %c = tile.channel "c" tmem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xf32>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has an empty barrier, but no role waits for the channel}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) empty(1) arrivals(1)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{has no 'first_warp' (run tile-warp-specialize first)}}
  tile.role @r kind(issuer) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @a kind(idle) warps(2) first_warp(0) {
  }
  // expected-error @below {{has warps that belong to another role, too}}
  tile.role @b kind(issuer) first_warp(1) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @a kind(issuer) first_warp(0) registers(48) {
  }
  // expected-error @below {{must have the same register budget as the other roles of its warpgroup: setmaxnreg counts for all of its warps}}
  tile.role @b kind(issuer) first_warp(1) registers(56) {
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @r kind(vector) first_warp(0) {
    // expected-error @below {{must have no result, because the role's lanes read the stage by tile.read (run tile-distribute first)}}
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @r kind(issuer) first_warp(0) {
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{computes with tiles, but the role is of kind 'issuer': one thread starts asynchronous work and computes scalars only}}
    %w = arith.negf %v : vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @r kind(issuer) first_warp(0) {
    %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{must have a result that the role commits to a channel}}
    %s = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<32x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(0) full(1) arrivals(1)> : <vector<32x32xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %v = tile.wait %c : <vector<32x64xbf16>> -> vector<32x64xbf16>
    // expected-error @below {{has M = 32; tcgen05.mma has 64 and 128 rows}}
    %w = tile.mma %v, transpose %v : vector<32x64xbf16>, vector<32x64xbf16> -> vector<32x32xf32>
    tile.commit %s, %w : <vector<32x32xf32>>, vector<32x32xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 64 : i64} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<64x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(0) full(1) arrivals(1)> : <vector<64x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %v = tile.wait %c : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (vector<64x64xf32>) {
      // expected-error @below {{accumulates to a tile that begins with zero in front of the loop; it needs a condition (if) that is false in the first iteration}}
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
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @r kind(vector) first_warp(0) {
    %v = arith.constant dense<1.0> : vector<4xbf16>
    // expected-error @below {{accesses a part of a 16-byte piece of a swizzled row; column and size must be multiples of 16 bytes}}
    tile.write %v, %c : vector<4xbf16>, <vector<128x64xbf16>>
    tile.commit %c : <vector<128x64xbf16>>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @below {{must be in a tile.role to be lowered}}
  %i = tile.work_tile : index
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  tile.role @r kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %part = memref.cast %x : memref<?x64xbf16> to memref<128x64xbf16>
    // expected-error @below {{must access a memref that is an argument of the kernel}}
    %v = tile.load %part[%c0, %c0] : memref<128x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r kind(issuer) first_warp(0) {
    %c2 = arith.constant 2 : index
    // expected-error @below {{asks for the size of dimension 2 of a tensor of 2 dimensions}}
    %n = memref.dim %x, %c2 : memref<?x64xbf16>
  }
}

// -----

// An MMA of a pair has 64 or 128 rows in each CTA.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<32x64xbf16>>
  %b = tile.channel "b" smem stages(1) split(1) place<offset(8192) full(1) arrivals(1)> : <vector<64x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(0) full(2) arrivals(1)> : <vector<32x64xf32>>
  tile.role @r kind(issuer) first_warp(0) leader {
    %va = tile.wait %a : <vector<32x64xbf16>> -> vector<32x64xbf16>
    %vb = tile.wait %b : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{has M = 32 in each CTA of a pair and N = 64; tcgen05.mma of a pair has 64 or 128 rows in each, and multiples of 32 columns}}
    %m = tile.mma %va, %vb : vector<32x64xbf16>, vector<64x64xbf16> -> vector<32x64xf32>
    tile.commit %s, %m : <vector<32x64xf32>>, vector<32x64xf32>
  }
}

// -----

tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" tmem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<64x64xbf16>>
  %b = tile.channel "b" smem stages(1) split(1) place<offset(8192) full(1) arrivals(1)> : <vector<64x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(64) full(2) arrivals(1)> : <vector<64x64xf32>>
  tile.role @r kind(issuer) first_warp(0) leader {
    %va = tile.wait %a : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %vb = tile.wait %b : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{has an A of 64 rows in tensor memory, where lanes have half a row each; tcgen05.mma of a pair reads such an A from shared memory}}
    %m = tile.mma %va, %vb : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
    tile.commit %s, %m : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

// A part of a tile is stored in boxes of the tensor map, 32 columns here.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x64xf32>>
  tile.role @store kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128x64xf32>> -> vector<128x64xf32>
    %p = vector.extract_strided_slice %v {offsets = [0, 16], sizes = [128, 32], strides = [1, 1]} : vector<128x64xf32> to vector<128x32xf32>
    // expected-error @below {{stores columns 16 to 47 of a tile; they must begin and end at a multiple of 32, the span of the swizzle}}
    tile.store %p, %y[%c0, %c0] : vector<128x32xf32>, memref<?x64xf32>
  }
}

// -----

tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 64>]} {
  // expected-error @below {{exchanges a tile of 64 rows, of which each lane has half a row: not supported}}
  %c = tile.channel "c" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(4096)> : <vector<64x64xbf16>>
  tile.role @lanes kind(vector) first_warp(0) {
    %v = arith.constant dense<1.0> : vector<32xbf16>
    tile.write %v, %c : vector<32xbf16>, <vector<64x64xbf16>>
    tile.commit %c : <vector<64x64xbf16>>
  }
}

// -----

// The leader's threads write into the memory of their own CTA, and arrive at one barrier.
tile.kernel @leader_writes() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1)> : <i32>
  tile.role @mma kind(issuer) first_warp(0) leader {
    %c1 = arith.constant 1 : i32
    // expected-error @+1 {{commits a stage that threads of the leader write to roles of all CTAs of a cluster; only MMAs and requests write to all of them}}
    tile.commit %c, %c1 : <i32>, i32
  }
  tile.role @lanes kind(vector) first_warp(4) {
    %v = tile.wait %c : <i32> -> i32
  }
}

// -----

tile.kernel @leader_frees() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(256) empty(1) arrivals(1)> : <i32>
  tile.role @mma kind(issuer) first_warp(0) leader {
    %v = tile.wait %c : <i32> -> i32
    // expected-error @+1 {{frees stages of all CTAs of a cluster, but no MMA of the role reads the channel}}
    tile.release %c : <i32>
  }
  tile.role @lanes kind(vector) first_warp(4) {
    %c1 = arith.constant 1 : i32
    tile.acquire %c : <i32>
    tile.commit %c, %c1 : <i32>, i32
  }
}

// -----

// What upstream knows of a memref, a kernel knows of its parameters only.
tile.kernel @rank(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r kind(vector) first_warp(0) {
    // expected-error @below {{'memref.rank' op takes a tensor of the kernel, which only memref.dim and operations of the tile dialect can}}
    %rank = memref.rank %x : memref<?xf32>
  }
}

// -----

tile.kernel @carried(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r kind(vector) first_warp(0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%z = %x) -> memref<?xf32> {
      // expected-error @below {{'scf.yield' op takes a tensor of the kernel}}
      scf.yield %z : memref<?xf32>
    }
  }
}

// -----

// Nobody knows the dialect of this operation.
tile.kernel @unregistered(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @r kind(vector) first_warp(0) {
    // expected-error @below {{failed to legalize operation 'foo.number'}}
    %number = "foo.number"() : () -> i32
  }
}

// -----

// An MMA reads its B from shared memory.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  %t = tile.channel "t" tmem stages(1) place<offset(0) full(1) arrivals(1)> : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(32) full(2) arrivals(1)> : <vector<128x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vt = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %rows = vector.extract_strided_slice %vt {offsets = [0, 0], sizes = [64, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<64x64xbf16>
    // expected-error @below {{has its B in tensor memory, where only A can be}}
    %m = tile.mma %va, %rows : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
    tile.commit %s, %m : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// Tensor memory has the rows of A in its lanes, and cannot be read by columns.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  %t = tile.channel "t" tmem stages(1) place<offset(0) full(1) arrivals(1)> : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(64) full(2) arrivals(1)> : <vector<128x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vt = tile.wait %t : <vector<128x128xbf16>> -> vector<128x128xbf16>
    // expected-error @below {{has a transposed A in tensor memory, which tcgen05.mma can only read row by row}}
    %m = tile.mma transpose %vt, %va : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    tile.commit %s, %m : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// A swizzle pattern has 8 rows.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) place<offset(16384) full(1) arrivals(1)> : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(64) full(2) arrivals(1)> : <vector<128x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %rows = vector.extract_strided_slice %vb {offsets = [4, 0], sizes = [64, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<64x64xbf16>
    // expected-error @below {{has as operand a part of a tile that begins at row 4; it must begin at a multiple of 8, where a swizzle pattern does}}
    %m = tile.mma %va, %rows : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
    tile.commit %s, %m : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// Along K, an instruction takes 32 bytes of a row.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) place<offset(16384) full(1) arrivals(1)> : <vector<64x16xbf16>>
  %s = tile.channel "s" tmem stages(1) place<offset(64) full(2) arrivals(1)> : <vector<128x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vb = tile.wait %b : <vector<64x16xbf16>> -> vector<64x16xbf16>
    %columns = vector.extract_strided_slice %va {offsets = [0, 8], sizes = [128, 16], strides = [1, 1]} : vector<128x64xbf16> to vector<128x16xbf16>
    // expected-error @below {{has as operand a part of a tile that begins 16 bytes into a row; it must begin at a multiple of 32 bytes}}
    %m = tile.mma %columns, transpose %vb : vector<128x16xbf16>, vector<64x16xbf16> -> vector<128x64xf32>
    tile.commit %s, %m : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// The tensor core writes a result to tensor memory.
tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 128 : i64} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) place<offset(16384) full(1) arrivals(1)> : <vector<64x64xbf16>>
  %s = tile.channel "s" smem stages(1) place<offset(32768) full(2) arrivals(1)> : <vector<128x64xf32>>
  tile.role @r kind(issuer) first_warp(0) {
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vb = tile.wait %b : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{is committed to channel "s" in shared memory; its result must lie in tensor memory (tmem)}}
    %m = tile.mma %va, transpose %vb : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
    tile.commit %s, %m : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// A copy has the rows of a whole tile.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 64 : i64} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x64xf32>>
  tile.role @store kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128x64xf32>> -> vector<128x64xf32>
    %p = vector.extract_strided_slice %v {offsets = [64, 0], sizes = [64, 64], strides = [1, 1]} : vector<128x64xf32> to vector<64x64xf32>
    // expected-error @below {{stores 64 rows from row 64 of a tile; it must store all 128 rows}}
    tile.store %p, %y[%c0, %c0] : vector<64x64xf32>, memref<?x64xf32>
  }
}

// -----

// The copy engine does not read tensor memory.
tile.kernel @k(%y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 64 : i64} {
  %c = tile.channel "c" tmem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x64xf32>>
  tile.role @store kind(issuer) first_warp(0) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128x64xf32>> -> vector<128x64xf32>
    // expected-error @below {{stores a tile of channel "c" in tensor memory; TMA reads shared memory (smem)}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
  }
}
