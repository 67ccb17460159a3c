// Roles that compute the bound of a loop, or the condition of a branch, in ways that
// differ only in the width or sign of an integer. They agree for small sizes, and
// the kernel hangs where an integer wraps around or is negative. The verifier must
// tell such numbers apart, and the explorer must find a size that shows it.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s

// Both roles compute the same, or numbers that are equal for all sizes.
//
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i8: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-i8: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+producer-index-sum: ,,' -e 's,//+consumer-arith-sum: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+producer-for-unsigned: ,,' -e 's,//+consumer-for-unsigned: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ sed -e 's,//+producer-positive-step: ,,' -e 's,//+consumer-positive-step: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-verify-protocol --tile-explore-protocol -o /dev/null

// Sizes of 256 and more are truncated to 8 bits by one role, to 16 by the other.
//
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i16: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-i16: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-size: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-size: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// {{.*}}note: @consumer waits for commit number 1 of channel "a" by @producer, which has ended
// {{.*}}note: @producer makes 0 passes of this loop
// ...
// {{.*}}note: @consumer makes 128 passes of this loop
// ...
// {{.*}}note: found for N = 128
// ...
// [1]
//
// The roles read 8 bits with a sign, and without one.
//
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-u8: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-i8: ,,' -e 's,//+consumer-u8: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]
// $ sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-u8-i32: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-s8-i32: ,,' -e 's,//+consumer-u8-i32: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]
//
// A sum, and a product, wrap around in 32 bits, and do not in 64. (An index has 32.)
//
// $ sed -e 's,//+producer-sum32: ,,' -e 's,//+consumer-sum64: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-sum32: ,,' -e 's,//+consumer-sum64: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
// $ sed -e 's,//+producer-times4: ,,' -e 's,//+consumer-times4-i64: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: @consumer makes as many passes of this loop as a multiple of an unknown says: not supported by the protocol verifier
// ...
// [1]
// $ sed -e 's,//+producer-times4: ,,' -e 's,//+consumer-times4-i64: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]
//
// Divisions, shifts, comparisons and loops differ for numbers with a sign and without one.
//
// $ sed -e 's,//+producer-divs: ,,' -e 's,//+consumer-divu: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-divs: ,,' -e 's,//+consumer-divu: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]
// $ sed -e 's,//+producer-shrs: ,,' -e 's,//+consumer-shru: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-shrs: ,,' -e 's,//+consumer-shru: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]
// $ sed -e 's,//+producer-if-slt: ,,' -e 's,//+consumer-if-ult: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": @consumer waits forever for @producer to commit it
// ...
// [1]
// $ sed -e 's,//+producer-if-slt: ,,' -e 's,//+consumer-if-ult: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": tokens are left over at the end
// ...
// [1]
// $ sed -e 's,//+producer-for-signed: ,,' -e 's,//+consumer-for-unsigned: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-for-signed: ,,' -e 's,//+consumer-for-unsigned: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @producer never goes on
// ...
// [1]
//
// The number that an scf.while computes may be any.
//
// $ sed -e 's,//+producer-while: ,,' -e 's,//+consumer-size: ,,' $S/Inputs/widths.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "a": it is not shown that @producer commits it as often as @consumer waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ sed -e 's,//+producer-while: ,,' -e 's,//+consumer-size: ,,' $S/Inputs/widths.mlir \
//   | fa4-test-opt --tile-explore-protocol
// {{.*}}error: channel "a": @consumer never goes on
// ...
// [1]

// A loop may make no progress.
//
// $ sed -e 's,//+producer-free-step: ,,' -e 's,//+consumer-free-step: ,,' $S/Inputs/widths.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: @producer executes channel operations in a loop whose step is not proven to be positive: such a loop may not end
// ...
// [1]
