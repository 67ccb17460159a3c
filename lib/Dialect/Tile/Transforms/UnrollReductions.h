//===- UnrollReductions.h - reductions of rows, pair by pair ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREDUCTIONS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREDUCTIONS_H

#include "UnrollValues.h"
#include "llvm/ADT/BitVector.h"

namespace fa4::tile {

/// Builds the reductions of a thread's rows from pairs or elements, with
/// several partial results that do not wait for each other.
class UnrollReductions {
public:
  UnrollReductions(RowColumns &columns, UnrollValues &values)
      : columns(columns), values(values) {}

  void lower(mlir::vector::ReductionOp op, mlir::OpBuilder &b);

  /// Folds the columns that a write has built into later reductions of its
  /// block. Without this, each column would occupy a register until the
  /// reduction.
  void foldEarly(WriteOp write, mlir::OpBuilder &b);

private:
  /// The state of a reduction that has begun.
  struct Partial {
    llvm::SmallVector<mlir::Value> acc;
    llvm::BitVector folded;
  };

  void foldPairs(mlir::vector::ReductionOp op, int64_t begin, int64_t end,
                 mlir::OpBuilder &b);
  mlir::Value reducePairs(mlir::vector::ReductionOp op, mlir::OpBuilder &b);
  mlir::Value reduceElements(mlir::vector::ReductionOp op, mlir::OpBuilder &b);

  RowColumns &columns;
  UnrollValues &values;
  llvm::DenseMap<mlir::Operation *, Partial> partials;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_UNROLLREDUCTIONS_H
