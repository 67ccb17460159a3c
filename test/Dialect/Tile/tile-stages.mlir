// Rings that loads fill get as many stages as shared memory has room for and as
// hide the time of a load, up to the number that the plan allows.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-pipeline,tile-order,tile-stages))' | FileCheck %s
// RUN: sed 's/attributes {/attributes {plan = #tile.plan<mmas = early, max_stages = 2>, /' %s | fa4-opt --tile-stages=print 2>&1 | FileCheck --check-prefix=FEW %s

// FEW: a smem 2 x vector<128x64xbf16>
// FEW: b smem 2 x vector<64x128xbf16>

// One stage of operations, and the accumulator stays: no prologue; stages for
// the loads, whose order is that of the waits. Shared memory has room for seven;
// with six, five passes of 256 cycles of MMAs hide the 1150 of a load.
// CHECK-LABEL: tile.kernel @gemm
// CHECK: tile.channel "a" smem stages(6)
// CHECK: tile.channel "b" smem stages(6)
// CHECK-LABEL: tile.role @load
// CHECK: scf.for
// CHECK: tile.load %arg0
// CHECK: tile.load %arg1
// CHECK-LABEL: tile.role @mma
// CHECK: tile.acquire %acc
// CHECK-NEXT: %[[ACC:.*]] = scf.for %[[I:.*]] = %c0 to %{{.*}} step %c64 iter_args(%[[X:.*]] = %cst)
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ne, %[[I]], %c0
// CHECK-NEXT: %[[A:.*]] = tile.wait %a
// CHECK-NEXT: %[[B:.*]] = tile.wait %b
// CHECK-NEXT: %[[Y:.*]] = tile.mma %[[A]], %[[B]] acc %[[X]] if %[[MORE]]
// CHECK-NEXT: tile.release %a
// CHECK-NEXT: tile.release %b
// CHECK-NEXT: scf.yield %[[Y]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.commit %acc, %[[ACC]]
// CHECK-LABEL: tile.role @epilogue
// CHECK: tile.wait %acc
// CHECK-NEXT: tile.acquire %out
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: tile.commit %out
// CHECK-NEXT: tile.release %acc

tile.kernel @gemm(
    %a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
    %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
    %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %ac = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %bc = tile.channel "b" smem stages(1) : <vector<64x128xbf16>>
  %accc = tile.channel "acc" tmem stages(1) : <vector<128x128xf32>>
  %outc = tile.channel "out" smem stages(1) : <vector<128x128xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %tm, %tn = tile.work_tile : index, index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    scf.for %i = %c0 to %k step %c64 {
      tile.acquire %bc : <vector<64x128xbf16>>
      %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
      tile.commit %bc, %tb : <vector<64x128xbf16>>, vector<64x128xbf16>
      tile.acquire %ac : <vector<128x64xbf16>>
      %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
      tile.commit %ac, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    tile.acquire %accc : <vector<128x128xf32>>
    %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
      %more = arith.cmpi ne, %i, %c0 : index
      %ta = tile.wait %ac : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tb = tile.wait %bc : <vector<64x128xbf16>> -> vector<64x128xbf16>
      %y = tile.mma %ta, %tb acc %x if %more : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
      tile.release %ac : <vector<128x64xbf16>>
      tile.release %bc : <vector<64x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %accc, %acc : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @epilogue kind(vector) {
    %t = tile.wait %accc : <vector<128x128xf32>> -> vector<128x128xf32>
    %h = arith.truncf %t : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %outc : <vector<128x128xbf16>>
    tile.commit %outc, %h : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %accc : <vector<128x128xf32>>
  }
  tile.role @store kind(issuer) {
    %c128 = arith.constant 128 : index
    %tm, %tn = tile.work_tile : index, index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %t = tile.wait %outc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
    tile.release %outc : <vector<128x128xbf16>>
  }
}
