// Proof and explorer agree on kernels whose CTAs go on from work tile to work tile: the
// explorer runs all interleavings of a few tiles, the proof is about any number.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-test-opt $S/Inputs/gemm-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=static},tile-warp-specialize,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2 print=true}))' -o static.mlir
// @gemm: {{([0-9]{3,4})}} steps{{.*}}
// @gemm: 5 cases, {{([0-9]{3})}} states
// $ fa4-test-opt $S/Inputs/gemm-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=clc},tile-warp-specialize,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2 print=true}))' -o clc.mlir
// @gemm: {{([0-9]{3,4})}} steps{{.*}}
// @gemm: 5 cases, {{([0-9]{3})}} states
// $ fa4-test-opt $S/Inputs/attention-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-assign-work{schedule=clc},tile-warp-specialize,tile-schedule,tile-split-loop,tile-share-buffers,tile-allocate,tile-distribute,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=1 print=true}))' -o lanes.mlir
// @attention: {{([0-9]{5})}} steps{{.*}}
// @attention: 4 cases, {{([0-9]{3})}} states

// The result's buffer is not given back: the next tile waits for it forever.
//
// $ sed '/tile.release %epilogue_store/d' static.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "epilogue_store": 1 values are waited for by @store, but 0 released
// ...
// [1]
// $ sed '/tile.release %epilogue_store/d' static.mlir | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: channel "epilogue_store": tokens are left over at the end
// ...
// [1]

// A response is never given back, or asked for without a place for it.
//
// $ sed '0,/tile.release %next/{//d}' clc.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "next": 1 values are waited for by @epilogue, but 0 released
// ...
// [1]
// $ sed '0,/tile.release %next/{//d}' clc.mlir | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: channel "next": tokens are left over at the end
// ...
// [1]
// $ sed '/tile.acquire %next/d' clc.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "next": 1 values are committed, but 0 acquired
// ...
// [1]
// $ sed '/tile.acquire %next/d' clc.mlir | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: channel "next": tokens are left over at the end
// ...
// [1]

// The first value of an accumulator that the lanes hand on from tile to tile is
// undefined: an MMA may not add to it.
//
// $ sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' lanes.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction": @mma reads a value that no one has written
// ...
// [1]
// $ sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' lanes.mlir | fa4-test-opt --tile-explore-protocol=max-passes=1
// {{.*}}error: @mma reads a value that nobody writes
// ...
// [1]
