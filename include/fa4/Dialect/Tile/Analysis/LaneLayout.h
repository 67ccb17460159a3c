//===- LaneLayout.h - how a tile's elements are spread over lanes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_LANELAYOUT_H
#define FA4_DIALECT_TILE_ANALYSIS_LANELAYOUT_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// How the threads of a role hold a tile value together.
enum class LaneLayout {
  /// The rows are spread over the threads, as the role's ValueLayout says.
  Rows,
  /// The elements are those of columns, the same for all rows. Each thread
  /// holds those of the columns of which it holds parts: all of them where it
  /// holds whole rows.
  Columns
};

/// The layouts of the values in a role that holds data. The layout of a matrix
/// follows from its number of rows: the rows that the threads hold together (of
/// the role or of a folded tile), or one row in all. The halves of columns of a
/// folded matrix may be a dimension of their own, 64x2x16 for 64x32. The layout
/// of a vector of rank 1 is inferred from the operations that make it and use
/// it.
class LaneLayouts {
public:
  /// Infers all layouts of `role`. Emits an error and fails if a value would
  /// need two layouts, or has rows that the threads do not hold.
  static llvm::FailureOr<LaneLayouts> infer(RoleOp role);

  /// Returns the type of what one thread holds of each of its rows of a tile
  /// that is spread over the rows.
  mlir::Type getRowPart(mlir::VectorType tile) const;

  LaneLayout get(mlir::Value value) const;

  /// Returns true for values that cost nothing in any layout, so that each use
  /// can have its own: constants and steps of rank 1, and scalars that are
  /// broadcast to rank 1.
  static bool isFree(mlir::Value value);

private:
  LaneLayouts() = default;
  struct Inference;

  RoleOp role;
  /// The rows that the threads of the role hold together.
  int64_t rows = 0;
  llvm::DenseMap<mlir::Value, LaneLayout> rank1;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_LANELAYOUT_H
