// tile-allocate gives each channel bytes or columns and barriers with their
// counts. A buffer may be used again only after its last reader: each case
// shows one reason for or against.
//
// RUN: fa4-opt %s --split-input-file --tile-share-buffers=verify=false --tile-allocate=verify=false | FileCheck %s
// (Not verified: some loops may make no pass, after which accumulators are read.)

// A product with an epilogue. The staging tile takes the memory of the operands, all
// of which have been read when the accumulator arrives.

// CHECK-LABEL: tile.kernel @gemm
// CHECK-SAME: smem_bytes = 98424 : i64, tmem_columns = 128 : i64
// CHECK-DAG: "a" smem stages(3) place<offset(0) full(0) arrivals(1) bytes(16384) empty(3) arrivals(1)> :
// CHECK-DAG: "b" smem stages(3) place<offset(49152) full(6) arrivals(1) bytes(16384) empty(9) arrivals(1)> :
// CHECK-DAG: "acc" tmem stages(1) place<offset(0) full(12) arrivals(1)> :
// CHECK-DAG: "c" smem stages(1) after(%a : {{.*}}) place<offset(0) full(13) arrivals(128)> :
// CHECK-LABEL: tile.role @mma
// CHECK-NOT: tile.acquire
tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %ca = tile.channel "a" smem stages(3) : <vector<128x64xbf16>>
  %cb = tile.channel "b" smem stages(3) : <vector<64x128xbf16>>
  %acc = tile.channel "acc" tmem stages(1) : <vector<128x128xf32>>
  %cc = tile.channel "c" smem stages(1) : <vector<128x128xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %tm, %tn = tile.work_tile : index, index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    scf.for %i = %c0 to %k step %c64 {
      tile.acquire %ca : <vector<128x64xbf16>>
      %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
      tile.commit %ca, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %cb : <vector<64x128xbf16>>
      %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
      tile.commit %cb, %tb : <vector<64x128xbf16>>, vector<64x128xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %k = memref.dim %a, %c1 : memref<?x?xbf16>
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    tile.acquire %acc : <vector<128x128xf32>>
    %r = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
      %notfirst = arith.cmpi ne, %i, %c0 : index
      %ta = tile.wait %ca : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tb = tile.wait %cb : <vector<64x128xbf16>> -> vector<64x128xbf16>
      %y = tile.mma %ta, %tb acc %x if %notfirst : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
      tile.release %ca : <vector<128x64xbf16>>
      tile.release %cb : <vector<64x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %acc, %r : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @epilogue kind(vector) {
    %half = arith.constant dense<0.5> : vector<128x128xf32>
    %t = tile.wait %acc : <vector<128x128xf32>> -> vector<128x128xf32>
    %h = arith.mulf %t, %half : vector<128x128xf32>
    %o = arith.truncf %h : vector<128x128xf32> to vector<128x128xbf16>
    tile.release %acc : <vector<128x128xf32>>
    tile.acquire %cc : <vector<128x128xbf16>>
    tile.commit %cc, %o : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @store kind(issuer) {
    %c128 = arith.constant 128 : index
    %tm, %tn = tile.work_tile : index, index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %t = tile.wait %cc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
    tile.release %cc : <vector<128x128xbf16>>
  }
}

// -----

// p in place of s.

// CHECK-LABEL: tile.kernel @in_place
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1)> :
// CHECK: "p" tmem stages(1) in_place_of(%s : {{.*}}) place<offset(0) full(2) arrivals(128)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(3) arrivals(1)> :
// CHECK-NOT: tile.acquire
// CHECK-NOT: tile.release
tile.kernel @in_place(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// The lanes need s after they have committed p: they might still read it there.

// CHECK-LABEL: tile.kernel @used_later
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1) empty(2) arrivals(128)> :
// CHECK: "p" tmem stages(1) place<offset(256) full(3) arrivals(128) empty(4) arrivals(1)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(5) arrivals(1)> :
tile.kernel @used_later(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      %late = math.exp %ts : vector<128x128xf32>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// What is committed does not come from s, so it may be written before s is read.

// CHECK-LABEL: tile.kernel @not_derived
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1) empty(2) arrivals(128)> :
// CHECK: "p" tmem stages(1) place<offset(256) full(3) arrivals(128) empty(4) arrivals(1)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(5) arrivals(1)> :
tile.kernel @not_derived(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %c = arith.constant dense<1.0> : vector<128x128xbf16>
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// The next s is written before p is read: there the two must lie apart.

// CHECK-LABEL: tile.kernel @next_too_early
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1) empty(2) arrivals(128)> :
// CHECK: "p" tmem stages(1) place<offset(256) full(3) arrivals(128) empty(4) arrivals(1)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(5) arrivals(1)> :
tile.kernel @next_too_early(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %s : <vector<128x128xf32>>
    %ts0 = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    %tpe = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %ye = tile.mma %tpe, %tx acc %r : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %p : <vector<128x128xbf16>>
    tile.commit %o, %ye : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// The same one iteration ahead, with the two MMAs the other way around.

// CHECK-LABEL: tile.kernel @next_in_time
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1)> :
// CHECK: "p" tmem stages(1) in_place_of(%s : {{.*}}) place<offset(0) full(2) arrivals(128)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(3) arrivals(1)> :
// CHECK-NOT: tile.acquire
// CHECK-NOT: tile.release
tile.kernel @next_in_time(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %s : <vector<128x128xf32>>
    %ts0 = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      scf.yield %y : vector<128x128xf32>
    }
    %tpe = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %ye = tile.mma %tpe, %tx acc %r : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %p : <vector<128x128xbf16>>
    tile.commit %o, %ye : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// Two MMAs read p, and the next s comes between them.

// CHECK-LABEL: tile.kernel @read_twice
// CHECK: "s" tmem stages(1) place<offset(0) full(1) arrivals(1) empty(2) arrivals(128)> :
// CHECK: "p" tmem stages(1) place<offset(256) full(3) arrivals(128) empty(4) arrivals(1)> :
// CHECK: "o" tmem stages(1) place<offset(128) full(5) arrivals(1)> :
tile.kernel @read_twice(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %s : <vector<128x128xf32>>
    %ts0 = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %y2 = tile.mma %tp, transpose %tx acc %y : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y2 : vector<128x128xf32>
    }
    %tpe = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %ye = tile.mma %tpe, %tx acc %r : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %p : <vector<128x128xbf16>>
    tile.commit %o, %ye : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}

// -----

// More than one stage: s is written ahead of p.

// CHECK-LABEL: tile.kernel @two_stages
// CHECK: "s" tmem stages(2) place<offset(0) full(1) arrivals(1) empty(3) arrivals(128)> :
// CHECK: "p" tmem stages(2) place<offset(256) full(5) arrivals(128) empty(7) arrivals(1)> :
// CHECK: "o" tmem stages(1) place<offset(384) full(9) arrivals(1)> :
tile.kernel @two_stages(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(2) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(2) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %y = tile.mma %tp, %tx acc %acc : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
    %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}
