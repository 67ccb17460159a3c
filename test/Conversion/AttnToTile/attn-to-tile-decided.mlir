// The ranges of positions decide some comparisons of a mask_mod. The mask is simplified with them: one that hides no score
// is none, and one that hides all leaves no key to compute.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_100a | FileCheck %s

// Keys behind the last one are masked, and no others.
// CHECK-LABEL: tile.kernel @all_kernel(
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.mma
// CHECK-NEXT:      %[[EDGE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      %[[MASKED:.*]] = scf.if %[[EDGE]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[S]]
// CHECK:           vector.multi_reduction <maximumf>, %[[MASKED]]
func.func @all(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %h : index to i32
      %c = arith.constant -23 : i32
      %r = arith.cmpi sge, %x, %c : i32
      attn.yield %r : i1
    }
  return %o : tensor<?x?x?x64xbf16>
}

// CHECK-LABEL: tile.kernel @none_kernel(
// CHECK:         %[[KEYS:.*]] = memref.dim %{{.*}}, %c1
// CHECK:         %[[NONE:.*]] = arith.minsi %[[KEYS]], %c0
// CHECK:         arith.ceildivsi %[[NONE]], %c128
func.func @none(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %h : index to i32
      %c = arith.constant -23 : i32
      %r = arith.cmpi slt, %x, %c : i32
      attn.yield %r : i1
    }
  return %o : tensor<?x?x?x64xbf16>
}
