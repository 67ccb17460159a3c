// Causal grouped-query attention as FlashAttention defines it, with the LSE that
// the gradient needs: 32 query heads share 8 key/value heads. Batch size and
// lengths are known when the function is called.
func.func @causal_gqa(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                      %v: tensor<?x?x8x128xbf16>)
    -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
      -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
  return %out, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>
}
