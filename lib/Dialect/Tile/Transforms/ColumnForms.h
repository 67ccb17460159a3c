//===- ColumnForms.h - values of columns as linear forms ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNFORMS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNFORMS_H

#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace fa4::tile {

/// The largest constant of a form. A term that may be larger is clamped to it:
/// even if all terms have the largest coefficient, their sum is then below
/// 2^62.
inline constexpr int64_t kMaxColumnTerm = int64_t(1) << 56;

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

/// Adds up the terms of `form`, each of which `build` gives as a value of
/// `type`. Returns null if there are none.
mlir::Value addTerms(mlir::ImplicitLocOpBuilder &b, const AffineColumn &form,
                     mlir::Type type,
                     llvm::function_ref<mlir::Value(mlir::Value)> build);

/// Which vectors of integers are linear in the number of the column: sums and
/// differences of it, of constants, and of values that are the same for all
/// columns.
///
/// The IR that is asked about must not change: answers are kept, so that a
/// value that many others are computed from is looked at once.
class ColumnForms {
public:
  /// `layout` is that of the role's threads.
  explicit ColumnForms(const ValueLayout &layout) : layout(layout) {}

  /// Returns the form of a vector; none if it has none.
  const std::optional<AffineColumn> &get(mlir::Value value);

  /// Returns the columns that a thread has of rows of the type of `value`.
  llvm::ArrayRef<int64_t> getColumns(mlir::Value value);

private:
  std::optional<AffineColumn> compute(mlir::Value value);
  bool isColumnNumber(mlir::Value value);

  const ValueLayout &layout;
  /// By the number of a thread's columns: which columns these are.
  llvm::DenseMap<int64_t, llvm::SmallVector<int64_t>> columnsOf;
  llvm::DenseMap<mlir::Value, std::optional<AffineColumn>> forms;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNFORMS_H
