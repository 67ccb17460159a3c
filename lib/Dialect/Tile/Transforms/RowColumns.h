//===- RowColumns.h - the columns of rows, built pair by pair ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWCOLUMNS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWCOLUMNS_H

#include "ColumnIntegers.h"
#include "ColumnMask.h"
#include "ColumnPairs.h"
#include "ColumnSums.h"

namespace fa4::tile {

/// The columns of a vector. A pair that is not built yet is null. The elements
/// are known where an operation gave them one by one, and null elsewhere.
struct Columns {
  llvm::SmallVector<mlir::Value, 0> pairs, elements;
};

/// The columns of a role's rows that have been built, as values of the new IR.
/// Builds one pair or one column of an operation from those of its operands.
class RowColumns {
public:
  /// `scalars` maps scalars of the old IR to the new.
  RowColumns(mlir::IRMapping &scalars, const ValueLayout &layout,
             int64_t fragment)
      : fragment(fragment), scalars(scalars), forms(layout),
        sums(scalars, forms), masks(scalars, layout, forms) {}

  /// Calls `body(begin, end)` for the pairs of each fragment of a row.
  void forFragments(mlir::Type type,
                    llvm::function_ref<void(int64_t, int64_t)> body) const;

  /// Makes room for the columns of `value`, if it is a row.
  void allocate(mlir::Value value);
  Columns &operator[](mlir::Value value) { return columns.find(value)->second; }
  mlir::Value getPair(mlir::Value value, int64_t pair) {
    return (*this)[value].pairs[pair];
  }
  mlir::Value getScalar(mlir::Value value) {
    return scalars.lookupOrDefault(value);
  }
  mlir::Value getElement(mlir::Value value, int64_t column, mlir::OpBuilder &b);
  /// Whether pairs `begin` to `end` of a row are built.
  bool isBuilt(mlir::Value value, int64_t begin, int64_t end);

  /// Returns true if the operand is the condition of a selection that can be
  /// computed as words of bits.
  bool isBitOperand(mlir::OpOperand &operand);
  /// Returns true if the columns of `value` are built from the number of the
  /// column, not from those of its operands: as words of bits, or as sums.
  bool isOfColumnNumber(mlir::Value value) {
    return masks.isColumnMask(value) || sums.isSum(value);
  }
  /// Returns true if an operation gives the same in all columns.
  static bool isUniform(mlir::Operation *op);
  /// Builds all columns of a value for which they are the same. Returns false
  /// if they differ.
  bool buildUniform(mlir::Operation *op, mlir::OpBuilder &b);
  /// Builds a pair of columns of an operation, and also each of the two columns
  /// if the operation is one on columns. If no operation uses the pair then, it
  /// is erased at the end.
  void build(mlir::Operation *op, int64_t pair, mlir::OpBuilder &b);
  /// Says what a pair of columns is: one value, or one for each column.
  void set(mlir::Value row, int64_t pair, mlir::ValueRange values,
           mlir::OpBuilder &b);

  /// The columns that are worked on at a time.
  int64_t fragment;
  mlir::IRMapping &scalars;
  ColumnForms forms;
  ColumnSums sums;
  ColumnMask masks;
  ColumnIntegers integers;
  /// Whether conditions are known by column, and not to be taken from words: in
  /// a loop over pairs the number of a column is known when it runs.
  bool knowsConditions = false;

private:
  mlir::Value buildElement(mlir::Operation *op, int64_t column,
                           mlir::OpBuilder &b);
  mlir::Value buildPair(mlir::Operation *op, int64_t pair, mlir::OpBuilder &b);
  mlir::Value buildNextSum(mlir::Operation *op, int64_t pair,
                           mlir::OpBuilder &b);

  llvm::DenseMap<mlir::Value, Columns> columns;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWCOLUMNS_H
