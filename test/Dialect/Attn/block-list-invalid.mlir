// The rules of the verifiers of attn.sdpa and attn.sdpa_backward that are about lists of blocks are broken once each, and
// must be reported with their messages.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @no_size(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{block_list needs block_size [queries, keys], two numbers of at least 1}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @one_size(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{block_list needs block_size [queries, keys], two numbers of at least 1}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) block_size [128] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @no_keys(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{block_list needs block_size [queries, keys], two numbers of at least 1}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) block_size [128, 0] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @size_alone(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{block_size needs a block_list}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @rank(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x1x3xi32>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{'block_list' must be of rank 4 and i32, got 'tensor<1x1x3xi32>'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x1x3xi32>, tensor<1x2x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @element(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi64>, %n: tensor<1x2x1xi32>) {
  // expected-error @+1 {{'block_list' must be of rank 4 and i32, got 'tensor<1x2x1x3xi64>'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi64>, tensor<1x2x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @counts(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2xi32>) {
  // expected-error @+1 {{'block_counts' must be of rank 3 and i32, got 'tensor<1x2xi32>'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @sequences(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<2x2x1x3xi32>, %n: tensor<2x2x1xi32>) {
  // expected-error @+1 {{size B is 2 in 'block_list' but 1 in 'q'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<2x2x1x3xi32>, tensor<2x2x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @heads(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x1x1xi32>) {
  // expected-error @+1 {{size Hl is 1 in 'block_counts' but 2 in 'block_list'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x1x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @lists(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x2xi32>) {
  // expected-error @+1 {{size N is 2 in 'block_counts' but 1 in 'block_list'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x2xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @no_heads(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x0x1x3xi32>, %n: tensor<1x0x1xi32>) {
  // expected-error @+1 {{size Hl must not be 0}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x0x1x3xi32>, tensor<1x0x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @uneven_heads(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %l: tensor<1x3x1x3xi32>, %n: tensor<1x3x1xi32>) {
  // expected-error @+1 {{number of query heads (4) must be a multiple of that of 'block_list' (3)}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%l, %n : tensor<1x3x1x3xi32>, tensor<1x3x1xi32>) block_size [128, 64] : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16> -> tensor<1x8x4x16xf16>
  return
}

// -----

func.func @query_list_alone(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %lse: tensor<1x4x8xf32>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>, %ql: tensor<1x2x1x3xi32>, %qn: tensor<1x2x1xi32>) {
  // expected-error @+1 {{query_list needs a block_list}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> query_list(%ql, %qn : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>)
    : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>, tensor<1x8x4x16xf16>, tensor<1x8x4x16xf16>, tensor<1x4x8xf32> -> tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>
  return
}

// -----

func.func @query_list_rank(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %lse: tensor<1x4x8xf32>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>, %ql: tensor<1x2x1xi32>, %qn: tensor<1x2x1xi32>) {
  // expected-error @+1 {{'query_list' must be of rank 4 and i32, got 'tensor<1x2x1xi32>'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) query_list(%ql, %qn : tensor<1x2x1xi32>, tensor<1x2x1xi32>) block_size [128, 128]
    : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>, tensor<1x8x4x16xf16>, tensor<1x8x4x16xf16>, tensor<1x4x8xf32> -> tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>
  return
}

// -----

func.func @query_counts_element(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %lse: tensor<1x4x8xf32>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>, %ql: tensor<1x2x1x3xi32>, %qn: tensor<1x2x1xi64>) {
  // expected-error @+1 {{'query_counts' must be of rank 3 and i32, got 'tensor<1x2x1xi64>'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) query_list(%ql, %qn : tensor<1x2x1x3xi32>, tensor<1x2x1xi64>) block_size [128, 128]
    : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>, tensor<1x8x4x16xf16>, tensor<1x8x4x16xf16>, tensor<1x4x8xf32> -> tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>
  return
}

// -----

func.func @query_list_heads(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %lse: tensor<1x4x8xf32>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>, %ql: tensor<1x1x1x3xi32>, %qn: tensor<1x2x1xi32>) {
  // expected-error @+1 {{size Hl is 1 in 'query_list' but 2 in 'block_list'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) query_list(%ql, %qn : tensor<1x1x1x3xi32>, tensor<1x2x1xi32>) block_size [128, 128]
    : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>, tensor<1x8x4x16xf16>, tensor<1x8x4x16xf16>, tensor<1x4x8xf32> -> tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>
  return
}

// -----

func.func @query_lists(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x2x16xf16>, %lse: tensor<1x4x8xf32>, %l: tensor<1x2x1x3xi32>, %n: tensor<1x2x1xi32>, %ql: tensor<1x2x1x3xi32>, %qn: tensor<1x2x2xi32>) {
  // expected-error @+1 {{size K is 2 in 'query_counts' but 1 in 'query_list'}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> block_list(%l, %n : tensor<1x2x1x3xi32>, tensor<1x2x1xi32>) query_list(%ql, %qn : tensor<1x2x1x3xi32>, tensor<1x2x2xi32>) block_size [128, 128]
    : tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>, tensor<1x8x4x16xf16>, tensor<1x8x4x16xf16>, tensor<1x4x8xf32> -> tensor<1x8x4x16xf16>, tensor<1x64x2x16xf16>, tensor<1x64x2x16xf16>
  return
}
