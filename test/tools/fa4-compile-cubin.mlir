// fa4-compile runs ptxas, reports registers and spills, and refuses what ptxas
// refuses with ptxas's first line.
//
// REQUIRES: ptxas
// RUN: rm -rf %t && split-file %s %t
//
// RUN: fa4-compile %t/good.mlir --ptxas=%ptxas --emit=cubin -o %t/out --report 2>&1 | FileCheck %s --check-prefix=REPORT
// REPORT: good on sm_100a: {{[0-9]+}} bytes of PTX
// REPORT-NEXT: function registers barriers smem bytes stack spill stores spill loads
// REPORT-NEXT: good {{[1-9][0-9]*}} 1 1536 0 0 0
// REPORT-NEXT: no modelled time of @good: it does not say how it is launched
// REPORT-NOT: {{.}}
// RUN: ls %t/out | FileCheck %s --check-prefix=FILES
// FILES: {{^}}good.cubin{{$}}
// FILES-NOT: {{.}}
// RUN: llvm-readelf -h -S %t/out/good.cubin | FileCheck %s --check-prefix=ELF
// ELF: Machine: NVIDIA CUDA architecture
// ELF: .text.good
//
// RUN: env FA4_PTXAS=%ptxas fa4-compile %t/good.mlir --chip=sm_103a --emit=cubin -o %t/out
// RUN: fa4-compile %t/good.mlir --ptxas=%ptxas --verify-ptx -o - | FileCheck %s --check-prefix=TEXT
// TEXT: .visible .entry good(
//
// Stack is refused, or warned of, and so are spills.
// RUN: not fa4-compile %t/stack.mlir --ptxas=%ptxas --verify-ptx -o %t/refused 2>&1 | FileCheck %s --check-prefix=STACK
// RUN: not ls %t/refused
// STACK: stack.mlir:1:1: error: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// RUN: fa4-compile %t/stack.mlir --ptxas=%ptxas --allow-spills --emit=cubin -o %t/allowed 2>&1 | FileCheck %s --check-prefix=ALLOWED
// RUN: ls %t/allowed/stack.cubin
// ALLOWED: warning: 'stack' uses local memory
// RUN: not fa4-compile %t/good.mlir --ptxas=%ptxas --emit=cubin --Xptxas=--maxrregcount=24 -o - 2>&1 | FileCheck %s --check-prefix=DASH
// DASH: error: -o - prints one text
//
// What ptxas says without failing.
// RUN: fa4-compile %t/extern.mlir --ptxas=%ptxas --verify-ptx -o - 2>&1 >/dev/null | FileCheck %s --check-prefix=EXTERN
// EXTERN: warning: ptxas: Unresolved extern variable 'shared'
// RUN: fa4-compile %t/ignored.mlir --ptxas=%ptxas --verify-ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=ADVISORY
// ADVISORY: warning: ptxas: (C7508) {{.*}}'setmaxnreg' ignored
//
// Errors of ptxas, and of its caller.
// RUN: not fa4-compile %t/unknown.mlir --ptxas=%ptxas --emit=ptx,cubin -o %t/refused 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ls %t/refused
// UNKNOWN: error: {{.*}} -arch=sm_100a failed (exit status
// UNKNOWN-NEXT: ptxas <ptx>, line {{[0-9]+}}; error : Not a name of any known instruction: 'frobnicate'
// RUN: not fa4-compile %t/good.mlir --ptxas=%ptxas --Xptxas=--no-such-option --emit=cubin -o %t/refused 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: Unknown option '{{-+}}no-such-option'

//--- good.mlir
llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<384 x f32> {
  %undef = llvm.mlir.undef : !llvm.array<384 x f32>
  llvm.return %undef : !llvm.array<384 x f32>
}
llvm.func @good(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %q = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %s = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %q : !llvm.ptr<1> -> f32
  llvm.store %v, %s : f32, !llvm.ptr<3>
  nvvm.barrier0
  %w = llvm.load %shared : !llvm.ptr<3> -> f32
  llvm.store %w, %q : f32, !llvm.ptr<1>
  llvm.return
}

//--- stack.mlir
llvm.func @stack(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
  %size = llvm.mlir.constant(64 : i32) : i32
  %a = llvm.alloca %size x i32 : (i32) -> !llvm.ptr
  %q = llvm.getelementptr %a[%n] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  llvm.store volatile %n, %q : i32, !llvm.ptr
  %v = llvm.load volatile %a : !llvm.ptr -> i32
  llvm.store %v, %p : i32, !llvm.ptr<1>
  llvm.return
}

//--- ignored.mlir
// Neither nvvm.reqntid with nvvm.minctasm nor nvvm.maxnreg.
llvm.func @ignored() attributes {nvvm.kernel} {
  nvvm.setmaxregister increase 200
  llvm.return
}

//--- extern.mlir
llvm.mlir.global external @shared() {addr_space = 3 : i32} : !llvm.array<4 x f32>
llvm.func @extern(%v: f32) attributes {nvvm.kernel} {
  %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
  llvm.store volatile %v, %shared : f32, !llvm.ptr<3>
  llvm.return
}

//--- unknown.mlir
llvm.func @unknown() attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "frobnicate.b32;", "" : () -> ()
  llvm.return
}
