// A step of decoding: one query of each sequence, 32 heads on 8 key/value heads, and a cache of keys and values with room
// for as many as it has rows, of which a sequence has as many as its length says.
func.func @step(%q: tensor<?x1x32x128xbf16>, %k: tensor<?x?x8x128xbf16>, %v: tensor<?x?x8x128xbf16>,
                %lengths: tensor<?xi32>) -> tensor<?x1x32x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> seqlens_k(%lengths : tensor<?xi32>)
    : tensor<?x1x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x1x32x128xbf16>
  return %out : tensor<?x1x32x128xbf16>
}
