// The verifier recomputes what completes each barrier: arrivals, bytes, and
// fences between lanes and the copy engine. A count that is off by one must be
// found although the channels are used in the right order.
//
// RUN: fa4-opt %s --tile-verify-protocol --split-input-file --verify-diagnostics
// What completes a phase of barriers, and fences: a copy through lanes, placed and distributed.

// Nothing is wrong.
tile.kernel @right(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// One arrival too many: the wait never ends.
tile.kernel @full_many(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  // expected-error @below {{channel "in" has arrivals(2) a phase of its full barriers, expected arrivals(1): @load 1}}
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(2) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// One of all lanes too few: the wait ends early.
tile.kernel @full_few(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" has arrivals(127) a phase of its full barriers, expected arrivals(128): @compute 128}}
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(127) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// One of all lanes that release.
tile.kernel @empty_few(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  // expected-error @below {{channel "in" has arrivals(1) a phase of its empty barriers, expected arrivals(128): @compute 128}}
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(1)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Half of the bytes.
tile.kernel @half(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  // expected-error @below {{channel "in" has bytes(8192) a phase of its full barriers, expected bytes(16384): 1 box of 128 rows of 128 bytes}}
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(8192) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Bytes that nobody counts.
tile.kernel @no_bytes(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  // expected-error @below {{channel "in" has no 'bytes' a phase of its full barriers, expected bytes(16384): 1 box of 128 rows of 128 bytes}}
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Bytes that nobody loads.
tile.kernel @lane_bytes(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" has bytes(16384) a phase of its full barriers, expected no 'bytes': no TMA load fills it}}
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) bytes(16384) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// A fence is missing.
tile.kernel @no_fence(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    // expected-note @below {{the write}}
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the asynchronous read}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Before the write.
tile.kernel @early_fence(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.fence
    // expected-note @below {{the write}}
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the asynchronous read}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Behind the commit.
tile.kernel @late_fence(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    // expected-note @below {{the write}}
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
    tile.commit %out : <vector<128x64xbf16>>
    tile.fence
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the asynchronous read}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// On one of two paths.
tile.kernel @one_branch(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %c0 : index
    // expected-note @below {{the write}}
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    scf.if %first {
      tile.fence
    }
    // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the asynchronous read}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// On both paths: right.
tile.kernel @both_branches(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %c0 : index
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    scf.if %first {
      tile.fence
    } else {
      tile.fence
    }
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// A loop of no passes fences nothing.
tile.kernel @a_loop(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %c0 : index
    // expected-note @below {{the write}}
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    scf.for %j = %c0 to %i step %i {
      tile.fence
    }
    // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
    tile.commit %out : <vector<128x64xbf16>>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the asynchronous read}}
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// Capacity is checked of distributed roles, too.
tile.kernel @registers(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xbf16>>
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    tile.wait %in : <vector<128x64xbf16>>
    %v = tile.read %in : <vector<128x64xbf16>> -> vector<64xbf16>
    tile.release %in : <vector<128x64xbf16>>
    tile.acquire %out : <vector<128x64xbf16>>
    tile.write %v, %out : vector<64xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %out : <vector<128x64xbf16>>
  }
  // expected-error @below {{@store has 56 registers in warpgroup 1, whose other warps have 48}}
  tile.role @store kind(issuer) first_warp(5) registers(56) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    tile.release %out : <vector<128x64xbf16>>
  }
}

// -----

// The second pass commits what the first one has written behind its fence.
tile.kernel @next_pass(%y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %out = tile.channel "out" smem stages(1) : <vector<128x64xbf16>>
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %y, %c0 : memref<?x64xbf16>
    %w = arith.constant dense<1.0> : vector<64xbf16>
    tile.acquire %out : <vector<128x64xbf16>>
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{channel "out": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage}}
      tile.commit %out : <vector<128x64xbf16>>
      tile.acquire %out : <vector<128x64xbf16>>
      // expected-note @below {{the write}}
      tile.write %w, %out : vector<64xbf16>, <vector<128x64xbf16>>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %y, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
      // expected-note @below {{the asynchronous read}}
      tile.store %v, %y[%i, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      tile.release %out : <vector<128x64xbf16>>
    }
  }
}

// -----

// PTX ISA, mbarrier: counts from 1 to 2^20 - 1.
tile.kernel @zero() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{has arrivals(0), not from 1 to 1048575}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(0)> : <vector<128xf32>>
}

// -----

tile.kernel @too_many() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{has bytes(1048576), not from 1 to 1048575}}
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(1048576)> : <vector<128xf32>>
}
