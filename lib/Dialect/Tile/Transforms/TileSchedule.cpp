//===- TileSchedule.cpp - software pipelining of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
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
struct TileSchedule : public fa4::tile::impl::TileScheduleBase<TileSchedule> {
  using TileScheduleBase::TileScheduleBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (maxStages < 1) {
      kernel.emitError("tile-schedule: max-stages must be at least 1, got ")
          << maxStages.getValue();
      return signalPassFailure();
    }
    if (splitArrival)
      splitArrivals(kernel);
    auto plans = planLoops(kernel, RoleGraph(kernel));
    if (failed(plans))
      return signalPassFailure();
    RequiredStages required;
    for (auto &[loop, plan] : *plans)
      applyPlan(plan, required);
    for (auto role : kernel.getBody().getOps<RoleOp>())
      tidyRole(role);
    orderFirstLoads(kernel);
    chooseStages(kernel, kernel.getTarget(), required, maxStages);
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
};
} // namespace
