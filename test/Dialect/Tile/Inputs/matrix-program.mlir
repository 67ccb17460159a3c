// Two products in a row, O = sum over keys of relu(Q K^T) V, for a chip whose MMAs accumulate in registers: two tiles of
// 64 queries, of which each has a warpgroup.
tile.kernel @chain(
    %q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
    %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]},
    %v: memref<?x64xbf16> {tile.name = "v", tile.dims = ["N", "64"]},
    %out: memref<?x64xbf16> {tile.name = "out", tile.dims = ["M", "64"], tile.output = "once"},
    %most: memref<?xf32> {tile.name = "most", tile.dims = ["M"], tile.output = "once"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %low = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %ozero = arith.constant dense<0.0> : vector<128x64xf32>
  %t = tile.work_tile : index
  %row = arith.muli %t, %c128 : index
  %keys = memref.dim %k, %c0 : memref<?x64xbf16>
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %r:2 = scf.for %j = %c0 to %keys step %c128 iter_args(%o = %ozero, %m = %low) -> (vector<128x64xf32>, vector<128xf32>) {
    %tk = tile.load %k[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %s = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %m2 = vector.multi_reduction <maximumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %p = arith.maximumf %s, %zero : vector<128x128xf32>
    %pb = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
    %tv = tile.load %v[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %o2 = tile.mma %pb, %tv acc %o : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    scf.yield %o2, %m2 : vector<128x64xf32>, vector<128xf32>
  }
  %ob = arith.truncf %r#0 : vector<128x64xf32> to vector<128x64xbf16>
  tile.store %ob, %out[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  tile.store %r#1, %most[%row] : vector<128xf32>, memref<?xf32>
}
