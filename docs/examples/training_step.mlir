// Attention in a training step: the forward pass, whose LSE the gradient needs, and the
// gradient for what the rest of the model sends back. 8 query heads share 2 key/value heads.
// It compiles to one manifest of four launches; out and the LSE stay where they are.
func.func @training_step(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>,
                         %v: tensor<?x?x2x128xbf16>, %dout: tensor<?x?x8x128xbf16>)
    -> (tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>,
        tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
      -> tensor<?x?x8x128xbf16>, tensor<?x8x?xf32>
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse)
    layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>,
      tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32>
      -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return %out, %dq, %dk, %dv : tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>,
                               tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
}
