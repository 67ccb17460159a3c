//===- PlanSearch.cpp - the plan of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Transforms/PlanSearch.h"
#include "AssignWork.h"
#include "Schedule/MatrixStages.h"
#include "Schedule/Schedule.h"
#include "ShareBuffers.h"
#include "TileWarpSpecialize.h"
#include "fa4/Dialect/Tile/Analysis/RegisterDemand.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Support/NestedOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
/// Takes the diagnostics of this thread while it lives. Other threads report as
/// before.
class CapturedErrors {
public:
  explicit CapturedErrors(MLIRContext *context)
      : handler(context,
                [this, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
                  if (llvm::get_threadid() != thread)
                    return failure();
                  if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                      first.empty())
                    first = diagnostic.str();
                  return success();
                }) {}

  const std::string &getFirst() const { return first; }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

/// A copy of a kernel that follows a plan.
struct Trial {
  PlanAttr plan;
  /// The copy, with roles that are scheduled; null if it has an error.
  OwningOpRef<KernelOp> kernel;
  /// True if the kernel fits into shared memory and into tensor memory.
  bool fits = false, fitsTensorMemory = false;
  /// True if each ring that loads fill has a second stage, where one is of use.
  bool isDoubleBuffered = false;
  /// See StageFit.
  int64_t largestSingle = 0;
};

class Searcher {
public:
  Searcher(KernelOp kernel, const TilePlanOptions &options, PlanSearch &search)
      : kernel(kernel), options(options), search(search) {}

  void planRoles();
  void planProgram();

private:
  PlanAttr makePlan(Schedule schedule, MmaOrder order, int64_t storeParts = 1,
                    bool divideLoads = false, bool overlapStores = true,
                    bool shareStores = false);
  SmallVector<PlanAttr> plansFor(Schedule schedule, MmaOrder order,
                                 ArrayRef<int64_t> storeParts,
                                 bool divideLoads);
  void record(PlanAttr plan, std::string obstacle) {
    search.tried.push_back({plan, std::move(obstacle)});
  }
  Trial tryPlan(KernelOp roles, PlanAttr plan);
  Trial planRolesOf(KernelOp roles, Schedule schedule);
  OwningOpRef<KernelOp> specialize(Schedule schedule);
  Trial planStatic();

  KernelOp kernel;
  const TilePlanOptions &options;
  PlanSearch &search;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels with roles
//===----------------------------------------------------------------------===//

PlanAttr Searcher::makePlan(Schedule schedule, MmaOrder order,
                            int64_t storeParts, bool divideLoads,
                            bool overlapStores, bool shareStores) {
  return PlanAttr::get(kernel.getContext(), schedule, order,
                       options.splitArrival, storeParts, shareStores,
                       divideLoads, overlapStores, options.maxStages);
}

/// Returns the plans with an order of MMAs, the fastest first.
SmallVector<PlanAttr> Searcher::plansFor(Schedule schedule, MmaOrder order,
                                         ArrayRef<int64_t> storeParts,
                                         bool divideLoads) {
  SmallVector<PlanAttr> plans;
  for (bool divide : {false, true})
    if (!divide || divideLoads)
      for (int64_t parts : storeParts)
        plans.push_back(makePlan(schedule, order, parts, divide));
  // Lanes that hold accumulators store their last results behind the loop, one
  // after another: a ring for all costs less time than loads that wait.
  if (!kernel.getTarget().hasTensorMemory())
    plans.push_back(makePlan(schedule, order, storeParts.back(),
                             /*divideLoads=*/false, /*overlapStores=*/true,
                             /*shareStores=*/true));
  plans.push_back(makePlan(schedule, order, storeParts.back(),
                           /*divideLoads=*/false, /*overlapStores=*/false));
  plans.push_back(makePlan(schedule, order, storeParts.back(), divideLoads,
                           /*overlapStores=*/false, /*shareStores=*/true));
  return plans;
}

/// Schedules a copy of the roles, and counts what it needs of the memories.
Trial Searcher::tryPlan(KernelOp roles, PlanAttr plan) {
  Trial trial;
  trial.plan = plan;
  trial.kernel = roles.clone();
  trial.kernel->setPlanAttr(plan);
  CapturedErrors errors(kernel.getContext());
  splitValues(*trial.kernel);
  if (failed(pipelineLoops(*trial.kernel))) {
    record(plan, errors.getFirst());
    trial.kernel = nullptr;
    return trial;
  }
  orderRoles(*trial.kernel);
  StageFit fit = chooseStages(*trial.kernel);
  StringRef single = fit.single ? fit.single.getLabel() : "";
  // The proof of persistent kernels needs the acquires that sharing drops.
  OwningOpRef<KernelOp> copy;
  if (plan.getSchedule() == Schedule::Static)
    copy = trial.kernel->clone();
  const TargetDescription &target = kernel.getTarget();
  int64_t columns = shareBuffersInTurn(copy ? *copy : *trial.kernel, target);
  trial.fitsTensorMemory = columns <= int64_t(target.tmemColumns);
  trial.fits = trial.fitsTensorMemory && fit.bytes <= int64_t(target.smemBytes);
  trial.isDoubleBuffered = single.empty();
  trial.largestSingle = fit.largestSingle;
  std::string obstacle;
  if (!trial.fitsTensorMemory)
    obstacle = llvm::formatv("needs {0} columns of tensor memory, of which "
                             "'{1}' has {2}",
                             columns, kernel.getChip(), target.tmemColumns);
  else if (!trial.fits)
    obstacle = llvm::formatv("needs {0} bytes of shared memory, of which '{1}' "
                             "has {2}",
                             fit.bytes, kernel.getChip(), target.smemBytes);
  else if (!single.empty())
    obstacle = llvm::formatv("ring '{0}' has one stage, so that loads wait "
                             "until its value has been used",
                             single);
  record(plan, std::move(obstacle));
  return trial;
}

/// Returns true if tensor cores idle while lanes compute. This is so if all
/// MMAs of the loops are on one dependence cycle with the lanes: the MMAs of
/// the next scores come behind those that use the last ones, and no other tile
/// has MMAs to issue. A second buffer for scores would help.
static bool idlesForLanes(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  SmallVector<Operation *> exponentials = collectTileExponentials(kernel);
  return llvm::any_of(findLastExponentials(exponentials), [&](Operation *exp) {
    RowWork work = countRowWork(exp, exponentials.size(), target);
    return work.recurrence && work.recurrence->producer +
                                      work.recurrence->consumerLead +
                                      work.recurrence->consumerRest ==
                                  work.mmaCycles;
  });
}

/// Returns the orders in which MMAs may be issued, the fastest first. One is
/// enough for a kernel without MMAs in a loop.
static SmallVector<MmaOrder> getOrders(KernelOp roles, bool tryAhead) {
  auto isInLoop = [](MmaOp op) {
    return bool(op->getParentOfType<scf::ForOp>());
  };
  if (!fa4::anyIn(roles, isInLoop))
    return {MmaOrder::Early};
  if (tryAhead || idlesForLanes(roles))
    return {MmaOrder::Ahead, MmaOrder::Early, MmaOrder::Late, MmaOrder::None};
  return {MmaOrder::Early, MmaOrder::Late, MmaOrder::None};
}

/// Finds the fastest plan that fits, or, if none fits, the fastest one. The
/// trial has no kernel if the roles cannot be scheduled at all.
Trial Searcher::planRolesOf(KernelOp roles, Schedule schedule) {
  SmallVector<int64_t> storeParts = {1};
  if (options.splitStores)
    storeParts = getStoreParts(roles);
  bool canDivideLoads = options.divideLoads && countLoadParts(roles) > 1;
  std::optional<Trial> fastest;
  for (MmaOrder order : getOrders(roles, options.mmasAhead)) {
    // Stores in parts may leave memory for a second stage of the rings that
    // loads fill: the next load then need not wait until the last value has
    // been used. Where they do not, loads in parts shorten this wait.
    std::optional<Trial> fitting;
    for (PlanAttr plan :
         plansFor(schedule, order, storeParts, canDivideLoads)) {
      if (fitting && !plan.getOverlapStores())
        break;
      Trial trial = tryPlan(roles, plan);
      if (!trial.kernel)
        return trial;
      bool best = trial.fits && trial.isDoubleBuffered;
      bool helps = trial.fits && fitting && plan.getDivideLoads() &&
                   trial.largestSingle < fitting->largestSingle;
      // The plans that are left divide stored values. That saves only shared
      // memory, so it cannot make a kernel fit into tensor memory.
      bool isLast = best || !trial.fitsTensorMemory;
      if (best || helps || (trial.fits && !fitting))
        fitting = std::move(trial);
      else if (!fastest)
        fastest = std::move(trial);
      if (isLast)
        break;
    }
    if (fitting)
      return std::move(*fitting);
  }
  return std::move(*fastest);
}

void Searcher::planRoles() {
  Trial trial = planRolesOf(kernel, kernel.getScheduleOrGrid());
  if (trial.kernel)
    search.plan = trial.plan;
}

//===----------------------------------------------------------------------===//
// Tile programs
//===----------------------------------------------------------------------===//

/// Returns the roles of the kernel with a schedule; null if it has an error.
OwningOpRef<KernelOp> Searcher::specialize(Schedule schedule) {
  OwningOpRef<KernelOp> roles = kernel.clone();
  CapturedErrors errors(kernel.getContext());
  if (succeeded(assignWork(*roles, schedule)) &&
      succeeded(specializeWarps(*roles)))
    return roles;
  record(makePlan(schedule, MmaOrder::Early), errors.getFirst());
  return nullptr;
}

/// Returns two roles that work and that no channels connect, not even by way of
/// further roles, or nothing if there are none. Such roles go on from tile to
/// tile each by itself, so a CTA's roles no longer work on one tile together.
static std::optional<std::pair<RoleOp, RoleOp>>
findUnconnectedRoles(KernelOp kernel) {
  llvm::EquivalenceClasses<Operation *> connected;
  SmallVector<RoleOp> working;
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
  for (RoleOp role : working)
    if (!connected.isEquivalent(working.front(), role))
      return std::pair(working.front(), role);
  return std::nullopt;
}

/// Returns why CTAs of a kernel with these roles should not go on from work
/// tile to work tile; empty if nothing is known.
static std::string findTileObstacle(KernelOp roles) {
  if (auto apart = findUnconnectedRoles(roles))
    return llvm::formatv("no channels connect the roles '{0}' and '{1}', so "
                         "that each goes on from tile to tile by itself",
                         apart->first.getSymName(), apart->second.getSymName());
  for (auto role : roles.getBody().getOps<RoleOp>()) {
    // The tiles of a role that owns accumulators were chosen for its registers.
    if (isMatrixRole(role) || !role.getLayout())
      continue;
    if (unsigned registers = registersAcrossWaits(role))
      return llvm::formatv("role '{0}' holds {1} registers of tiles while it "
                           "waits for others: ptxas spills what the next tile "
                           "needs",
                           role.getSymName(), registers);
  }
  return "";
}

/// A proof with more states takes too long: the kernel does not persist by
/// default. The limit is ten times the states of forward attention, and takes a
/// fraction of a second.
static constexpr uint64_t kMaxTrialStates = 5000;

/// Plans the kernel with the schedule `static`. The trial has no kernel if
/// something is in the way:
///   - Memory that changes hands at the end of the only work tile must have
///     come back before the next one.
///   - An accumulator that begins anew needs a loop that makes a pass.
///   - The proof has more states to look at, many more if loops may make no
///     pass.
///   - No role may go on without the others.
///   - No role may hold tiles while it waits for others, unless it owns
///     accumulators: it has used up its registers, so ptxas spills what the
///     next tile needs.
///   - Another role must fetch for the lanes while they end a tile. An SM has
///     room for many CTAs of lanes that read all they need themselves.
Trial Searcher::planStatic() {
  OwningOpRef<KernelOp> roles = specialize(Schedule::Static);
  if (!roles)
    return Trial();
  std::string obstacle = findTileObstacle(*roles);
  if (obstacle.empty() && roles->getBody().getOps<ChannelOp>().empty())
    obstacle = "no role fetches for another one: an SM works on several CTAs";
  if (!obstacle.empty()) {
    record(makePlan(Schedule::Static, MmaOrder::Early), std::move(obstacle));
    return Trial();
  }
  Trial trial = planRolesOf(*roles, Schedule::Static);
  if (!trial.kernel || !trial.fits)
    return Trial();
  CapturedErrors errors(kernel.getContext());
  if (succeeded(verifyProtocol(*trial.kernel, nullptr, kMaxTrialStates)))
    return trial;
  record(trial.plan, errors.getFirst());
  return Trial();
}

/// Returns a ring that loads fill in a loop, and that has two stages or more in
/// `alone` but only one in `persistent`; null if there is none. `persistent` is
/// the same kernel, but its CTAs go on to further work tiles. With one stage,
/// each pass waits for its load, while going on saves time only once a work
/// tile.
static ChannelOp findLostStage(KernelOp alone, KernelOp persistent) {
  llvm::StringMap<int64_t> stages;
  for (auto channel : persistent.getBody().getOps<ChannelOp>())
    stages[channel.getLabel()] = channel.getStages();
  for (const auto &[key, uses] : collectChannelUses(alone)) {
    ChannelOp channel = key;
    bool isLoaded = llvm::any_of(uses.commits, [](CommitOp commit) {
      return getLoad(commit) && commit->getParentOfType<scf::ForOp>();
    });
    if (isLoaded && stages.lookup(channel.getLabel()) <
                        std::min<int64_t>(channel.getStages(), 2))
      return channel;
  }
  return nullptr;
}

/// Plans the kernel with the schedule that it has or that is asked for. If the
/// search is free to choose, it tries `static` first, and plans the schedule
/// that needs no trial as well: it says how far loads should run ahead.
void Searcher::planProgram() {
  SmallVector<Schedule> schedules;
  if (kernel.getSchedule())
    schedules = {*kernel.getSchedule()};
  else if (auto asked = symbolizeSchedule(options.schedule))
    schedules = {*asked};
  else
    schedules = getSchedulesToTry(kernel);
  Trial persistent;
  if (schedules.size() > 1)
    persistent = planStatic();
  OwningOpRef<KernelOp> roles = specialize(schedules.back());
  Trial alone;
  if (roles)
    alone = planRolesOf(*roles, schedules.back());
  if (persistent.kernel && alone.kernel)
    if (ChannelOp ring = findLostStage(*alone.kernel, *persistent.kernel)) {
      record(persistent.plan,
             llvm::formatv("ring '{0}' has fewer stages than if each CTA ends "
                           "with its tile: loads of each pass would wait",
                           ring.getLabel()));
      persistent.kernel = nullptr;
    }
  if (persistent.kernel)
    search.plan = persistent.plan;
  else if (alone.kernel)
    search.plan = alone.plan;
}

PlanSearch fa4::tile::searchPlan(KernelOp kernel,
                                 const TilePlanOptions &options) {
  PlanSearch search;
  Searcher searcher(kernel, options, search);
  if (kernel.getBody().getOps<RoleOp>().empty())
    searcher.planProgram();
  else
    searcher.planRoles();
  return search;
}

void fa4::tile::printPlanSearch(KernelOp kernel, const PlanSearch &search,
                                raw_ostream &os) {
  os << "plan of @" << kernel.getSymName() << ": ";
  if (search.plan)
    os << search.plan << "\n";
  else
    os << "none\n";
  for (const TriedPlan &tried : search.tried)
    if (!tried.obstacle.empty())
      os << "  " << tried.plan << ": " << tried.obstacle << "\n";
}
