// The explorer finds each kind of fault in the protocol by running all
// interleavings. It must agree with tile-verify-protocol, whose test changes
// the same lines.
//
// Each run changes a few lines of the kernel in Inputs/protocol.mlir.

// A missing wait, release, acquire, commit.
// RUN: sed -e '/#wait-o$/d' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-WAIT
// NO-WAIT: error: channel "o" is committed, but no role waits for it
// RUN: sed -e '/#release$/d' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-RELEASE
// NO-RELEASE: error: channel "u": tokens are left over at the end
// RUN: sed -e '/#acquire$/d' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-ACQUIRE
// NO-ACQUIRE: error: channel "u": tokens are left over at the end
// RUN: sed -e '/#commit$/d' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NO-COMMIT
// NO-COMMIT: error: channel "u" is never committed
// A release before the MMA that reads the stage, and a read after the release.
// RUN: sed -e '/#late-release$/d' -e 's,//+early-release ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EARLY-RELEASE
// EARLY-RELEASE: error: channel "k": read after release
// RUN: sed -e 's,//+read-after-release ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=READ-AFTER-RELEASE
// READ-AFTER-RELEASE: error: channel "o": read after release
// A commit before the last write, and twice.
// RUN: sed -e 's,//+early-commit ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EARLY-COMMIT
// EARLY-COMMIT: error: @mma commits the result of 'tile.mma' to no channel
// RUN: sed -e 's,//+second-commit ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SECOND-COMMIT
// SECOND-COMMIT: error: channel "u": commit without acquire
// Two roles that wait for each other.
// RUN: sed -e '/#wait-u$/d' -e 's,//+swapped-waits ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=SWAPPED-WAITS
// SWAPPED-WAITS: error: channel "p": @mma never goes on
// A ring that is shorter than what a role waits for at once.
// RUN: sed -e '/#two-stages$/d' -e 's,//+one-stage ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=ONE-STAGE
// ONE-STAGE: error: channel "k": @load never goes on
// A wait outside of the loop, and a loop with another bound.
// RUN: sed -e '/#wait-inside$/d' -e 's,//+wait-outside ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=WAIT-OUTSIDE
// WAIT-OUTSIDE: error: channel "k": @mma never goes on
// RUN: sed -e '/#trips$/d' -e 's,//+other-trips ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=OTHER-TRIPS
// OTHER-TRIPS: error: channel "o": @store never goes on
// Two producers.
// RUN: sed -e 's,//+two-producers ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=TWO-PRODUCERS
// TWO-PRODUCERS: error: channel "o" has two producers, @lanes and @other
// In place of what is still read, or is written by who reads it.
// RUN: fa4-opt %S/Inputs/protocol.mlir --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute))' -o %t.lanes
// RUN: sed '/tile.commit .p /a\  %%late = tile.read %%s : <vector<128x128xf32>> -> vector<128xf32>' %t.lanes | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=LATE-READ
// LATE-READ: error: channel "p": @lanes overwrites a value of channel "s" that is still to be read
// RUN: sed -e '/#in-place$/d' -e 's,//+wrong-place ,,' %S/Inputs/protocol.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=WRONG-PLACE
// WRONG-PLACE: error: channel "u": written over an operand

