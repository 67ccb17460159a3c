// MLIR's options for IR between passes, and for reproducers, work on the passes of the levels; LLVM's verifier can be asked, too.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile f.mlir -o - --emit=subtile --mlir-print-ir-after=attn-to-tile >/dev/null
// // -----// IR Dump After AttnToTile{{.*}} (attn-to-tile) //----- //
// ...
//   tile.kernel @f_kernel{{.*}}
// ...
// $ fa4-compile f.mlir -o - --emit=subtile --mlir-print-ir-after=attn-to-tile 2>&1 >/dev/null | grep -c 'IR Dump'
// 1
//
// Passes of upstream's have names here, too: all those that run.
//
// $ fa4-compile f.mlir -o - --emit=llvm --mlir-print-ir-after=canonicalize,cse,convert-nvvm-to-llvm,reconcile-unrealized-casts >/dev/null
// // -----// IR Dump After {{.*}} (canonicalize) //----- //
// ...
// // -----// IR Dump After {{.*}} (cse) //----- //
// ...
// // -----// IR Dump After {{.*}} (convert-nvvm-to-llvm) //----- //
// ...
// // -----// IR Dump After {{.*}} (reconcile-unrealized-casts) //----- //
// ...
//
// $ fa4-compile f.mlir -o - --emit=tile --mlir-print-ir-tree-dir=tree --mlir-print-ir-after-all > /dev/null
// $ find tree -name '*attn-to-tile*'
// {{.*}}attn-to-tile.mlir
//
// What a pass refuses, fa4-opt refuses again.
//
// $ fa4-compile f.mlir -o - --exp-fraction=1 --mlir-pass-pipeline-crash-reproducer=again.mlir
// f.mlir:3:10: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 1
//   %out = attn.sdpa %q, %k, %v layout<bshd>
//          ^
// f.mlir:3:10: error: Failures have been detected while processing an MLIR pass pipeline
//   %out = attn.sdpa %q, %k, %v layout<bshd>
//          ^
// {{.*}}
// [1]
// $ fa4-opt --run-reproducer again.mlir
// again.mlir:{{[0-9]+:[0-9]+}}: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 1
// {{.*}}
// {{.*}}
// again.mlir:{{[0-9]+:[0-9]+}}: note: see current operation: {{.*}}
// [1]
// $ cat again.mlir
// ...
//   tile.kernel @f_kernel{{.*}}
// ...
//     mlir_reproducer: {
//       pipeline: "builtin.module({{.*}}tile-split-exp{{.*}}
// ...
//
// $ fa4-compile --help
// ...
// IR between passes:
// ...
//   --mlir-pass-pipeline-crash-reproducer={{.*}}
// ...
//   --mlir-print-ir-after-all                      - Print IR after each pass
// ...
//
// LLVM's verifier has nothing against a kernel.
//
// $ fa4-compile f.mlir -o - --verify-llvm > verified.ptx
// $ fa4-compile f.mlir -o - | diff - verified.ptx

//--- f.mlir
func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
