//===- TileScheduleOrder.cpp - order in straight-line code ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa4::tile;

/// Whether an operation of kind `Op` on `channel` is in (first, last).
template <typename Op>
static bool anyBetween(Value channel, Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op && op != last;
       op = op->getNextNode())
    if (auto other = dyn_cast<Op>(op); other && other.getChannel() == channel)
      return true;
  return false;
}

/// Waiting later is always possible: the role has to wait anyway before it
/// uses the value, and all that it gives to others it then gives sooner.
static void sinkWait(WaitOp wait) {
  Operation *first = getFirstUser(wait->getResults(), *wait->getBlock());
  if (first && !anyBetween<WaitOp>(wait.getChannel(), wait, first) &&
      !anyBetween<ReleaseOp>(wait.getChannel(), wait, first))
    wait->moveBefore(first);
}

/// The last operation of the wait's block that reads the value, or null. In a
/// role that issues, what is computed from the value by pure operations is
/// still the buffer.
static Operation *lastUse(WaitOp wait, bool issues) {
  Operation *last = wait;
  SmallVector<Value> worklist;
  if (wait.getValue())
    worklist.push_back(wait.getValue());
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      Operation *op = wait->getBlock()->findAncestorOpInBlock(*user);
      if (!op || op->hasTrait<OpTrait::IsTerminator>())
        return nullptr;
      if (last->isBeforeInBlock(op))
        last = op;
      if (issues && !isa<MmaOp>(op) && isMemoryEffectFree(op))
        llvm::append_range(worklist, op->getResults());
    }
  return last;
}

static void hoistReleases(Block &block, bool issues) {
  llvm::MapVector<Value, SmallVector<WaitOp>> waits;
  llvm::MapVector<Value, SmallVector<ReleaseOp>> releases;
  // Where a loop waits or releases too, the n-th release here is not for the
  // n-th wait here.
  llvm::DenseSet<Value> nested;
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      region.walk([&](Operation *inner) {
        if (isa<WaitOp, ReleaseOp>(inner))
          nested.insert(inner->getOperand(0));
      });
  for (Operation &op : block) {
    if (auto wait = dyn_cast<WaitOp>(op))
      waits[wait.getChannel()].push_back(wait);
    if (auto release = dyn_cast<ReleaseOp>(op))
      releases[release.getChannel()].push_back(release);
  }
  for (auto &[channel, list] : releases) {
    const SmallVector<WaitOp> &of = waits[channel];
    if (of.size() != list.size() || nested.contains(channel))
      continue;
    Operation *previous = nullptr;
    for (auto [wait, release] : llvm::zip(of, list)) {
      Operation *last = lastUse(wait, issues);
      if (last && previous && last->isBeforeInBlock(previous))
        last = previous;
      // Behind what else was released there.
      while (last && last->getNextNode() != release &&
             isa_and_nonnull<CommitOp, ReleaseOp>(last->getNextNode()) &&
             last->isBeforeInBlock(release))
        last = last->getNextNode();
      if (last && last->isBeforeInBlock(release))
        release->moveAfter(last);
      previous = release;
    }
  }
}

/// Lanes compute a tile elementwise column by column, and write each column
/// when it is done.
static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 &&
         isa<VectorType>(op->getResult(0).getType()) &&
         cast<VectorType>(op->getResult(0).getType()).getRank() == 2 &&
         (OpTrait::hasElementwiseMappableTraits(op) ||
          isa<vector::ExtractStridedSliceOp, RescaleOp, Exp2Op>(op));
}

/// The first operation after which lanes can write a part of the committed
/// value: elementwise, behind all waits and reductions that the value needs.
static Operation *beginOfValue(CommitOp commit) {
  Block *block = commit->getBlock();
  SetVector<Operation *> slice, elementwise;
  Operation *barrier = nullptr;
  slice.insert(commit);
  for (unsigned i = 0; i < slice.size(); ++i)
    for (Operation *def : RoleGraph::operandOps(slice[i]))
      if (slice.insert(def); isa<WaitOp, vector::MultiDimReductionOp>(def) &&
                             (!barrier || barrier->isBeforeInBlock(def)))
        barrier = def;
  Operation *first = commit;
  elementwise.insert(commit);
  for (unsigned i = 0; i < elementwise.size(); ++i)
    for (Operation *def : RoleGraph::operandOps(elementwise[i])) {
      if (def->getBlock() != block || !isElementwise(def) ||
          (barrier && def->isBeforeInBlock(barrier)))
        continue;
      elementwise.insert(def);
      if (def->isBeforeInBlock(first))
        first = def;
    }
  return first;
}

/// The only acquire of a channel, if it runs once, finds its first stage free.
static bool mayBlock(AcquireOp acquire) {
  return acquire->getParentOfType<LoopLikeOpInterface>() ||
         llvm::count_if(acquire.getChannel().getUsers(),
                        llvm::IsaPred<AcquireOp>) > 1;
}

static void placeAcquires(Block &block) {
  SmallVector<AcquireOp> acquires(block.getOps<AcquireOp>());
  for (AcquireOp acquire : acquires) {
    CommitOp commit;
    for (Operation *op = acquire->getNextNode(); op && !commit;
         op = op->getNextNode())
      if (auto next = dyn_cast<CommitOp>(op);
          next && next.getChannel() == acquire.getChannel())
        commit = next;
    if (!commit || !commit.getValue())
      continue;
    Operation *target = beginOfValue(commit);
    if (acquire->isBeforeInBlock(target)) {
      acquire->moveBefore(target);
      continue;
    }
    // Earlier only where no one else could be kept waiting by it.
    bool blocks = mayBlock(acquire);
    while (acquire->getPrevNode() && target->isBeforeInBlock(acquire) &&
           (!blocks || isMemoryEffectFree(acquire->getPrevNode())))
      acquire->moveBefore(acquire->getPrevNode());
  }
}

/// What no other role waits for is computed when what they wait for is on its
/// way. Reads of waited values stay, as they hold up a release.
static void deferUncommitted(Block &block) {
  Operation *last = nullptr;
  for (auto commit : block.getOps<CommitOp>())
    last = commit;
  if (!last)
    return;
  SetVector<Operation *> needed;
  for (Operation *op = &block.front(); op != last->getNextNode();
       op = op->getNextNode())
    if (!isMemoryEffectFree(op) ||
        llvm::any_of(op->getOperands(), [](Value operand) {
          return operand.getDefiningOp<WaitOp>();
        }))
      needed.insert(op);
  for (unsigned i = 0; i < needed.size(); ++i)
    for (Operation *def : RoleGraph::operandOps(needed[i]))
      needed.insert(def);
  Operation *behind = last->getNextNode();
  if (!behind)
    return;
  for (Operation *op = &block.front(); op != last;) {
    Operation *next = op->getNextNode();
    if (!needed.contains(op) && !op->hasTrait<OpTrait::ConstantLike>())
      op->moveBefore(behind);
    op = next;
  }
}

/// `limit`, or if that is earlier the release of a waited value that `op`
/// reads.
static Operation *orReleaseBefore(Operation *op, Operation *limit) {
  for (Operation *def : RoleGraph::operandOps(op))
    if (auto wait = dyn_cast<WaitOp>(def))
      for (Operation *next = op->getNextNode(); next != limit;
           next = next->getNextNode())
        if (auto release = dyn_cast<ReleaseOp>(next);
            release && release.getChannel() == wait.getChannel()) {
          limit = next;
          break;
        }
  return limit;
}

/// Computes everything directly before it is used, so that of several tiles
/// one after the other is in registers.
static void sinkToUsers(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (auto wait = dyn_cast<WaitOp>(op))
      sinkWait(wait);
    else if (isMemoryEffectFree(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      if (Operation *first = getFirstUser(op.getResults(), block))
        op.moveBefore(orReleaseBefore(&op, first));
  }
}

static void tidyBlock(Block &block, bool issues) {
  if (!issues)
    deferUncommitted(block);
  if (!issues && isa<RoleOp>(block.getParentOp()))
    sinkToUsers(block);
  SmallVector<WaitOp> waits(block.getOps<WaitOp>());
  for (WaitOp wait : waits)
    sinkWait(wait);
  hoistReleases(block, issues);
  if (!issues)
    placeAcquires(block);
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        tidyBlock(inner, issues);
}

void fa4::tile::tidyRole(RoleOp role) {
  tidyBlock(role.getBody().front(), role.getIssue());
}

//===----------------------------------------------------------------------===//
// The first loads
//===----------------------------------------------------------------------===//

namespace {
struct LoadGroup {
  SmallVector<Operation *> ops;
  Value channel;
  /// Its wait's number in program order, and its own.
  std::pair<uint64_t, uint64_t> neededAt = {};
};
} // namespace

/// The loads directly in the role before its loop, each with its acquire and
/// commit; nothing if the code is of another form.
static SmallVector<LoadGroup> collectFirstLoads(Block &block, scf::ForOp loop) {
  SmallVector<LoadGroup> groups;
  for (Operation &op : block) {
    if (&op == loop)
      return groups;
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      groups.push_back({{acquire}, acquire.getChannel()});
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      if (groups.empty() || !isa<AcquireOp>(groups.back().ops.back()))
        return {};
      groups.back().ops.push_back(load);
    } else if (auto commit = dyn_cast<CommitOp>(op)) {
      if (groups.empty() || !isa<LoadOp>(groups.back().ops.back()) ||
          groups.back().channel != commit.getChannel())
        return {};
      groups.back().ops.push_back(commit);
    } else if (!isMemoryEffectFree(&op)) {
      return {};
    }
  }
  return {};
}

void fa4::tile::orderFirstLoads(KernelOp kernel) {
  llvm::DenseMap<Operation *, uint64_t> number;
  kernel.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { number.insert({op, number.size()}); });
  llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    Block &block = role.getBody().front();
    auto loops = block.getOps<scf::ForOp>();
    if (!role.getIssue() || loops.empty())
      continue;
    scf::ForOp loop = *loops.begin();
    SmallVector<LoadGroup> groups = collectFirstLoads(block, loop);
    llvm::DenseMap<Value, unsigned> loaded;
    for (LoadGroup &group : groups) {
      // The n-th load of a channel is for the n-th wait.
      ChannelUses &of = uses[group.channel.getDefiningOp<ChannelOp>()];
      unsigned n = loaded[group.channel]++;
      SmallVector<WaitOp> waits;
      for (WaitOp wait : of.waits)
        if (wait->getParentOfType<RoleOp>().getIssue())
          waits.push_back(wait);
      // Threads that compute need it later than those that issue MMAs.
      group.neededAt = {n < waits.size() ? number[waits[n]] : number.size(),
                        number[group.ops.front()]};
    }
    llvm::sort(groups, [](const LoadGroup &a, const LoadGroup &b) {
      return a.neededAt < b.neededAt;
    });
    for (LoadGroup &group : groups)
      for (Operation *op : group.ops)
        op->moveBefore(loop);
  }
}
