// More sequences than a grid has CTAs along z: work tiles are numbered in one dimension, also those of the small kernels
// of a gradient, whose schedule would be `grid`. Only who asks for a grid is refused, by the kernel.
//
// RUN: rm -rf %t && fa4-compile %s -o %t --verify-ptx=false
// RUN: FileCheck %s --input-file %t/g_preprocess_kernel.json
// CHECK: "grid": [
// CHECK-NEXT: "65536"
// CHECK-NEXT: ]
// RUN: not fa4-compile %s -o %t/none --schedule=grid --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: error: 'tile.kernel' op 65536, the number of CTAs along z of the grid, must be from 1 to 65535
//
// With dynamic sizes it is a condition of the schedule `grid`, and none where nobody asks for that.
// RUN: sed 's/65536x/?x/g' %s | fa4-compile - -o %t/any --verify-ptx=false
// RUN: cat %t/any/g.json | FileCheck %s --check-prefix=ANY --implicit-check-not=65535
// ANY: "launches"

func.func @g(%q: memref<65536x16x1x64xbf16>, %l: memref<65536x1x16xf32>, %dq: memref<65536x16x1x64xbf16>,
             %dk: memref<65536x16x1x64xbf16>, %dv: memref<65536x16x1x64xbf16>) {
  attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd>
    outs(%dq, %dk, %dv : memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>)
    : memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>,
      memref<65536x16x1x64xbf16>, memref<65536x1x16xf32>
  return
}
