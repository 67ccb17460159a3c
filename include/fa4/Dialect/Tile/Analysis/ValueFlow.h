//===- ValueFlow.h - where values come from and where they go ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value goes through loops and branches (what implements upstream's
// RegionBranchOpInterface: initial values, region arguments, yielded values,
// results) under other names. What reads or makes it is an operation at an end
// of this way: every analysis that asks for a value's makers or readers asks
// here, so that all of them see the same ways through a branch.
//
// A caller chooses what else hands a value on:
//
//   Views         slices and shape casts: their result is a part or another
//                 view of the operand
//   Accumulators  the accumulator of an MMA, which the MMA adds to in its
//                 place: its result is the same tile
//   Channels      a committed value is what each wait for the channel gives
//
// The way says nothing about when: a value that a loop carries and the one that
// it starts with are the same to it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H
#define FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// What hands a value on, beside loops and branches; a set of bits.
enum class FlowThrough : unsigned {
  Regions = 0,
  Views = 1,
  Accumulators = 2,
  Channels = 4,
};
constexpr FlowThrough operator|(FlowThrough a, FlowThrough b) {
  return FlowThrough(unsigned(a) | unsigned(b));
}

/// Returns true for operations whose result is a part or another view of their
/// operand.
bool isView(mlir::Operation *op);

/// Returns the values under whose name `use` hands its value on, in a fixed
/// order: empty for a use that is an end.
llvm::SmallVector<mlir::Value> getNextValues(mlir::OpOperand &use,
                                             FlowThrough through);

/// Returns the values that `value` may be: what a loop starts with and yields,
/// what the sides of a branch yield, the operand of a view, the accumulator of
/// an MMA, what is committed to the channel of a wait. Empty for a value that
/// an operation makes, for kernel arguments and induction variables.
llvm::SmallVector<mlir::Value> getPreviousValues(mlir::Value value,
                                                 FlowThrough through);

/// Returns the uses of `value`, under any name, that do not hand it on, the
/// nearest names first. With Accumulators, an MMA's use as its accumulator is
/// not one of them.
llvm::SmallVector<mlir::OpOperand *> getEnds(mlir::Value value,
                                             FlowThrough through);

/// Returns the values from which `value` may come: results of the operations
/// that make it, kernel arguments, induction variables. With Accumulators, an
/// MMA makes its result, and those that made its accumulator do, too.
llvm::SmallVector<mlir::Value> getOrigins(mlir::Value value,
                                          FlowThrough through);

/// Returns the value that the last pass of the loops has made where `value` is
/// carried by loops: an initial value counts for nothing. Null if the loops
/// only hand around what they have been given. A value that no loop carries is
/// returned as it is.
mlir::Value getLastMade(mlir::Value value);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H
