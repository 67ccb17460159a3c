// A kernel in the LLVM dialect goes through the whole tool: to PTX, which the
// simulator runs, and to the other outputs.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ fa4-compile "$S"/fa4-compile.mlir -o out
// $ ls out
// add_reversed.ptx
//
// $ cat out/add_reversed.ptx
// ...
// .version 8.6
// .target sm_100a
// ...
// .visible .entry add_reversed(
// ...
// .reqntid 128{{.*}}
// ...
// 	mbarrier.init.shared{{(::cta)?}}.b64{{.*}}
// ...
// 	mbarrier.try_wait.parity{{.*}}
// ...
// 	add{{(.rn)?}}.ftz.f32{{.*}}
// ...
//
// $ cp "$S"/Inputs/add_reversed.json out
// $ fa4-sim out/add_reversed.json n=256 --random --check --seeds 0:4 --output A=out/A.npy --output B=out/B.npy C=out/C.npy
// ok: {{.*}} findings 0
// $ python3 -c "import numpy, sys; a, b, c = (numpy.load(f).reshape(2, 128) for f in sys.argv[1:]); sys.exit(int((c != a + b[:, ::-1]).any()))" out/A.npy out/B.npy out/C.npy
//
// The same bytes each time, to a file, to stdout, and from stdin.
//
// $ fa4-compile - -o - < "$S"/fa4-compile.mlir | diff - out/add_reversed.ptx
//
// Other chips and options. A function that says how it treats subnormal values is left alone.
//
// $ fa4-compile "$S"/fa4-compile.mlir -o - --chip=sm_103a
// ...
// .version 8.8
// .target sm_103a
// ...
// $ fa4-compile "$S"/fa4-compile.mlir -o - --keep-denormals
// ...
// 	add{{(.rn)?}}.f32{{.*}}
// ...
// $ sed 's/attributes {nvvm.kernel/attributes {denormal_fp_math_f32 = "ieee", nvvm.kernel/' "$S"/fa4-compile.mlir | fa4-compile -o -
// ...
// 	add{{(.rn)?}}.f32{{.*}}
// ...
//
// Other levels. What is printed of the LLVM dialect gives the same PTX.
//
// $ fa4-compile "$S"/fa4-compile.mlir -o out/levels --emit=llvm,nvvm,ptx,llvm --mlir-timing
// ...
// {{.*}}LLVM optimisation
// ...
// $ ls out/levels
// add_reversed.ll
// add_reversed.nvvm.mlir
// add_reversed.ptx
// $ cat out/levels/add_reversed.ll
// ...
// define ptx_kernel void @add_reversed{{.*}}
// ...
// {{.*}}"denormal-fp-math-f32"="preserve-sign{{.*}}
// ...
// $ cat out/levels/add_reversed.nvvm.mlir
// ...
//     llvm.inline_asm {{.*}}mbarrier.try_wait.parity{{.*}}
// ...
// $ grep 'nvvm\.mbarrier\.try_wait\.parity' out/levels/add_reversed.nvvm.mlir
// [1]
// $ fa4-compile out/levels/add_reversed.nvvm.mlir -o - | diff - out/add_reversed.ptx
//
// $ fa4-compile "$S"/fa4-compile.mlir -o - --report >/dev/null
// add_reversed on sm_100a: {{[0-9]+}} bytes of PTX
//   not checked for spills: --verify-ptx=false
// no modelled time of @add_reversed: it does not say how it is launched
//
// $ fa4-compile --version
// fa4-compile {{[0-9.]+}}, LLVM 22{{.*}}
// $ fa4-compile --help
// ...
//   --emit={{.*}}
// ...
// Exit status: 0{{.*}}
// ...
// $ fa4-compile --help 2>&1 | grep 'nvptx-short-ptr'
// [1]

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
