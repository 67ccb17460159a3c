// A loop whose mask condition is monotone in the induction variable is cut into
// loops with and without the mask. If the condition is not monotone, the loop
// must stay whole: cutting would mask the wrong blocks.
//
// RUN: fa4-opt %s --tile-split-loop --split-input-file | FileCheck %s

// Blocks that need a mask, then those that do not.
// CHECK-LABEL: tile.kernel @below
tile.kernel @below(%n: index {tile.name = "n"}, %masked: index {tile.name = "masked"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %l = tile.channel "l" smem stages(1) : <vector<128xf32>>
  // CHECK: tile.role @compute
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128xf32>
    %big = arith.constant dense<1.0> : vector<128x128xf32>
    // CHECK: %[[LOW:.*]] = arith.maxsi %arg1, %c0
    // CHECK-NEXT: %[[MID:.*]] = arith.minsi %[[LOW]], %arg0
    // CHECK-NEXT: %[[A:.*]] = scf.for %{{.*}} = %c0 to %[[MID]] step %c1 iter_args(%[[M:.*]] = %cst)
    // CHECK-NEXT: %[[T:.*]] = tile.wait %s
    // CHECK-NEXT: %[[X:.*]] = arith.minimumf %[[T]]
    // CHECK-NEXT: %[[Y:.*]] = vector.multi_reduction <maxnumf>, %[[X]], %[[M]]
    // CHECK-NEXT: tile.release %s
    // CHECK-NEXT: scf.yield %[[Y]]
    // CHECK-NEXT: }
    // CHECK-NEXT: %[[B:.*]] = scf.for %{{.*}} = %[[MID]] to %arg0 step %c1 iter_args(%[[M:.*]] = %[[A]])
    // CHECK-NEXT: %[[T:.*]] = tile.wait %s
    // CHECK-NEXT: %[[Y:.*]] = vector.multi_reduction <maxnumf>, %[[T]], %[[M]]
    // CHECK-NEXT: tile.release %s
    // CHECK-NEXT: scf.yield %[[Y]]
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.acquire %l
    // CHECK-NEXT: tile.commit %l, %[[B]]
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%m = %zero) -> (vector<128xf32>) {
      %t = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %c = arith.cmpi slt, %i, %masked : index
      %x = scf.if %c -> (vector<128x128xf32>) {
        %y = arith.minimumf %t, %big : vector<128x128xf32>
        scf.yield %y : vector<128x128xf32>
      } else {
        scf.yield %t : vector<128x128xf32>
      }
      %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      tile.release %s : <vector<128x128xf32>>
      scf.yield %m2 : vector<128xf32>
    }
    tile.acquire %l : <vector<128xf32>>
    tile.commit %l, %r : <vector<128xf32>>, vector<128xf32>
  }
}

// -----

// Masked at both ends; a bound that is included, on the other side of the
// comparison; a step that is not 1.
// CHECK-LABEL: tile.kernel @ends
tile.kernel @ends(%n: index {tile.name = "n"}, %x: index {tile.name = "x"}, %y: index {tile.name = "y"},
                  %out: memref<?xf32> {tile.name = "out", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant dense<1.0> : vector<128xf32>
    %two = arith.constant dense<2.0> : vector<128xf32>
    // x >= i: up to and with x, rounded up to whole steps.
    // CHECK: %[[X1:.*]] = arith.addi %arg1, %c1
    // CHECK-NEXT: %[[X2:.*]] = arith.maxsi %[[X1]], %c0
    // CHECK-NEXT: %[[SPAN:.*]] = arith.subi %[[X2]], %c0
    // CHECK-NEXT: %[[STEPS:.*]] = arith.ceildivsi %[[SPAN]], %c4
    // CHECK-NEXT: %[[WAY:.*]] = arith.muli %[[STEPS]], %c4
    // CHECK-NEXT: %[[X3:.*]] = arith.addi %c0{{.*}}, %[[WAY]]
    // CHECK-NEXT: %[[E0:.*]] = arith.minsi %[[X3]], %arg0
    // CHECK-NEXT: scf.for %[[I:.*]] = %c0{{.*}} to %[[E0]] step %c4
    // CHECK-NEXT: tile.store %cst, %arg3[%[[I]]]
    // CHECK-NEXT: }
    // CHECK: arith.maxsi %arg2, %[[E0]]
    // CHECK: %[[E1:.*]] = arith.minsi
    // CHECK-NEXT: scf.for %[[I:.*]] = %[[E0]] to %[[E1]] step %c4
    // CHECK-NEXT: tile.store %cst_{{[0-9]+}}, %arg3[%[[I]]]
    // CHECK-NEXT: }
    // CHECK-NEXT: scf.for %[[I:.*]] = %[[E1]] to %arg0 step %c4
    // CHECK-NEXT: tile.store %cst, %arg3[%[[I]]]
    // CHECK-NEXT: }
    scf.for %i = %c0 to %n step %c4 {
      %b = arith.cmpi sge, %i, %y : index
      %a = arith.cmpi sge, %x, %i : index
      %c = arith.ori %b, %a : i1
      scf.if %c {
        tile.store %one, %out[%i] : vector<128xf32>, memref<?xf32>
      } else {
        tile.store %two, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
}

// -----

// In between, for two branches; no else.
// CHECK-LABEL: tile.kernel @between
tile.kernel @between(%n: index {tile.name = "n"}, %x: index {tile.name = "x"}, %y: index {tile.name = "y"},
                     %out: memref<?xf32> {tile.name = "out", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant dense<1.0> : vector<128xf32>
    %two = arith.constant dense<2.0> : vector<128xf32>
    // CHECK: scf.for
    // CHECK-NEXT: }
    // CHECK: scf.for %[[I:.*]] =
    // CHECK-NEXT: tile.store %cst, %arg3[%[[I]]]
    // CHECK-NEXT: tile.store %cst_{{[0-9]+}}, %arg3[%[[I]]]
    // CHECK-NEXT: }
    // CHECK: scf.for
    // CHECK-NEXT: }
    scf.for %i = %c0 to %n step %c1 {
      %a = arith.cmpi sge, %i, %x : index
      %b = arith.cmpi slt, %i, %y : index
      %c = arith.andi %a, %b : i1
      scf.if %c {
        tile.store %one, %out[%i] : vector<128xf32>, memref<?xf32>
      }
      scf.if %c {
        tile.store %two, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
}

// -----

// Neither a condition that is not monotone, nor one with a bound that changes, nor
// the loop of a role that issues.
// CHECK-LABEL: tile.kernel @kept
// CHECK-COUNT-3: scf.if
// CHECK-NOT: scf.if
tile.kernel @kept(%n: index {tile.name = "n"},
                  %out: memref<?xf32> {tile.name = "out", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %one = arith.constant dense<1.0> : vector<128xf32>
    scf.for %i = %c0 to %n step %c1 {
      %a = arith.cmpi ne, %i, %c3 : index
      scf.if %a {
        tile.store %one, %out[%i] : vector<128xf32>, memref<?xf32>
      }
      %j = arith.remui %i, %c3 : index
      %b = arith.cmpi slt, %i, %j : index
      scf.if %b {
        tile.store %one, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = arith.cmpi slt, %i, %c3 : index
      scf.if %a {
        %t = tile.load %out[%i] : memref<?xf32> -> vector<128xf32>
        tile.store %t, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
}

// -----

// In a pair of CTAs, all loops make the same passes in both. What is masked in one
// only stays a branch; what is masked in both is cut off.
// CHECK-LABEL: tile.kernel @pair
tile.kernel @pair(%n: index {tile.name = "n"}, %out: memref<?xf32> {tile.name = "out", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"N" by 128>], cluster = #tile.cluster<size = 2, axis = 0>} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  // CHECK: tile.role @differs
  tile.role @differs kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %big = arith.constant dense<1.0> : vector<128xf32>
    %tile:2 = tile.work_tile : index, index
    // CHECK: scf.for %{{.*}} = %c0 to %arg0
    // CHECK: scf.if
    // CHECK-NOT: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %c = arith.cmpi slt, %i, %tile#0 : index
      scf.if %c {
        tile.store %big, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
  // CHECK: tile.role @same
  tile.role @same kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %big = arith.constant dense<1.0> : vector<128xf32>
    %tile:2 = tile.work_tile : index, index
    // CHECK: scf.for
    // CHECK-NOT: scf.if
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      %c = arith.cmpi slt, %i, %tile#1 : index
      scf.if %c {
        tile.store %big, %out[%i] : vector<128xf32>, memref<?xf32>
      }
    }
  }
}

// -----

// The loop carries the stage that an MMA of the next pass reads. The release is that of the pass before, and stays behind
// the await of this MMA; nothing follows the end of the pass.
// CHECK-LABEL: tile.kernel @carried
// CHECK-COUNT-2: tile.release %k : {{.*}}>{{[[:space:]]+}}scf.yield
tile.kernel @carried(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %k = tile.channel "k" smem stages(2) : <vector<64x64xbf16>>
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %first = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first, %sum = %zero) -> (vector<64x64xbf16>, vector<64x64xf32>) {
      %tk = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %s = tile.mma %tk, transpose %before : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      %isMasked = arith.cmpi slt, %i, %c3 : index
      %next = scf.if %isMasked -> (vector<64x64xf32>) {
        %u = arith.addf %t, %sum : vector<64x64xf32>
        scf.yield %u : vector<64x64xf32>
      } else {
        scf.yield %t : vector<64x64xf32>
      }
      tile.release %k : <vector<64x64xbf16>>
      scf.yield %tk, %next : vector<64x64xbf16>, vector<64x64xf32>
    }
    %s = tile.mma %r#0, transpose %r#0 : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    tile.release %k : <vector<64x64xbf16>>
  }
}
