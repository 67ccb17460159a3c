// Arithmetic that is long becomes a loop over pairs of columns, which carries
// those that are left to do and those that are done.
//
// RUN: fa4-opt %s --tile-unroll="fragment=8 loop-instructions=4" --split-input-file | FileCheck %s --dump-input=never
// RUN: fa4-opt %s --tile-unroll="fragment=8 loop-instructions=4" --canonicalize --cse --loop-invariant-code-motion --split-input-file | FileCheck %s --dump-input=never --check-prefix=UPSTREAM
// RUN: fa4-opt %s --tile-unroll="fragment=8 loop-instructions=1000" --split-input-file | FileCheck %s --dump-input=never --check-prefix=COPIES

// The first pair is computed, the others move up, and the result comes behind
// them: after four passes there are results alone.
// CHECK-LABEL: tile.kernel @chain
// UPSTREAM-LABEL: tile.kernel @chain
// COPIES-LABEL: tile.kernel @chain
tile.kernel @chain() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128x16xf32>>
  %p = tile.channel "p" smem stages(1) : <vector<128x16xf32>>
  tile.role @compute kind(vector) {
    tile.wait %s : <vector<128x16xf32>>
    tile.acquire %p : <vector<128x16xf32>>
    // CHECK: tile.read %s
    // CHECK: %[[LOOP:.*]]:4 = scf.for %{{.*}} = %c0{{.*}} to %c8{{.*}} step %c2{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}, %[[D:.*]] = %{{.*}}) -> (vector<2xf32>, vector<2xf32>, vector<2xf32>, vector<2xf32>) {
    // CHECK-NEXT: %[[X0:.*]] = arith.mulf %[[A]], %[[A]] : vector<2xf32>
    // CHECK-NEXT: %[[X1:.*]] = arith.mulf %[[X0]], %[[A]]
    // CHECK-NEXT: %[[X2:.*]] = arith.mulf %[[X1]], %[[X0]]
    // CHECK-NEXT: %[[X3:.*]] = arith.addf %[[X2]], %[[X1]]
    // CHECK-NEXT: scf.yield %[[B]], %[[C]], %[[D]], %[[X3]]
    // CHECK: vector.extract %[[LOOP]]#0[0]
    // CHECK: vector.extract %[[LOOP]]#3[1]
    // CHECK: tile.write
    // The second fragment.
    // CHECK: scf.for %{{.*}} = %c8{{.*}} to %c16
    // CHECK: tile.write
    // CHECK-NOT: scf.for
    // UPSTREAM-COUNT-2: scf.for
    // COPIES-NOT: scf.for
    // COPIES-COUNT-24: arith.mulf
    %x = tile.read %s : <vector<128x16xf32>> -> vector<16xf32>
    %x0 = arith.mulf %x, %x : vector<16xf32>
    %x1 = arith.mulf %x0, %x : vector<16xf32>
    %x2 = arith.mulf %x1, %x0 : vector<16xf32>
    %x3 = arith.addf %x2, %x1 : vector<16xf32>
    tile.write %x3, %p : vector<16xf32>, <vector<128x16xf32>>
    tile.fence
    tile.commit %p : <vector<128x16xf32>>
    tile.release %s : <vector<128x16xf32>>
  }
}

// -----

// What a column's number decides is computed from the number of the pass. A
// comparison takes the limit that is computed once; a condition that is put
// together of several is carried as a word, whose first bit is that of the
// first column of the pass.
// CHECK-LABEL: tile.kernel @positions
// COPIES-LABEL: tile.kernel @positions
tile.kernel @positions() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128x16xf32>>
  %p = tile.channel "p" smem stages(1) : <vector<128x16xf32>>
  tile.role @compute kind(vector) {
    %row = tile.row : index
    %j = vector.step : vector<16xindex>
    %i = vector.broadcast %row : index to vector<16xindex>
    %seven = arith.constant dense<7> : vector<16xindex>
    %ten = arith.constant dense<10> : vector<16xindex>
    tile.wait %s : <vector<128x16xf32>>
    tile.acquire %p : <vector<128x16xf32>>
    %x = tile.read %s : <vector<128x16xf32>> -> vector<16xf32>
    %d = arith.subi %j, %i : vector<16xindex>
    %r = arith.xori %d, %seven : vector<16xindex>
    %n = arith.index_cast %r : vector<16xindex> to vector<16xi32>
    %f = arith.sitofp %n : vector<16xi32> to vector<16xf32>
    %y = arith.addf %x, %f : vector<16xf32>
    %before = arith.cmpi sle, %j, %i : vector<16xindex>
    %z = arith.select %before, %y, %x : vector<16xi1>, vector<16xf32>
    %after = arith.cmpi sge, %j, %ten : vector<16xindex>
    %both = arith.ori %before, %after : vector<16xi1>
    %w = arith.select %both, %z, %y : vector<16xi1>, vector<16xf32>
    // CHECK: %[[LIMIT:.*]] = arith.addi %{{.*}}, %c1_i32{{.*}} : i32
    // CHECK: %[[WORD:.*]] = arith.ori %{{.*}} : i32
    // CHECK: scf.for {{.*}}, %{{.*}} = %[[WORD]]) ->
    // CHECK: tile.write
    // The second fragment begins with bit 8.
    // CHECK: %[[LATER:.*]] = arith.shrui %[[WORD]], %c8_i32{{.*}} : i32
    // CHECK: scf.for %[[J:.*]] = %c8{{.*}} to %c16{{.*}} step %c2{{.*}} iter_args({{.*}}, %[[NOW:.*]] = %[[LATER]]) ->
    // CHECK: arith.andi %[[NOW]], %c1_i32
    // CHECK: %[[SUM:.*]] = arith.addi %[[BASE:.*]], %[[J]] : index
    // CHECK: %[[NARROW:.*]] = arith.index_cast %[[J]] : index to i32
    // CHECK: arith.cmpi slt, %[[NARROW]], %[[LIMIT]]
    // CHECK: %[[J1:.*]] = arith.addi %[[J]], %c1{{.*}} : index
    // CHECK: arith.andi %[[NOW]], %c2_i32
    // CHECK: arith.xori %[[SUM]]
    // CHECK: %[[NEXT:.*]] = arith.shrui %[[NOW]], %c2_i32{{.*}} : i32
    // CHECK-NEXT: scf.yield %{{.*}}, %[[NEXT]]
    // COPIES-NOT: scf.for
    tile.write %w, %p : vector<16xf32>, <vector<128x16xf32>>
    tile.fence
    tile.commit %p : <vector<128x16xf32>>
    tile.release %s : <vector<128x16xf32>>
  }
}

// -----

// What stands in front of the write and needs the same numbers is computed in
// the same loop, which has two results; what has to be read for something else
// is not.
// CHECK-LABEL: tile.kernel @two_results
tile.kernel @two_results() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128x8xf32>>
  %t = tile.channel "t" smem stages(1) : <vector<128x8xf32>>
  %p = tile.channel "p" smem stages(1) : <vector<128x8xbf16>>
  %q = tile.channel "q" smem stages(1) : <vector<128x8xbf16>>
  tile.role @compute kind(vector) {
    tile.wait %s : <vector<128x8xf32>>
    tile.acquire %p : <vector<128x8xbf16>>
    %x = tile.read %s : <vector<128x8xf32>> -> vector<8xf32>
    %a = arith.mulf %x, %x : vector<8xf32>
    %b = math.tanh %a : vector<8xf32>
    %slope = arith.mulf %b, %a : vector<8xf32>
    %c = arith.addf %b, %x : vector<8xf32>
    %z = arith.truncf %c : vector<8xf32> to vector<8xbf16>
    // CHECK: %[[LOOP:.*]]:8 = scf.for {{.*}} -> (vector<2xf32>, vector<2xf32>, vector<2xf32>, vector<2xf32>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
    // CHECK: math.tanh
    // CHECK-NOT: math.tanh
    // CHECK: tile.write {{.*}} %p
    tile.write %z, %p : vector<8xbf16>, <vector<128x8xbf16>>
    tile.fence
    tile.commit %p : <vector<128x8xbf16>>
    tile.release %s : <vector<128x8xf32>>
    // CHECK: tile.wait %t
    tile.wait %t : <vector<128x8xf32>>
    tile.acquire %q : <vector<128x8xbf16>>
    %y = tile.read %t : <vector<128x8xf32>> -> vector<8xf32>
    // CHECK: arith.mulf %[[LOOP]]#0
    // CHECK-NOT: math.tanh
    %u = arith.mulf %slope, %y : vector<8xf32>
    %v = arith.truncf %u : vector<8xf32> to vector<8xbf16>
    tile.write %v, %q : vector<8xbf16>, <vector<128x8xbf16>>
    tile.fence
    tile.commit %q : <vector<128x8xbf16>>
    tile.release %t : <vector<128x8xf32>>
  }
}

// -----

// More results than four would take more registers than a loop is worth.
// CHECK-LABEL: tile.kernel @five_results
// CHECK-NOT: scf.for
tile.kernel @five_results() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128x8xf32>>
  %p = tile.channel "p" smem stages(1) : <vector<128x8xf32>>
  tile.role @compute kind(vector) {
    tile.wait %s : <vector<128x8xf32>>
    %x = tile.read %s : <vector<128x8xf32>> -> vector<8xf32>
    %a = arith.mulf %x, %x : vector<8xf32>
    %b = math.tanh %a : vector<8xf32>
    %c = arith.mulf %b, %a : vector<8xf32>
    %d = arith.mulf %c, %b : vector<8xf32>
    %e = arith.mulf %d, %c : vector<8xf32>
    %f = arith.mulf %e, %c : vector<8xf32>
    tile.acquire %p : <vector<128x8xf32>>
    tile.write %f, %p : vector<8xf32>, <vector<128x8xf32>>
    tile.fence
    tile.commit %p : <vector<128x8xf32>>
    tile.release %s : <vector<128x8xf32>>
    %a0 = arith.addf %a, %b : vector<8xf32>
    %a1 = arith.addf %c, %d : vector<8xf32>
    %a3 = arith.addf %a1, %a0 : vector<8xf32>
    tile.acquire %p : <vector<128x8xf32>>
    tile.write %a3, %p : vector<8xf32>, <vector<128x8xf32>>
    tile.fence
    tile.commit %p : <vector<128x8xf32>>
  }
}
