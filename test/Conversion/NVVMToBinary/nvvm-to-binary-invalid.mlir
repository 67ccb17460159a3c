// RUN: fa4-opt %s --nvvm-to-binary=chip=sm_1 -split-input-file -verify-diagnostics
// RUN: not fa4-opt %s --nvvm-to-binary=format=elf 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not env FA4_PTXAS=/nowhere fa4-opt %s --nvvm-to-binary=format=cubin 2>&1 | FileCheck %s --check-prefix=PTXAS

// FORMAT: nvvm-to-binary: format must be ptx or cubin, got 'elf'
// PTXAS: nvvm-to-binary: {{.*}}/nowhere

// expected-error@below {{the NVPTX back end knows no chip 'sm_1'}}
module {
  llvm.func @fill(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
    llvm.store %x, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// The option is wrong without a kernel, too.
// expected-error@below {{the NVPTX back end knows no chip 'sm_1'}}
module {}
