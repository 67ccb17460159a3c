// A cubin is an ELF file, made by ptxas.
//
// REQUIRES: ptxas
// RUN: fa4-opt %s --nvvm-to-binary=format=cubin | FileCheck %s
// CHECK: gpu.binary @fill  [#gpu.object<#nvvm.target<O = 1, chip = "sm_100a", {{.*}}, bin = "\7FELF
llvm.func @fill(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
  llvm.store %x, %p : i32, !llvm.ptr<1>
  llvm.return
}
