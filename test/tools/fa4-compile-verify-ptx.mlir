// PTX is checked by ptxas where there is one, without being asked: a kernel that spills or needs a stack is refused as
// PTX as it is as a cubin. Where nobody has looked the report says so, and why.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
//
// The tests' environment leaves the check out; a user's does not.
// RUN: fa4-compile stack.mlir -o unchecked --report | FileCheck %s --check-prefix=UNWANTED
// UNWANTED: stack on sm_100a: {{[0-9]+}} bytes of PTX
// UNWANTED-NEXT: not checked for spills: --verify-ptx=false
// RUN: env -u FA4_VERIFY_PTX fa4-compile stack.mlir -o unchecked --verify-ptx=false --report | FileCheck %s --check-prefix=UNWANTED
// RUN: env -u FA4_VERIFY_PTX FA4_PTXAS=/nonexistent fa4-compile stack.mlir -o unchecked --report | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: not checked for spills: FA4_PTXAS is '/nonexistent', which is no executable file
// One that does not know the PTX or the chip yet has not looked either, and is no reason to refuse the kernel.
// RUN: chmod +x old-ptxas && env -u FA4_VERIFY_PTX FA4_PTXAS=%t/old-ptxas fa4-compile stack.mlir -o old --report | FileCheck %s --check-prefix=OLD
// OLD: not checked for spills: {{.*}}old-ptxas is too old
// RUN: ls old/stack.ptx
// Unless it was asked for.
// RUN: not fa4-compile stack.mlir --verify-ptx --ptxas=%t/old-ptxas -o refused 2>&1 | FileCheck %s --check-prefix=ASKED
// ASKED: error: {{.*}}old-ptxas -arch=sm_100a failed (exit status 255):
// ASKED-NEXT: Unsupported .version 8.6
//
// A ptxas, for one that reports a stack.
// RUN: chmod +x spilling-ptxas && env -u FA4_VERIFY_PTX FA4_PTXAS=%t/spilling-ptxas not fa4-compile stack.mlir -o refused 2>&1 | FileCheck %s --check-prefix=SPILLS
// SPILLS: stack.mlir:1:1: error: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
// RUN: not ls refused
// RUN: env -u FA4_VERIFY_PTX FA4_PTXAS=%t/spilling-ptxas fa4-compile stack.mlir --allow-spills -o allowed --report 2>&1 | FileCheck %s --check-prefix=ALLOWED
// ALLOWED: warning: 'stack' uses local memory
// ALLOWED: function registers
// Levels and LLVM IR are no PTX.
// RUN: env -u FA4_VERIFY_PTX FA4_PTXAS=%t/spilling-ptxas fa4-compile stack.mlir --emit=llvm -o -  | FileCheck %s --check-prefix=LLVM
// LLVM: define

//--- stack.mlir
llvm.func @stack(%p: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
  llvm.return
}

//--- old-ptxas
#!/bin/sh
echo "ptxas /tmp/x.ptx, line 8; fatal   : Unsupported .version 8.6; current version is '8.5'"
exit 255

//--- spilling-ptxas
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo cubin > "$2"
echo "ptxas info    : Compiling entry function 'stack' for 'sm_100a'"
echo "ptxas info    : Function properties for stack"
echo "    256 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads"
echo "ptxas info    : Used 32 registers, used 0 barriers"
