// fa4-reduce leaves the op that makes the file interesting and removes the one
// before it.
//
// RUN: fa4-reduce %s --test=%S/Inputs/has-window.sh | FileCheck %s
//
// Where the script finds nothing in the file as it is, it is told so; what is wrong with candidates is not.
// RUN: printf '#!/bin/sh\nexit 1\n' > %t.false && printf '#!/bin/sh\nexit 0\n' > %t.true && chmod +x %t.false %t.true
// RUN: not fa4-reduce %s --test=%t.false -o %t 2>&1 | FileCheck %s --check-prefix=BORING
// BORING: fa4-reduce: error: the original is not interesting: '{{.*}}false' ended with status 1
// RUN: fa4-reduce %s --test=%t.true -o %t 2>&1 | count 0

// The op that makes the file interesting is left, the one before it is not.
// CHECK: func @f
// CHECK-NOT: layout<bhsd>
// CHECK: attn.sdpa {{.*}} mask<window
func.func @f(%q: tensor<1x8x8x16xf16>, %x: memref<1x8x8x16xf16>, %o: memref<1x8x8x16xf16>) -> tensor<1x8x8x16xf16> {
  attn.sdpa %x, %x, %x layout<bhsd> outs(%o : memref<1x8x8x16xf16>) : memref<1x8x8x16xf16>, memref<1x8x8x16xf16>, memref<1x8x8x16xf16>
  %0 = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 3, top_left> : tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16> -> tensor<1x8x8x16xf16>
  attn.sdpa %x, %x, %x layout<bhsd> outs(%o : memref<1x8x8x16xf16>) : memref<1x8x8x16xf16>, memref<1x8x8x16xf16>, memref<1x8x8x16xf16>
  return %0 : tensor<1x8x8x16xf16>
}
