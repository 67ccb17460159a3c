// The proof of a kernel of pairs is one of both CTAs: the leader's MMAs read B in
// both, and its barriers count what arrives from both. A kernel that counts the
// bytes of one CTA, or that loads before the MMAs of the pair have read the
// stage, or that never frees it, is refused.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))' -o %t/k.mlir
// RUN: fa4-opt %t/k.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' | FileCheck %s
// CHECK: tile.channel "B" smem {{.*}} split(1)
// CHECK: tile.role @mma {{.*}} leader
//
// RUN: sed '/channel "A"/s/bytes(32768)/bytes(16384)/' %t/k.mlir > %t/bytes.mlir
// RUN: not fa4-opt %t/bytes.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: channel "A" has bytes(16384) a phase of its full barriers, expected bytes(32768)
//
// RUN: sed '/tile.release %%B/d' %t/k.mlir > %t/release.mlir
// RUN: not fa4-opt %t/release.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: error: {{.*}}"B
//
// RUN: sed '/tile.acquire %%B/d; /channel "B"/s/ empty([0-9]*) arrivals(1)//' %t/k.mlir > %t/acquire.mlir
// RUN: not fa4-opt %t/acquire.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=ACQUIRE
// ACQUIRE: error: {{.*}}"B
//
// Each CTA has half of the rows of B, which are not those of an MMA's result.
// RUN: sed 's/ split(1)/ split(0)/' %t/k.mlir > %t/rows.mlir
// RUN: not fa4-opt %t/rows.mlir --pass-pipeline='builtin.module(tile.kernel(tile-distribute{verify=false}),tile-to-nvvm{verify=false})' 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: 'tile.mma' op needs a B of which each CTA of the pair has half of the columns (split(1))
//
// The number of passes differs in the CTAs.
// RUN: sed '/@mma/,/@load/s/to %%[a-z0-9_]* step/to %%wt#0 step/; /tile.role @mma/a %%wt:2 = tile.work_tile : index, index' %t/k.mlir > %t/passes.mlir
// RUN: not fa4-opt %t/passes.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: error: @mma may make another number of passes of this loop in each CTA of a cluster, whose CTAs hand each other values
// Nor may a condition of the leader, here the one by which its MMA accumulates.
// RUN: sed '/@mma/,/@load/s/= arith.cmpi ne, %%arg3, /= arith.cmpi ne, %%wt#0, /; /tile.role @mma/a %%wt:2 = tile.work_tile : index, index' %t/k.mlir > %t/condition.mlir
// RUN: not fa4-opt %t/condition.mlir --tile-verify-protocol 2>&1 | FileCheck %s --check-prefix=CONDITION
// CONDITION: error: @mma may find another value of this condition in each CTA of a cluster, whose CTAs hand each other values
//
// The CTAs have other tiles of what is split, half of a B by the wrong dimension, or half of an A.
// RUN: sed 's/axis = 0>/axis = 1>/' %t/k.mlir > %t/other.mlir
// RUN: not fa4-opt %t/other.mlir --tile-verify-protocol 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'tile.load' op is split over the CTAs of a cluster, but may load another tile in each of them
// RUN: not fa4-opt %t/rows.mlir --tile-verify-protocol 2>&1 | FileCheck %s --check-prefix=HALF
// HALF: error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, which channel "B" has not
// RUN: sed 's/ split(1)//; s/"A" smem stages([0-9]*)/& split(0)/; s/\(tile.load %%arg0[^:]*\) :/\1 split(0) :/' %t/other.mlir > %t/half.mlir
// RUN: not fa4-opt %t/half.mlir --tile-verify-protocol 2>&1 | FileCheck %s --check-prefix=PART
// PART: error: 'tile.mma' op has an A of which each CTA of the cluster has only a part, in channel "A"
//
// The explorer, which puts the CTAs together by itself, says the same.
// RUN: fa4-test-opt %t/k.mlir --tile-explore-protocol=print=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLORED
// EXPLORED: @gemm: 8 cases, {{([0-9]{4})}} states
// RUN: not fa4-test-opt %t/release.mlir --tile-explore-protocol 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: channel "B": tokens are left over at the end
// RUN: not fa4-test-opt %t/acquire.mlir --tile-explore-protocol 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: error: channel "B": tokens are left over at the end
// Each CTA makes as many passes as its number says: the second one makes more than the leader.
// RUN: sed -e '/tile.role @[ml]/,/scf.for/{/scf.for/{s/to %%[a-z0-9_]* step/to %%n step/;i %%wt:2 = tile.work_tile : index, index' \
// RUN:   -e 'i %%n = arith.addi %%wt#0, %%c1 : index' -e '}}' %t/k.mlir > %t/more.mlir
// RUN: not fa4-opt %t/more.mlir --tile-verify-protocol 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: not fa4-test-opt %t/more.mlir --tile-explore-protocol 2>&1 | FileCheck %s --check-prefix=APART
// APART: error: channel "A (peer)": nothing orders this write by @load (peer) with one by @epilogue (peer)
