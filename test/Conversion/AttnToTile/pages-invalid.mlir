// Pages of which there is no kernel are refused on the op.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a --split-input-file --verify-diagnostics

func.func @dynamic(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x?x2x128xbf16>, %t: tensor<?x?xi32>) -> tensor<?x?x8x128xbf16> {
  // expected-error @+1 {{not supported on sm_90a: a dynamic page size}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<?x?xi32>)
    : tensor<?x?x8x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// -----

func.func @small(%q: tensor<?x?x8x128xbf16>, %k: tensor<?x8x2x128xbf16>, %t: tensor<?x?xi32>) -> tensor<?x?x8x128xbf16> {
  // expected-error @+1 {{not supported on sm_90a: pages of 8 keys: only multiples of 16}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<?x?xi32>)
    : tensor<?x?x8x128xbf16>, tensor<?x8x2x128xbf16>, tensor<?x8x2x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// -----

func.func @many(%q: tensor<1x?x8x128xbf16>, %k: tensor<?x4096x2x128xbf16>, %t: tensor<1x1048576xi32>) -> tensor<1x?x8x128xbf16> {
  // expected-error @+1 {{not supported on sm_90a: pages with room for 4294967296 keys of a sequence, more than}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<1x1048576xi32>)
    : tensor<1x?x8x128xbf16>, tensor<?x4096x2x128xbf16>, tensor<?x4096x2x128xbf16> -> tensor<1x?x8x128xbf16>
  return %o : tensor<1x?x8x128xbf16>
}

// -----

func.func @strides(%q: memref<?x?x8x128xbf16>, %k: memref<?x16x2x128xbf16>, %t: memref<?x?xi32, strided<[?, 2]>>, %o: memref<?x?x8x128xbf16>) {
  // expected-error @+1 {{not supported on sm_90a: the innermost stride of 'page_table' is not 1}}
  attn.sdpa %q, %k, %k layout<bshd> page_table(%t : memref<?x?xi32, strided<[?, 2]>>) outs(%o : memref<?x?x8x128xbf16>)
    : memref<?x?x8x128xbf16>, memref<?x16x2x128xbf16>, memref<?x16x2x128xbf16>
  return
}
