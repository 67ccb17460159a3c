// A loop of a matrix role carries a stage that MMAs of two passes read, and an MMA reads what lanes of its own role have
// handed over. The verifier, and the explorer that tries every order of steps, must follow the carried stage under its
// other name: with the release of a stage that the MMA of the pass before still reads, with one stage too few, or with
// an MMA in front of what it reads, a kernel would give wrong numbers or hang.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/tile-verify-protocol-carried.mlir --tile-allocate --tile-verify-protocol -o placed.mlir
// $ fa4-test-opt placed.mlir --tile-explore-protocol -o /dev/null
//
// A release in front of the MMA that reads the carried stage.
//
// $ sed -e '/#release$/d' -e 's,//+early ,,' $S/tile-verify-protocol-carried.mlir > early.mlir
// $ fa4-opt early.mlir --tile-verify-protocol
// early.mlir:{{.*}}: error: channel "k": a stage is read after its release
// ...
// [1]
// $ fa4-test-opt early.mlir --tile-explore-protocol
// early.mlir:{{.*}}: error: channel "k": read after release
// ...
// [1]
//
// One stage, of which the next value is waited for before the last one is released.
//
// $ sed -e '/"k"/s/stages.2./stages(1)/' $S/tile-verify-protocol-carried.mlir > one.mlir
// $ fa4-opt one.mlir --tile-verify-protocol
// one.mlir:{{.*}}: error: channel "k": @load waits forever for @compute to release it
// ...
// [1]
// $ fa4-test-opt one.mlir --tile-explore-protocol
// one.mlir:{{.*}}: error: channel "k": @load never goes on
// ...
// [1]
//
// The role's own value, with a stage that it would have to release before it can write the next one.
//
// $ sed -e '/"s"/s/stages.2./stages(1)/' $S/tile-verify-protocol-carried.mlir > own.mlir
// $ fa4-opt own.mlir --tile-verify-protocol
// own.mlir:{{.*}}: error: channel "s": @compute waits forever for @compute to release it
// ...
// [1]
// $ fa4-test-opt own.mlir --tile-explore-protocol
// own.mlir:{{.*}}: error: channel "s": @compute never goes on
// ...
// [1]

tile.kernel @carried(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %k = tile.channel "k" smem stages(2) : <vector<64x64xbf16>>
  %s = tile.channel "s" smem stages(2) : <vector<64x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %dim = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %dim, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %k : <vector<64x64xbf16>>
      %tk = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
      tile.commit %k, %tk : <vector<64x64xbf16>>, vector<64x64xbf16>
    }
  }
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %dim = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %dim, %c1 : index
    %zero = arith.constant dense<0.0> : vector<64x64xbf16>
    %first = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
    tile.acquire %s : <vector<64x64xbf16>>
    tile.commit %s, %zero : <vector<64x64xbf16>>, vector<64x64xbf16>
    %last = scf.for %i = %c1 to %n step %c1 iter_args(%before = %first) -> (vector<64x64xbf16>) {
      %tk = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %a = tile.mma %tk, transpose %tk : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      //+early tile.release %k : <vector<64x64xbf16>>
      %ta = tile.await %a : !tile.pending<vector<64x64xf32>>
      tile.acquire %s : <vector<64x64xbf16>>
      %na = arith.truncf %ta : vector<64x64xf32> to vector<64x64xbf16>
      tile.commit %s, %na : <vector<64x64xbf16>>, vector<64x64xbf16>
      %ts = tile.wait %s : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %b = tile.mma transpose %ts, %before : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %tb = tile.await %b : !tile.pending<vector<64x64xf32>>
      tile.release %s : <vector<64x64xbf16>>
      tile.release %k : <vector<64x64xbf16>> // #release
      scf.yield %tk : vector<64x64xbf16>
    }
    %ts = tile.wait %s : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %b = tile.mma transpose %ts, %last : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %tb = tile.await %b : !tile.pending<vector<64x64xf32>>
    tile.release %s : <vector<64x64xbf16>>
    tile.release %k : <vector<64x64xbf16>>
  }
}
