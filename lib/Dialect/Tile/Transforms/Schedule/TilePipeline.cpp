//===- TilePipeline.cpp - software pipelining of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPIPELINE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

LogicalResult fa4::tile::pipelineLoops(KernelOp kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    waitForLoadedVectorsFirst(role);
  FailureOr<LoopPlans> plans =
      planLoops(kernel, RoleGraph(kernel), kernel.getPlanOrFastest().getMmas());
  if (failed(plans))
    return failure();
  for (auto &[loop, plan] : *plans)
    applyPlan(plan);
  return success();
}

namespace {

struct TilePipeline : public fa4::tile::impl::TilePipelineBase<TilePipeline> {
  using TilePipelineBase::TilePipelineBase;

  void runOnOperation() override {
    if (failed(pipelineLoops(getOperation())))
      signalPassFailure();
  }
};

} // namespace
