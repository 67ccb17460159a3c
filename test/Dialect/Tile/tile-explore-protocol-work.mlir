// Proof and explorer agree on kernels whose CTAs go on from work tile to work tile: the
// explorer runs all interleavings of a few tiles, the proof is about any number.
//
// RUN: fa4-test-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=static},tile-warp-specialize,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2 print=true}))' -o %t.static 2>&1 | FileCheck %s --dump-input=never --check-prefix=GEMM
// RUN: fa4-test-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=clc},tile-warp-specialize,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2 print=true}))' -o %t.clc 2>&1 | FileCheck %s --dump-input=never --check-prefix=GEMM
// GEMM: @gemm: {{([0-9]{3,4})}} steps
// GEMM: @gemm: 5 cases, {{([0-9]{3})}} states
// RUN: fa4-test-opt %S/Inputs/attention-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-assign-work{schedule=clc},tile-warp-specialize,tile-schedule,tile-split-loop,tile-share-buffers,tile-allocate,tile-distribute,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=1 print=true}))' -o %t.lanes 2>&1 | FileCheck %s --dump-input=never --check-prefix=ATTENTION
// ATTENTION: @attention: {{([0-9]{5})}} steps
// ATTENTION: @attention: 4 cases, {{([0-9]{3})}} states

// The result's buffer is not given back: the next tile waits for it forever.
// RUN: sed '/tile.release %epilogue_store/d' %t.static | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=KEPT
// RUN: sed '/tile.release %epilogue_store/d' %t.static | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=KEPT
// KEPT: error: channel "epilogue_store": {{.*}}

// A response is never given back, or asked for without a place for it.
// RUN: sed '0,/tile.release %next/{//d}' %t.clc | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NEXT
// RUN: sed '0,/tile.release %next/{//d}' %t.clc | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=NEXT
// RUN: sed '/tile.acquire %next/d' %t.clc | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NEXT
// RUN: sed '/tile.acquire %next/d' %t.clc | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=NEXT
// NEXT: error: channel "next": {{.*}}

// The first value of an accumulator that the lanes hand on from tile to tile is
// undefined: an MMA may not add to it.
// RUN: sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' %t.lanes | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=UNDEFINED
// UNDEFINED: error: channel "mma_correction": @mma reads a value that no one has written
// RUN: sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' %t.lanes | not fa4-test-opt --tile-explore-protocol=max-passes=1 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// EXPLORED: error: @mma reads a value that nobody writes
