//===- TilePairCtas.cpp - two CTAs that issue MMAs together ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProgram.h"
#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPAIRCTAS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns true if a pair has memory for two tiles of each load, and a CTA
/// alone does not: it must load a tile and use it by turns.
static bool makesRoom(KernelOp kernel, const PairPlan &plan) {
  uint64_t room = kernel.getTarget().smemBytes;
  return plan.alone.loadBytes > room && plan.paired.loadBytes <= room;
}

/// Returns true if a CTA alone waits for the port of shared memory, and a pair
/// takes at most `percent` of its time. The port moves the operands of MMAs,
/// the tiles of loads in loops, and the data that lanes exchange and reductions
/// move.
static bool relievesPort(KernelOp kernel, const PairPlan &plan,
                         uint64_t percent) {
  auto cycles = [&](const PairFigures &figures) {
    return std::max(figures.cycles,
                    (figures.sharedBytes() + figures.loadedBytes) /
                        kernel.getTarget().smemBytesPerClock);
  };
  return 100 * cycles(plan.paired) <= percent * cycles(plan.alone);
}

/// Returns true if the CTAs of a pair may make passes that one of them alone
/// would not make.
static bool widensBounds(KernelOp kernel) {
  return fa4::containsOp<AtMostOp, AtLeastOp>(kernel);
}

/// Returns true if pairs are worth their cost: the CTAs of a pair wait for each
/// other, and MMAs that are no faster do not make up for that. Pairs pay in two
/// cases. The first: a CTA alone has no room for the next tile of each load,
/// and either no room for the next part of it or a port that is too slow. The
/// second: the port moves sums over the axis, of which a pair moves half.
///
/// The percentages are from the clock of fa4-sim. The gradient gains 3% or
/// loses 2% where these figures promise 88% (head dim 64), and gains a quarter
/// where they promise 84% or less (head dims 96 and 128). Attention with two
/// query tiles gains 4 to 8% at 95% (head dims 192 and 128), but loses as much
/// with a causal mask.
static bool pays(KernelOp kernel, const PairPlan &plan) {
  if (plan.isSingle)
    return false;
  if (!plan.sums.empty())
    return relievesPort(kernel, plan, 84);
  bool hasRoomForParts =
      plan.alone.loadBytesInParts <= kernel.getTarget().smemBytes;
  bool relieves = relievesPort(kernel, plan, widensBounds(kernel) ? 83 : 96);
  return plan.paired.cycles < plan.alone.cycles ||
         (makesRoom(kernel, plan) && (!hasRoomForParts || relieves));
}

/// Adds notes on the loads that the pair splits. The loads are in the program
/// after the pass, or in the plan before.
static void noteLoads(InFlightDiagnostic &remark, const PairPlan &plan) {
  for (const auto &[split, uses] : plan.splits)
    remark.attachNote(LoadOp(split.first).getLoc())
        << "each CTA loads half of the "
        << (split.second == 0 ? "rows" : "columns");
}

/// Reports what sums over the axis of the pair save and cost.
static void reportSums(InFlightDiagnostic &remark, KernelOp kernel,
                       const PairPlan &plan) {
  auto cycles = [&](const PairFigures &figures) {
    return figures.sharedBytes() / kernel.getTarget().smemBytesPerClock;
  };
  remark << "; reductions write and read " << plan.paired.reduceBytes
         << " bytes of shared memory instead of " << plan.alone.reduceBytes
         << ", lanes and exchanges " << plan.paired.exchangeBytes
         << " instead of " << plan.alone.exchangeBytes << "; together "
         << cycles(plan.paired) << " cycles of shared memory instead of "
         << cycles(plan.alone);
}

static void report(KernelOp kernel, const PairPlan &plan) {
  const PairFigures &alone = plan.alone, &paired = plan.paired;
  bool isSmaller = paired.bufferBytes <= alone.bufferBytes;
  InFlightDiagnostic remark =
      emitRemark(kernel.getLoc(), kernel.getCluster()
                                      ? "pairs of CTAs along axis "
                                      : "no pairs of CTAs along axis ")
      << plan.axis << " of the grid: MMAs read " << paired.mmaBytes
      << " bytes of shared memory in each CTA instead of " << alone.mmaBytes
      << " and take " << paired.cycles << " cycles instead of " << alone.cycles
      << "; buffers of loads take "
      << (isSmaller ? alone.bufferBytes - paired.bufferBytes
                    : paired.bufferBytes - alone.bufferBytes)
      << (isSmaller ? " bytes less" : " bytes more");
  if (makesRoom(kernel, plan))
    remark << "; loads overlap with MMAs in " << paired.loadBytes
           << " bytes of shared memory instead of " << alone.loadBytes;
  if (!plan.sums.empty())
    reportSums(remark, kernel, plan);
  remark << "; results of MMAs take " << paired.resultColumns
         << " columns of tensor memory instead of " << alone.resultColumns
         << ", and " << paired.resultColumns
         << " registers of a thread instead of " << alone.resultColumns;
  noteLoads(remark, plan);
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
    // A cluster in the IR stays as it is.
    if (pairs != "off" && !kernel.getCluster() && failed(decide(kernel)))
      return signalPassFailure();
    writeOwnBounds(kernel);
  }

private:
  /// Pairs may be asked for all kernels of a launch, so a kernel without MMAs
  /// is no error.
  bool isRequired(KernelOp kernel) {
    return pairs == "on" && fa4::containsOp<MmaOp>(kernel);
  }

  LogicalResult decide(KernelOp kernel) {
    auto found = findPairPlan(kernel);
    if (auto *obstacle = std::get_if<PairObstacle>(&found))
      return explain(kernel, *obstacle);
    const auto &plan = std::get<PairPlan>(found);
    if (isRequired(kernel) || pays(kernel, plan)) {
      if (!haveRoomForTurns(kernel, plan))
        return explain(
            kernel, {plan.turns.front().op,
                     "takes turns at places beside which there is no room for "
                     "those of the other CTA of a pair"});
      writePairProgram(kernel, plan);
    }
    if (print)
      report(kernel, plan);
    return success();
  }

  LogicalResult explain(KernelOp kernel, const PairObstacle &obstacle) {
    if (!isRequired(kernel) && !print)
      return success();
    InFlightDiagnostic diagnostic =
        isRequired(kernel)
            ? kernel.emitOpError("cannot be run by pairs of CTAs")
            : emitRemark(kernel.getLoc(), "no pairs of CTAs");
    diagnostic.attachNote(obstacle.op->getLoc())
        << "'" << obstacle.op->getName() << "' " << obstacle.reason;
    return failure(isRequired(kernel));
  }
};

} // namespace
