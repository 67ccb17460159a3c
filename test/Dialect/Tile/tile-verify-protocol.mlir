// The test programs' kernels are proven before scheduling, after it, and when
// they are placed. The number of steps is pinned by its digits, because a proof
// that does not close grows quickly.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-test-opt $S/Inputs/attention-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2},tile-schedule,tile-verify-protocol,tile-explore-protocol{max-passes=2},tile-split-loop,tile-share-buffers,tile-allocate,tile-verify-protocol,tile-explore-protocol{max-passes=2}))' -o /dev/null
// @attention: {{([0-9]{3})}} steps{{.*}}
//
// So are those whose lanes write part of a value that they hand on, in its own buffer.
//
// $ fa4-test-opt $S/Inputs/attention-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-schedule,tile-split-loop,tile-share-buffers,tile-allocate,tile-distribute,tile-verify-protocol{print=true},tile-explore-protocol{max-passes=2}))' -o lanes.mlir
// @attention: {{([0-9]{3,4})}} steps{{.*}}
//
// Buffers of another type, or that hold nothing, cannot be handed on; nor can parts.
//
// $ sed '/tile.write .*%compute0_mma.0/d' lanes.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "compute0_mma.0": @mma reads a value that has been overwritten
// ...
// [1]
// $ sed '/tile.wait %mma_correction :/d' lanes.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction" is committed, but no role waits for it
// ...
// [1]
//
// The first value of an accumulator that lanes rescale in its place is undefined: an
// MMA may not add to it, as it would without its condition.
//
// $ sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' lanes.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction": @mma reads a value that no one has written
// ...
// [1]
// $ sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' lanes.mlir | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: @mma reads a value that nobody writes
// ...
// [1]
//
// The value is undefined, too, where a branch decides whether lanes rescale it.
//
// $ fa4-opt $S/Inputs/attention-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-lazy-rescale,tile-warp-specialize,tile-schedule))' -o tiles.mlir
// $ sed -E '0,/tile.rescale/s/(%[0-9]+) = (tile.rescale (%[0-9]+), .* : )(vector<128x128xf32>)(, .*)$/%if = arith.cmpi ult, %dim, %c128 : index\n\1 = scf.if %if -> (\4) {\n %x = \2\4\5\n scf.yield %x : \4\n } else {\n scf.yield \3 : \4\n }/' tiles.mlir > branch.mlir
// $ fa4-opt branch.mlir --tile-verify-protocol -o /dev/null
// $ sed -E 's/(tile.mma .* acc %[0-9]+) if %[0-9]+/\1/' branch.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction": @mma reads a value that no one has written
// ...
// [1]
// $ fa4-test-opt $S/Inputs/gradient-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol))' -o /dev/null
// @backward: {{([0-9]{2,4})}} steps{{.*}}
// $ fa4-test-opt $S/Inputs/gemm-program.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol{print=true},tile-explore-protocol,tile-schedule,tile-share-buffers,tile-allocate,tile-verify-protocol,tile-explore-protocol))' -o /dev/null
// @gemm: {{([0-9]{2,3})}} steps{{.*}}
//
// An accumulator that the first pass starts is not written where there is none: its
// epilogue may take it only under that condition.
//
// $ sed 's/%n = arith.maxsi %blocks, %c1/%n = arith.maxsi %blocks, %c0/' $S/Inputs/gemm-program.mlir \
//   | fa4-test-opt \
//   --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-verify-protocol,tile-explore-protocol))' -o gemm.mlir
// $ sed -E 's/(arith.select %[0-9]+, %[0-9]+), %cst/\1, %3/' gemm.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_epilogue": @epilogue reads a value that is not there: it was not written before
// ...
// {{.*}}note: @mma makes 0 passes of this loop
// ...
// [1]
// $ sed -E 's/arith.select (%[0-9]+), (%[0-9]+), %cst/arith.select \1, %cst, \2/' gemm.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_epilogue": @epilogue reads a value that is not there: it was not written before
// ...
// [1]
//
// A branch says the same, and lanes that have the value of a row.
//
// $ sed -E 's/(%[0-9]+) = arith.select (%[0-9]+), (%[0-9]+), %cst : vector<128x128xf32>/\1 = scf.if \2 -> (vector<128x128xf32>) {\n scf.yield \3 : vector<128x128xf32>\n } else {\n scf.yield %cst : vector<128x128xf32>\n }/' gemm.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ fa4-test-opt gemm.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute{verify=false},tile-verify-protocol,tile-explore-protocol,tile-unroll,tile-verify-protocol))' -o rows.mlir

// $ fa4-opt $S/Inputs/protocol.mlir --tile-verify-protocol=print=true -o out.mlir
// @kernel: {{([0-9]{3})}} steps{{.*}}
//
// Buffers of their own need no acquire either, as both roles take turns.
//
// $ sed -e '/#in-place$/d' -e 's,//+apart ,,' $S/Inputs/protocol.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
//
// A waited value is a value to lanes: arithmetic on it may stand behind the release, or
// behind a commit in place of it, as lanes have read the stage before.
//
// $ sed -e 's,//+value-after-release ,,' -e 's,//+late-read ,,' $S/Inputs/protocol.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// The verifier runs on a module, too.
//
// $ fa4-opt $S/Inputs/protocol.mlir --verify-protocol -o /dev/null

// The verifier leaves the kernel as it was.
//
// $ fa4-opt $S/Inputs/protocol.mlir -o plain.mlir
// $ diff out.mlir plain.mlir
