// Two query tiles that share keys and values: attention, after roles have been
// found. Some channels have one side only, and loops may make no pass, so that
// the protocol cannot be proven.

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
