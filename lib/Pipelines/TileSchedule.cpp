//===- TileSchedule.cpp - the passes that schedule roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/TileSchedule.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/PipelineWithOptions.h"
#include "mlir/Pass/PassOptions.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
struct ScheduleOptions : public PassPipelineOptions<ScheduleOptions> {
  Option<bool> splitArrival{*this, "split-arrival",
                            llvm::cl::desc("See tile-plan"),
                            llvm::cl::init(TilePlanOptions().splitArrival)};
  Option<bool> mmasAhead{*this, "mmas-ahead", llvm::cl::desc("See tile-plan"),
                         llvm::cl::init(TilePlanOptions().mmasAhead)};
  Option<bool> splitStores{*this, "split-stores",
                           llvm::cl::desc("See tile-plan"),
                           llvm::cl::init(TilePlanOptions().splitStores)};
  Option<bool> divideLoads{*this, "divide-loads",
                           llvm::cl::desc("See tile-plan"),
                           llvm::cl::init(TilePlanOptions().divideLoads)};
  Option<int64_t> maxStages{*this, "max-stages",
                            llvm::cl::desc("See tile-plan"),
                            llvm::cl::init(TilePlanOptions().maxStages)};
  Option<bool> print{*this, "print", llvm::cl::desc("See tile-stages"),
                     llvm::cl::init(TileStagesOptions().print)};
  Option<bool> verify{*this, "verify",
                      llvm::cl::desc("Prove the protocol of the result, as "
                                     "tile-verify-protocol"),
                      llvm::cl::init(true)};
};
} // namespace

void fa4::addTileSchedule(OpPassManager &kernels, const TilePlanOptions &plan,
                          const TileStagesOptions &stages, bool verify) {
  kernels.addPass(createTilePlan(plan));
  kernels.addPass(createTileSplitValues());
  kernels.addPass(createTilePipeline());
  kernels.addPass(createTileOrder());
  kernels.addPass(createTilePingPong());
  kernels.addPass(createTileStages(stages));
  if (verify)
    kernels.addPass(createTileVerifyProtocol());
}

static LogicalResult build(OpPassManager &pm, const ScheduleOptions &options,
                           llvm::function_ref<LogicalResult(const Twine &)>) {
  TilePlanOptions plan;
  plan.splitArrival = options.splitArrival;
  plan.mmasAhead = options.mmasAhead;
  plan.splitStores = options.splitStores;
  plan.divideLoads = options.divideLoads;
  plan.maxStages = options.maxStages;
  bool isOnKernel = pm.getOpAnchorName() == KernelOp::getOperationName();
  addTileSchedule(isOnKernel ? pm : pm.nest<KernelOp>(), plan, {options.print},
                  options.verify);
  return success();
}

void fa4::registerTileSchedulePipeline() {
  registerPipelineWithOptions<ScheduleOptions>(
      "tile-schedule",
      "Schedule roles: tile-plan, tile-split-values, tile-pipeline, "
      "tile-order, tile-stages, and the proof of their protocol",
      build);
}
