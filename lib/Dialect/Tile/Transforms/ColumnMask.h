//===- ColumnMask.h - conditions on columns as words of bits ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// Conditions on the columns of a thread's row that are known as 32-bit words,
/// bit `i` of word `w` for column `32 w + i`: signed comparisons of the
/// column's number with something that is the same for all columns, and their
/// conjunctions, disjunctions and negations. A word takes a few instructions,
/// where 32 comparisons take 32, and its bits become predicates seven at a
/// time.
///
/// Positions and column numbers are taken not to overflow when they are added.
class ColumnMask {
public:
  /// `scalars` maps scalars of the old IR to the new.
  explicit ColumnMask(const mlir::IRMapping &scalars) : scalars(scalars) {}

  /// Whether `mask`, a vector of i1, can be had as words.
  static bool isColumnMask(mlir::Value mask);

  /// The bit of `column`, as an i1. Words are made when first asked for, at the
  /// insertion point of `b`.
  mlir::Value getBit(mlir::Value mask, int64_t column, mlir::OpBuilder &b);

  /// Makes all words of `mask`.
  void makeWords(mlir::Value mask, mlir::OpBuilder &b);

private:
  mlir::Value getWord(mlir::Value mask, int64_t word, mlir::OpBuilder &b);
  mlir::Value buildWord(mlir::Value mask, int64_t word, mlir::OpBuilder &b);

  const mlir::IRMapping &scalars;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> words;
  /// The limit that a comparison compares the column with, as i32.
  llvm::DenseMap<mlir::Value, mlir::Value> limits;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
