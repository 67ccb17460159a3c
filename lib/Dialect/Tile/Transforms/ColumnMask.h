//===- ColumnMask.h - conditions on columns as words of bits ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H

#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <vector>

namespace fa4::tile {

/// `scale * column + constant`, plus each term times its coefficient. The terms
/// are scalars, the same for all columns of a row. The numbers are small, and
/// there are few terms: a value that needs more has no such form.
struct AffineColumn {
  int64_t scale = 0;
  int64_t constant = 0;
  llvm::SmallMapVector<mlir::Value, int64_t, 4> terms;

  /// Adds `sign` (1 or -1) times `other`. False if the sum has no such form.
  bool add(const AffineColumn &other, int64_t sign);
};

/// Conditions on the columns of a thread's row that are known as 32-bit words,
/// bit `i` of word `w` for the thread's column `32 w + i`: signed comparisons of the
/// column's number with something that is the same for all columns, and their
/// conjunctions, disjunctions and negations. A word takes a few instructions,
/// where 32 comparisons take 32, and its bits become predicates seven at a
/// time.
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
/// The IR that is asked about must not change: answers are kept, so that a
/// value that many others are computed from is looked at once.
class ColumnMask {
public:
  /// `scalars` maps scalars of the old IR to the new. `layout` is that of the
  /// role's threads.
  ColumnMask(const mlir::IRMapping &scalars, const ValueLayout &layout)
      : scalars(scalars), layout(layout) {}

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

  /// Whether `value` is a vector of integers, a sum or difference, that getSum
  /// can build.
  bool isSum(mlir::Value value);

  /// Whether the columns of `value` are built from the number of the column,
  /// not from those of its operands: as words of bits, or by getSum.
  bool isOfColumnNumber(mlir::Value value) {
    return isColumnMask(value) || isSum(value);
  }

  /// Returns `column` of such a vector as the sum of a constant and a scalar
  /// that is the same for all columns. The source may add the number of the
  /// column to one term after the other. LLVM would then move the sum with a
  /// term that a loop does not change in front of the loop, which takes a
  /// register for each column.
  mlir::Value getSum(mlir::Value value, int64_t column, mlir::OpBuilder &b);

  /// Returns the part of such a vector that is the same for all columns; null
  /// if there is none.
  mlir::Value getBase(mlir::Value value, mlir::OpBuilder &b);

  /// Returns the column of such a vector whose number is `first + offset`.
  /// `first` is an index that is known at run time. `base` is the result of
  /// getBase.
  mlir::Value getSumAt(mlir::Value value, mlir::Value base, mlir::Value first,
                       int64_t offset, mlir::OpBuilder &b);

private:
  const std::optional<AffineColumn> &getAffine(mlir::Value value);
  std::optional<AffineColumn> computeAffine(mlir::Value value);
  std::optional<AffineColumn> getDifference(mlir::arith::CmpIOp op);
  bool computeIsColumnMask(mlir::Value mask);
  AffineColumn solveForColumn(mlir::arith::CmpIOp op, bool &upper);
  bool isColumnNumber(mlir::Value value);
  llvm::ArrayRef<int64_t> getColumns(mlir::Value value);
  bool isUnbounded(mlir::Value term);
  bool isWide(const AffineColumn &limit);
  mlir::Value makeLimit(const AffineColumn &affine, mlir::Location loc,
                        mlir::OpBuilder &b);
  mlir::Value getBase(mlir::Value value, const AffineColumn &sum,
                      mlir::OpBuilder &b);
  mlir::Value addConstant(mlir::Value base, int64_t number, mlir::Type type,
                          mlir::Location loc, mlir::OpBuilder &b);
  mlir::Value buildWord(mlir::Value mask, int64_t word, mlir::OpBuilder &b);

  const mlir::IRMapping &scalars;
  const ValueLayout &layout;
  IntegerRanges ranges;
  /// By the number of a thread's columns: which columns these are.
  llvm::DenseMap<int64_t, llvm::SmallVector<int64_t>> columnsOf;
  llvm::DenseMap<mlir::Value, std::optional<AffineColumn>> affine;
  llvm::DenseMap<mlir::Value, bool> isMask;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> words;
  /// Maps a comparison to the limit with which it compares the column, as an
  /// i32.
  llvm::DenseMap<mlir::Value, mlir::Value> limits;
  /// The terms of sums, added up in a block.
  std::map<std::vector<intptr_t>, mlir::Value> bases;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNMASK_H
