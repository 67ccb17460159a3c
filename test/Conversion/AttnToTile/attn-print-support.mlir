// The support matrix is printed from the legality code itself: each op gets a
// line that says whether it has a kernel, and the reason if not. A reason that
// differs from the pass's diagnostic would be a second, contradicting legality
// check.
//
// RUN: fa4-opt %s --attn-print-support -o %t | FileCheck --dump-input=never %s
// RUN: fa4-opt %s -o %t.before
// RUN: diff %t.before %t

// CHECK: sm_90a sm_100a sm_103a
// CHECK-NEXT: half yes yes yes{{$}}
// CHECK-NEXT: single (1) (1) (1){{$}}
// CHECK-NEXT: other_single (1) (1) (1){{$}}
// CHECK-NEXT: gradient yes yes yes{{$}}
// CHECK-NEXT: wide_gradient (2) (3) (3){{$}}
// CHECK-EMPTY:
// CHECK-NEXT: (1) elements of f32: only bf16 and f16
// CHECK-NEXT: (2) head dims 256 of q and k, 256 of v: the smallest tiles exceed the 216 registers of a thread for accumulators
// CHECK-NEXT: (3) head dims 256 of q and k, 256 of v: the smallest tiles exceed the 512 columns of tensor memory
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
func.func @gradient(%x: tensor<1x64x1x64xf16>, %l: tensor<1x1x64xf32>) -> (tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> : tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x1x64xf32> -> tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>
  return %dq, %dk, %dv : tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>, tensor<1x64x1x64xf16>
}
func.func @wide_gradient(%x: tensor<1x64x1x256xf16>, %l: tensor<1x1x64xf32>) -> (tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> : tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x1x64xf32> -> tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>
  return %dq, %dk, %dv : tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>
}
