// Lanes that start an MMA read its operands until they await it. The verifier, and the explorer that tries every order
// of steps, must refuse whatever lets somebody write these operands earlier: a release in front of the await, and a
// write of the role itself to the same bytes. They must count one arrival a warp for a release behind an await.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/tile-verify-protocol-await.mlir --tile-allocate --tile-verify-protocol -o placed.mlir
// $ fa4-test-opt placed.mlir --tile-explore-protocol -o /dev/null
//
// A release in front of the await.
//
// $ sed -e '/#release$/d' -e 's,//+early ,,' $S/tile-verify-protocol-await.mlir > early.mlir
// $ fa4-opt early.mlir --tile-verify-protocol
// early.mlir:{{.*}}: error: channel "k": a stage is read after its release
//       %t = tile.await %s : !tile.pending<vector<64x64xf32>>
// ...
// early.mlir:{{.*}}: note: value 1 is released here in pass 1 of its loop
// ...
// [1]
// $ fa4-test-opt early.mlir --tile-explore-protocol
// early.mlir:{{.*}}: error: channel "k": read after release
//       %t = tile.await %s : !tile.pending<vector<64x64xf32>>
// ...
// [1]
//
// The result is written to the bytes of the keys while the MMA of another warp may still read them.
//
// $ sed -e 's,//+write ,,' -e '/#write$/d' $S/tile-verify-protocol-await.mlir | fa4-opt --tile-allocate -o apart.mlir
// $ sed -E 's/("k" smem stages.1. place<offset)[(][0-9]+/\1(0/' apart.mlir > over.mlir
// $ fa4-opt apart.mlir --tile-verify-protocol -o /dev/null
// $ fa4-opt over.mlir --tile-verify-protocol
// over.mlir:{{.*}}: error: channel "o": @compute may overwrite a stage in pass 1 of its loop while @compute reads it (channel "k")
// ...
// over.mlir:{{.*}}: note: the access{{.*}}, which nothing orders before the write: other lanes of the role may come later
// ...
// [1]
//
// Each thread arrives, or one thread of the role.
//
// $ sed 's/arrivals(4)/arrivals(128)/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "k" has arrivals(128) a phase of its empty barriers, expected arrivals(4): @compute 4
// ...
// [1]
// $ sed 's/arrivals(4)/arrivals(1)/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "k" has arrivals(1) a phase of its empty barriers, expected arrivals(4): @compute 4
// ...
// [1]

tile.kernel @await(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"], tile.output = "partial"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %k = tile.channel "k" smem stages(1) : <vector<64x64xbf16>>
  %o = tile.channel "o" smem stages(1) : <vector<64x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c64 {
      tile.acquire %k : <vector<64x64xbf16>>
      %tk = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
      tile.commit %k, %tk : <vector<64x64xbf16>>, vector<64x64xbf16>
    }
  }
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c64 {
      %tk = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %s = tile.mma %tk, transpose %tk : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      //+early tile.release %k : <vector<64x64xbf16>>
      //+write tile.acquire %o : <vector<64x64xf32>>
      //+write tile.commit %o, %zero : <vector<64x64xf32>>, vector<64x64xf32>
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      tile.release %k : <vector<64x64xbf16>> // #release
      tile.acquire %o : <vector<64x64xf32>> // #write
      tile.commit %o, %t : <vector<64x64xf32>>, vector<64x64xf32> // #write
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c64 {
      %t = tile.wait %o : <vector<64x64xf32>> -> vector<64x64xf32>
      tile.store %t, %y[%i, %c0] : vector<64x64xf32>, memref<?x64xf32>
      tile.release %o : <vector<64x64xf32>>
    }
  }
}
