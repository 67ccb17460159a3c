// Loops with steps, loops that may make no pass, and loops in loops: the
// verifier's proof and the explorer's search must say the same of each.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s

// Conditions that compare the length of a loop, or what is left of it, with steps are
// comparisons of numbers of passes.
//
// $ fa4-test-opt $S/Inputs/steps.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's/ne, %i, %c0 : index .. #more/sgt, %i, %c0 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c64 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's/slt, %c0, %k : index .. #any/ne, %k, %c0 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's/slt, %c0, %k : index .. #any/sge, %k, %c1 : index/' \
//     -e 's/%c64 = arith.constant 64 : index .. #one/%c1 = arith.constant 1 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c64 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// The epilogue reads what no pass has written.
//
// $ sed -e 's/slt, %c0, %k : index .. #any/sle, %c0, %k : index/' $S/Inputs/steps.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "acc": @epilogue reads a value that is not there: it was not written before
// ...
// {{.*}}note: @mma makes 0 passes of this loop
// ...
// [1]
// $ sed -e 's/slt, %c0, %k : index .. #any/sle, %c0, %k : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "acc": @epilogue reads a stage that does not contain the value
// ...
// {{.*}}note: @mma makes 0 passes of this loop
// ...
// [1]
//
// The last load is missing, one is too many, the first one is too.
//
// $ sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c128 : index/' $S/Inputs/steps.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": @mma waits forever for @load to commit it
// ...
// {{.*}}note: @mma makes 2 passes of this loop
// ...
// [1]
// $ sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c128 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @mma never goes on
// ...
// {{.*}}note: @mma waits for commit number 2 of channel "a", which never comes
// {{.*}}note: @mma makes 2 passes of this loop
// ...
// [1]
// $ sed -e 's/slt, %next, %k : index .. #next/sle, %next, %k : index/' $S/Inputs/steps.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": 2 values are committed, but 1 waited for by @mma
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]
// $ sed -e 's/slt, %next, %k : index .. #next/sle, %next, %k : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
// $ sed -e 's/sgt, %k, %c0 : index .. #first/sge, %k, %c0 : index/' $S/Inputs/steps.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": 1 values are committed, but 0 waited for by @mma
// ...
// {{.*}}note: @mma makes 0 passes of this loop
// ...
// [1]
// $ sed -e 's/sgt, %k, %c0 : index .. #first/sge, %k, %c0 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
//
// The first pass adds to what is not there.
//
// $ sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c0 : index/' $S/Inputs/steps.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "acc": @mma reads a value that no one has written
// ...
// {{.*}}note: @mma makes at least 1 pass of this loop
// ...
// [1]
// $ sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c0 : index/' $S/Inputs/steps.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: @mma reads a value that nobody writes
// ...
// [1]

// Work tiles have numbers of blocks of their own; the proof is small.
//
// $ fa4-test-opt $S/Inputs/persistent.mlir --tile-verify-protocol=print=true --tile-explore-protocol -o /dev/null
// @persistent: {{([0-9]{2,4})}} steps{{.*}}
//
// The MMAs that read the stage were issued before.
//
// $ sed -e '/#release-q$/d' -e 's,//+early-release ,,' $S/Inputs/persistent.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
//
// The second tile overwrites the accumulator.
//
// $ sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "acc": a value is committed before @epilogue has surely waited for the previous one in this stage
// ...
// {{.*}}note: @epilogue makes at least 2 passes of this loop
// ...
// {{.*}}note: @mma makes at least 2 passes of this loop
// ...
// {{.*}}note: @mma makes 0 passes of this loop in pass 2 of the one around it
// ...
// [1]
// $ sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' $S/Inputs/persistent.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "acc": commit overtakes a wait by @epilogue
// ...
// {{.*}}note: @epilogue makes 2 passes of this loop
// ...
// {{.*}}note: @mma makes 0, then 2 passes of this loop
// ...
// [1]
//
// The stage of the result is not released in time for the second tile.
//
// $ sed -e '/#release-o$/d' -e 's,//+release-after ,,' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "o": @epilogue waits forever for @store to release it
// ...
// {{.*}}note: @epilogue in pass 2 of its loop waits for release number 1 of channel "o" by @store
// {{.*}}note: @store in pass 2 of its loop waits for commit number 2 of channel "o" by @epilogue
// ...
// [1]
// $ sed -e '/#release-o$/d' -e 's,//+release-after ,,' $S/Inputs/persistent.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "o": @epilogue never goes on
// ...
// {{.*}}note: @store makes 2 passes of this loop
// ...
// [1]
//
// The roles do not agree about a tile.
//
// $ sed -e '/#blocks$/d' -e 's,//+other-blocks ,,' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "k": @mma waits forever for @load to commit it
// ...
// {{.*}}note: @mma makes at least 1 pass of this loop in pass 1 of the one around it
// ...
// [1]
// $ sed -e '/#blocks$/d' -e 's,//+other-blocks ,,' $S/Inputs/persistent.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "k": tokens are left over at the end
// ...
// [1]
//
// A tile has no blocks.
//
// $ sed -e 's/scf.yield %cst/scf.yield %v/' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "acc": @epilogue reads a value that is not there: it was not written before
// ...
// {{.*}}note: @mma makes 0 passes of this loop in pass 1 of the one around it
// ...
// [1]
// $ sed -e 's/scf.yield %cst/scf.yield %v/' $S/Inputs/persistent.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "acc": @epilogue reads a stage that does not contain the value
// ...
// [1]

// There are tiles in which nothing may happen.
//
// $ fa4-test-opt $S/Inputs/persistent-copy.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+tail ,,' $S/Inputs/persistent-copy.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+tail ,,' -e '/#release-tail$/d' $S/Inputs/persistent-copy.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": 1 values are waited for by @store, but 0 released
// ...
// {{.*}}note: @load makes 1 pass of this loop
// ...
// [1]
// $ sed -e 's,//+tail ,,' -e '/#release-tail$/d' $S/Inputs/persistent-copy.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
//
// All tiles but the first have a fault.
//
// $ sed -e 's,//+later-tile ,,' -e '/#release$/d' $S/Inputs/persistent-copy.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": 1 values are waited for by @store, but 0 released
// ...
// {{.*}}note: @load makes 2 passes of this loop
// ...
// [1]
// $ sed -e 's,//+later-tile ,,' -e '/#release$/d' $S/Inputs/persistent-copy.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// {{.*}}note: @load makes 0, then 1 passes of this loop
// ...
// [1]

// Lanes hand the accumulator back as it is, for the next tile. All of its last values have a taker.
//
// $ fa4-test-opt $S/Inputs/persistent-attention.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e '/#back$/d' -e 's,//+early ,,' $S/Inputs/persistent-attention.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e '/#back$/d' $S/Inputs/persistent-attention.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "back": @mma waits forever for @correction to commit it
// ...
// [1]
// $ sed -e '/#back$/d' $S/Inputs/persistent-attention.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "back": @mma never goes on
// ...
// [1]
// $ sed -e '/#last$/d' $S/Inputs/persistent-attention.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "back": {{[0-9]+}} values are committed, but {{[0-9]+}} waited for by @mma
// ...
// [1]
// $ sed -e '/#last$/d' $S/Inputs/persistent-attention.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "back": tokens are left over at the end
// ...
// [1]

// Two loops in one role make together as many passes as one loop in another role, in each tile.
//
// $ fa4-test-opt $S/Inputs/persistent-split.mlir --tile-verify-protocol=print=true --tile-explore-protocol -o /dev/null
// @persistent_split: {{([0-9]{2,4})}} steps{{.*}}
// $ sed -e 's/\(.\)part to .blocks step/\1part to \1more step/' $S/Inputs/persistent-split.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": @correction waits forever for @softmax to commit it
// ...
// [1]
// $ sed -e 's/\(.\)part to .blocks step/\1part to \1more step/' $S/Inputs/persistent-split.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @correction never goes on
// ...
// [1]
