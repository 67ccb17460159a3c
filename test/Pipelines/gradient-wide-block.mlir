// Gradients of wide heads with one static block of queries, or of keys: no loop, so that
// what is stored at the end may lie where something else has been, if that has been
// read. Each kernel is proven, alone and on pairs of CTAs.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck %s --check-prefix=ALONE --dump-input=never < %t/alone/queries_preprocess_kernel.unroll.mlir
// RUN: FileCheck %s --check-prefix=PAIR --dump-input=never < %t/pairs/queries_preprocess_kernel.unroll.mlir
//
// $ fa4-compile "$S"/gradient-wide-block.mlir --pairs=off --verify-ptx=false -o alone --emit=unroll,ptx
// $ fa4-compile "$S"/gradient-wide-block.mlir --pairs=on --verify-ptx=false -o pairs --emit=unroll,ptx

// Lanes have read the vector "shift" before they commit probabilities, and MMAs wait for
// these. In a pair such a commit is a relaxed arrival at the leader's barrier, which
// orders nothing in shared memory; the operands of MMAs have been read when an MMA's
// commit says so.
// ALONE-LABEL: tile.kernel @queries_kernel
// ALONE: tile.channel "epilogue_store" smem stages(1) after({{.*}}%shift
// PAIR-LABEL: tile.kernel @queries_kernel
// PAIR: tile.channel "epilogue_store" smem stages(1) after(
// PAIR-NOT: %shift
// PAIR-SAME: : <vector<128x128xbf16>>
func.func @queries(%q: memref<1x64x1x192xbf16>, %k: memref<1x111x1x192xbf16>, %v: memref<1x111x1x128xbf16>,
                   %out: memref<1x64x1x128xbf16>, %dout: memref<1x64x1x128xbf16>, %lse: memref<1x1x64xf32>,
                   %dq: memref<1x64x1x192xbf16>, %dk: memref<1x111x1x192xbf16>, %dv: memref<1x111x1x128xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    outs(%dq, %dk, %dv : memref<1x64x1x192xbf16>, memref<1x111x1x192xbf16>, memref<1x111x1x128xbf16>)
    : memref<1x64x1x192xbf16>, memref<1x111x1x192xbf16>, memref<1x111x1x128xbf16>, memref<1x64x1x128xbf16>, memref<1x64x1x128xbf16>, memref<1x1x64xf32>
  return
}

// dq lies where the scores were: the first MMA that writes it waits for the first part of
// dS, and lanes have read all scores when they commit that.
// ALONE-LABEL: tile.kernel @keys_dq_kernel
// ALONE: tile.channel "mma_epilogue" tmem stages(1) after(%mma_compute0 :
// ALONE: tile.role @compute0
// ALONE: tile.read %mma_compute0[112]
// ALONE: tile.commit %compute0_mma.0
// ALONE-NOT: tile.read %mma_compute0[
// ALONE: tile.role @mma
func.func @keys(%q: memref<1x128x1x192xbf16>, %k: memref<1x111x1x192xbf16>, %v: memref<1x111x1x128xbf16>,
                %out: memref<1x128x1x128xbf16>, %dout: memref<1x128x1x128xbf16>, %lse: memref<1x1x128xf32>,
                %dq: memref<1x128x1x192xbf16>, %dk: memref<1x111x1x192xbf16>, %dv: memref<1x111x1x128xbf16>) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> scale(-1.1e-01)
    outs(%dq, %dk, %dv : memref<1x128x1x192xbf16>, memref<1x111x1x192xbf16>, memref<1x111x1x128xbf16>)
    : memref<1x128x1x192xbf16>, memref<1x111x1x192xbf16>, memref<1x111x1x128xbf16>, memref<1x128x1x128xbf16>, memref<1x128x1x128xbf16>, memref<1x1x128xf32>
  return
}
