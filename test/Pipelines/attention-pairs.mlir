// Attention by pairs of CTAs, each with 256 rows of queries: K and V are the operands B, of which each
// CTA has half. The probabilities of both, and the sums of both that have been rescaled, are waited for at the leader's
// barriers. Down to tile-pair-ctas the IR is that of CTAs that work alone. (Numbers are held by test_grid.py.)
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-compile %s -o %t/on --pairs=on --emit=tile,subtile,pair-ctas,allocate,ptx
// RUN: fa4-compile %s -o %t/off --pairs=off --emit=tile,subtile
// RUN: diff %t/on/f_kernel.tile.mlir %t/off/f_kernel.tile.mlir
// RUN: diff %t/on/f_kernel.subtile.mlir %t/off/f_kernel.subtile.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PAIR < %t/on/f_kernel.pair-ctas.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/on/f_kernel.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/on/f_kernel.ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=MANIFEST < %t/on/f_kernel.json
// RUN: fa4-compile %t/on/f_kernel.pair-ctas.mlir --from=pair-ctas -o %t/again
// RUN: diff %t/on/f_kernel.ptx %t/again/f_kernel.ptx

// Both loads are the B of MMAs: K by rows, because it is transposed, V by columns.
// PAIR: cluster = #tile.cluster<size = 2, axis = 0>
// PAIR: tile.load %arg1{{.*}} split(0)
// PAIR: tile.load %arg2{{.*}} split(1)

// Queries are each CTA's own: 2 x 32768 bytes arrive. P and the rescaled sums come from 128 threads of each CTA.
// ALLOCATE-DAG: tile.channel "q" smem stages(1) {{.*}}bytes(65536)
// ALLOCATE-DAG: tile.channel "k" smem stages(2) split(0) {{.*}}bytes(32768) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "v" smem stages(2) split(1) {{.*}}bytes(32768) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "compute0_mma.0" tmem {{.*}}full({{[0-9]+}}) arrivals(256)
// ALLOCATE-DAG: tile.channel "mma_compute0" tmem {{.*}}full({{[0-9]+}}) arrivals(1)
// ALLOCATE-DAG: tile.channel "correction_mma" tmem {{.*}}full({{[0-9]+}}) arrivals(256)
// What lanes hand each other stays in their CTA.
// ALLOCATE-DAG: tile.channel "compute0_correction" smem {{.*}}full({{[0-9]+}}) arrivals(128) empty({{[0-9]+}}) arrivals(128)
// ALLOCATE: tile.role @mma kind(issuer) {{.*}} leader {

// Work tiles are given to clusters, of which CTAs have one each.
// PTX: .reqnctapercluster 2, 1, 1
// PTX: mov.u32 {{.*}}, %nclusterid.x
// PTX: mov.u32 {{.*}}, %clusterid.x
// PTX: mov.u32 {{.*}}, %cluster_ctarank
// PTX: mapa.shared::cluster
// PTX: mbarrier.arrive{{.*}}.shared::cluster
// PTX: tcgen05.mma.cta_group::2.kind::f16
// PTX: tcgen05.commit.cta_group::2.{{.*}}.multicast::cluster.b64

// MANIFEST: "2 * min(sm_count / 2, ceildiv(Sq, 512) * Hq * B)"
// MANIFEST: "condition": "sm_count >= 2 &&
// MANIFEST: "condition": "2 * ceildiv(Sq, 512) * Hq * B >= 0 &&

func.func @f(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
             %out: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out, %lse : memref<?x?x?x128xbf16>, memref<?x?x?xf32>)
    : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>
  return
}

// With a causal mask, both CTAs work on the blocks of keys of the one that needs more, and mask the others.
// RUN: sed 's/layout<bshd>/layout<bshd> mask<causal, bottom_right>/' %s > %t/causal.mlir
// RUN: fa4-compile %t/causal.mlir -o %t/causal --pairs=on --emit=subtile,pair-ctas,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=BOUND < %t/causal/f_kernel.subtile.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=CAUSAL < %t/causal/f_kernel.pair-ctas.mlir
// BOUND: tile.at_least
// CAUSAL: cluster = #tile.cluster<size = 2, axis = 0>
// CAUSAL-NOT: tile.at_least
// CAUSAL: arith.maxsi
// CAUSAL: scf.for
// CAUSAL: tile.load %arg1{{.*}} split(0)
// A cluster is launched for each work tile of a cluster, and asks for those that have not started: by one thread of its leader.
// RUN: fa4-compile %s -o %t/clc --pairs=on --schedule=clc --emit=allocate,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=ASK < %t/clc/f_kernel.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=CLC < %t/clc/f_kernel.ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=ALL < %t/clc/f_kernel.json
// Both CTAs' three roles of 128 threads, and their loads and stores; the leader's MMAs and requests.
// ASK: tile.channel "next" smem stages(1) {{.*}} arrivals(1) bytes(16) empty({{[0-9]+}}) arrivals(774)> : <i128>
// ASK: tile.role @request kind(issuer) {{.*}} leader {
// CLC: .reqnctapercluster 2, 1, 1
// CLC: clusterlaunchcontrol.try_cancel{{.*}}.multicast::cluster::all
// ALL: "2 * ceildiv(Sq, 512) * Hq * B"
// RUN: not fa4-compile %s -o %t/yes --pairs=yes 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: fa4-compile: error: --pairs must be auto, on or off, got 'yes'
