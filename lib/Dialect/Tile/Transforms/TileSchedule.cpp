//===- TileSchedule.cpp - software pipelining of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "ShareBuffers.h"
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
/// What a schedule gives up so that the kernel fits into the target's memory.
struct Choice {
  MmaOrder order;
  /// Into how many parts the values are divided that stores in loops take.
  int64_t storeParts = 1;
  /// Whether a store in a loop is issued before the last one has ended.
  bool overlapStores = true;
};

/// How a schedule fits into the target's memory.
struct Fit {
  bool sharedMemory, tensorMemory;
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
  if (options.splitArrival)
    splitArrivals(kernel);
  auto plans = planLoops(kernel, RoleGraph(kernel), choice.order, remarks);
  if (failed(plans))
    return failure();
  RequiredStages required;
  for (auto &[loop, plan] : *plans)
    applyPlan(plan, required);
  for (auto role : kernel.getBody().getOps<RoleOp>())
    tidyRole(role);
  // A tidy role releases a value as early as it can; here it waits for the next
  // store.
  if (choice.overlapStores)
    overlapStores(kernel, required);
  orderFirstLoads(kernel);
  bool isShared = chooseStages(kernel, target, required, options.maxStages);
  return Fit{isShared, countTensorColumns(kernel, target) <=
                           static_cast<int64_t>(target.tmemColumns)};
}

/// Returns the choices for an order of MMAs, the fastest first.
static SmallVector<Choice> choicesFor(MmaOrder order,
                                      ArrayRef<int64_t> storeParts) {
  SmallVector<Choice> choices;
  for (int64_t parts : storeParts)
    choices.push_back({order, parts, /*overlapStores=*/true});
  choices.push_back({order, storeParts.back(), /*overlapStores=*/false});
  return choices;
}

FailureOr<bool> fa4::tile::scheduleToFit(KernelOp kernel,
                                         const TileScheduleOptions &options) {
  OwningOpRef<KernelOp> input = kernel.clone();
  auto emit = [](const ScheduleRemarks &remarks) {
    for (const auto &[loc, text] : remarks)
      emitRemark(loc) << text;
  };
  ScheduleRemarks fastest;
  SmallVector<MmaOrder> orders = {MmaOrder::Early, MmaOrder::Late,
                                  MmaOrder::None};
  if (options.mmasAhead)
    orders.insert(orders.begin(), MmaOrder::Ahead);
  FailureOr<Fit> first =
      schedule(kernel, Choice{orders.front()}, options, fastest);
  if (failed(first))
    return failure();
  SmallVector<int64_t> storeParts = {1};
  if (options.splitStores)
    storeParts = getStoreParts(*input);
  bool isFirst = true;
  for (auto order :
       {MmaOrder::Ahead, MmaOrder::Early, MmaOrder::Late, MmaOrder::None})
    for (const Choice &choice : choicesFor(order, storeParts)) {
      ScheduleRemarks remarks;
      OwningOpRef<KernelOp> trial;
      FailureOr<Fit> fit = first;
      if (!std::exchange(isFirst, false)) {
        trial = input->clone();
        fit = schedule(*trial, choice, options, remarks);
      }
      if (failed(fit))
        return failure();
      if (fit->sharedMemory && fit->tensorMemory) {
        if (trial)
          kernel.getBody().takeBody(trial->getBody());
        emit(trial ? remarks : fastest);
        return true;
      }
      // The parts of stored values matter to shared memory only.
      if (!fit->tensorMemory)
        break;
    }
  emit(fastest);
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
