// Numbers that threads read, each that of its row: the tensor may begin anywhere, and no channel
// stands between. In a role of threads it is a tile.load_scalar.
//
// RUN: fa4-opt %s --split-input-file --tile-subtile --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute | FileCheck %s --dump-input=never
// RUN: fa4-opt %s --split-input-file --tile-subtile | FileCheck %s --dump-input=never --check-prefix=CUT

// CHECK-LABEL: tile.kernel @scaled
// CHECK: tile.channel "x"
// CHECK-NOT: tile.channel "factors"
// CHECK: tile.role @compute0
// CHECK: %[[FIRST:.*]] = arith.muli
// CHECK: %[[ROW:.*]] = tile.row : index
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[ROW]] : index
// CHECK: %[[FACTOR:.*]] = tile.load_scalar %arg1[%[[AT]], %c1] : memref<?x3xbf16>
// CHECK: arith.extf %[[FACTOR]] : bf16 to f32
tile.kernel @scaled(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                    %factors: memref<?x3xbf16> {tile.name = "factors", tile.dims = ["N", "3"]},
                    %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %t = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %first = arith.muli %t, %c128 : index
  %v = tile.load %x[%first, %c0] : memref<?x64xf32> -> vector<128x64xf32>
  %f = tile.load_rows %factors[%first, %c1] dim 0 : memref<?x3xbf16> -> vector<128xbf16>
  %wide = arith.extf %f : vector<128xbf16> to vector<128xf32>
  %column = vector.shape_cast %wide : vector<128xf32> to vector<128x1xf32>
  %over = vector.broadcast %column : vector<128x1xf32> to vector<128x64xf32>
  %w = arith.mulf %v, %over : vector<128x64xf32>
  tile.store %w, %y[%first, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// Half of a tile that is cut has rows of its own.
// CUT-LABEL: tile.kernel @cut
// CUT-DAG: tile.load_rows %arg2[%[[FIRST:.*]]] dim 0 : memref<?xf32> -> vector<128xf32>
// CUT-DAG: %[[SECOND:.*]] = arith.addi %{{.*}}, %c128
// CUT-DAG: tile.load_rows %arg2[%[[SECOND]]] dim 0 : memref<?xf32> -> vector<128xf32>
tile.kernel @cut(%a: memref<?x64xbf16> {tile.name = "a", tile.dims = ["N", "64"]},
                 %b: memref<64x64xbf16> {tile.name = "b", tile.dims = ["64", "64"]},
                 %bias: memref<?xf32> {tile.name = "bias", tile.dims = ["N"]},
                 %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %t = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %first = arith.muli %t, %c256 : index
  %ta = tile.load %a[%first, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tb = tile.load %b[%c0, %c0] : memref<64x64xbf16> -> vector<64x64xbf16>
  %p = tile.mma %ta, %tb : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  %f = tile.load_rows %bias[%first] dim 0 : memref<?xf32> -> vector<256xf32>
  %column = vector.shape_cast %f : vector<256xf32> to vector<256x1xf32>
  %over = vector.broadcast %column : vector<256x1xf32> to vector<256x64xf32>
  %w = arith.addf %p, %over : vector<256x64xf32>
  tile.store %w, %y[%first, %c0] : vector<256x64xf32>, memref<?x64xf32>
}

// -----

// Without a dimension, all rows have one element, and parts of a tile that is cut read the same.
// CHECK-LABEL: tile.kernel @uniform
// CHECK: tile.role @compute0
// CHECK-NOT: tile.row
// CHECK: tile.load_scalar %arg1[%{{.*}}] : memref<?xf32>
// CUT-LABEL: tile.kernel @uniform
// CUT: tile.load_rows %arg1[%[[HEAD:.*]]] : memref<?xf32> -> vector<128xf32>
tile.kernel @uniform(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                     %factors: memref<?xf32> {tile.name = "factors", tile.dims = ["M"]},
                     %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %t = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %first = arith.muli %t, %c128 : index
  %v = tile.load %x[%first, %c0] : memref<?x64xf32> -> vector<128x64xf32>
  %f = tile.load_rows %factors[%t] : memref<?xf32> -> vector<128xf32>
  %column = vector.shape_cast %f : vector<128xf32> to vector<128x1xf32>
  %over = vector.broadcast %column : vector<128x1xf32> to vector<128x64xf32>
  %w = arith.mulf %v, %over : vector<128x64xf32>
  tile.store %w, %y[%first, %c0] : vector<128x64xf32>, memref<?x64xf32>
}
