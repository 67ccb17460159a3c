// On Hopper, CTAs of causal attention go on to further work tiles where few blocks of queries make unequal work, and those
// of windows and documents always; a launch decides by its sizes. Sums in memory lose by unequal work.
//
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm="to=assign-work chip=sm_90a" | FileCheck %s
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm="chip=sm_90a" | FileCheck %s --check-prefix=GRID
// RUN: fa4-opt %s --split-input-file --attn-to-nvvm="to=assign-work chip=sm_90a schedule=static" | FileCheck %s --check-prefix=ASKED

// CHECK-LABEL: tile.kernel @causal_kernel
// CHECK-SAME: order = #tile.order<axis = 0, descending = true, {{.*}}few_blocks = 8>
// CHECK-SAME: schedule = #tile.schedule<static>
// 9 blocks or more: the quotient is at least 1, and there is a CTA for each work tile.
// GRID: grid = ["min(max(sm_count, ceildiv(Sq, 192) / 9 * ceildiv(Sq, 192) * 8 * B), ceildiv(Sq, 192) * 8 * B)"]
// Who asks for `static` gets it for all sizes.
// ASKED-LABEL: tile.kernel @causal_kernel
// ASKED-NOT: few_blocks
// ASKED: tile.work
func.func @causal(%q: memref<?x?x8x64xbf16>, %o: memref<?x?x8x64xbf16>) {
  attn.sdpa %q, %q, %q layout<bshd> mask<causal, bottom_right> outs(%o : memref<?x?x8x64xbf16>)
    : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>
  return
}

// -----

// The range of keys moves along with the rows.
// CHECK-LABEL: tile.kernel @window_kernel
// CHECK-NOT: few_blocks
// CHECK-SAME: schedule = #tile.schedule<static>
// GRID: grid = ["min(sm_count, ceildiv(Sq, 128) * 8 * B)"]
func.func @window(%q: memref<?x?x8x64xbf16>, %o: memref<?x?x8x64xbf16>) {
  attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 200, right = 100, top_left> outs(%o : memref<?x?x8x64xbf16>)
    : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>
  return
}

// -----

// CHECK-LABEL: tile.kernel @documents_kernel
// CHECK-NOT: few_blocks
// CHECK-SAME: schedule = #tile.schedule<static>
func.func @documents(%q: memref<?x?x8x64xbf16>, %o: memref<?x?x8x64xbf16>) {
  attn.sdpa %q, %q, %q layout<bshd> outs(%o : memref<?x?x8x64xbf16>)
    : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>
    mask_mod(%b: index, %h: index, %row: index, %key: index) {
      %tokens = arith.constant 256 : index
      %of_row = arith.floordivsi %row, %tokens : index
      %of_key = arith.floordivsi %key, %tokens : index
      %same = arith.cmpi eq, %of_row, %of_key : index
      attn.yield %same : i1
    }
  return
}

// -----

// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK-SAME: schedule = #tile.schedule<lpt>
func.func @gradient(%x: memref<?x?x8x64xbf16>, %lse: memref<?x8x?xf32>, %dq: memref<?x?x8x64xbf16>,
                    %dk: memref<?x?x8x64xbf16>, %dv: memref<?x?x8x64xbf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> mask<causal, bottom_right>
    outs(%dq, %dk, %dv : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>)
    : memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>,
      memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x8x?xf32>
  return
}

// -----

// Each head has the same list of tiles of packed sequences, so that heads are worked on side by side: one after the other, a
// CTA would have the same long sequence of many heads.
// CHECK-LABEL: tile.kernel @packed_kernel
// CHECK-SAME: order = #tile.order<axis = 0, descending = true, cache_bytes = {{[0-9]+}}>
// CHECK-SAME: schedule = #tile.schedule<static>
// CHECK-SAME: work_count = "tile_counts"
// GRID-LABEL: llvm.func @packed_kernel
// ASKED-LABEL: tile.kernel @packed_kernel
func.func @packed(%q: memref<?x8x64xbf16>, %o: memref<?x8x64xbf16>, %n: memref<?xi32>) {
  attn.sdpa %q, %q, %q layout<thd> cu_seqlens(%n, %n : memref<?xi32>, memref<?xi32>) outs(%o : memref<?x8x64xbf16>)
    : memref<?x8x64xbf16>, memref<?x8x64xbf16>, memref<?x8x64xbf16>
  return
}
