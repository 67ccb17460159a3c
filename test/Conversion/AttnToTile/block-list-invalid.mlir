// Lists of blocks of which there is no kernel are refused on the op.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_100a --split-input-file --verify-diagnostics

func.func @queries(%q: tensor<1x?x8x128xbf16>, %k: tensor<1x?x2x128xbf16>, %list: tensor<1x1x?x?xi32>, %counts: tensor<1x1x?xi32>) -> tensor<1x?x8x128xbf16> {
  // expected-error @+1 {{not supported on sm_100a: a list for each 64 queries: only multiples of 128}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<1x1x?x?xi32>, tensor<1x1x?xi32>) block_size [64, 64]
    : tensor<1x?x8x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16> -> tensor<1x?x8x128xbf16>
  return %o : tensor<1x?x8x128xbf16>
}

// -----

func.func @keys(%q: tensor<1x?x8x128xbf16>, %k: tensor<1x?x2x128xbf16>, %list: tensor<1x1x?x?xi32>, %counts: tensor<1x1x?xi32>) -> tensor<1x?x8x128xbf16> {
  // expected-error @+1 {{not supported on sm_100a: a list of blocks of 16 keys: only multiples of 32}}
  %o = attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : tensor<1x1x?x?xi32>, tensor<1x1x?xi32>) block_size [128, 16]
    : tensor<1x?x8x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16> -> tensor<1x?x8x128xbf16>
  return %o : tensor<1x?x8x128xbf16>
}

// -----

func.func @strides(%q: memref<1x?x8x128xbf16>, %k: memref<1x?x2x128xbf16>, %list: memref<1x1x?x?xi32, strided<[?, ?, ?, 2]>>, %counts: memref<1x1x?xi32>, %o: memref<1x?x8x128xbf16>) {
  // expected-error @+1 {{not supported on sm_100a: the innermost stride of 'block_list' is not 1}}
  attn.sdpa %q, %k, %k layout<bshd> block_list(%list, %counts : memref<1x1x?x?xi32, strided<[?, ?, ?, 2]>>, memref<1x1x?xi32>) block_size [128, 64]
    outs(%o : memref<1x?x8x128xbf16>) : memref<1x?x8x128xbf16>, memref<1x?x2x128xbf16>, memref<1x?x2x128xbf16>
  return
}

// -----

func.func @no_query_list(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>, %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) {
  // expected-error @+1 {{not supported on sm_100a: a gradient with a block_list and without a query_list}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd>
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 128]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32> -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return
}

// -----

func.func @heads(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x8x?x?xi32>, %counts: tensor<?x8x?xi32>, %queries: tensor<?x8x?x?xi32>, %qcounts: tensor<?x8x?xi32>) {
  // expected-error @+1 {{not supported on sm_100a: a gradient with lists of 8 heads and 2 key/value heads: query heads that share keys share a list}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd>
      block_list(%list, %counts : tensor<?x8x?x?xi32>, tensor<?x8x?xi32>) query_list(%queries, %qcounts : tensor<?x8x?x?xi32>, tensor<?x8x?xi32>) block_size [128, 128]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32> -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return
}

// -----

func.func @few_queries(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>, %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) {
  // expected-error @+1 {{not supported on sm_100a: a gradient with blocks of 64 queries: only multiples of 128}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd>
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) query_list(%queries, %qcounts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [64, 128]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32> -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return
}

// -----

func.func @few_keys(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>, %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) {
  // expected-error @+1 {{not supported on sm_100a: a gradient with blocks of 64 keys: only multiples of 128}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd>
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) query_list(%queries, %qcounts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 64]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32> -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return
}

// -----

func.func @turns(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %lse: tensor<?x8x?xf32>, %list: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?xi32>, %queries: tensor<?x?x?x?xi32>, %qcounts: tensor<?x?x?xi32>) {
  // expected-error @+1 {{not supported on sm_100a: a deterministic gradient with a block_list and these head dims}}
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %k out(%q) dout(%q) lse(%lse) layout<bshd> deterministic
      block_list(%list, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) query_list(%queries, %qcounts : tensor<?x?x?x?xi32>, tensor<?x?x?xi32>) block_size [128, 128]
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x8x?xf32> -> tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return
}
