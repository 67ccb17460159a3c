// Loops whose bounds may be wider than a work tile needs make the passes of both CTAs in a pair. CTAs that work alone make their own.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on}))' --verify-diagnostics | FileCheck %s
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=off}))' | FileCheck %s --check-prefix=OFF
// RUN: fa4-opt %s --split-input-file --canonicalize | FileCheck %s --check-prefix=SAME

// Blocks from i + 5 up to i + 9 at most: together, the pair of 2 p and 2 p + 1 works on those from 2 p + 5 to 2 p + 10.
// CHECK-LABEL: tile.kernel @window
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK: %[[I:.*]] = tile.work_tile
// CHECK: %[[PAIR:.*]] = arith.divui %[[I]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.muli %[[PAIR]], %{{.*}}
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]]
// CHECK: %[[LOWER0:.*]] = arith.addi %[[FIRST]]
// CHECK: %[[LOWER1:.*]] = arith.addi %[[SECOND]]
// CHECK: %[[LOWER:.*]] = arith.minsi %[[LOWER0]], %[[LOWER1]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]]
// CHECK: %[[UPPER0:.*]] = arith.addi %[[FIRST]]
// CHECK: %[[UPPER1:.*]] = arith.addi %[[SECOND]]
// CHECK: %[[UPPER:.*]] = arith.maxsi %[[UPPER0]], %[[UPPER1]]
// CHECK: scf.for %{{.*}} = %[[LOWER]] to %[[UPPER]]
// OFF-LABEL: tile.kernel @window
// OFF-NOT: cluster
// OFF: %[[I:.*]] = tile.work_tile
// OFF: %[[LOWER:.*]] = arith.addi %[[I]], %c5
// OFF: %[[UPPER:.*]] = arith.addi %[[I]], %c9
// OFF: scf.for %{{.*}} = %[[LOWER]] to %[[UPPER]]
// OFF-NOT: at_
tile.kernel @window(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["M", "64"]},
                    %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c128 : index
  %lower = arith.addi %i, %c5 : index
  %begin = tile.at_most %lower
  %upper = arith.addi %i, %c9 : index
  %end = tile.at_least %upper
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %block = %begin to %end step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %j = arith.muli %block, %c128 : index
    %tk = tile.load %k[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %sum, %o[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// A bound that is the same in all work tiles is that of the pair; a constant is no matter of passes.
// CHECK-LABEL: tile.kernel @same
// CHECK: %[[N:.*]] = arith.ceildivsi
// CHECK: scf.for %{{.*}} = %c0 to %[[N]]
// SAME-LABEL: tile.kernel @same
// SAME-NOT: at_most
// SAME: tile.at_least
tile.kernel @same(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                  %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["M", "64"]},
                  %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c128 : index
  %m = memref.dim %k, %c0 : memref<?x64xbf16>
  %n = arith.ceildivsi %m, %c128 : index
  %begin = tile.at_most %c0
  %end = tile.at_least %n
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %block = %begin to %end step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %j = arith.muli %block, %c128 : index
    %tk = tile.load %k[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %sum, %o[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Coordinates in a branch come to the top, where those of the pair are computed from them.
// CHECK-LABEL: tile.kernel @nested
// CHECK: %[[I:.*]] = tile.work_tile
// CHECK: arith.divui %[[I]]
// CHECK: scf.if
// CHECK: tile.work_tile
// CHECK: %[[END:.*]] = arith.maxsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
// OFF-LABEL: tile.kernel @nested
// OFF: scf.if
// OFF: tile.work_tile
// OFF: tile.work_tile
// SAME-LABEL: tile.kernel @nested
tile.kernel @nested(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["M", "64"]},
                    %v: memref<?x128xf32> {tile.name = "v", tile.dims = ["M", "128"]},
                    %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %m = memref.dim %q, %c0 : memref<?x64xbf16>
  %isLong = arith.cmpi sgt, %m, %c128 : index
  %start = scf.if %isLong -> vector<128x128xf32> {
    %j = tile.work_tile : index
    %first = arith.muli %j, %c128 : index
    %tv = tile.load %v[%first, %c0] : memref<?x128xf32> -> vector<128x128xf32>
    scf.yield %tv : vector<128x128xf32>
  } else {
    scf.yield %zero : vector<128x128xf32>
  }
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %n = arith.addi %i, %c1 : index
  %end = tile.at_least %n
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %block = %c0 to %end step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %col = arith.muli %block, %c128 : index
    %tk = tile.load %k[%col, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  %out = arith.addf %sum, %start : vector<128x128xf32>
  tile.store %out, %o[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}
