// The support matrix is printed from the legality code itself: each op gets a
// line that says whether it has a kernel, and the reason if not. A reason that
// differs from the pass's diagnostic would be a second, contradicting legality
// check.
//
// RUN: fa4-opt %s --attn-print-support -o %t | FileCheck --dump-input=never %s
// RUN: fa4-opt %s -o %t.before
// RUN: diff %t.before %t

// CHECK: sm_90a sm_100a sm_103a
// CHECK-NEXT: half (1) yes yes{{$}}
// CHECK-NEXT: single (1) (2) (2){{$}}
// CHECK-NEXT: other_single (1) (2) (2){{$}}
// CHECK-EMPTY:
// CHECK-NEXT: (1) targets without tensor memory have no kernel yet
// CHECK-NEXT: (2) elements of f32: only bf16 and f16
// CHECK-NOT: {{.}}
func.func @half(%x: tensor<1x64x1x64xf16>) -> tensor<1x64x1x64xf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16> -> tensor<1x64x1x64xf16>
  return %o : tensor<1x64x1x64xf16>
}
func.func @single(%x: tensor<1x64x1x64xf32>) -> tensor<1x64x1x64xf32> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x64xf32>, tensor<1x64x1x64xf32>, tensor<1x64x1x64xf32> -> tensor<1x64x1x64xf32>
  return %o : tensor<1x64x1x64xf32>
}
func.func @other_single(%x: tensor<1x64x1x96xf32>) -> tensor<1x64x1x96xf32> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x64x1x96xf32>, tensor<1x64x1x96xf32>, tensor<1x64x1x96xf32> -> tensor<1x64x1x96xf32>
  return %o : tensor<1x64x1x96xf32>
}
