// fa4-compile goes only as far as the outputs need: a level is written although
// a later pass would refuse what is in it.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile f.mlir --exp-fraction=1 --emit=tile,schedule -o out
// $ ls out
// f_kernel.schedule.mlir
// f_kernel.tile.mlir
// $ cat out/f_kernel.schedule.mlir
// ...
//   tile.kernel @f_kernel{{.*}}
// ...
//     tile.role @mma{{.*}}
// ...
//
// $ fa4-compile f.mlir --exp-fraction=1 --emit=tile,split-exp -o out/refused
// f.mlir:3:10: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 1
//   %out = attn.sdpa %q, %k, %v layout<bshd>
//          ^
// [1]
// $ fa4-compile f.mlir --exp-fraction=1 --emit=tile --report -o out/refused
// f.mlir:3:10: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 1
//   %out = attn.sdpa %q, %k, %v layout<bshd>
//          ^
// [1]
// $ test ! -e out/refused
//
// A file that is not of the level that it is said to be of.
//
// $ fa4-compile f.mlir --from=schedule --emit=allocate -o out/refused
// f.mlir:0:0: error: no tile.kernel, which a file of the level 'schedule' has
// [1]
// $ echo 'module {}' | fa4-compile - --emit=tile -o out/refused
// <stdin>:1:1: error: no attention op, no tile.kernel and no kernel of the LLVM dialect, which is an llvm.func with a body and the attribute 'nvvm.kernel'
// module {}
// ^
// [1]

//--- f.mlir
func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
