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
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

inline bool isRow(mlir::Type type) { return mlir::isa<mlir::VectorType>(type); }

/// The number of pairs of columns of a row.
inline int64_t numPairs(mlir::Type type) {
  return mlir::cast<mlir::VectorType>(type).getNumElements() / 2;
}

/// The type of a pair of columns of a row.
inline mlir::VectorType pairType(mlir::Type type) {
  return mlir::VectorType::get(
      {2}, mlir::cast<mlir::VectorType>(type).getElementType());
}

/// The columns of a vector. A pair that is not built yet is null. The elements
/// are known where an operation gave them one by one, and null elsewhere.
struct Columns {
  llvm::SmallVector<mlir::Value, 0> pairs, elements;
};

/// What has been built of the rows of a role, as values of the new IR, and how
/// one pair or one column of an operation is built of its operands'.
class RowColumns {
public:
  RowColumns() : masks(scalars) {}

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
  /// Returns true if an operation gives the same in all columns.
  static bool isUniform(mlir::Operation *op);
  /// Builds all columns of a value for which they are the same. Returns false
  /// if they differ.
  bool buildUniform(mlir::Operation *op, mlir::OpBuilder &b);
  /// Builds one column of an operation that takes or gives integers, or that is
  /// a condition that is known as words of bits.
  mlir::Value buildElement(mlir::Operation *op, int64_t column,
                           mlir::OpBuilder &b);
  /// Builds a pair of columns of another operation.
  mlir::Value buildPair(mlir::Operation *op, int64_t pair, mlir::OpBuilder &b);

  /// Maps scalars of the old IR to the new.
  mlir::IRMapping scalars;
  ColumnMask masks;
  ColumnIntegers integers;
  /// Whether conditions are known by column, and not to be taken from words: in
  /// a loop over pairs the number of a column is known when it runs.
  bool knowsConditions = false;

private:
  llvm::DenseMap<mlir::Value, Columns> columns;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWCOLUMNS_H
