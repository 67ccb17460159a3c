// Which MMAs two CTAs can issue together, and what keeps them from it, follows
// from what depends on the work tile's coordinate along an axis. A program that
// has no pairs is left alone, or is an error that says why, and so is one whose MMAs gain nothing.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{print}))' --verify-diagnostics | FileCheck %s
// RUN: FileCheck %s --check-prefix=ON < on.mlir
//
// Two kernels cannot be run by pairs, which is an error where pairs are asked for.
//
// $ fa4-opt $S/tile-pair-ctas.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on}))' \
//     > on.mlir 2> errors
// [1]
// $ grep -c "error: 'tile.kernel' op cannot be run by pairs of CTAs" errors
// 2
//
// Without pairs, no kernel has clusters.
//
// $ fa4-opt $S/tile-pair-ctas.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=off print}))' \
//     > off.mlir 2> remarks
// $ grep 'cluster =' off.mlir
// [1]
// $ fa4-opt $S/tile-pair-ctas.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=yes}))'
// {{.*}}error: tile-pair-ctas: pairs must be auto, on or off, got 'yes'
// ...
// [1]

// B is the same for all blocks of rows: each CTA loads half of its columns.
// CHECK-LABEL: tile.kernel @columns
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK: tile.load %{{.*}} : memref<?x64xbf16> -> vector<128x64xbf16>
// CHECK: tile.load %{{.*}} split(1) : memref<64x64xbf16> -> vector<64x64xbf16>
// expected-remark @+1 {{pairs of CTAs along axis 0 of the grid: MMAs read 20480 bytes of shared memory in each CTA instead of 24576 and take 160 cycles instead of 192; buffers of loads take 4096 bytes less; results of MMAs take 64 columns of tensor memory instead of 64, and 64 registers of a thread instead of 64}}
tile.kernel @columns(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                     %b: memref<64x64xbf16> {tile.name = "B", tile.dims = ["64", "64"]},
                     %c: memref<?x64xf32> {tile.name = "C", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  // expected-note @+1 {{each CTA loads half of the columns}}
  %tb = tile.load %b[%c0, %c0] : memref<64x64xbf16> -> vector<64x64xbf16>
  %tc = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
  tile.store %tc, %c[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// Along axis 0, B differs; along axis 1, it is the same. A transposed B is
// split by rows, which are the columns of the result. MMAs as wide as this are
// as fast without pairs.
// CHECK-LABEL: tile.kernel @rows
// CHECK-NOT: cluster
// ON-LABEL: tile.kernel @rows
// ON-SAME: cluster = #tile.cluster<size = 2, axis = 1>
// ON: tile.load %{{.*}} split(0)
// expected-remark @+1 {{no pairs of CTAs along axis 1 of the grid: MMAs read 24576 bytes of shared memory in each CTA instead of 32768 and take 256 cycles instead of 256; buffers of loads take 8192 bytes less}}
tile.kernel @rows(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                  %b: memref<?x64xbf16> {tile.name = "B", tile.dims = ["N", "64"]},
                  %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"M" by 128>]} {
  %j, %i = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %col = arith.muli %j, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  // expected-note @+1 {{each CTA loads half of the rows}}
  %tb = tile.load %b[%col, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tc = tile.mma %ta, transpose %tb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  tile.store %tc, %c[%row, %col] : vector<128x128xf32>, memref<?x?xf32>
}

// -----

// MMAs are as fast alone, but there is no room for a second tile of B, which would
// be loaded meanwhile; and with parts of B, for which there is, they would wait for the
// port of shared memory. Halves of B make room and take less of the port.
// CHECK-LABEL: tile.kernel @memory
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// ON-LABEL: tile.kernel @memory
// ON-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// expected-remark @+1 {{pairs of CTAs along axis 0 of the grid: MMAs read 147456 bytes of shared memory in each CTA instead of 196608 and take 1536 cycles instead of 1536; buffers of loads take 49152 bytes less; loads overlap with MMAs in 196608 bytes of shared memory instead of 294912}}
tile.kernel @memory(%a: memref<?x384xbf16> {tile.name = "A", tile.dims = ["M", "384"]},
                  %b: memref<?x384xbf16> {tile.name = "B", tile.dims = ["N", "384"]},
                  %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c128 : index
  %size = memref.dim %b, %c0 : memref<?x384xbf16>
  %n = arith.ceildivsi %size, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x384xbf16> -> vector<128x384xbf16>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
    %col = arith.muli %j, %c128 : index
    // expected-note @+1 {{each CTA loads half of the rows}}
    %tb = tile.load %b[%col, %c0] : memref<?x384xbf16> -> vector<128x384xbf16>
    %next = tile.mma %ta, transpose %tb acc %acc : vector<128x384xbf16>, vector<128x384xbf16> -> vector<128x128xf32>
    scf.yield %next : vector<128x128xf32>
  }
  tile.store %sum, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The same tile is the B of scores and of what lanes compute from them. The MMAs of the
// next scores come before those of the last ones, so that two tiles are in use while a third one is
// loaded, for which a CTA alone has no room. In a pair, halves of rows and of columns
// are loads of their own, of two tiles each.
// CHECK-LABEL: tile.kernel @held
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// expected-remark @+1 {{; loads overlap with MMAs in 196608 bytes of shared memory instead of 262144}}
tile.kernel @held(%a: memref<?x256xbf16> {tile.name = "A", tile.dims = ["M", "256"]},
                  %b: memref<?x256xbf16> {tile.name = "B", tile.dims = ["K", "256"]},
                  %c: memref<?x256xf32> {tile.name = "C", tile.dims = ["M", "256"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x256xf32>
  %row = arith.muli %i, %c128 : index
  %size = memref.dim %b, %c0 : memref<?x256xbf16>
  %n = arith.ceildivsi %size, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x256xf32>) {
    %k = arith.muli %j, %c128 : index
    // expected-note @+2 {{each CTA loads half of the rows}}
    // expected-note @+1 {{each CTA loads half of the columns}}
    %tb = tile.load %b[%k, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
    %s = tile.mma %ta, transpose %tb : vector<128x256xbf16>, vector<128x256xbf16> -> vector<128x128xf32>
    %p = arith.truncf %s : vector<128x128xf32> to vector<128x128xbf16>
    %next = tile.mma %p, %tb acc %acc : vector<128x128xbf16>, vector<128x256xbf16> -> vector<128x256xf32>
    scf.yield %next : vector<128x256xf32>
  }
  tile.store %sum, %c[%row, %c0] : vector<128x256xf32>, memref<?x256xf32>
}

// -----

// Rows of B are the K dimension here: a part of B is no box of the tensor map. A
// CTA alone has no room for a second tile, which would be loaded meanwhile; in a pair,
// halves make room. (Two tiles of A share B, so that the port has time.)
// CHECK-LABEL: tile.kernel @room
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// expected-remark @+1 {{; loads overlap with MMAs in 196608 bytes of shared memory instead of 262144}}
tile.kernel @room(%a: memref<?x256xbf16> {tile.name = "A", tile.dims = ["M", "256"]},
                  %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
                  %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c256 : index
  %row2 = arith.addi %row, %c128 : index
  %size = memref.dim %b, %c0 : memref<?x128xbf16>
  %n = arith.ceildivsi %size, %c256 : index
  %ta = tile.load %a[%row, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  %ta2 = tile.load %a[%row2, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
  %sum:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %acc2 = %zero) -> (vector<128x128xf32>, vector<128x128xf32>) {
    %k = arith.muli %j, %c256 : index
    // expected-note @+1 {{each CTA loads half of the columns}}
    %tb = tile.load %b[%k, %c0] : memref<?x128xbf16> -> vector<256x128xbf16>
    %next = tile.mma %ta, %tb acc %acc : vector<128x256xbf16>, vector<256x128xbf16> -> vector<128x128xf32>
    %next2 = tile.mma %ta2, %tb acc %acc2 : vector<128x256xbf16>, vector<256x128xbf16> -> vector<128x128xf32>
    scf.yield %next, %next2 : vector<128x128xf32>, vector<128x128xf32>
  }
  tile.store %sum#0, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
  tile.store %sum#1, %c[%row2, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The other CTA of a pair would have no work tile.
// CHECK-LABEL: tile.kernel @single
// CHECK-NOT: cluster
// ON-LABEL: tile.kernel @single
// ON-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// expected-remark @+1 {{no pairs of CTAs along axis 0 of the grid: MMAs read 147456 bytes of shared memory in each CTA instead of 196608 and take 1536 cycles instead of 1536; buffers of loads take 49152 bytes less; loads overlap with MMAs in 196608 bytes of shared memory instead of 294912}}
tile.kernel @single(%a: memref<100x384xbf16> {tile.name = "A", tile.dims = ["100", "384"]},
                  %b: memref<?x384xbf16> {tile.name = "B", tile.dims = ["N", "384"]},
                  %c: memref<100x128xf32> {tile.name = "C", tile.dims = ["100", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"100" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c128 : index
  %size = memref.dim %b, %c0 : memref<?x384xbf16>
  %n = arith.ceildivsi %size, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<100x384xbf16> -> vector<128x384xbf16>
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
    %col = arith.muli %j, %c128 : index
    // expected-note @+1 {{each CTA loads half of the rows}}
    %tb = tile.load %b[%col, %c0] : memref<?x384xbf16> -> vector<128x384xbf16>
    %next = tile.mma %ta, transpose %tb acc %acc : vector<128x384xbf16>, vector<128x384xbf16> -> vector<128x128xf32>
    scf.yield %next : vector<128x128xf32>
  }
  tile.store %sum, %c[%row, %c0] : vector<128x128xf32>, memref<100x128xf32>
}

// -----

// As with a causal mask, the number of blocks depends on the rows.
// CHECK-LABEL: tile.kernel @causal
// CHECK-NOT: cluster
// CHECK-NOT: split
// expected-remark @+1 {{no pairs of CTAs}}
tile.kernel @causal(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["M", "64"]},
                    %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %row = arith.muli %i, %c128 : index
  %n = arith.addi %i, %c1 : index
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  // expected-note @+1 {{'scf.for' may make another number of passes in each CTA of a pair}}
  %sum = scf.for %block = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %j = arith.muli %block, %c128 : index
    %tk = tile.load %k[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %sum, %o[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// One tile is the B of two MMAs, once by rows and once by columns, and an A: each
// has a load of its own. What pairs save is lost in more buffers.
// CHECK-LABEL: tile.kernel @both
// CHECK-NOT: split
// ON-LABEL: tile.kernel @both
// ON-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// ON: %[[WHOLE:.*]] = tile.load %{{.*}} dims [0, 1] : memref<128x128xbf16> -> vector<128x128xbf16>
// ON: %[[ROWS:.*]] = tile.load %{{.*}} dims [0, 1] split(0) : memref<128x128xbf16>
// ON: %[[COLUMNS:.*]] = tile.load %{{.*}} dims [0, 1] split(1) : memref<128x128xbf16>
// ON: %[[X:.*]] = tile.mma %{{.*}}, %[[COLUMNS]] :
// ON: %[[Y:.*]] = tile.mma %{{.*}}, transpose %[[ROWS]] acc %[[X]] :
// ON: tile.mma %[[WHOLE]], %[[COLUMNS]] acc %[[Y]] :
// expected-remark @+1 {{no pairs of CTAs along axis 0 of the grid: MMAs read 147456 bytes of shared memory in each CTA instead of 196608 and take 1536 cycles instead of 1536; buffers of loads take 32768 bytes more}}
tile.kernel @both(%a: memref<?x128xbf16> {tile.name = "A", tile.dims = ["M", "128"]},
                  %b: memref<128x128xbf16> {tile.name = "B", tile.dims = ["128", "128"]},
                  %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  // expected-note @+2 {{each CTA loads half of the columns}}
  // expected-note @+1 {{each CTA loads half of the rows}}
  %tb = tile.load %b[%c0, %c0] dims [0, 1] : memref<128x128xbf16> -> vector<128x128xbf16>
  %x = tile.mma %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  %y = tile.mma %ta, transpose %tb acc %x : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  %z = tile.mma %tb, %tb acc %y : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.store %z, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// The second CTA of the last pair may have no rows, and would store nonetheless.
// CHECK-LABEL: tile.kernel @inside
// CHECK-NOT: split
// expected-remark @+1 {{no pairs of CTAs}}
tile.kernel @inside(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                    %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                    %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["L", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
  %tc = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
  // expected-note @+1 {{'tile.store' does not write behind the end of its tensor where a CTA of a pair has no work tile}}
  tile.store %tc, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// A kernel without MMAs, as those in front of and behind a gradient's, is left
// alone where pairs are asked for.
// CHECK-LABEL: tile.kernel @copy
// CHECK-NOT: cluster
// ON-LABEL: tile.kernel @copy
// ON-NOT: cluster
// expected-remark @+2 {{no pairs of CTAs}}
// expected-note @+1 {{'tile.kernel' has no MMA that two CTAs could issue together}}
tile.kernel @copy(%a: memref<?x64xf32> {tile.name = "A", tile.dims = ["M", "64"]},
                  %c: memref<?x64xf32> {tile.name = "C", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x64xf32> -> vector<128x64xf32>
  tile.store %ta, %c[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
}
