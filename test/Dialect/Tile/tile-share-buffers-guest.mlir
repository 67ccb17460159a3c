// A buffer may lie in another channel's columns if the order of the roles
// leaves them free long enough. The acquires that this needs are moved; where
// they cannot be, the buffer must get columns of its own.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-share-buffers --tile-allocate | FileCheck %s
// RUN: fa4-opt late.mlir --tile-share-buffers --tile-allocate | FileCheck %s
//
// $ fa4-opt $S/tile-share-buffers-guest.mlir --tile-share-buffers --tile-allocate=print=true -o /dev/null
// ...
// @gradient128: tensor memory, 512 columns
// ...
//       128     256  dp            1 x 128
//       128     192  ds            1 x 64     in place of dp
//       128     256  dq            1 x 128    in place of dp
// ...
//
// Where dq is acquired just before it is written, the acquires move: late.mlir becomes the same.
//
// $ sed -e '/acquire %c_dq :/d' \
//     -e 's/^\( *\)\(%tdq[e]* = .*\)/\1tile.acquire %c_dq : <vector<128x128xf32>>\n\1\2/' $S/tile-share-buffers-guest.mlir > late.mlir
//
// They do not where the reader of dq needs something else first, which might need dp. (The
// reader does not release it, which is of no concern here.)
//
// $ sed -e 's/^\( *\)%t = tile.wait %c_dq :.*/\1tile.wait %c_lse : <vector<128xf32>>\n&/' late.mlir \
//   | fa4-opt --tile-share-buffers=verify=false --tile-allocate=verify=false --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]

// Gradients of attention at head dim 128. There are columns for all only if dq
// has those of dp while nobody needs them, for which the role of the MMAs is
// scheduled: dq when ds has been multiplied, and dp of the next iteration when dq has been
// read (it has been acquired again).

// CHECK-LABEL: tile.kernel @gradient128
// CHECK-SAME: smem_bytes = 231672 : i64, tmem_columns = 512 : i64
// CHECK-DAG: "s" tmem stages(1) place<offset(0) full
// CHECK-DAG: "p" tmem stages(1) in_place_of(%s : {{.*}}) place<offset(0) full
// CHECK-DAG: "dp" tmem stages(1) place<offset(128) full({{[0-9]+}}) arrivals(1)> :
// CHECK-DAG: "ds" tmem stages(1) in_place_of(%dp : {{.*}}) place<offset(128) full
// CHECK-DAG: "dq" tmem stages(1) in_place_of(%dp : {{.*}}) place<offset(128) full({{[0-9]+}}) arrivals(1) empty({{[0-9]+}}) arrivals(128)> :
// CHECK-DAG: "dv" tmem stages(1) place<offset(256) full
// CHECK-DAG: "dk" tmem stages(1) place<offset(384) full
// CHECK-LABEL: tile.role @mma
// CHECK: tile.acquire %dq
// CHECK: tile.commit %dp
// CHECK: scf.for
// CHECK: tile.commit %dq
// CHECK: tile.acquire %dq
// CHECK: tile.commit %dp

tile.kernel @gradient128(
    %q: memref<?x?x?x128xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "H", "128"]},
    %k: memref<?x?x?x128xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "H", "128"]},
    %v: memref<?x?x?x128xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "H", "128"]},
    %do: memref<?x?x?x128xbf16> {tile.name = "do", tile.dims = ["B", "Sq", "H", "128"]},
    %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "H", "Sq"]},
    %delta: memref<?x?x?xf32> {tile.name = "delta", tile.dims = ["B", "H", "Sq"]},
    %dq: memref<?x?x?x128xf32> {tile.name = "dq", tile.dims = ["B", "Sq", "H", "128"]},
    %dk: memref<?x?x?x128xbf16> {tile.name = "dk", tile.dims = ["B", "Sk", "H", "128"]},
    %dv: memref<?x?x?x128xbf16> {tile.name = "dv", tile.dims = ["B", "Sk", "H", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"H">, #tile.extent<"B">]} {
  %c_k = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
  %c_v = tile.channel "v" smem stages(1) : <vector<128x128xbf16>>
  %c_q = tile.channel "q" smem stages(2) : <vector<128x128xbf16>>
  %c_do = tile.channel "do" smem stages(1) : <vector<128x128xbf16>>
  %c_lse = tile.channel "lse" smem stages(2) : <vector<128xf32>>
  %c_delta = tile.channel "delta" smem stages(2) : <vector<128xf32>>
  %c_s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %c_p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %c_dp = tile.channel "dp" tmem stages(1) : <vector<128x128xf32>>
  %c_ds = tile.channel "ds" tmem stages(1) : <vector<128x128xbf16>>
  %c_dst = tile.channel "dst" smem stages(1) : <vector<128x128xbf16>>
  %c_dq = tile.channel "dq" tmem stages(1) : <vector<128x128xf32>>
  %c_dv = tile.channel "dv" tmem stages(1) : <vector<128x128xf32>>
  %c_dk = tile.channel "dk" tmem stages(1) : <vector<128x128xf32>>
  %c_dqs = tile.channel "dqs" smem stages(1) : <vector<128x64xf32>>
  %c_dvs = tile.channel "dvs" smem stages(1) : <vector<128x128xbf16>>
  %c_dks = tile.channel "dks" smem stages(1) : <vector<128x128xbf16>>
  tile.role @load kind(issuer) first_warp(13) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sq, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %kt, %h, %b = tile.work_tile : index, index, index
    %key = arith.muli %kt, %c128 : index
    tile.acquire %c_k : <vector<128x128xbf16>>
    %t_k = tile.load %k[%b, %key, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %c_k, %t_k : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %c_v : <vector<128x128xbf16>>
    %t_v = tile.load %v[%b, %key, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %c_v, %t_v : <vector<128x128xbf16>>, vector<128x128xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %row = arith.muli %j, %c128 : index
      tile.acquire %c_q : <vector<128x128xbf16>>
      %t_q = tile.load %q[%b, %row, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %c_q, %t_q : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %c_lse : <vector<128xf32>>
      %t_lse = tile.load %lse[%b, %h, %row] : memref<?x?x?xf32> -> vector<128xf32>
      tile.commit %c_lse, %t_lse : <vector<128xf32>>, vector<128xf32>
      tile.acquire %c_do : <vector<128x128xbf16>>
      %t_do = tile.load %do[%b, %row, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %c_do, %t_do : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %c_delta : <vector<128xf32>>
      %t_delta = tile.load %delta[%b, %h, %row] : memref<?x?x?xf32> -> vector<128xf32>
      tile.commit %c_delta, %t_delta : <vector<128xf32>>, vector<128xf32>
    }
  }
  tile.role @mma kind(issuer) first_warp(12) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sq, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tk = tile.wait %c_k : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tq0 = tile.wait %c_q : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %c_s : <vector<128x128xf32>>
    %ts0 = tile.mma %tk, transpose %tq0 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %c_s, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
    %tv = tile.wait %c_v : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tdo0 = tile.wait %c_do : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %c_dq : <vector<128x128xf32>>
    tile.acquire %c_dp : <vector<128x128xf32>>
    %tdp0 = tile.mma %tv, transpose %tdo0 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %c_dp, %tdp0 : <vector<128x128xf32>>, vector<128x128xf32>
    tile.acquire %c_dv : <vector<128x128xf32>>
    tile.acquire %c_dk : <vector<128x128xf32>>
    %r:4 = scf.for %j = %c0 to %last step %c1 iter_args(%xq = %tq0, %xdo = %tdo0, %av = %zero, %ak = %zero) -> (vector<128x128xbf16>, vector<128x128xbf16>, vector<128x128xf32>, vector<128x128xf32>) {
      %more = arith.cmpi ne, %j, %c0 : index
      %tp = tile.wait %c_p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tdv = tile.mma %tp, %xdo acc %av if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %c_p : <vector<128x128xbf16>>
      tile.release %c_do : <vector<128x128xbf16>>
      %tq = tile.wait %c_q : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %c_s : <vector<128x128xf32>>
      %ts = tile.mma %tk, transpose %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %c_s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tds = tile.wait %c_ds : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tdk = tile.mma %tds, %xq acc %ak if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %c_ds : <vector<128x128xbf16>>
      tile.release %c_q : <vector<128x128xbf16>>
      %tdst = tile.wait %c_dst : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tdq = tile.mma transpose %tdst, %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %c_dq, %tdq : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %c_dst : <vector<128x128xbf16>>
      %tdo = tile.wait %c_do : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %c_dq : <vector<128x128xf32>>
      tile.acquire %c_dp : <vector<128x128xf32>>
      %tdp = tile.mma %tv, transpose %tdo : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %c_dp, %tdp : <vector<128x128xf32>>, vector<128x128xf32>
      scf.yield %tq, %tdo, %tdv, %tdk : vector<128x128xbf16>, vector<128x128xbf16>, vector<128x128xf32>, vector<128x128xf32>
    }
    %moree = arith.cmpi ne, %last, %c0 : index
    %tpe = tile.wait %c_p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tdve = tile.mma %tpe, %r#1 acc %r#2 if %moree : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %c_p : <vector<128x128xbf16>>
    tile.commit %c_dv, %tdve : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %c_do : <vector<128x128xbf16>>
    %tdse = tile.wait %c_ds : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tdke = tile.mma %tdse, %r#0 acc %r#3 if %moree : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %c_ds : <vector<128x128xbf16>>
    tile.commit %c_dk, %tdke : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %c_q : <vector<128x128xbf16>>
    %tdste = tile.wait %c_dst : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tdqe = tile.mma transpose %tdste, %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %c_dq, %tdqe : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %c_dst : <vector<128x128xbf16>>
    tile.release %c_k : <vector<128x128xbf16>>
    tile.release %c_v : <vector<128x128xbf16>>
  }
  tile.role @compute kind(vector) first_warp(0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sq, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    scf.for %j = %c0 to %n step %c1 {
      %tl = tile.wait %c_lse : <vector<128xf32>> -> vector<128xf32>
      %x = tile.wait %c_s : <vector<128x128xf32>> -> vector<128x128xf32>
      %lb = vector.broadcast %tl : vector<128xf32> to vector<128x128xf32>
      %y = arith.subf %x, %lb : vector<128x128xf32>
      %e = math.exp2 %y : vector<128x128xf32>
      %pt = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %c_s : <vector<128x128xf32>>
      tile.release %c_lse : <vector<128xf32>>
      tile.acquire %c_p : <vector<128x128xbf16>>
      tile.commit %c_p, %pt : <vector<128x128xbf16>>, vector<128x128xbf16>
      %td = tile.wait %c_delta : <vector<128xf32>> -> vector<128xf32>
      %z = tile.wait %c_dp : <vector<128x128xf32>> -> vector<128x128xf32>
      %db = vector.broadcast %td : vector<128xf32> to vector<128x128xf32>
      %u = arith.subf %z, %db : vector<128x128xf32>
      %g = arith.mulf %e, %u : vector<128x128xf32>
      %dst = arith.truncf %g : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %c_dp : <vector<128x128xf32>>
      tile.release %c_delta : <vector<128xf32>>
      tile.acquire %c_ds : <vector<128x128xbf16>>
      tile.commit %c_ds, %dst : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %c_dst : <vector<128x128xbf16>>
      tile.commit %c_dst, %dst : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @drain kind(vector) first_warp(4) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sq, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    scf.for %j = %c0 to %n step %c1 {
      %t = tile.wait %c_dq : <vector<128x128xf32>> -> vector<128x128xf32>
      %h0 = vector.extract_strided_slice %t {offsets = [0, 0], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf32> to vector<128x64xf32>
      tile.acquire %c_dqs : <vector<128x64xf32>>
      tile.commit %c_dqs, %h0 : <vector<128x64xf32>>, vector<128x64xf32>
      %h1 = vector.extract_strided_slice %t {offsets = [0, 64], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf32> to vector<128x64xf32>
      tile.acquire %c_dqs : <vector<128x64xf32>>
      tile.commit %c_dqs, %h1 : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %c_dq : <vector<128x128xf32>>
    }
  }
  tile.role @epilogue kind(vector) first_warp(8) {
    %tdv = tile.wait %c_dv : <vector<128x128xf32>> -> vector<128x128xf32>
    %hdv = arith.truncf %tdv : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %c_dvs : <vector<128x128xbf16>>
    tile.commit %c_dvs, %hdv : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %c_dv : <vector<128x128xf32>>
    %tdk = tile.wait %c_dk : <vector<128x128xf32>> -> vector<128x128xf32>
    %hdk = arith.truncf %tdk : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %c_dks : <vector<128x128xbf16>>
    tile.commit %c_dks, %hdk : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %c_dk : <vector<128x128xf32>>
  }
  tile.role @store kind(issuer) first_warp(14) {
    %half = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sq, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %kt, %h, %b = tile.work_tile : index, index, index
    %key = arith.muli %kt, %c128 : index
    scf.for %j = %c0 to %n step %c1 {
      %row = arith.muli %j, %c128 : index
      %t0 = tile.wait %c_dqs : <vector<128x64xf32>> -> vector<128x64xf32>
      tile.reduce_add %t0, %dq[%b, %row, %h, %c0] dims [1, 3] : vector<128x64xf32>, memref<?x?x?x128xf32>
      tile.release %c_dqs : <vector<128x64xf32>>
      %t1 = tile.wait %c_dqs : <vector<128x64xf32>> -> vector<128x64xf32>
      tile.reduce_add %t1, %dq[%b, %row, %h, %half] dims [1, 3] : vector<128x64xf32>, memref<?x?x?x128xf32>
      tile.release %c_dqs : <vector<128x64xf32>>
    }
    %tdv = tile.wait %c_dvs : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %tdv, %dv[%b, %key, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %c_dvs : <vector<128x128xbf16>>
    %tdk = tile.wait %c_dks : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %tdk, %dk[%b, %key, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %c_dks : <vector<128x128xbf16>>
  }
}
