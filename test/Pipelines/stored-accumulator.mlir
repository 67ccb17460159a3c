// The result of MMAs, stored as it is: threads copy it from tensor memory to shared
// memory (tile.copy). Where the loop has no pass, the product is zero, and threads must not
// read tensor memory, which no MMA has written.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ fa4-compile "$S"/stored-accumulator.mlir -o .
// $ fa4-sim stored.json n=4 M=200 N=136 K=256 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy --output C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy
// largest error, of what rounding allows: {{.*}}
// $ fa4-sim stored.json n=0 M=200 N=136 K=256 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy --output C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy --none
// largest error, of what rounding allows: {{.*}}

tile.kernel @stored(%n: index {tile.name = "n"},
                    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                    %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                    %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %at = arith.muli %i, %c64 : index
    %ta = tile.load %a[%row, %at] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%at, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %acc, %c[%row, %col] : vector<128x128xf32>, memref<?x?xf32>
}
