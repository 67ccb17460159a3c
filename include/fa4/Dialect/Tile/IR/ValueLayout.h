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

/// The layout of a matrix over the threads of a role. Passes ask it instead of
/// knowing layouts: a new layout is one more class in ValueLayout.cpp.
///
/// All threads hold elements in the same pattern, at different places: element
/// `e` of thread `t` is at row and column
///
///     getOrigin(columns)(t) + getOffset()(e)
///
/// of a matrix with `columns` columns, where `t` counts the threads of the role
/// from 0 and `e` the elements of a thread, in the order in which a vector of
/// rank 1 holds them. Every element of the matrix is held by exactly one
/// thread. Elements 2 i and 2 i + 1 of a thread are side by side in a row, so
/// that packed instructions and accesses of two elements take them together.
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

  /// Returns the map from a column, counted from the origin, to the number of
  /// elements that a thread holds in front of it in one of its rows: (c) ->
  /// (count). The elements in front of a bound are the first ones of the row,
  /// so that a condition `column < bound` sets as many bits of a mask.
  virtual mlir::AffineMap getRankOfColumn(mlir::MLIRContext *context) const;

  /// Returns the masks by which threads combine their parts of a row: thread
  /// `t` with thread `t ^ mask`, for one mask after the other, after which each
  /// of them has the result of the whole row. Empty if a thread holds rows as a
  /// whole. A mask that is less than the size of a warp is one of its lanes.
  virtual llvm::ArrayRef<unsigned> getReductionMasks() const { return {}; }

  /// Returns the bits of a thread's number that are 0 in the owner of a row
  /// value: the one of the threads with copies of the value that writes it to
  /// memory. 0 if each thread owns the values of its rows.
  unsigned getOwnerMask() const;

  /// Returns the number of threads that hold parts of one row, each of them as
  /// many of its columns: 1 if rows are held whole. Each mask of
  /// getReductionMasks doubles the threads whose parts are combined.
  int64_t getThreadsPerRow() const {
    return int64_t(1) << getReductionMasks().size();
  }

  /// Returns how many of the `columns` columns of a row a thread holds.
  int64_t getColumnsPerThread(int64_t columns) const {
    return columns / getThreadsPerRow();
  }

  /// Returns true if a thread holds one row and no other thread a part of it,
  /// so that it can reduce the row by itself.
  bool isRowPerThread() const {
    return getRowsPerThread() == 1 && getReductionMasks().empty();
  }

  /// Returns true if element `e` of each thread is in column `e`: values for
  /// each column are then the same elements for all threads.
  bool hasElementsByColumn(mlir::MLIRContext *context) const;

  /// Returns the least number of columns at whose multiples a matrix with
  /// `columns` columns may be cut. Each piece then gives all threads of a row
  /// equally many elements, and the elements of a thread follow each other.
  virtual int64_t getPieceColumns(int64_t columns) const { return 1; }

  /// Returns the number of columns that a thread can access in shared memory
  /// with addresses that are the same for all threads but for an offset. A
  /// matrix of `columns` columns lies there in boxes side by side, whose width
  /// divides this number.
  virtual int64_t getBoxColumns(int64_t columns) const { return columns; }

  /// Returns true if an MMA can read a tile as its operand A in the place where
  /// it leaves results with this layout.
  virtual bool isMmaOperand() const { return true; }

  /// Returns true if threads that hold as many rows as the matrix has can hold
  /// it. The columns of different threads may be in a dimension of their own:
  /// if two threads hold a row, a 64x32 matrix may be 64x2x16. A matrix of one
  /// column is a form of row values.
  bool canHold(mlir::VectorType matrix) const;

  /// Returns the elements of a thread that are in its row `row`, in their
  /// order. They are in the same columns for each row of the thread.
  llvm::SmallVector<int64_t> getElementsOfRow(mlir::MLIRContext *context,
                                              int64_t row,
                                              int64_t columns) const;

  /// Returns the columns, counted from the origin, that a thread holds of each
  /// of its rows, in a matrix with `columns` columns.
  llvm::SmallVector<int64_t> getColumnsOfThread(mlir::MLIRContext *context,
                                                int64_t columns) const;

  /// Returns how far row `row` of a thread is from its first row.
  int64_t getRowOffset(mlir::MLIRContext *context, int64_t row) const;

  /// Returns the type of what a thread holds of one of its rows: of a matrix, a
  /// vector of rank 1; of row values (a vector of rank 1, or a matrix of one
  /// column), or where it is one element, a scalar.
  mlir::Type getRowPart(mlir::VectorType tile) const;
};

/// Returns the layout of this kind, or null for ValueLayoutKind::None. Layouts
/// live forever.
const ValueLayout *getValueLayout(ValueLayoutKind kind);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_VALUELAYOUT_H
