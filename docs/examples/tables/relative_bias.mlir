// A learned bias by head and distance, as T5 has it: distances share a number
// from 16 on by powers of 2, and the last one of 32 from 128 on. The table is
// read at a bucket that each thread computes.
func.func @relative_bias(%q: tensor<?x?x8x64xbf16>, %k: tensor<?x?x8x64xbf16>,
                         %v: tensor<?x?x8x64xbf16>, %table: tensor<8x32xf32>)
    -> tensor<?x?x8x64xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> scale(1.0)
      captures(%table : tensor<8x32xf32>)
    : tensor<?x?x8x64xbf16>, tensor<?x?x8x64xbf16>, tensor<?x?x8x64xbf16>
      -> tensor<?x?x8x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<8x32xf32>) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c31 = arith.constant 31 : index
      %distance = arith.subi %i, %j : index
      %back = arith.maxsi %distance, %c0 : index
      %as_i32 = arith.index_cast %back : index to i32
      %as_f32 = arith.sitofp %as_i32 : i32 to f32
      %sixteenth = arith.constant 0.0625 : f32
      %ratio = arith.mulf %as_f32, %sixteenth : f32
      %one = arith.constant 1.0 : f32
      %at_least = arith.maximumf %ratio, %one : f32
      // 16 buckets for the three powers of 2 from 16 to 128.
      %power = math.log2 %at_least : f32
      %buckets = arith.constant 5.33333349 : f32
      %step = arith.mulf %power, %buckets : f32
      %step_i32 = arith.fptosi %step : f32 to i32
      %step_index = arith.index_cast %step_i32 : i32 to index
      %beyond = arith.addi %step_index, %c16 : index
      %far = arith.minsi %beyond, %c31 : index
      %is_near = arith.cmpi slt, %back, %c16 : index
      %bucket = arith.select %is_near, %back, %far : index
      %bias = tensor.extract %t[%h, %bucket] : tensor<8x32xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
  return %out : tensor<?x?x8x64xbf16>
}
