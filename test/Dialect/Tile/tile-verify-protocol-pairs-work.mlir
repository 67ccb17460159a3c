// A cluster asks for work by its leader, and all roles of both CTAs wait for the response. The proof of such a
// kernel is one of both CTAs: a role of either that keeps the response, or arrivals and bytes that are not
// those of both, are found. So they are by the explorer of all interleavings.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-assign-work{schedule=clc},tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))' -o %t/k.mlir
// RUN: fa4-opt %t/k.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' | FileCheck %s
// RUN: fa4-test-opt %t/k.mlir --tile-explore-protocol=max-passes=2 -o /dev/null
//
// 128 lanes, a load and a store in each CTA, an MMA and a request in the leader.
// CHECK: tile.channel "next" smem {{.*}} arrivals(1) bytes(16) empty({{[0-9]+}}) arrivals(262)> : <i128>
// CHECK: tile.role @mma {{.*}} leader
// CHECK: tile.wait %next
// CHECK: tile.release %next
// CHECK: tile.role @request {{.*}} leader
// CHECK: tile.request
//
// RUN: sed '/channel "next"/s/arrivals(262)/arrivals(132)/' %t/k.mlir > %t/one.mlir
// RUN: not fa4-opt %t/one.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: channel "next" has arrivals(132) a phase of its empty barriers, expected arrivals(262): @epilogue 128, @mma 1, @load 1, @store 1, @request 1, @epilogue (peer) 128, @load (peer) 1, @store (peer) 1
//
// RUN: sed '/channel "next"/s/bytes(16)/bytes(32)/' %t/k.mlir > %t/bytes.mlir
// RUN: not fa4-opt %t/bytes.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: channel "next" has bytes(32) a phase of its full barriers, expected bytes(16): a response of 16 bytes
//
// RUN: sed '/channel "next"/s/arrivals(1) bytes/arrivals(2) bytes/' %t/k.mlir > %t/two.mlir
// RUN: not fa4-opt %t/two.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: channel "next" has arrivals(2) a phase of its full barriers, expected arrivals(1): @request 1
//
// A role of the leader keeps the response, or one of each CTA.
// RUN: sed '/role @mma/,/role @load/{/tile.release %%next/d}' %t/k.mlir > %t/mma.mlir
// RUN: not fa4-opt %t/mma.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=MMA
// RUN: not fa4-test-opt %t/mma.mlir --tile-explore-protocol 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: channel "next": tokens are left over at the end
// MMA: error: channel "next": 1 values are waited for by @mma, but 0 released
// RUN: sed '/role @store/,/role @request/{/tile.release %%next/d}' %t/k.mlir > %t/store.mlir
// RUN: not fa4-opt %t/store.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not fa4-test-opt %t/store.mlir --tile-explore-protocol 2>&1 | FileCheck %s --check-prefix=LEFT
// STORE: error: channel "next": 1 values are waited for by @store, but 0 released
//
// The next response comes before the last one is read.
// RUN: sed '/tile.acquire %%next/d' %t/k.mlir > %t/acquire.mlir
// RUN: not fa4-opt %t/acquire.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=ACQUIRE
// ACQUIRE: error: channel "next": 1 values are committed, but 0 acquired
