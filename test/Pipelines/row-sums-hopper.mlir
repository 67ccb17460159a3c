// A kernel without MMAs is compiled for Hopper: loads, lanes, row sums and stores are the same there as on
// Blackwell. The simulator runs its PTX, and the results are those of numpy.
//
// RUN: rm -rf %t && mkdir %t && fa4-compile %s -o %t
// RUN: fa4-sim %t/row_sums.json N=300 M=320 --random --check --output X=%t/X.npy --output W=%t/W.npy Y=%t/Y.npy S=%t/S.npy
// RUN: FileCheck %s < %t/row_sums.ptx && python3 %S/Inputs/check_row_sums.py %t/X.npy %t/W.npy %t/Y.npy %t/S.npy

// CHECK: .target sm_90a
// CHECK-NOT: tcgen05
// CHECK: setmaxnreg
// Two sums at a time are of sm_100 and later.
// CHECK-NOT: .f32x2
tile.kernel @row_sums(%x: memref<?x?xbf16> {tile.name = "X", tile.dims = ["N", "M"]},
                      %w: memref<?xf32> {tile.name = "W", tile.dims = ["N"]},
                      %y: memref<?x?xbf16> {tile.name = "Y", tile.dims = ["N", "M"]},
                      %s: memref<?xf32> {tile.name = "S", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %tile = tile.work_tile : index
  %row = arith.muli %tile, %c128 : index
  %columns = memref.dim %x, %c1 : memref<?x?xbf16>
  %scale = tile.load_rows %w[%row] dim 0 : memref<?xf32> -> vector<128xf32>
  %column = vector.shape_cast %scale : vector<128xf32> to vector<128x1xf32>
  %scales = vector.broadcast %column : vector<128x1xf32> to vector<128x64xf32>
  %sum = scf.for %j = %c0 to %columns step %c64 iter_args(%so_far = %zero) -> (vector<128xf32>) {
    %narrow = tile.load %x[%row, %j] : memref<?x?xbf16> -> vector<128x64xbf16>
    %wide = arith.extf %narrow : vector<128x64xbf16> to vector<128x64xf32>
    %product = arith.mulf %wide, %scales : vector<128x64xf32>
    %next = vector.multi_reduction <add>, %product, %so_far [1] : vector<128x64xf32> to vector<128xf32>
    %rounded = arith.truncf %product : vector<128x64xf32> to vector<128x64xbf16>
    tile.store %rounded, %y[%row, %j] : vector<128x64xbf16>, memref<?x?xbf16>
    scf.yield %next : vector<128xf32>
  }
  tile.store %sum, %s[%row] : vector<128xf32>, memref<?xf32>
}
