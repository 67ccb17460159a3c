//===- TilePairCtas.cpp - two CTAs that issue MMAs together ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/PairRanks.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPAIRCTAS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// The CTAs of a pair.
static constexpr int64_t kPair = 2;

static void apply(KernelOp kernel, const PairPlan &plan) {
  kernel.setClusterAttr(
      ClusterAttr::get(kernel.getContext(), kPair, plan.axis));
  for (auto [load, dim] : plan.splits)
    LoadOp(load).setSplit(dim);
}

/// Whether a CTA alone must load a tile and use it by turns, for want of memory
/// for two, and a pair need not.
static bool makesRoom(KernelOp kernel, const PairPlan &plan) {
  uint64_t room = kernel.getTarget().smemBytes;
  return plan.loadBytesAlone > room && plan.loadBytesPaired <= room;
}

static void report(KernelOp kernel, const PairPlan &plan) {
  InFlightDiagnostic remark =
      emitRemark(kernel.getLoc(), kernel.getCluster()
                                      ? "pairs of CTAs along axis "
                                      : "no pairs of CTAs along axis ")
      << plan.axis << " of the grid: MMAs read " << plan.sharedBytesPaired
      << " bytes of shared memory in each CTA instead "
         "of "
      << plan.sharedBytesAlone << " and take " << plan.cyclesPaired
      << " cycles instead of " << plan.cyclesAlone << "; buffers of B take "
      << plan.bufferBytesSaved << " bytes less";
  if (makesRoom(kernel, plan))
    remark << "; loads overlap with MMAs in " << plan.loadBytesPaired
           << " bytes of shared memory instead of " << plan.loadBytesAlone;
  for (auto [load, dim] : plan.splits)
    remark.attachNote(LoadOp(load).getLoc())
        << "each CTA loads half of the " << (dim == 0 ? "rows" : "columns");
}

namespace {

struct TilePairCtas : public tile::impl::TilePairCtasBase<TilePairCtas> {
  using TilePairCtasBase::TilePairCtasBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!llvm::is_contained({"auto", "on", "off"}, StringRef(pairs))) {
      kernel.emitError("tile-pair-ctas: pairs must be auto, on or off, got '")
          << pairs << "'";
      return signalPassFailure();
    }
    // What the IR says stands.
    if (pairs == "off" || kernel.getCluster())
      return;
    bool required = pairs == "on";
    auto found = findPairPlan(kernel);
    if (auto *obstacle = std::get_if<PairObstacle>(&found)) {
      if (required) {
        InFlightDiagnostic error =
            kernel.emitOpError("cannot be run by pairs of CTAs");
        error.attachNote(obstacle->op->getLoc())
            << "'" << obstacle->op->getName() << "' " << obstacle->reason;
        signalPassFailure();
      } else if (print) {
        emitRemark(kernel.getLoc(), "no pairs of CTAs")
                .attachNote(obstacle->op->getLoc())
            << "'" << obstacle->op->getName() << "' " << obstacle->reason;
      }
      return;
    }
    const auto &plan = std::get<PairPlan>(found);
    // The CTAs of a pair wait for each other: MMAs that are as fast do not make
    // up for that, unless those of a CTA alone would wait for loads.
    bool pays = !plan.isSingle && (plan.cyclesPaired < plan.cyclesAlone ||
                                   makesRoom(kernel, plan));
    if (required || pays)
      apply(kernel, plan);
    if (print)
      report(kernel, plan);
  }
};

} // namespace
