//===- ColumnIntegers.h - integers and conditions of a row's columns ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNINTEGERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNINTEGERS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

/// Returns true if `op` takes or gives integers, indices or conditions. Such
/// operations are emitted for each column, not on vectors of two: LLVM's NVPTX
/// back end splits vectors of two i32 late, in a time that is quadratic in the
/// length of a chain.
bool isPerColumn(mlir::Operation *op);

/// Returns true if `within`, a loop of the role or the role, computes uniform
/// integers by more than sums.
/// Uniform means: for each column of a row, but the same in all threads of the
/// role, as key positions in a mask_mod are. ptxas keeps such integers in
/// uniform registers, of which there are 63.
bool hasUniformIntegers(RoleOp role, mlir::Operation *within);

/// Decides which rows of a role are computed from positions. Answers are kept,
/// so the IR must not change.
class ColumnIntegers {
public:
  /// Returns true for integers, conditions and values converted from them, if
  /// they are computed without any value that the role reads: from positions,
  /// for example.
  bool isOfPositions(mlir::Value row);

private:
  llvm::DenseMap<mlir::Value, bool> ofPositions;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNINTEGERS_H
