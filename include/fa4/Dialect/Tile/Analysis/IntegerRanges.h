//===- IntegerRanges.h - bounds of the integers of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of each integer of a kernel, for all sizes on which the kernel may be
// launched (IndexRange). They follow from the operation that computes the
// integer. Their use is to tell that arithmetic is exact: that it never wraps
// around at the width of its type.
//
// The overflow flags of an operation (`overflow<nsw>`) are promises of whoever
// wrote the operation. The analysis does not rely on them, because nothing
// stops a role that breaks one.
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
  /// Returns the bounds of an integer or index, at its width in a kernel's code
  /// (getIntegerBits). For a value of another type, the bounds have width 0.
  mlir::ConstantIntRanges get(mlir::Value value);

  /// Returns true if the result of this addition, subtraction or multiplication
  /// is exact: it never wraps around.
  bool isExact(mlir::Operation *op);

  /// Returns true if the loop makes ceildiv(upper bound - lower bound, step)
  /// passes, or none if that is negative. For this, the step must be positive,
  /// and the induction variable must not wrap around behind its last value.
  bool isCounted(mlir::scf::ForOp loop);

  /// Returns true if the step of the loop is positive.
  bool hasPositiveStep(mlir::scf::ForOp loop);

  /// Returns the bounds of a result from the bounds of its operation's
  /// operands.
  static mlir::ConstantIntRanges
  infer(mlir::OpResult result,
        llvm::ArrayRef<mlir::ConstantIntRanges> operands);

private:
  mlir::ConstantIntRanges compute(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INTEGERRANGES_H
