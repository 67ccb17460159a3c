// Loops with steps, loops that may make no pass, and loops in loops: the
// verifier's proof and the explorer's search must say the same of each.
//

// Conditions that compare the length of a loop, or what is left of it, with steps are
// comparisons of numbers of passes.
// RUN: fa4-test-opt %S/Inputs/steps.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's/ne, %i, %c0 : index .. #more/sgt, %i, %c0 : index/' %S/Inputs/steps.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c64 : index/' %S/Inputs/steps.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's/slt, %c0, %k : index .. #any/ne, %k, %c0 : index/' %S/Inputs/steps.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's/slt, %c0, %k : index .. #any/sge, %k, %c1 : index/' -e 's/%c64 = arith.constant 64 : index .. #one/%c1 = arith.constant 1 : index/' %S/Inputs/steps.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c64 : index/' %S/Inputs/steps.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// The epilogue reads what no pass has written.
// RUN: sed -e 's/slt, %c0, %k : index .. #any/sle, %c0, %k : index/' %S/Inputs/steps.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=ALWAYS
// ALWAYS: error: channel "acc": @epilogue reads a value that is not there: it was not written before
// ALWAYS: note: @mma makes 0 passes of this loop
// RUN: sed -e 's/slt, %c0, %k : index .. #any/sle, %c0, %k : index/' %S/Inputs/steps.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=ALWAYS-EXPLORED
// ALWAYS-EXPLORED: error: channel "acc": @epilogue reads a stage that does not contain the value
// ALWAYS-EXPLORED: note: @mma makes 0 passes of this loop
// The last load is missing, one is too many, the first one is too.
// RUN: sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c128 : index/' %S/Inputs/steps.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATE
// LATE: error: channel "a": @mma waits forever
// LATE: note: @mma makes 2 passes of this loop
// RUN: sed -e 's/slt, %next, %k : index .. #next/sgt, %left, %c128 : index/' %S/Inputs/steps.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATE-EXPLORED
// LATE-EXPLORED: error: channel "a": @mma never goes on
// LATE-EXPLORED: note: @mma waits for commit number 2 of channel "a", which never comes
// LATE-EXPLORED: note: @mma makes 2 passes of this loop
// RUN: sed -e 's/slt, %next, %k : index .. #next/sle, %next, %k : index/' %S/Inputs/steps.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=MORE
// MORE: error: channel "a": 2 values are committed, but 1 waited for by @mma
// MORE: note: @mma makes 1 pass of this loop
// RUN: sed -e 's/slt, %next, %k : index .. #next/sle, %next, %k : index/' %S/Inputs/steps.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=MORE-EXPLORED
// MORE-EXPLORED: error:
// RUN: sed -e 's/sgt, %k, %c0 : index .. #first/sge, %k, %c0 : index/' %S/Inputs/steps.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=FIRST
// FIRST: error: channel "a": 1 values are committed, but 0 waited for by @mma
// FIRST: note: @mma makes 0 passes of this loop
// RUN: sed -e 's/sgt, %k, %c0 : index .. #first/sge, %k, %c0 : index/' %S/Inputs/steps.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=FIRST-EXPLORED
// FIRST-EXPLORED: error: channel "a": tokens are left over at the end
// The first pass adds to what is not there.
// RUN: sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c0 : index/' %S/Inputs/steps.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=START
// START: error: channel "acc": @mma reads a value that no one has written
// START: note: @mma makes at least 1 pass of this loop
// RUN: sed -e 's/ne, %i, %c0 : index .. #more/sge, %i, %c0 : index/' %S/Inputs/steps.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=START-EXPLORED
// START-EXPLORED: error: @mma reads a value that nobody writes

// Work tiles with numbers of blocks of their own; the proof is small.
// RUN: fa4-test-opt %S/Inputs/persistent.mlir --tile-verify-protocol=print=true --tile-explore-protocol -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=SMALL
// SMALL: @persistent: {{([0-9]{2,4})}} steps
// The MMAs that read the stage were issued before.
// RUN: sed -e '/#release-q$/d' -e 's,//+early-release ,,' %S/Inputs/persistent.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// The second tile overwrites the accumulator.
// RUN: sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OVERWRITE
// OVERWRITE: error: channel "acc":
// OVERWRITE: note: @epilogue makes at least 2 passes of this loop
// OVERWRITE: note: @mma makes at least 2 passes of this loop
// OVERWRITE: note: @mma makes {{.*}} of this loop in pass 2 of the one around it
// RUN: sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' %S/Inputs/persistent.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OVERWRITE-EXPLORED
// OVERWRITE-EXPLORED: error: channel "acc":
// OVERWRITE-EXPLORED: note: @epilogue makes 2 passes of this loop
// OVERWRITE-EXPLORED: note: @mma makes 0, then 2 passes of this loop
// The stage of the result is not released in time for the second tile.
// RUN: sed -e '/#release-o$/d' -e 's,//+release-after ,,' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SECOND
// SECOND: error: channel "o": @epilogue waits forever
// SECOND: note: @epilogue in pass 2 of its loop waits for release number 1 of channel "o" by @store
// SECOND: note: @store in pass 2 of its loop waits for commit number 2 of channel "o" by @epilogue
// RUN: sed -e '/#release-o$/d' -e 's,//+release-after ,,' %S/Inputs/persistent.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SECOND-EXPLORED
// SECOND-EXPLORED: error:
// SECOND-EXPLORED: note: @store makes 2 passes of this loop
// Roles that do not agree about a tile.
// RUN: sed -e '/#blocks$/d' -e 's,//+other-blocks ,,' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=BLOCKS
// BLOCKS: error: channel "k": @mma waits forever
// BLOCKS: note: @mma makes at least 1 pass of this loop in pass 1 of the one around it
// RUN: sed -e '/#blocks$/d' -e 's,//+other-blocks ,,' %S/Inputs/persistent.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=BLOCKS-EXPLORED
// BLOCKS-EXPLORED: error: channel "k": tokens are left over at the end
// A tile without blocks.
// RUN: sed -e 's/scf.yield %cst/scf.yield %v/' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NONE
// NONE: error: channel "acc": @epilogue reads a value that is not there
// NONE: note: @mma makes 0 passes of this loop in pass 1 of the one around it
// RUN: sed -e 's/scf.yield %cst/scf.yield %v/' %S/Inputs/persistent.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NONE-EXPLORED
// NONE-EXPLORED: error: channel "acc": @epilogue reads a stage that does not contain the value

// Tiles in which nothing may happen.
// RUN: fa4-test-opt %S/Inputs/persistent-copy.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+tail ,,' %S/Inputs/persistent-copy.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+tail ,,' -e '/#release-tail$/d' %S/Inputs/persistent-copy.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=TAIL
// TAIL: error: channel "a": 1 values are waited for by @store, but 0 released
// TAIL: note: @load makes 1 pass of this loop
// RUN: sed -e 's,//+tail ,,' -e '/#release-tail$/d' %S/Inputs/persistent-copy.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=TAIL-EXPLORED
// TAIL-EXPLORED: error: channel "a": tokens are left over at the end
// A fault of all tiles but the first.
// RUN: sed -e 's,//+later-tile ,,' -e '/#release$/d' %S/Inputs/persistent-copy.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATER
// LATER: error: channel "a": 1 values are waited for by @store, but 0 released
// LATER: note: @load makes 2 passes of this loop
// RUN: sed -e 's,//+later-tile ,,' -e '/#release$/d' %S/Inputs/persistent-copy.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATER-EXPLORED
// LATER-EXPLORED: error: channel "a": tokens are left over at the end
// LATER-EXPLORED: note: @load makes 0, then 1 passes of this loop

// Lanes hand the accumulator back as it is, for the next tile. All of its last values have a taker.
// RUN: fa4-test-opt %S/Inputs/persistent-attention.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e '/#back$/d' -e 's,//+early ,,' %S/Inputs/persistent-attention.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e '/#back$/d' %S/Inputs/persistent-attention.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=BACK
// BACK: error: channel "back": @mma waits forever for @correction to commit it
// RUN: sed -e '/#back$/d' %S/Inputs/persistent-attention.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=BACK-EXPLORED
// BACK-EXPLORED: error: channel "back": @mma never goes on
// RUN: sed -e '/#last$/d' %S/Inputs/persistent-attention.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LAST
// LAST: error: channel "back": {{[0-9]+}} values are committed, but {{[0-9]+}} waited for by @mma
// RUN: sed -e '/#last$/d' %S/Inputs/persistent-attention.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LAST-EXPLORED
// LAST-EXPLORED: error: channel "back": tokens are left over at the end

// Two loops in one role make together as many passes as one loop in another role, in each tile.
// RUN: fa4-test-opt %S/Inputs/persistent-split.mlir --tile-verify-protocol=print=true --tile-explore-protocol -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=SPLIT
// SPLIT: @persistent_split: {{([0-9]{2,4})}} steps
// RUN: sed -e 's/\(.\)part to .blocks step/\1part to \1more step/' %S/Inputs/persistent-split.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=FEWER
// FEWER: error: channel "a": @correction waits forever
// RUN: sed -e 's/\(.\)part to .blocks step/\1part to \1more step/' %S/Inputs/persistent-split.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=FEWER-EXPLORED
// FEWER-EXPLORED: error: channel
