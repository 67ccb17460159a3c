// Each operation on channels becomes the barrier, copy or MMA instructions of
// the chip, with the ring position as stage and parity. The manifest that is
// attached must describe the same launch.
//
// RUN: fa4-opt %s --tile-to-nvvm --split-input-file | FileCheck %s

// One tensor map a tensor, box and swizzle; then the size that is asked for.
// The manifest says the same.
//
// CHECK: llvm.mlir.global external @fa4_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: llvm.func @copy(
// CHECK-SAME: %[[X:arg0]]: !llvm.ptr {llvm.align = 128 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[Y:arg1]]: !llvm.ptr {
// CHECK-SAME: %[[M:arg2]]: i32)
// CHECK-SAME: block = [128], dynamic_smem = 65576 : i64
// CHECK-SAME: grid = ["ceildiv(N, 128)"]
// CHECK-SAME: {tensormap = {box = [64, 1, 128], byte_strides = ["256", "2 * 128 * M"], dims = ["128", "M", "N"], swizzle = "128B", tensor = "x"}}
// CHECK-SAME: {type = "i32", value = "M"}
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128, 1, 1>
//
// Two warps of one warpgroup have one budget, set once.
// CHECK-COUNT-4: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.setmaxregister decrease 48
// CHECK-NOT: nvvm.setmaxregister
//
// The loads of a stage: the barrier expects all bytes, then two boxes of 64 columns.
// CHECK: nvvm.elect.sync
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:[0-9]+]], %{{[0-9]+}} :
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[0-9]+}}, %[[X]], %[[FULL]], box
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{[0-9]+}}, %[[X]], %[[FULL]], box
// CHECK: nvvm.bar.warp.sync
//
// The stores read the stage before it is released.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Y]]
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[Y]]
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
tile.kernel @copy(%x: memref<?x?x128xbf16> {tile.name = "x", tile.dims = ["N", "M", "128"]},
                  %y: memref<?x?x128xbf16> {tile.name = "y", tile.dims = ["N", "M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %tiles = tile.channel "tiles" smem stages(2) place<offset(0) full(0) arrivals(1) bytes(32768) empty(2) arrivals(1)> : <vector<128x128xbf16>>
  tile.role @load kind(issuer) first_warp(0) registers(48) {
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %x, %c1 : memref<?x?x128xbf16>
    %row = arith.muli %i, %c128 : index
    scf.for %j = %c0 to %m step %c1 {
      tile.acquire %tiles : <vector<128x128xbf16>>
      %v = tile.load %x[%row, %j, %c0] dims [0, 2] : memref<?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %tiles, %v : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @store kind(issuer) first_warp(1) registers(48) {
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %m = memref.dim %x, %c1 : memref<?x?x128xbf16>
    %row = arith.muli %i, %c128 : index
    scf.for %j = %c0 to %m step %c1 {
      %v = tile.wait %tiles : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.store %v, %y[%row, %j, %c0] dims [0, 2] : vector<128x128xbf16>, memref<?x?x128xbf16>
      tile.release %tiles : <vector<128x128xbf16>>
    }
  }
}

// -----

// What lanes write to tensor memory is complete before they arrive, and what
// they read before they give the stage back. All warpgroups meet before one of
// them frees tensor memory.
//
// A launch that may begin before the one in front of it has ended waits for that
// before any thread goes on to its role, and behind what needs nothing of it.
//
// CHECK-LABEL: llvm.func @lanes(
// CHECK-SAME: programmatic = true
// CHECK: nvvm.tcgen05.alloc
// CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
// CHECK: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.tcgen05.st
// CHECK: nvvm.tcgen05.wait <store>
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.tcgen05.dealloc
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: %[[LD:[0-9]+]] = nvvm.tcgen05.ld
// CHECK: nvvm.tcgen05.wait <load>
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK-NOT: nvvm.tcgen05.dealloc
tile.kernel @lanes(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tile.programmatic_launch, tmem_columns = 32 : i64} {
  %c = tile.channel "c" tmem stages(1) place<offset(0) full(0) arrivals(128) empty(1) arrivals(128)> : <vector<128x32xf32>>
  tile.role @writer kind(vector) first_warp(0) {
    %v = arith.constant dense<1.0> : vector<32xf32>
    tile.acquire %c : <vector<128x32xf32>>
    tile.write %v, %c : vector<32xf32>, <vector<128x32xf32>>
    tile.commit %c : <vector<128x32xf32>>
  }
  tile.role @reader kind(vector) first_warp(4) {
    %i = tile.work_tile : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    tile.wait %c : <vector<128x32xf32>>
    %v = tile.read %c : <vector<128x32xf32>> -> vector<32xf32>
    %e = vector.extract %v[3] : f32 from vector<32xf32>
    tile.release %c : <vector<128x32xf32>>
    tile.put %e, %y[%row] dim 0 : f32, memref<?xf32>
  }
}

// -----

// Columns that are written again are written in the order of the operations: the lanes wait
// for the first store before they begin the second. Stores to other columns need no wait.
//
// CHECK-LABEL: llvm.func @written_twice(
// CHECK: nvvm.tcgen05.st {{.*}} : vector<16xi32>
// CHECK-NOT: nvvm.tcgen05.wait
// CHECK: nvvm.tcgen05.st {{.*}} : vector<16xi32>
// CHECK: nvvm.tcgen05.wait <store>
// CHECK: nvvm.tcgen05.st {{.*}} : vector<16xi32>
// CHECK: nvvm.tcgen05.wait <store>
// CHECK: nvvm.mbarrier.arrive
tile.kernel @written_twice(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  %c = tile.channel "c" tmem stages(1) place<offset(0) full(0) arrivals(128) empty(1) arrivals(128)> : <vector<128x32xf32>>
  tile.role @writer kind(vector) first_warp(0) {
    %v = arith.constant dense<1.0> : vector<16xf32>
    %w = arith.constant dense<2.0> : vector<16xf32>
    tile.acquire %c : <vector<128x32xf32>>
    tile.write %v, %c : vector<16xf32>, <vector<128x32xf32>>
    tile.write %v, %c[16] : vector<16xf32>, <vector<128x32xf32>>
    tile.write %w, %c : vector<16xf32>, <vector<128x32xf32>>
    tile.commit %c : <vector<128x32xf32>>
  }
  tile.role @reader kind(vector) first_warp(4) {
    %i = tile.work_tile : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    tile.wait %c : <vector<128x32xf32>>
    %v = tile.read %c : <vector<128x32xf32>> -> vector<32xf32>
    %e = vector.extract %v[3] : f32 from vector<32xf32>
    tile.release %c : <vector<128x32xf32>>
    tile.put %e, %y[%row] dim 0 : f32, memref<?xf32>
  }
}

// -----

// An element at the poison position is poison. (Upstream's folder makes another operation of
// it, for which the conversion aborted.)
//
// CHECK-LABEL: llvm.func @poison(
// CHECK: llvm.mlir.poison : f32
tile.kernel @poison(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @lanes kind(vector) first_warp(0) {
    %i = tile.work_tile : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    %v = arith.constant dense<1.0> : vector<32xf32>
    %e = vector.extract %v[-1] : f32 from vector<32xf32>
    tile.put %e, %y[%row] dim 0 : f32, memref<?xf32>
  }
}

// -----

// An element of a slice is taken from the row, and one of a constant is a constant: LLVM would
// spend several times as long to find them through a vector that nothing else needs.
//
// CHECK-LABEL: llvm.func @elements(
// CHECK-NOT: vector<2xf32>
// CHECK-DAG: %[[FIVE:.*]] = llvm.mlir.constant(5 : i32) : i32
// CHECK-DAG: %[[TWO:.*]] = llvm.mlir.constant(2.000000e+00 : f32) : f32
// CHECK-NOT: vector<2xf32>
// CHECK: %[[E:.*]] = llvm.extractelement %{{.*}}[%[[FIVE]] : i32] : vector<32xf32>
// CHECK: llvm.fmul %[[E]], %[[TWO]] : f32
tile.kernel @elements(%x: f32 {tile.name = "x"}, %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], tmem_columns = 32 : i64} {
  %c = tile.channel "c" tmem stages(1) place<offset(0) full(0) arrivals(128) empty(1) arrivals(128)> : <vector<128x32xf32>>
  tile.role @writer kind(vector) first_warp(0) {
    %all = vector.broadcast %x : f32 to vector<32xf32>
    tile.acquire %c : <vector<128x32xf32>>
    tile.write %all, %c : vector<32xf32>, <vector<128x32xf32>>
    tile.commit %c : <vector<128x32xf32>>
  }
  tile.role @reader kind(vector) first_warp(4) {
    %i = tile.work_tile : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    tile.wait %c : <vector<128x32xf32>>
    %v = tile.read %c : <vector<128x32xf32>> -> vector<32xf32>
    %pair = vector.extract_strided_slice %v {offsets = [4], sizes = [2], strides = [1]} : vector<32xf32> to vector<2xf32>
    %e = vector.extract %pair[1] : f32 from vector<2xf32>
    %twos = arith.constant dense<2.0> : vector<2xf32>
    %two = vector.extract %twos[0] : f32 from vector<2xf32>
    %product = arith.mulf %e, %two : f32
    tile.release %c : <vector<128x32xf32>>
    tile.put %product, %y[%row] dim 0 : f32, memref<?xf32>
  }
}

// -----

// Pairs of halves become words and a row of them becomes stores of four words, without vectors
// of one word and without a vector of the whole row, which LLVM would have to split again.
//
// CHECK-LABEL: llvm.func @packed_halves(
// CHECK-NOT: vector<1xi32>
// CHECK-NOT: llvm.shufflevector
// CHECK-NOT: vector<8xi32>
// CHECK: llvm.bitcast %{{.*}} : vector<2xbf16> to i32
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
// CHECK: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
tile.kernel @packed_halves(%v: f32 {tile.name = "v"},
                           %z: memref<?x16xbf16> {tile.name = "z", tile.dims = ["N", "16"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c = tile.channel "c" smem stages(1) place<offset(0) full(0) arrivals(128) empty(1) arrivals(1)> : <vector<128x16xbf16>>
  tile.role @writer kind(vector) first_warp(0) {
    %two = vector.from_elements %v, %v : vector<2xf32>
    %half = arith.truncf %two : vector<2xf32> to vector<2xbf16>
    %words = vector.bitcast %half : vector<2xbf16> to vector<1xi32>
    %w = vector.extract %words[0] : i32 from vector<1xi32>
    %all = vector.from_elements %w, %w, %w, %w, %w, %w, %w, %w : vector<8xi32>
    %p = vector.bitcast %all : vector<8xi32> to vector<16xbf16>
    tile.acquire %c : <vector<128x16xbf16>>
    tile.write %p, %c : vector<16xbf16>, <vector<128x16xbf16>>
    tile.fence
    tile.commit %c : <vector<128x16xbf16>>
  }
  tile.role @store kind(issuer) first_warp(4) {
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    %t = tile.wait %c : <vector<128x16xbf16>> -> vector<128x16xbf16>
    tile.store %t, %z[%row, %c0] dims [0, 1] : vector<128x16xbf16>, memref<?x16xbf16>
    tile.release %c : <vector<128x16xbf16>>
  }
}

// -----

// A value that a loop carries and nobody uses is gone, also one that is computed from itself;
// remove-dead-values of LLVM 22 would leave the operands of its branches. What stays is the
// induction variable and the sum. No instruction is moved across a vote, which the
// assembler cannot foresee.
//
// CHECK-LABEL: llvm.func @dead_values(
// CHECK: llvm.br ^[[HEADER:bb[0-9]+]](%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i32, f32)
// CHECK: ^[[HEADER]](%{{[a-z0-9_]+}}: i32, %[[SUM:[a-z0-9_]+]]: f32):
// CHECK-NOT: llvm.mul
// CHECK: nvvm.vote.sync all
// CHECK: llvm.fadd %[[SUM]]
tile.kernel @dead_values(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  tile.role @lanes kind(vector) first_warp(0) {
    %i = tile.work_tile : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c128 = arith.constant 128 : index
    %one = arith.constant 1.0 : f32
    %row = arith.muli %i, %c128 : index
    %n = memref.dim %y, %c0 : memref<?xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %one, %dead = %c1) -> (f32, index) {
      tile.keep_order
      %s = arith.addf %sum, %one : f32
      %d = arith.muli %dead, %c9 : index
      scf.yield %s, %d : f32, index
    }
    tile.put %r#0, %y[%row] dim 0 : f32, memref<?xf32>
  }
}
