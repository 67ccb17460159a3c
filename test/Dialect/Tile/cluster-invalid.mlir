// What a cluster cannot be is an error of the verifier or of the pass that
// cannot take it, and a kernel whose CTAs would wait for each other forever, or
// not long enough, is not proven.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-allocate))' --verify-diagnostics

// expected-error @+1 {{has a cluster of 4 CTAs; an MMA is one of 2 CTAs}}
tile.kernel @size(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">], cluster = #tile.cluster<size = 4, axis = 0>} {
}

// -----

// expected-error @+1 {{has clusters along axis 1, but the grid has 1 extents}}
tile.kernel @axis(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">], cluster = #tile.cluster<size = 2, axis = 1>} {
}

// -----

// The CTAs of a cluster would have other work tiles each.
tile.kernel @asks(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">], schedule = #tile.schedule<clc>, cluster = #tile.cluster<size = 2, axis = 0>} {
  %next = tile.channel "next" smem stages(1) : <i128>
  tile.role @request kind(issuer) {
    tile.work (%i) {
      tile.acquire %next : <i128>
      // expected-error @+1 {{is one of a cluster, so it must be in a role of the 'leader'}}
      %asked = tile.request : i128
      tile.commit %next, %asked : <i128>, i128
      %response = tile.wait %next : <i128> -> i128
      tile.release %next : <i128>
      %number = tile.response %response : i128
      tile.next %number
    }
  }
}

// -----

// A value of each CTA: the leader would wait for those of both at its barrier, the other role for its own.
tile.kernel @mixed(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{is on one side used by a role of the leader and by one that all CTAs of the cluster run: not supported}}
  %c = tile.channel "c" smem stages(1) : <i32>
  tile.role @compute kind(vector) {
    %c1 = arith.constant 1 : i32
    tile.acquire %c : <i32>
    tile.commit %c, %c1 : <i32>, i32
  }
  tile.role @mma kind(issuer) leader {
    %v = tile.wait %c : <i32> -> i32
    tile.release %c : <i32>
  }
  tile.role @load kind(issuer) {
    %v = tile.wait %c : <i32> -> i32
    tile.release %c : <i32>
  }
}

// -----

tile.kernel @alone(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{says 'split', but is in no kernel with a cluster}}
  %c = tile.channel "c" smem stages(1) split(0) : <vector<128x64xbf16>>
}

// -----

tile.kernel @odd(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{splits 127 rows or columns over 2 CTAs}}
  %c = tile.channel "c" smem stages(1) split(0) : <vector<127x64xbf16>>
}

// -----

tile.kernel @tmem(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{is split over CTAs, but lives in tensor memory}}
  %c = tile.channel "c" tmem stages(1) split(0) : <vector<128x64xbf16>>
}

// -----

tile.kernel @leader(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{is one of the leader, but the kernel has no cluster}}
  tile.role @mma kind(issuer) leader {
  }
}

// -----

tile.kernel @loads(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) leader {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{is done by each CTA of a cluster for itself}}
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

func.func @function(%x: vector<128x256xbf16>) -> vector<256x128xbf16> {
  // expected-error @+1 {{is in no kernel with a cluster, whose CTAs could exchange tiles}}
  %y = tile.exchange %x : vector<128x256xbf16> -> vector<256x128xbf16>
  return %y : vector<256x128xbf16>
}

// -----

tile.kernel @shape(%x: memref<?x256xbf16> {tile.name = "x", tile.dims = ["M", "256"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  // expected-error @+1 {{must have a result of 2 times the rows and 1/2 of the columns of 'vector<128x256xbf16>', not 'vector<128x256xbf16>'}}
  %y = tile.exchange %v : vector<128x256xbf16> -> vector<128x256xbf16>
}

// -----

tile.kernel @stored(%x: memref<?x256xbf16> {tile.name = "x", tile.dims = ["M", "256"]},
                    %y: memref<?x128xbf16> {tile.name = "y", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  // expected-error @+1 {{gives rows of all CTAs to 'tile.store'; only MMAs take them, as their A}}
  %w = tile.exchange %v : vector<128x256xbf16> -> vector<256x128xbf16>
  tile.store %w, %y[%c0, %c0] : vector<256x128xbf16>, memref<?x128xbf16>
}

// -----

tile.kernel @alone() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{says 'exchange', but the kernel has no cluster}}
  %c = tile.channel "c" smem stages(1) exchange : <vector<128x64xbf16>>
}

// -----

tile.kernel @rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{must be one of matrices with an even number of columns in shared memory, not of 'vector<128xbf16>'}}
  %c = tile.channel "c" smem stages(1) exchange : <vector<128xbf16>>
}

// -----

tile.kernel @both() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{says both 'exchange' and 'split', which exclude each other}}
  %c = tile.channel "c" smem stages(1) split(1) exchange : <vector<128x64xbf16>>
}

// -----

tile.kernel @landed() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{has 'landed' barriers, but nothing comes from another CTA without 'exchange'}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) landed(1) arrivals(1) bytes(16)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @not_landed() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{says 'exchange', so its place must have 'landed' barriers for what comes from the other CTA}}
  %c = tile.channel "c" smem stages(1) exchange place<offset(0) full(0) arrivals(1)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @no_bytes() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{a place has 'landed' barriers without the 'bytes' that come from the other CTA}}
  %c = tile.channel "c" smem stages(1) exchange place<offset(0) full(0) arrivals(1) landed(1) arrivals(1)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @counted() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  // expected-error @+1 {{has bytes(1048576), not from 1 to 1048575}}
  %c = tile.channel "c" smem stages(1) exchange place<offset(0) full(0) arrivals(1) landed(1) arrivals(1) bytes(1048576)> : <vector<128x64xbf16>>
}

// -----

tile.kernel @other_use() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) exchange : <vector<128x128xbf16>>
  %r = tile.channel "r" tmem stages(1) : <vector<128x128xf32>>
  tile.role @mma kind(issuer) leader {
    // expected-error @+1 {{gives a tile of a channel with 'exchange' to 'tile.mma'; only tile.exchange takes it}}
    %v = tile.wait %c : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %x = tile.mma %v, %v : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %r, %x : <vector<128x128xf32>>, vector<128x128xf32>
  }
}

// -----

tile.kernel @other_source() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) : <vector<128x128xbf16>>
  tile.role @exchange kind(issuer) {
    %v = tile.wait %c : <vector<128x128xbf16>> -> vector<128x128xbf16>
    // expected-error @+1 {{takes a tile that is not the value of a channel with 'exchange'}}
    %w = tile.exchange %v : vector<128x128xbf16> -> vector<256x64xbf16>
  }
}

// -----

tile.kernel @other_place() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) exchange : <vector<128x128xbf16>>
  %d = tile.channel "d" smem stages(1) : <vector<256x64xbf16>>
  tile.role @exchange kind(issuer) {
    %v = tile.wait %c : <vector<128x128xbf16>> -> vector<128x128xbf16>
    // expected-error @+1 {{gives a tile that is not committed to a channel in place of 'c'}}
    %w = tile.exchange %v : vector<128x128xbf16> -> vector<256x64xbf16>
    tile.commit %d, %w : <vector<256x64xbf16>>, vector<256x64xbf16>
  }
}

// -----

// A stage has room for half of what lanes write.
tile.kernel @lanes_write(%y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) split(1) : <vector<128x64xbf16>>
  tile.role @lanes kind(vector) {
    %v = arith.constant dense<1.0> : vector<64xbf16>
    tile.write %v, %c : vector<64xbf16>, <vector<128x64xbf16>>
    // expected-error @+1 {{commits to a channel with split(1), so its value must come from a tile.load with split(1), got what lanes have written}}
    tile.commit %c : <vector<128x64xbf16>>
  }
}

// -----

tile.kernel @lanes_commit(%y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) split(1) : <vector<128x64xbf16>>
  tile.role @lanes kind(vector) {
    %v = arith.constant dense<1.0> : vector<128x64xbf16>
    // expected-error @+1 {{commits to a channel with split(1), so its value must come from a tile.load with split(1), got 'arith.constant'}}
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
}

// -----

// Each CTA has half of the tile that its lanes read.
tile.kernel @lanes_read(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %c = tile.channel "c" smem stages(1) split(0) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] split(0) : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %c, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @lanes kind(vector) {
    // expected-error @+1 {{is in a role that each CTA of a cluster runs for itself, but has only a part of the tile there ('split')}}
    tile.wait %c : <vector<128x64xbf16>>
    %v = tile.read %c : <vector<128x64xbf16>> -> vector<64xbf16>
  }
}
