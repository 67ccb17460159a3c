// C += max(2 Y, 0)^T Z by pairs of CTAs with 64 rows of C each, as the gradient
// computes dq: each CTA computes 128 rows and 128 columns of the left factor and gives
// half of the columns to the other one, so that a product of the pair has all
// 256 rows and the 64 columns of each CTA. Roles hold tiles of 128 rows and folded
// ones of 64 in one kernel. There is room for two stages of what is exchanged.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/exchange.allocate.mlir
//
// $ fa4-compile "$S"/exchange-64.mlir --from=tile -o . --emit=allocate,ptx
// $ python3 -c "import numpy; numpy.save('zero.npy', numpy.zeros((304, 136), 'float32'))"
// $ fa4-sim exchange.json M=304 N=136 S=700 --random --check --seeds 0:5 --output Y=Y.npy --output Z=Z.npy --output C=C.npy C=zero.npy
// {{.*}}findings 0
// $ python3 "$S"/Inputs/check_rectified_product.py Y.npy Z.npy C.npy
// largest error, of what rounding allows: {{.*}}
//
// ALLOCATE: tile.channel "compute0_exchange" smem stages(2) exchange {{.*}} : <vector<128x128xbf16>>
// ALLOCATE: tile.channel "exchange_mma" smem stages(2) in_place_of(%compute0_exchange : {{.*}} : <vector<256x64xbf16>>
// ALLOCATE: tile.channel "mma_epilogue" tmem stages(1) {{.*}} : <vector<64x128xf32>>

tile.kernel @exchange(%y: memref<?x?xbf16> {tile.name = "Y", tile.dims = ["S", "M"]},
                      %z: memref<?x?xbf16> {tile.name = "Z", tile.dims = ["S", "N"]},
                      %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 64>, #tile.extent<"S" by 256>],
                cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %least = arith.constant dense<0.0> : vector<128x128xf32>
  %tm, %ts = tile.work_tile : index, index
  %row = arith.muli %tm, %c64 : index
  %block = arith.muli %ts, %c256 : index
  %rank = arith.remui %tm, %c2 : index
  %others = arith.muli %rank, %c64 : index
  %pair = arith.subi %row, %others : index
  %own = arith.muli %rank, %c128 : index
  %first = arith.addi %block, %own : index
  %n = memref.dim %z, %c1 : memref<?x?xbf16>
  scf.for %col = %c0 to %n step %c128 {
    %ty = tile.load %y[%first, %pair] : memref<?x?xbf16> -> vector<128x128xbf16>
    %f = arith.extf %ty : vector<128x128xbf16> to vector<128x128xf32>
    %twice = arith.addf %f, %f : vector<128x128xf32>
    %positive = arith.maximumf %twice, %least : vector<128x128xf32>
    %p = arith.truncf %positive : vector<128x128xf32> to vector<128x128xbf16>
    %a = tile.exchange %p : vector<128x128xbf16> -> vector<256x64xbf16>
    %tz = tile.load %z[%block, %col] split(1) : memref<?x?xbf16> -> vector<256x128xbf16>
    %product = tile.mma transpose %a, %tz : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
    tile.reduce_add %product, %c[%row, %col] : vector<64x128xf32>, memref<?x?xf32>
  }
}
