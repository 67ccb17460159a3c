// The explorer finds each kind of fault in the protocol by running all
// interleavings. It must agree with tile-verify-protocol, whose test changes
// the same lines.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// Each command changes a few lines of the kernel in Inputs/protocol.mlir.

// A wait, a release, an acquire, and a commit are missing.
//
// $ sed -e '/#wait-o$/d' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "o" is committed, but no role waits for it
// ...
// [1]
// $ sed -e '/#release$/d' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "u": tokens are left over at the end
// ...
// [1]
// $ sed -e '/#acquire$/d' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "u": tokens are left over at the end
// ...
// [1]
// $ sed -e '/#commit$/d' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "u" is never committed
// ...
// [1]
//
// A release stands before the MMA that reads the stage, and a read after the release.
//
// $ sed -e '/#late-release$/d' -e 's,//+early-release ,,' $S/Inputs/protocol.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "k": read after release
// ...
// [1]
// $ sed -e 's,//+read-after-release ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "o": read after release
// ...
// [1]
//
// A commit stands before the last write, and another one is there twice.
//
// $ sed -e 's,//+early-commit ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: @mma commits the result of 'tile.mma' to no channel
// ...
// [1]
// $ sed -e 's,//+second-commit ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "u": commit without acquire
// ...
// [1]
//
// Two roles wait for each other.
//
// $ sed -e '/#wait-u$/d' -e 's,//+swapped-waits ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "p": @mma never goes on
// ...
// [1]
//
// A ring is shorter than what a role waits for at once.
//
// $ sed -e '/#two-stages$/d' -e 's,//+one-stage ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "k": @load never goes on
// ...
// [1]
//
// A wait stands outside of its loop, and a loop has another bound.
//
// $ sed -e '/#wait-inside$/d' -e 's,//+wait-outside ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "k": @mma never goes on
// ...
// [1]
// $ sed -e '/#trips$/d' -e 's,//+other-trips ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "o": @store never goes on
// ...
// [1]
//
// A channel has two producers.
//
// $ sed -e 's,//+two-producers ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "o" has two producers, @lanes and @other
// ...
// [1]
//
// A buffer lies in place of one that is still read, or that the role itself reads.
//
// $ fa4-opt $S/Inputs/protocol.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute))' -o lanes.mlir
// $ sed '/tile.commit .p /a\  %late = tile.read %s : <vector<128x128xf32>> -> vector<128xf32>' lanes.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "p": @lanes overwrites a value of channel "s" that is still to be read
// ...
// [1]
// $ sed -e '/#in-place$/d' -e 's,//+wrong-place ,,' $S/Inputs/protocol.mlir | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "u": written over an operand
// ...
// [1]

