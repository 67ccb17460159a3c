// The product of gemm.mlir, by pairs of CTAs: one MMA of 256 rows for both,
// which the leader issues and of whose B each CTA loads half. It must compute
// the right numbers, also where the number of work tiles is odd, so that a CTA
// has none. With arrivals or bytes of one CTA only, the barriers of the leader
// would complete early or never.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/gemm.allocate.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/gemm.ptx
//
// $ fa4-compile "$S"/gemm.mlir --from=tile --pairs=on -o . --emit=allocate,ptx
//
// 2 pairs x 2 columns of tiles, 5 blocks of K, 2 tiles of rows, 4 instructions,
// one for both CTAs.
//
// $ fa4-sim gemm.json M=600 N=136 K=264 --random --check --seeds 0:7 --stats --output A=A.npy --output B=B.npy C=C.npy > stats.txt
// $ grep -c 'mma instructions *160$' stats.txt
// 8
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// One K block, and less than one tile.
//
// $ fa4-sim gemm.json M=40 N=24 K=16 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// The leader's barriers count the bytes of both CTAs: of A, each loads a tile
// of 16384 bytes, of B half a tile of that size.
//
// ALLOCATE: cluster = #tile.cluster<size = 2, axis = 0>
// ALLOCATE: tile.channel "A" smem stages(4) place<offset({{[0-9]+}}) full({{[0-9]+}}) arrivals(1) bytes(32768) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE: tile.channel "B" smem stages(4) split(1) place<offset({{[0-9]+}}) full({{[0-9]+}}) arrivals(1) bytes(16384) empty({{[0-9]+}}) arrivals(1)
// ALLOCATE: tile.channel "mma_epilogue" tmem stages(1) place<offset(0) full({{[0-9]+}}) arrivals(1)
// ALLOCATE: tile.role @mma kind(issuer) {{.*}} leader {
//
// PTX: .reqnctapercluster 2, 1, 1
// PTX: tcgen05.alloc.cta_group::2
// PTX: barrier.cluster.arrive.aligned
// PTX: barrier.cluster.wait.aligned
// PTX: tcgen05.mma.cta_group::2.kind::f16
// PTX: tcgen05.commit.cta_group::2.{{.*}}.multicast::cluster.b64
// PTX: mapa.shared::cluster
// PTX: cp.async.bulk.tensor.2d.shared::cluster{{.*}}.cta_group::2
//


