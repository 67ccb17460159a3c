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

/// Whether the threads of a role hold a tile value together.
enum class LaneLayout {
  /// The rows are spread over the threads, as the role's ValueLayout says.
  Rows,
  /// Each thread holds the whole value.
  Whole
};

/// Layouts of the values in a role that holds data. That of a matrix follows
/// from its number of rows: those that the threads hold together, of the role
/// or of a folded tile, or one in all. A folded matrix may have its halves of
/// columns as a dimension of its own, 64x2x16 for 64x32. That of a vector of
/// rank 1 is inferred from where it comes from and how it is used.
class LaneLayouts {
public:
  /// Infers all layouts of `role`. Where a value would need two, or has rows
  /// that the threads do not, reports an error and fails.
  static llvm::FailureOr<LaneLayouts> infer(RoleOp role);

  /// Returns the type of the part that a thread has of a tile that is spread
  /// over the rows.
  mlir::Type getPart(mlir::VectorType tile) const;

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
