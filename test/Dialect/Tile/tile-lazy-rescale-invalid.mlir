// A threshold with which probabilities or their sums could overflow is refused.
//
// The threshold is in the range in which nothing overflows: of f32 sums in every kernel, and of the type that
// probabilities are rounded to where there is an online softmax. NaN is in no range.
//
// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=-1}))' 2>&1 | FileCheck --dump-input=never %s -DGOT=-1
// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=nan}))' 2>&1 | FileCheck --dump-input=never %s -DGOT=nan
// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=inf}))' 2>&1 | FileCheck --dump-input=never %s -DGOT=inf
// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97.5}))' 2>&1 | FileCheck --dump-input=never %s -DGOT=97.5
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97}))' -o /dev/null
// CHECK: error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got [[GOT]]{{$}}
// CHECK-NOT: error:
//
// f16 has exponents of up to 15; bf16 has those of f32.
// RUN: sed 's/ELEMENT/f16/g' %S/Inputs/online-softmax.mlir > %t.f16
// RUN: sed 's/ELEMENT/bf16/g' %S/Inputs/online-softmax.mlir > %t.bf16
// RUN: fa4-opt %t.f16 --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=15}))' | FileCheck --dump-input=never %s --check-prefix=GOOD
// RUN: fa4-opt %t.bf16 --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97}))' | FileCheck --dump-input=never %s --check-prefix=GOOD
// GOOD: tile.rescale
// RUN: not fa4-opt %t.f16 --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=15.5}))' 2>&1 | FileCheck --dump-input=never %s --check-prefix=F16
// F16: error: tile-lazy-rescale: the threshold must be from 0 to 15, so that probabilities of up to 2^threshold can be rounded to f16; got 15.5{{$}}
// F16-NOT: error:

tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %i = tile.work_tile : index
}
