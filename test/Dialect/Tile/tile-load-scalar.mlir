// A number that a kernel reads from global memory. Equal indices give equal numbers, so that
// upstream's passes may move and merge reads, each role reads for itself, and loops that it
// bounds make equally many passes in all roles.
//
// RUN: fa4-opt %s --split-input-file --canonicalize --cse --loop-invariant-code-motion --cse | FileCheck %s --dump-input=never
// RUN: fa4-opt %S/../../Pipelines/Inputs/packed-attention.mlir --attn-to-nvvm='from=tile to=warp-specialize schedule=grid' | FileCheck %s --dump-input=never --check-prefix=ROLES
// RUN: fa4-opt %S/../../Pipelines/Inputs/packed-attention.mlir --attn-to-nvvm='from=tile to=nvvm schedule=grid' | FileCheck %s --dump-input=never --check-prefix=NVVM

// One read in front of the loop; one that nobody uses is gone.
// CHECK-LABEL: tile.kernel @reads
// CHECK: %[[N:.*]] = tile.load_scalar %arg0[%{{.*}}] : memref<?xi32>
// CHECK-NOT: tile.load_scalar
// CHECK: scf.for
// CHECK-NOT: tile.load_scalar
tile.kernel @reads(%lengths: memref<?xi32> {tile.name = "lengths", tile.dims = ["B"]},
                   %x: memref<?x?xf32> {tile.name = "x", tile.dims = ["B", "N"]},
                   %y: memref<?x?xf32> {tile.name = "y", tile.dims = ["B", "N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %unused = tile.load_scalar %lengths[%c0] : memref<?xi32>
  %first = tile.load_scalar %lengths[%b] : memref<?xi32>
  %n = arith.index_cast %first : i32 to index
  scf.for %i = %c0 to %n step %c128 {
    %t = tile.load %x[%b, %i] : memref<?x?xf32> -> vector<128xf32>
    %again = tile.load_scalar %lengths[%b] : memref<?xi32>
    %number = arith.sitofp %again : i32 to f32
    %row = vector.broadcast %number : f32 to vector<128xf32>
    %u = arith.mulf %t, %row : vector<128xf32>
    tile.store %u, %y[%b, %i] : vector<128xf32>, memref<?x?xf32>
  }
}

// -----

// i64 and f32, and more dimensions than one.
// CHECK-LABEL: tile.kernel @types
// CHECK: tile.load_scalar %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x2xi64>
// CHECK: tile.load_scalar %{{.*}}[%{{.*}}] : memref<?xf32, strided<[2]>>
tile.kernel @types(%offsets: memref<?x2xi64> {tile.name = "offsets", tile.dims = ["B", "2"]},
                   %scales: memref<?xf32, strided<[2]>> {tile.name = "scales", tile.dims = ["B"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
  %b = tile.work_tile : index
  %c1 = arith.constant 1 : index
  %offset = tile.load_scalar %offsets[%b, %c1] : memref<?x2xi64>
  %at = arith.index_cast %offset : i64 to index
  %scale = tile.load_scalar %scales[%b] : memref<?xf32, strided<[2]>>
  %row = vector.broadcast %scale : f32 to vector<128xf32>
  tile.store %row, %y[%at] : vector<128xf32>, memref<?xf32>
}

// No channel but those of tiles: all roles that have the loop read the numbers of its sequence.
// ROLES-NOT: tile.channel {{.*}} : <i
// ROLES: tile.role @compute0
// ROLES-COUNT-2: tile.load_scalar
// ROLES: tile.role @compute1
// ROLES-COUNT-2: tile.load_scalar
// ROLES: tile.role @correction
// ROLES-COUNT-2: tile.load_scalar
// ROLES: tile.role @mma
// ROLES-COUNT-2: tile.load_scalar
// ROLES: tile.role @load
// ROLES-COUNT-2: tile.load_scalar
// ROLES: tile.role @store

// The index is checked without a sign, an element out of bounds is 0. The tensor does not
// change while the kernel runs.
// NVVM: %[[BATCH:.*]] = nvvm.read.ptx.sreg.ctaid.z : i32
// NVVM-NEXT: %[[BELOW:.*]] = llvm.icmp "ult" %[[BATCH]], %{{.*}} : i32
// NVVM: %[[WIDE:.*]] = llvm.sext %[[BATCH]] : i32 to i64
// NVVM: %[[PLACE:.*]] = llvm.getelementptr %[[FIRST:.*]][%[[WIDE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
// NVVM: %[[CHOSEN:.*]] = llvm.select %[[BELOW]], %[[PLACE]], %[[FIRST]] : i1, !llvm.ptr<1>
// NVVM: %[[READ:.*]] = llvm.load %[[CHOSEN]] invariant : !llvm.ptr<1> -> i32
// NVVM: llvm.select %[[BELOW]], %[[READ]], %{{.*}} : i1, i32
