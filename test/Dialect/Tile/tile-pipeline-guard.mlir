// A pipelined loop begins with a prologue, which issues the first iteration's
// products. Where the loop may make no pass the prologue must not run either: the
// pass puts prologue, loop and epilogue under an scf.if. Where the loop is known
// to run there is no condition.
//
// RUN: fa4-opt %s --split-input-file --tile-schedule=split-arrival=false | FileCheck %s
// RUN: fa4-test-opt %s --split-input-file --tile-schedule=split-arrival=false --tile-explore-protocol=max-passes=3 -o /dev/null
// Its loops are found again by a second run of the pass.
// RUN: fa4-opt %s --split-input-file --tile-schedule=split-arrival=false --canonicalize --cse --verify-protocol -o /dev/null

// CHECK-LABEL: tile.kernel @may_be_empty
// CHECK: tile.role @mma
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[ZERO:.*]], %[[N]] : index
// CHECK-NEXT: scf.if %[[ANY]] {
// The prologue: the first product of iteration 0.
// CHECK: tile.acquire %s
// CHECK: tile.mma %[[A0:.*]], transpose %[[A0]]
// CHECK: tile.commit %s
// CHECK: %[[A:.*]] = scf.for
// CHECK: tile.wait %p
// CHECK: tile.mma
// CHECK: tile.commit %o
// CHECK: tile.mma
// CHECK: tile.commit %s
// CHECK: scf.yield
// The epilogue: the second product of the last iteration.
// CHECK: tile.wait %p
// CHECK: tile.mma
// CHECK: tile.commit %o
// CHECK-NOT: else
// CHECK: tile.role @compute
tile.kernel @may_be_empty(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                          %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %a : <vector<128x64xbf16>>
      %ta = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %a, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %o : <vector<128x64xf32>>
      %to = tile.mma %tp, %ta : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
      tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.release %a : <vector<128x64xbf16>>
    }
  }
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @out kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %to = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
      %twice = arith.addf %to, %to : vector<128x64xf32>
      tile.release %o : <vector<128x64xf32>>
    }
  }
}

// -----

// CHECK-LABEL: tile.kernel @runs
// CHECK: tile.role @mma
// CHECK-NOT: scf.if
// CHECK: tile.commit %s
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: tile.role @compute
tile.kernel @runs(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                          %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %d = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %d, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %a : <vector<128x64xbf16>>
      %ta = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %a, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %d = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %d, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %o : <vector<128x64xf32>>
      %to = tile.mma %tp, %ta : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
      tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.release %a : <vector<128x64xbf16>>
    }
  }
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %d = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %d, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @out kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %d = memref.dim %x, %c0 : memref<?x64xbf16>
    %n = arith.maxsi %d, %c1 : index
    scf.for %i = %c0 to %n step %c1 {
      %to = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
      %twice = arith.addf %to, %to : vector<128x64xf32>
      tile.release %o : <vector<128x64xf32>>
    }
  }
}
