// An MMA that sums over the axis of a pair, to be added to memory: the pair sums
// over both work tiles, and each CTA adds half of the rows.
//
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on print}))' --verify-diagnostics | FileCheck %s
// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=auto}))' | FileCheck %s --check-prefix=AUTO
//
// By default there are pairs where they keep the port of shared memory busy for a sixth
// less time: half as much is added; but what is computed and exchanged takes twice as long.
// AUTO: tile.kernel @loads{{.*}} cluster = #tile.cluster<size = 2, axis = 0>
// AUTO: tile.kernel @computed
// AUTO-NOT: cluster =
// AUTO: tile.kernel @persistent

// A product A^T B whose work tiles are blocks of the rows that it sums over. Both operands
// are loads of the work tile, with zeros behind the last row: A is loaded by rows of
// both work tiles and this CTA's half of the columns, B by rows of both, of which each CTA
// keeps half of the columns.
// CHECK-LABEL: tile.kernel @loads
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK: %[[I:.*]] = tile.work_tile
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[PAIR:.*]] = arith.divui %[[I]], %[[TWO]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[PAIR]], %[[TWO]]
// CHECK: %[[RANK:.*]] = arith.subi %[[I]], %[[FIRST]]
// CHECK: scf.for
// CHECK: %[[COLUMN:.*]] = arith.muli
// CHECK: %[[ROW:.*]] = arith.muli %[[FIRST]]
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[C64]]
// CHECK: %[[OWN:.*]] = arith.addi %[[COLUMN]], %[[OFFSET]]
// CHECK: %[[A:.*]] = tile.load %{{.*}}[%[[ROW]], %[[OWN]]] : memref<?x?xbf16> -> vector<256x64xbf16>
// CHECK: %[[B:.*]] = tile.load %{{.*}} split(1) : memref<?x128xbf16> -> vector<256x128xbf16>
// CHECK: %[[SUM:.*]] = tile.mma transpose %[[A]], %[[B]] : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
// CHECK: %[[PLACE:.*]] = arith.addi %[[COLUMN]]
// CHECK: tile.reduce_add %[[SUM]], %{{.*}}[%[[PLACE]], %{{.*}}] : vector<64x128xf32>
// CHECK-NOT: vector<128x128x
// expected-remark @+1 {{pairs of CTAs along axis 0 of the grid: MMAs read 65536 bytes of shared memory in each CTA instead of 65536 and take 512 cycles instead of 512; buffers of loads take 0 bytes less; reductions write and read 65536 bytes of shared memory instead of 131072, lanes and exchanges 0 instead of 0; together 1024 cycles of shared memory instead of 1536; results of MMAs take 64 columns of tensor memory instead of 128, and 64 registers of a thread instead of 128}}
tile.kernel @loads(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
                   %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
                   %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %m = memref.dim %a, %c1 : memref<?x?xbf16>
  %n = arith.ceildivsi %m, %c128 : index
  scf.for %j = %c0 to %n step %c1 {
    %column = arith.muli %j, %c128 : index
    %ta = tile.load %a[%row, %column] : memref<?x?xbf16> -> vector<128x128xbf16>
    %tb = tile.load %b[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    %tc = tile.mma transpose %ta, %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.reduce_add %tc, %c[%column, %c0] : vector<128x128xf32>, memref<?x128xf32>
  }
}

// -----

// The same with an A by columns and a B by rows, of a number of work tiles that is even.
// CHECK-LABEL: tile.kernel @transposed
// CHECK: %[[A:.*]] = tile.load %{{.*}} : memref<128x512xbf16> -> vector<64x256xbf16>
// CHECK: %[[B:.*]] = tile.load %{{.*}} split(0) : memref<128x512xbf16> -> vector<128x256xbf16>
// CHECK: tile.mma %[[A]], transpose %[[B]] : vector<64x256xbf16>, vector<128x256xbf16> -> vector<64x128xf32>
// expected-remark @+1 {{pairs of CTAs along axis 0}}
tile.kernel @transposed(%a: memref<128x512xbf16> {tile.name = "A", tile.dims = ["128", "512"]},
                        %b: memref<128x512xbf16> {tile.name = "B", tile.dims = ["128", "512"]},
                        %c: memref<128x128xf32> {tile.name = "C", tile.dims = ["128", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"512" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %column = arith.muli %i, %c128 : index
  %ta = tile.load %a[%c0, %column] : memref<128x512xbf16> -> vector<128x128xbf16>
  %tb = tile.load %b[%c0, %column] : memref<128x512xbf16> -> vector<128x128xbf16>
  %tc = tile.mma %ta, transpose %tb : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<128x128xf32>
}

// -----

// Lanes compute A: they hand over the half that the other CTA sums over. In a CTA
// without a work tile, exponentials of zeros are not zero, and might be infinite;
// B is zero there.
// CHECK-LABEL: tile.kernel @computed
// CHECK: %[[I:.*]] = tile.work_tile
// CHECK: %[[SIZE:.*]] = memref.dim
// CHECK: %[[BEGIN:.*]] = arith.muli %[[I]]
// CHECK: %[[PRESENT:.*]] = arith.cmpi slt, %[[BEGIN]], %[[SIZE]]
// CHECK: %[[Y:.*]] = arith.truncf
// CHECK: %[[PART:.*]] = arith.select %[[PRESENT]], %[[Y]], %{{.*}} : vector<128x128xbf16>
// CHECK: %[[X:.*]] = tile.exchange %[[PART]] : vector<128x128xbf16> -> vector<256x64xbf16>
// CHECK: tile.mma transpose %[[X]], %{{.*}} : vector<256x64xbf16>, vector<256x64xbf16> -> vector<64x64xf32>
// expected-remark @+1 {{lanes and exchanges 65536 instead of 32768}}
tile.kernel @computed(%a: memref<?x128xf32> {tile.name = "A", tile.dims = ["K", "128"]},
                      %b: memref<?x64xbf16> {tile.name = "B", tile.dims = ["K", "64"]},
                      %c: memref<128x64xf32> {tile.name = "C", tile.dims = ["128", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x128xf32> -> vector<128x128xf32>
  %x = math.exp2 %ta : vector<128x128xf32>
  %y = arith.truncf %x : vector<128x128xf32> to vector<128x128xbf16>
  %tb = tile.load %b[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tc = tile.mma transpose %y, %tb : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
  tile.reduce_add %tc, %c[%c0, %c0] : vector<128x64xf32>, memref<128x64xf32>
}

// -----

// Where CTAs go from work tile to work tile, the coordinate is an argument of the work.
// CHECK-LABEL: tile.kernel @persistent
// CHECK: tile.work (%[[I:.*]]) {
// CHECK: %[[PAIR:.*]] = arith.divui %[[I]]
// CHECK: tile.load %{{.*}} split(1) : memref<?x128xbf16> -> vector<256x128xbf16>
// CHECK: tile.mma transpose %{{.*}} : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
// expected-remark @+1 {{pairs of CTAs along axis 0 of the grid}}
tile.kernel @persistent(%a: memref<?x128xbf16> {tile.name = "A", tile.dims = ["K", "128"]},
                        %c: memref<128x128xf32> {tile.name = "C", tile.dims = ["128", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"K" by 128>], schedule = #tile.schedule<static>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  tile.work (%i) {
    %row = arith.muli %i, %c128 : index
    %ta = tile.load %a[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    %tc = tile.mma transpose %ta, %ta : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.reduce_add %tc, %c[%c0, %c0] : vector<128x128xf32>, memref<128x128xf32>
  }
}
