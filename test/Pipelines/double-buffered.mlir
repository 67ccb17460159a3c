// Persistent attention at head dim 128: shared memory holds two tiles of queries, two
// stages of keys and of values, and not two whole tiles of results. So results leave
// in halves, those of both tiles through one ring, and loads of keys and values
// overlap with the use of the values before them.
//
// RUN: fa4-compile %s -o - --emit=schedule | FileCheck %s
// CHECK-DAG: tile.channel "k" smem stages(2)
// CHECK-DAG: tile.channel "v" smem stages(2)
// CHECK-DAG: tile.channel "correction_store" smem stages(2) : <vector<128x64xbf16>>
// CHECK-NOT: "correction_store_2"
// CHECK-LABEL: tile.role @correction
// CHECK: scf.for
// CHECK-COUNT-4: tile.commit %correction_store
// CHECK-LABEL: tile.role @store
// CHECK-COUNT-4: tile.wait %correction_store
// CHECK-NOT: tile.wait %correction_store
//
// With one tile a CTA, results lie where the queries were: nothing is divided.
// RUN: fa4-compile %s -o - --emit=schedule --schedule=grid | FileCheck %s --check-prefix=GRID
// GRID-DAG: tile.channel "k" smem stages(2)
// GRID-DAG: tile.channel "correction_store" smem stages(1) : <vector<128x128xbf16>>
// GRID-DAG: tile.channel "correction_store_2" smem stages(1) : <vector<128x128xbf16>>

func.func @attention(%q: tensor<?x?x16x128xbf16>, %k: tensor<?x?x16x128xbf16>, %v: tensor<?x?x16x128xbf16>) -> tensor<?x?x16x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> : tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16> -> tensor<?x?x16x128xbf16>
  return %out : tensor<?x?x16x128xbf16>
}
