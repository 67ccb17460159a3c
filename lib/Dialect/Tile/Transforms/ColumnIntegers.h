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

/// Returns true if `op` takes or gives integers, indices or conditions.
/// LLVM's NVPTX back end has vectors of two i32, but splits each operation on
/// them later, in a time that is quadratic in the length of a chain.
bool isPerColumn(mlir::Operation *op);

/// Returns true if the role computes integers by more than sums for each column
/// of a row that are the same in all of its threads: those of key positions in
/// a mask_mod, for example. ptxas keeps them in registers of their own, of
/// which there are 63.
bool hasUniformIntegers(RoleOp role);

/// Which rows of a role are computed from positions. The IR that is asked about
/// must not change: answers are kept.
class ColumnIntegers {
public:
  /// Returns true for integers, conditions and what is converted from them that
  /// are computed without anything that is read, from positions for example.
  bool isOfPositions(mlir::Value row);

private:
  llvm::DenseMap<mlir::Value, bool> ofPositions;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNINTEGERS_H
