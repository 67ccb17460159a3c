//===- IntegerRanges.h - bounds of the integers of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of a value are those of the operation that computes it, for all sizes
// that a kernel may be launched on (IndexRange). They say whether arithmetic is
// exact, that is, never wraps around at the width of its type.
//
// The overflow flags of an operation (`overflow<nsw>`) are promises of whoever
// wrote it. They are not relied on: a role that breaks one does not stop.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INTEGERRANGES_H
#define FA4_DIALECT_TILE_ANALYSIS_INTEGERRANGES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

class IntegerRanges {
public:
  /// The bounds of an integer or index, at its width in a kernel's code
  /// (getIntegerBits); bounds of no bits for values of other types.
  mlir::ConstantIntRanges get(mlir::Value value);

  /// Whether the result of this addition, subtraction or multiplication is the
  /// sum, difference or product of the integers that its operands are.
  bool isExact(mlir::Operation *op);

  /// Whether the loop makes ceildiv(upper bound - lower bound, step) passes, or
  /// none where that is negative: the step is positive, and the induction
  /// variable does not wrap around behind its last value.
  bool isCounted(mlir::scf::ForOp loop);

  /// Whether the step of the loop is positive.
  bool hasPositiveStep(mlir::scf::ForOp loop);

  /// The bounds of a result, given those of the operands of its operation.
  static mlir::ConstantIntRanges
  infer(mlir::OpResult result,
        llvm::ArrayRef<mlir::ConstantIntRanges> operands);

private:
  mlir::ConstantIntRanges compute(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INTEGERRANGES_H
