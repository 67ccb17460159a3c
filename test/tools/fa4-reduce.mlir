// fa4-reduce leaves the op that makes the file interesting and removes the one
// before it.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-reduce f.mlir --test="$S"/Inputs/has-window.sh
// module {
//   func.func @f({{.*}}
//     %out = attn.sdpa %arg0, %arg0, %arg0 layout<bshd> mask<window, left = 3, top_left> : {{.*}}
//     attn.sdpa %arg1, %arg1, %arg1 layout<bhsd> outs(%arg2 : {{.*}}
//     return %out : tensor<1x8x8x16xf16>
//   }
// }
//
// Where the script finds nothing in the file as it is, it is told so; what is wrong with candidates is not.
//
// $ printf '#!/bin/sh\nexit 1\n' > no && printf '#!/bin/sh\nexit 0\n' > yes && chmod +x no yes
// $ fa4-reduce f.mlir --test=./no -o out
// fa4-reduce: error: the original is not interesting: '{{.*}}no' ended with status 1
// [1]
// $ fa4-reduce f.mlir --test=./yes -o out

//--- f.mlir
func.func @f(%q: tensor<1x8x8x16xf16>, %x: memref<1x8x8x16xf16>, %o: memref<1x8x8x16xf16>) -> tensor<1x8x8x16xf16> {
  attn.sdpa %x, %x, %x layout<bhsd> outs(%o : memref<1x8x8x16xf16>) : memref<1x8x8x16xf16>, memref<1x8x8x16xf16>, memref<1x8x8x16xf16>
  %0 = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 3, top_left> : tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16> -> tensor<1x8x8x16xf16>
  attn.sdpa %x, %x, %x layout<bhsd> outs(%o : memref<1x8x8x16xf16>) : memref<1x8x8x16xf16>, memref<1x8x8x16xf16>, memref<1x8x8x16xf16>
  return %0 : tensor<1x8x8x16xf16>
}
