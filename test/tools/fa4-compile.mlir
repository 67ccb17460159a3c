// A kernel in the LLVM dialect goes through the whole tool: to PTX, which the
// simulator runs, and to the other outputs.
//
// RUN: rm -rf %t && fa4-compile %s -o %t/out
// RUN: ls %t/out | FileCheck %s --check-prefix=ONLY-PTX
// ONLY-PTX: {{^}}add_reversed.ptx{{$}}
// ONLY-PTX-NOT: {{.}}
//
// RUN: FileCheck %s --check-prefix=PTX < %t/out/add_reversed.ptx
// PTX: .version 8.6
// PTX: .target sm_100a
// PTX: .visible .entry add_reversed(
// PTX: .reqntid 128
// PTX: mbarrier.init.shared{{(::cta)?}}.b64
// PTX: mbarrier.try_wait.parity
// PTX: add{{(.rn)?}}.ftz.f32
//
// RUN: cp %S/Inputs/add_reversed.json %t/out
// RUN: fa4-sim %t/out/add_reversed.json n=256 --random --check --seeds 0:4 \
// RUN:   --output A=%t/A.npy --output B=%t/B.npy C=%t/C.npy
// RUN: python3 -c "import numpy, sys; a, b, c = (numpy.load(f).reshape(2, 128) for f in sys.argv[1:]); sys.exit(int((c != a + b[:, ::-1]).any()))" \
// RUN:   %t/A.npy %t/B.npy %t/C.npy
//
// The same bytes each time, to a file, to stdout, and from stdin.
// RUN: fa4-compile - -o - < %s | diff - %t/out/add_reversed.ptx
//
// Other chips and options. A function that says how it treats subnormal values is left alone.
// RUN: fa4-compile %s -o - --chip=sm_103a | FileCheck %s --check-prefix=SM103
// SM103: .version 8.8
// SM103: .target sm_103a
// RUN: fa4-compile %s -o - --keep-denormals | FileCheck %s --check-prefix=DENORMALS
// RUN: sed 's/attributes {nvvm.kernel/attributes {denormal_fp_math_f32 = "ieee", nvvm.kernel/' %s \
// RUN:   | fa4-compile -o - | FileCheck %s --check-prefix=DENORMALS
// DENORMALS: add{{(.rn)?}}.f32
//
// Other levels. What is printed of the LLVM dialect gives the same PTX.
// RUN: fa4-compile %s -o %t/levels --emit=llvm,nvvm,ptx,llvm --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// TIMING: LLVM optimisation
// RUN: ls %t/levels | FileCheck %s --check-prefix=LEVELS
// LEVELS: {{^}}add_reversed.ll{{$}}
// LEVELS-NEXT: {{^}}add_reversed.nvvm.mlir{{$}}
// LEVELS-NEXT: {{^}}add_reversed.ptx{{$}}
// LEVELS-NOT: {{.}}
// RUN: FileCheck %s --check-prefix=LLVM < %t/levels/add_reversed.ll
// LLVM: define ptx_kernel void @add_reversed
// LLVM: "denormal-fp-math-f32"="preserve-sign
// RUN: FileCheck %s --check-prefix=NVVM < %t/levels/add_reversed.nvvm.mlir
// NVVM-NOT: nvvm.mbarrier.try_wait.parity
// NVVM: llvm.inline_asm {{.*}}mbarrier.try_wait.parity
// RUN: fa4-compile %t/levels/add_reversed.nvvm.mlir -o - | diff - %t/out/add_reversed.ptx
//
// RUN: fa4-compile %s -o - --report 2>&1 >/dev/null | FileCheck %s --check-prefix=REPORT
// REPORT: add_reversed on sm_100a: {{[0-9]+}} bytes of PTX
//
// RUN: fa4-compile --version | FileCheck %s --check-prefix=VERSION
// VERSION: fa4-compile {{[0-9.]+}}, LLVM 22
// RUN: fa4-compile --help | FileCheck %s --check-prefix=HELP
// HELP: --emit=
// HELP-NOT: nvptx-short-ptr
// HELP: Exit status: 0

llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

llvm.func @add_reversed(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c127 = llvm.mlir.constant(127 : i32) : i32
  %c128 = llvm.mlir.constant(128 : i32) : i32
  %ticks = llvm.mlir.constant(1000000 : i32) : i32
  %values = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %barrier = llvm.getelementptr %values[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %first, ^init, ^begin
^init:
  nvvm.mbarrier.init %barrier, %c128 : !llvm.ptr<3>, i32
  llvm.br ^begin
^begin:
  nvvm.barrier0
  %base = llvm.mul %block, %c128 : i32
  %i = llvm.add %base, %tid : i32
  %opposite = llvm.sub %c127, %tid : i32
  %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %va = llvm.load %pa : !llvm.ptr<1> -> f32
  %vb = llvm.load %pb : !llvm.ptr<1> -> f32
  %mine = llvm.getelementptr %values[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %theirs = llvm.getelementptr %values[%opposite] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %vb, %mine : f32, !llvm.ptr<3>
  %token = nvvm.mbarrier.arrive %barrier : !llvm.ptr<3> -> i64
  nvvm.mbarrier.try_wait.parity %barrier, %c0, %ticks : !llvm.ptr<3>, i32, i32
  %vr = llvm.load %theirs : !llvm.ptr<3> -> f32
  %sum = llvm.fadd %va, %vr : f32
  llvm.store %sum, %pc : f32, !llvm.ptr<1>
  llvm.return
}
