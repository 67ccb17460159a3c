// Each kernel becomes a binary of its own; what no kernel uses stays, and what
// only kernels use goes.
//
// RUN: fa4-opt %s --nvvm-to-binary | FileCheck %s
// RUN: fa4-opt %s --nvvm-to-binary=chip=sm_90a | FileCheck %s --check-prefix=CHIP

// CHECK: module attributes {dlti.dl_spec
// CHECK-NOT: llvm.target_triple
// CHECK-NOT: addr_space = 3
// CHECK: llvm.func @host()
// CHECK: llvm.func @both
// CHECK: gpu.binary @fill  [#gpu.object<#nvvm.target<O = 1, chip = "sm_100a", features = "+ptx90">, kernels = <[#gpu.kernel_metadata<"fill", !llvm.func<void (ptr<1>, i32)>>]>
// CHECK-SAME: .visible .entry fill(
// CHECK-NOT: .entry copy
// CHECK-NOT: host
// CHECK: gpu.binary @copy
// CHECK-SAME: .extern .shared .align 16 .b8 memory[]
// CHECK-SAME: .visible .entry copy(
// CHECK-NOT: llvm.func @fill

// CHIP: #nvvm.target<O = 1, chip = "sm_90a"
// CHIP-SAME: .target sm_90a
module attributes {dlti.dl_spec = #dlti.dl_spec<index = 64 : i32>, llvm.target_triple = "nvptx64-nvidia-cuda"} {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.func @host() {
    llvm.return
  }
  llvm.func @both(%x: i32) -> i32 {
    %y = llvm.add %x, %x : i32
    llvm.return %y : i32
  }
  llvm.func @fill(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
    %y = llvm.call @both(%x) : (i32) -> i32
    llvm.store %y, %p : i32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @copy(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %s = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %x = llvm.load %s : !llvm.ptr<3> -> i32
    llvm.store %x, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}
