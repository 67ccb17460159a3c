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

/// Replaces each channel from a compute role whose values are only ever the A
/// operand of MMAs by two, the first with the leading columns.
void splitArrivals(KernelOp kernel);

/// Returns the most parts into which `divideLoads` divides a value.
int64_t countLoadParts(KernelOp kernel);

/// Lets matrices that are loaded in a loop, and are only ever the B operand of
/// MMAs along whose K dimension their columns are, arrive in parts of equal
/// columns, each through a channel of its own. A stage is a part then: shared
/// memory that has no room for a second matrix may have room for some more
/// parts, and the next load of a part begins when the MMAs have read this part
/// rather than the whole matrix.
void divideLoads(KernelOp kernel);

//===----------------------------------------------------------------------===//
// The order in a loop (TileSchedulePlan.cpp)
//===----------------------------------------------------------------------===//

/// The steady state of a loop of an issue role: its operations in the order in
/// which one pass of the new loop executes them, those of stage 0 one
/// iteration ahead of those of stage 1.
///
/// Pure operations (indices, conditions, parts of tiles) are in no order: they
/// are computed where they are needed, for the iteration that needs them.
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

/// Plans every loop of issue roles that has MMAs, then those of loads, in the
/// order of their consumers. Loops that cannot be planned get a remark and
/// stay as they are. Fails where the roles wait for each other in a circle.
llvm::FailureOr<LoopPlans> planLoops(KernelOp kernel, const RoleGraph &graph,
                                     MmaOrder order, ScheduleRemarks &remarks);

//===----------------------------------------------------------------------===//
// Rewriting (TileSchedulePipeline.cpp, TileScheduleOrder.cpp)
//===----------------------------------------------------------------------===//

/// Rewrites a loop to its plan: in its order, and where it has two stages as
/// prologue, loop of one iteration less, and epilogue.
void applyPlan(const LoopPlan &plan, RequiredStages &required);

/// In each block of a compute role: where lanes wait for a loaded vector behind
/// a tile that MMAs compute, with nothing but computations in between, they
/// wait for the vector first. What they compute from both then hangs on the
/// tile's wait alone, as plans ask, and is computed a few columns at a time.
void waitForLoadedVectorsFirst(RoleOp role);

/// In each block of the role: waits directly before the first use of their
/// value (before a tile's wait where `waitForLoadedVectorsFirst` says so),
/// releases directly after the last, and in compute roles acquires
/// where the value to commit begins to be computed, and what feeds no
/// commit behind the last commit; outside of loops every value directly before
/// its first use.
void tidyRole(RoleOp role);

/// Before the loop of a role that only loads: loads in the order in which
/// their consumers wait for them.
void orderFirstLoads(KernelOp kernel);

//===----------------------------------------------------------------------===//
// Stores (TileScheduleStores.cpp)
//===----------------------------------------------------------------------===//

/// In loops whose operations with effects are waits, stores and releases, moves
/// each release behind the next store, so that the next store is issued before
/// the last one has ended. The channels then need two stages.
void overlapStores(KernelOp kernel, RequiredStages &required);

/// Returns the numbers of parts for which `divideStores` gives different
/// kernels, in ascending order, 1 first.
llvm::SmallVector<int64_t> getStoreParts(KernelOp kernel);

/// Lets matrices that a compute role hands to stores in a loop go through their
/// channel in `parts` parts of equal columns, one after another; in fewer where
/// the columns cannot be divided so.
void divideStores(KernelOp kernel, int64_t parts);

/// Lets matrices that several channels take from the same role to the same
/// stores, one after another, go through one of these channels, whose stages
/// they share: a store then has to read one matrix before the next is written.
void shareStores(KernelOp kernel);

//===----------------------------------------------------------------------===//
// Stages (TileScheduleStages.cpp)
//===----------------------------------------------------------------------===//

/// How the stages of channels fit into shared memory.
struct StageFit {
  /// Every channel has the stages without which the order of operations
  /// deadlocks.
  bool required;
  /// Each ring that loads fill has a second stage, if one is of use: a load
  /// overlaps with the use of the value before.
  bool doubleBuffered;
  /// The bytes of the largest value of these rings for which there is one stage
  /// only, so that the next load waits for all of it.
  int64_t largestSingle;
};

/// Gives channels that are filled by loads in loops as many stages as shared
/// memory holds, evenly, up to `maxStages` and to the number that hides the
/// time of a load, and every channel those of `required`.
StageFit chooseStages(KernelOp kernel, const TargetDescription &target,
                      const RequiredStages &required, int64_t maxStages);

//===----------------------------------------------------------------------===//
// The pass (TileSchedule.cpp)
//===----------------------------------------------------------------------===//

/// Schedules the kernel in the fastest way with which it fits into memory, or,
/// if it fits in no way, in the fastest one. Returns whether it fits; fails
/// with an error on an operation where the roles cannot be scheduled at all.
/// Neither prints nor proves, whatever `options` say.
mlir::FailureOr<bool> scheduleToFit(KernelOp kernel,
                                    const TileScheduleOptions &options);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_TILESCHEDULE_H
