// A cluster asks for work by its leader, and all roles of both CTAs wait for the response. The proof of such a
// kernel is one of both CTAs: a role of either that keeps the response, or arrivals and bytes that are not
// those of both, are found. So they are by the explorer of all interleavings.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/Inputs/gemm-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on},tile-assign-work{schedule=clc},tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate))' -o k.mlir
// $ fa4-opt k.mlir --tile-verify-protocol
// ...
// {{.*}}tile.channel "next" smem {{.*}} arrivals(1) bytes(16) empty({{[0-9]+}}) arrivals(262)> : <i128>
// ...
//     tile.role @mma {{.*}} leader{{.*}}
// ...
// {{.*}}tile.wait %next{{.*}}
//         tile.release %next{{.*}}
// ...
//     tile.role @request {{.*}} leader{{.*}}
// ...
// {{.*}}tile.request{{.*}}
// ...
// $ fa4-test-opt k.mlir --tile-explore-protocol=max-passes=2 -o /dev/null
//
// 128 lanes, a load and a store in each CTA, an MMA and a request in the leader.
//
// $ sed '/channel "next"/s/arrivals(262)/arrivals(132)/' k.mlir > one.mlir
// $ fa4-opt one.mlir --tile-verify-protocol
// {{.*}}error: channel "next" has arrivals(132) a phase of its empty barriers, expected arrivals(262): @epilogue 128, @mma 1, @load 1, @store 1, @request 1, @epilogue (peer) 128, @load (peer) 1, @store (peer) 1
// ...
// [1]
//
// $ sed '/channel "next"/s/bytes(16)/bytes(32)/' k.mlir > bytes.mlir
// $ fa4-opt bytes.mlir --tile-verify-protocol
// {{.*}}error: channel "next" has bytes(32) a phase of its full barriers, expected bytes(16): a response of 16 bytes
// ...
// [1]
//
// $ sed '/channel "next"/s/arrivals(1) bytes/arrivals(2) bytes/' k.mlir > two.mlir
// $ fa4-opt two.mlir --tile-verify-protocol
// {{.*}}error: channel "next" has arrivals(2) a phase of its full barriers, expected arrivals(1): @request 1
// ...
// [1]
//
// A role of the leader keeps the response, or one of each CTA.
//
// $ sed '/role @mma/,/role @load/{/tile.release %next/d}' k.mlir > mma.mlir
// $ fa4-opt mma.mlir --tile-verify-protocol
// {{.*}}error: channel "next": 1 values are waited for by @mma, but 0 released
// ...
// [1]
// $ fa4-test-opt mma.mlir --tile-explore-protocol
// {{.*}}error: channel "next": tokens are left over at the end
// ...
// [1]
// $ sed '/role @store/,/role @request/{/tile.release %next/d}' k.mlir > store.mlir
// $ fa4-opt store.mlir --tile-verify-protocol
// {{.*}}error: channel "next": 1 values are waited for by @store, but 0 released
// ...
// [1]
// $ fa4-test-opt store.mlir --tile-explore-protocol
// {{.*}}error: channel "next": tokens are left over at the end
// ...
// [1]
//
// The next response comes before the last one is read.
//
// $ sed '/tile.acquire %next/d' k.mlir > acquire.mlir
// $ fa4-opt acquire.mlir --tile-verify-protocol
// {{.*}}error: channel "next": 1 values are committed, but 0 acquired
// ...
// [1]
