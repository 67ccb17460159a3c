// C = max(2 Y, 0)^T Z by pairs of CTAs. Each CTA has 128 rows of C, and computes
// the rectifier for 128 rows of a block of 256 of Y, in all 256 columns that the pair
// needs. So the CTAs exchange halves: each sends the columns of the other one's
// rows of C. The stages must not be overwritten while MMAs of the pair read
// them, and MMAs must not begin before both halves are there, in any order of
// asynchronous work.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/exchange.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/exchange.ptx
//
// $ fa4-compile "$S"/exchange.mlir --from=tile -o . --emit=allocate,ptx
// $ fa4-sim exchange.json M=600 N=72 S=700 --random --check --seeds 0:7 --stats --output Y=Y.npy --output Z=Z.npy C=C.npy
// ...
// {{.*}}findings 0
// $ python3 "$S"/Inputs/check_rectified_product.py Y.npy Z.npy C.npy
// largest error, of what rounding allows: {{.*}}
//
// One block of rows, and less than one tile.
//
// $ fa4-sim exchange.json M=40 N=24 S=200 --random --check --seeds 0:3 --output Y=Y.npy --output Z=Z.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_rectified_product.py Y.npy Z.npy C.npy
// largest error, of what rounding allows: {{.*}}
//
// A stage has 256 rows of 128 columns, and 128 rows to be sent, which are 32768
// bytes. Both CTAs tell the leader that their stage is complete, and the
// leader's MMAs free the stages of both.
//
// ALLOCATE: tile.channel "compute0_exchange" smem stages(1) exchange place<offset({{[0-9]+}}) full({{[0-9]+}}) arrivals(128) landed({{[0-9]+}}) arrivals(1) bytes(32768)> : <vector<128x256xbf16>>
// ALLOCATE: tile.channel "exchange_mma" smem stages(1) in_place_of(%compute0_exchange : {{.*}}) place<offset({{[0-9]+}}) full({{[0-9]+}}) arrivals(2) empty({{[0-9]+}}) arrivals(1)> : <vector<256x128xbf16>>
// ALLOCATE: tile.role @compute0
// ALLOCATE: tile.acquire %exchange_mma
// ALLOCATE: tile.commit %compute0_exchange
// ALLOCATE: tile.role @mma {{.*}} leader
// ALLOCATE: tile.wait %exchange_mma
// ALLOCATE: tile.release %exchange_mma
// ALLOCATE: tile.role @exchange kind(issuer)
// ALLOCATE-NOT: leader
// ALLOCATE: %[[OWN:.*]] = tile.wait %compute0_exchange
// ALLOCATE-NEXT: %[[BOTH:.*]] = tile.exchange %[[OWN]]
// ALLOCATE-NEXT: tile.commit %exchange_mma, %[[BOTH]]
//
// PTX-COUNT-2: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes

tile.kernel @exchange(%y: memref<?x?xbf16> {tile.name = "Y", tile.dims = ["S", "M"]},
                      %z: memref<?x?xbf16> {tile.name = "Z", tile.dims = ["S", "N"]},
                      %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 64>],
                cluster = #tile.cluster<size = 2, axis = 0>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %least = arith.constant dense<0.0> : vector<128x256xf32>
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c64 : index
  %rank = arith.remui %tm, %c2 : index
  %own = arith.muli %rank, %c128 : index
  %pair = arith.subi %row, %own : index
  %s = memref.dim %y, %c0 : memref<?x?xbf16>
  %sum = scf.for %i = %c0 to %s step %c256 iter_args(%acc = %zero) -> (vector<128x64xf32>) {
    %first = arith.addi %i, %own : index
    %ty = tile.load %y[%first, %pair] : memref<?x?xbf16> -> vector<128x256xbf16>
    %f = arith.extf %ty : vector<128x256xbf16> to vector<128x256xf32>
    %twice = arith.addf %f, %f : vector<128x256xf32>
    %positive = arith.maximumf %twice, %least : vector<128x256xf32>
    %p = arith.truncf %positive : vector<128x256xf32> to vector<128x256xbf16>
    %a = tile.exchange %p : vector<128x256xbf16> -> vector<256x128xbf16>
    %tz = tile.load %z[%i, %col] split(1) : memref<?x?xbf16> -> vector<256x64xbf16>
    %next = tile.mma transpose %a, %tz acc %acc : vector<256x128xbf16>, vector<256x64xbf16> -> vector<128x64xf32>
    scf.yield %next : vector<128x64xf32>
  }
  tile.store %sum, %c[%row, %col] : vector<128x64xf32>, memref<?x?xf32>
}
