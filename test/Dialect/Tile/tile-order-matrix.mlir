// A release moves to the last read of its stage. Of an MMA that lanes have started this is the await, not the MMA: in
// front of it the copy engine would write what the MMA still reads.
//
// RUN: fa4-opt %s --tile-order | FileCheck %s

// CHECK-LABEL: tile.role @compute
// CHECK:         %[[A:.*]] = tile.wait %x
// CHECK-NEXT:    %[[S:.*]] = tile.mma %[[A]], transpose %[[A]]
// CHECK-NEXT:    %[[B:.*]] = tile.wait %w
// CHECK-NEXT:    %[[U:.*]] = tile.mma %[[A]], %[[B]]
// CHECK-NEXT:    %[[T:.*]] = tile.await %[[S]]
// CHECK:         %[[V:.*]] = tile.await %[[U]]
// CHECK-DAG:     tile.release %x
// CHECK-DAG:     tile.release %w
// CHECK:         tile.acquire %y
tile.kernel @k(%xs: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
               %ys: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "partial"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  %w = tile.channel "w" smem stages(1) : <vector<64x64xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<64x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.acquire %x : <vector<64x64xbf16>>
    %a = tile.load %xs[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
    tile.commit %x, %a : <vector<64x64xbf16>>, vector<64x64xbf16>
    tile.acquire %w : <vector<64x64xbf16>>
    %b = tile.load %xs[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
    tile.commit %w, %b : <vector<64x64xbf16>>, vector<64x64xbf16>
  }
  tile.role @compute kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %b = tile.wait %w : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %u = tile.mma %a, %b : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %v = tile.await %u : !tile.pending<vector<64x64xf32>>
    %z = arith.addf %t, %v : vector<64x64xf32>
    tile.acquire %y : <vector<64x64xf32>>
    tile.commit %y, %z : <vector<64x64xf32>>, vector<64x64xf32>
    tile.release %x : <vector<64x64xbf16>>
    tile.release %w : <vector<64x64xbf16>>
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %t = tile.wait %y : <vector<64x64xf32>> -> vector<64x64xf32>
    tile.store %t, %ys[%c0, %c0] : vector<64x64xf32>, memref<?x64xf32>
    tile.release %y : <vector<64x64xf32>>
  }
}
