// C = A B, with at least one block of K.

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c128 : index
  %size = memref.dim %a, %c1 : memref<?x?xbf16>
  %blocks = arith.ceildivsi %size, %c64 : index
  %n = arith.maxsi %blocks, %c1 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %acc = scf.for %block = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %i = arith.muli %block, %c64 : index
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
}
