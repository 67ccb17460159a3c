// tile-unroll cuts rows into fragments and pairs of columns, so that a fragment
// leaves the registers before the next one is needed. If it went operation by
// operation instead, whole rows would be live and spill.
//
// RUN: fa4-opt %s --tile-unroll=fragment=4 --split-input-file | FileCheck %s --dump-input=never
// RUN: fa4-opt %s --tile-unroll --split-input-file | FileCheck %s --dump-input=never --check-prefix=WIDE

// A fragment of tensor memory is read while the one before it is worked on. The
// maximum folds two elements a step in four accumulators. Each fragment goes from
// its fma to its write before the next one, and into the partial sums.
// CHECK-LABEL: tile.kernel @row
tile.kernel @row() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x12xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x12xbf16>>
  %l = tile.channel "l" smem stages(1) : <vector<128xf32>>
  tile.role @compute kind(vector) {
    %k = arith.constant dense<2.0> : vector<12xf32>
    %m0 = arith.constant 0.0 : f32
    // CHECK: tile.wait %s
    // CHECK-NEXT: %[[R0:.*]] = tile.read %s : <vector<128x12xf32>> -> vector<4xf32>
    // CHECK-NEXT: %[[X0:.*]] = vector.extract_strided_slice %[[R0]] {offsets = [0], sizes = [2], strides = [1]}
    // CHECK-NEXT: %[[X1:.*]] = vector.extract_strided_slice %[[R0]] {offsets = [2]
    // CHECK-NEXT: %[[R1:.*]] = tile.read %s[4]
    // CHECK-NEXT: %[[X00:.*]] = vector.extract %[[X0]][0]
    // A fragment of 12 columns is read as 8 and 4.
    // WIDE: tile.read %s : <vector<128x12xf32>> -> vector<8xf32>
    // WIDE: tile.read %s[8] : <vector<128x12xf32>> -> vector<4xf32>
    tile.wait %s : <vector<128x12xf32>>
    %x = tile.read %s : <vector<128x12xf32>> -> vector<12xf32>
    // CHECK-NEXT: %[[A0:.*]] = arith.maxnumf %[[X00]], %{{.*}} : f32
    // CHECK-NEXT: %[[X01:.*]] = vector.extract %[[X0]][1]
    // CHECK-NEXT: %[[A1:.*]] = arith.maxnumf %[[A0]], %[[X01]] : f32
    // The other accumulators start with their first element, and the fifth pair
    // goes to the first one again. Three steps join them.
    // CHECK: arith.maxnumf
    // CHECK: vector.extract_strided_slice %[[R1]]
    // CHECK: tile.read %s[8]
    // CHECK-COUNT-2: arith.maxnumf
    // CHECK: arith.maxnumf %[[A1]], %{{.*}} : f32
    // CHECK-COUNT-6: arith.maxnumf
    // CHECK-NOT: arith.maxnumf
    %m = vector.reduction <maxnumf>, %x, %m0 : vector<12xf32> into f32
    // CHECK: tile.release %s
    tile.release %s : <vector<128x12xf32>>
    %mb = vector.broadcast %m : f32 to vector<12xf32>
    %y = math.fma %x, %k, %mb : vector<12xf32>
    %e = tile.exp2 %y polynomial [0.695146143, 0.3] pairs [1, 4] : vector<12xf32>
    %z = arith.truncf %e : vector<12xf32> to vector<12xbf16>
    // CHECK: tile.acquire %p
    // CHECK: %[[MB:.*]] = vector.broadcast %{{.*}} : f32 to vector<2xf32>
    // CHECK-NEXT: %[[Y0:.*]] = math.fma %[[X0]], %{{.*}}, %[[MB]] : vector<2xf32>
    // CHECK-NEXT: %[[Y1:.*]] = math.fma %[[X1]]
    // CHECK-NEXT: %[[E0:.*]] = math.exp2 %[[Y0]]
    // CHECK-NEXT: %[[E1:.*]] = tile.exp2 %[[Y1]] polynomial [0.695146143, 3.000000e-01] pairs [0]
    // CHECK-NEXT: %[[Z0:.*]] = arith.truncf %[[E0]]
    // CHECK-NEXT: %[[Z1:.*]] = arith.truncf %[[E1]]
    // CHECK-NEXT: %[[B0:.*]] = vector.bitcast %[[Z0]] : vector<2xbf16> to vector<1xi32>
    // CHECK-NEXT: %[[W0:.*]] = vector.extract %[[B0]][0]
    // CHECK-NEXT: %[[B1:.*]] = vector.bitcast %[[Z1]]
    // CHECK-NEXT: %[[W1:.*]] = vector.extract %[[B1]][0]
    // CHECK-NEXT: %[[W:.*]] = vector.from_elements %[[W0]], %[[W1]] : vector<2xi32>
    // CHECK-NEXT: %[[P:.*]] = vector.bitcast %[[W]] : vector<2xi32> to vector<4xbf16>
    // CHECK-NEXT: tile.write %[[P]], %p : vector<4xbf16>
    // CHECK-NEXT: math.fma
    // CHECK: tile.write {{.*}}, %p[4]
    // CHECK-NEXT: math.fma
    // CHECK-NEXT: math.fma
    // CHECK-NEXT: tile.exp2
    // CHECK-NEXT: math.exp2
    // CHECK: tile.write {{.*}}, %p[8]
    // CHECK-COUNT-2: arith.addf {{.*}} : vector<2xf32>
    // CHECK: tile.commit %p
    tile.acquire %p : <vector<128x12xbf16>>
    tile.write %z, %p : vector<12xbf16>, <vector<128x12xbf16>>
    tile.commit %p : <vector<128x12xbf16>>
    // CHECK-COUNT-3: arith.addf {{.*}} : vector<2xf32>
    // CHECK-COUNT-2: arith.addf {{.*}} : f32
    // CHECK-NOT: arith.addf
    // CHECK: tile.write {{.*}}, %l : f32
    %sum = vector.reduction <add>, %e, %m : vector<12xf32> into f32
    tile.acquire %l : <vector<128xf32>>
    tile.write %sum, %l : f32, <vector<128xf32>>
    tile.commit %l : <vector<128xf32>>
  }
}

// -----

// "o" lies where "s" is, and is written behind a wait for a part of "p": all of s has been
// read when that part is committed, and of "t" what the part needs.
// CHECK-LABEL: tile.kernel @used_again
tile.kernel @used_again() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x12xf32>>
  %t = tile.channel "t" tmem stages(1) : <vector<128x12xf32>>
  %p0 = tile.channel "p0" tmem stages(1) : <vector<128x4xf32>>
  %p1 = tile.channel "p1" tmem stages(1) : <vector<128x8xf32>>
  %o = tile.channel "o" tmem stages(1) after(%s : !tile.channel<vector<128x12xf32>>) : <vector<128x12xf32>>
  tile.role @compute kind(vector) {
    // CHECK: tile.read %s[4]
    // CHECK: tile.read %s[8]
    // CHECK: tile.commit %p0
    // CHECK-NOT: tile.read %s
    // CHECK: tile.read %t[8]
    // CHECK-NOT: tile.read %s
    // CHECK: tile.commit %p1
    tile.wait %s : <vector<128x12xf32>>
    %x = tile.read %s : <vector<128x12xf32>> -> vector<12xf32>
    tile.wait %t : <vector<128x12xf32>>
    %y = tile.read %t : <vector<128x12xf32>> -> vector<12xf32>
    %z = arith.mulf %x, %y : vector<12xf32>
    %z0 = vector.extract_strided_slice %z {offsets = [0], sizes = [4], strides = [1]} : vector<12xf32> to vector<4xf32>
    tile.write %z0, %p0 : vector<4xf32>, <vector<128x4xf32>>
    tile.commit %p0 : <vector<128x4xf32>>
    %z1 = vector.extract_strided_slice %z {offsets = [4], sizes = [8], strides = [1]} : vector<12xf32> to vector<8xf32>
    tile.write %z1, %p1 : vector<8xf32>, <vector<128x8xf32>>
    tile.commit %p1 : <vector<128x8xf32>>
  }
}

// -----

// A value with one use is read as it is used, a fragment at a time, also when it is
// written back in place; in a role that is known to have the registers (it holds a row,
// at its end), a fragment ahead. What is written first must not be read after.
// CHECK-LABEL: tile.kernel @in_place
tile.kernel @in_place() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" tmem stages(1) : <vector<128x8xf32>>
  %or = tile.channel "or" tmem stages(1) in_place_of(%o : !tile.channel<vector<128x8xf32>>) : <vector<128x8xf32>>
  tile.role @correct kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = arith.constant dense<2.0> : vector<8xf32>
    // CHECK: scf.for
    // CHECK: tile.wait %o
    // CHECK-NEXT: tile.read %o : <vector<128x8xf32>> -> vector<4xf32>
    // CHECK: tile.read %o[4]
    // CHECK-COUNT-2: arith.mulf
    // CHECK: tile.write {{.*}}, %or : vector<4xf32>
    // CHECK-COUNT-2: arith.mulf
    // CHECK: tile.write {{.*}}, %or[4]
    // CHECK-NEXT: tile.commit %or
    scf.for %i = %c0 to %c1 step %c1 {
      tile.wait %o : <vector<128x8xf32>>
      %x = tile.read %o : <vector<128x8xf32>> -> vector<8xf32>
      %y = arith.mulf %x, %a : vector<8xf32>
      tile.write %y, %or : vector<8xf32>, <vector<128x8xf32>>
      tile.commit %or : <vector<128x8xf32>>
    }
    // CHECK: tile.wait %o
    // CHECK-NEXT: tile.read %o : <vector<128x8xf32>> -> vector<4xf32>
    // CHECK: tile.read %o[4]
    // CHECK: tile.write {{.*}}, %or
    // CHECK: tile.write {{.*}}, %or[4]
    // CHECK-NEXT: tile.commit %or
    // CHECK: arith.mulf
    // CHECK: tile.write
    tile.wait %o : <vector<128x8xf32>>
    %x = tile.read %o : <vector<128x8xf32>> -> vector<8xf32>
    tile.write %a, %or : vector<8xf32>, <vector<128x8xf32>>
    tile.commit %or : <vector<128x8xf32>>
    tile.wait %o : <vector<128x8xf32>>
    %y = arith.mulf %x, %a : vector<8xf32>
    tile.write %y, %or : vector<8xf32>, <vector<128x8xf32>>
    tile.commit %or : <vector<128x8xf32>>
  }
}

// -----

// Comparisons of the column with a scalar are a word for 32 columns: ones shifted by how
// far the limit is from the word's end or begin. Rows become loop and branch
// values of pairs.
// CHECK-LABEL: tile.kernel @mask
tile.kernel @mask() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %c = arith.constant true
    %ninf = arith.constant dense<0xFF800000> : vector<64xf32>
    %row = tile.row : index
    tile.wait %s : <vector<128x64xf32>>
    %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
    // CHECK: %[[ROW:.*]] = tile.row
    // CHECK: %[[IF:.*]]:32 = scf.if %{{.*}} -> (vector<2xf32>, {{.*}}vector<2xf32>) {
    %y = scf.if %c -> (vector<64xf32>) {
      %cols = vector.step : vector<64xindex>
      %one = arith.constant dense<1> : vector<64xindex>
      %rowb = vector.broadcast %row : index to vector<64xindex>
      // column <= row + 1, column > row - 1
      %lim = arith.addi %rowb, %one : vector<64xindex>
      %keep = arith.cmpi sle, %cols, %lim : vector<64xindex>
      %low = arith.subi %rowb, %one : vector<64xindex>
      %left = arith.cmpi slt, %low, %cols : vector<64xindex>
      %both = arith.andi %keep, %left : vector<64xi1>
      // CHECK: %[[ROW32:.*]] = arith.index_cast %[[ROW]] : index to i32
      // CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i32
      // CHECK-NEXT: %[[LIM:.*]] = arith.addi %[[ROW32]], %[[TWO]] : i32
      // CHECK-NEXT: %[[END:.*]] = arith.constant 32 : i32
      // CHECK-NEXT: %[[PAST:.*]] = arith.subi %[[END]], %[[LIM]] : i32
      // CHECK: %[[AMOUNT:.*]] = arith.maxsi %[[PAST]], %{{.*}} : i32
      // CHECK-NEXT: %[[UP:.*]] = arith.shrui %{{.*}}, %[[AMOUNT]] : i32
      // CHECK-NEXT: %[[IN:.*]] = arith.cmpi ult, %[[AMOUNT]], %{{.*}} : i32
      // CHECK-NEXT: %[[UPPER:.*]] = arith.select %[[IN]], %[[UP]], %{{.*}} : i32
      // The limit of the other, row - 1 + 1, is the row.
      // CHECK: %[[LOWLIM:.*]] = arith.index_cast %[[ROW]] : index to i32
      // CHECK: %[[BEFORE:.*]] = arith.subi %[[LOWLIM]], %{{.*}} : i32
      // CHECK: arith.shli
      // CHECK: %[[LOWER:.*]] = arith.select
      // CHECK-NEXT: %[[WORD:.*]] = arith.andi %[[UPPER]], %[[LOWER]] : i32
      // CHECK-NEXT: %[[BIT:.*]] = arith.constant 1 : i32
      // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
      // CHECK-NEXT: %[[AND:.*]] = arith.andi %[[WORD]], %[[BIT]] : i32
      // CHECK-NEXT: %[[SET:.*]] = arith.cmpi ne, %[[AND]], %[[ZERO]] : i32
      // CHECK: arith.select %[[SET]], %{{.*}}, %{{.*}} : f32
      // CHECK: arith.constant -2147483648 : i32
      // The second word.
      // CHECK: %[[END2:.*]] = arith.constant 64 : i32
      // CHECK-NEXT: arith.subi %[[END2]], %[[LIM]] : i32
      %z = arith.select %both, %x, %ninf : vector<64xi1>, vector<64xf32>
      scf.yield %z : vector<64xf32>
    } else {
      scf.yield %x : vector<64xf32>
    }
    // CHECK: tile.release %s
    // CHECK: vector.extract %[[IF]]#0[0]
    tile.release %s : <vector<128x64xf32>>
    tile.acquire %s : <vector<128x64xf32>>
    tile.write %y, %s : vector<64xf32>, <vector<128x64xf32>>
    tile.commit %s : <vector<128x64xf32>>
  }
}

// -----

// Any other condition is computed for each column. Integers have no packed instructions: as
// vectors of two they would be split by LLVM, in a time that is quadratic in the length of a
// chain of them. What they select is a pair again where something packed uses it. A pair goes
// through all of the integers' operations before the next one: the integers of a whole fragment
// would take a register each, beside the scores. For the same reason ptxas must not compute those
// of the next fragment meanwhile.
// CHECK-LABEL: tile.kernel @no_mask
tile.kernel @no_mask() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
  tile.role @compute kind(vector) {
    %x = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>
    %ninf = arith.constant dense<0xFF800000> : vector<4xf32>
    // CHECK: %[[ROW:.*]] = tile.row
    %row = tile.row : index
    %cols = vector.step : vector<4xindex>
    %rowb = vector.broadcast %row : index to vector<4xindex>
    %five = arith.constant dense<5> : vector<4xindex>
    // CHECK-NOT: vector<{{[0-9]+}}x{{index|i1}}>
    // CHECK: %[[X1:.*]] = arith.xori %c1, %[[ROW]] : index
    // CHECK: %[[M1:.*]] = arith.muli %[[X1]], %c5 : index
    // CHECK: %[[KEEP1:.*]] = arith.cmpi slt, %[[M1]], %[[ROW]] : index
    // CHECK: arith.select %[[KEEP1]], {{.*}} : f32
    // CHECK: %[[X2:.*]] = arith.xori %c2, %[[ROW]] : index
    // CHECK: %[[M2:.*]] = arith.muli %[[X2]], %c5 : index
    // CHECK: %[[KEEP2:.*]] = arith.cmpi slt, %[[M2]], %[[ROW]] : index
    // CHECK-NOT: vector<{{[0-9]+}}x{{index|i1}}>
    // CHECK: arith.select %[[KEEP2]], {{.*}} : f32
    // CHECK-COUNT-2: arith.addf {{.*}} : vector<2xf32>
    // CHECK: tile.write
    // CHECK-NEXT: tile.keep_order
    %mixed = arith.xori %cols, %rowb : vector<4xindex>
    %more = arith.muli %mixed, %five : vector<4xindex>
    %keep = arith.cmpi slt, %more, %rowb : vector<4xindex>
    %z = arith.select %keep, %x, %ninf : vector<4xi1>, vector<4xf32>
    %sum = arith.addf %z, %x : vector<4xf32>
    tile.acquire %s : <vector<128x4xf32>>
    tile.write %sum, %s : vector<4xf32>, <vector<128x4xf32>>
    tile.commit %s : <vector<128x4xf32>>
  }
}

// -----

// The position of a column is added last, to the sum of everything else, which is added once: a
// loop in which only one term changes would otherwise keep the sum of the others, a register for
// each column. Comparisons for equality are no words of bits.
// CHECK-LABEL: tile.kernel @sums
tile.kernel @sums() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
  tile.role @compute kind(vector) {
    %x = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>
    %ninf = arith.constant dense<0xFF800000> : vector<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    // CHECK: %[[ROW:.*]] = tile.row
    %row = tile.row : index
    %cols = vector.step : vector<4xindex>
    %rowb = vector.broadcast %row : index to vector<4xindex>
    %seven = arith.constant dense<7> : vector<4xindex>
    // CHECK: scf.for %[[BLOCK:.*]] =
    scf.for %block = %c0 to %c9 step %c1 {
      %blockb = vector.broadcast %block : index to vector<4xindex>
      // The columns of the difference are row - block to row - block - 3.
      // CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[ROW]], %[[BLOCK]] : index
      // CHECK: %[[D1:.*]] = arith.addi %[[DIFFERENCE]], %c-1 : index
      // CHECK: arith.cmpi eq, %[[DIFFERENCE]], %c7
      // CHECK: arith.cmpi eq, %[[D1]], %c7
      // CHECK-NOT: %[[BLOCK]]
      // CHECK: arith.addi %[[DIFFERENCE]], %c-2 : index
      // CHECK: arith.addi %[[DIFFERENCE]], %c-3 : index
      // Those of the sum are row + block + 7 to row + block + 10.
      // CHECK: %[[SUM:.*]] = arith.addi %[[ROW]], %[[BLOCK]] : index
      // CHECK: %[[S0:.*]] = arith.addi %[[SUM]], %c7{{.*}} : index
      // CHECK: %[[S1:.*]] = arith.addi %[[SUM]], %c8 : index
      // CHECK: arith.cmpi eq, %[[S0]], %c7
      // CHECK-NOT: %[[BLOCK]]
      // CHECK: arith.addi %[[SUM]], %c10 : index
      // CHECK-NOT: %[[BLOCK]]
      // CHECK: tile.write
      %key = arith.addi %cols, %blockb : vector<4xindex>
      %sum0 = arith.addi %rowb, %key : vector<4xindex>
      %sum = arith.addi %sum0, %seven : vector<4xindex>
      %a = arith.cmpi eq, %sum, %seven : vector<4xindex>
      %difference = arith.subi %rowb, %key : vector<4xindex>
      %d = arith.cmpi eq, %difference, %seven : vector<4xindex>
      %y = arith.select %a, %x, %ninf : vector<4xi1>, vector<4xf32>
      %z = arith.select %d, %y, %ninf : vector<4xi1>, vector<4xf32>
      tile.acquire %s : <vector<128x4xf32>>
      tile.write %z, %s : vector<4xf32>, <vector<128x4xf32>>
      tile.commit %s : <vector<128x4xf32>>
    }
  }
}

// -----

// What stands in front of a write and is computed from what the write needs is built with
// its fragment, and kept there: the product with the exponential, and not the exponential,
// is held.
// CHECK-LABEL: tile.kernel @early
tile.kernel @early() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x8xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x8xbf16>>
  %w = tile.channel "w" tmem stages(1) : <vector<128x8xbf16>>
  tile.role @compute kind(vector) {
    // CHECK-COUNT-2: math.exp2
    // CHECK: tile.write {{.*}}, %p : vector<4xbf16>
    // CHECK-COUNT-2: arith.mulf
    // CHECK: tile.keep_order
    // CHECK-COUNT-2: math.exp2
    // CHECK: tile.write {{.*}}, %p[4] : vector<4xbf16>
    // CHECK-COUNT-2: arith.mulf
    // CHECK: tile.keep_order
    // CHECK: tile.commit %p
    // CHECK-NOT: arith.mulf
    // CHECK: tile.commit %w
    tile.wait %s : <vector<128x8xf32>>
    %x = tile.read %s : <vector<128x8xf32>> -> vector<8xf32>
    %e = math.exp2 %x : vector<8xf32>
    %f = arith.mulf %e, %x : vector<8xf32>
    %y = arith.truncf %e : vector<8xf32> to vector<8xbf16>
    tile.write %y, %p : vector<8xbf16>, <vector<128x8xbf16>>
    tile.commit %p : <vector<128x8xbf16>>
    %z = arith.truncf %f : vector<8xf32> to vector<8xbf16>
    tile.write %z, %w : vector<8xbf16>, <vector<128x8xbf16>>
    tile.commit %w : <vector<128x8xbf16>>
  }
}

// -----

// Lanes that hold a row in registers give its columns back before they wait for
// the place of what they make of it: the MMA that writes the columns next would
// have to wait for the one that reads the row's last result. What is read as it is
// used is released behind its last use.
// CHECK-LABEL: tile.kernel @release_before_waiting
// CHECK:       tile.wait %s
// CHECK:       tile.read %s : <vector<128x8xf32>> -> vector<4xf32>
// CHECK:       tile.read %s[4]
// CHECK:       tile.release %s
// CHECK:       arith.maxnumf
// CHECK:       tile.acquire %p
// CHECK:       arith.subf
// CHECK:       tile.commit %p
// CHECK:       tile.wait %o
// CHECK:       tile.acquire %w
// CHECK:       tile.read %o[4]
// CHECK:       tile.release %o
// CHECK:       tile.commit %w
tile.kernel @release_before_waiting() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x8xf32>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x8xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x8xbf16>>
  %w = tile.channel "w" tmem stages(1) : <vector<128x8xbf16>>
  tile.role @compute kind(vector) {
    %zero = arith.constant 0.0 : f32
    tile.wait %s : <vector<128x8xf32>>
    %x = tile.read %s : <vector<128x8xf32>> -> vector<8xf32>
    %max = vector.reduction <maxnumf>, %x, %zero : vector<8xf32> into f32
    %b = vector.broadcast %max : f32 to vector<8xf32>
    tile.acquire %p : <vector<128x8xbf16>>
    %d = arith.subf %x, %b : vector<8xf32>
    tile.release %s : <vector<128x8xf32>>
    %z = arith.truncf %d : vector<8xf32> to vector<8xbf16>
    tile.write %z, %p : vector<8xbf16>, <vector<128x8xbf16>>
    tile.commit %p : <vector<128x8xbf16>>
    tile.wait %o : <vector<128x8xf32>>
    %y = tile.read %o : <vector<128x8xf32>> -> vector<8xf32>
    tile.acquire %w : <vector<128x8xbf16>>
    %t = arith.truncf %y : vector<8xf32> to vector<8xbf16>
    tile.release %o : <vector<128x8xf32>>
    tile.write %t, %w : vector<8xbf16>, <vector<128x8xbf16>>
    tile.commit %w : <vector<128x8xbf16>>
  }
}

// -----

// The stage for a number of the row is acquired before the row is waited for,
// so that no wait is between the maximum and what is computed with it. What comes
// behind the commits for which an MMA waits stays behind them.
// CHECK-LABEL: tile.kernel @keep_order
// CHECK:       tile.role @compute
// CHECK:         scf.for
// CHECK-NEXT:      tile.acquire %m
// CHECK-NEXT:      tile.wait %s
// CHECK:           vector.extract
// CHECK-NOT:       tile.acquire %m
// CHECK:           tile.commit %m
// CHECK-NOT:       tile.keep_order
// CHECK:           tile.commit %p
// CHECK-NEXT:      tile.keep_order
// CHECK:           arith.addf
// CHECK-NOT:       tile.keep_order
tile.kernel @keep_order() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  %m = tile.channel "m" smem stages(1) : <vector<128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
  %v = tile.channel "v" smem stages(1) : <vector<64x64xbf16>>
  %r = tile.channel "r" smem stages(1) : <vector<128xf32>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%l = %zero) -> f32 {
      tile.wait %s : <vector<128x64xf32>>
      %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
      %max = vector.reduction <maxnumf>, %x, %zero : vector<64xf32> into f32
      tile.acquire %m : <vector<128xf32>>
      tile.write %max, %m : f32, <vector<128xf32>>
      tile.commit %m : <vector<128xf32>>
      %b = vector.broadcast %max : f32 to vector<64xf32>
      %d = arith.subf %x, %b : vector<64xf32>
      %e = math.exp2 %d : vector<64xf32>
      %z = arith.truncf %e : vector<64xf32> to vector<64xbf16>
      tile.acquire %p : <vector<128x64xbf16>>
      tile.write %z, %p : vector<64xbf16>, <vector<128x64xbf16>>
      tile.commit %p : <vector<128x64xbf16>>
      %l2 = vector.reduction <add>, %e, %l : vector<64xf32> into f32
      scf.yield %l2 : f32
    }
    tile.acquire %r : <vector<128xf32>>
    tile.write %sum, %r : f32, <vector<128xf32>>
    tile.commit %r : <vector<128xf32>>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %tv = tile.wait %v : <vector<64x64xbf16>> -> vector<64x64xbf16>
    scf.for %i = %c0 to %c8 step %c1 {
      %tp = tile.wait %p : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %o = tile.mma %tp, %tv : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
      tile.release %p : <vector<128x64xbf16>>
    }
  }
}

// -----

// A write of narrower elements in place of a value overwrites columns that have been
// read for it: those behind stay there.
// CHECK-LABEL: tile.kernel @narrower
tile.kernel @narrower() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) place<offset(0) full(0) arrivals(128)> : <vector<128x16xf32>>
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x16xf32>>) place<offset(0) full(1) arrivals(128)> : <vector<128x16xbf16>>
  %q = tile.channel "q" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x16xf32>>) place<offset(8) full(2) arrivals(128)> : <vector<128x16xbf16>>
  tile.role @compute kind(vector) {
    // CHECK: tile.read %s :
    // CHECK-NOT: tile.read %s[4]
    // CHECK: tile.write {{.*}}, %p :
    // CHECK: tile.read %s[4]
    // CHECK: tile.write {{.*}}, %p[4]
    // CHECK: tile.read %s[8]
    // CHECK: tile.write {{.*}}, %p[8]
    tile.wait %s : <vector<128x16xf32>>
    %x = tile.read %s : <vector<128x16xf32>> -> vector<16xf32>
    %e = math.exp2 %x : vector<16xf32>
    %y = arith.truncf %e : vector<16xf32> to vector<16xbf16>
    tile.write %y, %p : vector<16xbf16>, <vector<128x16xbf16>>
    tile.commit %p : <vector<128x16xbf16>>
    // What lies behind is read before it is overwritten.
    // CHECK: tile.wait %s
    // CHECK: tile.read %s :
    // CHECK: tile.read %s[8]
    // CHECK: tile.write {{.*}}, %q :
    // CHECK: tile.read %s[4]
    // CHECK: tile.write {{.*}}, %q[4]
    tile.wait %s : <vector<128x16xf32>>
    %x2 = tile.read %s : <vector<128x16xf32>> -> vector<16xf32>
    %e2 = math.exp2 %x2 : vector<16xf32>
    %y2 = arith.truncf %e2 : vector<16xf32> to vector<16xbf16>
    tile.write %y2, %q : vector<16xbf16>, <vector<128x16xbf16>>
    tile.commit %q : <vector<128x16xbf16>>
  }
}

// -----

// The held row takes 64 of 128 registers, 24 are for other things; three f32 a column,
// one of them read ahead, leave room for fragments of 8 columns. Only here is a value
// with one use read ahead.
// WIDE-LABEL: tile.kernel @pressure
// WIDE: tile.role @few
// WIDE: tile.read %s : {{.*}} -> vector<8xf32>
// WIDE: tile.read %d :
// WIDE: tile.read %d[8]
// WIDE: tile.write {{.*}}, %t :
// WIDE: tile.role @many
// WIDE: tile.read %t : {{.*}} -> vector<32xf32>
tile.kernel @pressure() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
  %d = tile.channel "d" tmem stages(1) : <vector<128x64xf32>>
  %t = tile.channel "t" tmem stages(1) : <vector<128x64xf32>>
  %r = tile.channel "r" tmem stages(1) : <vector<128x64xbf16>>
  tile.role @few kind(vector) registers(128) {
    tile.wait %s : <vector<128x64xf32>>
    %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
    %x2 = arith.mulf %x, %x : vector<64xf32>
    %x3 = arith.mulf %x2, %x : vector<64xf32>
    %e = arith.addf %x2, %x3 : vector<64xf32>
    %y = arith.truncf %e : vector<64xf32> to vector<64xbf16>
    tile.write %y, %p : vector<64xbf16>, <vector<128x64xbf16>>
    tile.commit %p : <vector<128x64xbf16>>
    tile.wait %d : <vector<128x64xf32>>
    %g = tile.read %d : <vector<128x64xf32>> -> vector<64xf32>
    %h = arith.mulf %e, %g : vector<64xf32>
    tile.write %h, %t : vector<64xf32>, <vector<128x64xf32>>
    tile.commit %t : <vector<128x64xf32>>
  }
  tile.role @many kind(vector) registers(128) {
    tile.wait %t : <vector<128x64xf32>>
    %x = tile.read %t : <vector<128x64xf32>> -> vector<64xf32>
    %y = arith.truncf %x : vector<64xf32> to vector<64xbf16>
    tile.write %y, %r : vector<64xbf16>, <vector<128x64xbf16>>
    tile.commit %r : <vector<128x64xbf16>>
  }
}

// -----

// What lanes hand on as it is they read at once, 32 columns at a time: the role
// that gets the buffer waits for them.
// CHECK-LABEL: tile.kernel @hand_back
// CHECK: tile.wait %s
// CHECK-NEXT: tile.read %s : <vector<128x64xf32>> -> vector<32xf32>
// CHECK-NEXT: tile.read %s[32] : <vector<128x64xf32>> -> vector<32xf32>
// CHECK-NEXT: vector.extract_strided_slice
// CHECK-NOT: tile.read
// CHECK: tile.commit %back
// CHECK-NEXT: arith.addf
tile.kernel @hand_back() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  %back = tile.channel "back" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x64xf32>>) : <vector<128x64xbf16>>
  tile.role @compute kind(vector) {
    tile.wait %s : <vector<128x64xf32>>
    %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
    tile.commit %back : <vector<128x64xf32>>
    %y = arith.addf %x, %x : vector<64xf32>
    %z = arith.truncf %y : vector<64xf32> to vector<64xbf16>
    tile.write %z, %p : vector<64xbf16>, <vector<128x64xbf16>>
    tile.commit %p : <vector<128x64xbf16>>
  }
}

// -----

// Numbers of columns that are counted on in f32: a pair is the pair in front plus the same two numbers, where there are
// instructions on pairs, which take no constants. After 16 pairs the sum begins anew.
// CHECK-LABEL: tile.kernel @positions
// CHECK:     %[[FIRST:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00]> : vector<2xf32>
// CHECK:     %[[P0:.*]] = arith.addf %{{.*}}, %[[FIRST]]
// CHECK:     %[[STEP:.*]] = arith.constant dense<2.000000e+00> : vector<2xf32>
// CHECK:     %[[P1:.*]] = arith.addf %[[P0]], %[[STEP]]
// CHECK:     tile.write
// CHECK:     arith.addf %[[P1]], %{{.*}} : vector<2xf32>
// CHECK:     arith.constant dense<[3.200000e+01, 3.300000e+01]> : vector<2xf32>
tile.kernel @positions() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %p = tile.channel "p" tmem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %zero = arith.constant 0.0 : f32
    %row = vector.broadcast %zero : f32 to vector<64xf32>
    %columns = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0]> : vector<64xf32>
    %x = arith.addf %row, %columns : vector<64xf32>
    %y = arith.mulf %x, %x : vector<64xf32>
    tile.write %y, %p : vector<64xf32>, <vector<128x64xf32>>
    tile.commit %p : <vector<128x64xf32>>
  }
}
