// In a tile program an MMA is arithmetic: of two that are alike one is enough, and it
// may leave a loop.
//
// RUN: fa4-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: fa4-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM

// CSE-LABEL: tile.kernel @program
// LICM-LABEL: tile.kernel @program
tile.kernel @program(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                     %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
                     %n: index {tile.name = "n"}, %unused: index {tile.name = "unused"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  // LICM: tile.mma
  // LICM: tile.mma
  // LICM: scf.for
  // CSE: scf.for
  // CSE: tile.mma
  // CSE-NOT: tile.mma
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %t = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %u = arith.addf %s, %t : vector<128x128xf32>
    tile.store %u, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
  }
}
