// Values go through channels in the parts that the plan asks for, and those
// that cannot be divided stay whole.
//
// RUN: fa4-opt %s --tile-split-values | FileCheck %s

// What lanes compute for the A operand of an MMA arrives in three quarters of
// its columns and the rest, each with an MMA of its own.
// CHECK-LABEL: tile.kernel @arrivals
// CHECK-DAG: tile.channel "p.0" tmem stages(1) : <vector<128x96xbf16>>
// CHECK-DAG: tile.channel "p.1" tmem stages(1) : <vector<128x32xbf16>>
// CHECK: tile.role @compute
// CHECK: tile.commit %p.0
// CHECK: tile.commit %p.1
// CHECK: tile.role @mma
// CHECK: %[[P0:.*]] = tile.wait %p.0
// CHECK: %[[P1:.*]] = tile.wait %p.1
// CHECK: %[[B0:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0, 0], sizes = [96, 64]
// CHECK: %[[O0:.*]] = tile.mma %[[P0]], %[[B0]]
// CHECK: %[[B1:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [96, 0], sizes = [32, 64]
// CHECK: tile.mma %[[P1]], %[[B1]] acc %[[O0]]
// CHECK: tile.release %p.0
// CHECK: tile.release %p.1
tile.kernel @arrivals() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %b = tile.channel "b" smem stages(1) initial(1) : <vector<128x64xbf16>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
    %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %p : <vector<128x128xbf16>>
    tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.acquire %o : <vector<128x64xf32>>
    %to = tile.mma %tp, %tb : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
    tile.release %p : <vector<128x128xbf16>>
  }
}

// Stored values leave in parts of equal columns, one after another through the
// same channel, and values of the same roles through one ring. A load arrives in
// parts of 64 columns, the swizzle's, each in a channel of its own.
// CHECK-LABEL: tile.kernel @stores_and_loads
// CHECK-DAG: tile.channel "x" smem stages(2) : <vector<128x64xf32>>
// CHECK-DAG: tile.channel "k.0" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "k.1" smem stages(1) : <vector<128x64xbf16>>
// CHECK-NOT: tile.channel "y"
// CHECK: tile.role @compute
// CHECK-COUNT-4: tile.commit %x
// CHECK: tile.role @store
// CHECK: scf.for
// CHECK-COUNT-4: tile.store
// CHECK: tile.role @load
// CHECK: tile.commit %k.0
// CHECK: %[[AT:.*]] = arith.constant 64 : index
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[AT]]]
// CHECK: tile.commit %k.1
tile.kernel @stores_and_loads(
    %a: memref<?x128xf32> {tile.name = "a", tile.dims = ["N", "128"]},
    %b: memref<?x128xf32> {tile.name = "b", tile.dims = ["N", "128"]},
    %k: memref<?x128xbf16> {tile.name = "k", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">],
                plan = #tile.plan<mmas = early, store_parts = 2, divide_loads = true>} {
  %q = tile.channel "q" smem stages(1) initial(1) : <vector<128x128xbf16>>
  %kc = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x128xf32>>
  %y = tile.channel "y" smem stages(1) : <vector<128x128xf32>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %tx = arith.negf %ts : vector<128x128xf32>
      tile.acquire %x : <vector<128x128xf32>>
      tile.commit %x, %tx : <vector<128x128xf32>>, vector<128x128xf32>
      %ty = arith.addf %ts, %ts : vector<128x128xf32>
      tile.acquire %y : <vector<128x128xf32>>
      tile.commit %y, %ty : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c128 : index
      %tx = tile.wait %x : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.store %tx, %a[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
      tile.release %x : <vector<128x128xf32>>
      %ty = tile.wait %y : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.store %ty, %b[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
      tile.release %y : <vector<128x128xf32>>
    }
  }
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c128 : index
      tile.acquire %kc : <vector<128x128xbf16>>
      %tk = tile.load %k[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
      tile.commit %kc, %tk : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %tq = tile.wait %q : <vector<128x128xbf16>> -> vector<128x128xbf16>
    scf.for %i = %c0 to %c8 step %c1 {
      %tk = tile.wait %kc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tq, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %kc : <vector<128x128xbf16>>
    }
  }
}

// A plan may ask for what a kernel does not have.
// CHECK-LABEL: tile.kernel @nothing
// CHECK: tile.channel "a" smem stages(1) initial(1) : <vector<128xf32>>
tile.kernel @nothing() attributes {
    chip = "sm_100a", grid = [#tile.extent<"1">],
    plan = #tile.plan<mmas = early, store_parts = 4, share_stores = true, divide_loads = true>} {
  %a = tile.channel "a" smem stages(1) initial(1) : <vector<128xf32>>
  tile.role @compute kind(vector) {
    %ta = tile.wait %a : <vector<128xf32>> -> vector<128xf32>
  }
}
