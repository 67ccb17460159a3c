// The verifier's story for typical faults: the error names the cause, and the
// notes are a shortest counter-example.
//

// A release is missing.
// RUN: sed -e '/#release$/d' %S/Inputs/protocol.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=RELEASE
// RELEASE: <stdin>:9:8: error: channel "u": 1 values are waited for by @lanes, but 0 released
// RELEASE: <stdin>:59:13: note: value 1 is waited for by @lanes here in pass 1 of its loop
// RELEASE: note: @mma makes 1 pass of this loop

// An acquire is there twice.
// RUN: sed -e '/#acquire$/p' %S/Inputs/protocol.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=ACQUIRE
// ACQUIRE: <stdin>:41:7: error: channel "u": @mma waits forever
// ACQUIRE: <stdin>:41:7: note: @mma in pass 1 of its loop waits for release number 1 of channel "u" by @lanes
// ACQUIRE: <stdin>:60:13: note: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma
// ACQUIRE: note: @mma makes 1 pass of this loop

// A use has moved to a stage that was waited for before; in front of its wait.
// RUN: sed -E 's/(tile.mma .tp, .)tk2/\1tk1/' %S/Inputs/protocol.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OLD-STAGE
// OLD-STAGE: <stdin>:42:13: error: channel "k": a stage is read after its release
// OLD-STAGE: <stdin>:38:7: note: value 1 is released here in pass 1 of its loop
// OLD-STAGE: note: @mma makes 1 pass of this loop
// RUN: fa4-opt %S/Inputs/protocol.mlir --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute))' -o %t.lanes
// RUN: fa4-test-opt %t.lanes --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e '/tile.wait .s /{h;d}' -e '/tile.read .s /G' %t.lanes | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-VALUE
// NO-VALUE: error: channel "s": @lanes reads a stage before it has waited for one
// NO-VALUE: note: @lanes makes 1 pass of this loop
// RUN: sed -e '/tile.wait .s /{h;d}' -e '/tile.read .s /G' %t.lanes | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-VALUE-EXPLORED
// NO-VALUE-EXPLORED: error: @lanes reads a value that nobody writes
// RUN: fa4-mutate --list %t.lanes | FileCheck %s --dump-input=never --check-prefix=DROPPED
// DROPPED: drop: @lanes step {{.*}} wait s
// DROPPED-NEXT: verifier rejects channel "s": @lanes reads a stage before it has waited for one
// DROPPED-NEXT: explorer rejects @lanes reads a value that nobody writes
// Without acquires, as in place of a buffer, the read waits for nothing.
// RUN: sed -e 's,//+late-read ,,' -e '/#in-place$/d' -e 's,//+apart ,,' %S/Inputs/protocol.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATE
// LATE: <stdin>:57:15: error: channel "s": @lanes may read a stage in pass 1 of its loop while @mma writes it (channel "s")
// LATE: <stdin>:35:13: note: the write in pass 2 of its loop, which nothing orders before the read: @lanes has waited for no commit or release by @mma that follows its end
// LATE: <stdin>:53:13: note: before that, @lanes in pass 1 of its loop waits for commit number 1 of channel "s" by @mma
// LATE: <stdin>:36:7: note: which @mma does in pass 1 of its loop, before the access
// LATE: note: @mma makes 2 passes of this loop

// An offset is wrong, and two rings overlap.
// RUN: fa4-opt %S/Inputs/protocol.mlir --tile-share-buffers --tile-allocate -o %t.placed
// RUN: sed -E 's/("o" smem stages.1. place<offset)[(][0-9]+/\1(32768/' %t.placed | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OVERLAP
// OVERLAP: <stdin>:50:9: error: channel "o": @lanes may overwrite a stage in pass 1 of its loop while @load writes it (channel "k")
// OVERLAP: <stdin>:17:14: note: the access in pass 2 of its loop, which nothing orders before the write: @lanes has waited for no commit or release by @load that follows its end
// OVERLAP: <stdin>:50:9: note: before that, @lanes waits for nothing in this memory, and not for @load
// OVERLAP: note: @load makes 2 passes of this loop

// Only the second work tile goes wrong.
// RUN: sed -e '/#acquire-o$/d' -e '/#release-o$/d' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SECOND
// SECOND: <stdin>:32:7: error: channel "o": @epilogue may overwrite a stage in pass 2 of its loop while @store reads it (channel "o")
// SECOND: <stdin>:95:7: note: the access in pass 1 of its loop, which nothing orders before the write: @epilogue has waited for no commit or release by @store that follows its end
// SECOND: <stdin>:32:7: note: before that, @epilogue waits for nothing in this memory, and not for @store
// SECOND: note: @epilogue makes at least 2 passes of this loop
// SECOND: note: @store makes at least 2 passes of this loop

// Two roles that issue MMAs take a wait and what it needs in the wrong order.
// RUN: fa4-test-opt %S/Inputs/two-mmas.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+swap[01] ,,' -e '/#wait-p[01]$/d' %S/Inputs/two-mmas.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SWAP
// SWAP: error: channel "p1": @mma0 waits forever
// SWAP: note: @mma0 in pass 1 of its loop waits for commit number 1 of channel "p1" by @lanes1
// SWAP: note: @lanes1 in pass 1 of its loop waits for commit number 1 of channel "s1" by @mma1
// SWAP: note: @mma1 in pass 1 of its loop waits for commit number 1 of channel "p0" by @lanes0
// SWAP: note: @lanes0 in pass 1 of its loop waits for commit number 1 of channel "s0" by @mma0
// SWAP: note: @mma0 makes at least 1 pass of this loop

// A token that the reader's thread leaves after it has issued the MMA is no release.
// RUN: sed -e 's,//+token ,,' -e '/#acquire-p0$/d' -e '/#release-p0$/d' %S/Inputs/two-mmas.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=TOKEN
// TOKEN: error: channel "p0": @lanes0 may overwrite a stage in pass 2 of its loop while @mma1 reads it (channel "p0")
// TOKEN: note: the access in pass 1 of its loop, which nothing orders before the write: @lanes0 has waited for no commit or release by @mma1 that follows its end
// TOKEN: note: before that, @lanes0 in pass 1 of its loop waits for commit number 1 of channel "t" by @mma1
// TOKEN: note: this only says that the role has come so far, not that the access has ended
// TOKEN: note: @mma1 makes at least 2 passes of this loop
// RUN: sed -e 's,//+token ,,' -e '/#acquire-p0$/d' -e '/#release-p0$/d' %S/Inputs/two-mmas.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=TOKEN-EXPLORED
// TOKEN-EXPLORED: error: channel "p0": @lanes0 overwrites a value of channel "p0" that is still to be read
// A commit that may come before the phase before has been seen.
// RUN: sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' %S/Inputs/persistent.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=PHASE
// PHASE: error: channel "acc": a value is committed before @epilogue has surely waited for the previous one in this stage
// PHASE: note: the wait in pass 1 of its loop, which nothing orders before the commit
// PHASE: note: before that, @mma waits for nothing in this memory, and not for @epilogue

// Two accumulators in the same columns, which nobody reads.
// RUN: fa4-opt %S/Inputs/two-mmas.mlir --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate))' | sed -e 's,\("o1" .*offset(\)384,\1256,' > %t.overlaid.mlir
// RUN: not fa4-opt %t.overlaid.mlir --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OVERLAID
// OVERLAID: error: channel "o0": @mma0 may overwrite a stage in pass 1 of its loop while @mma1 writes it (channel "o1")
// RUN: not fa4-test-opt %t.overlaid.mlir --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OVERLAID-EXPLORED
// OVERLAID-EXPLORED: error: channel "o{{[01]}}": nothing orders this write by @mma{{[01]}} with one by @mma{{[01]}} of channel "o{{[01]}}"
