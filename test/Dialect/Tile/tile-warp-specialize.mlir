// The dataflow is cut into roles where values change their home, and each cut
// becomes a channel. An accumulator that another role multiplies changes hands
// in place.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize))' --split-input-file | FileCheck %s

// An accumulator that stays with the MMAs over the loop is handed over once. It
// is zero where the loop has no iteration, in which nobody would write it.

// CHECK-LABEL: tile.kernel @gemm
// CHECK-DAG:   %[[A:.*]] = tile.channel "A" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG:   %[[B:.*]] = tile.channel "B" smem stages(1) : <vector<64x128xbf16>>
// CHECK-DAG:   %[[ACC:.*]] = tile.channel "mma_epilogue" tmem stages(1) : <vector<128x128xf32>>
// CHECK-DAG:   %[[OUT:.*]] = tile.channel "epilogue_store" smem stages(1) : <vector<128x128xbf16>>
// CHECK:       tile.role @epilogue kind(vector) first_warp(0)
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<128x128xf32>
// CHECK:         %[[RAN:.*]] = arith.cmpi slt
// CHECK-NEXT:    %[[V:.*]] = tile.wait %[[ACC]]
// CHECK-NEXT:    %[[VZ:.*]] = arith.select %[[RAN]], %[[V]], %[[ZERO]] : vector
// CHECK-NEXT:    tile.release %[[ACC]]
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[VZ]]
// CHECK-NEXT:    tile.acquire %[[OUT]]
// CHECK-NEXT:    tile.commit %[[OUT]], %[[T]]
// CHECK:       tile.role @mma kind(issuer) first_warp(4)
// CHECK:         tile.acquire %[[ACC]]
// CHECK:         %[[R:.*]] = scf.for %[[I:.*]] = %[[C0:.*]] to %{{.*}} iter_args(%[[X:.*]] = %{{.*}})
// CHECK:           %[[MORE:.*]] = arith.cmpi ne, %[[I]], %[[C0]]
// CHECK:           %[[TA:.*]] = tile.wait %[[A]]
// CHECK:           %[[TB:.*]] = tile.wait %[[B]]
// CHECK:           %[[Y:.*]] = tile.mma %[[TA]], %[[TB]] acc %[[X]] if %[[MORE]]
// CHECK-DAG:       tile.release %[[A]]
// CHECK-DAG:       tile.release %[[B]]
// CHECK:           scf.yield %[[Y]]
// CHECK:         tile.commit %[[ACC]], %[[R]]
// CHECK:       tile.role @load kind(issuer) first_warp(5)
// CHECK:         scf.for
// CHECK:           tile.acquire %[[A]]
// CHECK-NEXT:      %[[LA:.*]] = tile.load %arg0
// CHECK-NEXT:      tile.commit %[[A]], %[[LA]]
// CHECK:           tile.acquire %[[B]]
// CHECK-NEXT:      %[[LB:.*]] = tile.load %arg1
// CHECK-NEXT:      tile.commit %[[B]], %[[LB]]
// CHECK:       tile.role @store kind(issuer) first_warp(6)
// CHECK:         %[[S:.*]] = tile.wait %[[OUT]]
// CHECK-NEXT:    tile.store %[[S]], %arg2
// CHECK-NEXT:    tile.release %[[OUT]]
// CHECK:       tile.role @idle kind(idle) warps(1) first_warp(7)
tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c128 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
}

// -----

// A carried accumulator that is multiplied in the loop goes to and fro, and is
// rescaled: nobody writes the zeros that it starts from. What is
// between one MMA's result and another's operand is a compute role.

// CHECK-LABEL: tile.kernel @attention
// CHECK:       %[[Q:.*]] = tile.channel "q" smem stages(1) : <vector<128x128xbf16>>
// CHECK:       %[[K:.*]] = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
// CHECK:       %[[S:.*]] = tile.channel "mma_compute0" tmem stages(1) : <vector<128x128xf32>>
// CHECK:       %[[O:.*]] = tile.channel "mma_correction" tmem stages(1) initial(1) : <vector<128x128xf32>>
// CHECK:       %[[OR:.*]] = tile.channel "correction_mma" tmem stages(1) in_place_of(%[[O]] : {{.*}}) : <vector<128x128xf32>>
// CHECK:       %[[F:.*]] = tile.channel "compute0_correction" smem stages(1) : <vector<128xf32>>
// CHECK:       %[[P:.*]] = tile.channel "compute0_mma" tmem stages(1) : <vector<128x128xbf16>>
// CHECK:       %[[V:.*]] = tile.channel "v" smem stages(1) : <vector<128x128xbf16>>
// CHECK:       %[[L:.*]] = tile.channel "compute0_correction_2" smem stages(1) : <vector<128xf32>>
// CHECK:       %[[T:.*]] = tile.channel "correction_store" smem stages(1) : <vector<128x128xbf16>>
// CHECK-NOT:   tile.channel
// CHECK:       tile.role @compute0 kind(vector) first_warp(0)
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<128xf32>, vector<128xf32>)
// CHECK:           tile.wait %[[S]]
// CHECK:           vector.multi_reduction <maxnumf>
// CHECK:           tile.acquire %[[F]]
// CHECK:           tile.commit %[[F]]
// CHECK:           tile.acquire %[[P]]
// CHECK:           tile.commit %[[P]]
// CHECK:           vector.multi_reduction <add>
// What is computed of rows alone stays with their role.
// CHECK:         arith.divf
// CHECK:         tile.commit %[[L]]
// CHECK:         math.log2
// CHECK:         tile.store %{{.*}}, %arg4
// CHECK:       tile.role @correction kind(vector) first_warp(4)
// CHECK:         scf.for
// CHECK-NOT:       tile.acquire
// CHECK-DAG:       %[[W:.*]] = tile.wait %[[O]]
// CHECK-DAG:       %[[WF:.*]] = tile.wait %[[F]]
// CHECK:           %[[WR:.*]] = tile.rescale %[[W]], %[[WF]]
// CHECK:           tile.commit %[[OR]], %[[WR]]
// CHECK-NEXT:    }
// CHECK:         tile.wait %[[L]]
// CHECK:         tile.wait %[[O]]
// CHECK:         tile.commit %[[T]]
// CHECK:       tile.role @mma kind(issuer) first_warp(8)
// CHECK:         %[[TQ:.*]] = tile.wait %[[Q]]
// CHECK:         scf.for
// CHECK:           tile.acquire %[[S]]
// CHECK:           %[[TK:.*]] = tile.wait %[[K]]
// CHECK:           %[[TS:.*]] = tile.mma %[[TQ]], transpose %[[TK]]
// CHECK:           tile.commit %[[S]], %[[TS]]
// CHECK:           tile.release %[[K]]
// CHECK-DAG:       %[[TP:.*]] = tile.wait %[[P]]
// CHECK-DAG:       %[[TO:.*]] = tile.wait %[[OR]]
// CHECK-DAG:       %[[TV:.*]] = tile.wait %[[V]]
// CHECK:           %[[TO2:.*]] = tile.mma %[[TP]], %[[TV]] acc %[[TO]] if
// CHECK:           tile.commit %[[O]], %[[TO2]]
// CHECK:         tile.release %[[Q]]
// CHECK:       tile.role @load
// CHECK:       tile.role @store
// CHECK:       tile.role @idle
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
  %c256 = arith.constant 256 : index
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
  %row0 = arith.muli %qt, %c256 : index
  %hq = memref.dim %q, %c2 : memref<?x?x?x128xbf16>
  %hkv = memref.dim %k, %c2 : memref<?x?x?x128xbf16>
  %group = arith.divui %hq, %hkv : index
  %hk = arith.divui %h, %group : index
  %sq = memref.dim %q, %c1 : memref<?x?x?x128xbf16>
  %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>

  // key blocks: [0, n), descending; the first n_masked of them need the mask
  %shift = arith.subi %sk, %sq : index                      // bottom_right
  %row_end = arith.addi %row0, %c256 : index
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
    // (a score_mod would be here, on %s * scale, with row and column indices as below)
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

// -----

// Masks of two tiles, in one branch as canonicalization makes one of two by the same
// condition: a role for each tile, with a branch of its own. What both of them use is
// no work on a tile.

// CHECK-LABEL: tile.kernel @merged
// CHECK:       tile.role @compute0
// CHECK:         scf.if %{{.*}} -> (vector<128x128xf32>) {
// CHECK:       tile.role @compute1
// CHECK:         scf.if %{{.*}} -> (vector<128x128xf32>) {
// CHECK:       tile.role @mma
tile.kernel @merged(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                    %y: memref<?x128xbf16> {tile.name = "y", tile.dims = ["N", "128"]},
                    %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %b = tile.load %x[%c128, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %k = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %a, transpose %k : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %t = tile.mma %b, transpose %k : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %some = arith.cmpi slt, %i, %n : index
  %masked:2 = scf.if %some -> (vector<128x128xf32>, vector<128x128xf32>) {
    %hidden = arith.constant dense<0xFF800000> : vector<128x128xf32>
    %column = vector.step : vector<128xindex>
    %columns = vector.broadcast %column : vector<128xindex> to vector<128x128xindex>
    %last = vector.broadcast %n : index to vector<128x128xindex>
    %visible = arith.cmpi slt, %columns, %last : vector<128x128xindex>
    %u = arith.select %visible, %s, %hidden : vector<128x128xi1>, vector<128x128xf32>
    %v = arith.select %visible, %t, %hidden : vector<128x128xi1>, vector<128x128xf32>
    scf.yield %u, %v : vector<128x128xf32>, vector<128x128xf32>
  } else {
    scf.yield %s, %t : vector<128x128xf32>, vector<128x128xf32>
  }
  %p = math.exp2 %masked#0 : vector<128x128xf32>
  %q = math.exp2 %masked#1 : vector<128x128xf32>
  %pb = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
  %qb = arith.truncf %q : vector<128x128xf32> to vector<128x128xbf16>
  %v = tile.load %y[%c0, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %o = tile.mma %pb, %v : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  %r = tile.mma %qb, %v : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
  %ob = arith.truncf %o : vector<128x128xf32> to vector<128x128xbf16>
  %rb = arith.truncf %r : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %ob, %y[%i, %c0] : vector<128x128xbf16>, memref<?x128xbf16>
  tile.store %rb, %y[%c128, %c0] : vector<128x128xbf16>, memref<?x128xbf16>
}

// -----

// An MMA that was sunk into the only branch that uses its result, with what its operand
// is computed from: it is issued unconditionally, as it was before.

// CHECK-LABEL: tile.kernel @sunk
// CHECK:       tile.role @compute0
// CHECK:         %[[V:.*]] = tile.wait %mma_compute0
// CHECK:         scf.if
// CHECK:           arith.negf %[[V]]
// CHECK:       tile.role @mma
// CHECK-NOT:     scf.if
// CHECK:         tile.mma
tile.kernel @sunk(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
                  %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : vector<128x128xf32>
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %some = arith.cmpi slt, %i, %n : index
  %more = arith.cmpi slt, %c1, %n : index
  %r = scf.if %some -> (vector<128x128xf32>) {
    %q = scf.if %more -> (vector<128x128xf32>) {
      %s = tile.mma %a, transpose %a : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      %t = arith.negf %s : vector<128x128xf32>
      scf.yield %t : vector<128x128xf32>
    } else {
      scf.yield %one : vector<128x128xf32>
    }
    scf.yield %q : vector<128x128xf32>
  } else {
    scf.yield %one : vector<128x128xf32>
  }
  tile.store %r, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// What nothing uses is not issued: in a role it would have effects, and nobody would
// commit it. An accumulator that only its own loop uses is nothing that is used.

// CHECK-LABEL: tile.kernel @dead
// CHECK:       tile.role @mma
// CHECK-COUNT-1: tile.mma
// CHECK-NOT:   tile.mma
// CHECK:       tile.role @load
// CHECK-COUNT-1: tile.load
// CHECK-NOT:   tile.load
tile.kernel @dead(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
                  %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %i = tile.work_tile : index
  %a = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %unused = tile.load %x[%n, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %a, transpose %a : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %t = tile.mma %a, transpose %unused : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
    %u = tile.mma %a, transpose %unused acc %acc : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %u : vector<128x128xf32>
  }
  %v = arith.negf %s : vector<128x128xf32>
  tile.store %v, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Zeros from which an accumulator starts are made by nobody; zeros that are stored are
// made by lanes, although both may be one value.

// CHECK-LABEL: tile.kernel @stored_zeros
// CHECK: tile.role @mma
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0{{.*}}> : vector<128x128xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]])
// CHECK: tile.role @store
// CHECK: tile.reduce_add
tile.kernel @stored_zeros(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                          %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]},
                          %z: memref<?x128xf32> {tile.name = "Z", tile.dims = ["M", "128"]},
                          %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %tm = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %ta, transpose %ta acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    tile.reduce_add %zero, %z[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %r, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// Without a loop, too, what becomes of the last MMAs' results is the work of one
// role. What is computed of nothing stays with a role of its own.
// CHECK-LABEL: tile.kernel @no_loop
// CHECK: tile.role @compute0 kind(vector)
// CHECK: tile.wait %mma_compute0
// CHECK: tile.role @compute1 kind(vector)
// CHECK-NOT: tile.wait
// CHECK: tile.role @epilogue kind(vector)
// CHECK: tile.wait %mma_epilogue
// CHECK: tile.wait %mma_epilogue_2
// CHECK: tile.role @mma kind(issuer)
tile.kernel @no_loop(
    %a: memref<?x64xbf16> {tile.name = "a", tile.dims = ["N", "64"]},
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
    %z: memref<?x64xf32> {tile.name = "z", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %two = arith.constant dense<2.0> : vector<128x128xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %p = arith.truncf %s : vector<128x128xf32> to vector<128x128xbf16>
  %o = tile.mma %p, %ta : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
  %r = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %o16 = arith.truncf %o : vector<128x64xf32> to vector<128x64xbf16>
  %r2 = arith.mulf %r, %two : vector<128x128xf32>
  tile.store %o16, %x[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  tile.store %r2, %y[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
  tile.store %zero, %z[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
}
