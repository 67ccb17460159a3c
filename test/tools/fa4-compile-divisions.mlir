// Masks and scores of divisions and remainders by constants fit into a thread's registers. Each of
// them spilled: LLVM kept the sum of the row's and the column's position of all columns, and ptxas
// computed the positions of many columns in advance, which are the same in all threads.
//
// REQUIRES: ptxas
// RUN: fa4-compile %s -o %t --verify-ptx
// RUN: ls %t | FileCheck %s
// CHECK-DAG: distances_kernel.ptx
// CHECK-DAG: stripes_kernel.ptx
// CHECK-DAG: temporal_gradient_kernel.ptx
//
// A kernel that spills would be refused.

!q = memref<?x?x?x128xbf16>
!row = memref<?x?x?xf32>

// (q + k) % 3 != 0
func.func @stripes(%q: !q, %k: !q, %v: !q, %out: !q) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : !q) : !q, !q, !q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 3 : index
      %zero = arith.constant 0 : index
      %sum = arith.addi %i, %j : index
      %quotient = arith.floordivsi %sum, %n : index
      %product = arith.muli %quotient, %n : index
      %remainder = arith.subi %sum, %product : index
      %keep = arith.cmpi ne, %remainder, %zero : index
      attn.yield %keep : i1
    }
  return
}

// s - 0.01 * abs(q // 5 - k // 5) + 0.1 * (k % 3)
func.func @distances(%q: !q, %k: !q, %v: !q, %out: !q) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : !q) : !q, !q, !q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 5 : index
      %three = arith.constant 3 : index
      %slope = arith.constant -0.01 : f32
      %step = arith.constant 0.1 : f32
      %x = arith.floordivsi %i, %n : index
      %y = arith.floordivsi %j, %n : index
      %d = arith.subi %x, %y : index
      %e = arith.subi %y, %x : index
      %distance = arith.maxsi %d, %e : index
      %narrow = arith.index_cast %distance : index to i32
      %float = arith.sitofp %narrow : i32 to f32
      %bias = arith.mulf %float, %slope : f32
      %biased = arith.addf %s, %bias : f32
      %quotient = arith.floordivsi %j, %three : index
      %product = arith.muli %quotient, %three : index
      %remainder = arith.subi %j, %product : index
      %narrowRemainder = arith.index_cast %remainder : index to i32
      %floatRemainder = arith.sitofp %narrowRemainder : i32 to f32
      %more = arith.mulf %floatRemainder, %step : f32
      %result = arith.addf %biased, %more : f32
      attn.yield %result : f32
    }
  return
}

// k < 24 or q < 24 or abs((q - 24) % 58 - (k - 24) % 58) < 8
func.func @temporal_gradient(%q: !q, %k: !q, %v: !q, %out: !q, %dout: !q, %lse: !row, %dq: !q, %dk: !q, %dv: !q) {
  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> outs(%dq, %dk, %dv : !q, !q, !q)
    : !q, !q, !q, !q, !q, !row
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 58 : index
      %first = arith.constant 24 : index
      %near = arith.constant 8 : index
      %early = arith.cmpi slt, %j, %first : index
      %earlyQuery = arith.cmpi slt, %i, %first : index
      %q0 = arith.subi %i, %first : index
      %qd = arith.floordivsi %q0, %n : index
      %qp = arith.muli %qd, %n : index
      %qr = arith.subi %q0, %qp : index
      %k0 = arith.subi %j, %first : index
      %kd = arith.floordivsi %k0, %n : index
      %kp = arith.muli %kd, %n : index
      %kr = arith.subi %k0, %kp : index
      %d = arith.subi %qr, %kr : index
      %e = arith.subi %kr, %qr : index
      %distance = arith.maxsi %d, %e : index
      %close = arith.cmpi slt, %distance, %near : index
      %or = arith.ori %early, %earlyQuery : i1
      %keep = arith.ori %or, %close : i1
      attn.yield %keep : i1
    }
  return
}
