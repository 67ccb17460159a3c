// The verifier's story for typical faults: the error names the cause, and the
// notes are a shortest counter-example.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s

// A release is missing.
//
// $ sed -e '/#release$/d' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// <stdin>:9:8: error: channel "u": 1 values are waited for by @lanes, but 0 released
// ...
// <stdin>:59:13: note: value 1 is waited for by @lanes here in pass 1 of its loop
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]

// An acquire is there twice.
//
// $ sed -e '/#acquire$/p' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// <stdin>:41:7: error: channel "u": @mma waits forever for @lanes to release it
// ...
// <stdin>:41:7: note: @mma in pass 1 of its loop waits for release number 1 of channel "u" by @lanes
// <stdin>:60:13: note: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]

// A use has moved to a stage that was waited for before, or a read in front of its wait.
//
// $ sed -E 's/(tile.mma .tp, .)tk2/\1tk1/' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// <stdin>:42:13: error: channel "k": a stage is read after its release
// ...
// <stdin>:38:7: note: value 1 is released here in pass 1 of its loop
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]
// $ fa4-opt $S/Inputs/protocol.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute))' -o lanes.mlir
// $ fa4-test-opt lanes.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e '/tile.wait .s /{h;d}' -e '/tile.read .s /G' lanes.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "s": @lanes reads a stage before it has waited for one
// ...
// {{.*}}note: @lanes makes 1 pass of this loop
// ...
// [1]
// $ sed -e '/tile.wait .s /{h;d}' -e '/tile.read .s /G' lanes.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: @lanes reads a value that nobody writes
// ...
// [1]
// $ fa4-mutate --list lanes.mlir
// ...
// {{.*}}drop: @lanes step {{.*}} wait s
//     verifier rejects channel "s": @lanes reads a stage before it has waited for one
//     explorer rejects @lanes reads a value that nobody writes
// ...
//
// Without acquires, as in place of a buffer, the read waits for nothing.
//
// $ sed -e 's,//+late-read ,,' -e '/#in-place$/d' -e 's,//+apart ,,' $S/Inputs/protocol.mlir \
//   | fa4-opt --tile-verify-protocol
// <stdin>:57:15: error: channel "s": @lanes may read a stage in pass 1 of its loop while @mma writes it (channel "s")
// ...
// <stdin>:35:13: note: the write in pass 2 of its loop, which nothing orders before the read: @lanes has waited for no commit or release by @mma that follows its end
// ...
// <stdin>:53:13: note: before that, @lanes in pass 1 of its loop waits for commit number 1 of channel "s" by @mma
// ...
// <stdin>:36:7: note: which @mma does in pass 1 of its loop, before the access
// ...
// {{.*}}note: @mma makes 2 passes of this loop
// ...
// [1]

// An offset is wrong, and two rings overlap.
//
// $ fa4-opt $S/Inputs/protocol.mlir --tile-share-buffers --tile-allocate -o placed.mlir
// $ sed -E 's/("o" smem stages.1. place<offset)[(][0-9]+/\1(32768/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:50:9: error: channel "o": @lanes may overwrite a stage in pass 1 of its loop while @load writes it (channel "k")
// ...
// <stdin>:17:14: note: the access in pass 2 of its loop, which nothing orders before the write: @lanes has waited for no commit or release by @load that follows its end
// ...
// <stdin>:50:9: note: before that, @lanes waits for nothing in this memory, and not for @load
// ...
// {{.*}}note: @load makes 2 passes of this loop
// ...
// [1]

// Only the second work tile goes wrong.
//
// $ sed -e '/#acquire-o$/d' -e '/#release-o$/d' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// <stdin>:32:7: error: channel "o": @epilogue may overwrite a stage in pass 2 of its loop while @store reads it (channel "o")
// ...
// <stdin>:95:7: note: the access in pass 1 of its loop, which nothing orders before the write: @epilogue has waited for no commit or release by @store that follows its end
// ...
// <stdin>:32:7: note: before that, @epilogue waits for nothing in this memory, and not for @store
// ...
// {{.*}}note: @epilogue makes at least 2 passes of this loop
// ...
// {{.*}}note: @store makes at least 2 passes of this loop
// ...
// [1]

// Two roles that issue MMAs take a wait and what it needs in the wrong order.
//
// $ fa4-test-opt $S/Inputs/two-mmas.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+swap[01] ,,' -e '/#wait-p[01]$/d' $S/Inputs/two-mmas.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "p1": @mma0 waits forever for @lanes1 to commit it
// ...
// {{.*}}note: @mma0 in pass 1 of its loop waits for commit number 1 of channel "p1" by @lanes1
// {{.*}}note: @lanes1 in pass 1 of its loop waits for commit number 1 of channel "s1" by @mma1
// ...
// {{.*}}note: @mma1 in pass 1 of its loop waits for commit number 1 of channel "p0" by @lanes0
// ...
// {{.*}}note: @lanes0 in pass 1 of its loop waits for commit number 1 of channel "s0" by @mma0
// ...
// {{.*}}note: @mma0 makes at least 1 pass of this loop
// ...
// [1]

// A token that the reader's thread leaves after it has issued the MMA is no release.
//
// $ sed -e 's,//+token ,,' -e '/#acquire-p0$/d' -e '/#release-p0$/d' $S/Inputs/two-mmas.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "p0": @lanes0 may overwrite a stage in pass 2 of its loop while @mma1 reads it (channel "p0")
// ...
// {{.*}}note: the access in pass 1 of its loop, which nothing orders before the write: @lanes0 has waited for no commit or release by @mma1 that follows its end
// ...
// {{.*}}note: before that, @lanes0 in pass 1 of its loop waits for commit number 1 of channel "t" by @mma1
// ...
// {{.*}}note: this only says that the role has come so far, not that the access has ended
// ...
// {{.*}}note: @mma1 makes at least 2 passes of this loop
// ...
// [1]
// $ sed -e 's,//+token ,,' -e '/#acquire-p0$/d' -e '/#release-p0$/d' $S/Inputs/two-mmas.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "p0": @lanes0 overwrites a value of channel "p0" that is still to be read
// ...
// [1]
//
// A commit may come before the phase before has been seen.
//
// $ sed -e '/#acquire-acc$/d' -e '/#release-acc$/d' $S/Inputs/persistent.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "acc": a value is committed before @epilogue has surely waited for the previous one in this stage
// ...
// {{.*}}note: the wait in pass 1 of its loop, which nothing orders before the commit
// ...
// {{.*}}note: before that, @mma waits for nothing in this memory, and not for @epilogue
// ...
// [1]

// Two accumulators, which nobody reads, are in the same columns.
//
// $ fa4-opt $S/Inputs/two-mmas.mlir --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate))' \
//   | sed -e 's,\("o1" .*offset(\)384,\1256,' > overlaid.mlir
// $ fa4-opt overlaid.mlir --tile-verify-protocol
// {{.*}}error: channel "o0": @mma0 may overwrite a stage in pass 1 of its loop while @mma1 writes it (channel "o1")
// ...
// [1]
// $ fa4-test-opt overlaid.mlir --tile-explore-protocol
// {{.*}}error: channel "o{{[01]}}": nothing orders this write by @mma{{[01]}} with one by @mma{{[01]}} of channel "o{{[01]}}"
// ...
// [1]
