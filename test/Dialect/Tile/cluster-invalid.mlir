// What a cluster cannot be is an error of the verifier or of the pass that
// cannot take it, and a kernel whose CTAs would wait for each other forever, or
// not long enough, is not proven.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=lpt}))' --verify-diagnostics

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

// expected-error @+1 {{has a cluster and the schedule 'lpt'; clusters work on the tiles of a 'grid' only}}
tile.kernel @schedule(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">], schedule = #tile.schedule<lpt>, cluster = #tile.cluster<size = 2, axis = 0>} {
}

// -----

// expected-error @+1 {{has a cluster, which works on the tiles of a 'grid': the schedule 'lpt' is not possible}}
tile.kernel @assigned(%x: memref<?xf32> {tile.name = "x", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M">], cluster = #tile.cluster<size = 2, axis = 0>} {
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
