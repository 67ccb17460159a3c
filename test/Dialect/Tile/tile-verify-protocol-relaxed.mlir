// Lanes of a pair of CTAs hand on tensor memory to the leader by relaxed arrivals,
// which order accesses to tensor memory, and nothing in shared memory. The kernel
// below is proven: each stage of shared memory is freed at a barrier of its own CTA,
// or by the MMAs of the leader. Without that, all roles still take their steps in the
// same order, but accesses to shared memory may be under way at the same time.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// The explorer knows it by itself.
//
// $ fa4-opt --tile-verify-protocol $S/tile-verify-protocol-relaxed.mlir -o /dev/null
// $ fa4-test-opt --tile-explore-protocol $S/tile-verify-protocol-relaxed.mlir -o /dev/null
//
// The vectors that lanes have read are loaded anew when @sums has freed "c", for
// which it waits for "p".
//
// $ sed '/#vectors$/d' $S/tile-verify-protocol-relaxed.mlir > vectors.mlir
// $ fa4-opt --tile-verify-protocol vectors.mlir
// vectors.mlir:{{\d+}}:{{[0-9]+}}: error: channel "v": @load may overwrite a stage in pass 2 of its loop while @lanes reads it (channel "v")
// ...
// {{.*}}note: the access in pass 1 of its loop, which nothing orders before the write: only relaxed arrivals, at the barriers of the leader, lead from it to @load: they order accesses to tensor memory, not to shared memory
//       %rows = vector.broadcast %tv{{.*}}
// ...
// {{.*}}note: this arrival in pass 1 of its loop is relaxed
//       tile.release %s{{.*}}
// ...
// [1]
// $ fa4-test-opt --tile-explore-protocol vectors.mlir
// {{.*}}error: only relaxed arrivals order this access of @load to shared memory behind one of @lanes
// ...
// [1]
//
// The operands of @scores are loaded anew when "c" is free. @lanes have seen that the
// MMAs have read them, but nobody whom they have told so by "p".
//
// $ sed '/#operands$/d' $S/tile-verify-protocol-relaxed.mlir > operands.mlir
// $ fa4-opt --tile-verify-protocol operands.mlir
// operands.mlir:{{\d+}}:{{[0-9]+}}: error: channel "a": @load may overwrite a stage in pass 2 of its loop while @scores reads it (channel "a")
// ...
// {{.*}}note: the access in pass 1 of its loop, which nothing orders before the write: only relaxed arrivals, at the barriers of the leader, lead from it to @load: they order accesses to tensor memory, not to shared memory
// ...
// [1]
// $ fa4-test-opt --tile-explore-protocol operands.mlir
// {{.*}}error: only relaxed arrivals order this access of @load to shared memory behind one of @scores
// ...
// [1]
//
// Tensor memory is ordered by the same arrivals: @scores loads no new operands,
// so it writes no new "s", before "p" says that lanes have read the last one.
//
// $ sed '/tile.acquire %s /d; /tile.release %s /d' $S/tile-verify-protocol-relaxed.mlir > scores.mlir
// $ fa4-opt --tile-verify-protocol scores.mlir -o /dev/null
// $ fa4-test-opt --tile-explore-protocol scores.mlir -o /dev/null
//
// Where lanes hand on "p" in shared memory, they arrive by a release of the
// cluster, which orders all that they have done and seen before.
//
// $ sed 's/tile.channel "p" tmem/tile.channel "p" smem/' vectors.mlir > vectors-smem.mlir
// $ fa4-opt --tile-verify-protocol vectors-smem.mlir -o /dev/null
// $ fa4-test-opt --tile-explore-protocol vectors-smem.mlir -o /dev/null
// $ sed 's/tile.channel "p" tmem/tile.channel "p" smem/' operands.mlir > operands-smem.mlir
// $ fa4-opt --tile-verify-protocol operands-smem.mlir -o /dev/null
// $ fa4-test-opt --tile-explore-protocol operands-smem.mlir -o /dev/null
//
// Arrivals in the CTA are releases.
//
// $ sed '/#vectors$/d; /#operands$/d; s/ cluster = [^>]*>,//; s/ leader//; s/ split([01])//' $S/tile-verify-protocol-relaxed.mlir > alone.mlir
// $ fa4-opt --tile-verify-protocol alone.mlir -o /dev/null

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
