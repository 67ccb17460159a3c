// Work tiles that take equally long go to CTAs that stay; where they differ, the
// longest go first. The decision follows from how the bounds of loops depend on the
// coordinates of the work tile, the order from what the loads in loops depend on.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=auto}))' | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: not fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=best}))' 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: tile-assign-work: there is no schedule 'best'; the schedules are auto, grid, static, lpt, clc

// The keys that rows of a work tile see grow with its first coordinate: it takes
// the longest where that is largest. Work tiles of one head read the same keys, 128
// bytes for each of the Sk rows of k, although each begins with another one.

// CHECK-LABEL: tile.kernel @causal
// AUTO-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432, group_bytes = 128, size = "Sk">
// AUTO-SAME: schedule = #tile.schedule<lpt>
// AUTO: tile.work_tile
tile.kernel @causal(%q: memref<?x?x64xbf16> {tile.name = "q", tile.dims = ["Sq", "H", "64"], tile.output = "partial"},
                    %k: memref<?x?x64xbf16> {tile.name = "k", tile.dims = ["Sk", "H", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 128>, #tile.extent<"H">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %i, %h = tile.work_tile : index, index
  %row = arith.muli %i, %c128 : index
  %end = arith.addi %row, %c128 : index
  %sk = memref.dim %k, %c0 : memref<?x?x64xbf16>
  %keys = arith.minsi %end, %sk : index
  %n = arith.ceildivsi %keys, %c128 : index
  %tq = tile.load %q[%row, %h, %c0] dims [0, 2] : memref<?x?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %left = arith.subi %n, %j : index
    %key = arith.muli %left, %c128 : index
    %tk = tile.load %k[%key, %h, %c0] dims [0, 2] : memref<?x?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
}

// -----

// A kernel that has a plan gets the schedule of its plan.

// CHECK-LABEL: tile.kernel @planned
// AUTO-SAME: order = #tile.order<axis = 0>
// AUTO-SAME: schedule = #tile.schedule<static>
// AUTO: tile.work
tile.kernel @planned(%s: memref<?xf32> {tile.name = "s", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                plan = #tile.plan<schedule = static, mmas = early>} {
  %i = tile.work_tile : index
}

// -----

// Without a plan, work tiles that take equally long keep the grid, and are
// numbered in one dimension where there may be more of them than a grid has CTAs
// along y.

// CHECK-LABEL: tile.kernel @even
// AUTO-SAME: schedule = #tile.schedule<lpt>
tile.kernel @even(%s: memref<?x?xf32> {tile.name = "s", tile.dims = ["M", "N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %i, %j = tile.work_tile : index, index
}

// -----

// CHECK-LABEL: tile.kernel @even_few
// AUTO-NOT: schedule
// AUTO: tile.work_tile
tile.kernel @even_few(%s: memref<?xf32> {tile.name = "s", tile.dims = ["M"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
}

// -----

// Work that falls along an axis is in the right order already; a difference of two
// that both rise is not known, and treated as if it rose.

// CHECK-LABEL: tile.kernel @falling
// AUTO-SAME: order = #tile.order<axis = 0, cache_bytes
// AUTO-SAME: schedule = #tile.schedule<lpt>
tile.kernel @falling(%q: memref<?xf32> {tile.name = "q", tile.dims = ["S"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"S" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %first = arith.muli %i, %c128 : index
  %s = memref.dim %q, %c0 : memref<?xf32>
  scf.for %j = %first to %s step %c128 {
    %t = tile.load %q[%j] : memref<?xf32> -> vector<128xf32>
  }
}

// -----

// CHECK-LABEL: tile.kernel @window
// AUTO-SAME: order = #tile.order<axis = 0, descending = true
// AUTO-SAME: schedule = #tile.schedule<lpt>
tile.kernel @window(%q: memref<?xf32> {tile.name = "q", tile.dims = ["S"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"S" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %before = arith.subi %at, %c512 : index
  %first = arith.maxsi %before, %c0 : index
  %end = arith.addi %at, %c128 : index
  scf.for %j = %first to %end step %c128 {
    %t = tile.load %q[%j] : memref<?xf32> -> vector<128xf32>
  }
}

// -----

// What a kernel says of its schedule stands.

// CHECK-LABEL: tile.kernel @given
// CHECK-SAME: schedule = #tile.schedule<lpt>
tile.kernel @given(%q: memref<?xf32> {tile.name = "q", tile.dims = ["S"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"S" by 128>], schedule = #tile.schedule<lpt>} {
  %i = tile.work_tile : index
}
