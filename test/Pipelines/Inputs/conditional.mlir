// C = A B / 2 where `on` is not 0, else 0.5: a product that only one branch uses, so that
// passes may sink it there.
tile.kernel @conditional(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]}, %on: i32 {tile.name = "on"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>, #tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c0i = arith.constant 0 : i32
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<256x128xf32>
  %half = arith.constant dense<0.5> : vector<256x128xf32>
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %c256 : index
  %col = arith.muli %tn, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x?xbf16> -> vector<256x64xbf16>
  %tb = tile.load %b[%c0, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
  %s = tile.mma %ta, %tb : vector<256x64xbf16>, vector<64x128xbf16> -> vector<256x128xf32>
  %is = arith.cmpi ne, %on, %c0i : i32
  %y = scf.if %is -> (vector<256x128xf32>) {
    %scaled = arith.mulf %s, %half : vector<256x128xf32>
    scf.yield %scaled : vector<256x128xf32>
  } else {
    scf.yield %half : vector<256x128xf32>
  }
  %yb = arith.truncf %y : vector<256x128xf32> to vector<256x128xbf16>
  tile.store %yb, %c[%row, %col] : vector<256x128xbf16>, memref<?x?xbf16>
}
