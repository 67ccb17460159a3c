//===- TileSplitValues.cpp - values that go through channels in parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITVALUES
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

void fa4::tile::splitValues(KernelOp kernel) {
  PlanAttr plan = kernel.getPlanOrFastest();
  divideStores(kernel, plan.getStoreParts(),
               /*keepsStages=*/!plan.getShareStores());
  if (plan.getShareStores())
    shareStores(kernel);
  if (plan.getDivideLoads())
    divideLoads(kernel);
  if (plan.getSplitArrivals())
    splitArrivals(kernel);
}

namespace {

struct TileSplitValues
    : public fa4::tile::impl::TileSplitValuesBase<TileSplitValues> {
  using TileSplitValuesBase::TileSplitValuesBase;

  void runOnOperation() override { splitValues(getOperation()); }
};

} // namespace
