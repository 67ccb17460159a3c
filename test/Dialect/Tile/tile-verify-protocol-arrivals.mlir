// A release by a role that issues MMAs waits for them if MMAs of the role read the
// channel (tcgen05.commit). Of a scalar, one thread arrives, whatever its MMAs have
// come to. Here @count hears that the leader has the number of a pass, which does not
// mean that the MMAs have read "k".
//
// RUN: sed 's,^//+k ,,' %s | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' -o /dev/null
// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s
// CHECK: error: channel "k": @load may overwrite a stage in pass 2 of its loop while @mma reads it (channel "k")
// CHECK: note: the access in pass 1 of its loop, which nothing orders before the write: @load has waited for no commit or release by @mma that follows its end

tile.kernel @kernel(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %k = tile.channel "k" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %number = tile.channel "number" smem stages(1) : <index>
  %go = tile.channel "go" smem stages(1) : <index>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %at = tile.wait %go : <index> -> index
      tile.release %go : <index>
//+k       tile.acquire %k : <vector<128x64xbf16>>
      %tk = tile.load %x[%at, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %k, %tk : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %tk = tile.wait %k : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tk, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
//+k       tile.release %k : <vector<128x64xbf16>>
      %at = tile.wait %number : <index> -> index
      tile.release %number : <index>
    }
  }
  tile.role @count kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %number : <index>
      tile.commit %number, %i : <index>, index
      tile.acquire %go : <index>
      tile.commit %go, %i : <index>, index
    }
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %negated = arith.negf %ts : vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
    }
  }
}
