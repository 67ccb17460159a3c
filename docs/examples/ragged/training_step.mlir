// A step of training on a ragged batch: sequences of different lengths stand behind each other in one dimension of tokens,
// causal, 8 heads on 2 key/value heads. %bounds says where each begins, and ends with the number of tokens.
func.func @training_step(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %dout: tensor<?x8x64xbf16>,
                         %bounds: tensor<?xi32>)
    -> (tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<thd> mask<causal, bottom_right> cu_seqlens(%bounds, %bounds : tensor<?xi32>, tensor<?xi32>)
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?x8x64xbf16>, tensor<8x?xf32>
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<thd> mask<causal, bottom_right>
      cu_seqlens(%bounds, %bounds : tensor<?xi32>, tensor<?xi32>)
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<8x?xf32>
      -> tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
  return %out, %dq, %dk, %dv : tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
}
