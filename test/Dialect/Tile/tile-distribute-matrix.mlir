// A thread of a matrix role holds parts of two rows, eight apart: what is done with a tile is done with each part, what
// four threads have found of a row is combined before the number of all is used, and whole tiles are put together where
// an MMA or a stage takes one. Wrong rows, columns or a second sum of the start value would give wrong numbers.
//
// RUN: fa4-opt %s --tile-distribute=verify=false --split-input-file | FileCheck %s --dump-input=never

// Stages that MMAs read stay values. The start of a row's sum is in all threads of the row, so it is added behind the
// combination of what they have found, once.
// CHECK-LABEL: tile.kernel @rows
tile.kernel @rows(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 64>]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  %p = tile.channel "p" smem stages(1) : <vector<64x64xbf16>>
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %start = arith.constant dense<3.0> : vector<64xf32>
    // CHECK: %[[START:.*]] = arith.constant 3.000000e+00 : f32
    // CHECK: %[[A:.*]] = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // CHECK: %[[S:.*]] = tile.mma %[[A]], transpose %[[A]] : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // CHECK: %[[T:.*]] = tile.await %[[S]]
    // CHECK: %[[P:.*]]:2 = tile.to_lanes %[[T]] : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    // CHECK: %[[L0:.*]] = vector.reduction <add>, %[[P]]#0 fastmath<reassoc> : vector<16xf32> into f32
    // CHECK: %[[R0:.*]] = tile.combine <add>, %[[L0]] over [1, 2] : f32
    // CHECK: %[[SUM0:.*]] = arith.addf %[[R0]], %[[START]] : f32
    // CHECK: %[[L1:.*]] = vector.reduction <add>, %[[P]]#1 fastmath<reassoc> : vector<16xf32> into f32
    // CHECK: %[[R1:.*]] = tile.combine <add>, %[[L1]] over [1, 2] : f32
    // CHECK: %[[SUM1:.*]] = arith.addf %[[R1]], %[[START]] : f32
    %sum = vector.multi_reduction <add>, %t, %start [1] : vector<64x64xf32> to vector<64xf32>
    // CHECK: %[[B0:.*]] = vector.broadcast %[[SUM0]] : f32 to vector<16xf32>
    // CHECK: %[[B1:.*]] = vector.broadcast %[[SUM1]] : f32 to vector<16xf32>
    // CHECK: arith.divf %[[P]]#0, %[[B0]] : vector<16xf32>
    // CHECK: arith.divf %[[P]]#1, %[[B1]] : vector<16xf32>
    %column = vector.shape_cast %sum : vector<64xf32> to vector<64x1xf32>
    %wide = vector.broadcast %column : vector<64x1xf32> to vector<64x64xf32>
    %d = arith.divf %t, %wide : vector<64x64xf32>
    // CHECK: %[[N0:.*]] = arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
    // CHECK: %[[N1:.*]] = arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
    %n = arith.truncf %d : vector<64x64xf32> to vector<64x64xbf16>
    // CHECK: %[[OPERAND:.*]] = tile.from_lanes %[[N0]], %[[N1]] : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    // CHECK: %[[ACC:.*]] = tile.from_lanes %[[P]]#0, %[[P]]#1 : vector<16xf32>, vector<16xf32> -> vector<64x64xf32>
    // CHECK: tile.mma %[[OPERAND]], %[[A]] acc %[[ACC]]
    %o = tile.mma %n, %a acc %t : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %u = tile.await %o : !tile.pending<vector<64x64xf32>>
    // CHECK: %[[U:.*]]:2 = tile.to_lanes
    // CHECK: tile.release %x
    tile.release %x : <vector<64x64xbf16>>
    // CHECK: %[[W:.*]] = tile.from_lanes %{{.*}}, %{{.*}} -> vector<64x64xbf16>
    // CHECK: tile.write %[[W]], %p : vector<64x64xbf16>, <vector<64x64xbf16>>
    // CHECK: tile.commit %p
    %un = arith.truncf %u : vector<64x64xf32> to vector<64x64xbf16>
    tile.acquire %p : <vector<64x64xbf16>>
    tile.commit %p, %un : <vector<64x64xbf16>>, vector<64x64xbf16>
    // CHECK: tile.put %[[SUM0]] and(%[[SUM1]] : f32), %{{.*}}[%{{.*}}] dim 0 : f32, memref<?xf32>
    tile.store %sum, %y[%c0] : vector<64xf32>, memref<?xf32>
  }
}

// -----

// Rows 16 (t / 32) + (t mod 32) / 4 and the one eight below; columns 2 (t mod 4) and the next one of every eight.
// CHECK-LABEL: tile.kernel @positions
tile.kernel @positions(%w: memref<?xf32> {tile.name = "w", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 64>]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x16xbf16>>
  %p = tile.channel "p" smem stages(1) : <vector<64x64xf32>>
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %a = tile.wait %x : <vector<64x16xbf16>> -> vector<64x16xbf16>
    %s = tile.mma %a, transpose %a : vector<64x16xbf16>, vector<64x16xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x16xbf16>>
    // CHECK: %[[P:.*]]:2 = tile.to_lanes
    // CHECK: %[[C16:.*]] = arith.constant 16 : index
    // CHECK-NEXT: %[[BAND:.*]] = arith.muli %{{.*}}, %[[C16]]
    // CHECK: %[[ROW0:.*]] = arith.addi %[[BAND]]
    // CHECK: %[[C8:.*]] = arith.constant 8 : index
    // CHECK-NEXT: %[[ROW1:.*]] = arith.addi %{{.*}}, %[[C8]]
    // CHECK: %[[OFFSETS:.*]] = arith.constant dense<[0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57]> : vector<16xindex>
    // CHECK-NEXT: %[[COLUMNS:.*]] = arith.addi %{{.*}}, %[[OFFSETS]]
    // CHECK-NEXT: %[[B0:.*]] = vector.broadcast %[[ROW0]]
    // CHECK-NEXT: %[[B1:.*]] = vector.broadcast %[[ROW1]]
    // CHECK-NEXT: %[[V0:.*]] = arith.cmpi sle, %[[COLUMNS]], %[[B0]]
    // CHECK-NEXT: %[[V1:.*]] = arith.cmpi sle, %[[COLUMNS]], %[[B1]]
    // CHECK-NEXT: arith.select %[[V0]], %[[P]]#0
    // CHECK-NEXT: arith.select %[[V1]], %[[P]]#1
    %row = vector.step : vector<64xindex>
    %column = vector.step : vector<64xindex>
    %rows = vector.shape_cast %row : vector<64xindex> to vector<64x1xindex>
    %of_row = vector.broadcast %rows : vector<64x1xindex> to vector<64x64xindex>
    %of_column = vector.broadcast %column : vector<64xindex> to vector<64x64xindex>
    %visible = arith.cmpi sle, %of_column, %of_row : vector<64x64xindex>
    %masked = arith.select %visible, %t, %zero : vector<64x64xi1>, vector<64x64xf32>
    // A value for each row comes from memory twice.
    // CHECK: %[[W0:.*]] = tile.load_scalar %arg0
    // CHECK: %[[W1:.*]] = tile.load_scalar %arg0
    // CHECK: vector.broadcast %[[W0]]
    // CHECK: vector.broadcast %[[W1]]
    %weight = tile.load_rows %w[%c0] dim 0 : memref<?xf32> -> vector<64xf32>
    %weights = vector.shape_cast %weight : vector<64xf32> to vector<64x1xf32>
    %of_weight = vector.broadcast %weights : vector<64x1xf32> to vector<64x64xf32>
    %scaled = arith.mulf %masked, %of_weight : vector<64x64xf32>
    tile.acquire %p : <vector<64x64xf32>>
    tile.commit %p, %scaled : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

// A loop carries two parts of a tile, and a branch gives two.
// CHECK-LABEL: tile.kernel @carried
tile.kernel @carried(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  %p = tile.channel "p" smem stages(1) : <vector<64x64xf32>>
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    // CHECK: %[[A:.*]] = tile.wait %x
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[X:.*]] = %[[Z:.*]], %[[Y:.*]] = %[[Z]]) -> (vector<16xf32>, vector<16xf32>)
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      // CHECK: %[[ACC:.*]] = tile.from_lanes %[[X]], %[[Y]]
      // CHECK: %[[S:.*]] = tile.mma %[[A]], transpose %[[A]] acc %[[ACC]]
      // CHECK: %[[T:.*]] = tile.await %[[S]]
      // CHECK: %[[P:.*]]:2 = tile.to_lanes %[[T]]
      %s = tile.mma %a, transpose %a acc %acc : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      %odd = arith.cmpi eq, %i, %c1 : index
      // CHECK: %[[B:.*]]:2 = scf.if %{{.*}} -> (vector<16xf32>, vector<16xf32>)
      // CHECK: scf.yield %{{.*}}, %{{.*}} : vector<16xf32>, vector<16xf32>
      // CHECK: scf.yield %[[P]]#0, %[[P]]#1 : vector<16xf32>, vector<16xf32>
      %u = scf.if %odd -> (vector<64x64xf32>) {
        %v = arith.negf %t : vector<64x64xf32>
        scf.yield %v : vector<64x64xf32>
      } else {
        scf.yield %t : vector<64x64xf32>
      }
      // CHECK: scf.yield %[[B]]#0, %[[B]]#1
      scf.yield %u : vector<64x64xf32>
    }
    tile.release %x : <vector<64x64xbf16>>
    tile.acquire %p : <vector<64x64xf32>>
    // CHECK: tile.from_lanes %[[R]]#0, %[[R]]#1
    tile.commit %p, %r : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

// Of a vector with a number for each column, a thread reads those of its columns, for both of its rows. A stage that only
// MMAs read stays a tile where a loop carries it, and so does a part of it.
// CHECK-LABEL: tile.kernel @columns
tile.kernel @columns(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %k = tile.channel "k" smem stages(2) : <vector<64x64xbf16>>
  %c = tile.channel "c" smem stages(1) : <vector<64xf32>>
  %p = tile.channel "p" smem stages(1) : <vector<64x64xf32>>
  tile.role @compute kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    // CHECK: %[[FIRST:.*]] = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %[[FIRST]]) -> (vector<64x64xbf16>)
    %first = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %last = scf.for %i = %c1 to %n step %c1 iter_args(%before = %first) -> (vector<64x64xbf16>) {
      // CHECK: %[[TK:.*]] = tile.wait %k
      // CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[BEFORE]] {offsets = [0, 32], sizes = [64, 32]
      // CHECK: %[[S:.*]] = tile.mma %[[TK]], %[[PART]]
      %tk = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %part = vector.extract_strided_slice %before {offsets = [0, 32], sizes = [64, 32], strides = [1, 1]} : vector<64x64xbf16> to vector<64x32xbf16>
      %s = tile.mma %tk, %part : vector<64x64xbf16>, vector<64x32xbf16> -> !tile.pending<vector<64x32xf32>>
      %t = tile.await %s : !tile.pending<vector<64x32xf32>>
      tile.release %k : <vector<64x64xbf16>>
      // CHECK: scf.yield %[[TK]] : vector<64x64xbf16>
      scf.yield %tk : vector<64x64xbf16>
    }
    %s = tile.mma %last, transpose %last : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // CHECK: %[[T:.*]]:2 = tile.to_lanes
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    tile.release %k : <vector<64x64xbf16>>
    // CHECK: tile.wait %c : <vector<64xf32>>
    // CHECK: %[[C:.*]] = tile.read %c all : <vector<64xf32>> -> vector<16xf32>
    // CHECK: arith.addf %[[T]]#0, %[[C]] : vector<16xf32>
    // CHECK: arith.addf %[[T]]#1, %[[C]] : vector<16xf32>
    %tc = tile.wait %c : <vector<64xf32>> -> vector<64xf32>
    %wide = vector.broadcast %tc : vector<64xf32> to vector<64x64xf32>
    %u = arith.addf %t, %wide : vector<64x64xf32>
    tile.release %c : <vector<64xf32>>
    tile.acquire %p : <vector<64x64xf32>>
    tile.commit %p, %u : <vector<64x64xf32>>, vector<64x64xf32>
  }
}
