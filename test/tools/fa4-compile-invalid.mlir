// Bad input and bad options of fa4-compile end with one message and a non-zero
// status, and leave no file behind: 1 for a fault in the input, 2 for a fault
// around it.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile missing.mlir -o out
// fa4-compile: error: cannot open input file 'missing.mlir': No such file or directory
// [2]
// $ fa4-compile text.mlir -o out
// text.mlir:1:1: error: custom op 'no' is unknown (tried 'builtin.no' as well)
// no module
// ^
// [1]
// $ fa4-compile kernel.mlir -o out --emit=sass
// fa4-compile: error: --emit: there is no level or artefact 'sass'; known: tile, {{.*}}, nvvm, llvm, ptx, cubin
// [2]
// $ fa4-compile kernel.mlir -o out --from=sass
// fa4-compile: error: --from: there is no level 'sass'; known: tile, {{.*}}, nvvm
// [2]
// $ fa4-compile kernel.mlir -o out --emit=schedule
// kernel.mlir:0:0: error: is past the level 'schedule', which --emit asks for
// [1]
//
// Options that no kernel can have, also where the pass that they are for does not run.
//
// $ fa4-compile kernel.mlir -o out --rescale-threshold=inf
// fa4-compile: error: --rescale-threshold must be a finite number that is not negative, got inf
// [2]
// $ fa4-compile kernel.mlir -o out --rescale-threshold=nan
// fa4-compile: error: --rescale-threshold must be a finite number that is not negative, got nan
// [2]
// $ fa4-compile kernel.mlir -o out --rescale-threshold=-1
// fa4-compile: error: --rescale-threshold must be a finite number that is not negative, got -1
// [2]
// $ fa4-compile kernel.mlir -o out --exp-fraction=nan
// fa4-compile: error: --exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got nan
// [2]
// $ fa4-compile kernel.mlir -o out --exp-fraction=-7
// fa4-compile: error: --exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got -7
// [2]
// $ fa4-compile kernel.mlir -o out --exp-fraction=1.5
// fa4-compile: error: --exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got 1.5
// [2]
//
// A full disk behind standard output, which LLVM would call its own error.
//
// $ fa4-compile kernel.mlir -o - 2>&1 >/dev/full
// fa4-compile: error: cannot write the output: No space left on device
// [2]
// $ fa4-compile kernel.mlir -o out --no-such-option
// fa4-compile: Unknown command line argument '--no-such-option'.  Try: 'fa4-compile --help'
// fa4-compile: Did you mean '--print-options'?
// [2]
// $ fa4-compile kernel.mlir -o - --emit=ptx,llvm
// fa4-compile: error: -o - prints one text; --emit names something else
// [2]
// $ fa4-compile kernel.mlir -o out --llvm-opt-level=4
// kernel.mlir:0:0: error: no optimisation level 4; the levels are 0 to 3
// [1]
// $ fa4-compile kernel.mlir -o out --llvm-passes=no-such-pass
// kernel.mlir:0:0: error: LLVM passes: unknown pass name 'no-such-pass'
// [1]
// $ fa4-compile kernel.mlir -o out --chip=sm_1
// kernel.mlir:0:0: error: the NVPTX back end knows no chip 'sm_1'
// [1]
// $ fa4-compile kernel.mlir -o out --emit=cubin --ptxas=/nonexistent
// fa4-compile: error: '/nonexistent', given as ptxas, is no executable file
// [2]
// $ env FA4_PTXAS=/nonexistent fa4-compile kernel.mlir -o out --verify-ptx
// fa4-compile: error: FA4_PTXAS is '/nonexistent', which is no executable file
// [2]
// $ fa4-compile kernel.mlir -o out --emit=cubin --ptxas=.
// fa4-compile: error: '.', given as ptxas, is no executable file
// [2]
//
// PTX needs no ptxas.
//
// $ env FA4_PTXAS=/nonexistent fa4-compile kernel.mlir -o -
// ...
// .visible .entry kernel()
// ...
// $ fa4-compile no-kernel.mlir -o out
// no-kernel.mlir:0:0: error: no attention op, no tile.kernel and no kernel of the LLVM dialect, which is an llvm.func with a body and the attribute 'nvvm.kernel'
// [1]
//
// Kernels of a module without a name are in a file each.
//
// $ fa4-compile two.mlir -o two && ls two/a.ptx two/b.ptx
// ...
// $ fa4-compile two.mlir -o -
// fa4-compile: error: -o - prints one text; there are several kernels
// [2]
// $ sed 's/module/module @pair/' two.mlir | fa4-compile -o named && ls named/pair.ptx
// ...
// $ sed 's/module/module @"a b"/' two.mlir | fa4-compile -o out
// <stdin>:1:1: error: 'a b' is no name for PTX, which has letters, digits, _ and $
// module @"a b" {
// ^
// [1]
// $ fa4-compile name.mlir -o out
// name.mlir:1:1: error: '../k' is no name for PTX, which has letters, digits, _ and $
// llvm.func @"../k"() attributes {nvvm.kernel} { llvm.return }
// ^
// [1]
// $ fa4-compile triple.mlir -o out
// triple.mlir:1:1: error: target triple 'x86_64-unknown-linux-gnu' is not one of NVPTX
// module attributes {llvm.target_triple = "x86_64-unknown-linux-gnu"} {
// ^
// [1]
// $ fa4-compile arith.mlir -o out
// arith.mlir:2:8: error: cannot be converted to LLVM IR: {{.*}}arith.addi
//   %s = arith.addi %a, %a : i32
//        ^
// [1]
//
// What LLVM reports, what makes it give up, and what its verifier finds.
//
// $ fa4-compile log2.mlir -o out
// log2.mlir:0:0: error: NVPTX back end: no libcall available for flog2
// [1]
// $ fa4-compile sin.mlir -o out
// sin.mlir:1:1: error: NVPTX back end: Cannot select: f32 = fsin
// llvm.func @k(%p: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
// ^
// [1]
// $ fa4-compile tcgen05.mlir --chip=sm_90a -o out
// tcgen05.mlir:0:0: error: NVPTX back end: Cannot select: intrinsic %llvm.nvvm.tcgen05.wait.ld
// [1]
// $ fa4-compile constraint.mlir -o out
// constraint.mlir:0:0: error: NVPTX back end: unknown asm constraint 'z'
// [1]
// $ fa4-compile immediate.mlir -o out
// immediate.mlir:0:0: error: invalid LLVM IR: immarg operand has non-immediate parameter
// i32 %0
//   %2 = call ptr @llvm.returnaddress(i32 %0)
// [1]
// $ ls out
// ...
// [2]
//
// Nothing of a set of files appears if one cannot be written.
//
// $ fa4-compile kernel.mlir -o kernel.mlir
// fa4-compile: error: cannot write '{{.*}}kernel.mlir/kernel.ptx': Not a directory
// [2]
// $ fa4-compile kernel.mlir -o kernel.mlir/out
// fa4-compile: error: cannot create the folder 'kernel.mlir/out': Not a directory
// [2]
// $ mkdir -p blocked/kernel.ptx
// $ fa4-compile kernel.mlir --emit=llvm,ptx -o blocked
// fa4-compile: error: cannot write '{{.*}}kernel.ptx': Is a directory
// [2]
// $ ls blocked
// kernel.ptx

//--- text.mlir
no module

//--- kernel.mlir
llvm.func @kernel() attributes {nvvm.kernel} { llvm.return }

//--- no-kernel.mlir
llvm.func @declared() attributes {nvvm.kernel}
llvm.func @device() { llvm.return }

//--- two.mlir
module {
  llvm.func @a() attributes {nvvm.kernel} { llvm.return }
  llvm.func @b() attributes {nvvm.kernel} { llvm.return }
}

//--- name.mlir
llvm.func @"../k"() attributes {nvvm.kernel} { llvm.return }

//--- triple.mlir
module attributes {llvm.target_triple = "x86_64-unknown-linux-gnu"} {
  llvm.func @k() attributes {nvvm.kernel} { llvm.return }
}

//--- arith.mlir
llvm.func @k(%p: !llvm.ptr<1>, %a: i32) attributes {nvvm.kernel} {
  %s = arith.addi %a, %a : i32
  llvm.store %s, %p : i32, !llvm.ptr<1>
  llvm.return
}

//--- log2.mlir
llvm.func @k(%p: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
  %w = llvm.intr.log2(%v) : (f32) -> f32
  llvm.store %w, %p : f32, !llvm.ptr<1>
  llvm.return
}

//--- sin.mlir
llvm.func @k(%p: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
  %w = llvm.intr.sin(%v) : (f32) -> f32
  llvm.store %w, %p : f32, !llvm.ptr<1>
  llvm.return
}

//--- tcgen05.mlir
llvm.func @k() attributes {nvvm.kernel} {
  nvvm.tcgen05.wait <load>
  llvm.return
}

//--- constraint.mlir
llvm.func @k(%a: f32) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "st $0;", "z" %a : (f32) -> ()
  llvm.return
}

//--- immediate.mlir
llvm.func @k(%i: i32) attributes {nvvm.kernel} {
  %c = llvm.call_intrinsic "llvm.returnaddress"(%i) : (i32) -> !llvm.ptr
  llvm.return
}
