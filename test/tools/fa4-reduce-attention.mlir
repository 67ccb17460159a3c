// fa4-reduce keeps of an attention op what the script asks for and what that
// needs, and removes the rest.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// Of the op there stays what the script asks for, and what that needs.
//
// $ fa4-reduce f.mlir --test "$S"/Inputs/has-sine.sh
// ...
//   func.func @f{{.*}}
//     %out = attn.sdpa{{.*}}
//       score_mod(%{{(?P<S>\w+)}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32) {
//         %{{(?P<SINE>\w+)}} = math.sin %{{(?P=S)}}{{.*}}
//         attn.yield %{{(?P=SINE)}}{{.*}}
// ...
// $ fa4-reduce f.mlir --test "$S"/Inputs/has-sine.sh | grep mask
// [1]
// $ fa4-reduce f.mlir --test "$S"/Inputs/has-sine.sh | grep scale
// [1]
//
// mlir-reduce's own way asks for a script that answers the other way round.
//
// $ printf '#!/bin/sh\nif grep -q math.sin "$1"; then exit 1; fi\n' > asks.sh && chmod +x asks.sh
// $ fa4-reduce f.mlir -reduction-tree="traversal-mode=0 test='./asks.sh'"
// ...
//   func.func @f{{.*}}
//     %out = attn.sdpa{{.*}}
//       score_mod(%{{(?P<S>\w+)}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32) {
//         %{{(?P<SINE>\w+)}} = math.sin %{{(?P=S)}}{{.*}}
//         attn.yield %{{(?P=SINE)}}{{.*}}
// ...
// $ fa4-reduce f.mlir -reduction-tree="traversal-mode=0 test='./asks.sh'" | grep mask
// [1]
// $ fa4-reduce f.mlir -reduction-tree="traversal-mode=0 test='./asks.sh'" | grep scale
// [1]
// $ fa4-reduce f.mlir --test=absent.sh
// fa4-reduce: error: --test: '{{.*}}absent.sh' is no program that can be run
// [1]
// $ fa4-reduce f.mlir --test
// fa4-reduce: error: --test needs a script
// [1]
// $ fa4-reduce --help
// ...
//   --test=SCRIPT  `SCRIPT FILE` ends with 0 while FILE is interesting, as with
// ...
//

//--- f.mlir
func.func @f(%q: tensor<1x8x8x16xf16>, %x: f32) -> tensor<1x8x8x16xf16> {
  %0 = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 3, top_left>
    scale(0.5) captures(%x : f32)
    : tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16>, tensor<1x8x8x16xf16> -> tensor<1x8x8x16xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %1 = arith.addf %s, %c : f32
      %2 = arith.mulf %1, %1 : f32
      %3 = math.sin %2 : f32
      %4 = math.tanh %3 : f32
      attn.yield %4 : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: f32) {
      %1 = arith.cmpi sle, %j, %i : index
      attn.yield %1 : i1
    }
  return %0 : tensor<1x8x8x16xf16>
}
