//===- TileSchedule.cpp - software pipelining of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "ShareBuffers.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Analysis/ScheduleTable.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESCHEDULE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {
/// The compromises of a schedule that make the kernel fit into the target's
/// memory.
struct Choice {
  MmaOrder order;
  /// The number of parts into which values of stores in loops are divided.
  int64_t storeParts = 1;
  /// True if loads in loops arrive in parts where that is possible.
  bool divideLoads = false;
  /// True if a store in a loop is issued before the last one has ended.
  bool overlapStores = true;
  /// True if values that are stored one after another share a buffer.
  bool shareStores = false;
};

/// How a schedule fits into the target's memory.
struct Fit {
  StageFit sharedMemory;
  bool tensorMemory;
};

struct TileSchedule : public fa4::tile::impl::TileScheduleBase<TileSchedule> {
  using TileScheduleBase::TileScheduleBase;

  void runOnOperation() override;
};
} // namespace

/// Returns the columns of tensor memory that the scheduled kernel will need.
static int64_t countTensorColumns(KernelOp kernel,
                                  const fa4::TargetDescription &target) {
  OwningOpRef<KernelOp> copy = kernel.clone();
  return shareBuffersInTurn(*copy, target);
}

static FailureOr<Fit> schedule(KernelOp kernel, const Choice &choice,
                               const TileScheduleOptions &options,
                               ScheduleRemarks &remarks) {
  const fa4::TargetDescription &target = kernel.getTarget();
  divideStores(kernel, choice.storeParts);
  if (choice.shareStores)
    shareStores(kernel);
  if (choice.divideLoads)
    divideLoads(kernel);
  if (options.splitArrival)
    splitArrivals(kernel);
  for (auto role : kernel.getBody().getOps<RoleOp>())
    waitForLoadedVectorsFirst(role);
  auto plans = planLoops(kernel, RoleGraph(kernel), choice.order, remarks);
  if (failed(plans))
    return failure();
  RequiredStages required;
  for (auto &[loop, plan] : *plans)
    applyPlan(plan, required);
  for (auto role : kernel.getBody().getOps<RoleOp>())
    tidyRole(role);
  // tidyRole releases a value as early as possible. Here the release moves
  // behind the next store.
  if (choice.overlapStores)
    overlapStores(kernel, required);
  orderFirstLoads(kernel);
  StageFit stages = chooseStages(kernel, target, required, options.maxStages);
  return Fit{stages, countTensorColumns(kernel, target) <=
                         static_cast<int64_t>(target.tmemColumns)};
}

/// Returns the choices for an order of MMAs, the fastest first.
static SmallVector<Choice>
choicesFor(MmaOrder order, ArrayRef<int64_t> storeParts, bool divideLoads) {
  SmallVector<Choice> choices;
  for (bool divide : {false, true})
    if (!divide || divideLoads)
      for (int64_t parts : storeParts)
        choices.push_back({order, parts, divide});
  choices.push_back({order, storeParts.back(), /*divideLoads=*/false,
                     /*overlapStores=*/false});
  choices.push_back({order, storeParts.back(), divideLoads,
                     /*overlapStores=*/false, /*shareStores=*/true});
  return choices;
}

namespace {
/// A copy of the kernel, scheduled as a choice says.
struct Trial {
  OwningOpRef<KernelOp> kernel;
  ScheduleRemarks remarks;
  Fit fit = {};
};
} // namespace

static FailureOr<Trial> trySchedule(KernelOp kernel, const Choice &choice,
                                    const TileScheduleOptions &options) {
  Trial trial;
  trial.kernel = kernel.clone();
  FailureOr<Fit> fit = schedule(*trial.kernel, choice, options, trial.remarks);
  if (failed(fit))
    return failure();
  trial.fit = *fit;
  return trial;
}

/// Puts the body of the trial into the kernel, and emits its remarks.
static void take(KernelOp kernel, Trial &trial) {
  kernel.getBody().takeBody(trial.kernel->getBody());
  for (const auto &[loc, text] : trial.remarks)
    emitRemark(loc) << text;
}

/// Returns true if tensor cores idle while lanes compute. This is so if all
/// MMAs of the loops are on one dependence cycle with the lanes: the MMAs of
/// the next scores come behind those that use the last ones, and no other tile
/// has MMAs to issue. A second buffer for scores would help.
static bool idlesForLanes(KernelOp kernel) {
  const fa4::TargetDescription &target = kernel.getTarget();
  SmallVector<Operation *> exponentials = collectTileExponentials(kernel);
  return llvm::any_of(findLastExponentials(exponentials), [&](Operation *exp) {
    RowWork work = countRowWork(exp, exponentials.size(), target);
    return work.recurrence && work.recurrence->producer +
                                      work.recurrence->consumerLead +
                                      work.recurrence->consumerRest ==
                                  work.mmaCycles;
  });
}

FailureOr<bool> fa4::tile::scheduleToFit(KernelOp kernel,
                                         const TileScheduleOptions &options) {
  SmallVector<MmaOrder> orders = {MmaOrder::Early, MmaOrder::Late,
                                  MmaOrder::None};
  if (options.mmasAhead || idlesForLanes(kernel))
    orders.insert(orders.begin(), MmaOrder::Ahead);
  SmallVector<int64_t> storeParts = {1};
  if (options.splitStores)
    storeParts = getStoreParts(kernel);
  bool canDivideLoads = options.divideLoads && countLoadParts(kernel) > 1;
  std::optional<Trial> fastest;
  for (MmaOrder order : orders) {
    // Stores in parts may leave memory for a second stage of the rings that
    // loads fill: the next load then need not wait until the last value has
    // been used. Where they do not, loads in parts shorten this wait.
    std::optional<Trial> fitting;
    for (const Choice &choice : choicesFor(order, storeParts, canDivideLoads)) {
      if (fitting && !choice.overlapStores)
        break;
      FailureOr<Trial> trial = trySchedule(kernel, choice, options);
      if (failed(trial))
        return failure();
      const Fit &fit = trial->fit;
      bool fits = fit.sharedMemory.required && fit.tensorMemory;
      bool best = fits && fit.sharedMemory.doubleBuffered;
      bool helps = fits && fitting && choice.divideLoads &&
                   fit.sharedMemory.largestSingle <
                       fitting->fit.sharedMemory.largestSingle;
      if (best || helps || (fits && !fitting))
        fitting = std::move(*trial);
      else if (!fastest)
        fastest = std::move(*trial);
      // The choices that are left divide stored values. That saves only shared
      // memory, so it cannot make a kernel fit into tensor memory.
      if (best || !fit.tensorMemory)
        break;
    }
    if (fitting) {
      take(kernel, *fitting);
      return true;
    }
  }
  take(kernel, *fastest);
  return false;
}

void TileSchedule::runOnOperation() {
  KernelOp kernel = getOperation();
  if (maxStages < 1) {
    kernel.emitError("tile-schedule: max-stages must be at least 1, got ")
        << maxStages.getValue();
    return signalPassFailure();
  }
  TileScheduleOptions options;
  options.splitArrival = splitArrival;
  options.splitStores = splitStores;
  options.divideLoads = divideLoads;
  options.mmasAhead = mmasAhead;
  options.maxStages = maxStages;
  if (failed(scheduleToFit(kernel, options)))
    return signalPassFailure();
  if (print) {
    // Kernels are scheduled in parallel, so each table is printed as a whole.
    std::string table;
    llvm::raw_string_ostream os(table);
    printSchedule(kernel, os);
    llvm::errs() << table;
  }
  if (verify && failed(verifyProtocol(kernel)))
    signalPassFailure();
}
