//===- PartialSums.h - sums of rows that threads keep in parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTIALSUMS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTIALSUMS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

/// The sums of rows that need not be combined over the threads of a row where
/// they are made. Each thread adds up its own elements; the sum over the
/// threads is taken where something else than a sum or a product needs it:
///
///     loop: sum = sum * factor + add(row)       one part a thread
///     behind the loop: inverse = 1 / sum        combined here, once
///
/// A sum qualifies if it starts from zero. A product of a part with a value
/// that all threads of the row have is a part of the product.
class PartialSums {
public:
  explicit PartialSums(RoleOp role);

  /// Returns true if threads hold parts of the value.
  bool contains(mlir::Value value) const { return sums.contains(value); }

  /// Returns true if `op` takes the parts of this operand as they are.
  bool takesParts(mlir::Operation *op, mlir::Value operand) const;

private:
  bool staysPartial(mlir::Value value) const;
  /// Zero is a part of itself.
  bool isPartOrZero(mlir::Value value) const;

  llvm::DenseSet<mlir::Value> sums;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTIALSUMS_H
