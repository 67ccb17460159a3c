//===- PositionArithmetic.h - integers that mods compute from positions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONARITHMETIC_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONARITHMETIC_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace fa4 {

/// Builds cheaper forms of the integer operations of a score_mod or mask_mod
/// region. Positions are never negative and are bounded by kMaxSize, so that
/// the ranges of most integers of a region are known:
///
/// - A signed division or remainder of a number that is not negative is an
///   unsigned one. A thread has no instruction for either: the unsigned ones
///   take half of the instructions, and the rounding towards minus infinity
///   takes a further comparison and two selections.
/// - A floor division of a number that may be negative, but has a lower bound,
///   is the unsigned division of that number plus a multiple of the divisor:
///   `floordiv(x, 7) = (x + 7 n) divui 7 - n`.
/// - `x - floordiv(x, n) * n`, which Python's `%` is written as, is the
///   remainder of one unsigned division.
/// - A comparison that the ranges decide is a constant.
///
/// The operations of the region must be visited in their order.
class PositionArithmetic {
public:
  explicit PositionArithmetic(mlir::Region &region);

  /// Builds what `op`, an operation of the region, computes, in a cheaper form.
  /// `operands` are what its operands have become; all of them have the shape
  /// of the result. Returns null if there is no cheaper form.
  mlir::Value build(mlir::ImplicitLocOpBuilder &b, mlir::Operation &op,
                    mlir::ValueRange operands);

  /// Returns what `op` computes, if it is the same number for all positions.
  std::optional<llvm::APInt> decide(mlir::Operation &op);

private:
  mlir::ConstantIntRanges getRange(mlir::Value value);
  void computeRange(mlir::Operation &op);
  mlir::Value buildFloorDivision(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value number, mlir::Value divisor,
                                 mlir::Value operand);
  mlir::Value buildFloorRemainder(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Operation &op, mlir::Value operand);
  bool isNotNegative(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

/// Replaces comparisons that the ranges of positions decide. A mask that hides
/// no score, or all, is found then when the region is simplified. The op must
/// have been checked: the operands of such a comparison, which might be
/// integers that a thread does not have, may have no users any more.
void decideComparisons(mlir::Region &region);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONARITHMETIC_H
