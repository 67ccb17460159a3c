// Tiles with more rows than an MMA has are cut into parts that depend only on
// themselves; what does not depend on the rows stays common.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' --split-input-file | FileCheck --dump-input=never %s
//
// MMAs of the target's rows: nothing changes.
//
// $ fa4-opt $S/backward-program.mlir -o before.mlir
// $ fa4-opt $S/backward-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' -o after.mlir
// $ diff before.mlir after.mlir
//
// The parts need no further cut.
//
// $ fa4-opt $S/tile-subtile.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' --split-input-file -o once.mlir
// $ fa4-opt once.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' --split-input-file -o twice.mlir
// $ diff once.mlir twice.mlir

// A product with a tile of 256 x 128: both parts share B.
// CHECK-LABEL: tile.kernel @gemm(
// CHECK-SAME: %[[A:[^ ]*]]: memref<?x?xbf16>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<128x128xf32>
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense<1.000000e+00> : vector<128x128xf32>
// CHECK: %[[ROW0:.*]] = arith.muli
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[X0:.*]] = %[[ZERO]], %[[X1:.*]] = %[[ZERO]]) -> (vector<128x128xf32>, vector<128x128xf32>)
// CHECK:   %[[A0:.*]] = tile.load %[[A]][%[[ROW0]], %{{.*}}] : {{.*}} -> vector<128x64xbf16>
// CHECK:   %[[ROW1:.*]] = arith.addi %[[ROW0]], %c128
// CHECK:   %[[A1:.*]] = tile.load %[[A]][%[[ROW1]], %{{.*}}] : {{.*}} -> vector<128x64xbf16>
// CHECK:   %[[B:.*]] = tile.load {{.*}} -> vector<64x128xbf16>
// CHECK-NOT: tile.load
// CHECK:   %[[Y0:.*]] = tile.mma %[[A0]], %[[B]] acc %[[X0]]
// CHECK:   %[[Y1:.*]] = tile.mma %[[A1]], %[[B]] acc %[[X1]]
// CHECK:   scf.yield %[[Y0]], %[[Y1]]
// CHECK: %[[S0:.*]] = arith.addf %[[R]]#0, %[[BIAS]]
// CHECK: %[[S1:.*]] = arith.addf %[[R]]#1, %[[BIAS]]
// CHECK: %[[T0:.*]] = arith.truncf %[[S0]]
// CHECK: %[[T1:.*]] = arith.truncf %[[S1]]
// CHECK: tile.store %[[T0]], %{{.*}}[%[[ROW0]], %[[COL:.*]]]
// CHECK: %[[AT1:.*]] = arith.addi %[[ROW0]], %{{.*}}
// CHECK: tile.store %[[T1]], %{{.*}}[%[[AT1]], %[[COL]]]
tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>, #tile.extent<"N" by 128>]} {
  %zero = arith.constant dense<0.0> : vector<256x128xf32>
  %bias = arith.constant dense<1.0> : vector<256x128xf32>
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %row = arith.muli %tm, %c256 : index
  %col = arith.muli %tn, %c128 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<256x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<256x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<256x64xbf16>, vector<64x128xbf16> -> vector<256x128xf32>
    scf.yield %y : vector<256x128xf32>
  }
  %sum = arith.addf %acc, %bias : vector<256x128xf32>
  %out = arith.truncf %sum : vector<256x128xf32> to vector<256x128xbf16>
  tile.store %out, %c[%row, %col] : vector<256x128xbf16>, memref<?x?xbf16>
}

// -----

// Rows of vectors follow: indices, reductions, broadcasts, a branch for each
// part, and a vector in memory.
// CHECK-LABEL: tile.kernel @rows(
// CHECK: tile.load %{{.*}}[%[[ROW:.*]], %c0]
// CHECK: %[[ROW1:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK: tile.load %{{.*}}[%[[ROW1]], %c0]
// CHECK: %[[S0:.*]] = tile.mma
// CHECK: %[[S1:.*]] = tile.mma
// CHECK: %[[X0:.*]] = scf.if %[[COND:.*]] -> (vector<128x64xf32>) {
// CHECK:   %[[STEP0:.*]] = vector.step : vector<128xindex>
// CHECK-NOT: arith.addi %[[STEP0]]
// CHECK:   %[[KEEP0:.*]] = arith.cmpi
// CHECK:   arith.select %[[KEEP0]], %[[S0]]
// CHECK: } else {
// CHECK:   scf.yield %[[S0]]
// CHECK: %[[X1:.*]] = scf.if %[[COND]] -> (vector<128x64xf32>) {
// CHECK:   %[[STEP1:.*]] = vector.step : vector<128xindex>
// CHECK:   %[[OFF:.*]] = arith.constant dense<128> : vector<128xindex>
// CHECK:   arith.addi %[[STEP1]], %[[OFF]]
// CHECK:   %[[KEEP1:.*]] = arith.cmpi
// CHECK:   arith.select %[[KEEP1]], %[[S1]]
// CHECK: %[[M0:.*]] = vector.multi_reduction <maxnumf>, %[[X0]], %[[Z:.*]] [1] : vector<128x64xf32> to vector<128xf32>
// CHECK: %[[M1:.*]] = vector.multi_reduction <maxnumf>, %[[X1]], %[[Z]] [1] : vector<128x64xf32> to vector<128xf32>
// CHECK: %[[R0:.*]] = tile.rescale %[[X0]], %[[M0]]
// CHECK: %[[R1:.*]] = tile.rescale %[[X1]], %[[M1]]
// CHECK: %[[C0:.*]] = vector.multi_reduction <add>, %[[R0]], %[[Z64:.*]] [0] : vector<128x64xf32> to vector<64xf32>
// The sum over the rows takes in one part after the other.
// CHECK: %[[C1:.*]] = vector.multi_reduction <add>, %[[R1]], %[[C0]] [0] : vector<128x64xf32> to vector<64xf32>
// CHECK: tile.store %[[M0]], %{{.*}}[%[[ROW]]] : vector<128xf32>
// CHECK: tile.store %[[M1]], %{{.*}}[%[[ROW1]]] : vector<128xf32>
// CHECK: tile.store %[[C1]], %{{.*}}[%c0] : vector<64xf32>
// CHECK-NOT: tile.store
tile.kernel @rows(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                  %m: memref<?xf32> {tile.name = "m", tile.dims = ["M"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<256xf32>
  %zero64 = arith.constant dense<0.0> : vector<64xf32>
  %none = arith.constant dense<0.0> : vector<256x64xf32>
  %row = arith.muli %i, %c256 : index
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  %cond = arith.cmpi slt, %row, %n : index
  %x = scf.if %cond -> (vector<256x64xf32>) {
    %rows = vector.step : vector<256xindex>
    %cols = vector.step : vector<64xindex>
    %rowsc = vector.shape_cast %rows : vector<256xindex> to vector<256x1xindex>
    %rowsb = vector.broadcast %rowsc : vector<256x1xindex> to vector<256x64xindex>
    %colsb = vector.broadcast %cols : vector<64xindex> to vector<256x64xindex>
    %keep = arith.cmpi sle, %colsb, %rowsb : vector<256x64xindex>
    %sm = arith.select %keep, %s, %none : vector<256x64xi1>, vector<256x64xf32>
    scf.yield %sm : vector<256x64xf32>
  } else {
    scf.yield %s : vector<256x64xf32>
  }
  %max = vector.multi_reduction <maxnumf>, %x, %zero [1] : vector<256x64xf32> to vector<256xf32>
  %scaled = tile.rescale %x, %max : vector<256x64xf32>, vector<256xf32>
  %sums = vector.multi_reduction <add>, %scaled, %zero64 [0] : vector<256x64xf32> to vector<64xf32>
  tile.store %max, %m[%row] : vector<256xf32>, memref<?xf32>
  tile.store %sums, %m[%c0] : vector<64xf32>, memref<?xf32>
}

// -----

// A branch in a branch: each part has one of either, which use that part alone.
// CHECK-LABEL: tile.kernel @nested(
// CHECK: %[[S0:.*]] = tile.mma
// CHECK: %[[S1:.*]] = tile.mma
// CHECK: %[[X0:.*]] = scf.if %[[OUTER:.*]] -> (vector<128x64xf32>) {
// CHECK:   %[[Y0:.*]] = scf.if %[[INNER:.*]] -> (vector<128x64xf32>) {
// CHECK:     arith.negf %[[S0]]
// CHECK:   scf.yield %[[Y0]]
// CHECK: %[[X1:.*]] = scf.if %[[OUTER]] -> (vector<128x64xf32>) {
// CHECK-NOT: %[[S0]]
// CHECK:   %[[Y1:.*]] = scf.if %[[INNER]] -> (vector<128x64xf32>) {
// CHECK:     arith.negf %[[S1]]
// CHECK:   scf.yield %[[Y1]]
// CHECK: tile.store %[[X0]]
// CHECK: tile.store %[[X1]]
tile.kernel @nested(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %row = arith.muli %i, %c256 : index
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  %outer = arith.cmpi slt, %row, %n : index
  %inner = arith.cmpi eq, %row, %c0 : index
  %x = scf.if %outer -> (vector<256x64xf32>) {
    %z = scf.if %inner -> (vector<256x64xf32>) {
      %negative = arith.negf %s : vector<256x64xf32>
      scf.yield %negative : vector<256x64xf32>
    } else {
      scf.yield %s : vector<256x64xf32>
    }
    scf.yield %z : vector<256x64xf32>
  } else {
    scf.yield %s : vector<256x64xf32>
  }
  tile.store %x, %y[%row, %c0] : vector<256x64xf32>, memref<?x64xf32>
}

// -----

// Rows of one MMA that another one sums over: a sequence of MMAs. Four parts.
// CHECK-LABEL: tile.kernel @chain(
// CHECK-COUNT-4: tile.mma %{{.*}}, transpose %[[K:.*]] : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
// CHECK-COUNT-4: arith.truncf
// CHECK: %[[S0:.*]] = tile.mma transpose %{{.*}}, %{{.*}} acc %[[ACC:.*]] if %[[COND:.*]] : vector<128x64xbf16>, vector<128x64xbf16> -> vector<64x64xf32>
// CHECK: %[[S1:.*]] = tile.mma transpose %{{.*}}, %{{.*}} acc %[[S0]] : vector<128x64xbf16>
// CHECK: %[[S2:.*]] = tile.mma transpose %{{.*}}, %{{.*}} acc %[[S1]] : vector<128x64xbf16>
// CHECK: %[[S3:.*]] = tile.mma transpose %{{.*}}, %{{.*}} acc %[[S2]] : vector<128x64xbf16>
// CHECK: tile.store %[[S3]]
tile.kernel @chain(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                   %o: memref<?x64xf32> {tile.name = "o", tile.dims = ["M", "64"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 512>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %ones = arith.constant dense<1.0> : vector<64x64xf32>
  %tq = tile.load %q[%i, %c0] : memref<?x64xbf16> -> vector<512x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  %cond = arith.cmpi slt, %i, %n : index
  %s = tile.mma %tq, transpose %tk : vector<512x64xbf16>, vector<64x64xbf16> -> vector<512x64xf32>
  %p = arith.truncf %s : vector<512x64xf32> to vector<512x64xbf16>
  %sum = tile.mma transpose %p, %tq acc %ones if %cond : vector<512x64xbf16>, vector<512x64xbf16> -> vector<64x64xf32>
  tile.store %sum, %o[%c0, %c0] : vector<64x64xf32>, memref<?x64xf32>
}

// -----

// Control flow without results, and a branch with results of which only one is
// cut.
// CHECK-LABEL: tile.kernel @effects(
// CHECK: %[[S0:.*]] = tile.mma
// CHECK: %[[S1:.*]] = tile.mma
// CHECK: scf.for
// CHECK:   scf.if %{{.*}} {
// CHECK:     tile.reduce_add %[[S0]], %{{.*}}[%[[ROW:.*]], %c0]
// CHECK:     %[[ROW1:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:     tile.reduce_add %[[S1]], %{{.*}}[%[[ROW1]], %c0]
// CHECK-NOT: tile.reduce_add
// CHECK: %[[X:.*]]:3 = scf.if %{{.*}} -> (vector<128x64xf32>, vector<128x64xf32>, index) {
// CHECK: scf.yield %{{.*}}, %{{.*}}, %c0 : vector<128x64xf32>, vector<128x64xf32>, index
// CHECK: tile.store %[[X]]#0, %{{.*}}[%[[X]]#2, %c0]
// CHECK: tile.store %[[X]]#1,
tile.kernel @effects(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                     %o: memref<?x64xf32> {tile.name = "o", tile.dims = ["M", "64"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tq = tile.load %q[%i, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  scf.for %j = %c0 to %n step %c1 {
    %cond = arith.cmpi slt, %j, %i : index
    scf.if %cond {
      tile.reduce_add %s, %o[%j, %c0] : vector<256x64xf32>, memref<?x64xf32>
    }
  }
  %first = arith.cmpi eq, %i, %c0 : index
  %x, %at = scf.if %first -> (vector<256x64xf32>, index) {
    %twice = arith.addf %s, %s : vector<256x64xf32>
    scf.yield %twice, %c0 : vector<256x64xf32>, index
  } else {
    scf.yield %s, %i : vector<256x64xf32>, index
  }
  tile.store %x, %o[%at, %c0] : vector<256x64xf32>, memref<?x64xf32>
}

// -----

// A tile has as many columns as rows, and one vector.step counts both: only the rows are cut. If the one number tied rows
// and columns together, the columns would be cut, too, and the program refused.
// CHECK-LABEL: tile.kernel @square(
// CHECK: %[[S0:.*]] = tile.mma {{.*}} -> vector<64x128xf32>
// CHECK: %[[S1:.*]] = tile.mma {{.*}} -> vector<64x128xf32>
// CHECK: vector.step : vector<64xindex>
// CHECK: %[[C64:.*]] = arith.constant dense<64> : vector<64xindex>
// CHECK: arith.addi %{{.*}}, %[[C64]] : vector<64xindex>
// CHECK: vector.step : vector<128xindex>
// CHECK: arith.select %{{.*}}, %[[S0]], %{{.*}} : vector<64x128xi1>
// CHECK: arith.select %{{.*}}, %[[S1]], %{{.*}} : vector<64x128xi1>
tile.kernel @square(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %at = arith.muli %i, %c128 : index
  %low = arith.constant dense<0.0> : vector<128x128xf32>
  %tq = tile.load %q[%at, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %number = vector.step : vector<128xindex>
  %rows = vector.shape_cast %number : vector<128xindex> to vector<128x1xindex>
  %row = vector.broadcast %rows : vector<128x1xindex> to vector<128x128xindex>
  %column = vector.broadcast %number : vector<128xindex> to vector<128x128xindex>
  %visible = arith.cmpi sle, %column, %row : vector<128x128xindex>
  %masked = arith.select %visible, %s, %low : vector<128x128xi1>, vector<128x128xf32>
  tile.store %masked, %o[%at, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// One broadcast of a scalar is added to the numbers of rows and of columns of a square tile: each has its own copy.
// CHECK-LABEL: tile.kernel @square_broadcast(
// CHECK: vector.broadcast %{{.*}} : index to vector<64xindex>
// CHECK: vector.broadcast %{{.*}} : index to vector<128xindex>
tile.kernel @square_broadcast(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                              %o: memref<?x128xf32> {tile.name = "o", tile.dims = ["M", "128"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %at = arith.muli %i, %c128 : index
  %low = arith.constant dense<0.0> : vector<128x128xf32>
  %tq = tile.load %q[%at, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %s = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
  %number = vector.step : vector<128xindex>
  %same = vector.broadcast %at : index to vector<128xindex>
  %row_number = arith.addi %number, %same : vector<128xindex>
  %column_number = arith.subi %number, %same : vector<128xindex>
  %rows = vector.shape_cast %row_number : vector<128xindex> to vector<128x1xindex>
  %row = vector.broadcast %rows : vector<128x1xindex> to vector<128x128xindex>
  %column = vector.broadcast %column_number : vector<128xindex> to vector<128x128xindex>
  %visible = arith.cmpi sle, %column, %row : vector<128x128xindex>
  %masked = arith.select %visible, %s, %low : vector<128x128xi1>, vector<128x128xf32>
  tile.store %masked, %o[%at, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// dq is a sum over the keys, which are cut: a chain of products. Its columns are parts of k that are taken whole along
// the keys, and each is cut along these alone.
// CHECK-LABEL: tile.kernel @columns_of_a_sum(
// CHECK: %[[K0:.*]] = tile.load %arg0{{.*}} -> vector<64x128xbf16>
// CHECK: %[[K1:.*]] = tile.load %arg0{{.*}} -> vector<64x128xbf16>
// CHECK: %[[S0:.*]] = tile.mma %[[K0]], transpose %[[Q:.*]] :
// CHECK: %[[S1:.*]] = tile.mma %[[K1]], transpose %[[Q]] :
// CHECK: %[[N0:.*]] = arith.truncf %[[S0]]
// CHECK: %[[N1:.*]] = arith.truncf %[[S1]]
// CHECK: %[[C0:.*]] = vector.extract_strided_slice %[[K0]] {offsets = [0, 64], sizes = [64, 64], strides = [1, 1]}
// CHECK: %[[C1:.*]] = vector.extract_strided_slice %[[K1]] {offsets = [0, 64], sizes = [64, 64], strides = [1, 1]}
// CHECK: %[[D0:.*]] = tile.mma transpose %[[N0]], %[[C0]]
// CHECK: %[[D1:.*]] = tile.mma transpose %[[N1]], %[[C1]] acc %[[D0]]
// CHECK: tile.reduce_add %[[D1]]
tile.kernel @columns_of_a_sum(%k: memref<?x128xbf16> {tile.name = "k", tile.dims = ["N", "128"]},
                              %q: memref<?x128xbf16> {tile.name = "q", tile.dims = ["M", "128"]},
                              %d: memref<?x128xf32> {tile.name = "d", tile.dims = ["M", "128"], tile.output = "partial"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %at = arith.muli %i, %c128 : index
  %tk = tile.load %k[%at, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
  %tq = tile.load %q[%c0, %c0] : memref<?x128xbf16> -> vector<64x128xbf16>
  %s = tile.mma %tk, transpose %tq : vector<128x128xbf16>, vector<64x128xbf16> -> vector<128x64xf32>
  %n = arith.truncf %s : vector<128x64xf32> to vector<128x64xbf16>
  %columns = vector.extract_strided_slice %tk {offsets = [0, 64], sizes = [128, 64], strides = [1, 1]} : vector<128x128xbf16> to vector<128x64xbf16>
  %p = tile.mma transpose %n, %columns : vector<128x64xbf16>, vector<128x64xbf16> -> vector<64x64xf32>
  tile.reduce_add %p, %d[%c0, %c64] : vector<64x64xf32>, memref<?x128xf32>
}

// -----

// Each element of a dimension has four rows, so that the second part begins 32 elements later.
// CHECK-LABEL: tile.kernel @inner(
// CHECK: tile.load %{{[^ ]*}}[%{{[^,]*}}, %c0, %c0] dims [0, 2] inner [1, 4] : memref<?x4x64xbf16> -> vector<128x64xbf16>
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c32
// CHECK: tile.load %{{[^ ]*}}[%[[NEXT]], %c0, %c0] dims [0, 2] inner [1, 4] : memref<?x4x64xbf16> -> vector<128x64xbf16>
tile.kernel @inner(%a: memref<?x4x64xbf16> {tile.name = "a", tile.dims = ["N", "4", "64"]},
                   %b: memref<128x64xbf16> {tile.name = "b", tile.dims = ["128", "64"]},
                   %c: memref<?x128xf32> {tile.name = "c", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 64>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %first = arith.muli %i, %c64 : index
  %row = arith.muli %i, %c256 : index
  %ta = tile.load %a[%first, %c0, %c0] dims [0, 2] inner [1, 4] : memref<?x4x64xbf16> -> vector<256x64xbf16>
  %tb = tile.load %b[%c0, %c0] : memref<128x64xbf16> -> vector<128x64xbf16>
  %product = tile.mma %ta, transpose %tb : vector<256x64xbf16>, vector<128x64xbf16> -> vector<256x128xf32>
  tile.store %product, %c[%row, %c0] : vector<256x128xf32>, memref<?x128xf32>
}
