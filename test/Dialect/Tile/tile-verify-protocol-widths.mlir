// Roles that compute the bound of a loop, or the condition of a branch, in ways that
// differ only in the width or sign of an integer. They agree for small sizes, and
// the kernel hangs where an integer wraps around or is negative. The verifier must
// tell such numbers apart, and the explorer must find a size that shows it.

// The same arithmetic in both roles, or one that is equal for all sizes.
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i8: ,,' %S/Inputs/widths.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-i8: ,,' %S/Inputs/widths.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+producer-index-sum: ,,' -e 's,//+consumer-arith-sum: ,,' %S/Inputs/widths.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+producer-for-unsigned: ,,' -e 's,//+consumer-for-unsigned: ,,' %S/Inputs/widths.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// RUN: sed -e 's,//+producer-positive-step: ,,' -e 's,//+consumer-positive-step: ,,' %S/Inputs/widths.mlir | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// Sizes of 256 and more are truncated to 8 bits by one role, to 16 by the other.
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i16: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i16: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-size: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-size: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=HANGS
// HANGS: error: channel "a": @consumer never goes on
// HANGS: note: @consumer waits for commit number 1 of channel "a" by @producer, which has ended
// HANGS: note: @producer makes 0 passes of this loop
// HANGS: note: @consumer makes 128 passes of this loop
// HANGS: note: found for N = 128
// 8 bits with a sign and without one.
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-u8: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-u8: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-u8-i32: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-u8-i32: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// A sum, and a product, that wrap around in 32 bits, and do not in 64. (An index has 32.)
// RUN: sed -e 's,//+producer-sum32: ,,' -e 's,//+consumer-sum64: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-sum32: ,,' -e 's,//+consumer-sum64: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-times4: ,,' -e 's,//+consumer-times4-i64: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol
// RUN: sed -e 's,//+producer-times4: ,,' -e 's,//+consumer-times4-i64: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// Division, shifts, comparisons and loops of numbers with a sign and without one.
// RUN: sed -e 's,//+producer-divs: ,,' -e 's,//+consumer-divu: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-divs: ,,' -e 's,//+consumer-divu: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-shrs: ,,' -e 's,//+consumer-shru: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-shrs: ,,' -e 's,//+consumer-shru: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-if-slt: ,,' -e 's,//+consumer-if-ult: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-if-slt: ,,' -e 's,//+consumer-if-ult: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: sed -e 's,//+producer-for-signed: ,,' -e 's,//+consumer-for-unsigned: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-for-signed: ,,' -e 's,//+consumer-for-unsigned: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// What an scf.while computes may be anything.
// RUN: sed -e 's,//+producer-while: ,,' -e 's,//+consumer-size: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=REJECTED
// RUN: sed -e 's,//+producer-while: ,,' -e 's,//+consumer-size: ,,' %S/Inputs/widths.mlir | not fa4-test-opt --tile-explore-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// REJECTED: error: channel "a": {{it is not shown that @producer commits it as often as @consumer waits for that|@consumer waits forever for @producer to commit it}}
// EXPLORED: error: channel "a":

// A loop that may make no progress.
// RUN: sed -e 's,//+producer-free-step: ,,' -e 's,//+consumer-free-step: ,,' %S/Inputs/widths.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=STEP
// STEP: error: @producer executes channel operations in a loop whose step is not proven to be positive: such a loop may not end
