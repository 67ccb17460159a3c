// A step of speculative decoding: 8 drafts of each sequence that are a tree. A draft sees the cache, itself, and the drafts
// that it follows, which a table says; the keys of all drafts are the last 8 of the sequence.
func.func @tree(%q: tensor<?x8x32x128xbf16>, %k: tensor<?x?x8x128xbf16>, %v: tensor<?x?x8x128xbf16>, %lengths: tensor<?xi32>,
                %follows: tensor<?x8x8xi32>) -> tensor<?x8x32x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> seqlens_k(%lengths : tensor<?xi32>)
      captures(%lengths, %follows : tensor<?xi32>, tensor<?x8x8xi32>)
    : tensor<?x8x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x8x32x128xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %n: tensor<?xi32>, %f: tensor<?x8x8xi32>) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %none = arith.constant 0 : i32
      %length = tensor.extract %n[%b] : tensor<?xi32>
      %end = arith.index_cast %length : i32 to index
      // Comparing a position with the length itself says which blocks have no draft.
      %behind = arith.addi %j, %c8 : index
      %is_cache = arith.cmpi slt, %behind, %end : index
      %draft = arith.subi %behind, %end : index
      %number = arith.maxsi %draft, %c0 : index
      %is_followed = tensor.extract %f[%b, %i, %number] : tensor<?x8x8xi32>
      %is_before = arith.cmpi ne, %is_followed, %none : i32
      %visible = arith.ori %is_cache, %is_before : i1
      attn.yield %visible : i1
    }
  return %out : tensor<?x8x32x128xbf16>
}
