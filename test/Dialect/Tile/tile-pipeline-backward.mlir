// In the gradient the products that need P and dS run one iteration behind, so
// that the tensor cores have work during the exponentials. The order is
// FlashAttention-4's.
//
// RUN: fa4-opt %s --tile-schedule="split-arrival=false verify=false" | FileCheck %s
// RUN: fa4-opt %s --tile-schedule="print verify=false" -o /dev/null 2>&1 | FileCheck --check-prefix=TABLE %s
// (Not verified: where there is no block, the accumulators are read all the same.)

// The gradient: what waits for P and dS is one iteration behind.
// dV(i) S(i+1) dK(i) dQ(i) dP(i+1)
//
// q is used by S one iteration ahead and by dK: two stages. do has been used by
// dV before it is waited for again: one.
// CHECK-DAG: tile.channel "q" smem stages(2)
// CHECK-DAG: tile.channel "do" smem stages(1)

// What compute roles need is loaded after what makes their other operands.
// CHECK-LABEL: tile.role @load
// CHECK: tile.load %arg2
// CHECK: tile.load %arg3
// CHECK: scf.for
// CHECK: tile.commit %q,
// CHECK: tile.commit %lse
// CHECK: tile.commit %do
// CHECK: tile.commit %delta

// The number of blocks may be 0.
// CHECK-LABEL: tile.role @mma
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %c0, %arg9
// CHECK: %[[K:.*]] = tile.wait %k
// CHECK: %[[V:.*]] = tile.wait %v
// CHECK: %[[R:.*]]:2 = scf.if %[[ANY]]
// CHECK-NEXT: tile.acquire %st
// CHECK-NEXT: %[[Q0:.*]] = tile.wait %q
// CHECK-NEXT: tile.mma %[[K]], transpose %[[Q0]]
// CHECK-NEXT: tile.commit %st
// CHECK-NEXT: tile.acquire %dpt
// CHECK-NEXT: %[[DO0:.*]] = tile.wait %do
// CHECK-NEXT: tile.mma %[[V]], transpose %[[DO0]]
// CHECK-NEXT: tile.commit %dpt
// CHECK: %[[L:.*]]:4 = scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1 iter_args(%[[DO:.*]] = %[[DO0]], %[[DV:.*]] = %cst, %[[Q:.*]] = %[[Q0]], %[[DK:.*]] = %cst)
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ne, %[[I]], %c0
// CHECK-NEXT: %[[P:.*]] = tile.wait %pt
// CHECK-NEXT: %[[DV2:.*]] = tile.mma %[[P]], %[[DO]] acc %[[DV]] if %[[MORE]]
// CHECK-NEXT: tile.release %pt
// CHECK-NEXT: tile.release %do
// CHECK-NEXT: tile.acquire %st
// CHECK-NEXT: %[[Q2:.*]] = tile.wait %q
// CHECK-NEXT: tile.mma %[[K]], transpose %[[Q2]]
// CHECK-NEXT: tile.commit %st
// CHECK-NEXT: %[[DS:.*]] = tile.wait %dst
// CHECK-NEXT: %[[DK2:.*]] = tile.mma %[[DS]], %[[Q]] acc %[[DK]] if %[[MORE]]
// CHECK-NEXT: tile.release %dst
// CHECK-NEXT: tile.release %q
// CHECK-NEXT: tile.acquire %dq
// CHECK-NEXT: %[[DSS:.*]] = tile.wait %dss
// CHECK-NEXT: tile.mma transpose %[[DSS]], %[[K]]
// CHECK-NEXT: tile.commit %dq
// CHECK-NEXT: tile.release %dss
// CHECK-NEXT: tile.acquire %dpt
// CHECK-NEXT: %[[DO2:.*]] = tile.wait %do
// CHECK-NEXT: tile.mma %[[V]], transpose %[[DO2]]
// CHECK-NEXT: tile.commit %dpt
// CHECK-NEXT: scf.yield %[[DO2]], %[[DV2]], %[[Q2]], %[[DK2]]
// CHECK-NEXT: }
// CHECK: %[[P:.*]] = tile.wait %pt
// CHECK-NEXT: %[[DV3:.*]] = tile.mma %[[P]], %[[L]]#0 acc %[[L]]#1
// CHECK: %[[DS:.*]] = tile.wait %dst
// CHECK-NEXT: %[[DK3:.*]] = tile.mma %[[DS]], %[[L]]#2 acc %[[L]]#3
// CHECK: tile.commit %dq
// CHECK: scf.yield %[[DV3]], %[[DK3]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst, %cst
// CHECK-NEXT: }
// CHECK-NEXT: tile.commit %dv, %[[R]]#0
// CHECK-NEXT: tile.commit %dk, %[[R]]#1
// CHECK-NEXT: tile.release %k
// CHECK-NEXT: tile.release %v

// A waited value that feeds two MMAs in different ways arrives whole.
// TABLE: mma dv pt.0 * do[0:96, 0:128]
// TABLE: mma dv pt.1 * do[96:128, 0:128]
// TABLE: mma dk dst.0 * q[0:96, 0:128]
// TABLE: mma dq i dss^T * k

// One key tile; the loop is over blocks of queries.
tile.kernel @backward(
    %q: memref<?x128xbf16> {tile.name = "q", tile.dims = ["Sq", "128"]},
    %do: memref<?x128xbf16> {tile.name = "do", tile.dims = ["Sq", "128"]},
    %k: memref<?x128xbf16> {tile.name = "k", tile.dims = ["Sk", "128"]},
    %v: memref<?x128xbf16> {tile.name = "v", tile.dims = ["Sk", "128"]},
    %lse: memref<?xf32> {tile.name = "lse", tile.dims = ["Sq"]},
    %delta: memref<?xf32> {tile.name = "delta", tile.dims = ["Sq"]},
    %dq: memref<?x128xf32> {tile.name = "dq", tile.dims = ["Sq", "128"]},
    %dk: memref<?x128xbf16> {tile.name = "dk", tile.dims = ["Sk", "128"]},
    %dv: memref<?x128xbf16> {tile.name = "dv", tile.dims = ["Sk", "128"]},
    %n: index {tile.name = "blocks"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sk" by 128>]} {
  %kc = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
  %vc = tile.channel "v" smem stages(1) : <vector<128x128xbf16>>
  %qc = tile.channel "q" smem stages(1) : <vector<128x128xbf16>>
  %doc = tile.channel "do" smem stages(1) : <vector<128x128xbf16>>
  %lsec = tile.channel "lse" smem stages(1) : <vector<128xf32>>
  %deltac = tile.channel "delta" smem stages(1) : <vector<128xf32>>
  %st = tile.channel "st" tmem stages(1) : <vector<128x128xf32>>
  %pt = tile.channel "pt" tmem stages(1) : <vector<128x128xbf16>>
  %dpt = tile.channel "dpt" tmem stages(1) : <vector<128x128xf32>>
  %dst = tile.channel "dst" tmem stages(1) : <vector<128x128xbf16>>
  %dss = tile.channel "dss" smem stages(1) : <vector<128x128xbf16>>
  %dqc = tile.channel "dq" tmem stages(1) : <vector<128x128xf32>>
  %dqs = tile.channel "dqs" smem stages(1) : <vector<128x128xf32>>
  %dkc = tile.channel "dk" tmem stages(1) : <vector<128x128xf32>>
  %dvc = tile.channel "dv" tmem stages(1) : <vector<128x128xf32>>
  %dks = tile.channel "dks" smem stages(1) : <vector<128x128xbf16>>
  %dvs = tile.channel "dvs" smem stages(1) : <vector<128x128xbf16>>

  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %kt = tile.work_tile : index
    %row = arith.muli %kt, %c128 : index
    tile.acquire %vc : <vector<128x128xbf16>>
    %tv = tile.load %v[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    tile.commit %vc, %tv : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %kc : <vector<128x128xbf16>>
    %tk = tile.load %k[%row, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    tile.commit %kc, %tk : <vector<128x128xbf16>>, vector<128x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %at = arith.muli %i, %c128 : index
      tile.acquire %deltac : <vector<128xf32>>
      %tdelta = tile.load %delta[%at] : memref<?xf32> -> vector<128xf32>
      tile.commit %deltac, %tdelta : <vector<128xf32>>, vector<128xf32>
      tile.acquire %lsec : <vector<128xf32>>
      %tlse = tile.load %lse[%at] : memref<?xf32> -> vector<128xf32>
      tile.commit %lsec, %tlse : <vector<128xf32>>, vector<128xf32>
      tile.acquire %doc : <vector<128x128xbf16>>
      %tdo = tile.load %do[%at, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
      tile.commit %doc, %tdo : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %qc : <vector<128x128xbf16>>
      %tq = tile.load %q[%at, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
      tile.commit %qc, %tq : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }

  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tk = tile.wait %kc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tv = tile.wait %vc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %dvc : <vector<128x128xf32>>
    tile.acquire %dkc : <vector<128x128xf32>>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%adv = %zero, %adk = %zero) -> (vector<128x128xf32>, vector<128x128xf32>) {
      %more = arith.cmpi ne, %i, %c0 : index
      %tq = tile.wait %qc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %st : <vector<128x128xf32>>
      %s = tile.mma %tk, transpose %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %st, %s : <vector<128x128xf32>>, vector<128x128xf32>
      %tdo = tile.wait %doc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %dpt : <vector<128x128xf32>>
      %dp = tile.mma %tv, transpose %tdo : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %dpt, %dp : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %pt : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %dv2 = tile.mma %tp, %tdo acc %adv if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %pt : <vector<128x128xbf16>>
      tile.release %doc : <vector<128x128xbf16>>
      %tds = tile.wait %dst : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %dk2 = tile.mma %tds, %tq acc %adk if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %dst : <vector<128x128xbf16>>
      tile.release %qc : <vector<128x128xbf16>>
      %tdss = tile.wait %dss : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %dqc : <vector<128x128xf32>>
      %tdq = tile.mma transpose %tdss, %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %dqc, %tdq : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %dss : <vector<128x128xbf16>>
      scf.yield %dv2, %dk2 : vector<128x128xf32>, vector<128x128xf32>
    }
    tile.commit %dvc, %r#0 : <vector<128x128xf32>>, vector<128x128xf32>
    tile.commit %dkc, %r#1 : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %kc : <vector<128x128xbf16>>
    tile.release %vc : <vector<128x128xbf16>>
  }

  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c = arith.constant dense<0.127517432> : vector<128x128xf32>
    scf.for %i = %c0 to %n step %c1 {
      %tlse = tile.wait %lsec : <vector<128xf32>> -> vector<128xf32>
      %lseb = vector.broadcast %tlse : vector<128xf32> to vector<128x128xf32>
      tile.release %lsec : <vector<128xf32>>
      %s = tile.wait %st : <vector<128x128xf32>> -> vector<128x128xf32>
      %x = math.fma %s, %c, %lseb : vector<128x128xf32>
      %p = math.exp2 %x : vector<128x128xf32>
      %ph = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %st : <vector<128x128xf32>>
      tile.acquire %pt : <vector<128x128xbf16>>
      tile.commit %pt, %ph : <vector<128x128xbf16>>, vector<128x128xbf16>
      %tdelta = tile.wait %deltac : <vector<128xf32>> -> vector<128xf32>
      %deltab = vector.broadcast %tdelta : vector<128xf32> to vector<128x128xf32>
      tile.release %deltac : <vector<128xf32>>
      %dp = tile.wait %dpt : <vector<128x128xf32>> -> vector<128x128xf32>
      %d = arith.subf %dp, %deltab : vector<128x128xf32>
      %ds = arith.mulf %p, %d : vector<128x128xf32>
      %dsh = arith.truncf %ds : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %dpt : <vector<128x128xf32>>
      tile.acquire %dst : <vector<128x128xbf16>>
      tile.commit %dst, %dsh : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %dss : <vector<128x128xbf16>>
      tile.commit %dss, %dsh : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %tdv = tile.wait %dvc : <vector<128x128xf32>> -> vector<128x128xf32>
    %tdvh = arith.truncf %tdv : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %dvs : <vector<128x128xbf16>>
    tile.commit %dvs, %tdvh : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %dvc : <vector<128x128xf32>>
    %tdk = tile.wait %dkc : <vector<128x128xf32>> -> vector<128x128xf32>
    %tdkh = arith.truncf %tdk : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %dks : <vector<128x128xbf16>>
    tile.commit %dks, %tdkh : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %dkc : <vector<128x128xf32>>
  }

  tile.role @reduce kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %t = tile.wait %dqc : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.acquire %dqs : <vector<128x128xf32>>
      tile.commit %dqs, %t : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %dqc : <vector<128x128xf32>>
    }
  }

  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %kt = tile.work_tile : index
    %row = arith.muli %kt, %c128 : index
    scf.for %i = %c0 to %n step %c1 {
      %at = arith.muli %i, %c128 : index
      %t = tile.wait %dqs : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.reduce_add %t, %dq[%at, %c0] : vector<128x128xf32>, memref<?x128xf32>
      tile.release %dqs : <vector<128x128xf32>>
    }
    %tv = tile.wait %dvs : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %tv, %dv[%row, %c0] : vector<128x128xbf16>, memref<?x128xbf16>
    tile.release %dvs : <vector<128x128xbf16>>
    %tk = tile.wait %dks : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %tk, %dk[%row, %c0] : vector<128x128xbf16>, memref<?x128xbf16>
    tile.release %dks : <vector<128x128xbf16>>
  }
}
