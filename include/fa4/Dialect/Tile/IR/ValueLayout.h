//===- ValueLayout.h - which elements of a tile a thread holds ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_VALUELAYOUT_H
#define FA4_DIALECT_TILE_IR_VALUELAYOUT_H

#include "fa4/Target/TargetDescription.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fa4::tile {

/// The layout of a matrix over the threads of a role.
///
/// All threads hold elements in the same pattern, at different places: element
/// `e` of thread `t` is at row and column
///
///     getOrigin(columns)(t) + getOffset()(e)
///
/// of a matrix with `columns` columns, where `t` counts the threads of the role
/// from 0 and `e` the elements of a thread, in the order in which a vector of
/// rank 1 holds them. Every element of the matrix is held by exactly one
/// thread.
///
/// A vector with one element for each row (a row value: a maximum, a factor) is
/// spread like the rows: a thread holds the elements of the rows of which it
/// holds parts, in the order of getRowOfElement. Threads that hold parts of the
/// same row hold copies of its row value.
class ValueLayout {
public:
  virtual ~ValueLayout();

  /// Returns the number of rows of the matrices that `threads` threads hold.
  /// `threads` is a multiple of the size of a warpgroup.
  virtual int64_t getNumRows(int64_t threads) const = 0;

  /// Returns the number of elements that a thread holds of a matrix with
  /// `columns` columns.
  virtual int64_t getNumElements(int64_t columns) const = 0;

  /// Returns the number of rows of which a thread holds elements.
  virtual int64_t getRowsPerThread() const = 0;

  /// Returns the number of threads that hold parts of one row, each of them as
  /// many of its columns: 1 if rows are held whole. Each mask of
  /// getReductionMasks doubles the threads whose parts are combined.
  int64_t getThreadsPerRow() const {
    return int64_t(1) << getReductionMasks().size();
  }

  /// Returns true if a thread holds rows whole.
  bool hasWholeRows() const { return getThreadsPerRow() == 1; }

  /// Returns how many of the `columns` columns of a row a thread holds.
  int64_t getColumnsPerThread(int64_t columns) const {
    return columns / getThreadsPerRow();
  }

  /// Returns the map from a thread to the row and column of its pattern's
  /// origin in a matrix with `columns` columns: (t) -> (row, column).
  virtual mlir::AffineMap getOrigin(mlir::MLIRContext *context,
                                    int64_t columns) const = 0;

  /// Returns the map from an element of a thread to its row and column from the
  /// origin: (e) -> (row, column).
  virtual mlir::AffineMap getOffset(mlir::MLIRContext *context) const = 0;

  /// Returns the map from an element of a thread to the number of its row among
  /// the rows of the thread: (e) -> (i). A row value that is broadcast along
  /// the rows gives element `e` its own element `i`.
  virtual mlir::AffineMap getRowOfElement(mlir::MLIRContext *context) const = 0;

  /// Returns the masks by which threads combine their parts of a row: thread
  /// `t` with thread `t ^ mask`, for one mask after the other, after which each
  /// of them has the result of the whole row. Empty if a thread holds rows as a
  /// whole. A mask that is less than the size of a warp is one of its lanes.
  virtual llvm::ArrayRef<unsigned> getReductionMasks() const = 0;

  /// Returns true if a thread holds one row, whole and in order: a row value is
  /// a scalar in it, and a reduction of the row needs no other thread.
  bool isRowPerThread(mlir::MLIRContext *context) const;

  /// Returns the type of the part of a matrix or of a row value (a vector of
  /// rank 1) that a thread holds: a vector of rank 1, or a scalar where it is
  /// one element.
  mlir::Type getPart(mlir::VectorType tile) const;
};

/// Returns the layout of this kind, or null for ValueLayoutKind::None. Layouts
/// live forever.
const ValueLayout *getValueLayout(ValueLayoutKind kind);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_VALUELAYOUT_H
