// Lanes of a pair of CTAs hand on tensor memory to the leader by relaxed arrivals,
// which order accesses to tensor memory, and nothing in shared memory. The kernel
// below is proven: each stage of shared memory is freed at a barrier of its own CTA,
// or by the MMAs of the leader. Without that, all roles still take their steps in the
// same order, but accesses to shared memory may be under way at the same time.
//
// The explorer knows it by itself.
//
// DEFINE: %{verify} = fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))'
// DEFINE: %{explore} = fa4-test-opt --pass-pipeline='builtin.module(tile.kernel(tile-explore-protocol))'
// RUN: rm -rf %t && mkdir %t
// RUN: %{verify} %s -o /dev/null
// RUN: %{explore} %s -o /dev/null
//
// The vectors that lanes have read are loaded anew when @sums has freed "c", for
// which it waits for "p".
// RUN: sed '/#vectors$/d' %s > %t/vectors.mlir
// RUN: not %{verify} %t/vectors.mlir 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: not %{explore} %t/vectors.mlir 2>&1 | FileCheck %s --check-prefix=UNSEEN
// UNSEEN: error: only relaxed arrivals order this access of @load{{.*}} to shared memory behind one of @lanes
// VECTORS: vectors.mlir:[[#]]:{{[0-9]+}}: error: channel "v": @load may overwrite a stage in pass 2 of its loop while @lanes reads it (channel "v")
// VECTORS: note: the access in pass 1 of its loop, which nothing orders before the write: only relaxed arrivals, at the barriers of the leader, lead from it to @load: they order accesses to tensor memory, not to shared memory
// VECTORS: %rows = vector.broadcast %tv
// VECTORS: note: this arrival in pass 1 of its loop is relaxed
// VECTORS: tile.release %s
//
// The operands of @scores are loaded anew when "c" is free. @lanes have seen that the
// MMAs have read them, but nobody whom they have told so by "p".
// RUN: sed '/#operands$/d' %s > %t/operands.mlir
// RUN: not %{verify} %t/operands.mlir 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: not %{explore} %t/operands.mlir 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: only relaxed arrivals order this access of @load{{.*}} to shared memory behind one of @scores
// OPERANDS: operands.mlir:[[#]]:{{[0-9]+}}: error: channel "a": @load may overwrite a stage in pass 2 of its loop while @scores reads it (channel "a")
// OPERANDS: note: the access in pass 1 of its loop, which nothing orders before the write: only relaxed arrivals, at the barriers of the leader, lead from it to @load
//
// Tensor memory is ordered by the same arrivals: @scores loads no new operands,
// so it writes no new "s", before "p" says that lanes have read the last one.
// RUN: sed '/tile.acquire %%s /d; /tile.release %%s /d' %s > %t/scores.mlir
// RUN: %{verify} %t/scores.mlir -o /dev/null
// RUN: %{explore} %t/scores.mlir -o /dev/null
//
// Where lanes hand on "p" in shared memory, they arrive by a release of the
// cluster, which orders all that they have done and seen before.
// RUN: sed 's/tile.channel "p" tmem/tile.channel "p" smem/' %t/vectors.mlir > %t/vectors-smem.mlir
// RUN: %{verify} %t/vectors-smem.mlir -o /dev/null
// RUN: %{explore} %t/vectors-smem.mlir -o /dev/null
// RUN: sed 's/tile.channel "p" tmem/tile.channel "p" smem/' %t/operands.mlir > %t/operands-smem.mlir
// RUN: %{verify} %t/operands-smem.mlir -o /dev/null
// RUN: %{explore} %t/operands-smem.mlir -o /dev/null
//
// Arrivals in the CTA are releases.
// RUN: sed '/#vectors$/d; /#operands$/d; s/ cluster = [^>]*>,//; s/ leader//; s/ split([01])//' %s > %t/alone.mlir
// RUN: %{verify} %t/alone.mlir -o /dev/null

tile.kernel @kernel(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %z: memref<?xf32> {tile.name = "z", tile.dims = ["N"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) split(0) : <vector<128x64xbf16>>
  %c = tile.channel "c" smem stages(1) split(1) : <vector<128x64xbf16>>
  %v = tile.channel "v" smem stages(1) : <vector<128xf32>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %c : <vector<128x64xbf16>>
      %tc = tile.load %x[%i, %c0] split(1) : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %c, %tc : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %a : <vector<128x64xbf16>> // #operands
      %ta = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %a, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %b : <vector<128x64xbf16>> // #operands
      %tb = tile.load %x[%i, %c0] split(0) : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %b, %tb : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %v : <vector<128xf32>> // #vectors
      %tv = tile.load %z[%i] : memref<?xf32> -> vector<128xf32>
      tile.commit %v, %tv : <vector<128xf32>>, vector<128xf32>
    }
  }
  tile.role @scores kind(issuer) leader {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %ta, transpose %tb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %b : <vector<128x64xbf16>> // #operands
      tile.release %a : <vector<128x64xbf16>> // #operands
    }
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %tv = tile.wait %v : <vector<128xf32>> -> vector<128xf32>
      %rows = vector.broadcast %tv : vector<128xf32> to vector<128x128xf32>
      tile.release %v : <vector<128xf32>> // #vectors
      %sum = arith.addf %ts, %rows : vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
      %tp = arith.truncf %sum : vector<128x128xf32> to vector<128x128xbf16>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      %to = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
      %negated = arith.negf %to : vector<128x64xf32>
      tile.release %o : <vector<128x64xf32>>
    }
  }
  tile.role @sums kind(issuer) leader {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %tc = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %o : <vector<128x64xf32>>
      %to = tile.mma %tp, %tc : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
      tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.release %c : <vector<128x64xbf16>>
    }
  }
}
