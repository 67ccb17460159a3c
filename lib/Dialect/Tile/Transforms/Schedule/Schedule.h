//===- Schedule.h - the order of operations in roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What the four passes that schedule roles do to a kernel, in their order. Each
// follows the kernel's plan (#tile.plan). tile-plan runs them on copies of the
// kernel, to see which plan fits.

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_SCHEDULE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_SCHEDULE_H

#include "fa4/Dialect/Tile/Analysis/RoleGraph.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

//===----------------------------------------------------------------------===//
// tile-split-values (TileSplitValues.cpp)
//===----------------------------------------------------------------------===//

/// Lets values go through channels in parts, or values that are stored share a
/// ring, as the plan says.
void splitValues(KernelOp kernel);

/// Splits channels that lead from a compute role to the A operand of MMAs only:
/// two channels replace one, and the first has the leading columns.
void splitArrivals(KernelOp kernel);

/// Returns the most parts into which `divideLoads` divides a value.
int64_t countLoadParts(KernelOp kernel);

/// Lets matrices that a loop loads arrive in parts of equal columns, each part
/// through a channel of its own. The matrices must only be the B operand of
/// MMAs, with their columns along K. A stage is then a part. Shared memory
/// without room for a second matrix may have room for some more parts, and the
/// next load of a part begins when the MMAs have read this part.
void divideLoads(KernelOp kernel);

/// Returns the numbers of parts for which `divideStores` gives different
/// kernels, in ascending order, 1 first.
llvm::SmallVector<int64_t> getStoreParts(KernelOp kernel);

/// Divides matrices that a compute role hands to stores in a loop: they go
/// through their channel in `parts` parts of equal columns, one after another.
/// There are fewer parts if the columns cannot be divided so. Channels whose
/// parts follow each other are merged, with the stages of all if `keepsStages`.
void divideStores(KernelOp kernel, int64_t parts, bool keepsStages);

/// Merges channels that lead from the same role to the same stores, one after
/// another, into one of them. They share its stages: a store has to read one
/// matrix before the next is written.
void shareStores(KernelOp kernel);

//===----------------------------------------------------------------------===//
// tile-pipeline (TilePipeline.cpp)
//===----------------------------------------------------------------------===//

/// Plans and rewrites the loops of roles that issue MMAs or loads. A loop that
/// cannot be planned gets a remark and stays as it is. Emits an error if the
/// roles wait for each other in a circle.
llvm::LogicalResult pipelineLoops(KernelOp kernel);

/// The steady state of a loop of an issue role: its operations in the order in
/// which one pass of the new loop executes them. Operations of stage 0 run one
/// iteration ahead of operations of stage 1.
///
/// Pure operations (indices, conditions, parts of tiles) are not in the order:
/// they are computed where they are needed, for the iteration that needs them.
struct LoopPlan {
  mlir::scf::ForOp loop;
  llvm::SmallVector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, unsigned> stage;

  bool isPipelined() const;
  /// Returns the position of `op` in `order`.
  unsigned indexOf(mlir::Operation *op) const;
};

using LoopPlans = llvm::MapVector<mlir::scf::ForOp, LoopPlan>;

/// Plans every loop of issue roles that has MMAs, then the loops of loads, in
/// the order of their consumers. A loop that cannot be planned gets a remark
/// and stays as it is. Fails if the roles wait for each other in a circle.
llvm::FailureOr<LoopPlans> planLoops(KernelOp kernel, const RoleGraph &graph,
                                     MmaOrder order);

/// Plans a loop of a role whose lanes start MMAs (MatrixPlan.cpp). All work on
/// tiles has a place in the order.
LoopPlan planMatrixLoop(mlir::scf::ForOp loop);

/// Rewrites a loop as its plan says. A loop with two stages becomes a prologue,
/// a loop of one iteration less, and an epilogue. A value that both stages use
/// gets a second stage of its channel.
void applyPlan(const LoopPlan &plan);

//===----------------------------------------------------------------------===//
// tile-order (TileOrder.cpp)
//===----------------------------------------------------------------------===//

/// Puts the operations of each role, its first loads and its stores in order.
void orderRoles(KernelOp kernel);

/// Lets lanes of a compute role wait for a loaded vector before they wait for
/// the tile of an MMA that meets it, if only computations stand between the two
/// waits. The computations on both then depend on the tile's wait alone, as
/// plans of loops require, and can be done a few columns at a time.
void waitForLoadedVectorsFirst(RoleOp role);

/// Moves each release behind the next store, so that the next store is issued
/// before the last one has ended. Only loops are changed whose operations with
/// effects are waits, stores and releases. Their channels get two stages.
void overlapStores(KernelOp kernel);

//===----------------------------------------------------------------------===//
// tile-stages (TileStages.cpp)
//===----------------------------------------------------------------------===//

/// How the stages of channels fit into shared memory.
struct StageFit {
  /// The bytes that the kernel needs. If these are more than the target has,
  /// each channel has just the stages that its order of operations requires:
  /// with fewer, the roles would deadlock.
  int64_t bytes;
  /// A ring that loads fill with a single stage, although a second one would
  /// let a load overlap with the use of the value before; null if there is
  /// none.
  ChannelOp single;
  /// The bytes of the largest value in a ring with a single stage, 0 if there
  /// is none. The next load waits until all of it has been used.
  int64_t largestSingle;
};

/// Channels that loads fill in loops evenly get as many more stages than they
/// have as shared memory holds, up to `max_stages` of the plan and up to the
/// number that hides the time of a load.
StageFit chooseStages(KernelOp kernel);

/// Gives the buffer of a channel at least `stages` stages, so that the order of
/// operations is possible.
void requireStages(ChannelOp channel, int64_t stages);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULE_SCHEDULE_H
