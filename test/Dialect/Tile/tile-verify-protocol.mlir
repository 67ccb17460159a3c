// The kernels of the test programs, before scheduling, after it, and placed; each
// is proven in few steps.
// RUN: fa4-opt %S/Inputs/attention-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2},tile-schedule,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-split-loop,tile-allocate,tile-verify-protocol,tile-explore-protocol{max-passes=2}))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=ATTENTION
// ATTENTION: @attention: {{([0-9]{3})}} steps
// RUN: fa4-opt %S/Inputs/gradient-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=GRADIENT
// GRADIENT: @backward: {{([0-9]{2,4})}} steps
// RUN: fa4-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol,tile-schedule,tile-allocate,tile-verify-protocol,tile-explore-protocol))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=GEMM
// GEMM: @gemm: {{([0-9]{2,3})}} steps
// An accumulator that the first pass starts is not written where there is none: its
// epilogue may take it only under that condition.
// RUN: sed 's/%n = arith.maxsi %blocks, %c1/%n = arith.maxsi %blocks, %c0/' %S/Inputs/gemm-program.mlir | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol,tile-explore-protocol))' -o %t.gemm
// RUN: sed 's/scf.yield %cst/scf.yield %3/' %t.gemm | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EMPTY
// EMPTY: error: channel "mma_epilogue": @epilogue reads a value that is not there: it was not written before
// EMPTY: note: @mma makes 0 passes of this loop

// RUN: fa4-opt %S/Inputs/protocol.mlir --tile-verify-protocol=print=true -o %t 2>&1 | FileCheck %s --dump-input=never --check-prefix=PROTOCOL
// PROTOCOL: @kernel: {{([0-9]{3})}} steps
// Buffers of their own need no acquire either, as both roles take turns.
// RUN: sed -e '/#in-place$/d' -e 's,//+apart ,,' %S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// On a module.
// RUN: fa4-opt %S/Inputs/protocol.mlir --verify-protocol -o /dev/null

// What the passes leave is what they were given.
// RUN: fa4-opt %S/Inputs/protocol.mlir -o %t.plain
// RUN: diff %t %t.plain
