// In a program, an exchange is a value like others: it is made once and only if
// it is used, and does not have to be computed in each pass of a loop. It is
// never folded away. In a role, it has effects and stays where it is.
//
// RUN: fa4-opt %s | fa4-opt | FileCheck %s --check-prefix=SAME
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(canonicalize,cse,loop-invariant-code-motion))' | FileCheck %s

// SAME-LABEL: tile.kernel @program
// SAME-COUNT-3: tile.exchange %{{.*}} : vector<128x256xbf16> -> vector<256x128xbf16>
// CHECK-LABEL: tile.kernel @program
// CHECK: %[[OWN:.*]] = arith.addf
// CHECK-NEXT: %[[BOTH:.*]] = tile.exchange %[[OWN]] : vector<128x256xbf16> -> vector<256x128xbf16>
// CHECK-NOT: tile.exchange
// CHECK: scf.for
// CHECK-NOT: tile.exchange
// CHECK: tile.mma transpose %[[BOTH]]
// CHECK: tile.mma transpose %[[BOTH]]
tile.kernel @program(%y: memref<?x256xbf16> {tile.name = "y", tile.dims = ["M", "256"]},
                     %z: memref<256x?xbf16> {tile.name = "z", tile.dims = ["256", "N"]},
                     %r: memref<?x?xf32> {tile.name = "r", tile.dims = ["M", "N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %z, %c1 : memref<256x?xbf16>
  %row = arith.muli %i, %c128 : index
  %ty = tile.load %y[%row, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  %twice = arith.addf %ty, %ty : vector<128x256xbf16>
  %unused = tile.exchange %twice : vector<128x256xbf16> -> vector<256x128xbf16>
  scf.for %j = %c0 to %n step %c64 {
    %a = tile.exchange %twice : vector<128x256xbf16> -> vector<256x128xbf16>
    %b = tile.exchange %twice : vector<128x256xbf16> -> vector<256x128xbf16>
    %tz = tile.load %z[%c0, %j] split(1) : memref<256x?xbf16> -> vector<256x64xbf16>
    %p = tile.mma transpose %a, %tz : vector<256x128xbf16>, vector<256x64xbf16> -> vector<128x64xf32>
    %q = tile.mma transpose %b, %tz acc %p : vector<256x128xbf16>, vector<256x64xbf16> -> vector<128x64xf32>
    tile.store %q, %r[%row, %j] : vector<128x64xf32>, memref<?x?xf32>
  }
}

// SAME-LABEL: tile.kernel @roles
// SAME: tile.channel "own" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(32768)> : <vector<128x256xbf16>>
// CHECK-LABEL: tile.kernel @roles
// CHECK: tile.role @exchange
// CHECK: tile.wait %own
// CHECK-NEXT: tile.exchange
// CHECK-NEXT: tile.commit %both
tile.kernel @roles() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %own = tile.channel "own" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(32768)> : <vector<128x256xbf16>>
  %both = tile.channel "both" smem stages(1) in_place_of(%own : !tile.channel<vector<128x256xbf16>>) place<offset(0) full(2) arrivals(2)> : <vector<256x128xbf16>>
  tile.role @exchange kind(issuer) {
    %v = tile.wait %own : <vector<128x256xbf16>> -> vector<128x256xbf16>
    %w = tile.exchange %v : vector<128x256xbf16> -> vector<256x128xbf16>
    tile.commit %both, %w : <vector<256x128xbf16>>, vector<256x128xbf16>
  }
}
