//===- LaneValues.h - what one thread has of the tiles of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H

#include "PartialSums.h"
#include "fa4/Dialect/Tile/Analysis/LaneLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// The parts that one thread has of the tiles of a role, and how operations
/// without effects compute them from the parts of their operands. The layouts
/// of the tiles decide which operations can: a thread has no elements of other
/// threads.
///
/// A tile that is spread over the rows has a part for each row of which the
/// thread holds elements: one for rows that are held whole, two for the
/// fragments of a matrix role. What is done with a tile is done with each of
/// its parts. A value that the rows share (LaneLayout::Columns) has one part.
class LaneValues {
public:
  /// `map` maps scalars, and tiles of which the role has only the place, from
  /// the old code to the new.
  LaneValues(RoleOp role, LaneLayouts layouts, mlir::IRMapping &map)
      : role(role), layouts(std::move(layouts)), sums(role), map(map) {}

  LaneLayout getLayout(mlir::Value tile) const { return layouts.get(tile); }

  /// Returns the number of parts of a tile, and the type of each.
  unsigned getNumParts(mlir::Value tile) const;
  mlir::Type getPartType(mlir::Value tile) const;

  /// Returns the parts of a tile. A value that is free in any layout has a form
  /// for each, of which `layout` chooses one.
  llvm::ArrayRef<mlir::Value> getParts(mlir::Value tile, LaneLayout layout);
  llvm::ArrayRef<mlir::Value> getParts(mlir::Value tile) {
    return getParts(tile, layouts.get(tile));
  }
  /// Returns the parts of a tile where it becomes `target`, an argument of a
  /// loop's body or a result of a loop or branch.
  llvm::SmallVector<mlir::Value>
  getPartsFor(mlir::Value tile, mlir::Value target, mlir::OpBuilder &b);
  /// Combines the sums that `op` uses, of which threads hold parts. What
  /// getParts then returns of them is the whole sum, until the next operation.
  void combineSums(mlir::Operation &op, mlir::OpBuilder &b);

  void setParts(mlir::Value tile, mlir::ValueRange parts) {
    partsOf[tile] = llvm::to_vector<2>(parts);
  }

  /// Returns what stands for a value that is no tile of lanes.
  mlir::Value get(mlir::Value value) { return map.lookupOrDefault(value); }
  void set(mlir::Value value, mlir::Value other) { map.map(value, other); }
  /// Returns true if the value is known in the new code.
  bool contains(mlir::Value value) const {
    return map.contains(value) || partsOf.contains(value);
  }

  /// Returns the number of a row of the thread, among `rows` rows that the
  /// threads hold together. `part` counts the rows of the thread.
  mlir::Value getRow(mlir::Location loc, int64_t rows, unsigned part,
                     mlir::OpBuilder &b);

  /// Builds the parts of the result of an operation without effects. Emits an
  /// error if it needs elements that the thread does not have.
  mlir::LogicalResult lower(mlir::Operation *op, mlir::OpBuilder &b);
  mlir::LogicalResult lowerElementwise(mlir::Operation *op, mlir::OpBuilder &b);

private:
  using Parts = llvm::SmallVector<mlir::Value, 2>;

  unsigned getNumParts(LaneLayout layout) const;
  mlir::Type getPartType(mlir::Value tile, LaneLayout layout) const;
  mlir::Value getColumns(mlir::vector::StepOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::arith::ConstantOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::StepOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::BroadcastOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::ShapeCastOp op);
  mlir::LogicalResult lower(mlir::vector::ExtractStridedSliceOp op,
                            mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::MultiDimReductionOp op,
                            mlir::OpBuilder &b);

  Parts combine(mlir::Value sum, mlir::OpBuilder &b);
  bool isHeldInParts(mlir::Value value) const;

  RoleOp role;
  LaneLayouts layouts;
  PartialSums sums;
  /// The sums that the operation which is lowered now takes as a whole.
  llvm::DenseMap<mlir::Value, Parts> combined;
  mlir::IRMapping &map;
  /// For values that are free in any layout, `partsOf` has the form for `Rows`
  /// and `ofColumns` the form for `Columns`.
  llvm::DenseMap<mlir::Value, Parts> partsOf, ofColumns;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H
