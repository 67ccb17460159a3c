// Online softmax is found by its dataflow and made lazy: the reference only
// moves when the row max has grown by more than the threshold. A program in
// which the result depends on the reference must stay as it is.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale))' --split-input-file | FileCheck --dump-input=never %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=2.5}))' --split-input-file | FileCheck --dump-input=never %s --check-prefix=OPTION
//
// With threshold 0 the row max stays what it is.
//
// $ fa4-opt $S/tile-lazy-rescale.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=0}))' --split-input-file \
//   | FileCheck $S/tile-lazy-rescale.mlir --check-prefix=OFF
//
// A program without a row max does not change.
//
// $ fa4-opt $S/backward-program.mlir -o before.mlir
// $ fa4-opt $S/backward-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale))' -o after.mlir
// $ diff before.mlir after.mlir
//
// Doing it again does not either: what is carried is no row max any more.
//
// $ fa4-opt $S/tile-lazy-rescale.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale))' --split-input-file -o once.mlir
// $ fa4-opt once.mlir --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale))' --split-input-file -o twice.mlir
// $ diff once.mlir twice.mlir

// OFF-LABEL: tile.kernel @online(
// OFF: scf.for {{.*}} iter_args(%[[O:.*]] = {{.*}}, %[[M:.*]] = %[[NINF:.*]], %{{.*}} = {{.*}})
// OFF: %[[NEXT:.*]] = vector.multi_reduction <maxnumf>, %{{.*}}, %[[M]]
// OFF-NOT: arith.cmpf ole
// OFF: %[[A:.*]] = math.exp2
// OFF: %[[FRESH:.*]] = arith.cmpf oeq, %[[M]], %[[NINF]]
// OFF: %[[FACTOR:.*]] = arith.select %[[FRESH]], %{{.*}}, %[[A]]
// OFF: tile.rescale %[[O]], %[[FACTOR]]
// OFF: scf.yield %{{.*}}, %[[NEXT]], %{{.*}}

// CHECK-LABEL: tile.kernel @online(
// CHECK-DAG: %[[NINF:.*]] = arith.constant dense<0xFF800000> : vector<128xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<128xf32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<128xf32>
// CHECK-DAG: %[[C:.*]] = arith.constant dense<1.250000e-01> : vector<128xf32>
// CHECK-DAG: %[[CNEG:.*]] = arith.constant dense<-1.250000e-01> : vector<128xf32>
// CHECK-DAG: %[[T:.*]] = arith.constant dense<8.000000e+00> : vector<128xf32>
// OPTION-DAG: arith.constant dense<2.500000e+00> : vector<128xf32>
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[M:.*]] = %[[NINF]], %[[L:.*]] = %[[ZERO]])
// CHECK:   %[[S:.*]] = tile.mma
// CHECK:   %[[M1:.*]] = vector.multi_reduction <maxnumf>, %[[S]], %[[M]] [1]
// CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[M1]], %[[NINF]]
// CHECK:   %[[SAFE1:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[M1]]
// CHECK:   %[[D1:.*]] = arith.subf %[[SAFE1]], %[[M]]
// CHECK:   %[[DC1:.*]] = arith.mulf %[[D1]], %[[C]]
// CHECK:   %[[KEEP:.*]] = arith.cmpf ole, %[[DC1]], %[[T]]
// CHECK:   %[[M2:.*]] = arith.select %[[KEEP]], %[[M]], %[[M1]]
// CHECK:   %[[SAFE:.*]] = arith.select %[[KEEP]], %[[M]], %[[SAFE1]]
// CHECK:   %[[D:.*]] = arith.subf %[[M]], %[[SAFE]]
// CHECK:   %[[DC:.*]] = arith.mulf %[[D]], %[[C]]
// CHECK:   %[[E:.*]] = math.exp2 %[[DC]]
// CHECK:   %[[FRESH:.*]] = arith.cmpf oeq, %[[M]], %[[NINF]]
// CHECK:   %[[A:.*]] = arith.select %[[FRESH]], %[[ONE]], %[[E]]
// CHECK:   %[[NM:.*]] = arith.mulf %[[SAFE]], %[[CNEG]]
// CHECK:   arith.mulf %[[L]], %[[A]]
// CHECK-NOT: vector.broadcast %{{.*}} : vector<128x1xf32> to vector<128x64xf32>
// CHECK:   %[[OS:.*]] = tile.rescale %[[O]], %[[A]]
// CHECK:   %[[O2:.*]] = tile.mma %{{.*}} acc %[[OS]]
// CHECK:   scf.yield %[[O2]], %[[M2]], %{{.*}} :
tile.kernel @online(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                    %out: memref<?x64xf32> {tile.name = "out", tile.dims = ["M", "64"]},
                    %lse: memref<?xf32> {tile.name = "lse", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %c = arith.constant dense<0.125> : vector<128xf32>
  %cneg = arith.constant dense<-0.125> : vector<128xf32>
  %cs = arith.constant dense<0.125> : vector<128x128xf32>
  %ozero = arith.constant dense<0.0> : vector<128x64xf32>
  %n = memref.dim %q, %c0 : memref<?x64xbf16>
  %tq = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c128 iter_args(%o = %ozero, %m = %ninf, %l = %zero) -> (vector<128x64xf32>, vector<128xf32>, vector<128xf32>) {
    %tk = tile.load %q[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %s = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %empty = arith.cmpf oeq, %m2, %ninf : vector<128xf32>
    %safe = arith.select %empty, %zero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %safe : vector<128xf32>
    %dc = arith.mulf %d, %c : vector<128xf32>
    %a = math.exp2 %dc : vector<128xf32>
    %nm = arith.mulf %safe, %cneg : vector<128xf32>
    %nmc = vector.shape_cast %nm : vector<128xf32> to vector<128x1xf32>
    %nmb = vector.broadcast %nmc : vector<128x1xf32> to vector<128x128xf32>
    %y = math.fma %s, %cs, %nmb : vector<128x128xf32>
    %p = math.exp2 %y : vector<128x128xf32>
    %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
    %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x64xf32>
    %os = arith.mulf %o, %ab : vector<128x64xf32>
    %o2 = tile.mma %pt, %tk acc %os : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    scf.yield %o2, %m2, %l2 : vector<128x64xf32>, vector<128xf32>, vector<128xf32>
  }
  %lc = vector.shape_cast %r#2 : vector<128xf32> to vector<128x1xf32>
  %lb = vector.broadcast %lc : vector<128x1xf32> to vector<128x64xf32>
  %on = arith.divf %r#0, %lb : vector<128x64xf32>
  tile.store %on, %out[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
  %lg = math.log2 %r#2 : vector<128xf32>
  %mc = arith.mulf %r#1, %c : vector<128xf32>
  %z = arith.addf %lg, %mc : vector<128xf32>
  tile.store %z, %lse[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// No factor, no guard of -inf, and the maximum as an operation of its own.
// CHECK-LABEL: tile.kernel @plain(
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %[[NINF:.*]], %[[L:.*]] = %{{.*}})
// CHECK:   %[[M1:.*]] = arith.maxnumf %[[M]], %{{.*}}
// CHECK:   %[[D1:.*]] = arith.subf %[[M1]], %[[M]]
// CHECK:   %[[KEEP:.*]] = arith.cmpf ole, %[[D1]], %{{.*}}
// CHECK:   %[[M2:.*]] = arith.select %[[KEEP]], %[[M]], %[[M1]]
// CHECK:   %[[D:.*]] = arith.subf %[[M]], %[[M2]]
// CHECK:   %[[E:.*]] = math.exp2 %[[D]]
// CHECK:   %[[A:.*]] = arith.select %{{.*}}, %{{.*}}, %[[E]]
// CHECK:   arith.mulf %[[L]], %[[A]]
// CHECK:   scf.yield %[[M2]], %{{.*}}
tile.kernel @plain(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// Something in the loop needs the row max so far: left alone, as all that follow.
// CHECK-LABEL: tile.kernel @needs_max(
// CHECK-NOT: arith.select
tile.kernel @needs_max(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    tile.store %m, %x[%j] : vector<128xf32>, memref<?xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// The max does not begin at -inf.
// CHECK-LABEL: tile.kernel @bounded(
// CHECK-NOT: arith.select
tile.kernel @bounded(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %zero, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// The sum begins at 1 in units of the first reference.
// CHECK-LABEL: tile.kernel @begins_at_one(
// CHECK-NOT: arith.select
tile.kernel @begins_at_one(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %one) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// The sum is stored in units of the reference.
// CHECK-LABEL: tile.kernel @stores_sum(
// CHECK-NOT: arith.select
tile.kernel @stores_sum(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  tile.store %r#1, %x[%c0] : vector<128xf32>, memref<?xf32>
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// The row max is a result.
// CHECK-LABEL: tile.kernel @stores_max(
// CHECK-NOT: arith.select
tile.kernel @stores_max(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  tile.store %r#0, %x[%c0] : vector<128xf32>, memref<?xf32>
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// Something that is in no units of the reference is added to the sum.
// CHECK-LABEL: tile.kernel @adds_one(
// CHECK-NOT: arith.select
tile.kernel @adds_one(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %one = arith.constant dense<1.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %one : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// A product with the transpose adds up rows, which have references of their own.
// CHECK-LABEL: tile.kernel @sums_columns(
// CHECK-NOT: arith.select
// CHECK-NOT: tile.rescale
tile.kernel @sums_columns(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
    %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %none = arith.constant dense<0.0> : vector<128x128xf32>
  %n = memref.dim %x, %c0 : memref<?x128xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %o = %none) -> (vector<128xf32>, vector<128x128xf32>) {
    %t = tile.load %x[%j, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    %s = tile.mma %t, transpose %t : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
    %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
    %e = arith.subf %s, %mb : vector<128x128xf32>
    %p = math.exp2 %e : vector<128x128xf32>
    %h = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
    %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x128xf32>
    %oa = arith.mulf %o, %ab : vector<128x128xf32>
    %o2 = tile.mma transpose %h, %t acc %oa : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    scf.yield %m2, %o2 : vector<128xf32>, vector<128x128xf32>
  }
  tile.store %r#1, %y[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// So does one in which the exponentials are the right operand.
// CHECK-LABEL: tile.kernel @sums_rows_of_b(
// CHECK-NOT: arith.select
// CHECK-NOT: tile.rescale
tile.kernel @sums_rows_of_b(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
    %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %none = arith.constant dense<0.0> : vector<128x128xf32>
  %n = memref.dim %x, %c0 : memref<?x128xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %o = %none) -> (vector<128xf32>, vector<128x128xf32>) {
    %t = tile.load %x[%j, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    %s = tile.mma %t, transpose %t : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
    %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
    %e = arith.subf %s, %mb : vector<128x128xf32>
    %p = math.exp2 %e : vector<128x128xf32>
    %h = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
    %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x128xf32>
    %oa = arith.mulf %o, %ab : vector<128x128xf32>
    %o2 = tile.mma %t, %h acc %oa : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    scf.yield %m2, %o2 : vector<128xf32>, vector<128x128xf32>
  }
  tile.store %r#1, %y[%c0, %c0] : vector<128x128xf32>, memref<?x128xf32>
}

// -----

// A maximum that propagates NaN, in units of log2, with a bound below which nothing is summed; NaN in place of a sum whose
// reference is out of range does not need the true maximum.
// CHECK-LABEL: tile.kernel @bounded(
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-1.000000e+09> : vector<128xf32>
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK:   %[[M1:.*]] = arith.maximumf %[[M]], %{{.*}}
// CHECK:   %[[LOW:.*]] = arith.cmpf olt, %[[M1]], %[[LEAST]]
// CHECK:   %[[F1:.*]] = arith.select %[[LOW]], %{{.*}}, %[[M1]]
// CHECK:   %[[D1:.*]] = arith.subf %[[F1]], %[[M]]
// CHECK:   %[[KEEP:.*]] = arith.cmpf ole, %[[D1]], %{{.*}}
// CHECK:   %[[M2:.*]] = arith.select %[[KEEP]], %[[M]], %[[M1]]
// CHECK:   %[[F:.*]] = arith.select %[[KEEP]], %[[M]], %[[F1]]
// CHECK:   arith.subf %[[M]], %[[F]]
// CHECK:   %[[FRESH:.*]] = arith.cmpf olt, %[[M]], %[[LEAST]]
// CHECK:   arith.select %[[FRESH]]
// CHECK:   arith.negf %[[F]]
// CHECK:   scf.yield %[[M2]], %{{.*}}
tile.kernel @bounded(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %nan = arith.constant dense<0x7FC00000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %least = arith.constant dense<-1.0e+09> : vector<128xf32>
  %limit = arith.constant dense<1.0e+09> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maximumf %m, %t : vector<128xf32>
    %low = arith.cmpf olt, %m2, %least : vector<128xf32>
    %f = arith.select %low, %zero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %f : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %nf = arith.negf %f : vector<128xf32>
    %e = arith.addf %t, %nf : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %abs = math.absf %r#0 : vector<128xf32>
  %in = arith.cmpf ole, %abs, %limit : vector<128xf32>
  %none = arith.cmpf oeq, %r#0, %ninf : vector<128xf32>
  %good = arith.ori %in, %none : vector<128xi1>
  %sum = arith.select %good, %r#1, %nan : vector<128xi1>, vector<128xf32>
  %log = math.log2 %sum : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// A bound so small that another reference is often on its other side: NaN is where the true maximum is out of
// range. Left alone.
// CHECK-LABEL: tile.kernel @near_range(
// CHECK: arith.cmpf ole
// CHECK-NOT: arith.cmpf ole
tile.kernel @near_range(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %nan = arith.constant dense<0x7FC00000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %least = arith.constant dense<-1.0e+09> : vector<128xf32>
  %limit = arith.constant dense<0.25> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maximumf %m, %t : vector<128xf32>
    %low = arith.cmpf olt, %m2, %least : vector<128xf32>
    %f = arith.select %low, %zero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %f : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %nf = arith.negf %f : vector<128xf32>
    %e = arith.addf %t, %nf : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %abs = math.absf %r#0 : vector<128xf32>
  %in = arith.cmpf ole, %abs, %limit : vector<128xf32>
  %none = arith.cmpf oeq, %r#0, %ninf : vector<128xf32>
  %good = arith.ori %in, %none : vector<128xi1>
  %sum = arith.select %good, %r#1, %nan : vector<128xi1>, vector<128xf32>
  %log = math.log2 %sum : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// A bound whose exponentials relative to 0 are not 0: something may have been summed below. Left alone.
// CHECK-LABEL: tile.kernel @bound_too_high(
// CHECK-NOT: arith.cmpf ole
tile.kernel @bound_too_high(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %least = arith.constant dense<-100.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maximumf %m, %t : vector<128xf32>
    %low = arith.cmpf olt, %m2, %least : vector<128xf32>
    %f = arith.select %low, %zero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %f : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %f : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// What is chosen by the range of the reference is a number: which one depends on the reference. Left alone.
// CHECK-LABEL: tile.kernel @range_decides(
// CHECK-NOT: arith.select
tile.kernel @range_decides(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %limit = arith.constant dense<1.0e+09> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maximumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %t, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %abs = math.absf %r#0 : vector<128xf32>
  %in = arith.cmpf ole, %abs, %limit : vector<128xf32>
  %one = arith.extui %in : vector<128xi1> to vector<128xi32>
  %two = arith.uitofp %one : vector<128xi32> to vector<128xf32>
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  %both = arith.addf %lse, %two : vector<128xf32>
  tile.store %both, %x[%c0] : vector<128xf32>, memref<?xf32>
}

// -----

// The exponents are of another tile than the one whose maximum is carried: a row whose
// maximum is still -inf may have summed much, so its factor of 0 counts.
// CHECK-LABEL: tile.kernel @other_tile(
// CHECK-NOT: arith.select
tile.kernel @other_tile(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %j = %c0 to %n step %c128 iter_args(%m = %ninf, %l = %zero) -> (vector<128xf32>, vector<128xf32>) {
    %t = tile.load %x[%j] : memref<?xf32> -> vector<128xf32>
    %u = tile.load %x[%c0] : memref<?xf32> -> vector<128xf32>
    %m2 = arith.maxnumf %m, %t : vector<128xf32>
    %d = arith.subf %m, %m2 : vector<128xf32>
    %a = math.exp2 %d : vector<128xf32>
    %e = arith.subf %u, %m2 : vector<128xf32>
    %p = math.exp2 %e : vector<128xf32>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = arith.addf %la, %p : vector<128xf32>
    scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
  }
  %log = math.log2 %r#1 : vector<128xf32>
  %lse = arith.addf %r#0, %log : vector<128xf32>
  tile.store %lse, %x[%c0] : vector<128xf32>, memref<?xf32>
}
