// Options that the pipeline refuses are one error that says what is allowed, not LLVM's end of the process.
//
// RUN: not fa4-opt %s --attn-to-nvvm=to=bogus 2>&1 | FileCheck %s --check-prefix=LEVEL --implicit-check-not=LLVM
// RUN: not fa4-opt %s --attn-to-nvvm=from=bogus 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: attn-to-nvvm: there is no level 'bogus'; the levels are tile, subtile, {{.*}}, unroll, nvvm{{$}}
// RUN: not fa4-opt %s --attn-to-nvvm="from=unroll to=tile" 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: attn-to-nvvm: the level 'unroll' to start from comes after 'tile', the last one; the levels are tile, {{.*}}
// RUN: not fa4-opt %s --pass-pipeline="builtin.module(attn-to-nvvm{rescale-threshold=inf})" 2>&1 | FileCheck %s --check-prefix=THRESHOLD
// THRESHOLD: attn-to-nvvm: rescale-threshold must be a finite number that is not negative, got inf
// RUN: not fa4-opt %s --attn-to-nvvm=exp-fraction=-7 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: attn-to-nvvm: exp-fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed, got -7
//
// What depends on the kernel is the passes' error, on the op.
// RUN: not fa4-opt %s --attn-to-nvvm=rescale-threshold=20 2>&1 | FileCheck %s --check-prefix=F16 --implicit-check-not=error:
// RUN: not fa4-compile %s -o %t --rescale-threshold=1000 2>&1 | FileCheck %s --check-prefix=SUMS --implicit-check-not=error:
// F16: error: tile-lazy-rescale: the threshold must be from 0 to 15, so that probabilities of up to 2^threshold can be rounded to f16; got 20
// SUMS: error: tile-lazy-rescale: the threshold must be from 0 to 97,
// RUN: not fa4-opt %s --attn-to-nvvm=exp-fraction=0.76 2>&1 | FileCheck %s --check-prefix=SHARE --implicit-check-not=error:
// SHARE: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns, of which the last 32 stay on the special function unit; got 0.76
// RUN: fa4-opt %s --attn-to-nvvm="rescale-threshold=15 exp-fraction=0.75" -o /dev/null
// RUN: not ls %t

func.func @f(%q: tensor<1x?x1x64xf16>) -> tensor<1x?x1x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd>
    : tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16> -> tensor<1x?x1x64xf16>
  return %o : tensor<1x?x1x64xf16>
}
