// The rules of the verifier of attn.sdpa that are about pages are broken once each, and must be reported with their
// messages.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @layout(%q: tensor<8x1x1x16xf16>, %k: tensor<16x3x1x16xf16>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{page_table needs layout bshd, bhsd, thd or htd, got sbhd}}
  %o = attn.sdpa %q, %k, %k layout<sbhd> page_table(%t : tensor<1x2xi32>) : tensor<8x1x1x16xf16>, tensor<16x3x1x16xf16>, tensor<16x3x1x16xf16> -> tensor<8x1x1x16xf16>
  return
}

// -----

func.func @type(%q: tensor<1x8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %t: tensor<2xi32>) {
  // expected-error @+1 {{'page_table' must be of rank 2 and i32, got 'tensor<2xi32>'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<2xi32>) : tensor<1x8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x16x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @element(%q: tensor<1x8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %t: tensor<1x2xi64>) {
  // expected-error @+1 {{'page_table' must be of rank 2 and i32, got 'tensor<1x2xi64>'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<1x2xi64>) : tensor<1x8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x16x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @sequences(%q: tensor<1x8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %t: tensor<2x2xi32>) {
  // expected-error @+1 {{size B is 2 in 'page_table' but 1 in 'q'}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<2x2xi32>) : tensor<1x8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x16x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @pages(%q: tensor<1x8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %v: tensor<4x16x1x16xf16>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{size P is 4 in 'v' but 3 in 'k'}}
  %o = attn.sdpa %q, %k, %v layout<bshd> page_table(%t : tensor<1x2xi32>) : tensor<1x8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<4x16x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @page_size(%q: tensor<1x8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %v: tensor<3x32x1x16xf16>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{size S is 32 in 'v' but 16 in 'k'}}
  %o = attn.sdpa %q, %k, %v layout<bshd> page_table(%t : tensor<1x2xi32>) : tensor<1x8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x32x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @empty_pages(%q: tensor<1x8x1x16xf16>, %k: tensor<3x0x1x16xf16>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{size S must not be 0}}
  %o = attn.sdpa %q, %k, %k layout<bshd> page_table(%t : tensor<1x2xi32>) : tensor<1x8x1x16xf16>, tensor<3x0x1x16xf16>, tensor<3x0x1x16xf16> -> tensor<1x8x1x16xf16>
  return
}

// -----

func.func @rank(%q: tensor<8x1x16xf16>, %k: tensor<16x1x16xf16>, %cu: tensor<2xi32>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{'k' must have rank 4 in layout thd with page_table, got 3}}
  %o = attn.sdpa %q, %k, %k layout<thd> cu_seqlens(%cu : tensor<2xi32>) page_table(%t : tensor<1x2xi32>) : tensor<8x1x16xf16>, tensor<16x1x16xf16>, tensor<16x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @bounds_of_keys(%q: tensor<8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %cu: tensor<2xi32>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{cu_seqlens has that of k beside page_table, by which keys are found}}
  %o = attn.sdpa %q, %k, %k layout<thd> cu_seqlens(%cu, %cu : tensor<2xi32>, tensor<2xi32>) page_table(%t : tensor<1x2xi32>) : tensor<8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x16x1x16xf16> -> tensor<8x1x16xf16>
  return
}

// -----

func.func @no_bounds(%q: tensor<8x1x16xf16>, %k: tensor<3x16x1x16xf16>, %t: tensor<1x2xi32>) {
  // expected-error @+1 {{layout thd needs cu_seqlens}}
  %o = attn.sdpa %q, %k, %k layout<thd> page_table(%t : tensor<1x2xi32>) : tensor<8x1x16xf16>, tensor<3x16x1x16xf16>, tensor<3x16x1x16xf16> -> tensor<8x1x16xf16>
  return
}
