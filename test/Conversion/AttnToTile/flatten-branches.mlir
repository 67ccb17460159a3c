// RUN: fa4-opt %s --attn-to-tile | FileCheck %s

// Branches become selections. What only one branch reads is read at index 0
// where the branch is not taken, so that an index which the condition keeps in
// bounds asks nothing of the table's size. The batch and the head need no such
// guard.
// CHECK-LABEL: tile.kernel @guarded_kernel(
// CHECK-NOT:   "dimension 0 of 'capture0'
// CHECK-SAME:  requires
// CHECK:       %[[INSIDE:.*]] = arith.cmpi slt, %[[KEYS:.*]], %{{.*}} : vector<{{[0-9]+}}xindex>
// CHECK:       %[[INDEX:.*]] = arith.select %[[INSIDE]], %[[KEYS]], %{{.*}} : vector<{{[0-9]+}}xi1>, vector<{{[0-9]+}}xindex>
// CHECK:       tile.gather %{{.*}}[%[[INDEX]]]
// CHECK:       arith.select {{.*}}xf32>
// CHECK-NOT:   scf.if {{.*}} -> (f32)
func.func @guarded(%x: tensor<?x?x?x64xbf16>, %table: tensor<?xf32>, %slopes: tensor<?xf32>, %n: index) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> captures(%table, %slopes, %n : tensor<?xf32>, tensor<?xf32>, index)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>, %sl: tensor<?xf32>, %c: index) {
      %inside = arith.cmpi slt, %j, %c : index
      %r = scf.if %inside -> (f32) {
        %bias = tensor.extract %t[%j] : tensor<?xf32>
        %sum = arith.addf %s, %bias : f32
        scf.yield %sum : f32
      } else {
        %slope = tensor.extract %sl[%h] : tensor<?xf32>
        %product = arith.mulf %s, %slope : f32
        scf.yield %product : f32
      }
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}
