// The order of work tiles. A kernel reads keys from the last block to the first, so that the index of a load depends on the
// block of queries, though all blocks of a head read the same keys: heads that fit into half of L2 go side by side. With
// 'clc' all heads do, and tiles of equal length go one head after the other.

// RUN: fa4-opt %s --split-input-file --attn-to-nvvm="to=assign-work schedule=lpt" | FileCheck %s --check-prefixes=CHECK,LPT
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm="to=assign-work schedule=clc" | FileCheck %s --check-prefixes=CHECK,CLC

// CHECK-LABEL: tile.kernel @causal_kernel
// 512 bytes a key: a row of K and one of V. LPT knows Sk at a launch.
// LPT-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432, group_bytes = 512, size = "Sk">
// LPT-SAME: schedule = #tile.schedule<lpt>
// CLC-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432>
// CLC-SAME: schedule = #tile.schedule<clc>
func.func @causal(%q: memref<?x?x8x128xbf16>, %k: memref<?x?x8x128xbf16>, %v: memref<?x?x8x128xbf16>,
                  %out: memref<?x?x8x128xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : memref<?x?x8x128xbf16>)
    : memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>
  return
}

// -----

// A window begins at a key that depends on the block of queries, too.
// CHECK-LABEL: tile.kernel @window_kernel
// LPT-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432, group_bytes = 256, size = "Sk">
// CLC-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432>
func.func @window(%q: memref<?x?x8x64xbf16>, %k: memref<?x?x8x64xbf16>, %v: memref<?x?x8x64xbf16>,
                  %out: memref<?x?x8x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<window, left = 200, right = 100, top_left> outs(%out : memref<?x?x8x64xbf16>)
    : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>
  return
}

// -----

// A length that is known is part of the bytes: 512 * 4096.
// CHECK-LABEL: tile.kernel @static_kernel
// LPT-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432, group_bytes = 2097152>
func.func @static(%q: memref<?x4096x8x128xbf16>, %k: memref<?x4096x8x128xbf16>, %v: memref<?x4096x8x128xbf16>,
                  %out: memref<?x4096x8x128xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : memref<?x4096x8x128xbf16>)
    : memref<?x4096x8x128xbf16>, memref<?x4096x8x128xbf16>, memref<?x4096x8x128xbf16>
  return
}

// -----

// CHECK-LABEL: tile.kernel @full_kernel
// CHECK-SAME: order = #tile.order<axis = 0>
func.func @full(%q: memref<?x?x8x128xbf16>, %k: memref<?x?x8x128xbf16>, %v: memref<?x?x8x128xbf16>,
                %out: memref<?x?x8x128xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : memref<?x?x8x128xbf16>)
    : memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>
  return
}

// -----

// Of a causal gradient the first tiles of keys are seen by most queries. Each pass is one of the group's heads, so that the
// passes are a multiple of the blocks of queries; the number of heads in a group is not known, but not negative.
// CHECK-LABEL: tile.kernel @gradient_kernel
// CHECK-SAME: order = #tile.order<axis = 0, cache_bytes = 66322432>
func.func @gradient(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %out: memref<?x?x?x64xbf16>,
                    %dout: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>,
                    %dq: memref<?x?x?x64xbf16>, %dk: memref<?x?x?x64xbf16>, %dv: memref<?x?x?x64xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> mask<causal, bottom_right>
    outs(%dq, %dk, %dv : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?xf32>
  return
}

// -----

// Keys in pages are counted by pages, of 32 keys here.
// CHECK-LABEL: tile.kernel @pages_kernel
// LPT-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432, group_bytes = 16384, size = "SeqPages">
// CLC-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = 66322432>
func.func @pages(%q: memref<?x?x8x128xbf16>, %k: memref<?x32x8x128xbf16>, %v: memref<?x32x8x128xbf16>, %table: memref<?x?xi32>,
                 %out: memref<?x?x8x128xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> page_table(%table : memref<?x?xi32>) outs(%out : memref<?x?x8x128xbf16>)
    : memref<?x?x8x128xbf16>, memref<?x32x8x128xbf16>, memref<?x32x8x128xbf16>
  return
}
