// More sequences than a grid has CTAs along z: work tiles are numbered in one dimension, also those of the small kernels
// of a gradient, whose schedule would be `grid`. Only who asks for a grid is refused, by the kernel.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile g.mlir -o out --verify-ptx=false
// $ cat out/g_preprocess_kernel.json
// ...
//   "grid": [
//     "65536"
//   ],
// ...
// $ fa4-compile g.mlir -o out/none --schedule=grid --verify-ptx=false
// g.mlir:3:3: error: 'tile.kernel' op 65536, the number of CTAs along z of the grid, must be from 1 to 65535, got 65536
//   attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd>
//   ^
// [1]
//
// With dynamic sizes it is a condition of the schedule `grid`, and none where nobody asks for that.
//
// $ sed 's/65536x/?x/g' g.mlir | fa4-compile - -o out/any --verify-ptx=false
// $ cat out/any/g.json
// ...
//   "launches": [
// ...
// $ grep '65535' out/any/g.json
// [1]

//--- g.mlir
func.func @g(%q: memref<65536x16x1x64xbf16>, %l: memref<65536x1x16xf32>, %dq: memref<65536x16x1x64xbf16>,
             %dk: memref<65536x16x1x64xbf16>, %dv: memref<65536x16x1x64xbf16>) {
  attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd>
    outs(%dq, %dk, %dv : memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>)
    : memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>, memref<65536x16x1x64xbf16>,
      memref<65536x16x1x64xbf16>, memref<65536x1x16xf32>
  return
}
