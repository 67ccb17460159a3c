// PTX is checked by ptxas where there is one, without being asked: a kernel that spills or needs a stack is refused as
// PTX as it is as a cubin. Where nobody has looked the report says so, and why.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// The tests' environment leaves the check out; a user's does not.
//
// $ fa4-compile stack.mlir -o unchecked --report
// stack on sm_100a: {{[0-9]+}} bytes of PTX
//   not checked for spills: --verify-ptx=false
// no modelled time of @stack: it does not say how it is launched
// $ env -u FA4_VERIFY_PTX fa4-compile stack.mlir -o unchecked --verify-ptx=false --report
// stack on sm_100a: {{[0-9]+}} bytes of PTX
//   not checked for spills: --verify-ptx=false
// no modelled time of @stack: it does not say how it is launched
// $ env -u FA4_VERIFY_PTX FA4_PTXAS=/nonexistent fa4-compile stack.mlir -o unchecked --report
// stack on sm_100a: 223 bytes of PTX
//   not checked for spills: FA4_PTXAS is '/nonexistent', which is no executable file
// no modelled time of @stack: it does not say how it is launched
//
// One that does not know the PTX or the chip yet has not looked either, and is no reason to refuse the kernel.
//
// $ chmod +x old-ptxas && env -u FA4_VERIFY_PTX FA4_PTXAS=old-ptxas fa4-compile stack.mlir -o old --report
// stack on sm_100a: 223 bytes of PTX
//   not checked for spills: {{.*}}old-ptxas is too old
// no modelled time of @stack: it does not say how it is launched
// $ ls old/stack.ptx
// ...
//
// Unless it was asked for.
//
// $ fa4-compile stack.mlir --verify-ptx --ptxas=old-ptxas -o refused
// stack.mlir:0:0: error: {{.*}}old-ptxas -arch=sm_100a failed (exit status 255):
// ptxas /tmp/x.ptx, line 8; fatal   : Unsupported .version 8.6; current version is '8.5'
// [1]
//
// A ptxas, for one that reports a stack.
//
// $ chmod +x spilling-ptxas && env -u FA4_VERIFY_PTX FA4_PTXAS=spilling-ptxas fa4-compile stack.mlir -o refused
// stack.mlir:1:1: error: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
// llvm.func @stack(%p: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
// ^
// [1]
// $ ls refused
// ...
// [2]
// $ env -u FA4_VERIFY_PTX FA4_PTXAS=spilling-ptxas fa4-compile stack.mlir --allow-spills -o allowed --report
// stack.mlir:1:1: warning: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
// ...
//   function                         registers barriers smem bytes stack spill stores spill loads
// ...
//
// Levels and LLVM IR are no PTX.
//
// $ env -u FA4_VERIFY_PTX FA4_PTXAS=spilling-ptxas fa4-compile stack.mlir --emit=llvm -o -
// ...
// define ptx_kernel void @stack(ptr addrspace(1) %0, i64 %1) #0 {
// ...

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
