// An element of a tensor for each element of a tile: passes cut and unroll the operation as they do arithmetic,
// until each thread reads what it needs.
//
// RUN: fa4-opt %s --tile-subtile -o %t.cut.mlir && FileCheck %s --input-file %t.cut.mlir --dump-input=never --check-prefix=CUT
// RUN: fa4-opt %t.cut.mlir --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute -o %t.mlir && FileCheck %s --input-file %t.mlir --dump-input=never --check-prefix=LANES
// RUN: fa4-opt %t.mlir --tile-unroll --mlir-print-ir-after=tile-unroll --tile-to-nvvm 2>&1 | FileCheck %s --dump-input=never --check-prefix=COLUMNS

// A tile of 256 rows has two halves.
// CUT-COUNT-2: tile.gather {{.*}} : memref<?x?x?xbf16>, index, vector<128x64xindex>, vector<128x64xindex> -> vector<128x64xbf16>
// CUT-NOT: tile.gather

// A thread has a row.
// LANES-LABEL: tile.role @compute0
// LANES: %[[BIAS:.*]] = tile.gather %arg2[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?xbf16>, index, vector<64xindex>, vector<64xindex> -> vector<64xbf16>
// LANES: arith.extf %[[BIAS]] : vector<64xbf16> to vector<64xf32>

// The numbers of a fragment, 16 columns here, are read while the one in front is worked on.
// COLUMNS-LABEL: tile.role @compute0
// COLUMNS-COUNT-32: tile.gather %arg2[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?xbf16>, index, index, index -> bf16
// COLUMNS-NOT: tile.gather
// COLUMNS: tile.write
// COLUMNS: tile.keep_order
// COLUMNS-COUNT-16: tile.gather
// COLUMNS: tile.write
// COLUMNS: tile.keep_order
// COLUMNS-COUNT-16: tile.gather
// COLUMNS: tile.write
// COLUMNS-LABEL: tile.role @compute1

// Indices are brought into bounds. The tensor does not change: LLVM may move the reads.
// COLUMNS-LABEL: llvm.func @biased
// COLUMNS: llvm.intr.umin
// COLUMNS: llvm.load %{{.*}} invariant : !llvm.ptr<1> -> bf16
tile.kernel @biased(%a: memref<?x64xbf16> {tile.name = "a", tile.dims = ["N", "64"]},
                    %b: memref<64x64xbf16> {tile.name = "b", tile.dims = ["64", "64"]},
                    %bias: memref<?x?x?xbf16> {tile.name = "bias", tile.dims = ["H", "M", "L"]},
                    %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %t = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %first = arith.muli %t, %c256 : index
  %ta = tile.load %a[%first, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tb = tile.load %b[%c0, %c0] : memref<64x64xbf16> -> vector<64x64xbf16>
  %p = tile.mma %ta, %tb : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  %step = vector.step : vector<256xindex>
  %from = vector.broadcast %first : index to vector<256xindex>
  %at = arith.addi %from, %step : vector<256xindex>
  %column = vector.shape_cast %at : vector<256xindex> to vector<256x1xindex>
  %rows = vector.broadcast %column : vector<256x1xindex> to vector<256x64xindex>
  %numbers = vector.step : vector<64xindex>
  %columns = vector.broadcast %numbers : vector<64xindex> to vector<256x64xindex>
  %g = tile.gather %bias[%t, %rows, %columns] : memref<?x?x?xbf16>, index, vector<256x64xindex>, vector<256x64xindex> -> vector<256x64xbf16>
  %wide = arith.extf %g : vector<256x64xbf16> to vector<256x64xf32>
  %w = arith.addf %p, %wide : vector<256x64xf32>
  tile.store %w, %y[%first, %c0] : vector<256x64xf32>, memref<?x64xf32>
}
