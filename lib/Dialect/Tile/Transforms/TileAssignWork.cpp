//===- TileAssignWork.cpp - which CTA works on which tile ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuietTrial.h"
#include "TileSchedule.h"
#include "TileWarpSpecialize.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/RegisterDemand.h"
#include "fa4/Dialect/Tile/Analysis/WorkBalance.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Target/LaunchLimits.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

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
  return kernel->walk([](AwaitTurnOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Returns an order in which the largest work tiles come first, and tiles that
/// read the same tensors come together. Work tiles that take turns come in
/// sections, too, so that few tiles that wait for each other begin at the same
/// time.
static OrderAttr chooseOrder(KernelOp kernel, const WorkBalance &balance,
                             Schedule schedule,
                             const TargetDescription &target) {
  MLIRContext *context = kernel.getContext();
  // Work tiles of equal length need no sections.
  if (balance.trend == Trend::Constant && !takesTurns(kernel))
    return OrderAttr::get(context, balance.axis, /*descending=*/false,
                          /*cache_bytes=*/0, /*group_bytes=*/1, StringAttr());
  // If it is unknown how the passes change (windows), tiles with large
  // coordinates probably have no less work than others. Turns go up then.
  bool descending = takesTurns(kernel) ? balance.trend == Trend::Rising
                                       : balance.trend != Trend::Falling;
  auto [bytes, size] = getGroupBytes(kernel, balance, schedule);
  // Each of the two partitions of L2 may hold a copy of the data, so half of L2
  // counts.
  return OrderAttr::get(context, balance.axis, descending,
                        int64_t(target.l2Bytes / 2), bytes, size);
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

static void assign(KernelOp kernel, const WorkBalance &balance,
                   Schedule schedule) {
  kernel.setScheduleAttr(ScheduleAttr::get(kernel.getContext(), schedule));
  kernel.setOrderAttr(
      chooseOrder(kernel, balance, schedule, kernel.getTarget()));
  if (kernel.isPersistent())
    makePersistent(kernel);
}

/// A proof with more states takes too long: the kernel does not persist by
/// default. The limit is ten times the states of forward attention, and takes a
/// fraction of a second.
static constexpr uint64_t kMaxTrialStates = 5000;

/// Returns true if `persistent` loads ahead as much as `alone`. `persistent` is
/// the same kernel but goes on to further work tiles. Each ring of `alone` in
/// which loads of a loop bring the next value while the last one is used must
/// have as many stages there.
static bool keepsStages(KernelOp alone, KernelOp persistent) {
  llvm::StringMap<int64_t> stages;
  for (auto channel : persistent.getBody().getOps<ChannelOp>())
    stages[channel.getLabel()] = channel.getStages();
  return llvm::all_of(collectChannelUses(alone), [&](const auto &entry) {
    ChannelOp channel = entry.first;
    bool isLoaded = llvm::any_of(entry.second.commits, [](CommitOp commit) {
      return getLoad(commit) && commit->getParentOfType<scf::ForOp>();
    });
    return !isLoaded || stages.lookup(channel.getLabel()) >=
                            std::min<int64_t>(channel.getStages(), 2);
  });
}

/// Returns true if channels connect all roles that work, perhaps by way of
/// further roles. Roles that are not connected go on from tile to tile each by
/// itself, so a CTA's roles no longer work on one tile together.
static bool areRolesConnected(KernelOp kernel) {
  llvm::EquivalenceClasses<Operation *> connected;
  SmallVector<Operation *> working;
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (!role.getBody().getOps<WorkOp>().empty()) {
      working.push_back(role);
      connected.insert(role);
    }
  for (const auto &[channel, uses] : collectChannelUses(kernel)) {
    auto roles = llvm::to_vector(
        llvm::concat<const RoleOp>(uses.producers, uses.consumers));
    for (RoleOp role : roles)
      connected.unionSets(roles.front(), role);
  }
  return llvm::all_of(working, [&](Operation *role) {
    return connected.isEquivalent(working.front(), role);
  });
}

/// Returns true if CTAs of the kernel can go on from work tile to work tile. A
/// copy of the kernel is taken through the passes that can refuse that:
///   - Memory that changes hands at the end of the only work tile must have
///     come back before the next one.
///   - An accumulator that begins anew needs a loop that makes a pass.
///   - The proof has more states to look at, many more if loops may make no
///     pass.
///
/// Other conditions keep the kernel fast:
///   - Loads must not get less memory: each pass would wait for what is saved
///     once a tile.
///   - No role may go on without the others.
///   - No role may hold tiles while it waits for others: it has used up its
///     registers, so ptxas spills what the next tile needs.
static bool canPersist(KernelOp kernel, const WorkBalance &balance) {
  QuietTrial trial(kernel.getContext());
  OwningOpRef<KernelOp> copy = kernel.clone();
  assign(*copy, balance, Schedule::Static);
  if (failed(specializeWarps(*copy)) || !areRolesConnected(*copy))
    return false;
  for (auto role : copy->getBody().getOps<RoleOp>())
    if (role.getLayout() && registersAcrossWaits(role) != 0)
      return false;
  FailureOr<bool> fits = scheduleToFit(*copy, TileScheduleOptions());
  if (failed(fits) || !*fits ||
      failed(verifyProtocol(*copy, nullptr, kMaxTrialStates)))
    return false;
  OwningOpRef<KernelOp> alone = kernel.clone();
  return failed(specializeWarps(*alone)) ||
         failed(scheduleToFit(*alone, TileScheduleOptions())) ||
         keepsStages(*alone, *copy);
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

/// Returns the schedule for a kernel whose schedule nobody has chosen.
static Schedule chooseSchedule(KernelOp kernel, const WorkBalance &balance) {
  if (findNestedWorkTile(kernel))
    return Schedule::Grid;
  if (balance.trend != Trend::Constant || takesTurns(kernel) ||
      exceedsGrid(kernel, /*mayBe=*/false))
    return Schedule::LongestFirst;
  if (canPersist(kernel, balance))
    return Schedule::Static;
  return exceedsGrid(kernel, /*mayBe=*/true) ? Schedule::LongestFirst
                                             : Schedule::Grid;
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
    // A schedule in the IR stays as it is.
    if (asked == Schedule::Grid || kernel.getSchedule() ||
        !kernel.getBody().getOps<RoleOp>().empty())
      return;
    WorkBalance balance = findWorkBalance(kernel);
    Schedule chosen = asked ? *asked : chooseSchedule(kernel, balance);
    if (chosen == Schedule::Grid)
      return;
    if (chosen == Schedule::Requested && !kernel.getTarget().requestsWork) {
      kernel.emitOpError("is for '")
          << kernel.getChip()
          << "', whose CTAs cannot ask for the work of other ones "
             "(clusterlaunchcontrol): the schedule 'clc' is not possible";
      return signalPassFailure();
    }
    // A nested tile.work_tile, as in a branch, keeps the coordinates of the
    // grid.
    if (WorkTileOp nested = findNestedWorkTile(kernel)) {
      nested.emitOpError("is in a region: coordinates of work tiles that a "
                         "schedule assigns stand at the top of a program");
      return signalPassFailure();
    }
    assign(kernel, balance, chosen);
  }
};

} // namespace
