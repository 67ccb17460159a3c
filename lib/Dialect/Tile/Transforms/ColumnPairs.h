//===- ColumnPairs.h - vectors of two columns, and accesses to them ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNPAIRS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNPAIRS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"

namespace fa4::tile {

/// Whether a value of this type is a thread's part of a row. A matrix is a tile
/// of which the role has the place, or that is an operand or result of an MMA.
inline bool isRow(mlir::Type type) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(type);
  return vector && vector.getRank() == 1;
}

/// The number of pairs of columns of a row.
inline int64_t numPairs(mlir::Type type) {
  return mlir::cast<mlir::VectorType>(type).getNumElements() / 2;
}

/// The type of a pair of columns of a row.
inline mlir::VectorType pairType(mlir::Type type) {
  return mlir::VectorType::get(
      {2}, mlir::cast<mlir::VectorType>(type).getElementType());
}

/// Cuts the columns `begin` to `end` into parts whose sizes are powers of two,
/// as accesses to tensor memory and vector accesses to shared memory need.
llvm::SmallVector<std::pair<int64_t, int64_t>> splitAccess(int64_t begin,
                                                           int64_t end);

/// Joins pairs to a vector, from 32-bit words: a pair of 16-bit elements is one
/// word that need not be taken apart.
mlir::Value joinPairs(mlir::ValueRange parts, mlir::Location loc,
                      mlir::OpBuilder &b);

/// Checks that all rows of the role can be split into pairs of columns. An
/// error on the operation otherwise.
mlir::LogicalResult verifyRows(RoleOp role);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNPAIRS_H
