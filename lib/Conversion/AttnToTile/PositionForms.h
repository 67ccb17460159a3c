//===- PositionForms.h - the integers of a mask_mod ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONFORMS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONFORMS_H

#include "VisibleRange.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <memory>
#include <optional>

namespace fa4 {

/// No integer of a kernel is as large: index arithmetic would wrap around.
inline constexpr int64_t kIndexEnd = int64_t(1) << (kIndexBits - 1);
/// No position is as large, not even one of a tile's rows behind the last.
inline constexpr int64_t kPositionEnd = kMaxSize + 1024;

/// The numbers of mask_mod's arguments.
enum : unsigned { kBatch, kHead, kQuery, kKey };

struct PositionForm;

/// The position that is looked for, or the quotient of a form and a positive
/// number, rounded down.
struct PositionUnknown {
  std::shared_ptr<const PositionForm> numerator; ///< Null: the position itself.
  int64_t divisor = 1;
  unsigned divisions = 0; ///< As many as the position is divided by.
};

/// An integer of the region: `factor * unknown`, and a number from `low` to
/// `high` that depends on the positions of the tile. Without an unknown, the
/// factor is 0.
struct PositionForm {
  mlir::Value low, high;
  int64_t factor = 0;
  std::shared_ptr<const PositionUnknown> unknown;
  /// The integer's absolute value is below this, and so are those of `low`,
  /// `high` and of the part that has the unknown.
  int64_t end = kPositionEnd;
  /// The three parts are not negative.
  bool isNonNegative = false;
  /// True if the integer is a capture, `low`, of any size.
  bool isCapture = false;
};

/// A form, or std::nullopt if the integer has none.
using MaybeForm = std::optional<PositionForm>;

/// Finds the forms of the integers of a mask_mod, for a tile of positions of
/// one side.
class PositionForms {
protected:
  PositionForms(mlir::ImplicitLocOpBuilder &b, mlir::Region &maskMod,
                const MaskArguments &arguments, PositionRange tile,
                unsigned tileArgument, unsigned unknownArgument)
      : b(b), block(maskMod.front()), arguments(arguments), tile(tile),
        tilePosition(block.getArgument(tileArgument)),
        unknownPosition(block.getArgument(unknownArgument)) {}

  // Index arithmetic of the kernel, which is folded as it is built.
  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  template <typename Op> mlir::Value fold(mlir::Value x, mlir::Value y) {
    return b.createOrFold<Op>(x, y);
  }
  mlir::Value negate(mlir::Value x);
  /// The number from -end to end that is nearest to `x`.
  mlir::Value clamp(mlir::Value x, int64_t end) {
    return fold<mlir::arith::MinSIOp>(
        fold<mlir::arith::MaxSIOp>(x, index(-end)), index(end));
  }

  // Forms of integers.
  /// Returns the form of a value whose operands are in `forms`, if it has one.
  MaybeForm computeForm(mlir::Value value);
  /// Returns true if the form of the operation's result comes from those of its
  /// operands.
  static bool isArithmetic(mlir::Operation *op);
  MaybeForm addForms(const PositionForm &x, const PositionForm &y);
  PositionForm multiply(const PositionForm &x, int64_t factor);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Block &block;
  llvm::DenseMap<mlir::Value, MaybeForm> forms;

private:
  MaybeForm makeCapture(mlir::Value number);
  MaybeForm getCapture(mlir::BlockArgument argument);
  MaybeForm getElement(mlir::Operation *read);
  MaybeForm computeBinary(mlir::Operation *op);
  MaybeForm divide(mlir::Operation *op, const PositionForm &x, int64_t divisor);

  const MaskArguments &arguments;
  PositionRange tile;
  mlir::Value tilePosition, unknownPosition;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_POSITIONFORMS_H
