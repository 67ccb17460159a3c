// Bad input and bad options of fa4-compile end with one message and a non-zero
// status, and leave no file behind: 1 for a fault in the input, 2 for a fault
// around it.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
//
// RUN: not fa4-compile missing.mlir -o out 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: fa4-compile: error: cannot open input file 'missing.mlir': No such file or directory
// RUN: not fa4-compile text.mlir -o out 2>&1 | FileCheck %s --check-prefix=TEXT --implicit-check-not=error:
// TEXT: text.mlir:1:1: error:
//
// RUN: not fa4-compile kernel.mlir -o out --emit=sass 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: fa4-compile: error: --emit: there is no level or artefact 'sass'
// RUN: not fa4-compile kernel.mlir -o out --from=sass 2>&1 | FileCheck %s --check-prefix=FROM
// FROM: fa4-compile: error: --from: there is no level 'sass'
// RUN: not fa4-compile kernel.mlir -o out --emit=schedule 2>&1 | FileCheck %s --check-prefix=PAST --implicit-check-not=error:
// PAST: error: is past the level 'schedule', which --emit asks for
// Options that no kernel can have, also where the pass that they are for does not run.
// RUN: not fa4-compile kernel.mlir -o out --rescale-threshold=inf 2>&1 | FileCheck %s --check-prefix=THRESHOLD -DGOT=inf
// RUN: not fa4-compile kernel.mlir -o out --rescale-threshold=nan 2>&1 | FileCheck %s --check-prefix=THRESHOLD -DGOT=nan
// RUN: not fa4-compile kernel.mlir -o out --rescale-threshold=-1 2>&1 | FileCheck %s --check-prefix=THRESHOLD -DGOT=-1
// THRESHOLD: fa4-compile: error: --rescale-threshold must be a finite number that is not negative, got [[GOT]]{{$}}
// RUN: not fa4-compile kernel.mlir -o out --exp-fraction=nan 2>&1 | FileCheck %s --check-prefix=FRACTION -DGOT=nan
// RUN: not fa4-compile kernel.mlir -o out --exp-fraction=-7 2>&1 | FileCheck %s --check-prefix=FRACTION -DGOT=-7
// RUN: not fa4-compile kernel.mlir -o out --exp-fraction=1.5 2>&1 | FileCheck %s --check-prefix=FRACTION -DGOT=1.5
// FRACTION: fa4-compile: error: --exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got [[GOT]]{{$}}
// A full disk behind standard output, which LLVM would call its own error.
// RUN: not fa4-compile kernel.mlir -o - 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL --implicit-check-not=LLVM
// FULL: fa4-compile: error: cannot write the output: No space left on device
// RUN: not fa4-compile kernel.mlir -o out --no-such-option 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: Unknown command line argument '--no-such-option'
// RUN: not fa4-compile kernel.mlir -o - --emit=ptx,llvm 2>&1 | FileCheck %s --check-prefix=DASH
// DASH: fa4-compile: error: -o - prints one text; --emit names something else
// RUN: not fa4-compile kernel.mlir -o out --llvm-opt-level=4 2>&1 | FileCheck %s --check-prefix=LEVEL --implicit-check-not=error:
// LEVEL: error: no optimisation level 4; the levels are 0 to 3
// RUN: not fa4-compile kernel.mlir -o out --llvm-passes=no-such-pass 2>&1 | FileCheck %s --check-prefix=PASSES --implicit-check-not=error:
// PASSES: error: LLVM passes: unknown pass name 'no-such-pass'
// RUN: not fa4-compile kernel.mlir -o out --chip=sm_1 2>&1 | FileCheck %s --check-prefix=CHIP --implicit-check-not=error:
// CHIP: error: the NVPTX back end knows no chip 'sm_1'
//
// RUN: not fa4-compile kernel.mlir -o out --emit=cubin --ptxas=/nonexistent 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: fa4-compile: error: '/nonexistent', given as ptxas, is no executable file
// RUN: env FA4_PTXAS=/nonexistent not fa4-compile kernel.mlir -o out --verify-ptx 2>&1 | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: fa4-compile: error: FA4_PTXAS is '/nonexistent', which is no executable file
// RUN: not fa4-compile kernel.mlir -o out --emit=cubin --ptxas=%t 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: given as ptxas, is no executable file
// PTX needs no ptxas.
// RUN: env FA4_PTXAS=/nonexistent fa4-compile kernel.mlir -o - | FileCheck %s --check-prefix=PTX
// PTX: .entry kernel
//
// RUN: not fa4-compile no-kernel.mlir -o out 2>&1 | FileCheck %s --check-prefix=NO-KERNEL --implicit-check-not=error:
// NO-KERNEL: error: no attention op, no tile.kernel and no kernel of the LLVM dialect, which is an llvm.func with a body and the attribute 'nvvm.kernel'
// Kernels of a module without a name are in a file each.
// RUN: fa4-compile two.mlir -o two && ls two/a.ptx two/b.ptx
// RUN: not fa4-compile two.mlir -o - 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: fa4-compile: error: -o - prints one text; there are several kernels
// RUN: sed 's/module/module @pair/' two.mlir | fa4-compile -o named && ls named/pair.ptx
// RUN: sed 's/module/module @"a b"/' two.mlir | not fa4-compile -o out 2>&1 | FileCheck %s --check-prefix=MODULE-NAME
// MODULE-NAME: error: 'a b' is no name for PTX, which has letters, digits, _ and $
// RUN: not fa4-compile name.mlir -o out 2>&1 | FileCheck %s --check-prefix=NAME --implicit-check-not=error:
// NAME: name.mlir:1:1: error: '../k' is no name for PTX, which has letters, digits, _ and $
// RUN: not fa4-compile triple.mlir -o out 2>&1 | FileCheck %s --check-prefix=TRIPLE --implicit-check-not=error:
// TRIPLE: error: target triple 'x86_64-unknown-linux-gnu' is not one of NVPTX
// RUN: not fa4-compile arith.mlir -o out 2>&1 | FileCheck %s --check-prefix=ARITH --implicit-check-not=error:
// ARITH: arith.mlir:2:8: error: cannot be converted to LLVM IR: {{.*}}arith.addi
//
// What LLVM reports, what makes it give up, and what its verifier finds.
// RUN: not fa4-compile log2.mlir -o out 2>&1 | FileCheck %s --check-prefix=LOG2 --implicit-check-not=error:
// LOG2: error: NVPTX back end: no libcall available for flog2
// RUN: not fa4-compile sin.mlir -o out 2>&1 | FileCheck %s --check-prefix=SIN --implicit-check-not=error:
// SIN: sin.mlir:1:1: error: NVPTX back end: Cannot select: f32 = fsin{{$}}
// RUN: not fa4-compile tcgen05.mlir --chip=sm_90a -o out 2>&1 | FileCheck %s --check-prefix=TCGEN05 --implicit-check-not=error:
// TCGEN05: error: NVPTX back end: Cannot select: intrinsic %llvm.nvvm.tcgen05.wait.ld
// RUN: not fa4-compile constraint.mlir -o out 2>&1 | FileCheck %s --check-prefix=CONSTRAINT --implicit-check-not=error:
// CONSTRAINT: error: NVPTX back end: unknown asm constraint 'z'
// RUN: not fa4-compile immediate.mlir -o out 2>&1 | FileCheck %s --check-prefix=IMMEDIATE --implicit-check-not=error:
// IMMEDIATE: error: invalid LLVM IR: immarg operand has non-immediate parameter
// RUN: not ls out
//
// Nothing of a set of files appears if one cannot be written.
// RUN: not fa4-compile kernel.mlir -o kernel.mlir 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// NO-FOLDER: fa4-compile: error: cannot write '{{.*}}kernel.mlir/kernel.ptx': Not a directory
// RUN: not fa4-compile kernel.mlir -o kernel.mlir/out 2>&1 | FileCheck %s --check-prefix=CREATE
// CREATE: fa4-compile: error: cannot create the folder 'kernel.mlir/out': Not a directory
// RUN: mkdir -p blocked/kernel.ptx
// RUN: not fa4-compile kernel.mlir --emit=llvm,ptx -o blocked 2>&1 | FileCheck %s --check-prefix=BLOCKED
// BLOCKED: fa4-compile: error: cannot write '{{.*}}kernel.ptx': Is a directory
// RUN: ls blocked | FileCheck %s --check-prefix=LEFT
// LEFT: {{^}}kernel.ptx{{$}}
// LEFT-NOT: {{.}}
//
// The two statuses.
// RUN: sh -c 'fa4-compile no-kernel.mlir -o out; test $? = 1'
// RUN: sh -c 'fa4-compile missing.mlir -o out; test $? = 2'
// RUN: sh -c 'fa4-compile --no-such-option; test $? = 2'
// RUN: sh -c 'fa4-compile kernel.mlir -o kernel.mlir; test $? = 2'

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
