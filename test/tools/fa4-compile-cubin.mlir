// fa4-compile runs ptxas, reports registers and spills, and refuses what ptxas
// refuses with ptxas's first line.
//
// REQUIRES: ptxas
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile good.mlir --ptxas="$FA4_PTXAS" --emit=cubin -o out --report
// good on sm_100a: {{[0-9]+}} bytes of PTX
//   function                         registers barriers smem bytes stack spill stores spill loads
//   good                                    {{[1-9][0-9]*}}        1       1536     0            0           0
// no modelled time of @good: it does not say how it is launched
// $ ls out
// good.cubin
// $ llvm-readelf -h -S out/good.cubin
// ...
//   Machine:                           NVIDIA CUDA architecture
// ...
// {{.*}}.text.good{{.*}}
// ...
//
// $ fa4-compile good.mlir --chip=sm_103a --emit=cubin -o out
// $ fa4-compile good.mlir --ptxas="$FA4_PTXAS" --verify-ptx -o -
// ...
// .visible .entry good(
// ...
//
// Stack is refused, or warned of, and so are spills.
//
// $ fa4-compile stack.mlir --ptxas="$FA4_PTXAS" --verify-ptx -o refused
// stack.mlir:1:1: error: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// llvm.func @stack(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
// ^
// [1]
// $ test ! -e refused
// $ fa4-compile stack.mlir --ptxas="$FA4_PTXAS" --allow-spills --emit=cubin -o allowed
// stack.mlir:1:1: warning: 'stack' uses local memory on sm_100a: 256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// llvm.func @stack(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
// ^
// $ ls allowed/stack.cubin
// allowed/stack.cubin
// $ fa4-compile good.mlir --ptxas="$FA4_PTXAS" --emit=cubin --Xptxas=--maxrregcount=24 -o -
// fa4-compile: error: -o - prints one text; --emit names something else
// [2]
//
// What ptxas says without failing.
//
// $ fa4-compile extern.mlir --ptxas="$FA4_PTXAS" --verify-ptx -o - >/dev/null
// extern.mlir:0:0: warning: ptxas: Unresolved extern variable 'shared'{{.*}}
// $ fa4-compile ignored.mlir --ptxas="$FA4_PTXAS" --verify-ptx -o out
// ignored.mlir:0:0: warning: ptxas: (C7508) {{.*}}'setmaxnreg' ignored{{.*}}
//
// Errors of ptxas, and of its caller.
//
// $ fa4-compile unknown.mlir --ptxas="$FA4_PTXAS" --emit=ptx,cubin -o refused
// unknown.mlir:0:0: error: {{.*}} -arch=sm_100a failed (exit status {{.*}}
// ptxas <ptx>, line {{[0-9]+}}; error {{.*}}: Not a name of any known instruction: 'frobnicate'
// ...
// [1]
// $ test ! -e refused
// $ fa4-compile good.mlir --ptxas="$FA4_PTXAS" --Xptxas=--no-such-option --emit=cubin -o refused
// good.mlir:0:0: error: {{.*}} -arch=sm_100a failed (exit status {{.*}}
// {{.*}}Unknown option '{{-+}}no-such-option'{{.*}}
// [1]

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
