//===- TileSchedule.h - parts of the scheduling pass ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_TILESCHEDULE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_TILESCHEDULE_H

#include "fa4/Dialect/Tile/Analysis/RoleGraph.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// The number of stages that each channel needs so that the order of operations
/// is possible.
using RequiredStages = llvm::MapVector<ChannelOp, int64_t>;

//===----------------------------------------------------------------------===//
// Values that arrive in parts (TileScheduleSplit.cpp)
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The order in a loop (TileSchedulePlan.cpp)
//===----------------------------------------------------------------------===//

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

/// When the MMAs of the next iteration are issued in a loop of MMAs.
enum class MmaOrder {
  Ahead, ///< As soon as the values in their buffers have been read: what other
         ///< roles have computed from these needs buffers of its own.
  Early, ///< As soon as their buffers are free.
  Late,  ///< Behind those of the last iteration, whose buffers are then free.
  None   ///< Behind the whole iteration: the loop is not pipelined.
};

/// A remark on a loop that stays as it is.
using ScheduleRemarks =
    llvm::SmallVector<std::pair<mlir::Location, std::string>>;

/// Plans every loop of issue roles that has MMAs, then the loops of loads, in
/// the order of their consumers. A loop that cannot be planned gets a remark
/// and stays as it is. Fails if the roles wait for each other in a circle.
llvm::FailureOr<LoopPlans> planLoops(KernelOp kernel, const RoleGraph &graph,
                                     MmaOrder order, ScheduleRemarks &remarks);

//===----------------------------------------------------------------------===//
// Rewriting (TileSchedulePipeline.cpp, TileScheduleOrder.cpp)
//===----------------------------------------------------------------------===//

/// Rewrites a loop as its plan says. A loop with two stages becomes a prologue,
/// a loop of one iteration less, and an epilogue.
void applyPlan(const LoopPlan &plan, RequiredStages &required);

/// Lets lanes of a compute role wait for a loaded vector before they wait for
/// the tile of an MMA that meets it, if only computations stand between the two
/// waits. The computations on both then depend on the tile's wait alone, as
/// plans require, and can be done a few columns at a time.
void waitForLoadedVectorsFirst(RoleOp role);

/// Puts the operations of each block of the role in order. Waits go directly
/// before the first use of their value (or where `waitForLoadedVectorsFirst`
/// puts them), and releases directly behind the last use. In compute roles,
/// acquires go where the computation of the committed value begins, and
/// computations for no commit go behind the last commit. Outside of loops, each
/// value goes directly before its first use.
void tidyRole(RoleOp role);

/// Sorts the loads in front of the loop of a role that only loads, in the order
/// in which their consumers wait for them.
void orderFirstLoads(KernelOp kernel);

//===----------------------------------------------------------------------===//
// Stores (TileScheduleStores.cpp)
//===----------------------------------------------------------------------===//

/// Moves each release behind the next store, so that the next store is issued
/// before the last one has ended. Only loops are changed whose operations with
/// effects are waits, stores and releases. The channels then need two stages.
void overlapStores(KernelOp kernel, RequiredStages &required);

/// Returns the numbers of parts for which `divideStores` gives different
/// kernels, in ascending order, 1 first.
llvm::SmallVector<int64_t> getStoreParts(KernelOp kernel);

/// Divides matrices that a compute role hands to stores in a loop: they go
/// through their channel in `parts` parts of equal columns, one after another.
/// There are fewer parts if the columns cannot be divided so.
void divideStores(KernelOp kernel, int64_t parts);

/// Merges channels that lead from the same role to the same stores, one after
/// another, into one of them. They share its stages: a store has to read one
/// matrix before the next is written.
void shareStores(KernelOp kernel);

//===----------------------------------------------------------------------===//
// Stages (TileScheduleStages.cpp)
//===----------------------------------------------------------------------===//

/// How the stages of channels fit into shared memory.
struct StageFit {
  /// True if every channel has the stages that its order of operations
  /// requires: with fewer, the roles would deadlock.
  bool required;
  /// True if each ring that loads fill has a second stage, where one is of use:
  /// a load then overlaps with the use of the value before.
  bool doubleBuffered;
  /// Among these rings with a single stage, the bytes of the largest value. The
  /// next load waits until all of it has been used.
  int64_t largestSingle;
};

/// Gives each channel the stages of `required`. Channels that loads fill in
/// loops evenly get as many more as shared memory holds, up to `maxStages` and
/// up to the number that hides the time of a load.
StageFit chooseStages(KernelOp kernel, const TargetDescription &target,
                      const RequiredStages &required, int64_t maxStages);

//===----------------------------------------------------------------------===//
// The pass (TileSchedule.cpp)
//===----------------------------------------------------------------------===//

/// Schedules the kernel in the fastest way that fits into memory, or, if none
/// fits, in the fastest way. Returns whether it fits. Fails with an error on an
/// operation if the roles cannot be scheduled at all. Neither prints nor
/// proves, whatever `options` say.
mlir::FailureOr<bool> scheduleToFit(KernelOp kernel,
                                    const TileScheduleOptions &options);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_TILESCHEDULE_H
