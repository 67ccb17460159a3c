// The gradient of attention on pairs of CTAs, from the op down to PTX. Each CTA has 128
// keys, the products with queries are MMAs of 256 rows, and dQ, the sum over the keys
// of both CTAs, is one of 128 rows, for which the CTAs exchange halves of dS. All of
// that has room in the memory of a CTA at head dim 128: dQ lies in the columns of the scores that
// P does not need, as soon as lanes have read the next scores. Next scores, dK and dP come before
// it, while the halves are on their way. With a causal mask, both visit the queries of both.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-compile %s --pairs=on -o %t --emit=allocate,ptx
// RUN: FileCheck --dump-input=never %s < %t/full_preprocess_kernel.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/full_kernel.ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/causal_kernel.ptx

// CHECK-LABEL: tile.kernel @full_kernel
// CHECK-SAME: cluster = #tile.cluster<size = 2, axis = 0>
// CHECK-DAG: tile.channel "k" smem stages(1) place<offset{{.*}} : <vector<128x128xbf16>>
// CHECK-DAG: tile.channel "k_2" smem stages(1) split(1) place<offset{{.*}} : <vector<256x128xbf16>>
// CHECK-DAG: tile.channel "q" smem stages(1) split(0)
// CHECK-DAG: tile.channel "q_2" smem stages(1) split(1)
// CHECK-DAG: tile.channel "compute0_exchange" smem stages(1) exchange place<offset{{.*}} landed({{[0-9]+}}) arrivals(1) bytes(16384)> : <vector<128x128xbf16>>
// CHECK-DAG: tile.channel "exchange_mma" smem stages(1) in_place_of(%compute0_exchange : {{.*}} arrivals(2) empty({{[0-9]+}}) arrivals(1)> : <vector<256x64xbf16>>
// CHECK-DAG: tile.channel "mma_compute0_back" tmem stages(1) in_place_of(%mma_compute0 : {{.*}} arrivals(256)> : <vector<128x128xf32>>
// CHECK-DAG: tile.channel "mma_epilogue" tmem stages(1) in_place_of(%mma_compute0 : {{.*}} at(64) {{.*}} : <vector<64x128xf32>>
// CHECK: tile.commit %mma_compute0_back
// CHECK: tile.role @mma kind(issuer) {{.*}} leader
// CHECK: scf.for
// CHECK: tile.acquire %mma_epilogue
// CHECK: tile.commit %mma_compute0,
// CHECK: tile.release %q_2
// CHECK: tile.commit %mma_compute0_2,
// CHECK: tile.wait %mma_compute0_back
// CHECK: tile.commit %mma_epilogue,
// CHECK: scf.yield
// CHECK: tile.role @exchange kind(issuer)
// CHECK: tile.exchange

// PTX: .reqnctapercluster 2, 1, 1
// PTX-DAG: tcgen05.mma.cta_group::2.kind::f16
// PTX-DAG: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
func.func @full(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x2x128xbf16>, %v: tensor<?x?x2x128xbf16>, %out: tensor<?x?x4x128xbf16>,
                %dout: tensor<?x?x4x128xbf16>, %lse: tensor<?x4x?xf32>) -> (tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd>
    : tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x4x?xf32>
      -> tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
}

func.func @causal(%q: tensor<?x?x4x128xbf16>, %k: tensor<?x?x2x128xbf16>, %v: tensor<?x?x2x128xbf16>, %out: tensor<?x?x4x128xbf16>,
                  %dout: tensor<?x?x4x128xbf16>, %lse: tensor<?x4x?xf32>) -> (tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse) layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x?x4x128xbf16>, tensor<?x4x?xf32>
      -> tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
  return %dq, %dk, %dv : tensor<?x?x4x128xbf16>, tensor<?x?x2x128xbf16>, tensor<?x?x2x128xbf16>
}

// Kernels without MMAs, in front of it and behind it, have no pairs. At head dim 128 the op need not ask for them; one of
// head dim 64 has none unless it does.
// RUN: grep -c 'cluster =' %t/full_preprocess_kernel.allocate.mlir | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}2{{$}}
// RUN: fa4-compile %s -o %t/auto
// RUN: diff %t/auto/causal_kernel.ptx %t/causal_kernel.ptx
// RUN: sed 's/x128xbf16/x64xbf16/g' %s > %t/narrow.mlir
// RUN: fa4-compile %t/narrow.mlir -o %t/narrow
// RUN: fa4-compile %t/narrow.mlir -o %t/off --pairs=off
// RUN: diff %t/narrow/causal_kernel.ptx %t/off/causal_kernel.ptx

// So have those of a window.
// RUN: sed 's/mask<causal, bottom_right>/mask<window, left = 200, right = 30, bottom_right>/' %s > %t/window.mlir
// RUN: fa4-compile %t/window.mlir -o %t/window --pairs=on
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/window/causal_kernel.ptx

// Pairs take turns as CTAs alone do: by their numbers, each CTA at places of its own, 64 rows apart, in parts of 16 columns
// of which the two halves of a folded tile are added one after another.
// RUN: sed 's/layout<bshd>/layout<bshd> deterministic/' %t/window.mlir | sed 's/ deterministic mask\(.*>\)$/ mask\1 deterministic/' > %t/turns.mlir
// RUN: fa4-compile %t/turns.mlir -o %t/turns --pairs=on --emit=allocate,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=TURNS < %t/turns/full_preprocess_kernel.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=TURNS-PTX < %t/turns/causal_kernel.ptx
// TURNS-LABEL: tile.kernel @full_kernel
// TURNS-SAME: schedule = #tile.schedule<lpt>
// TURNS-DAG: %[[TILE:.*]]:3 = tile.work_tile
// TURNS-DAG: %[[PAIR:.*]] = arith.divui %[[TILE]]#0, %{{.*}} : index
// TURNS: %[[TURN:.*]] = tile.await_turn %{{.*}} of %{{.*}} in %{{.*}} to %{{.*}} parts(8) : memref<?x4x?xi32>
// TURNS: tile.reduce_add %{{.*}} in_turn(%[[TURN]]) : vector<64x16xf32>
// TURNS: tile.pass_turn %[[TURN]]
// TURNS-PTX: ld.acquire.gpu.global.b32
// TURNS-PTX: red.release.gpu.global.add.u32
