// Three roles of equal query tiles have one body where their code would not
// fit into the instruction cache of an SM together, and one each where it does.

// RUN: fa4-opt %s --attn-to-nvvm=chip=sm_90a | FileCheck %s
// RUN: fa4-opt %s --attn-to-nvvm=chip=sm_100a | FileCheck %s --check-prefix=APART

// CHECK-LABEL: llvm.func @plain_kernel
// CHECK-COUNT-3: nvvm.setmaxregister{{ +}}increase
// CHECK-LABEL: func.func @plain

// CHECK-LABEL: llvm.func @distance_kernel
// CHECK: nvvm.setmaxregister{{ +}}increase
// CHECK-NOT: nvvm.setmaxregister{{ +}}increase
// CHECK: nvvm.setmaxregister{{ +}}decrease

// Nobody has measured the cache of other chips.
// APART-COUNT-4: nvvm.setmaxregister{{ +}}increase
func.func @plain(%q: memref<1x?x8x64xbf16>, %o: memref<1x?x8x64xbf16>) {
  attn.sdpa %q, %q, %q layout<bshd> outs(%o : memref<1x?x8x64xbf16>)
    : memref<1x?x8x64xbf16>, memref<1x?x8x64xbf16>, memref<1x?x8x64xbf16>
  return
}

func.func @distance(%q: memref<1x?x8x64xbf16>, %o: memref<1x?x8x64xbf16>) {
  attn.sdpa %q, %q, %q layout<bshd> outs(%o : memref<1x?x8x64xbf16>)
    : memref<1x?x8x64xbf16>, memref<1x?x8x64xbf16>, memref<1x?x8x64xbf16>
    score_mod(%score: f32, %b: index, %h: index, %row: index, %key: index) {
      %distance = arith.subi %row, %key : index
      %integer = arith.index_cast %distance : index to i32
      %far = arith.sitofp %integer : i32 to f32
      %slope = arith.constant 0.125 : f32
      %bias = arith.mulf %far, %slope : f32
      %biased = arith.subf %score, %bias : f32
      attn.yield %biased : f32
    }
  return
}
