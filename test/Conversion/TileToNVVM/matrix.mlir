// MMAs of lanes are wgmma in inline assembly. Each product begins with a fence and ends with a commit of its group, and
// an await lets as many groups run on as MMAs stand between the product and itself. An operand is a descriptor or
// registers, and the accumulator's registers go in and out of both the product and its wait, so that nothing is between
// them. One thread of each warp says that a stage is free. Tiles are stored by stmatrix, row values by their owners.
//
// RUN: fa4-opt %s --tile-to-nvvm --split-input-file | FileCheck %s --dump-input=never
// RUN: fa4-opt %S/../../Dialect/Tile/Inputs/matrix-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-pipeline,tile-order,tile-allocate,tile-distribute,tile-unroll),tile-to-nvvm)' | FileCheck %s --dump-input=never --check-prefix=LOOP
// RUN: fa4-opt %S/../../Dialect/Tile/tile-verify-protocol-turn-channels.mlir --pass-pipeline='builtin.module(tile.kernel(tile-allocate,tile-distribute,tile-unroll),tile-to-nvvm)' | FileCheck %s --dump-input=never --check-prefix=TURN

// Two stages of 64 x 64 elements: Q K^T with both operands by descriptor, K 16 at a time. The 32 results are not read
// before. The second product takes P from registers and V from rows, which are its columns.
// CHECK-LABEL: llvm.func @products
// CHECK-SAME: !llvm.ptr
tile.kernel @products(%xs: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %os: memref<?x64xbf16> {tile.name = "o", tile.dims = ["N", "64"]},
                      %fs: memref<?x64xf32> {tile.name = "f", tile.dims = ["N", "64"]},
                      %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 64>]} {
  %x = tile.channel "x" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(8192) empty(4) arrivals(4)> : <vector<64x64xbf16>>
  %o = tile.channel "o" smem stages(1) place<offset(8192) full(2) arrivals(128) empty(5) arrivals(1)> : <vector<64x64xbf16>>
  %f = tile.channel "f" smem stages(1) place<offset(16384) full(3) arrivals(128) empty(6) arrivals(1)> : <vector<64x64xf32>>
  tile.role @compute kind(matrix) first_warp(0) registers(240) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %tile = tile.work_tile : index
    %row = arith.muli %tile, %c64 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // CHECK: llvm.inline_asm {{.*}}.reg .pred p;
    // CHECK-SAME: setp.ne.b32 p, 0, 0;
    // CHECK-SAME: wgmma.fence.sync.aligned;
    // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, $1, {{[$0-9, ]*}}, $31}, da, db, p, 1, 1, 0, 0;
    // CHECK-SAME: setp.eq.b32 p, 0, 0;
    // CHECK-SAME: wgmma.mma_async
    // CHECK-SAME: wgmma.mma_async
    // CHECK-SAME: wgmma.mma_async
    // CHECK-NOT: wgmma.mma_async
    // CHECK-SAME: wgmma.commit_group.sync.aligned;
    // CHECK-SAME: "=f,{{[=f,]*}}=f,{{[lr]}},{{[lr]}}"
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,{{[=f,]*}}=f,0,1,2,{{[0-9,]*}},31"
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %v0, %v1 = tile.to_lanes %t : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
    %n0 = arith.truncf %v0 : vector<16xf32> to vector<16xbf16>
    %n1 = arith.truncf %v1 : vector<16xf32> to vector<16xbf16>
    %p = tile.from_lanes %n0, %n1 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    // The accumulator is tied; A is 16 registers, of which each instruction takes four.
    // CHECK: llvm.inline_asm {{.*}}.reg .pred p;
    // CHECK-SAME: setp.ne.b32 p, $81, 0;
    // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, {{[$0-9, ]*}}, $31}, {$64, $65, $66, $67}, db, p, 1, 1, 1;
    // CHECK-SAME: {$76, $77, $78, $79}, db, p, 1, 1, 1;
    // CHECK-SAME: "=f,{{[=f,]*}}=f,0,1,2,{{[0-9,]*}},31,r,r,
    %u = tile.mma %p, %a acc %t : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // Another one starts before it is awaited: one group may run on. A of rows that are its columns.
    // CHECK: llvm.inline_asm {{.*}}.reg .pred p;
    // CHECK-SAME: }, da, db, p, 1, 1, 1, 1;
    %w = tile.mma transpose %a, %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,{{[=f,]*}}=f,0,1,{{[0-9,]*}},31,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r"
    %u2 = tile.await %u : !tile.pending<vector<64x64xf32>>
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
    %w2 = tile.await %w : !tile.pending<vector<64x64xf32>>
    // CHECK: %[[LANE:.*]] = llvm.and %{{.*}}, %{{.*}} : i32
    // CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %[[LANE]]
    // CHECK: llvm.cond_br %[[FIRST]]
    // CHECK: nvvm.mbarrier.arrive
    tile.release %x : <vector<64x64xbf16>>
    %u0, %u1 = tile.to_lanes %u2 : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
    %b0 = arith.truncf %u0 : vector<16xf32> to vector<16xbf16>
    %b1 = arith.truncf %u1 : vector<16xf32> to vector<16xbf16>
    %b = tile.from_lanes %b0, %b1 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    // CHECK-COUNT-4: nvvm.stmatrix %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
    // CHECK-NOT: nvvm.stmatrix
    tile.acquire %o : <vector<64x64xbf16>>
    tile.write %b, %o : vector<64x64xbf16>, <vector<64x64xbf16>>
    tile.fence
    tile.commit %o : <vector<64x64xbf16>>
    // stmatrix has no elements of 32 bits: two columns at a time.
    // CHECK: nvvm.mbarrier.arrive
    // Threads of odd rows store groups of 8 columns in another order, so that four rows are in different banks.
    // CHECK-COUNT-32: and.b32 t, $3, $4; setp.ne.b32 p, t, 0; selp.f32 $0, $1, $2, p; }", "=f,f,f,r,n"
    // CHECK-COUNT-16: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
    // CHECK-NOT: vector<2xf32>, !llvm.ptr<3>
    %wide = tile.from_lanes %v0, %v1 : vector<16xf32>, vector<16xf32> -> vector<64x64xf32>
    tile.acquire %f : <vector<64x64xf32>>
    tile.write %wide, %f : vector<64x64xf32>, <vector<64x64xf32>>
    tile.fence
    tile.commit %f : <vector<64x64xf32>>
    // The maximum of a row, by four threads with neighbouring numbers.
    // CHECK: %[[M1:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[M0:.*]], %{{.*}}, %{{.*}} : f32 -> f32
    // CHECK: %[[X1:.*]] = llvm.intr.maximum(%[[M0]], %[[M1]])
    // CHECK: %[[M2:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[X1]]
    // CHECK: llvm.intr.maximum(%[[X1]], %[[M2]])
    %m0 = vector.extract %v0[0] : f32 from vector<16xf32>
    %m1 = vector.extract %v1[0] : f32 from vector<16xf32>
    %max0 = tile.combine #vector.kind<maximumf>, %m0 over [1, 2] : f32
    // Of the four, the first one writes, if the row is one of the tensor's: row 16 (t / 32) + t mod 32 / 4, and 8 more.
    // CHECK: %[[COPY:.*]] = llvm.and %{{.*}}, %[[THREE:.*]] : i32
    // CHECK: llvm.icmp "eq" %[[COPY]]
    // CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
    tile.put %max0 and(%m1 : f32), %y[%row] dim 0 : f32, memref<?xf32>
  }
  tile.role @load kind(issuer) first_warp(4) registers(24) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %tile = tile.work_tile : index
    %row = arith.muli %tile, %c64 : index
    tile.acquire %x : <vector<64x64xbf16>>
    %a = tile.load %xs[%row, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
    tile.commit %x, %a : <vector<64x64xbf16>>, vector<64x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(24) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %tile = tile.work_tile : index
    %row = arith.muli %tile, %c64 : index
    %a = tile.wait %o : <vector<64x64xbf16>> -> vector<64x64xbf16>
    tile.store %a, %os[%row, %c0] : vector<64x64xbf16>, memref<?x64xbf16>
    tile.release %o : <vector<64x64xbf16>>
    %b = tile.wait %f : <vector<64x64xf32>> -> vector<64x64xf32>
    tile.store %b, %fs[%row, %c0] : vector<64x64xf32>, memref<?x64xf32>
    tile.release %f : <vector<64x64xf32>>
  }
  tile.role @idle kind(idle) warps(2) first_warp(6) registers(24) {
  }
}

// The loop of two products: each pass starts two, awaits the first one while the second goes on, and then the second.
// LOOP-LABEL: llvm.func @chain
// LOOP: nvvm.setmaxregister increase 240
// LOOP: wgmma.mma_async.sync.aligned.m64n128k16
// LOOP: wgmma.wait_group.sync.aligned 0;
// LOOP-NOT: wgmma.wait_group
// LOOP: wgmma.mma_async.sync.aligned.m64n128k16
// LOOP-NOT: wgmma.wait_group
// LOOP: setp.ne.b32 p, ${{[0-9]+}}, 0;
// LOOP-SAME: wgmma.mma_async.sync.aligned.m64n64k16
// LOOP: wgmma.wait_group.sync.aligned 1;
// LOOP: wgmma.wait_group.sync.aligned 0;
// LOOP: wgmma.mma_async.sync.aligned.m64n64k16
// LOOP: wgmma.wait_group.sync.aligned 0;

// A turn is a named barrier of the threads of both roles: who hands it on arrives, who takes it waits.
// TURN-LABEL: llvm.func @turns
// TURN-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// TURN-DAG: %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// TURN-DAG: %[[ALL:.*]] = llvm.mlir.constant(256 : i32)
// TURN: nvvm.barrier id = %[[ONE]] number_of_threads = %[[ALL]]
// TURN: nvvm.barrier.arrive id = %[[TWO]] number_of_threads = %[[ALL]]
// TURN: nvvm.barrier id = %[[ONE]] number_of_threads = %[[ALL]]
// TURN: nvvm.barrier.arrive id = %[[ONE]] number_of_threads = %[[ALL]]
// TURN: nvvm.barrier id = %[[TWO]] number_of_threads = %[[ALL]]
// TURN: nvvm.barrier.arrive id = %[[ONE]] number_of_threads = %[[ALL]]

// -----

// Of a vector with a number for each column, a thread reads two of every eight, from column 2 (t mod 4) on. Where a later
// product has been awaited, an earlier one has ended: fewer are under way than have started since. Products of a sum
// write the same registers without a wait in between.
// CHECK-LABEL: llvm.func @columns
tile.kernel @columns(%xs: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                     %cs: memref<?xf32> {tile.name = "c", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 64>]} {
  %x = tile.channel "x" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(8192) empty(4) arrivals(4)> : <vector<64x64xbf16>>
  %c = tile.channel "c" smem stages(1) place<offset(8192) full(1) arrivals(1) bytes(256) empty(5) arrivals(128)> : <vector<64xf32>>
  tile.role @compute kind(matrix) first_warp(0) registers(240) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // CHECK: llvm.inline_asm {{.*}}wgmma.mma_async
    // CHECK: llvm.inline_asm {{.*}}wgmma.mma_async
    // CHECK: llvm.inline_asm {{.*}}setp.ne.b32 p, $66, 0;
    // CHECK-SAME: wgmma.mma_async
    // CHECK-SAME: "=f,{{[=f,]*}}=f,0,1,2,{{[0-9,]*}},31,r,r,r"
    // CHECK: llvm.inline_asm {{.*}}wgmma.mma_async
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;"
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;"
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.mma %a, %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %u = tile.mma transpose %a, %a onto %t : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %v = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %wu = tile.await %u : !tile.pending<vector<64x64xf32>>
    %ws = tile.await %s : !tile.pending<vector<64x64xf32>>
    %wv = tile.await %v : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: %[[ORIGIN:.*]] = llvm.mul %{{.*}}, %{{.*}} : i32
    // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = {{[0-9]+}} : i64} : !llvm.ptr<3> -> vector<2xf32>
    // CHECK-NOT: -> vector<2xf32>
    tile.wait %c : <vector<64xf32>>
    %r = tile.read %c all : <vector<64xf32>> -> vector<16xf32>
    tile.release %c : <vector<64xf32>>
  }
  tile.role @load kind(issuer) first_warp(4) registers(24) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %tile = tile.work_tile : index
    %row = arith.muli %tile, %c64 : index
    tile.acquire %x : <vector<64x64xbf16>>
    %a = tile.load %xs[%row, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
    tile.commit %x, %a : <vector<64x64xbf16>>, vector<64x64xbf16>
    tile.acquire %c : <vector<64xf32>>
    %b = tile.load %cs[%row] : memref<?xf32> -> vector<64xf32>
    tile.commit %c, %b : <vector<64xf32>>, vector<64xf32>
  }
  tile.role @idle kind(idle) warps(3) first_warp(5) registers(24) {
  }
}
