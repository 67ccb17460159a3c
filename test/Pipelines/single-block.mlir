// With keys of one block no loop is left after canonicalisation; the passes
// must still find roles and channels.
//
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm=to=tile | FileCheck --dump-input=never %s
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm -o /dev/null

// CHECK-LABEL: tile.kernel @dim_64_kernel
// CHECK-NOT: scf.for
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: tile.mma %[[P]], %{{[0-9]+}} : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
func.func @dim_64(%q: memref<1x40x1x64xbf16>, %k: memref<1x50x1x64xbf16>, %o: memref<1x40x1x64xbf16>) {
  attn.sdpa %q, %k, %k layout<bshd> outs(%o : memref<1x40x1x64xbf16>)
    : memref<1x40x1x64xbf16>, memref<1x50x1x64xbf16>, memref<1x50x1x64xbf16>
  return
}

// -----

// Two query tiles; they used to need more tensor memory than there is.
// CHECK-LABEL: tile.kernel @dim_128_kernel
// CHECK-NOT: scf.for
func.func @dim_128(%q: memref<1x400x1x128xf16>, %k: memref<1x128x1x128xf16>, %o: memref<1x400x1x128xf16>) {
  attn.sdpa %q, %k, %k layout<bshd> outs(%o : memref<1x400x1x128xf16>)
    : memref<1x400x1x128xf16>, memref<1x128x1x128xf16>, memref<1x128x1x128xf16>
  return
}
