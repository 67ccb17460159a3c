// The proof of a kernel of pairs is one of both CTAs: the leader's MMAs read B in
// both, and its barriers count what arrives from both. A kernel that counts the
// bytes of one CTA, or that loads before the MMAs of the pair have read the
// stage, or that never frees it, is refused.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/Inputs/gemm-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))' -o k.mlir
// $ fa4-opt k.mlir --tile-verify-protocol
// ...
// {{.*}}tile.channel "B" smem {{.*}} split(1){{.*}}
// ...
//     tile.role @mma {{.*}} leader{{.*}}
// ...
//
// $ sed '/channel "A"/s/bytes(32768)/bytes(16384)/' k.mlir > bytes.mlir
// $ fa4-opt bytes.mlir --tile-verify-protocol
// {{.*}}error: channel "A" has bytes(16384) a phase of its full barriers, expected bytes(32768): 2 boxes of 128 rows of 128 bytes
// ...
// [1]
//
// $ sed '/tile.release %B/d' k.mlir > release.mlir
// $ fa4-opt release.mlir --tile-verify-protocol
// {{.*}}error: channel "B": 1 values are waited for by @mma, but 0 released
// ...
// [1]
//
// $ sed '/tile.acquire %B/d; /channel "B"/s/ empty([0-9]*) arrivals(1)//' k.mlir > acquire.mlir
// $ fa4-opt acquire.mlir --tile-verify-protocol
// {{.*}}error: channel "B": 1 values are committed, but 0 acquired
// ...
// [1]
//
// Each CTA has half of the rows of B, which are not those of an MMA's result.
//
// $ sed 's/ split(1)/ split(0)/' k.mlir > rows.mlir
// $ fa4-opt rows.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-distribute{verify=false}),tile-to-nvvm{verify=false})'
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the pair has half of the columns (split(1))
// ...
// [1]
//
// The number of passes differs in the CTAs.
//
// $ sed '/@mma/,/@load/s/to %[a-z0-9_]* step/to %wt#0 step/; /tile.role @mma/a %wt:2 = tile.work_tile : index, index' k.mlir > passes.mlir
// $ fa4-opt passes.mlir --tile-verify-protocol
// {{.*}}error: @mma may make another number of passes of this loop in each CTA of a cluster, whose CTAs hand each other values
// ...
// [1]
//
// Nor may a condition of the leader, here the one by which its MMA accumulates.
//
// $ sed '/@mma/,/@load/s/= arith.cmpi ne, %arg3, /= arith.cmpi ne, %wt#0, /; /tile.role @mma/a %wt:2 = tile.work_tile : index, index' k.mlir > condition.mlir
// $ fa4-opt condition.mlir --tile-verify-protocol
// {{.*}}error: @mma may find another value of this condition in each CTA of a cluster, whose CTAs hand each other values
// ...
// [1]
//
// The CTAs have other tiles of what is split, half of a B by the wrong dimension, or half of an A.
//
// $ sed 's/axis = 0>/axis = 1>/' k.mlir > other.mlir
// $ fa4-opt other.mlir --tile-verify-protocol
// {{.*}}error: 'tile.load' op is split over the CTAs of a cluster, but may load another tile in each of them
// ...
// [1]
// $ fa4-opt rows.mlir --tile-verify-protocol
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, which channel "B" has not
// ...
// [1]
// $ sed 's/ split(1)//; s/"A" smem stages([0-9]*)/& split(0)/; s/\(tile.load %arg0[^:]*\) :/\1 split(0) :/' other.mlir > half.mlir
// $ fa4-opt half.mlir --tile-verify-protocol
// {{.*}}error: 'tile.mma' op has an A of which each CTA of the cluster has only a part, in channel "A"
// ...
// [1]
//
// The explorer, which puts the CTAs together by itself, says the same.
//
// $ fa4-test-opt k.mlir --tile-explore-protocol=print=true -o /dev/null
// @gemm: 8 cases, {{([0-9]{4})}} states
// $ fa4-test-opt release.mlir --tile-explore-protocol
// {{.*}}error: channel "B": tokens are left over at the end
// ...
// [1]
// $ fa4-test-opt acquire.mlir --tile-explore-protocol
// {{.*}}error: channel "B": tokens are left over at the end
// ...
// [1]
//
// Each CTA makes as many passes as its number says: the second one makes more than the leader.
//
// $ sed \
//     -e '/tile.role @[ml]/,/scf.for/{/scf.for/{s/to %[a-z0-9_]* step/to %n step/;i %wt:2 = tile.work_tile : index, index' \
//     -e 'i %n = arith.addi %wt#0, %c1 : index' -e '}}' k.mlir > more.mlir
// $ fa4-opt more.mlir --tile-verify-protocol
// {{.*}}error: @mma may make another number of passes of this loop in each CTA of a cluster, whose CTAs hand each other values
// ...
// [1]
// $ fa4-test-opt more.mlir --tile-explore-protocol
// {{.*}}error: channel "A (peer)": nothing orders this write by @load (peer) with one by @epilogue (peer) of channel "epilogue_store (peer)"
// ...
// [1]
