// The hand-written attention program goes through subtiling and lazy rescaling
// to the same program, whether or not it is printed and parsed in between.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(attn-to-tile,tile.kernel(tile-subtile,tile-lazy-rescale))' | FileCheck --dump-input=never %s
//
// The same at any time, and through text between the passes.
//
// $ fa4-opt $S/attention-program.mlir --attn-to-tile \
//   | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' \
//   | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale))' -o piped.mlir
// $ fa4-opt $S/attention-program.mlir \
//   --pass-pipeline='builtin.module(attn-to-tile,tile.kernel(tile-subtile,tile-lazy-rescale))' -o whole.mlir
// $ diff piped.mlir whole.mlir

// Two query tiles that share keys and values, each with its own mask, maximum
// and rescaling.
// CHECK-LABEL: tile.kernel @gqa_kernel
// CHECK: %[[Q0:.*]] = tile.load {{.*}} -> vector<128x128xbf16>
// CHECK: %[[Q1:.*]] = tile.load {{.*}} -> vector<128x128xbf16>
// CHECK: %[[R:.*]]:6 = scf.for {{.*}} iter_args(%[[O0:.*]] = %{{.*}}, %[[O1:.*]] = %{{.*}}, %[[M0:.*]] = %{{.*}}, %[[M1:.*]] = %{{.*}}, %[[L0:.*]] = %{{.*}}, %[[L1:.*]] = %{{.*}})
// CHECK:   %[[K:.*]] = tile.load {{.*}} -> vector<128x128xbf16>
// CHECK:   %[[S0:.*]] = tile.mma %[[Q0]], transpose %[[K]]
// CHECK:   %[[S1:.*]] = tile.mma %[[Q1]], transpose %[[K]]
// CHECK:   %[[X0:.*]] = scf.if
// CHECK:   %[[X1:.*]] = scf.if
// CHECK-DAG: %[[B0:.*]] = vector.multi_reduction <maximumf>, %[[X0]], %{{.*}} [1]
// CHECK-DAG: %[[B1:.*]] = vector.multi_reduction <maximumf>, %[[X1]], %{{.*}} [1]
// CHECK-DAG: %[[C0:.*]] = arith.mulf %[[B0]], %{{.*}} : vector<128xf32>
// CHECK-DAG: %[[C1:.*]] = arith.mulf %[[B1]], %{{.*}} : vector<128xf32>
// CHECK-DAG: %[[N0:.*]] = arith.maximumf %[[M0]], %[[C0]]
// CHECK-DAG: %[[N1:.*]] = arith.maximumf %[[M1]], %[[C1]]
// CHECK-DAG: %[[NEXT0:.*]] = arith.select %{{.*}}, %[[M0]], %[[N0]]
// CHECK-DAG: %[[NEXT1:.*]] = arith.select %{{.*}}, %[[M1]], %[[N1]]
// CHECK:   %[[V:.*]] = tile.load {{.*}} -> vector<128x128xbf16>
// CHECK-NOT: tile.load
// CHECK:   %[[OS0:.*]] = tile.rescale %[[O0]], %[[A0:.*]] :
// CHECK:   %[[OS1:.*]] = tile.rescale %[[O1]], %[[A1:.*]] :
// CHECK:   %[[P0:.*]] = tile.mma %{{.*}}, %[[V]] acc %[[OS0]]
// CHECK:   %[[P1:.*]] = tile.mma %{{.*}}, %[[V]] acc %[[OS1]]
// CHECK:   scf.yield %[[P0]], %[[P1]], %[[NEXT0]], %[[NEXT1]], %{{.*}}, %{{.*}} :
// CHECK-COUNT-4: tile.store
// CHECK-NOT: tile.store
// CHECK-NOT: vector<256
// CHECK: tile.launch
func.func @gqa(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %out, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
