// One function a combination of what attn.sdpa can say: docs/support-matrix.md
// shows for which targets each has a kernel.

func.func @head_dim_32(%q: tensor<?x?x?x32xbf16>, %k: tensor<?x?x?x32xbf16>, %v: tensor<?x?x?x32xbf16>)
    -> (tensor<?x?x?x32xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16>, tensor<?x?x?x32xbf16> -> tensor<?x?x?x32xbf16>
  return %o : tensor<?x?x?x32xbf16>
}

func.func @head_dim_64(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}

func.func @head_dim_96(%q: tensor<?x?x?x96xbf16>, %k: tensor<?x?x?x96xbf16>, %v: tensor<?x?x?x96xbf16>)
    -> (tensor<?x?x?x96xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16> -> tensor<?x?x?x96xbf16>
  return %o : tensor<?x?x?x96xbf16>
}

func.func @head_dim_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @head_dim_192(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x192xbf16>)
    -> (tensor<?x?x?x192xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16> -> tensor<?x?x?x192xbf16>
  return %o : tensor<?x?x?x192xbf16>
}

func.func @head_dim_256(%q: tensor<?x?x?x256xbf16>, %k: tensor<?x?x?x256xbf16>, %v: tensor<?x?x?x256xbf16>)
    -> (tensor<?x?x?x256xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16> -> tensor<?x?x?x256xbf16>
  return %o : tensor<?x?x?x256xbf16>
}

func.func @head_dims_192_128(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @f16(%q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>)
    -> (tensor<?x?x?x128xf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16> -> tensor<?x?x?x128xf16>
  return %o : tensor<?x?x?x128xf16>
}

func.func @f32(%q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x128xf32>, %v: tensor<?x?x?x128xf32>)
    -> (tensor<?x?x?x128xf32>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xf32>, tensor<?x?x?x128xf32>, tensor<?x?x?x128xf32> -> tensor<?x?x?x128xf32>
  return %o : tensor<?x?x?x128xf32>
}

func.func @fp8_e4m3(%q: tensor<?x?x?x128xf8E4M3FN>, %k: tensor<?x?x?x128xf8E4M3FN>, %v: tensor<?x?x?x128xf8E4M3FN>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E4M3FN> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @fp8_e5m2(%q: tensor<?x?x?x128xf8E5M2>, %k: tensor<?x?x?x128xf8E5M2>, %v: tensor<?x?x?x128xf8E5M2>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xf8E5M2>, tensor<?x?x?x128xf8E5M2>, tensor<?x?x?x128xf8E5M2> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @out_f32(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xf32>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xf32>
  return %o : tensor<?x?x?x128xf32>
}

func.func @bhsd(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bhsd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @sbhd(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<sbhd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @thd(%q: tensor<?x?x128xbf16>, %k: tensor<?x?x128xbf16>, %v: tensor<?x?x128xbf16>, %cq: tensor<?xi32>, %ck: tensor<?xi32>)
    -> (tensor<?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<thd> cu_seqlens(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
    : tensor<?x?x128xbf16>, tensor<?x?x128xbf16>, tensor<?x?x128xbf16> -> tensor<?x?x128xbf16>
  return %o : tensor<?x?x128xbf16>
}

func.func @htd(%q: tensor<?x?x128xbf16>, %k: tensor<?x?x128xbf16>, %v: tensor<?x?x128xbf16>, %cq: tensor<?xi32>, %ck: tensor<?xi32>)
    -> (tensor<?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<htd> cu_seqlens(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
    : tensor<?x?x128xbf16>, tensor<?x?x128xbf16>, tensor<?x?x128xbf16> -> tensor<?x?x128xbf16>
  return %o : tensor<?x?x128xbf16>
}

func.func @lse(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @causal_top_left(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, top_left>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @causal_bottom_right(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> mask<window, left = 256, right = 128, bottom_right>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @causal_window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, left = 1024, bottom_right>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @seqlens_k(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %n: tensor<?xi32>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> seqlens_k(%n : tensor<?xi32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @page_table(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x16x?x128xbf16>, %v: tensor<?x16x?x128xbf16>, %l: tensor<?xi32>,
                      %pages: tensor<?x?xi32>) -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> seqlens_k(%l : tensor<?xi32>) page_table(%pages : tensor<?x?xi32>)
    : tensor<?x?x?x128xbf16>, tensor<?x16x?x128xbf16>, tensor<?x16x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @page_table_thd(%q: tensor<?x?x128xbf16>, %k: tensor<?x16x?x128xbf16>, %v: tensor<?x16x?x128xbf16>, %bounds: tensor<?xi32>,
                          %pages: tensor<?x?xi32>) -> (tensor<?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<thd> cu_seqlens(%bounds : tensor<?xi32>) page_table(%pages : tensor<?x?xi32>)
    : tensor<?x?x128xbf16>, tensor<?x16x?x128xbf16>, tensor<?x16x?x128xbf16> -> tensor<?x?x128xbf16>
  return %o : tensor<?x?x128xbf16>
}

func.func @block_list(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %blocks: tensor<?x?x?x?xi32>,
                      %counts: tensor<?x?x?xi32>) -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
      block_list(%blocks, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 64]
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @sinks(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %s: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> sinks(%s : tensor<?xf32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

func.func @score_mod(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %cap: f32)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> captures(%cap : f32)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %x = arith.divf %s, %c : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %c : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x128xbf16>
}

func.func @mask_mod(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %size: i32)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> captures(%size : i32)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index, %n: i32) {
      %ii = arith.index_cast %i : index to i32
      %ji = arith.index_cast %j : index to i32
      %bi = arith.divui %ii, %n : i32
      %bj = arith.divui %ji, %n : i32
      %same = arith.cmpi eq, %bi, %bj : i32
      attn.yield %same : i1
    }
  return %o : tensor<?x?x?x128xbf16>
}

func.func @captured_tensor(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %slopes: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> captures(%slopes : tensor<?xf32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %r = arith.addf %s, %slope : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x128xbf16>
}

func.func @captured_table(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %table: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd> captures(%table : tensor<?xf32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %bias = tensor.extract %t[%j] : tensor<?xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x128xbf16>
}

func.func @branch_in_mod(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>) {
  %o = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi slt, %i, %j : index
      %r = scf.if %c -> (f32) {
        scf.yield %s : f32
      } else {
        %n = arith.negf %s : f32
        scf.yield %n : f32
      }
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x128xbf16>
}

func.func @gradient(%x: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_score_mod(%q: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %cap: f32)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd> captures(%cap : f32)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
      %x = arith.divf %s, %c : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %c : f32
      attn.yield %r : f32
    }
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_mask_mod(%q: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %r = arith.cmpi ult, %j, %i : index
      attn.yield %r : i1
    }
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_block_list(%x: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %blocks: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>,
                               %queries: tensor<?x?x?x?xi32>, %query_counts: tensor<?x?x?xi32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
      block_list(%blocks, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>)
      query_list(%queries, %query_counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 128]
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>,
      tensor<?x?x?xf32> -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_seqlens_k(%x: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %n: tensor<?xi32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> seqlens_k(%n : tensor<?xi32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_sinks(%q: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %sinks: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) {
  %dq, %dk, %dv, %dsinks = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd> sinks(%sinks : tensor<?xf32>)
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>
  return %dq, %dk, %dv, %dsinks : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>
}

func.func @gradient_captures(%q: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>, %slopes: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) {
  %dq, %dk, %dv, %dslopes = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd> captures(%slopes : tensor<?xf32>) wrt [0]
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
  return %dq, %dk, %dv, %dslopes : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>
}

func.func @gradient_head_dims(%q: tensor<?x?x?x80xbf16>, %v: tensor<?x?x?x112xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x112xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd>
    : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x112xbf16>, tensor<?x?x?x112xbf16>, tensor<?x?x?x112xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x112xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x80xbf16>, tensor<?x?x?x80xbf16>, tensor<?x?x?x112xbf16>
}

func.func @gradient_head_dims_192_128(%q: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd>
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x128xbf16>
}

func.func @gradient_head_dim_256(%q: tensor<?x?x?x256xbf16>, %v: tensor<?x?x?x256xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd>
    : tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>, tensor<?x?x?x256xbf16>
}

func.func @gradient_deterministic(%q: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %v out(%v) dout(%v) lse(%lse) layout<bshd> deterministic
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
}
