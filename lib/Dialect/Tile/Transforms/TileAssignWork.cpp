//===- TileAssignWork.cpp - which CTA works on which tile ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignWork.h"
#include "fa4/Dialect/Tile/Analysis/WorkBalance.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/LaunchLimits.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/IR/Builders.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEASSIGNWORK
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns the bytes that a group of work tiles should have in the cache. They
/// may have to be multiplied by a size, whose name is returned as well; null if
/// not. One byte means: all groups are worked on side by side.
static std::pair<int64_t, StringAttr>
getGroupBytes(KernelOp kernel, const WorkBalance &balance, Schedule schedule) {
  // Sums of unknown size come one group after the other.
  const TargetDescription &target = kernel.getTarget();
  if (balance.sharedBytes == 0 && !target.ordersSumsByLength &&
      fa4::containsOp<ReduceAddOp>(kernel))
    return {int64_t(target.l2Bytes / 2), StringAttr()};
  // Tiles of a list take as long as their sequences have keys, and each group
  // has the same list. If groups came one after the other, some CTAs would get
  // the long tiles of many groups ([h200] 16 heads, 32 sequences of 19 to 7605
  // keys, head dim 128: 0.6 of the speed).
  if (kernel.getWorkCount() && !fa4::containsOp<ReduceAddOp>(kernel))
    return {1, StringAttr()};
  // With 'clc', a CTA gets its next work tile when it begins the one before. At
  // the end of a section, some CTAs would have two long tiles, and an idle CTA
  // could not take the second one.
  if (balance.sharedBytes == 0 || schedule == Schedule::Requested)
    return {1, StringAttr()};
  if (std::optional<int64_t> size = getStaticSize(balance.size))
    return {std::max<int64_t>(balance.sharedBytes * *size, 1), StringAttr()};
  return {balance.sharedBytes,
          StringAttr::get(kernel.getContext(), balance.size)};
}

/// Returns true if work tiles take turns, so that tiles which differ in one
/// coordinate wait for each other.
static bool takesTurns(KernelOp kernel) {
  return fa4::containsOp<AwaitTurnOp>(kernel);
}

/// Returns an order in which the largest work tiles come first, and tiles that
/// read the same tensors come together. Work tiles that take turns come in
/// sections, too, so that few tiles that wait for each other begin at the same
/// time. Where tiles take longer and longer, up to `fewBlocks` along the axis
/// are few.
static OrderAttr chooseOrder(KernelOp kernel, const WorkBalance &balance,
                             Schedule schedule, int64_t fewBlocks,
                             const TargetDescription &target) {
  MLIRContext *context = kernel.getContext();
  // Work tiles of equal length need no sections.
  if (balance.trend == Trend::Constant && !takesTurns(kernel))
    return OrderAttr::get(context, balance.axis, /*descending=*/false,
                          /*cache_bytes=*/0, /*group_bytes=*/1, StringAttr(),
                          /*few_blocks=*/0);
  // If it is unknown how the passes change (windows), tiles with large
  // coordinates probably have no less work than others. Turns go up then.
  bool descending = takesTurns(kernel) ? balance.trend == Trend::Rising
                                       : balance.trend != Trend::Falling;
  auto [bytes, size] = getGroupBytes(kernel, balance, schedule);
  // Each of the two partitions of L2 may hold a copy of the data, so half of L2
  // counts.
  return OrderAttr::get(context, balance.axis, descending,
                        int64_t(target.l2Bytes / 2), bytes, size,
                        balance.trend == Trend::Sliding ? 0 : fewBlocks);
}

/// Puts the program into a tile.work. Its coordinates replace those of
/// tile.work_tile. Constants stay outside.
static void makePersistent(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto builder = OpBuilder::atBlockEnd(&body);
  SmallVector<Operation *> ops;
  for (Operation &op : body)
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  auto work = WorkOp::create(builder, kernel.getLoc(), kernel.getGrid().size());
  for (Operation *op : ops) {
    if (auto tile = dyn_cast<WorkTileOp>(op)) {
      tile->replaceAllUsesWith(work.getCoordinates());
      tile.erase();
      continue;
    }
    op->moveBefore(work.getNext());
  }
}

/// Returns the first tile.work_tile that is not at the top of the program: a
/// tile.work cannot replace its coordinates.
static WorkTileOp findNestedWorkTile(KernelOp kernel) {
  WorkTileOp nested;
  kernel.walk([&](WorkTileOp op) {
    if (op->getParentOp() == kernel)
      return WalkResult::advance();
    nested = op;
    return WalkResult::interrupt();
  });
  return nested;
}

/// Gives the kernel the schedule, an order, and the `tile.work` that they need.
static void assign(KernelOp kernel, Schedule schedule, int64_t fewBlocks) {
  WorkBalance balance = findWorkBalance(kernel);
  kernel.setScheduleAttr(ScheduleAttr::get(kernel.getContext(), schedule));
  kernel.setOrderAttr(
      chooseOrder(kernel, balance, schedule, fewBlocks, kernel.getTarget()));
  if (kernel.isPersistent())
    makePersistent(kernel);
}

/// Returns true if the kernel has more work tiles along an axis of the grid
/// than a launch takes CTAs there. Along y and z it takes few, so with `mayBe`
/// a dynamic size counts as too large there. All schedules but `grid` number
/// CTAs in one dimension.
static bool exceedsGrid(KernelOp kernel, bool mayBe) {
  for (auto [axis, extent] :
       llvm::enumerate(kernel.getGrid().getAsRange<ExtentAttr>())) {
    std::optional<int64_t> size = getStaticSize(extent.getSize());
    if (size ? llvm::divideCeil(*size, extent.getTile()) >
                   uint64_t(kMaxGrid[axis])
             : mayBe && axis > 0)
      return true;
  }
  return false;
}

/// Returns true if the kernel has a schedule or roles, and stays as it is.
static bool isAssigned(KernelOp kernel) {
  return kernel.getSchedule() || !kernel.getBody().getOps<RoleOp>().empty();
}

SmallVector<Schedule> fa4::tile::getSchedulesToTry(KernelOp kernel) {
  if (findNestedWorkTile(kernel))
    return {Schedule::Grid};
  if (takesTurns(kernel) || exceedsGrid(kernel, /*mayBe=*/false))
    return {Schedule::LongestFirst};
  // CTAs that add to memory lose by unequal work even where there is little of
  // it ([h100] causal gradients at 1k keys: 0.64, at 4k 0.71), but gain where
  // work tiles are about equal ([h200] gradients at head dim 64 with a window
  // of 512 keys: 1.05, with documents of 256: 1.08).
  Trend trend = findWorkBalance(kernel).trend;
  bool isUneven = trend != Trend::Constant;
  if (isUneven &&
      (kernel.getTarget().fewBlocks == 0 ||
       (fa4::containsOp<ReduceAddOp>(kernel) && trend != Trend::Sliding)))
    return {Schedule::LongestFirst};
  return {Schedule::Static, isUneven || exceedsGrid(kernel, /*mayBe=*/true)
                                ? Schedule::LongestFirst
                                : Schedule::Grid};
}

LogicalResult fa4::tile::assignWork(KernelOp kernel, Schedule schedule,
                                    int64_t fewBlocks) {
  if (schedule == Schedule::Grid || isAssigned(kernel))
    return success();
  if (schedule == Schedule::Requested && !kernel.getTarget().requestsWork)
    return kernel.emitOpError("is for '")
           << kernel.getChip()
           << "', whose CTAs cannot ask for the work of other ones "
              "(clusterlaunchcontrol): the schedule 'clc' is not possible";
  // A nested tile.work_tile, as in a branch, keeps the coordinates of the
  // grid.
  if (WorkTileOp nested = findNestedWorkTile(kernel))
    return nested.emitOpError("is in a region: coordinates of work tiles that "
                              "a schedule assigns stand at the top of a "
                              "program");
  assign(kernel, schedule, schedule == Schedule::Static ? fewBlocks : 0);
  return success();
}

namespace {

struct TileAssignWork : public tile::impl::TileAssignWorkBase<TileAssignWork> {
  using TileAssignWorkBase::TileAssignWorkBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    std::optional<Schedule> asked = symbolizeSchedule(schedule);
    if (!asked && schedule != "auto") {
      kernel.emitError("tile-assign-work: there is no schedule '")
          << schedule << "'; the schedules are auto, grid, static, lpt, clc";
      return signalPassFailure();
    }
    if (isAssigned(kernel))
      return;
    // Who asks for `static` gets it for all sizes.
    LogicalResult result =
        asked ? assignWork(kernel, *asked)
              : assignWork(kernel, getPlanned(kernel),
                           int64_t(kernel.getTarget().fewBlocks));
    if (failed(result))
      signalPassFailure();
  }

private:
  /// Returns the schedule of the kernel's plan. Without a plan, returns the one
  /// that need not be tried.
  static Schedule getPlanned(KernelOp kernel) {
    PlanAttr plan = kernel.getPlanAttr();
    return plan ? plan.getSchedule() : getSchedulesToTry(kernel).back();
  }
};

} // namespace
