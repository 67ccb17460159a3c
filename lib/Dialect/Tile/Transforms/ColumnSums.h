//===- ColumnSums.h - sums of the column's number and of scalars ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNSUMS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNSUMS_H

#include "ColumnForms.h"
#include "mlir/IR/IRMapping.h"
#include <map>
#include <vector>

namespace fa4::tile {

/// Builds columns of vectors of integers that are linear in the number of the
/// column: what all columns have in common is added up once.
class ColumnSums {
public:
  /// `scalars` maps scalars of the old IR to the new.
  ColumnSums(const mlir::IRMapping &scalars, ColumnForms &forms)
      : scalars(scalars), forms(forms) {}

  /// Whether `value` is a vector of integers, a sum or difference, that get can
  /// build.
  bool isSum(mlir::Value value);

  /// Returns `column` of such a vector as the sum of a constant and a scalar
  /// that is the same for all columns. The source may add the number of the
  /// column to one term after the other. LLVM would then move the sum with a
  /// term that a loop does not change in front of the loop, which takes a
  /// register for each column.
  mlir::Value get(mlir::Value value, int64_t column, mlir::OpBuilder &b);

  /// Returns the part of such a vector that is the same for all columns; null
  /// if there is none.
  mlir::Value getBase(mlir::Value value, mlir::OpBuilder &b);

  /// Returns the column of such a vector whose number is `first + offset`.
  /// `first` is an index that is known at run time. `base` is the result of
  /// getBase.
  mlir::Value getAt(mlir::Value value, mlir::Value base, mlir::Value first,
                    int64_t offset, mlir::OpBuilder &b);

private:
  mlir::Value getBase(mlir::Value value, const AffineColumn &sum,
                      mlir::OpBuilder &b);
  mlir::Value addConstant(mlir::Value base, int64_t number, mlir::Type type,
                          mlir::Location loc, mlir::OpBuilder &b);

  const mlir::IRMapping &scalars;
  ColumnForms &forms;
  /// The terms of sums, added up in a block.
  std::map<std::vector<intptr_t>, mlir::Value> bases;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNSUMS_H
