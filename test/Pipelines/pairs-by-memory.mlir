// Head dims with which one CTA would wait for shared memory have pairs of CTAs: for
// its port, as with 256, or for want of room for the next values, as with 256 and 128
// of v. Where keys that arrive in parts have room (192 and 128), they have pairs without
// a mask: with one, both CTAs make the passes of both. Others do not. So it is where
// clusters ask for work.
//
// RUN: fa4-opt %s --attn-to-nvvm=to=assign-work | FileCheck %s
// RUN: fa4-opt %s --attn-to-nvvm='to=assign-work schedule=clc' | FileCheck %s --check-prefix=ASKS
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// Who asks for no pairs gets none.
//
// $ fa4-opt "$S"/pairs-by-memory.mlir --attn-to-nvvm='to=assign-work pairs=off' -o alone.mlir
// $ fa4-opt "$S"/pairs-by-memory.mlir --attn-to-nvvm='to=assign-work schedule=clc pairs=off' -o asks.mlir
// $ grep -c 'cluster =' alone.mlir asks.mlir
// alone.mlir:0
// asks.mlir:0
// [1]
//
// ASKS: tile.kernel @narrow_v_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>{{.*}} schedule = #tile.schedule<clc>
// ASKS: tile.kernel @causal_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>{{.*}} schedule = #tile.schedule<clc>
// ASKS: tile.kernel @hd256_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>{{.*}} schedule = #tile.schedule<clc>
// ASKS: tile.kernel @hd192_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>{{.*}} schedule = #tile.schedule<clc>
// ASKS-NOT: cluster =

// CHECK: tile.kernel @narrow_v_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>
func.func @narrow_v(%q: tensor<?x?x8x256xbf16>, %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// Longer work tiles of a pair, those with later queries, come first.
// CHECK: tile.kernel @causal_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>{{.*}} order = #tile.order<axis = 0, descending = true{{.*}} schedule = #tile.schedule<lpt>
func.func @causal(%x: tensor<?x?x8x256xbf16>) -> tensor<?x?x8x256xbf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> mask<causal, bottom_right> : tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16> -> tensor<?x?x8x256xbf16>
  return %o : tensor<?x?x8x256xbf16>
}

// CHECK: tile.kernel @hd256_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>
func.func @hd256(%x: tensor<?x?x8x256xbf16>) -> tensor<?x?x8x256xbf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16> -> tensor<?x?x8x256xbf16>
  return %o : tensor<?x?x8x256xbf16>
}

// CHECK: tile.kernel @hd192_kernel({{.*}} cluster = #tile.cluster<size = 2, axis = 0>
func.func @hd192(%q: tensor<?x?x8x192xbf16>, %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<?x?x8x192xbf16>, tensor<?x?x8x192xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// CHECK-NOT: cluster =
func.func @hd192_causal(%q: tensor<?x?x8x192xbf16>, %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %q, %q, %v layout<bshd> mask<causal, bottom_right> : tensor<?x?x8x192xbf16>, tensor<?x?x8x192xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

func.func @hd128(%x: tensor<?x?x8x128xbf16>) -> tensor<?x?x8x128xbf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// One block of queries: the other CTA of a pair would have none.
func.func @short(%q: tensor<?x128x8x256xbf16>, %k: tensor<?x?x8x256xbf16>) -> tensor<?x128x8x256xbf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> : tensor<?x128x8x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16> -> tensor<?x128x8x256xbf16>
  return %o : tensor<?x128x8x256xbf16>
}
