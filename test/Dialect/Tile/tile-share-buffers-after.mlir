// What tile-share-buffers claims is proven before there are places: a buffer that is
// used 'after' another one is taken to overlap it, wherever the two will lie.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
// RUN: fa4-test-opt copy.mlir --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-verify-protocol,tile-explore-protocol))' | FileCheck copy.mlir
//
// 'out' is not derived from 'in' in wrong.mlir.
//
// $ fa4-opt wrong.mlir --tile-verify-protocol --mlir-print-op-on-diagnostic=0
// {{.*}}error: channel "out": @second may overwrite a stage while @first reads it (channel "in")
// ...
// [1]
// $ fa4-opt wrong.mlir --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: channel "out": @second may overwrite a stage while @first reads it (channel "in")
// ...
// [1]
//
// The channels of turns.mlir are in one place, and the second one is written before the first one has been read.
//
// $ fa4-opt turns.mlir --tile-verify-protocol --mlir-print-op-on-diagnostic=0
// {{.*}}error: channel "a": @lanes may read a stage while @mma writes it (channel "b")
// ...
// [1]

// The role has read 'in' when it commits 'sums', and 'out' is written when 'sums' has
// been waited for.

//--- copy.mlir
// CHECK: %in = tile.channel "in" smem stages(1) : <vector<128x64xf32>>
// CHECK: %sums = tile.channel "sums" smem stages(1) : <vector<128xf32>>
// CHECK: %out = tile.channel "out" smem stages(1) after(%in : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
// CHECK-NOT: tile.acquire
tile.kernel @copy(%x: memref<128x64xf32> {tile.name = "x", tile.dims = ["128", "64"]},
                  %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // Declared in another order than they are used in.
  %out = tile.channel "out" smem stages(1) : <vector<128x64xf32>>
  %in = tile.channel "in" smem stages(1) : <vector<128x64xf32>>
  %sums = tile.channel "sums" smem stages(1) : <vector<128xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.acquire %in : <vector<128x64xf32>>
    %t = tile.load %x[%c0, %c0] : memref<128x64xf32> -> vector<128x64xf32>
    tile.commit %in, %t : <vector<128x64xf32>>, vector<128x64xf32>
  }
  tile.role @first kind(vector) {
    %zero = arith.constant dense<0.0> : vector<128xf32>
    %t = tile.wait %in : <vector<128x64xf32>> -> vector<128x64xf32>
    %s = vector.multi_reduction <add>, %t, %zero [1] : vector<128x64xf32> to vector<128xf32>
    tile.release %in : <vector<128x64xf32>>
    tile.acquire %sums : <vector<128xf32>>
    tile.commit %sums, %s : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @second kind(vector) {
    %s = tile.wait %sums : <vector<128xf32>> -> vector<128xf32>
    %c = vector.shape_cast %s : vector<128xf32> to vector<128x1xf32>
    %b = vector.broadcast %c : vector<128x1xf32> to vector<128x64xf32>
    tile.release %sums : <vector<128xf32>>
    tile.acquire %out : <vector<128x64xf32>>
    tile.commit %out, %b : <vector<128x64xf32>>, vector<128x64xf32>
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %t = tile.wait %out : <vector<128x64xf32>> -> vector<128x64xf32>
    tile.store %t, %y[%c0, %c0] : vector<128x64xf32>, memref<128x64xf32>
    tile.release %out : <vector<128x64xf32>>
  }
}

//--- wrong.mlir
tile.kernel @wrong(%x: memref<128x64xf32> {tile.name = "x", tile.dims = ["128", "64"]},
                   %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %in = tile.channel "in" smem stages(1) : <vector<128x64xf32>>
  %out = tile.channel "out" smem stages(1) after(%in : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] : memref<128x64xf32> -> vector<128x64xf32>
    tile.commit %in, %t : <vector<128x64xf32>>, vector<128x64xf32>
  }
  tile.role @first kind(vector) {
    %t = tile.wait %in : <vector<128x64xf32>> -> vector<128x64xf32>
    %e = math.exp2 %t : vector<128x64xf32>
  }
  tile.role @second kind(vector) {
    %b = arith.constant dense<1.0> : vector<128x64xf32>
    tile.commit %out, %b : <vector<128x64xf32>>, vector<128x64xf32>
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %t = tile.wait %out : <vector<128x64xf32>> -> vector<128x64xf32>
    tile.store %t, %y[%c0, %c0] : vector<128x64xf32>, memref<128x64xf32>
  }
}

//--- turns.mlir
tile.kernel @turns() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %a = tile.channel "a" tmem stages(1) : <vector<128x128xf32>>
  %b = tile.channel "b" tmem stages(1) in_place_of(%a : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %t = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %s = tile.mma %t, transpose %t : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %a, %s : <vector<128x128xf32>>, vector<128x128xf32>
    %u = tile.mma %t, %t : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %b, %u : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %t = tile.wait %a : <vector<128x128xf32>> -> vector<128x128xf32>
    %e = math.exp2 %t : vector<128x128xf32>
    %u = tile.wait %b : <vector<128x128xf32>> -> vector<128x128xf32>
    %f = math.exp2 %u : vector<128x128xf32>
  }
}
