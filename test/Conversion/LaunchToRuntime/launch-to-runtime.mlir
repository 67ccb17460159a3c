// The pass turns launches into calls of libfa4_runtime. It moves each allocation that a
// launch uses to the memory of the GPU, where the kernel can read it, and gives each
// function that launches something a stream as an argument.
//
// RUN: fa4-opt %s --launch-to-runtime | FileCheck %s
// RUN: fa4-opt %s --launch-to-runtime=stream=default | FileCheck %s --check-prefix=DEFAULT
// RUN: fa4-opt %s --launch-to-runtime --expand-strided-metadata --lower-affine --convert-scf-to-cf --convert-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// CHECK-DAG: llvm.func @fa4RuntimeHostLaunch(!llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-DAG: llvm.func @fa4RuntimeHostAllocate(i64, !llvm.ptr) -> !llvm.ptr
// CHECK-DAG: llvm.func @fa4RuntimeHostFree(!llvm.ptr, !llvm.ptr)
// CHECK-NOT: gpu.binary
// CHECK: llvm.mlir.global internal constant @copy_manifest("{}\00")
// CHECK: llvm.mlir.global internal constant @copy_image("code\00")
// CHECK: llvm.mlir.global internal constant @copy_arguments("x:f32:1,y:f32:1,factor:f32,n:i64,m:i32\00")
// CHECK: llvm.mlir.global internal @copy() {{.*}} : !llvm.struct<(i64, ptr, i64, ptr, i64, ptr, ptr)>
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-NEXT: llvm.insertvalue %[[BYTES]], %{{.*}}[4]
gpu.binary @copy [#gpu.object<#nvvm.target<chip = "sm_100a">,
  properties = {fa4.manifest = "{}", fa4.arguments = ["x", "y", "factor", "n", "m"]}, assembly = "code">]

// A name that the program has already is not taken.
// CHECK: llvm.mlir.global internal constant @other_manifest_
gpu.binary @other [#gpu.object<#nvvm.target<chip = "sm_100a">,
  properties = {fa4.manifest = "{ }", fa4.arguments = ["y"]}, assembly = "code">]
llvm.mlir.global internal constant @other_manifest("mine")

// A binary of somebody else's stays.
// CHECK: gpu.binary @foreign
gpu.binary @foreign [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "code">]

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: memref<?xf32, strided<[?], offset: ?>>, %[[N:.*]]: index, %[[FACTOR:.*]]: f32, %[[M:.*]]: i32, %[[STREAM:.*]]: !llvm.ptr) -> memref<?xf32>
// CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(9 : i64)
// CHECK: %[[VALUES:.*]] = llvm.alloca %[[EIGHT]] x i64
// CHECK: %[[Y:.*]] = llvm.call @fa4RuntimeHostAllocate(%{{.*}}, %[[STREAM]])
// CHECK: %[[YM:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<{{.*}}> to memref<?xf32>
// CHECK: scf.for
// CHECK: %{{.*}}, %[[OFFSET:.*]], %[[SIZE:.*]], %[[STRIDE:.*]] = memref.extract_strided_metadata %[[X]]
// CHECK: llvm.fpext %[[FACTOR]] : f32 to f64
// CHECK: llvm.sext %[[M]] : i32 to i64
// CHECK: llvm.call @fa4RuntimeHostLaunch(%{{.*}}, %[[VALUES]], %[[STREAM]])
// CHECK: return %[[YM]]
func.func @step(%x: memref<?xf32, strided<[?], offset: ?>>, %n: index, %factor: f32, %m: i32) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    tile.launch @copy ins(%x : memref<?xf32, strided<[?], offset: ?>>) outs(%y : memref<?xf32>) scalars(%factor, %n, %m : f32, index, i32)
  }
  return %y : memref<?xf32>
}

// What a function returns is freed by its caller, what nobody owns at the end of its
// block; memory that no launch uses is the host's.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[STREAM:[^:]*]]: !llvm.ptr)
// CHECK: %[[Y:.*]] = call @step({{.*}}, %[[STREAM]])
// CHECK: llvm.call @fa4RuntimeHostAllocate(%{{.*}}, %[[STREAM]])
// CHECK: %[[HOST:.*]] = memref.alloc() : memref<4xf32>
// CHECK: llvm.call @fa4RuntimeHostLaunch({{.*}}, %[[STREAM]])
// CHECK: memref.dealloc %[[HOST]]
// CHECK-COUNT-2: llvm.call @fa4RuntimeHostFree({{.*}}, %[[STREAM]])
// CHECK: return
func.func @twice(%x: memref<?xf32, strided<[?], offset: ?>>, %n: index, %factor: f32, %m: i32) {
  %y = func.call @step(%x, %n, %factor, %m) : (memref<?xf32, strided<[?], offset: ?>>, index, f32, i32) -> memref<?xf32>
  %t = memref.alloc() : memref<8x4xf32>
  %host = memref.alloc() : memref<4xf32>
  memref.store %factor, %host[%n] : memref<4xf32>
  %flat = memref.collapse_shape %t [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %cast = memref.cast %flat : memref<32xf32> to memref<?xf32>
  tile.launch @other outs(%cast : memref<?xf32>)
  memref.dealloc %host : memref<4xf32>
  memref.dealloc %y : memref<?xf32>
  return
}

// A callee launches what its caller has allocated; what it returns of that is not
// freed twice.
// CHECK-LABEL: func.func private @inner(
func.func private @inner(%x: memref<?xf32>) -> memref<?xf32> {
  tile.launch @other outs(%x : memref<?xf32>)
  return %x : memref<?xf32>
}
// CHECK-LABEL: func.func @outer(
// CHECK-NOT: memref.alloc
// CHECK: llvm.call @fa4RuntimeHostAllocate
// CHECK: call @inner
// CHECK-COUNT-1: llvm.call @fa4RuntimeHostFree
// CHECK-NOT: llvm.call @fa4RuntimeHostFree
// CHECK: return
func.func @outer(%n: index) {
  %x = memref.alloc(%n) : memref<?xf32>
  %y = call @inner(%x) : (memref<?xf32>) -> memref<?xf32>
  return
}

// A copy of the GPU's memory is one on the stream, and so is what a function does that
// only allocates or copies.
// CHECK-LABEL: func.func private @make(
// CHECK-SAME: %[[STREAM:[^:]*]]: !llvm.ptr) -> memref<8x4xf32>
// CHECK: llvm.call @fa4RuntimeHostAllocate(%{{.*}}, %[[STREAM]])
func.func private @make() -> memref<8x4xf32> {
  %x = memref.alloc() : memref<8x4xf32>
  return %x : memref<8x4xf32>
}
// CHECK-LABEL: func.func private @copied(
// CHECK-SAME: %[[FROM:.*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[TO:.*]]: memref<8x4xf32>, %[[STREAM:[^:]*]]: !llvm.ptr)
// CHECK: %[[VALUES:.*]] = llvm.alloca
// CHECK-DAG: memref.extract_strided_metadata %[[FROM]]
// CHECK-DAG: memref.extract_strided_metadata %[[TO]]
// CHECK-DAG: %[[RANK:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: llvm.call @fa4RuntimeHostCopy(%[[RANK]], %{{.*}}, %[[VALUES]], %[[STREAM]])
// CHECK-NOT: memref.copy
// CHECK: return
func.func private @copied(%from: memref<8x4xf32, strided<[?, 1], offset: ?>>, %to: memref<8x4xf32>) {
  memref.copy %from, %to : memref<8x4xf32, strided<[?, 1], offset: ?>> to memref<8x4xf32>
  return
}
// CHECK-LABEL: func.func @copies(
// CHECK-SAME: %[[STREAM:[^:]*]]: !llvm.ptr)
// CHECK: call @make(%[[STREAM]])
// CHECK: call @copied(%{{.*}}, %{{.*}}, %[[STREAM]])
func.func @copies(%from: memref<8x4xf32, strided<[?, 1], offset: ?>>) {
  %x = call @make() : () -> memref<8x4xf32>
  call @copied(%from, %x) : (memref<8x4xf32, strided<[?, 1], offset: ?>>, memref<8x4xf32>) -> ()
  %flat = memref.collapse_shape %x [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %cast = memref.cast %flat : memref<32xf32> to memref<?xf32>
  tile.launch @other outs(%cast : memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @neither(%{{.*}}: index) {
func.func @neither(%n: index) {
  return
}

// DEFAULT-LABEL: func.func @step({{.*}}: i32) -> memref<?xf32>
// DEFAULT: scf.for
// DEFAULT: %[[STREAM:.*]] = llvm.mlir.zero : !llvm.ptr
// DEFAULT: llvm.call @fa4RuntimeHostLaunch(%{{.*}}, %{{.*}}, %[[STREAM]])

// LLVM: @copy = internal global { i64, ptr, i64, ptr, i64, ptr, ptr } { i64 56, ptr @copy_manifest, i64 2, ptr @copy_image, i64 4, ptr @copy_arguments, ptr null }
// LLVM: call void @fa4RuntimeHostLaunch(ptr @copy
