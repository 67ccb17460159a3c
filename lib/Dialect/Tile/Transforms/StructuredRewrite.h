//===- StructuredRewrite.h - control flow around rewritten values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_STRUCTUREDREWRITE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_STRUCTUREDREWRITE_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// Builds a body anew in which other values stand for tiles: what one thread
/// has of a tile, its pairs of columns, or its parts. The subclass says which
/// values these are and lowers operations; this class builds the loops,
/// branches and work tiles around them. A loop that carries a tile, for
/// example, carries all values that stand for the tile:
///
///     scf.for .. iter_args(%t = %u) -> (vector<4xf32>)
///
/// becomes, where pairs of elements stand for a tile,
///
///     scf.for .. iter_args(%t0 = %u0, %t1 = %u1)
///         -> (vector<2xf32>, vector<2xf32>)
///
/// Passes do not use a dialect conversion with upstream's patterns for scf
/// because they decide where a value is built, often long after its operation,
/// by what has been built before.
class StructuredRewrite {
public:
  virtual ~StructuredRewrite();

protected:
  /// Appends the types of the values that stand for a tile.
  virtual void appendTypes(mlir::Value tile,
                           llvm::SmallVectorImpl<mlir::Type> &types) = 0;
  /// Appends the values that stand for `tile` where it becomes `target`, an
  /// argument of a loop's body or a result of a loop or branch.
  virtual void appendValues(mlir::Value tile, mlir::Value target,
                            mlir::OpBuilder &b,
                            llvm::SmallVectorImpl<mlir::Value> &values) = 0;
  virtual void setValues(mlir::Value tile, mlir::ValueRange values) = 0;
  /// Builds what stands for an operation that is no terminator.
  virtual mlir::LogicalResult lower(mlir::Operation &op,
                                    mlir::OpBuilder &b) = 0;
  /// Called before the values that a loop or branch yields are asked for.
  virtual void beginYield(mlir::Operation &yield, mlir::OpBuilder &b) {}

  /// Replaces the block of `body`. On failure, the old one is still there.
  mlir::LogicalResult rebuildBody(mlir::Region &body);
  mlir::LogicalResult rebuildBlock(mlir::Block &from, mlir::OpBuilder &b);
  mlir::LogicalResult rebuild(mlir::scf::ForOp op, mlir::OpBuilder &b);
  mlir::LogicalResult rebuild(mlir::scf::IfOp op, mlir::OpBuilder &b);
  mlir::LogicalResult rebuild(WorkOp op, mlir::OpBuilder &b);

  /// Maps everything but tiles to what stands for it: one value.
  mlir::IRMapping scalars;

private:
  llvm::SmallVector<mlir::Type> getTypes(mlir::Value value);
  llvm::SmallVector<mlir::Value> getAllValues(mlir::ValueRange from,
                                              mlir::ValueRange targets,
                                              mlir::OpBuilder &b);
  void setAllValues(mlir::ValueRange from, mlir::ValueRange to);
  mlir::LogicalResult rebuildRegion(mlir::Region &from, mlir::Region &to,
                                    mlir::ValueRange results);
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_STRUCTUREDREWRITE_H
