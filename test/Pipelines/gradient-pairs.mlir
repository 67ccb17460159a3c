// The gradient of attention on pairs of CTAs, from the op down to PTX. Each CTA has 128
// keys, the products with queries are MMAs of 256 rows, and dQ, the sum over the keys
// of both CTAs, is one of 128 rows, for which the CTAs exchange halves of dS. All of
// that has room in the memory of a CTA at head dim 128: dQ lies in the columns of the scores that
// P does not need, as soon as lanes have read the next scores. Next scores, dK and dP come before
// it, while the halves are on their way. With a causal mask, both visit the queries of both.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s < %t/full_preprocess_kernel.allocate.mlir
//
// $ fa4-compile "$S"/gradient-pairs.mlir --pairs=on -o . --emit=allocate,ptx
// $ cat full_kernel.ptx
// ...
// .reqnctapercluster 2, 1, 1
// ...
// {{.*}}tcgen05.mma.cta_group::2.kind::f16{{.*}}
// ...
// {{.*}}cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{{.*}}
// ...
// $ cat causal_kernel.ptx
// ...
// .reqnctapercluster 2, 1, 1
// ...
// {{.*}}tcgen05.mma.cta_group::2.kind::f16{{.*}}
// ...
// {{.*}}cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{{.*}}
// ...
//
// Kernels without MMAs, in front of it and behind it, have no pairs.
//
// $ grep -c 'cluster =' full_preprocess_kernel.allocate.mlir
// 2
//
// At head dim 128 the op need not ask for them; one of head dim 64 has none unless it does.
//
// $ fa4-compile "$S"/gradient-pairs.mlir -o auto
// $ diff auto/causal_kernel.ptx causal_kernel.ptx
// $ sed 's/x128xbf16/x64xbf16/g' "$S"/gradient-pairs.mlir > narrow.mlir
// $ fa4-compile narrow.mlir -o narrow
// $ fa4-compile narrow.mlir -o off --pairs=off
// $ diff narrow/causal_kernel.ptx off/causal_kernel.ptx
//
// Kernels of a window have pairs, too.
//
// $ sed 's/mask<causal, bottom_right>/mask<window, left = 200, right = 30, bottom_right>/' "$S"/gradient-pairs.mlir > window.mlir
// $ fa4-compile window.mlir -o window --pairs=on
// $ cat window/causal_kernel.ptx
// ...
// .reqnctapercluster 2, 1, 1
// ...
// {{.*}}tcgen05.mma.cta_group::2.kind::f16{{.*}}
// ...
// {{.*}}cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{{.*}}
// ...

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
