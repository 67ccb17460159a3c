//===- LaneValues.h - what one thread has of the tiles of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H

#include "fa4/Dialect/Tile/Analysis/LaneLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// The parts that one thread has of the tiles of a role, and how operations
/// without effects compute them from the parts of their operands. The layouts
/// of the tiles decide which operations can: a thread has no elements of other
/// threads.
class LaneValues {
public:
  /// `map` maps values of the old code to the new.
  LaneValues(RoleOp role, LaneLayouts layouts, mlir::IRMapping &map)
      : role(role), layouts(std::move(layouts)), map(map) {}

  LaneLayout getLayout(mlir::Value tile) const { return layouts.get(tile); }

  /// Returns the type of the part of `value`, which is its own type if it is no
  /// tile.
  mlir::Type getType(mlir::Value value) const;

  /// Returns the part of `value`. A value that is free in any layout has a form
  /// for each, of which `layout` chooses one.
  mlir::Value get(mlir::Value value, LaneLayout layout);
  mlir::Value get(mlir::Value value);
  void set(mlir::Value value, mlir::Value part) { map.map(value, part); }
  bool contains(mlir::Value value) const { return map.contains(value); }

  /// Returns the number of the thread's row among `rows` rows that the threads
  /// hold together.
  mlir::Value getRow(mlir::Location loc, int64_t rows, mlir::OpBuilder &b);

  /// Builds the part of the result of an operation without effects. Emits an
  /// error if it needs elements that the thread does not have.
  mlir::LogicalResult lower(mlir::Operation *op, mlir::OpBuilder &b);
  mlir::LogicalResult lowerElementwise(mlir::Operation *op, mlir::OpBuilder &b);

private:
  mlir::Type getType(mlir::Value value, LaneLayout layout) const;
  mlir::LogicalResult lower(mlir::arith::ConstantOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::StepOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::BroadcastOp op, mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::ShapeCastOp op);
  mlir::LogicalResult lower(mlir::vector::ExtractStridedSliceOp op,
                            mlir::OpBuilder &b);
  mlir::LogicalResult lower(mlir::vector::MultiDimReductionOp op,
                            mlir::OpBuilder &b);

  RoleOp role;
  LaneLayouts layouts;
  /// For values that are free in any layout, `map` has the form for `Rows` and
  /// `whole` the form for `Whole`.
  mlir::IRMapping &map;
  mlir::IRMapping whole;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_LANEVALUES_H
