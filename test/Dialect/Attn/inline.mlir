// Functions with attention ops are inlined, with the regions of the ops.
//
// RUN: fa4-opt %s --inline | FileCheck %s

// CHECK-LABEL: func @caller
// CHECK-NOT: call
// CHECK: attn.sdpa
// CHECK: mask_mod
func.func private @callee(%q: tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16> -> tensor<1x8x2x64xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi ult, %h, %j : index
      attn.yield %c : i1
    }
  return %o : tensor<1x8x2x64xf16>
}
func.func @caller(%q: tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16> {
  %o = call @callee(%q) : (tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16>
  return %o : tensor<1x8x2x64xf16>
}
