// Queries of 192 columns leave no room for a second block of keys and one of values
// beside them. Keys then arrive in three parts of 64 columns, each in a channel of its
// own: the next load of a part starts when both products have read it, and one part and
// the values have memory for a second stage.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --attn-to-nvvm="to=schedule pairs=off" | FileCheck %s

// Without it, values take turns with the products that read them.
//
// $ fa4-opt $S/tile-plan-loads.mlir --attn-to-nvvm="to=warp-specialize pairs=off" \
//   | sed 's/divide_loads = true/divide_loads = false/' \
//   | fa4-opt --attn-to-nvvm="from=warp-specialize to=schedule"
// ...
// {{.*}}tile.channel "k" smem stages(2){{.*}}
// ...
// {{.*}}tile.channel "v" smem stages(1){{.*}}
// ...

// A pair of CTAs has room for two blocks, which stay whole.
//
// $ sed -e 's/mask<causal, bottom_right>//' $S/tile-plan-loads.mlir | fa4-opt --attn-to-nvvm="to=schedule pairs=on"
// ...
// {{.*}}tile.channel "k" smem stages(2){{.*}}
// ...
// {{.*}}tile.channel "v" smem stages(2){{.*}}
// ...

// With the schedule `static`, results have memory of their own, and leave in
// parts as well.
//
// $ fa4-opt $S/tile-plan-loads.mlir --attn-to-nvvm="to=schedule schedule=static"
// ...
// {{.*}}tile.channel "k.0" smem stages(2){{.*}}
// ...
// {{.*}}tile.channel "correction_store" smem stages(2) : <vector<128x64xbf16>>
// ...

// CHECK-NOT: tile.channel "k"
// CHECK-DAG: tile.channel "k.0" smem stages(2) : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "k.1" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "k.2" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG: tile.channel "v" smem stages(2) : <vector<128x128xbf16>>

// The products of a tile add up over the parts; a part is waited for in front
// of the first product that reads it, and released behind the last one.
// CHECK-LABEL: tile.role @mma
// CHECK: scf.for
// CHECK: tile.mma %{{.*}}, %{{.*}} acc
// CHECK: tile.commit %mma_correction,
// CHECK: tile.acquire %mma_compute0
// CHECK: %[[Q0:.*]] = vector.extract_strided_slice %[[Q:.*]] {offsets = [0, 0], sizes = [128, 64]
// CHECK: %[[K0:.*]] = tile.wait %k.0
// CHECK: %[[S0:.*]] = tile.mma %[[Q0]], transpose %[[K0]] : vector<128x64xbf16>
// CHECK: %[[Q1:.*]] = vector.extract_strided_slice %[[Q]] {offsets = [0, 64], sizes = [128, 64]
// CHECK: %[[K1:.*]] = tile.wait %k.1
// CHECK: %[[S1:.*]] = tile.mma %[[Q1]], transpose %[[K1]] acc %[[S0]]
// CHECK: %[[K2:.*]] = tile.wait %k.2
// CHECK: %[[S2:.*]] = tile.mma %{{.*}}, transpose %[[K2]] acc %[[S1]]
// CHECK: tile.commit %mma_compute0, %[[S2]]
// CHECK: tile.commit %mma_correction_2,
// CHECK: tile.acquire %mma_compute1
// CHECK: tile.mma %{{.*}}, transpose %[[K0]]
// CHECK-NEXT: tile.release %k.0
// CHECK: tile.mma %{{.*}}, transpose %[[K1]]
// CHECK-NEXT: tile.release %k.1
// CHECK: tile.mma %{{.*}}, transpose %[[K2]]
// CHECK-NEXT: tile.commit %mma_compute1
// CHECK-NEXT: tile.release %k.2

// CHECK-LABEL: tile.role @load
// CHECK: scf.for
// CHECK: tile.acquire %k.0
// CHECK: tile.load %arg1[%{{.*}}, %{{.*}}, %{{.*}}, %c0{{.*}}] {{.*}} -> vector<128x64xbf16>
// CHECK-NEXT: tile.commit %k.0
// CHECK: tile.acquire %k.1
// CHECK: tile.load %arg1[%{{.*}}, %{{.*}}, %{{.*}}, %c64{{.*}}] {{.*}} -> vector<128x64xbf16>
// CHECK-NEXT: tile.commit %k.1
// CHECK: tile.acquire %k.2
// CHECK: tile.load %arg1[%{{.*}}, %{{.*}}, %{{.*}}, %c128{{.*}}] {{.*}} -> vector<128x64xbf16>
// CHECK-NEXT: tile.commit %k.2

func.func @f(%q: memref<?x?x?x192xbf16>, %k: memref<?x?x?x192xbf16>, %v: memref<?x?x?x128xbf16>, %out: memref<?x?x?x128xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : memref<?x?x?x128xbf16>)
    : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x128xbf16>
  return
}
