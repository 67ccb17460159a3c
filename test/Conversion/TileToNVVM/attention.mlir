// A hand-written program for lanes, with in-place channels and masked rows
// (causal attention of one query tile a CTA, with the LSE), must give the
// numbers of attention for sizes that are no multiples of the tiles. It tests
// the lowering without the passes above it.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/attention.mlir --tile-subtile --tile-lazy-rescale --canonicalize --tile-warp-specialize --tile-schedule \
//     --tile-split-loop --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --canonicalize --cse --tile-to-nvvm \
//     -o attention.mlir
// $ fa4-compile attention.mlir -o .
// $ fa4-sim attention.json B=1 Hq=2 Hkv=1 Sq=200 Sk=300 --random --check --seeds 0:1 \
//     --output q=q.npy --output k=k.npy --output v=v.npy out=out.npy lse=lse.npy
// ok: launches 2, {{.*}}, findings 0
// $ python3 $S/Inputs/check_attention.py .
// max error of out {{.*}} and of lse {{.*}}

tile.kernel @attention(
    %q: memref<?x?x?x128xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "Hq", "128"]},
    %k: memref<?x?x?x128xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "Hkv", "128"]},
    %v: memref<?x?x?x128xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "Hkv", "128"]},
    %out: memref<?x?x?x128xbf16> {tile.name = "out", tile.dims = ["B", "Sq", "Hq", "128"]},
    %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "Hq", "Sq"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 128>, #tile.extent<"Hq">, #tile.extent<"B">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %neg_inf = arith.constant 0xFF800000 : f32
  %c = arith.constant 0.127517432 : f32        // scale * log2(e)
  %cneg = arith.constant dense<-0.127517432> : vector<128xf32>
  %ccol = arith.constant dense<0.127517432> : vector<128xf32>
  %cs = arith.constant dense<0.127517432> : vector<128x128xf32>
  %vninf = arith.constant dense<0xFF800000> : vector<128x128xf32>
  %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %rzero = arith.constant dense<0.0> : vector<128xf32>
  %rone = arith.constant dense<1.0> : vector<128xf32>
  %ozero = arith.constant dense<0.0> : vector<128x128xf32>
  %ln2 = arith.constant dense<0.693147182> : vector<128xf32>
  %qt, %h, %b = tile.work_tile : index, index, index
  %row0 = arith.muli %qt, %c128 : index
  %hq = memref.dim %q, %c2 : memref<?x?x?x128xbf16>
  %hkv = memref.dim %k, %c2 : memref<?x?x?x128xbf16>
  %group = arith.divui %hq, %hkv : index
  %hk = arith.divui %h, %group : index
  %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
  %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
  // key blocks: [0, n), descending; the first n_masked of them need the mask
  %shift = arith.subi %sk, %sq : index                      // bottom_right
  %row_end = arith.addi %row0, %c128 : index
  %see_end = arith.addi %row_end, %shift : index            // first key that no row of the tile sees
  %end = arith.minsi %see_end, %sk : index
  %n0 = arith.ceildivsi %end, %c128 : index
  %n = arith.maxsi %n0, %c1 : index                         // one block, fully masked, where no key is visible
  %see_all = arith.addi %row0, %shift : index               // the first row sees keys <= see_all
  %see_all1 = arith.addi %see_all, %c1 : index
  %full_end = arith.minsi %see_all1, %sk : index            // keys below are seen by all rows
  %n_full0 = arith.floordivsi %full_end, %c128 : index
  %n_full = arith.maxsi %n_full0, %c0 : index
  %n_masked = arith.subi %n, %n_full : index
  %tq = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
  %last = arith.subi %n, %c1 : index
  %r:3 = scf.for %j = %c0 to %n step %c1
      iter_args(%o = %ozero, %m = %rninf, %l = %rzero) -> (vector<128x128xf32>, vector<128xf32>, vector<128xf32>) {
    %blk = arith.subi %last, %j : index
    %col0 = arith.muli %blk, %c128 : index
    %tk = tile.load %k[%b, %col0, %hk, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    %s = tile.mma %tq, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
        %masked = arith.cmpi slt, %j, %n_masked : index
    %x = scf.if %masked -> (vector<128x128xf32>) {
      %rows = vector.step : vector<128xindex>
      %cols = vector.step : vector<128xindex>
      %lim0 = arith.subi %see_all, %col0 : index            // row r sees columns <= r + lim0 of this block
      %limv = vector.broadcast %lim0 : index to vector<128xindex>
      %lim = arith.addi %rows, %limv : vector<128xindex>
      %rem = arith.subi %sk, %col0 : index
      %rem1 = arith.subi %rem, %c1 : index
      %remv = vector.broadcast %rem1 : index to vector<128xindex>
      %lim2 = arith.minsi %lim, %remv : vector<128xindex>
      %lim2c = vector.shape_cast %lim2 : vector<128xindex> to vector<128x1xindex>
      %limb = vector.broadcast %lim2c : vector<128x1xindex> to vector<128x128xindex>
      %colb = vector.broadcast %cols : vector<128xindex> to vector<128x128xindex>
      %keep = arith.cmpi sle, %colb, %limb : vector<128x128xindex>
      %sm = arith.select %keep, %s, %vninf : vector<128x128xi1>, vector<128x128xf32>
      scf.yield %sm : vector<128x128xf32>
    } else {
      scf.yield %s : vector<128x128xf32>
    }
    %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
    %empty = arith.cmpf oeq, %m2, %rninf : vector<128xf32>
    %msafe = arith.select %empty, %rzero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %msafe : vector<128xf32>
    %dc = arith.mulf %d, %ccol : vector<128xf32>
    %a = math.exp2 %dc : vector<128xf32>
    %nm = arith.mulf %msafe, %cneg : vector<128xf32>
    %nmc = vector.shape_cast %nm : vector<128xf32> to vector<128x1xf32>
    %nmb = vector.broadcast %nmc : vector<128x1xf32> to vector<128x128xf32>
    %y = math.fma %x, %cs, %nmb : vector<128x128xf32>
    %p = math.exp2 %y : vector<128x128xf32>
    %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
    %tv = tile.load %v[%b, %col0, %hk, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x128xf32>
    %os = arith.mulf %o, %ab : vector<128x128xf32>
    %o2 = tile.mma %pt, %tv acc %os : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    scf.yield %o2, %m2, %l2 : vector<128x128xf32>, vector<128xf32>, vector<128xf32>
  }
  // out = o / l, 0 where no key is visible;  lse = ln2 * (m c + log2 l)
  %none = arith.cmpf oeq, %r#2, %rzero : vector<128xf32>
  %inv0 = arith.divf %rone, %r#2 : vector<128xf32>
  %inv = arith.select %none, %rzero, %inv0 : vector<128xi1>, vector<128xf32>
  %invc = vector.shape_cast %inv : vector<128xf32> to vector<128x1xf32>
  %invb = vector.broadcast %invc : vector<128x1xf32> to vector<128x128xf32>
  %of = arith.mulf %r#0, %invb : vector<128x128xf32>
  %ot = arith.truncf %of : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %ot, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
  %lg = math.log2 %r#2 : vector<128xf32>
  %mc = arith.mulf %r#1, %ccol : vector<128xf32>
  %z = arith.addf %lg, %mc : vector<128xf32>
  %lf = arith.mulf %z, %ln2 : vector<128xf32>
  %lsev = arith.select %none, %rninf, %lf : vector<128xi1>, vector<128xf32>
  tile.store %lsev, %lse[%b, %h, %row0] : vector<128xf32>, memref<?x?x?xf32>
}
