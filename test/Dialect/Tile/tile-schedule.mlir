// tile-schedule reorders each role so that MMAs are issued before the data that
// they do not need, peels the loop accordingly, and gives rings the stages that
// memory has room for.
//
// RUN: fa4-opt %s --tile-schedule=verify=false | FileCheck %s
// RUN: fa4-opt %s --tile-schedule="split-arrival=false verify=false" | FileCheck --check-prefix=WHOLE %s
// RUN: fa4-opt %s --tile-schedule="max-stages=1 verify=false" | FileCheck --check-prefix=ONE %s
// RUN: fa4-opt %s --mlir-disable-threading --tile-schedule="print verify=false" -o /dev/null 2>&1 | FileCheck --check-prefix=TABLE %s
// RUN: fa4-opt %s --tile-schedule=verify=false --tile-share-buffers=verify=false --tile-allocate=verify=false | FileCheck --check-prefix=PLACED %s
// RUN: fa4-opt %s --tile-schedule=verify=false -o %t && fa4-opt %t --tile-schedule="split-arrival=false verify=false" | FileCheck --check-prefix=AGAIN %s

// A loop that hands on what another role was to make from its own product.
// RUN: sed -e '/%%to0 = tile.mma/d' -e 's/tile.commit %%o0, %%to0/tile.commit %%o0, %%tor0/' %s | fa4-opt --tile-schedule=verify=false -o /dev/null 2>&1 | FileCheck --check-prefix=EARLY %s
// EARLY: remark: not pipelined: an operation would come before what it uses
// (Not verified: some channels have one side only, and loops may make no pass.)

// Two query tiles that share keys and values: attention, after roles have been
// found. Shared memory leaves room for 5 stages: 2 of each ring, because a third
// stage of one alone is of no use.
// PLACED: smem_bytes = {{[0-9]+}}

// CHECK-LABEL: tile.kernel @attention
// CHECK-DAG: tile.channel "k" smem stages(2)
// CHECK-DAG: tile.channel "v" smem stages(2)
// CHECK-DAG: tile.channel "q0" smem stages(1)
// CHECK-DAG: tile.channel "p0.0" tmem stages(1) : <vector<128x96xbf16>>
// CHECK-DAG: tile.channel "p0.1" tmem stages(1) : <vector<128x32xbf16>>
// ONE: tile.channel "k" smem stages(1)
// ONE: tile.channel "v" smem stages(1)
// WHOLE: tile.channel "p0" tmem stages(1) : <vector<128x128xbf16>>

// Loads in the order in which they are waited for.
// CHECK-LABEL: tile.role @load
// CHECK: %[[N:.*]] = arith.maxsi
// CHECK: tile.acquire %q0
// CHECK-NEXT: tile.load %arg0
// CHECK-NEXT: tile.commit %q0
// CHECK-NEXT: tile.acquire %k
// CHECK-NEXT: tile.load %arg1
// CHECK-NEXT: tile.commit %k
// CHECK-NEXT: tile.acquire %q1
// CHECK-NEXT: tile.load %arg0
// CHECK-NEXT: tile.commit %q1
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK: tile.acquire %v
// CHECK: %[[BLOCK:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK: tile.load %arg2
// CHECK: tile.commit %v
// CHECK: tile.acquire %k
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: arith.subi %{{.*}}, %[[NEXT]]
// CHECK: tile.load %arg1
// CHECK: tile.commit %k
// CHECK: }
// CHECK: tile.load %arg2
// CHECK-NEXT: tile.commit %v
// CHECK-NEXT: }

// S0 S1 | PV0(i) S0(i+1) PV1(i) S1(i+1) | PV0 PV1
// CHECK-LABEL: tile.role @mma
// CHECK: %[[N:.*]] = arith.maxsi
// CHECK-NEXT: tile.acquire %s0
// CHECK-NEXT: %[[Q0:.*]] = tile.wait %q0
// CHECK-NEXT: %[[K0:.*]] = tile.wait %k
// CHECK-NEXT: tile.mma %[[Q0]], transpose %[[K0]]
// CHECK-NEXT: tile.commit %s0
// CHECK-NEXT: tile.acquire %s1
// CHECK-NEXT: %[[Q1:.*]] = tile.wait %q1
// CHECK-NEXT: tile.mma %[[Q1]], transpose %[[K0]]
// CHECK-NEXT: tile.commit %s1
// CHECK-NEXT: tile.release %k
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[N]], %c1
// CHECK-NEXT: scf.for %[[J:.*]] = %c0 to %[[LAST]] step %c1 {
// CHECK-NEXT: %[[V:.*]] = tile.wait %v
// CHECK-NEXT: %[[VA:.*]] = vector.extract_strided_slice %[[V]] {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]}
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ne, %[[J]], %c0
// CHECK-NEXT: %[[PA:.*]] = tile.wait %p0.0
// CHECK-NEXT: %[[O:.*]] = tile.wait %or0
// CHECK-NEXT: %[[OA:.*]] = tile.mma %[[PA]], %[[VA]] acc %[[O]] if %[[MORE]]
// CHECK-NEXT: tile.release %p0.0
// CHECK-NEXT: %[[VB:.*]] = vector.extract_strided_slice %[[V]] {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]}
// CHECK-NEXT: %[[PB:.*]] = tile.wait %p0.1
// CHECK-NEXT: %[[OB:.*]] = tile.mma %[[PB]], %[[VB]] acc %[[OA]] :
// CHECK-NEXT: tile.commit %o0, %[[OB]]
// CHECK-NEXT: tile.release %p0.1
// CHECK-NEXT: tile.acquire %s0
// CHECK-NEXT: %[[K:.*]] = tile.wait %k
// CHECK-NEXT: tile.mma %[[Q0]], transpose %[[K]]
// CHECK-NEXT: tile.commit %s0
// CHECK: tile.wait %p1.0
// CHECK: tile.wait %p1.1
// CHECK: tile.commit %o1
// CHECK-NEXT: tile.release %p1.1
// CHECK-NEXT: tile.release %v
// CHECK-NEXT: tile.acquire %s1
// CHECK-NEXT: tile.mma %[[Q1]], transpose %[[K]]
// CHECK-NEXT: tile.commit %s1
// CHECK-NEXT: tile.release %k
// CHECK-NEXT: }
// CHECK-NEXT: tile.release %q0
// CHECK-NEXT: tile.release %q1
// CHECK-NEXT: tile.wait %v
// CHECK-NOT: transpose
// CHECK: arith.cmpi ne, %[[LAST]], %c0
// CHECK: tile.commit %o0
// CHECK: tile.commit %o1
// CHECK-NEXT: tile.release %p1.1
// CHECK-NEXT: tile.release %v
// CHECK-NEXT: }

// The parts of P are on their way before what only the next iteration needs.
// CHECK-LABEL: tile.role @compute0
// CHECK: scf.for
// CHECK: tile.wait %s0
// CHECK: tile.acquire %a0
// CHECK-NEXT: tile.commit %a0
// CHECK: math.fma
// CHECK-NEXT: tile.release %s0
// CHECK-NEXT: tile.acquire %p0.0
// CHECK-NEXT: tile.acquire %p0.1
// CHECK-NEXT: math.exp2
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: %[[A:.*]] = vector.extract_strided_slice {{.*}} {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]}
// CHECK-NEXT: tile.commit %p0.0, %[[A]]
// CHECK-NEXT: %[[B:.*]] = vector.extract_strided_slice {{.*}} {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]}
// CHECK-NEXT: tile.commit %p0.1, %[[B]]
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: vector.multi_reduction <add>
// CHECK-NEXT: scf.yield

// CHECK-LABEL: tile.role @correction
// CHECK: tile.wait %o0
// CHECK-NEXT: tile.rescale
// CHECK-NEXT: tile.commit %or0
// CHECK-NEXT: tile.release %a0
// CHECK: tile.acquire %out0
// CHECK: arith.mulf
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: tile.commit %out0

// TABLE-LABEL: schedule of @attention
// TABLE: role @mma
// TABLE-NEXT: acquire s0 0
// TABLE-NEXT: wait q0{{$}}
// TABLE-NEXT: wait k 0
// TABLE-NEXT: mma s0 0 q0 * k^T
// TABLE: loop, n passes
// TABLE-NEXT: wait v i{{$}}
// TABLE: mma o0 i p0.0 * v[0:96, 0:128]
// TABLE: mma o0 i p0.1 * v[96:128, 0:128]
// TABLE: mma s0 i+1 q0 * k^T
// TABLE: then:
// TABLE: mma o0 n p0.0 * v[0:96, 0:128]
// TABLE: channels
// TABLE: k smem 2 x vector<128x128xbf16>
// TABLE: or0 tmem 1 x vector<128x128xf32> in place of o0

// What has been pipelined is not pipelined once more.
// AGAIN: tile.role @mma
// AGAIN: scf.for
// AGAIN-NOT: scf.for
// AGAIN: tile.role @compute0

tile.kernel @attention(
    %q: memref<?x?x?x128xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "Hq", "128"]},
    %k: memref<?x?x?x128xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "Hkv", "128"]},
    %v: memref<?x?x?x128xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "Hkv", "128"]},
    %out: memref<?x?x?x128xbf16> {tile.name = "out", tile.dims = ["B", "Sq", "Hq", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"Hq">, #tile.extent<"B">]} {
  %q0 = tile.channel "q0" smem stages(1) : <vector<128x128xbf16>>
  %q1 = tile.channel "q1" smem stages(1) : <vector<128x128xbf16>>
  %kc = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
  %vc = tile.channel "v" smem stages(1) : <vector<128x128xbf16>>
  %s0 = tile.channel "s0" tmem stages(1) : <vector<128x128xf32>>
  %s1 = tile.channel "s1" tmem stages(1) : <vector<128x128xf32>>
  %p0 = tile.channel "p0" tmem stages(1) : <vector<128x128xbf16>>
  %p1 = tile.channel "p1" tmem stages(1) : <vector<128x128xbf16>>
  %a0 = tile.channel "a0" smem stages(1) : <vector<128xf32>>
  %a1 = tile.channel "a1" smem stages(1) : <vector<128xf32>>
  // The accumulator goes around a ring of two roles.
  %o0 = tile.channel "o0" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %o1 = tile.channel "o1" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %or0 = tile.channel "or0" tmem stages(1) in_place_of(%o0 : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  %or1 = tile.channel "or1" tmem stages(1) in_place_of(%o1 : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  %l0 = tile.channel "l0" smem stages(1) : <vector<128xf32>>
  %l1 = tile.channel "l1" smem stages(1) : <vector<128xf32>>
  %out0 = tile.channel "out0" smem stages(1) : <vector<128x128xbf16>>
  %out1 = tile.channel "out1" smem stages(1) : <vector<128x128xbf16>>

  tile.role @load kind(issuer) first_warp(13) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    %hq = memref.dim %q, %c2 : memref<?x?x?x128xbf16>
    %hkv = memref.dim %k, %c2 : memref<?x?x?x128xbf16>
    %group = arith.divui %hq, %hkv : index
    %hk = arith.divui %h, %group : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    tile.acquire %q0 : <vector<128x128xbf16>>
    %tq0 = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q0, %tq0 : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %q1 : <vector<128x128xbf16>>
    %tq1 = tile.load %q[%b, %row1, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q1, %tq1 : <vector<128x128xbf16>>, vector<128x128xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %blk = arith.subi %last, %j : index
      %col0 = arith.muli %blk, %c128 : index
      tile.acquire %kc : <vector<128x128xbf16>>
      %tk = tile.load %k[%b, %col0, %hk, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %kc, %tk : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %vc : <vector<128x128xbf16>>
      %tv = tile.load %v[%b, %col0, %hk, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %vc, %tv : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }

  tile.role @mma kind(issuer) first_warp(12) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %tq0 = tile.wait %q0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tq1 = tile.wait %q1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %more = arith.cmpi ne, %j, %c0 : index
      %tk = tile.wait %kc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %s0 : <vector<128x128xf32>>
      %ts0 = tile.mma %tq0, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s0, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.acquire %s1 : <vector<128x128xf32>>
      %ts1 = tile.mma %tq1, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s1, %ts1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %kc : <vector<128x128xbf16>>
      %tv = tile.wait %vc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tp0 = tile.wait %p0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tor0 = tile.wait %or0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %to0 = tile.mma %tp0, %tv acc %tor0 if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %o0, %to0 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %p0 : <vector<128x128xbf16>>
      %tp1 = tile.wait %p1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tor1 = tile.wait %or1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %to1 = tile.mma %tp1, %tv acc %tor1 if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %o1, %to1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %p1 : <vector<128x128xbf16>>
      tile.release %vc : <vector<128x128xbf16>>
    }
    tile.release %q0 : <vector<128x128xbf16>>
    tile.release %q1 : <vector<128x128xbf16>>
  }

  tile.role @compute0 kind(vector) first_warp(0) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    %ccol = arith.constant dense<0.127517432> : vector<128xf32>
    %cneg = arith.constant dense<-0.127517432> : vector<128xf32>
    %cs = arith.constant dense<0.127517432> : vector<128x128xf32>
    %one = arith.constant dense<1.0> : vector<128xf32>
    %thr = arith.constant dense<8.0> : vector<128xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m1 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %empty = arith.cmpf oeq, %m1, %rninf : vector<128xf32>
      %msafe1 = arith.select %empty, %rzero, %m1 : vector<128xi1>, vector<128xf32>
      // lazy rescale: keep the old max unless it grows by more than 8
      %d1 = arith.subf %msafe1, %m : vector<128xf32>
      %dc1 = arith.mulf %d1, %ccol : vector<128xf32>
      %keep = arith.cmpf ole, %dc1, %thr : vector<128xf32>
      %m2 = arith.select %keep, %m, %m1 : vector<128xi1>, vector<128xf32>
      %msafe = arith.select %keep, %m, %msafe1 : vector<128xi1>, vector<128xf32>
      %d = arith.subf %m, %msafe : vector<128xf32>
      %dc = arith.mulf %d, %ccol : vector<128xf32>
      %ae = math.exp2 %dc : vector<128xf32>
      %fresh = arith.cmpf oeq, %m, %rninf : vector<128xf32>
      %a = arith.select %fresh, %one, %ae : vector<128xi1>, vector<128xf32>
      tile.acquire %a0 : <vector<128xf32>>
      tile.commit %a0, %a : <vector<128xf32>>, vector<128xf32>
      %nm = arith.mulf %msafe, %cneg : vector<128xf32>
      %nmc = vector.shape_cast %nm : vector<128xf32> to vector<128x1xf32>
      %nmb = vector.broadcast %nmc : vector<128x1xf32> to vector<128x128xf32>
      %y = math.fma %x, %cs, %nmb : vector<128x128xf32>
      %p = math.exp2 %y : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s0 : <vector<128x128xf32>>
      tile.acquire %p0 : <vector<128x128xbf16>>
      tile.commit %p0, %pt : <vector<128x128xbf16>>, vector<128x128xbf16>
      %la = arith.mulf %l, %a : vector<128xf32>
      %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l0 : <vector<128xf32>>
    tile.commit %l0, %r#1 : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @compute1 kind(vector) first_warp(4) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    %ccol = arith.constant dense<0.127517432> : vector<128xf32>
    %cneg = arith.constant dense<-0.127517432> : vector<128xf32>
    %cs = arith.constant dense<0.127517432> : vector<128x128xf32>
    %one = arith.constant dense<1.0> : vector<128xf32>
    %thr = arith.constant dense<8.0> : vector<128xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m1 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %empty = arith.cmpf oeq, %m1, %rninf : vector<128xf32>
      %msafe1 = arith.select %empty, %rzero, %m1 : vector<128xi1>, vector<128xf32>
      // lazy rescale: keep the old max unless it grows by more than 8
      %d1 = arith.subf %msafe1, %m : vector<128xf32>
      %dc1 = arith.mulf %d1, %ccol : vector<128xf32>
      %keep = arith.cmpf ole, %dc1, %thr : vector<128xf32>
      %m2 = arith.select %keep, %m, %m1 : vector<128xi1>, vector<128xf32>
      %msafe = arith.select %keep, %m, %msafe1 : vector<128xi1>, vector<128xf32>
      %d = arith.subf %m, %msafe : vector<128xf32>
      %dc = arith.mulf %d, %ccol : vector<128xf32>
      %ae = math.exp2 %dc : vector<128xf32>
      %fresh = arith.cmpf oeq, %m, %rninf : vector<128xf32>
      %a = arith.select %fresh, %one, %ae : vector<128xi1>, vector<128xf32>
      tile.acquire %a1 : <vector<128xf32>>
      tile.commit %a1, %a : <vector<128xf32>>, vector<128xf32>
      %nm = arith.mulf %msafe, %cneg : vector<128xf32>
      %nmc = vector.shape_cast %nm : vector<128xf32> to vector<128x1xf32>
      %nmb = vector.broadcast %nmc : vector<128x1xf32> to vector<128x128xf32>
      %y = math.fma %x, %cs, %nmb : vector<128x128xf32>
      %p = math.exp2 %y : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s1 : <vector<128x128xf32>>
      tile.acquire %p1 : <vector<128x128xbf16>>
      tile.commit %p1, %pt : <vector<128x128xbf16>>, vector<128x128xbf16>
      %la = arith.mulf %l, %a : vector<128xf32>
      %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l1 : <vector<128xf32>>
    tile.commit %l1, %r#1 : <vector<128xf32>>, vector<128xf32>
  }

  tile.role @correction kind(vector) first_warp(8) registers(80) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    %rone = arith.constant dense<1.0> : vector<128xf32>
    scf.for %j = %c0 to %n step %c1 {
      %ta0 = tile.wait %a0 : <vector<128xf32>> -> vector<128xf32>
      %to0 = tile.wait %o0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %os0 = tile.rescale %to0, %ta0 : vector<128x128xf32>, vector<128xf32>
      tile.commit %or0, %os0 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %a0 : <vector<128xf32>>
      %ta1 = tile.wait %a1 : <vector<128xf32>> -> vector<128xf32>
      %to1 = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %os1 = tile.rescale %to1, %ta1 : vector<128x128xf32>, vector<128xf32>
      tile.commit %or1, %os1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %a1 : <vector<128xf32>>
    }
    %tl0 = tile.wait %l0 : <vector<128xf32>> -> vector<128xf32>
    %none = arith.cmpf oeq, %tl0, %rzero : vector<128xf32>
    %inv0 = arith.divf %rone, %tl0 : vector<128xf32>
    %inv = arith.select %none, %rzero, %inv0 : vector<128xi1>, vector<128xf32>
    %invc = vector.shape_cast %inv : vector<128xf32> to vector<128x1xf32>
    %invb = vector.broadcast %invc : vector<128x1xf32> to vector<128x128xf32>
    %fo0 = tile.wait %o0 : <vector<128x128xf32>> -> vector<128x128xf32>
    %of = arith.mulf %fo0, %invb : vector<128x128xf32>
    %ot = arith.truncf %of : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %out0 : <vector<128x128xbf16>>
    tile.commit %out0, %ot : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %l0 : <vector<128xf32>>
    %tl0B = tile.wait %l1 : <vector<128xf32>> -> vector<128xf32>
    %noneB = arith.cmpf oeq, %tl0B, %rzero : vector<128xf32>
    %inv0B = arith.divf %rone, %tl0B : vector<128xf32>
    %invB = arith.select %noneB, %rzero, %inv0B : vector<128xi1>, vector<128xf32>
    %invcB = vector.shape_cast %invB : vector<128xf32> to vector<128x1xf32>
    %invbB = vector.broadcast %invcB : vector<128x1xf32> to vector<128x128xf32>
    %fo0B = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>
    %ofB = arith.mulf %fo0B, %invbB : vector<128x128xf32>
    %otB = arith.truncf %ofB : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %out1 : <vector<128x128xbf16>>
    tile.commit %out1, %otB : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %l1 : <vector<128xf32>>
  }

  tile.role @store kind(issuer) first_warp(14) registers(48) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    %t0 = tile.wait %out0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t0, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %out0 : <vector<128x128xbf16>>
    %t1 = tile.wait %out1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t1, %out[%b, %row1, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %out1 : <vector<128x128xbf16>>
  }
  tile.role @idle kind(idle) warps(1) first_warp(15) registers(48) {
  }
}

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

// One tile after the other is in registers.
// CHECK-LABEL: tile.kernel @two
// CHECK: tile.role @compute
// CHECK: %[[A:.*]] = tile.wait %a
// CHECK-NEXT: tile.acquire %x
// CHECK-NEXT: %[[X:.*]] = arith.truncf %[[A]]
// CHECK-NEXT: tile.commit %x, %[[X]]
// CHECK-NEXT: tile.release %a
// CHECK-NEXT: %[[R:.*]] = tile.wait %r
// CHECK-NEXT: arith.negf %[[R]]
// CHECK-NEXT: tile.release %r
// CHECK-NEXT: %[[B:.*]] = tile.wait %b
// CHECK-NEXT: tile.acquire %y
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[B]]
// CHECK-NEXT: tile.commit %y, %[[Y]]
// CHECK-NEXT: tile.release %b
tile.kernel @two() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %b = tile.channel "b" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<128x128xbf16>>
  %r = tile.channel "r" smem stages(1) initial(1) : <vector<128xf32>>
  %z = tile.channel "z" smem stages(1) : <vector<128xf32>>
  tile.role @compute kind(vector) {
    tile.acquire %x : <vector<128x128xbf16>>
    tile.acquire %y : <vector<128x128xbf16>>
    %ta = tile.wait %a : <vector<128x128xf32>> -> vector<128x128xf32>
    %tb = tile.wait %b : <vector<128x128xf32>> -> vector<128x128xf32>
    %tx = arith.truncf %ta : vector<128x128xf32> to vector<128x128xbf16>
    %ty = arith.truncf %tb : vector<128x128xf32> to vector<128x128xbf16>
    tile.commit %x, %tx : <vector<128x128xbf16>>, vector<128x128xbf16>
    %tr = tile.wait %r : <vector<128xf32>> -> vector<128xf32>
    %tz = arith.negf %tr : vector<128xf32>
    tile.release %r : <vector<128xf32>>
    tile.commit %y, %ty : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %z : <vector<128xf32>>
    tile.commit %z, %tz : <vector<128xf32>>, vector<128xf32>
    tile.release %a : <vector<128x128xf32>>
    tile.release %b : <vector<128x128xf32>>
  }
}
