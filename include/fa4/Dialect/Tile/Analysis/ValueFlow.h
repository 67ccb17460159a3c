//===- ValueFlow.h - where values come from and where they go ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value has other names behind loops and branches (operations with upstream's
// RegionBranchOpInterface): initial values, region arguments, yielded values,
// results. The operation that makes or reads the value stands at an end of this
// way. Every analysis that asks for a value's makers or readers asks here, so
// that all of them see the same ways through a branch.
//
// A caller chooses which operations hand a value on, besides loops and
// branches:
//
//   Views         slices and shape casts: their result is a part or another
//                 view of the operand
//   Accumulators  the accumulator of an MMA, which the MMA adds to in its
//                 place: its result is the same tile
//   Channels      a committed value is what each wait for the channel gives
//
// The way says nothing about time: the initial value of a loop and the value
// that it carries are the same to it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H
#define FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// The operations that hand a value on, besides loops and branches; a set of
/// bits.
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

/// Returns the values that `use` hands its value on to, in a fixed order. Empty
/// for a use that is an end.
llvm::SmallVector<mlir::Value> getNextValues(mlir::OpOperand &use,
                                             FlowThrough through);

/// Returns the values of which `value` is another name: the initial and the
/// yielded value of a loop, the values that branches yield, the operand of a
/// view, the accumulator of an MMA, the values committed to the channel of a
/// wait. Empty for a value that an operation makes, for kernel arguments and
/// induction variables.
llvm::SmallVector<mlir::Value> getPreviousValues(mlir::Value value,
                                                 FlowThrough through);

/// Returns the uses of `value`, under any name, that do not hand it on, the
/// nearest names first. With Accumulators, an MMA's use as its accumulator is
/// not one of them.
llvm::SmallVector<mlir::OpOperand *> getEnds(mlir::Value value,
                                             FlowThrough through);

/// Returns the commit of a value, before or after MMAs have accumulated to it;
/// null if there is none.
CommitOp findCommit(mlir::Value value);

/// Returns the values from which `value` may come: results of the operations
/// that make it, kernel arguments, induction variables. With Accumulators, the
/// makers of an MMA's accumulator count as makers of its result, besides the
/// MMA.
llvm::SmallVector<mlir::Value> getOrigins(mlir::Value value,
                                          FlowThrough through);

/// Returns the value that the last pass of the loops has made, for a value that
/// loops carry. Initial values do not count. Returns null if the loops only
/// hand around their initial values. Returns a value that no loop carries as it
/// is.
mlir::Value getLastMade(mlir::Value value);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_VALUEFLOW_H
