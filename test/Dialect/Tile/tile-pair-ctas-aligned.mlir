// A kernel on pairs of CTAs may store a number for each row to a tensor whose size is up
// to a multiple of rows: a CTA without a work tile, which begins behind the last row at a
// multiple of that, is behind its end.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on}))' --verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @aligned(
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
tile.kernel @aligned(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                     %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                     %s: memref<?xf32> {tile.name = "S", tile.dims = ["align(M, 128)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %row = arith.muli %i, %c256 : index
  %next = arith.addi %row, %c128 : index
  %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
  %t0 = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %x0 = tile.mma %t0, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s0 = vector.multi_reduction <add>, %x0, %zero [1] : vector<128x128xf32> to vector<128xf32>
  %t1 = tile.load %a[%next, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %x1 = tile.mma %t1, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s1 = vector.multi_reduction <add>, %x1, %zero [1] : vector<128x128xf32> to vector<128xf32>
  tile.store %s0, %s[%row] : vector<128xf32>, memref<?xf32>
  tile.store %s1, %s[%next] : vector<128xf32>, memref<?xf32>
}

// -----

// CHECK-LABEL: tile.kernel @aligned_static(
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
tile.kernel @aligned_static(%a: memref<300x64xbf16> {tile.name = "A", tile.dims = ["300", "64"]},
                     %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                     %s: memref<384xf32> {tile.name = "S", tile.dims = ["384"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"300" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %row = arith.muli %i, %c256 : index
  %next = arith.addi %row, %c128 : index
  %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
  %t0 = tile.load %a[%row, %c0] : memref<300x64xbf16> -> vector<128x64xbf16>
  %x0 = tile.mma %t0, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s0 = vector.multi_reduction <add>, %x0, %zero [1] : vector<128x128xf32> to vector<128xf32>
  %t1 = tile.load %a[%next, %c0] : memref<300x64xbf16> -> vector<128x64xbf16>
  %x1 = tile.mma %t1, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s1 = vector.multi_reduction <add>, %x1, %zero [1] : vector<128x128xf32> to vector<128xf32>
  tile.store %s0, %s[%row] : vector<128xf32>, memref<384xf32>
  tile.store %s1, %s[%next] : vector<128xf32>, memref<384xf32>
}

// -----

// The last place of 512 may be one that the other CTA, without rows, would write.
// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @aligned_further(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                     %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                     %s: memref<?xf32> {tile.name = "S", tile.dims = ["align(M, 512)"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %row = arith.muli %i, %c256 : index
  %next = arith.addi %row, %c128 : index
  %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
  %t0 = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %x0 = tile.mma %t0, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s0 = vector.multi_reduction <add>, %x0, %zero [1] : vector<128x128xf32> to vector<128xf32>
  %t1 = tile.load %a[%next, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %x1 = tile.mma %t1, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s1 = vector.multi_reduction <add>, %x1, %zero [1] : vector<128x128xf32> to vector<128xf32>
  // expected-note @+1 {{'tile.store' does not write behind the end of its tensor where a CTA of a pair has no work tile}}
  tile.store %s0, %s[%row] : vector<128xf32>, memref<?xf32>
  tile.store %s1, %s[%next] : vector<128xf32>, memref<?xf32>
}

// -----

// expected-error @+1 {{'tile.kernel' op cannot be run by pairs of CTAs}}
tile.kernel @aligned_static_further(%a: memref<300x64xbf16> {tile.name = "A", tile.dims = ["300", "64"]},
                     %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                     %s: memref<1024xf32> {tile.name = "S", tile.dims = ["1024"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"300" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %row = arith.muli %i, %c256 : index
  %next = arith.addi %row, %c128 : index
  %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
  %t0 = tile.load %a[%row, %c0] : memref<300x64xbf16> -> vector<128x64xbf16>
  %x0 = tile.mma %t0, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s0 = vector.multi_reduction <add>, %x0, %zero [1] : vector<128x128xf32> to vector<128xf32>
  %t1 = tile.load %a[%next, %c0] : memref<300x64xbf16> -> vector<128x64xbf16>
  %x1 = tile.mma %t1, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  %s1 = vector.multi_reduction <add>, %x1, %zero [1] : vector<128x128xf32> to vector<128xf32>
  // expected-note @+1 {{'tile.store' does not write behind the end of its tensor where a CTA of a pair has no work tile}}
  tile.store %s0, %s[%row] : vector<128xf32>, memref<1024xf32>
  tile.store %s1, %s[%next] : vector<128xf32>, memref<1024xf32>
}
