// Two of the three kernels of this gradient cannot be run by pairs of CTAs, for the same
// reason: one error says it, once.
//
// RUN: not fa4-compile %s --pairs=on -o %t 2>&1 | FileCheck %s --implicit-check-not=error:
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
