// Attention by pairs of CTAs, each with 256 rows of queries: K and V are the operands B, of which each
// CTA has half. The probabilities of both, and the sums of both that have been rescaled, are waited for at the leader's
// barriers. Down to tile-pair-ctas the IR is that of CTAs that work alone. (Numbers are held by test_grid.py.)
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=PAIR < %t/on/f_kernel.pair-ctas.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/on/f_kernel.allocate.mlir
//
// $ fa4-compile "$S"/attention-pairs.mlir -o on --pairs=on --emit=tile,subtile,pair-ctas,allocate,ptx
// $ fa4-compile "$S"/attention-pairs.mlir -o off --pairs=off --emit=tile,subtile
// $ diff on/f_kernel.tile.mlir off/f_kernel.tile.mlir
// $ diff on/f_kernel.subtile.mlir off/f_kernel.subtile.mlir
//
// Work tiles are given to clusters, of which CTAs have one each.
//
// $ cat on/f_kernel.ptx
// ...
// .reqnctapercluster 2, 1, 1
// ...
// 	mov.u32 {{.*}}, %nclusterid.x;
// ...
// 	mov.u32 {{.*}}, %clusterid.x;
// ...
// 	mov.u32 {{.*}}, %cluster_ctarank;
// ...
// 	mapa.shared::cluster{{.*}}
// ...
// 	mbarrier.arrive{{.*}}.shared::cluster{{.*}}
// ...
// 	tcgen05.mma.cta_group::2.kind::f16{{.*}}
// ...
// 	tcgen05.commit.cta_group::2.{{.*}}.multicast::cluster.b64{{.*}}
// ...
// $ cat on/f_kernel.json
// ...
//     "2 * min(sm_count / 2, ceildiv(Sq, 512) * Hq * B)"
// ...
//       "condition": "sm_count >= 2 &&{{.*}}
// ...
//       "condition": "2 * ceildiv(Sq, 512) * Hq * B >= 0 &&{{.*}}
// ...
// $ fa4-compile on/f_kernel.pair-ctas.mlir --from=pair-ctas -o again
// $ diff on/f_kernel.ptx again/f_kernel.ptx
//
// With a causal mask, both CTAs work on the blocks of keys of the one that needs more, and mask the others.
//
// $ sed 's/layout<bshd>/layout<bshd> mask<causal, bottom_right>/' "$S"/attention-pairs.mlir > causal.mlir
// $ fa4-compile causal.mlir -o causal --pairs=on --emit=subtile,pair-ctas,ptx
// $ cat causal/f_kernel.subtile.mlir
// ...
// {{.*}}tile.at_least{{.*}}
// ...
// $ cat causal/f_kernel.pair-ctas.mlir
// ...
// {{.*}}cluster = #tile.cluster<size = 2, axis = 0>{{.*}}
// ...
// {{.*}}arith.maxsi{{.*}}
// ...
// {{.*}}scf.for{{.*}}
// ...
// {{.*}}tile.load %arg1{{.*}} split(0){{.*}}
// ...
// $ sed '/arith.maxsi/q' causal/f_kernel.pair-ctas.mlir | grep -c tile.at_least
// 0
// [1]
//
// A cluster is launched for each work tile of a cluster, and asks for those that have not started: by one thread of its
// leader. Both CTAs' three roles of 128 threads, and their loads and stores, give the response back, and the leader's
// MMAs and requests.
//
// $ fa4-compile "$S"/attention-pairs.mlir -o clc --pairs=on --schedule=clc --emit=allocate,ptx
// $ cat clc/f_kernel.allocate.mlir
// ...
// {{.*}}tile.channel "next" smem stages(1) {{.*}} arrivals(1) bytes(16) empty({{[0-9]+}}) arrivals(774)> : <i128>
// ...
// {{.*}}tile.role @request kind(issuer) {{.*}} leader {
// ...
// $ cat clc/f_kernel.ptx
// ...
// .reqnctapercluster 2, 1, 1
// ...
// {{.*}}clusterlaunchcontrol.try_cancel{{.*}}.multicast::cluster::all{{.*}}
// ...
// $ cat clc/f_kernel.json
// ...
// {{.*}}"2 * ceildiv(Sq, 512) * Hq * B"{{.*}}
// ...
// $ fa4-compile "$S"/attention-pairs.mlir -o yes --pairs=yes
// fa4-compile: error: --pairs must be auto, on or off, got 'yes'
// [2]
//
// Both loads are the B of MMAs: K by rows, because it is transposed, V by columns.
//
// PAIR: cluster = #tile.cluster<size = 2, axis = 0>
// PAIR: tile.load %arg1{{.*}} split(0)
// PAIR: tile.load %arg2{{.*}} split(1)
//
// Queries are each CTA's own: 2 x 32768 bytes arrive. P and the rescaled sums come from 128 threads of each CTA.
//
// ALLOCATE-DAG: tile.channel "q" smem stages(1) {{.*}}bytes(65536)
// ALLOCATE-DAG: tile.channel "k" smem stages(2) split(0) {{.*}}bytes(32768) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "v" smem stages(2) split(1) {{.*}}bytes(32768) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "compute0_mma.0" tmem {{.*}}full({{[0-9]+}}) arrivals(256)
// ALLOCATE-DAG: tile.channel "mma_compute0" tmem {{.*}}full({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "correction_mma" tmem {{.*}}full({{[0-9]+}}) arrivals(256)
//
// What lanes hand each other stays in their CTA.
//
// ALLOCATE-DAG: tile.channel "compute0_correction" smem {{.*}}full({{[0-9]+}}) arrivals(128) empty({{[0-9]+}}) arrivals(128)
// ALLOCATE: tile.role @mma kind(issuer) {{.*}} leader {

func.func @f(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
             %out: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out, %lse : memref<?x?x?x128xbf16>, memref<?x?x?xf32>)
    : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>
  return
}
