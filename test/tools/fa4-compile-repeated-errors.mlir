// Two of the three kernels of this gradient cannot be run by pairs of CTAs: one error says it, once, with the reason that
// the first kernel has.
//
// RUN: split-file %s %t
// RUN: not fa4-compile %t/same.mlir --pairs=on -o %t/out 2>&1 | FileCheck %t/same.mlir --implicit-check-not=error:
// RUN: not fa4-compile %t/other.mlir --pairs=on -o %t/out 2>&1 | FileCheck %t/other.mlir --implicit-check-not=error:
//
//--- same.mlir
// CHECK: [[#@LINE+6]]:3: error: 'tile.kernel' op cannot be run by pairs of CTAs
// CHECK: note: 'tile.mma' has 144 columns; an MMA of a pair has a multiple of 32 up to 256
// CHECK-NOT: {{error|note}}:
func.func @gradient(%q: memref<?x?x?x144xbf16>, %k: memref<?x?x?x144xbf16>, %v: memref<?x?x?x96xbf16>,
                    %out: memref<?x?x?x96xbf16>, %dout: memref<?x?x?x96xbf16>, %lse: memref<?x?x?xf32>,
                    %dq: memref<?x?x?x144xbf16>, %dk: memref<?x?x?x144xbf16>, %dv: memref<?x?x?x96xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<?x?x?x144xbf16>, memref<?x?x?x144xbf16>, memref<?x?x?x96xbf16>)
    : memref<?x?x?x144xbf16>, memref<?x?x?x144xbf16>, memref<?x?x?x96xbf16>, memref<?x?x?x96xbf16>, memref<?x?x?x96xbf16>, memref<?x?x?xf32>
  return
}

// The notes of the two kernels differ.
//
//--- other.mlir
// CHECK: [[#@LINE+6]]:3: error: 'tile.kernel' op cannot be run by pairs of CTAs
// CHECK: note: 'tile.mma' has a B that may differ between the CTAs of a pair
// CHECK-NOT: {{error|note}}:
func.func @packed(%q: memref<?x?x64xbf16>, %k: memref<?x?x64xbf16>, %v: memref<?x?x64xbf16>, %out: memref<?x?x64xbf16>,
                  %dout: memref<?x?x64xbf16>, %lse: memref<?x?xf32>, %n: memref<?xi32>,
                  %dq: memref<?x?x64xbf16>, %dk: memref<?x?x64xbf16>, %dv: memref<?x?x64xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<thd> cu_seqlens(%n, %n : memref<?xi32>, memref<?xi32>)
    outs(%dq, %dk, %dv : memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>)
    : memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?xf32>
  return
}
