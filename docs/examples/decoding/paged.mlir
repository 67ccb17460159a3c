// A step of decoding with a cache in pages of 16 keys, as vLLM has it by default: one query of each sequence, 32 heads on 8
// key/value heads. The table has the pages of each sequence, of which those behind its length are not looked at.
func.func @paged(%q: tensor<?x1x32x128xbf16>, %k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>,
                 %lengths: tensor<?xi32>, %page_table: tensor<?x?xi32>) -> tensor<?x1x32x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> seqlens_k(%lengths : tensor<?xi32>) page_table(%page_table : tensor<?x?xi32>)
    : tensor<?x1x32x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16> -> tensor<?x1x32x128xbf16>
  return %out : tensor<?x1x32x128xbf16>
}
