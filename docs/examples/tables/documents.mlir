// Sequences that stand behind each other in a batch: a query sees the keys of
// its own document, up to itself. Which document a token is of is a table,
// i32 of batch and token, that each thread reads for its rows and columns.
func.func @documents(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>,
                     %v: tensor<?x?x2x128xbf16>, %document: tensor<?x?xi32>)
    -> tensor<?x?x8x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, top_left>
      captures(%document : tensor<?x?xi32>)
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
      -> tensor<?x?x8x128xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %of_query = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %of_key = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %of_query, %of_key : i32
      attn.yield %same : i1
    }
  return %out : tensor<?x?x8x128xbf16>
}
