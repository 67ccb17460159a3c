//===- ColumnMask.h - conditions on columns as words of bits ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H

#include "ColumnForms.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// Conditions on the columns of a thread's row that are known as 32-bit words,
/// bit `i` of word `w` for the thread's column `32 w + i`: signed comparisons
/// of the column's number with something that is the same for all columns, and
/// their conjunctions, disjunctions and negations. A word takes a few
/// instructions, where 32 comparisons take 32, and its bits become predicates
/// seven at a time.
///
/// A comparison is solved for the column: `row + 5 >= column + offset` becomes
/// `column < row - offset + 6`. The limit does not wrap: it has 32 bits where
/// the ranges of its terms prove that these are enough, and 64 otherwise. A
/// term that the caller of the kernel chooses counts as 2^56 where it is beyond
/// that, and as -2^56 below; index arithmetic on such values would wrap.
///
/// A thread that has only some columns of its row counts columns from the first
/// one that it has: a constant vector of the distances from there
/// (ValueLayout::getColumnsOfThread) is the number of the column. The layout
/// says how many of the thread's columns are in front of a limit.
///
/// The IR that is asked about must not change: answers are kept.
class ColumnMask {
public:
  /// `scalars` maps scalars of the old IR to the new. `layout` is that of the
  /// role's threads.
  ColumnMask(const mlir::IRMapping &scalars, const ValueLayout &layout,
             ColumnForms &forms)
      : scalars(scalars), layout(layout), forms(forms) {}

  /// Whether `mask` is a vector of i1 whose bits can be computed as words.
  bool isColumnMask(mlir::Value mask);

  /// Returns the bit of `column` as an i1. A word is built when its first bit
  /// is asked for, at the insertion point of `b`.
  mlir::Value getBit(mlir::Value mask, int64_t column, mlir::OpBuilder &b);

  /// Returns bit `number` of a word as an i1.
  static mlir::Value testBit(mlir::Value word, int64_t number,
                             mlir::Location loc, mlir::OpBuilder &b);

  /// Returns the word of columns `32 word` to `32 word + 31`.
  mlir::Value getWord(mlir::Value mask, int64_t word, mlir::OpBuilder &b);

  /// Whether a condition that can be computed as words is one comparison.
  static bool isComparison(mlir::Value mask) {
    return bool(mask.getDefiningOp<mlir::arith::CmpIOp>());
  }

  /// Returns what such a comparison compares the column with, an i32.
  mlir::Value getLimit(mlir::Value comparison, mlir::OpBuilder &b);

  /// Compares `column` with the limit of `comparison`. `column` is an i32 that
  /// is known only at run time. The limit is computed here if it is null.
  mlir::Value compare(mlir::Value comparison, mlir::Value limit,
                      mlir::Value column, mlir::OpBuilder &b);

  /// Makes all words of `mask`.
  void makeWords(mlir::Value mask, mlir::OpBuilder &b);

private:
  std::optional<AffineColumn> getDifference(mlir::arith::CmpIOp op);
  bool computeIsColumnMask(mlir::Value mask);
  AffineColumn solveForColumn(mlir::arith::CmpIOp op, bool &upper);
  bool isUnbounded(mlir::Value term);
  bool isWide(const AffineColumn &limit);
  mlir::Value makeLimit(const AffineColumn &affine, mlir::Location loc,
                        mlir::OpBuilder &b);
  mlir::Value buildWord(mlir::Value mask, int64_t word, mlir::OpBuilder &b);

  const mlir::IRMapping &scalars;
  const ValueLayout &layout;
  ColumnForms &forms;
  IntegerRanges ranges;
  llvm::DenseMap<mlir::Value, bool> isMask;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> words;
  /// Maps a comparison to the limit with which it compares the column, as an
  /// i32.
  llvm::DenseMap<mlir::Value, mlir::Value> limits;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
