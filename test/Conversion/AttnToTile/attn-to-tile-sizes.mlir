// A size that one operand has statically and another one dynamically is a condition of the kernel: a launch would read
// or write beyond the end of one of them. So is the length of a captured tensor, which is read at the query head.
//
// RUN: fa4-opt %s --attn-to-tile --split-input-file | FileCheck %s
// RUN: rm -rf %t && fa4-opt %s --split-input-file -o %t.mlir && sed '/^\/\/ -----/,$d' %t.mlir | fa4-compile - -o %t --verify-ptx=false
// RUN: not fa4-sim %t/capture_kernel.json B=1 Sq=8 Sk=8 Hq=2 Hkv=1 --random 2>&1 | FileCheck %s --check-prefix=SIM
// SIM: size Hq must be 4, as it is in another operand; this call has

// CHECK-LABEL: tile.kernel @capture_kernel(
// CHECK-SAME: tile.requires = [{condition = "Hq == 4", message = "size Hq must be 4, as it is in another operand"}, {condition = "Hkv == 0 ? Hq == 0 : Hq % Hkv == 0"
func.func @capture(%q: tensor<?x?x?x64xbf16>, %c: tensor<4xf32>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%c : tensor<4xf32>) : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<4xf32>) {
      %g = tensor.extract %t[%h] : tensor<4xf32>
      %r = arith.mulf %s, %g : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

// -----

// The small kernels of a gradient do not see all operands, but work on the same sizes.
// CHECK-LABEL: tile.kernel @gradient_preprocess_kernel(
// CHECK-SAME: tile.requires = [{condition = "B == 2", message = "size B must be 2, as it is in another operand"}
// CHECK-LABEL: tile.kernel @gradient_kernel(
func.func @gradient(%q: memref<2x?x4x64xbf16>, %k: memref<?x?x4x64xbf16>, %o: memref<?x?x4x64xbf16>, %l: memref<?x4x?xf32>,
                    %dq: memref<2x?x4x64xbf16>, %dk: memref<?x?x4x64xbf16>, %dv: memref<?x?x4x64xbf16>) {
  attn.sdpa_backward %q, %k, %k out(%o) dout(%o) lse(%l) layout<bshd>
    outs(%dq, %dk, %dv : memref<2x?x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>)
    : memref<2x?x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x?x4x64xbf16>, memref<?x4x?xf32>
  return
}
