// What a rank runs in a step of ring attention without a mask: %k and %v are the keys and values that came from another rank. The
// step's out is merged with that of other keys by the LSE. The gradient, which is a call of its own later, reads out and the LSE of
// all keys, %whole_out and %whole_lse, and its %dk and %dv travel on with the keys.
func.func @step(%q: tensor<?x?x4x64xbf16>, %k: tensor<?x?x2x64xbf16>, %v: tensor<?x?x2x64xbf16>, %whole_out: tensor<?x?x4x64xbf16>,
                %whole_lse: tensor<?x4x?xf32>, %dout: tensor<?x?x4x64xbf16>)
    -> (tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16> -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%whole_out) dout(%dout) lse(%whole_lse) layout<bshd>
    : tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
      -> tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>
  return %out, %lse, %dq, %dk, %dv
    : tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>
}
