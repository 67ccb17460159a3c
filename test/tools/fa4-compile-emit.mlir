// fa4-compile goes only as far as the outputs need: a level is written although
// a later pass would refuse what is in it.
//
// RUN: rm -rf %t && fa4-compile %s --exp-fraction=1 --emit=tile,schedule -o %t
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// FILES: {{^}}f_kernel.schedule.mlir{{$}}
// FILES-NEXT: {{^}}f_kernel.tile.mlir{{$}}
// FILES-NOT: {{.}}
// RUN: FileCheck %s < %t/f_kernel.schedule.mlir
// CHECK: tile.kernel @f_kernel
// CHECK: tile.role @mma
//
// RUN: not fa4-compile %s --exp-fraction=1 --emit=tile,split-exp -o %t/refused 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not fa4-compile %s --exp-fraction=1 --emit=tile --report -o %t/refused 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not ls %t/refused
// REFUSED: error: tile-split-exp: the fraction must be from 0 to 0.75 in rows of 128 columns
//
// A file that is not of the level that it is said to be of.
// RUN: not fa4-compile %s --from=schedule --emit=allocate -o %t/refused 2>&1 | FileCheck %s --check-prefix=FROM
// FROM: error: no tile.kernel, which a file of the level 'schedule' has
// RUN: echo 'module {}' | not fa4-compile - --emit=tile -o %t/refused 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: no attention op, no tile.kernel and no kernel of the LLVM dialect, which is an llvm.func with a body and the attribute 'nvvm.kernel'

func.func @f(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x4x128xbf16>, %v: tensor<?x?x4x128xbf16>)
    -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
