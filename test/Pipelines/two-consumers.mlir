// A product that two roles use, and a tile that two roles load together: each is
// made once, by one operation, and both roles wait for the one channel that it is
// in. Before, each role had a channel of its own and the MMA ran twice.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize))' | FileCheck %s
// RUN: fa4-test-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate,tile-explore-protocol))' | FileCheck %s --check-prefix=PLACED
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// 2 x 2 tiles x 5 K tiles x 4 instructions: not twice as many.
//
// $ fa4-compile "$S"/two-consumers.mlir -o .
// ...
// $ fa4-sim two.json T=5 M=200 N=136 K=264 --random --check --seeds 0:3 --stats --output A=A.npy --output B=B.npy Y=Y.npy Z=Z.npy > stats.txt
// $ grep -c 'mma instructions *80$' stats.txt
// 4
// $ python3 "$S"/Inputs/check_two_consumers.py A.npy B.npy Y.npy Z.npy
// ...

// CHECK: %mma_compute0 = tile.channel "mma_compute0" tmem
// CHECK-NOT: tmem
// CHECK-LABEL: tile.role @compute0
// CHECK: tile.wait %mma_compute0 :
// CHECK: tile.release %mma_compute0 :
// CHECK-LABEL: tile.role @compute1
// CHECK: tile.wait %mma_compute0 :
// CHECK: tile.release %mma_compute0 :
// CHECK-LABEL: tile.role @mma
// CHECK-COUNT-1: tile.mma
// CHECK-NOT: tile.mma
// CHECK: tile.role

// Lanes of both roles free the stage.
// PLACED: tile.channel "mma_compute0" tmem {{.*}} empty({{[0-9]+}}) arrivals(256)
tile.kernel @two(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                 %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                 %y: memref<?x?x?xbf16> {tile.name = "Y", tile.dims = ["T", "M", "N"]},
                 %z: memref<?x?x?xbf16> {tile.name = "Z", tile.dims = ["T", "M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %two = arith.constant dense<2.0> : vector<128x128xf32>
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %sizes = arith.ceildivsi %k, %c64 : index
  // Block by block of 64 columns of A, in a loop, so that the ring goes round.
  scf.for %i = %c0 to %sizes step %c1 {
    %at = arith.muli %i, %c64 : index
    %ta = tile.load %a[%row, %at] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%at, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %s = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
    %relu = arith.maxnumf %s, %zero : vector<128x128xf32>
    %relub = arith.truncf %relu : vector<128x128xf32> to vector<128x128xbf16>
    tile.store %relub, %y[%i, %row, %col] dims [1, 2] : vector<128x128xbf16>, memref<?x?x?xbf16>
    %twice = arith.mulf %s, %two : vector<128x128xf32>
    %twiceb = arith.truncf %twice : vector<128x128xf32> to vector<128x128xbf16>
    tile.store %twiceb, %z[%i, %row, %col] dims [1, 2] : vector<128x128xbf16>, memref<?x?x?xbf16>
  }
}
