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
