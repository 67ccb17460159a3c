// fa4-reduce keeps of an attention op what the script asks for and what that
// needs, and removes the rest.
//
// RUN: fa4-reduce %s --test %S/Inputs/has-sine.sh | FileCheck %s
// mlir-reduce's own way asks for a script that answers the other way round.
// RUN: rm -rf %t && mkdir %t
// RUN: printf '#!/bin/sh\nif grep -q math.sin "$1"; then exit 1; fi\n' > %t/asks.sh && chmod +x %t/asks.sh
// RUN: fa4-reduce %s -reduction-tree="traversal-mode=0 test='%t/asks.sh'" | FileCheck %s
// RUN: not fa4-reduce %s --test=%t/absent.sh 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not fa4-reduce %s --test 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: fa4-reduce --help | FileCheck %s --check-prefix=HELP
// ABSENT: fa4-reduce: error: --test: '{{.*}}absent.sh' is no program that can be run
// NONE: fa4-reduce: error: --test needs a script
// HELP: --test=SCRIPT  `SCRIPT FILE` ends with 0 while FILE is interesting, as with

// Of the op there stays what the script asks for, and what that needs.
// CHECK:      func @f
// CHECK:      attn.sdpa
// CHECK-NOT:  mask
// CHECK-NOT:  scale
// CHECK:      score_mod(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32)
// CHECK-NEXT: %[[SINE:.*]] = math.sin %[[S]]
// CHECK-NEXT: attn.yield %[[SINE]]
func.func @f(%q: tensor<1x8x8x16xf16>, %x: f32) -> tensor<1x8x8x16xf16> {
  %0 = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 3, top_left>
    scale(0.5) captures(%x : f32)
    : tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16> -> tensor<1x8x8x16xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %1 = arith.addf %s, %c : f32
      %2 = arith.mulf %1, %1 : f32
      %3 = math.sin %2 : f32
      %4 = math.tanh %3 : f32
      attn.yield %4 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: f32) {
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return %0 : tensor<1x8x8x16xf16>
}
