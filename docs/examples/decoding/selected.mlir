// Attention to selected blocks: each block of 128 queries of a key/value head looks at up to 5 blocks of 64 keys.
func.func @selected(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x2x128xbf16>, %v: tensor<?x?x2x128xbf16>,
                    %blocks: tensor<?x2x?x5xi32>, %counts: tensor<?x2x?xi32>) -> tensor<?x?x4x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
      block_list(%blocks, %counts : tensor<?x2x?x5xi32>, tensor<?x2x?xi32>) block_size [128, 64]
    : tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16> -> tensor<?x?x4x128xbf16>
  return %out : tensor<?x?x4x128xbf16>
}
