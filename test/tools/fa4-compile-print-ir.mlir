// MLIR's options for IR between passes, and for reproducers, work on the passes of the levels; LLVM's verifier can be asked, too.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-compile %s -o - --emit=subtile --mlir-print-ir-after=attn-to-tile 2>&1 >/dev/null | FileCheck %s --check-prefix=AFTER
// AFTER: IR Dump After AttnToTile{{.*}} (attn-to-tile)
// AFTER: tile.kernel @f_kernel
// AFTER-NOT: IR Dump
//
// Passes of upstream's have names here, too: all those that run.
// RUN: fa4-compile %s -o - --emit=llvm --mlir-print-ir-after=canonicalize,cse,convert-nvvm-to-llvm,reconcile-unrealized-casts 2>&1 >/dev/null | FileCheck %s --check-prefix=UPSTREAM
// UPSTREAM-DAG: IR Dump After {{.*}} (canonicalize)
// UPSTREAM-DAG: IR Dump After {{.*}} (cse)
// UPSTREAM-DAG: IR Dump After {{.*}} (convert-nvvm-to-llvm)
// UPSTREAM-DAG: IR Dump After {{.*}} (reconcile-unrealized-casts)
//
// RUN: fa4-compile %s -o - --emit=tile --mlir-print-ir-tree-dir=%t/tree --mlir-print-ir-after-all > /dev/null
// RUN: find %t/tree -name '*attn-to-tile*' | FileCheck %s --check-prefix=TREE
// TREE: attn-to-tile.mlir
//
// What a pass refuses, fa4-opt refuses again.
// RUN: not fa4-compile %s -o - --exp-fraction=1 --mlir-pass-pipeline-crash-reproducer=%t/again.mlir 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not fa4-opt --run-reproducer %t/again.mlir 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: FileCheck %s --check-prefix=AGAIN --input-file=%t/again.mlir
// REFUSED: error: tile-split-exp:
// AGAIN: tile.kernel @f_kernel
// AGAIN: mlir_reproducer: {
// AGAIN: pipeline: "builtin.module({{.*}}tile-split-exp
//
// RUN: fa4-compile --help | FileCheck %s --check-prefix=HELP
// HELP: IR between passes:
// HELP: --mlir-pass-pipeline-crash-reproducer=
// HELP: --mlir-print-ir-after-all

// LLVM's verifier has nothing against a kernel.
// RUN: fa4-compile %s -o - --verify-llvm > %t/verified.ptx
// RUN: fa4-compile %s -o - | diff - %t/verified.ptx

func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
