// A tree of draft tokens that one call verifies (speculative decoding): each
// token sees the context, its ancestors and itself. The ancestors are bits of
// a table, i32 of token and word: bit t % 32 of word t / 32 in the row of token
// i says that token t is on the way from the root to token i.
func.func @tree(%q: tensor<?x?x8x64xbf16>, %k: tensor<?x?x2x64xbf16>,
                %v: tensor<?x?x2x64xbf16>, %ancestors: tensor<?x?xi32>, %context: i32)
    -> tensor<?x?x8x64xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
      captures(%ancestors, %context : tensor<?x?xi32>, i32)
    : tensor<?x?x8x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x64xbf16>
      -> tensor<?x?x8x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %table: tensor<?x?xi32>, %keys: i32) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %first = arith.index_cast %keys : i32 to index
      %is_context = arith.cmpi slt, %j, %first : index
      // Which draft token a key is of; a key of the context asks for the first one's bit, which does not count.
      %behind = arith.subi %j, %first : index
      %token = arith.maxsi %behind, %c0 : index
      %word = arith.divui %token, %c32 : index
      %place = arith.remui %token, %c32 : index
      %bits = tensor.extract %table[%i, %word] : tensor<?x?xi32>
      %place_i32 = arith.index_cast %place : index to i32
      %moved = arith.shrui %bits, %place_i32 : i32
      %one = arith.constant 1 : i32
      %bit = arith.andi %moved, %one : i32
      %is_ancestor = arith.cmpi eq, %bit, %one : i32
      %visible = arith.ori %is_context, %is_ancestor : i1
      attn.yield %visible : i1
    }
  return %out : tensor<?x?x8x64xbf16>
}
