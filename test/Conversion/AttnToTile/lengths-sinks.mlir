// RUN: fa4-opt %s --attn-to-tile | FileCheck %s

// The number of keys is that of the sequence, and at most that of the tensor;
// a bottom-right diagonal follows it. A sink is the first score of its rows: it
// is not scaled, and the sum of weights begins with its weight. A call without
// keys would ask for sinks as the LSE, without a kernel that writes them.
// CHECK-LABEL: tile.kernel @forward_kernel(
// CHECK-SAME:  condition = "Sk >= 1"
// CHECK:       %[[LENGTH:.*]] = tile.load_scalar %{{.*}}[%{{.*}}] : memref<?xi32>
// CHECK:       %[[AS_INDEX:.*]] = arith.index_cast %[[LENGTH]] : i32 to index
// CHECK:       %[[POSITIVE:.*]] = arith.maxsi %[[AS_INDEX]]
// CHECK:       arith.minsi %[[POSITIVE]]
// CHECK:       %[[SINK:.*]] = tile.load_rows %{{.*}}[%{{.*}}] : memref<?xbf16>
// CHECK:       %[[WIDE:.*]] = arith.extf %[[SINK]]
// CHECK:       %[[MAX:.*]] = arith.mulf %[[WIDE]]
// CHECK:       %[[SUM:.*]] = math.exp2
// CHECK:       scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[MAX]], %{{.*}} = %[[SUM]])
func.func @forward(%x: tensor<?x?x?x64xbf16>, %n: tensor<?xi32>, %s: tensor<?xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %l = attn.sdpa %x, %x, %x layout<bshd> mask<causal, bottom_right> seqlens_k(%n : tensor<?xi32>) sinks(%s : tensor<?xbf16>)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
  return %o, %l : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK:       tile.load_scalar %{{.*}}[%{{.*}}] : memref<?xi32>
func.func @gradient(%x: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>, %n: tensor<?xi32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) {
  %g:3 = attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd> seqlens_k(%n : tensor<?xi32>)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %g#0, %g#1, %g#2 : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
}
