// The op that docs/cpu-path.md follows to a shared library: grouped-query
// attention (4 query heads share 2 key/value heads) with a tanh soft cap on the
// scores and a mask given as a function.
func.func @softcap(%q: tensor<2x128x4x64xf16>, %k: tensor<2x192x2x64xf16>,
                   %v: tensor<2x192x2x64xf16>, %cap: f32)
    -> tensor<2x128x4x64xf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> captures(%cap : f32)
    : tensor<2x128x4x64xf16>, tensor<2x192x2x64xf16>, tensor<2x192x2x64xf16>
      -> tensor<2x128x4x64xf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %x = arith.divf %s, %c : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %c : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: f32) {
      %visible = arith.cmpi sle, %j, %i : index
      attn.yield %visible : i1
    }
  return %out : tensor<2x128x4x64xf16>
}
