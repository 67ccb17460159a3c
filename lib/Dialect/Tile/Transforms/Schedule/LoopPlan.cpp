//===- LoopPlan.cpp - order of operations in a loop ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStages.h"
#include "Schedule.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa4::tile;

bool LoopPlan::isPipelined() const {
  return llvm::any_of(stage, [](auto entry) { return entry.second != 0; });
}

unsigned LoopPlan::indexOf(Operation *op) const {
  return llvm::find(order, op) - order.begin();
}

static bool isChannelOp(Operation *op) {
  return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
}

template <typename Op>
static SmallVector<Op> opsOn(Value channel, Block *block) {
  SmallVector<Op> ops;
  for (auto op : block->getOps<Op>())
    if (op.getChannel() == channel)
      ops.push_back(op);
  return ops;
}

/// Returns the operation of kind `To` that belongs to `op`. If `op` is the n-th
/// of its kind on the channel in its block, this is the n-th of kind `To`.
template <typename To, typename From> static To partnerOf(From op) {
  SmallVector<From> from = opsOn<From>(op.getChannel(), op->getBlock());
  SmallVector<To> to = opsOn<To>(op.getChannel(), op->getBlock());
  if (from.size() != to.size())
    return nullptr;
  return to[llvm::find(from, op) - from.begin()];
}

namespace {
/// Plans one loop. Anchors are the operations that do something: MMAs, memory
/// accesses, and anything else with side effects outside of channels. Anchors
/// are ordered first; each operation on a channel then goes next to an anchor.
class Planner {
public:
  Planner(scf::ForOp loop, const RoleGraph &graph)
      : loop(loop), body(loop.getBody()), graph(graph) {
    plan.loop = loop;
    for (Operation &op : body->without_terminator())
      if (!isChannelOp(&op) && (isa<MmaOp>(op) || !isMemoryEffectFree(&op)))
        anchors.push_back(&op);
    for (Value yielded : body->getTerminator()->getOperands())
      if (Operation *def = yielded.getDefiningOp();
          def && def->getBlock() == body && !isChannelOp(def) &&
          !llvm::is_contained(anchors, def))
        anchors.push_back(def);
    llvm::sort(anchors, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  }

  /// Returns null if the loop can be planned, else the reason why it stays as
  /// it is.
  const char *unsupported();
  LogicalResult planMmas(MmaOrder order);
  void planLoads(const LoopPlans &plans);

  LoopPlan plan;
  bool hasMma() { return llvm::any_of(anchors, llvm::IsaPred<MmaOp>); }
  bool hasLoad() { return llvm::any_of(anchors, llvm::IsaPred<LoadOp>); }

private:
  SmallVector<Operation *> anchorsUsing(Value value);
  SmallVector<Operation *> anchorsBehind(Value value);
  Operation *previousWriter(Operation *anchor);
  Operation *firstWriter(Value value);
  SmallVector<Operation *> freeing(Operation *anchor, MmaOrder order);
  bool writes(Operation *anchor, Value value);
  SmallVector<Operation *> blocking(WaitOp consumer);
  unsigned slotOf(Operation *anchor, ArrayRef<Operation *> older,
                  MmaOrder order);
  void mergeStages();
  void attach();
  void attachOne(Operation *op);
  bool touches(Operation *anchor, Value channel);
  double readyAt(WaitOp wait, const LoopPlans &plans);
  double neededAt(LoadOp load, const LoopPlans &plans, unsigned &stage);

  scf::ForOp loop;
  Block *body;
  const RoleGraph &graph;
  SmallVector<Operation *> anchors;
  llvm::DenseMap<Operation *, unsigned> slots;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> before, after;
};
} // namespace

const char *Planner::unsupported() {
  for (Value yielded : body->getTerminator()->getOperands())
    if (Operation *def = yielded.getDefiningOp();
        !def || def->getBlock() != body || isa<WaitOp>(def))
      return "it hands on a value that no operation of the iteration makes";
  return nullptr;
}

/// Returns the anchors that use `value` in the same iteration, directly or
/// through pure operations.
SmallVector<Operation *> Planner::anchorsUsing(Value value) {
  SetVector<Operation *> users;
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      Operation *op = body->findAncestorOpInBlock(*user);
      if (!op || !seen.insert(op).second)
        continue;
      if (llvm::is_contained(anchors, op))
        users.insert(op);
      else if (!isChannelOp(op))
        llvm::append_range(worklist, op->getResults());
    }
  SmallVector<Operation *> sorted = users.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Returns the anchors from whose results `value` is computed in the same
/// iteration, directly or through pure operations.
SmallVector<Operation *> Planner::anchorsBehind(Value value) {
  SetVector<Operation *> found;
  SmallVector<Operation *> worklist;
  if (Operation *def = value.getDefiningOp(); def && def->getBlock() == body)
    worklist.push_back(def);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (llvm::is_contained(anchors, op))
      found.insert(op);
    else if (!isChannelOp(op))
      llvm::append_range(worklist, RoleGraph::operandOps(op));
  }
  return found.takeVector();
}

/// Returns the MMA of this iteration to whose result the MMA `anchor` adds its
/// own, or null.
Operation *Planner::previousWriter(Operation *anchor) {
  auto mma = dyn_cast<MmaOp>(anchor);
  auto previous =
      mma && mma.getAcc() ? mma.getAcc().getDefiningOp<MmaOp>() : MmaOp();
  return previous && previous->getBlock() == body ? previous : MmaOp();
}

/// Returns the first of the MMAs that accumulate to `value`.
Operation *Planner::firstWriter(Value value) {
  SmallVector<Operation *> writers = anchorsBehind(value);
  if (writers.empty())
    return nullptr;
  Operation *first = writers.front();
  while (Operation *previous = previousWriter(first))
    first = previous;
  return first;
}

/// Returns true if `anchor` is one of the MMAs that accumulate to `value`, or
/// the operation from which `value` is computed.
bool Planner::writes(Operation *anchor, Value value) {
  return llvm::any_of(anchorsBehind(value), [&](Operation *writer) {
    while (writer && writer != anchor)
      writer = previousWriter(writer);
    return writer;
  });
}

/// Returns the anchors behind which the value of `anchor` is no longer needed.
/// Unless the order is `Ahead`, values that other roles compute from it and put
/// in its place must not be needed either.
SmallVector<Operation *> Planner::freeing(Operation *anchor, MmaOrder order) {
  SmallVector<Operation *> result;
  for (auto commit : body->getOps<CommitOp>()) {
    if (!commit.getValue() || !writes(anchor, commit.getValue()) ||
        commit.getChannel().getDefiningOp<ChannelOp>().getStages() != 1)
      continue;
    for (WaitOp wait : graph.waitsOf(commit)) {
      llvm::append_range(result, blocking(wait));
      if (order == MmaOrder::Ahead)
        continue;
      llvm::DenseMap<Operation *, Operation *> latest;
      for (Operation &op : *wait->getBlock()) {
        Operation *last = isa<WaitOp>(op) ? &op : nullptr;
        for (Operation *def : RoleGraph::operandOps(&op))
          if (Operation *other = latest.lookup(def);
              other && (!last || last->isBeforeInBlock(other)))
            last = other;
        latest[&op] = last;
        auto answer = dyn_cast<CommitOp>(op);
        if (!answer || last != wait)
          continue;
        for (WaitOp back : graph.waitsOf(answer))
          if (back->getBlock() == body)
            llvm::append_range(result, anchorsUsing(back.getValue()));
      }
    }
  }
  return result;
}

/// Returns the anchors that must be issued before the consumer with the wait
/// `wait` can release the value. If they came later, both roles would wait for
/// each other.
SmallVector<Operation *> Planner::blocking(WaitOp wait) {
  SmallVector<Operation *> result, worklist;
  if (auto release = partnerOf<ReleaseOp>(wait))
    worklist.push_back(release);
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    bool here = op->getBlock() == body;
    if (here && llvm::is_contained(anchors, op))
      result.push_back(op);
    llvm::append_range(worklist, graph.predecessors(op, /*order=*/!here));
  }
  return result;
}

/// Returns true if `anchor` stands between the operations of the iteration on
/// `channel`.
bool Planner::touches(Operation *anchor, Value channel) {
  for (auto commit : opsOn<CommitOp>(channel, body))
    if (commit.getValue() &&
        llvm::is_contained(anchorsBehind(commit.getValue()), anchor))
      return true;
  for (auto wait : opsOn<WaitOp>(channel, body))
    if (wait.getValue() &&
        llvm::is_contained(anchorsUsing(wait.getValue()), anchor))
      return true;
  return false;
}

/// Returns how many of the stage-1 anchors `older` of one iteration come before
/// `anchor`, a stage-0 anchor of the next iteration.
unsigned Planner::slotOf(Operation *anchor, ArrayRef<Operation *> older,
                         MmaOrder order) {
  unsigned slot = 0;
  auto notBefore = [&](Operation *op) {
    if (auto it = llvm::find(older, op); it != older.end())
      slot = std::max<unsigned>(slot, it - older.begin() + 1);
    else if (plan.stage.lookup(op) == 0 && op->isBeforeInBlock(anchor))
      slot = std::max(slot, slots.lookup(op));
  };
  for (Operation *op : freeing(anchor, order))
    notBefore(op);
  // First come values of the previous iteration, then values of this one.
  for (auto [arg, yielded] : llvm::zip(loop.getRegionIterArgs(),
                                       body->getTerminator()->getOperands()))
    if (llvm::is_contained(anchorsUsing(arg), anchor))
      for (Operation *op : anchorsBehind(yielded))
        notBefore(op);
  for (Value operand : anchor->getOperands())
    for (Operation *op : anchorsBehind(operand))
      notBefore(op);
  // The operations on a ring keep the order of the iterations.
  for (auto channel : body->getParentOp()
                          ->getParentOfType<KernelOp>()
                          .getBody()
                          .getOps<ChannelOp>())
    if (touches(anchor, channel))
      for (Operation *op : anchors)
        if (op != anchor && touches(op, channel) &&
            (opsOn<CommitOp>(channel, body).size() > 1 ||
             opsOn<WaitOp>(channel, body).size() > 1))
          notBefore(op);
  return slot;
}

LogicalResult Planner::planMmas(MmaOrder order) {
  auto trips = graph.roundTrips(loop);
  if (failed(trips))
    return failure();
  // Two stages suffice. More would need more buffers for the results of MMAs,
  // for which tensor memory has no room at the tile sizes in use.
  for (Operation &op : body->without_terminator())
    plan.stage[&op] =
        order == MmaOrder::None ? 0 : std::min(trips->lookup(&op), 1u);
  SmallVector<Operation *> older, younger;
  for (Operation *op : anchors)
    (plan.stage[op] ? older : younger).push_back(op);
  for (Operation *op : younger)
    slots[op] =
        order == MmaOrder::Late ? older.size() : slotOf(op, older, order);
  for (unsigned slot = 0; slot <= older.size(); ++slot) {
    for (Operation *op : younger)
      if (slots[op] == slot)
        plan.order.push_back(op);
    if (slot < older.size())
      plan.order.push_back(older[slot]);
  }
  attach();
  return success();
}

/// Returns the time at which the first operation can run that uses the value of
/// `wait` together with a value that depends on a planned loop. The time is a
/// position in that loop's order; -1 if there is no such operation.
double Planner::readyAt(WaitOp wait, const LoopPlans &plans) {
  auto lastBehind = [&](Operation *user) {
    double last = -1;
    SmallVector<Operation *> worklist = {user};
    llvm::DenseSet<Operation *> seen;
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      auto planned = plans.find(dyn_cast<scf::ForOp>(op->getParentOp()));
      if (planned != plans.end())
        last = std::max(last, planned->second.indexOf(op) + 0.5);
      llvm::append_range(worklist, graph.predecessors(op, /*order=*/false));
    }
    return last;
  };
  double first = -1;
  SetVector<Operation *> users;
  users.insert(wait);
  for (unsigned i = 0; i < users.size(); ++i)
    for (Operation *user : users[i]->getUsers())
      if (Operation *op = wait->getBlock()->findAncestorOpInBlock(*user);
          op && users.insert(op))
        if (double at = lastBehind(op); at >= 0 && (first < 0 || at < first))
          first = at;
  return first;
}

/// Returns the time at which the value of `load` is first used: a position in
/// the order of the planned loop that waits for it, or that feeds its consumer.
/// Sets `stage` to the stage of this use.
double Planner::neededAt(LoadOp load, const LoopPlans &plans, unsigned &stage) {
  double first = std::numeric_limits<double>::infinity();
  auto consider = [&](double at, unsigned atStage) {
    if (at < first) {
      first = at;
      stage = atStage;
    }
  };
  for (auto commit : body->getOps<CommitOp>()) {
    if (commit.getValue() != load.getTile())
      continue;
    for (WaitOp wait : graph.waitsOf(commit)) {
      auto consumer = plans.find(cast<scf::ForOp>(wait->getParentOp()));
      if (consumer != plans.end()) {
        consider(consumer->second.indexOf(wait),
                 consumer->second.stage.lookup(wait));
        continue;
      }
      consider(readyAt(wait, plans), 0);
    }
  }
  return first;
}

void Planner::planLoads(const LoopPlans &plans) {
  llvm::DenseMap<Operation *, double> at;
  for (Operation &op : body->without_terminator())
    plan.stage[&op] = 0;
  for (Operation *op : anchors) {
    unsigned stage = 0;
    auto load = dyn_cast<LoadOp>(op);
    at[op] = load ? neededAt(load, plans, stage) : 0;
    plan.stage[op] = stage;
  }
  plan.order = anchors;
  llvm::sort(plan.order, [&](Operation *a, Operation *b) {
    return at[a] != at[b] ? at[a] < at[b] : a->isBeforeInBlock(b);
  });
  // With all anchors in one stage, running loads ahead gains nothing.
  if (llvm::all_of(anchors, [&](Operation *op) { return plan.stage[op]; }))
    for (Operation *op : anchors)
      plan.stage[op] = 0;
  attach();
}

/// Puts an operation on a channel in front of or behind an anchor.
void Planner::attachOne(Operation *op) {
  auto put = [&](Operation *anchor, bool isBefore) {
    plan.stage[op] = plan.stage[anchor];
    (isBefore ? before : after)[anchor].push_back(op);
  };
  auto at = [&](Operation *anchor) { return plan.indexOf(anchor); };
  auto usersOf = [&](WaitOp wait) {
    return wait && wait.getValue() ? anchorsUsing(wait.getValue())
                                   : SmallVector<Operation *>();
  };
  // The first user in time is the one of the lowest stage.
  auto time = [&](Operation *anchor) {
    return plan.stage[anchor] * plan.order.size() + at(anchor);
  };
  auto earlier = [&](Operation *a, Operation *b) { return time(a) < time(b); };
  SmallVector<Operation *> users;
  if (auto wait = dyn_cast<WaitOp>(op)) {
    users = usersOf(wait);
    if (!users.empty())
      return put(*llvm::min_element(users, earlier), true);
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    users = usersOf(partnerOf<WaitOp>(release));
    if (!users.empty())
      return put(*llvm::max_element(users, earlier), false);
  } else if (auto commit = dyn_cast<CommitOp>(op)) {
    if (commit.getValue())
      users = anchorsBehind(commit.getValue());
    if (!users.empty())
      return put(*llvm::max_element(users, earlier), false);
  } else if (auto acquire = dyn_cast<AcquireOp>(op)) {
    auto commit = partnerOf<CommitOp>(acquire);
    if (Operation *writer = commit && commit.getValue()
                                ? firstWriter(commit.getValue())
                                : nullptr)
      return put(writer, true);
  }
  // An operation that serves no anchor stays next to the operation beside which
  // it stands today: a wait or an acquire before it, a commit or a release
  // behind it.
  bool isBefore = isa<WaitOp, AcquireOp>(op);
  for (Operation *other = op; other;
       other = isBefore ? other->getNextNode() : other->getPrevNode())
    if (llvm::is_contained(anchors, other))
      return put(other, isBefore);
  put(isBefore ? anchors.back() : anchors.front(), !isBefore);
}

void Planner::attach() {
  SmallVector<Operation *> ordered = plan.order;
  for (Operation &op : body->without_terminator())
    if (isChannelOp(&op))
      attachOne(&op);
  plan.order.clear();
  for (Operation *anchor : ordered) {
    llvm::append_range(plan.order, before[anchor]);
    plan.order.push_back(anchor);
    llvm::append_range(plan.order, after[anchor]);
  }
  llvm::DenseMap<Operation *, unsigned> stage;
  for (Operation *op : plan.order)
    stage[op] = plan.stage[op];
  plan.stage = std::move(stage);
}

namespace {
/// Looks for uses before their definition. A plan can have such uses if roles
/// break the promises of their channels.
class UseChecker {
public:
  UseChecker(LoopPlan &plan) : plan(plan), body(plan.loop.getBody()) {}

  bool isOrdered() {
    return llvm::all_of(llvm::enumerate(plan.order), [&](auto entry) {
      auto [position, op] = entry;
      return hasOperands(op, plan.stage.lookup(op), position);
    });
  }

private:
  /// Returns true if the operands of an operation at this place of the order
  /// are defined. The operation works on an iteration that is `age` passes
  /// older than the iteration of the first stage.
  bool hasOperands(Operation *op, int age, unsigned position) {
    SetVector<Value> values(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), values);
    return llvm::all_of(
        values, [&](Value value) { return isMade(value, age, position); });
  }
  bool isMade(Value value, int age, unsigned position);

  const LoopPlan &plan;
  Block *body;
};
} // namespace

bool UseChecker::isMade(Value value, int age, unsigned position) {
  auto isBefore = [&](Operation *def, int age) {
    int lag = age - int(plan.stage.lookup(def));
    return lag > 0 || (lag == 0 && plan.indexOf(def) < position);
  };
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != body || arg.getArgNumber() == 0)
      return true;
    Value yielded = body->getTerminator()->getOperand(arg.getArgNumber() - 1);
    return isBefore(yielded.getDefiningOp(), age + 1);
  }
  Operation *def = value.getDefiningOp();
  if (def->getBlock() != body)
    return true;
  return plan.stage.count(def) ? isBefore(def, age)
                               : hasOperands(def, age, position);
}

namespace {
/// Plans the loops of a kernel.
class KernelPlanner {
public:
  KernelPlanner(KernelOp kernel, const RoleGraph &graph)
      : kernel(kernel), graph(graph) {}

  LogicalResult planMmas(MmaOrder order);
  void planLoads();

  LoopPlans plans;

private:
  /// Visits the loops of roles that start asynchronous work: of those that one
  /// thread runs, or of lanes.
  template <typename Fn> void forEachLoop(bool ofLanes, Fn visit) {
    for (auto role : kernel.getBody().getOps<RoleOp>())
      if (ofLanes ? isMatrixRole(role) : role.runsOnOneThread())
        for (auto loop :
             KernelOp::getWorkBlock(role.getBody()).getOps<scf::ForOp>())
          visit(loop);
  }
  void planMatrices();

  KernelOp kernel;
  const RoleGraph &graph;
};
} // namespace

LogicalResult KernelPlanner::planMmas(MmaOrder order) {
  LogicalResult result = success();
  forEachLoop(/*ofLanes=*/false, [&](scf::ForOp loop) {
    Planner planner(loop, graph);
    if (failed(result) || !planner.hasMma())
      return;
    auto remark = [&](const Twine &reason) {
      emitRemark(loop.getLoc()) << "not pipelined: " << reason;
    };
    if (ChannelOp channel = graph.irregularChannel(loop))
      return remark("the commits and waits of channel '" + channel.getLabel() +
                    "' cannot be numbered");
    if (const char *reason = planner.unsupported())
      return remark(reason);
    if (failed(planner.planMmas(order))) {
      result = loop.emitError("deadlock: operations of one iteration wait for "
                              "each other in a circle through other roles");
      return;
    }
    if (!UseChecker(planner.plan).isOrdered())
      return remark("an operation would come before what it uses");
    plans.insert({loop, std::move(planner.plan)});
  });
  if (order != MmaOrder::None)
    planMatrices();
  return result;
}

void KernelPlanner::planMatrices() {
  forEachLoop(/*ofLanes=*/true, [&](scf::ForOp loop) {
    if (Planner(loop, graph).unsupported())
      return;
    LoopPlan plan = planMatrixLoop(loop);
    if (UseChecker(plan).isOrdered())
      plans.insert({loop, std::move(plan)});
    else
      emitRemark(loop.getLoc())
          << "not planned: an operation would come before what it uses";
  });
}

void KernelPlanner::planLoads() {
  LoopPlans loads;
  forEachLoop(/*ofLanes=*/false, [&](scf::ForOp loop) {
    Planner planner(loop, graph);
    if (planner.hasMma() || !planner.hasLoad() ||
        graph.irregularChannel(loop) || planner.unsupported())
      return;
    planner.planLoads(plans);
    if (UseChecker(planner.plan).isOrdered())
      loads.insert({loop, std::move(planner.plan)});
  });
  for (auto &[loop, plan] : loads)
    plans.insert({loop, std::move(plan)});
}

FailureOr<LoopPlans>
fa4::tile::planLoops(KernelOp kernel, const RoleGraph &graph, MmaOrder order) {
  KernelPlanner planner(kernel, graph);
  if (failed(planner.planMmas(order)))
    return failure();
  planner.planLoads();
  return std::move(planner.plans);
}
