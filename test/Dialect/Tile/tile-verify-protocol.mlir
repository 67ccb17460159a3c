// The test programs' kernels are proven before scheduling, after it, and when
// they are placed. The number of steps is pinned by its digits, because a proof
// that does not close grows quickly.
//
// RUN: fa4-test-opt %S/Inputs/attention-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2},tile-schedule,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-split-loop,tile-share-buffers,tile-allocate,tile-verify-protocol,tile-explore-protocol{max-passes=2}))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=ATTENTION
// ATTENTION: @attention: {{([0-9]{3})}} steps
// With lanes that write part of what they hand on, in its own buffer.
// RUN: fa4-test-opt %S/Inputs/attention-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-schedule,tile-split-loop,tile-share-buffers,tile-allocate,tile-distribute,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2}))' -o %t.lanes 2>&1 | FileCheck %s --dump-input=never --check-prefix=LANES
// LANES: @attention: {{([0-9]{3,4})}} steps
// Buffers of another type, or that hold nothing, cannot be handed on; nor can parts.
// RUN: sed '/tile.write .*%compute0_mma.0/d' %t.lanes | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NOT-WRITTEN
// NOT-WRITTEN: error: channel "compute0_mma.0": @mma reads a value that
// RUN: sed '/tile.wait %mma_correction :/d' %t.lanes | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NOT-WAITED
// NOT-WAITED: error: channel
// The first value of an accumulator that lanes rescale in its place is undefined: an
// MMA may not add to it, as it would without its condition.
// RUN: sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' %t.lanes | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=UNDEFINED
// UNDEFINED: error: channel "mma_correction": @mma reads a value that no one has written
// RUN: sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' %t.lanes | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// EXPLORED: error: @mma reads a value that nobody writes
// It is that, too, where a branch decides whether lanes rescale it.
// RUN: fa4-opt %S/Inputs/attention-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-schedule))' -o %t.tiles
// RUN: sed -E '0,/tile.rescale/s/(%%[0-9]+) = (tile.rescale (%%[0-9]+), .* : )(vector<128x128xf32>)(, .*)$/%%if = arith.cmpi ult, %%dim, %%c128 : index\n\1 = scf.if %%if -> (\4) {\n %%x = \2\4\5\n scf.yield %%x : \4\n } else {\n scf.yield \3 : \4\n }/' %t.tiles > %t.branch
// RUN: fa4-opt %t.branch --tile-verify-protocol -o /dev/null
// RUN: sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' %t.branch | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=UNDEFINED
// RUN: fa4-test-opt %S/Inputs/gradient-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=GRADIENT
// GRADIENT: @backward: {{([0-9]{2,4})}} steps
// RUN: fa4-test-opt %S/Inputs/gemm-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol,tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol,tile-explore-protocol))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=GEMM
// GEMM: @gemm: {{([0-9]{2,3})}} steps
// An accumulator that the first pass starts is not written where there is none: its
// epilogue may take it only under that condition.
// RUN: sed 's/%n = arith.maxsi %blocks, %c1/%n = arith.maxsi %blocks, %c0/' %S/Inputs/gemm-program.mlir | fa4-test-opt --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol,tile-explore-protocol))' -o %t.gemm
// RUN: sed -E 's/(arith.select %[0-9]+, %[0-9]+), %cst/\1, %3/' %t.gemm | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EMPTY
// EMPTY: error: channel "mma_epilogue": @epilogue reads a value that is not there: it was not written before
// EMPTY: note: @mma makes 0 passes of this loop
// RUN: sed -E 's/arith.select (%[0-9]+), (%[0-9]+), %cst/arith.select \1, %cst, \2/' %t.gemm | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OTHER-SIDE
// OTHER-SIDE: error: channel "mma_epilogue": @epilogue reads a value that is not there: it was not written before
// A branch says the same, and lanes that have the value of a row.
// RUN: sed -E 's/(%[0-9]+) = arith.select (%[0-9]+), (%[0-9]+), %cst : vector<128x128xf32>/\1 = scf.if \2 -> (vector<128x128xf32>) {\n scf.yield \3 : vector<128x128xf32>\n } else {\n scf.yield %cst : vector<128x128xf32>\n }/' %t.gemm | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: fa4-test-opt %t.gemm --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute{verify=false},tile-verify-protocol,tile-explore-protocol,tile-unroll,tile-verify-protocol))' -o %t.rows

// RUN: fa4-opt %S/Inputs/protocol.mlir --tile-verify-protocol=print=true -o %t 2>&1 | FileCheck %s --dump-input=never --check-prefix=PROTOCOL
// PROTOCOL: @kernel: {{([0-9]{3})}} steps
// Buffers of their own need no acquire either, as both roles take turns.
// RUN: sed -e '/#in-place$/d' -e 's,//+apart ,,' %S/Inputs/protocol.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// A waited value is a value to lanes: arithmetic on it may stand behind the release, or
// behind a commit in place of it, as lanes have read the stage before.
// RUN: sed -e 's,//+value-after-release ,,' -e 's,//+late-read ,,' %S/Inputs/protocol.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// On a module.
// RUN: fa4-opt %S/Inputs/protocol.mlir --verify-protocol -o /dev/null

// What the passes leave is what they were given.
// RUN: fa4-opt %S/Inputs/protocol.mlir -o %t.plain
// RUN: diff %t %t.plain
