//===- TilePlan.cpp - what is chosen by trying it ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Dialect/Tile/Transforms/PlanSearch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPLAN
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

/// Emits a remark on the plan, with a note on each one that has an obstacle.
static void report(KernelOp kernel, const PlanSearch &search) {
  InFlightDiagnostic remark = emitRemark(kernel.getLoc());
  if (search.plan)
    remark << "the plan is " << search.plan;
  else
    remark << "no plan can be followed";
  for (const TriedPlan &tried : search.tried)
    if (!tried.obstacle.empty())
      remark.attachNote() << tried.plan << ": " << tried.obstacle;
}

namespace {

struct TilePlan : public fa4::tile::impl::TilePlanBase<TilePlan> {
  using TilePlanBase::TilePlanBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkOptions(kernel)))
      return signalPassFailure();
    // A plan in the IR stays as it is.
    if (kernel.getPlan())
      return markAllAnalysesPreserved();
    PlanSearch search =
        searchPlan(kernel, {schedule, splitArrival, mmasAhead, splitStores,
                            divideLoads, maxStages, print});
    if (search.plan)
      kernel.setPlanAttr(search.plan);
    if (print)
      report(kernel, search);
  }

private:
  LogicalResult checkOptions(KernelOp kernel) {
    if (maxStages < 1)
      return kernel.emitError("tile-plan: max-stages must be at least 1, got ")
             << maxStages.getValue();
    if (schedule != "auto" && !symbolizeSchedule(schedule))
      return kernel.emitError("tile-plan: there is no schedule '")
             << schedule << "'; the schedules are auto, grid, static, lpt, clc";
    return success();
  }
};

} // namespace
