// tile-distribute gives thread r row r of each tile. A row value becomes a
// scalar, a row reduction stays in the thread, and values that lanes read get
// explicit reads and writes.
//
// RUN: fa4-opt %s --tile-distribute=verify=false --split-input-file | FileCheck %s --dump-input=never

// A matrix is a row a thread, a row value a scalar. The read is where the value is
// first used, and row values are written as they are.
// CHECK-LABEL: tile.kernel @rows
tile.kernel @rows(%lse: memref<?x?xf32> {tile.name = "lse", tile.dims = ["H", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
  %pa = tile.channel "pa" tmem stages(1) : <vector<128x32xbf16>>
  %m = tile.channel "m" smem stages(1) : <vector<128xf32>>
  // An issue role's values are handles, not data.
  // CHECK: tile.role @issue
  // CHECK: %[[H:.*]] = tile.wait %p : <vector<128x64xbf16>> -> vector<128x64xbf16>
  tile.role @issue kind(issuer) {
    %h = tile.wait %p : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.release %p : <vector<128x64xbf16>>
  }
  // CHECK: tile.role @compute
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // A constant has the form that each use needs.
    // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
    // CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<64xf32>
    %zero = arith.constant dense<0.0> : vector<128xf32>
    %two = arith.constant dense<2.0> : vector<128x64xf32>
    // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[M0:.*]] = %[[ZERO]], %[[L0:.*]] = %[[ZERO]]) -> (f32, f32)
    %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%m0 = %zero, %l0 = %zero) -> (vector<128xf32>, vector<128xf32>) {
      // CHECK: tile.wait %s
      // CHECK-NEXT: %[[C:.*]] = arith.cmpi
      // CHECK-NEXT: %[[X:.*]] = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
      // CHECK-NEXT: %[[M1:.*]] = vector.reduction <maxnumf>, %[[X]], %[[M0]] fastmath<reassoc> : vector<64xf32> into f32
      %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
      %c = arith.cmpi eq, %i, %c0 : index
      %m1 = vector.multi_reduction <maxnumf>, %x, %m0 [1] : vector<128x64xf32> to vector<128xf32>
      // CHECK: %[[Y:.*]] = scf.if %[[C]] -> (vector<64xf32>) {
      // CHECK:   scf.yield %[[TWO]] : vector<64xf32>
      %y = scf.if %c -> (vector<128x64xf32>) {
        scf.yield %two : vector<128x64xf32>
      } else {
        scf.yield %x : vector<128x64xf32>
      }
      // CHECK: %[[MB:.*]] = vector.broadcast %[[M1]] : f32 to vector<64xf32>
      // CHECK: %[[Z:.*]] = math.fma %[[Y]], %[[TWO]], %[[MB]] : vector<64xf32>
      %mc = vector.shape_cast %m1 : vector<128xf32> to vector<128x1xf32>
      %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x64xf32>
      %z = math.fma %y, %two, %mb : vector<128x64xf32>
      // CHECK: %[[ZT:.*]] = arith.truncf %[[Z]] : vector<64xf32> to vector<64xbf16>
      %zt = arith.truncf %z : vector<128x64xf32> to vector<128x64xbf16>
      tile.release %s : <vector<128x64xf32>>
      // CHECK: tile.acquire %pa
      // CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[ZT]] {offsets = [32], sizes = [32], strides = [1]}
      // CHECK: tile.write %[[PART]], %pa : vector<32xbf16>, <vector<128x32xbf16>>
      // CHECK-NEXT: tile.commit %pa : <vector<128x32xbf16>>
      tile.acquire %pa : <vector<128x32xbf16>>
      %part = vector.extract_strided_slice %zt {offsets = [0, 32], sizes = [128, 32], strides = [1, 1]} : vector<128x64xbf16> to vector<128x32xbf16>
      tile.commit %pa, %part : <vector<128x32xbf16>>, vector<128x32xbf16>
      // CHECK: %[[L1:.*]] = vector.reduction <add>, %[[Z]], %[[L0]]
      %l1 = vector.multi_reduction <add>, %z, %l0 [1] : vector<128x64xf32> to vector<128xf32>
      // CHECK: scf.yield %[[M1]], %[[L1]] : f32, f32
      scf.yield %m1, %l1 : vector<128xf32>, vector<128xf32>
    }
    // CHECK: tile.acquire %m
    // CHECK-NEXT: tile.write %[[R]]#0, %m : f32, <vector<128xf32>>
    // CHECK-NEXT: tile.commit %m
    tile.acquire %m : <vector<128xf32>>
    tile.commit %m, %r#0 : <vector<128xf32>>, vector<128xf32>
    // CHECK: tile.put %[[R]]#1, %{{.*}}[%{{.*}}, %{{.*}}] dim 1 : f32, memref<?x?xf32>
    tile.store %r#1, %lse[%c1, %c0] : vector<128xf32>, memref<?x?xf32>
  }
}

// -----

// The step of the rows is the thread's row, that of the columns a whole vector; so is
// a vector that is read to be used along columns.
// CHECK-LABEL: tile.kernel @columns
tile.kernel @columns() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %d = tile.channel "d" smem stages(1) : <vector<128xf32>>
  %f = tile.channel "f" smem stages(1) : <vector<128xf32>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @compute kind(vector) {
    %c3 = arith.constant 3 : index
    // CHECK-DAG: %[[ROW:.*]] = tile.row : index
    // CHECK-DAG: %[[COLS:.*]] = vector.step : vector<128xindex>
    %step = vector.step : vector<128xindex>
    // CHECK: %[[LIM:.*]] = arith.addi %[[ROW]], %{{.*}} : index
    %limv = vector.broadcast %c3 : index to vector<128xindex>
    %lim = arith.addi %step, %limv : vector<128xindex>
    %limc = vector.shape_cast %lim : vector<128xindex> to vector<128x1xindex>
    // CHECK: %[[LIMB:.*]] = vector.broadcast %[[LIM]] : index to vector<128xindex>
    %limb = vector.broadcast %limc : vector<128x1xindex> to vector<128x128xindex>
    %colb = vector.broadcast %step : vector<128xindex> to vector<128x128xindex>
    // CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[COLS]], %[[LIMB]] : vector<128xindex>
    %keep = arith.cmpi sle, %colb, %limb : vector<128x128xindex>
    // CHECK: tile.wait %d
    // CHECK: tile.wait %f
    // CHECK-NEXT: %[[F:.*]] = tile.read %f : <vector<128xf32>> -> f32
    // CHECK: %[[D:.*]] = tile.read %d all : <vector<128xf32>> -> vector<128xf32>
    // CHECK: %[[X:.*]] = tile.read %s
    // CHECK: %[[Y:.*]] = arith.subf %[[X]], %[[D]] : vector<128xf32>
    // CHECK: arith.select %[[KEEP]], %[[Y]], %{{.*}} : vector<128xi1>, vector<128xf32>
    %dv = tile.wait %d : <vector<128xf32>> -> vector<128xf32>
    %fv = tile.wait %f : <vector<128xf32>> -> vector<128xf32>
    %db = vector.broadcast %dv : vector<128xf32> to vector<128x128xf32>
    %x = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
    %y = arith.subf %x, %db : vector<128x128xf32>
    %fc = vector.shape_cast %fv : vector<128xf32> to vector<128x1xf32>
    %fb = vector.broadcast %fc : vector<128x1xf32> to vector<128x128xf32>
    %z = arith.select %keep, %y, %fb : vector<128x128xi1>, vector<128x128xf32>
    tile.acquire %o : <vector<128x128xf32>>
    tile.commit %o, %z : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %s : <vector<128x128xf32>>
    tile.release %d : <vector<128xf32>>
    tile.release %f : <vector<128xf32>>
  }
}

// -----

// An accumulator that is handed on in its buffer is read and written only where a
// row of the warp has a factor. A product is always computed.
// CHECK-LABEL: tile.kernel @rescale
tile.kernel @rescale() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128xf32>>
  %o = tile.channel "o" tmem stages(1) initial(1) : <vector<128x64xf32>>
  %or = tile.channel "or" tmem stages(1) in_place_of(%o : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  tile.role @correct kind(vector) {
    // CHECK: tile.wait %a
    // CHECK-NEXT: %[[A:.*]] = tile.read %a
    // CHECK-NEXT: tile.wait %o
    // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
    // CHECK-NEXT: %[[DIFFERS:.*]] = arith.cmpf une, %[[A]], %[[ONE]]
    // CHECK-NEXT: %[[ANY:.*]] = tile.any %[[DIFFERS]]
    // CHECK-NEXT: scf.if %[[ANY]] {
    // CHECK-NEXT:   %[[X:.*]] = tile.read %o
    // CHECK-NEXT:   %[[AB:.*]] = vector.broadcast %[[A]]
    // CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[X]], %[[AB]]
    // CHECK-NEXT:   tile.write %[[Y]], %or
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.commit %or
    %av = tile.wait %a : <vector<128xf32>> -> vector<128xf32>
    %ov = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    %os = tile.rescale %ov, %av : vector<128x64xf32>, vector<128xf32>
    tile.commit %or, %os : <vector<128x64xf32>>, vector<128x64xf32>
    // CHECK: tile.wait %o
    // CHECK-NOT: scf.if
    // CHECK: %[[X2:.*]] = tile.read %o
    // CHECK: %[[Y2:.*]] = arith.mulf %[[X2]]
    // CHECK: tile.write %[[Y2]], %or
    %ac = vector.shape_cast %av : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x64xf32>
    %ov2 = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    %os2 = arith.mulf %ov2, %ab : vector<128x64xf32>
    tile.commit %or, %os2 : <vector<128x64xf32>>, vector<128x64xf32>
    // A value that is used after its stage is released is read before.
    // CHECK: tile.wait %o
    // CHECK-NEXT: %[[LATE:.*]] = tile.read %o
    // CHECK-NEXT: tile.release %o
    // CHECK-NEXT: tile.write %[[LATE]], %or
    %ov3 = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    tile.release %o : <vector<128x64xf32>>
    tile.commit %or, %ov3 : <vector<128x64xf32>>, vector<128x64xf32>
    tile.release %a : <vector<128xf32>>
  }
}

// -----

// What lanes write to shared memory is fenced if a TMA store or an MMA reads it; not if other lanes do, and not in
// tensor memory.
// CHECK-LABEL: tile.kernel @fences
tile.kernel @fences(%y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %out = tile.channel "out" smem stages(1) : <vector<128x64xbf16>>
  %p = tile.channel "p" smem stages(1) : <vector<128x64xbf16>>
  %t = tile.channel "t" tmem stages(1) : <vector<128x64xbf16>>
  %acc = tile.channel "acc" tmem stages(1) : <vector<128x128xf32>>
  %rows = tile.channel "rows" smem stages(1) : <vector<128xf32>>
  tile.role @lanes kind(vector) {
    %v = arith.constant dense<1.0> : vector<128x64xbf16>
    %r = arith.constant dense<1.0> : vector<128xf32>
    // CHECK: tile.write %{{.*}}, %out
    // CHECK-NEXT: tile.fence
    // CHECK-NEXT: tile.commit %out
    tile.commit %out, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    // CHECK-NEXT: tile.write %{{.*}}, %p
    // CHECK-NEXT: tile.fence
    // CHECK-NEXT: tile.commit %p
    tile.commit %p, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    // CHECK-NEXT: tile.write %{{.*}}, %t
    // CHECK-NEXT: tile.commit %t
    tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    // CHECK-NEXT: tile.write %{{.*}}, %rows
    // CHECK-NEXT: tile.commit %rows
    tile.commit %rows, %r : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @mma kind(issuer) {
    %a = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %b = tile.wait %p : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %s = tile.mma %a, transpose %b : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    tile.commit %acc, %s : <vector<128x128xf32>>, vector<128x128xf32>
  }
  // Through a loop and a branch.
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %y, %c0 : memref<?x64xbf16>
    %some = arith.cmpi sgt, %n, %c1 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = scf.if %some -> (vector<128x64xbf16>) {
      scf.yield %v : vector<128x64xbf16>
    } else {
      scf.yield %v : vector<128x64xbf16>
    }
    scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %w) -> (vector<128x64xbf16>) {
      tile.store %x, %y[%i, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      scf.yield %x : vector<128x64xbf16>
    }
  }
  tile.role @other kind(vector) {
    tile.wait %rows : <vector<128xf32>>
  }
}

// -----

// A waited value is a value: where passes have moved arithmetic on it behind the
// release, lanes have read the stage before they release it.

// CHECK-LABEL: tile.kernel @late
// CHECK:       tile.role @consume
// CHECK:         tile.wait %c
// CHECK-NEXT:    %[[V:.*]] = tile.read %c
// CHECK-NEXT:    tile.release %c
// CHECK-NEXT:    %[[N:.*]] = arith.negf %[[V]] : vector<64xf32>
// CHECK:         tile.write %[[N]], %d
tile.kernel @late() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x64xf32>>
  %d = tile.channel "d" tmem stages(1) : <vector<128x64xf32>>
  tile.role @consume kind(vector) {
    %v = tile.wait %c : <vector<128x64xf32>> -> vector<128x64xf32>
    tile.release %c : <vector<128x64xf32>>
    %n = arith.negf %v : vector<128x64xf32>
    tile.acquire %d : <vector<128x64xf32>>
    tile.commit %d, %n : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// The first value of a channel with `initial` is undefined: in the first pass of the
// loop nothing is read, whatever the factors are.
// CHECK-LABEL: tile.kernel @rescale_in_loop
tile.kernel @rescale_in_loop() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128xf32>>
  %o = tile.channel "o" tmem stages(1) initial(1) : <vector<128x64xf32>>
  %or = tile.channel "or" tmem stages(1) in_place_of(%o : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  tile.role @correct kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // CHECK: scf.for %[[I:.*]] = %[[FIRST:.*]] to
    // CHECK-NOT: tile.read %o
    // CHECK: %[[ANY:.*]] = tile.any
    // CHECK: %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[FIRST]]
    // CHECK: %[[BOTH:.*]] = arith.andi %[[ANY]], %[[LATER]]
    // CHECK: scf.if %[[BOTH]] {
    // CHECK:   tile.read %o
    scf.for %i = %c0 to %c4 step %c1 {
      %av = tile.wait %a : <vector<128xf32>> -> vector<128xf32>
      %ov = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
      // Nothing uses this second product, so the value is not read for its sake.
      %unused = tile.rescale %ov, %av : vector<128x64xf32>, vector<128xf32>
      %os = tile.rescale %ov, %av : vector<128x64xf32>, vector<128xf32>
      tile.commit %or, %os : <vector<128x64xf32>>, vector<128x64xf32>
    }
  }
}

// -----

// The product of a loop that may have had no pass is selected from tensor memory that may be
// undefined. It is read in the branch that takes it, however often it is selected; where the
// sides of two selections cover both cases, the read comes first.
// CHECK-LABEL: tile.kernel @once
tile.kernel @once(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x64xf32>>
  %y = tile.channel "y" smem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %ran = arith.cmpi slt, %c0, %n : index
    %zero = arith.constant dense<0.0> : vector<128x64xf32>
    // CHECK: tile.wait %o
    // CHECK-NEXT: %[[S:.*]] = scf.if %{{.*}} -> (vector<64xf32>) {
    // CHECK-NEXT:   %[[V:.*]] = tile.read %o
    // CHECK-NEXT:   scf.yield %[[V]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   scf.yield %{{.*}} : vector<64xf32>
    // CHECK-NEXT: }
    // CHECK: tile.write %[[S]], %x
    %v = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    %s = arith.select %ran, %v, %zero : vector<128x64xf32>
    tile.release %o : <vector<128x64xf32>>
    tile.acquire %x : <vector<128x64xf32>>
    tile.commit %x, %s : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// CHECK-LABEL: tile.kernel @twice
tile.kernel @twice(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x64xf32>>
  %y = tile.channel "y" smem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %ran = arith.cmpi slt, %c0, %n : index
    %zero = arith.constant dense<0.0> : vector<128x64xf32>
    %one = arith.constant dense<1.0> : vector<128x64xf32>
    // The release comes before the selections.
    // CHECK: tile.wait %o
    // CHECK-NEXT: %[[V:.*]] = scf.if %{{.*}} -> (vector<64xf32>) {
    // CHECK-NEXT:   tile.read %o
    // CHECK: }
    // CHECK: tile.release %o
    // CHECK: arith.select %{{.*}}, %[[V]], %{{.*}} : vector<64xf32>
    // CHECK: arith.select %{{.*}}, %[[V]], %{{.*}} : vector<64xf32>
    // CHECK-NOT: tile.read
    %v = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    tile.release %o : <vector<128x64xf32>>
    %s = arith.select %ran, %v, %zero : vector<128x64xf32>
    tile.acquire %x : <vector<128x64xf32>>
    tile.commit %x, %s : <vector<128x64xf32>>, vector<128x64xf32>
    %t = arith.select %ran, %v, %one : vector<128x64xf32>
    tile.acquire %y : <vector<128x64xf32>>
    tile.commit %y, %t : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// CHECK-LABEL: tile.kernel @always
tile.kernel @always(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x64xf32>>
  %y = tile.channel "y" smem stages(1) : <vector<128x64xf32>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %ran = arith.cmpi slt, %c0, %n : index
    %zero = arith.constant dense<0.0> : vector<128x64xf32>
    // CHECK: tile.wait %o
    // CHECK-NEXT: tile.read %o
    %v = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    %s = arith.select %ran, %v, %zero : vector<128x64xf32>
    %t = arith.select %ran, %zero, %v : vector<128x64xf32>
    tile.release %o : <vector<128x64xf32>>
    tile.acquire %x : <vector<128x64xf32>>
    tile.commit %x, %s : <vector<128x64xf32>>, vector<128x64xf32>
    tile.acquire %y : <vector<128x64xf32>>
    tile.commit %y, %t : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// In a pair of CTAs, 64 rows are folded: a thread has half of a row, and columns
// count from the first one of its half. Halves may be a dimension of their own;
// what a thread has of either form is the same.
// CHECK-LABEL: tile.kernel @folded
tile.kernel @folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64x128xbf16>>
  %p = tile.channel "p" smem stages(1) : <vector<64x32xf32>>
  tile.role @lanes kind(vector) {
    %half = arith.constant dense<0.5> : vector<64x128xf32>
    // CHECK: tile.wait %c
    // CHECK-NEXT: %[[V:.*]] = tile.read %c : <vector<64x128xf32>> -> vector<64xf32>
    // CHECK-NEXT: %[[X:.*]] = arith.mulf %[[V]], %{{.*}} : vector<64xf32>
    // CHECK-NEXT: %[[B:.*]] = arith.truncf %[[X]] : vector<64xf32> to vector<64xbf16>
    // CHECK-NEXT: tile.write %[[B]], %o : vector<64xbf16>, <vector<64x128xbf16>>
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    %x = arith.mulf %v, %half : vector<64x128xf32>
    %b = arith.truncf %x : vector<64x128xf32> to vector<64x128xbf16>
    tile.commit %o, %b : <vector<64x128xbf16>>, vector<64x128xbf16>
    // CHECK: %[[PART:.*]] = vector.extract_strided_slice %[[X]] {offsets = [16], sizes = [16], strides = [1]} : vector<64xf32> to vector<16xf32>
    // CHECK-NEXT: tile.write %[[PART]], %p : vector<16xf32>, <vector<64x32xf32>>
    %halves = vector.shape_cast %x : vector<64x128xf32> to vector<64x2x64xf32>
    %part = vector.extract_strided_slice %halves {offsets = [0, 0, 16], sizes = [64, 2, 16], strides = [1, 1, 1]} : vector<64x2x64xf32> to vector<64x2x16xf32>
    %flat = vector.shape_cast %part : vector<64x2x16xf32> to vector<64x32xf32>
    tile.commit %p, %flat : <vector<64x32xf32>>, vector<64x32xf32>
  }
}

// -----

// The number of a thread's row follows from the layout of that many rows: threads
// t and t + 64 have parts of row t, so both load and compute what is row t's.
// CHECK-LABEL: tile.kernel @rows_of_folded
tile.kernel @rows_of_folded(%factors: memref<?xf32> {tile.name = "factors", tile.dims = ["N"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64x128xf32>>
  tile.role @lanes kind(vector) {
    // CHECK: %[[THREAD:.*]] = tile.row : index
    // CHECK: %[[REST:.*]] = arith.remsi %[[THREAD]], %c64
    // CHECK: %[[ROW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[REST]] : index
    // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[ROW]] : index
    // CHECK: %[[F:.*]] = tile.load_scalar %arg0[%[[AT]]] : memref<?xf32>
    // CHECK: vector.broadcast %[[F]] : f32 to vector<64xf32>
    %c0 = arith.constant 0 : index
    %f = tile.load_rows %factors[%c0] dim 0 : memref<?xf32> -> vector<64xf32>
    %column = vector.shape_cast %f : vector<64xf32> to vector<64x1xf32>
    %over = vector.broadcast %column : vector<64x1xf32> to vector<64x128xf32>
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    %w = arith.mulf %v, %over : vector<64x128xf32>
    tile.commit %o, %w : <vector<64x128xf32>>, vector<64x128xf32>
  }
}
