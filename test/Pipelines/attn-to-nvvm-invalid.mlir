// Options that the pipeline refuses are one error that says what is allowed, not LLVM's end of the process.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-opt f.mlir --attn-to-nvvm=to=bogus
// <unknown>:0: error: attn-to-nvvm: there is no level 'bogus'; the levels are tile, subtile, {{.*}}, unroll, nvvm
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm=from=bogus
// <unknown>:0: error: attn-to-nvvm: there is no level 'bogus'; the levels are tile, subtile, {{.*}}, unroll, nvvm
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm="from=unroll to=tile"
// <unknown>:0: error: attn-to-nvvm: the level 'unroll' to start from comes after 'tile', the last one; the levels are tile, {{.*}}
// [1]
// $ fa4-opt f.mlir --pass-pipeline="builtin.module(attn-to-nvvm{rescale-threshold=inf})"
// <unknown>:0: error: attn-to-nvvm: rescale-threshold must be a finite number that is not negative, got inf
// failed to add `attn-to-nvvm` with options `rescale-threshold=inf`
// {{}}
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm=exp-fraction=-7
// <unknown>:0: error: attn-to-nvvm: exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got -7
// [1]
//
// What depends on the kernel is the passes' error, on the op.
//
// $ fa4-opt f.mlir --attn-to-nvvm=rescale-threshold=20
// f.mlir:2:8: error: tile-lazy-rescale: the threshold must be from 0 to 15, so that probabilities of up to 2^threshold can be rounded to f16; got 20
// ...
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm=rescale-threshold=20 2>&1 | grep -c error:
// 1
// $ fa4-compile f.mlir -o out --rescale-threshold=1000
// f.mlir:2:8: error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got 1000
//   %o = attn.sdpa %q, %q, %q layout<bshd>
//        ^
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm=exp-fraction=0.76
// f.mlir:2:8: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 0.76
//   %o = attn.sdpa %q, %q, %q layout<bshd>
//        ^
// {{.*}}
// [1]
// $ fa4-opt f.mlir --attn-to-nvvm="rescale-threshold=15 exp-fraction=0.75" -o /dev/null
// $ test ! -e out

//--- f.mlir
func.func @f(%q: tensor<1x?x1x64xf16>) -> tensor<1x?x1x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd>
    : tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16> -> tensor<1x?x1x64xf16>
  return %o : tensor<1x?x1x64xf16>
}
