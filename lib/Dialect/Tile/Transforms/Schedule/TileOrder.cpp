//===- TileOrder.cpp - order in straight-line code ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEORDER
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

/// Returns true if an operation of kind `Op` on `channel` stands between
/// `first` and `last`.
template <typename Op>
static bool anyBetween(Value channel, Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op && op != last;
       op = op->getNextNode())
    if (auto other = dyn_cast<Op>(op); other && other.getChannel() == channel)
      return true;
  return false;
}

/// Moves a wait down to the first use of its value. That is always possible,
/// because the role has to wait before this use anyway. Commits and releases in
/// between come sooner.
static void sinkWait(WaitOp wait) {
  Operation *first = getFirstUser(wait->getResults(), *wait->getBlock());
  if (first && !anyBetween<WaitOp>(wait.getChannel(), wait, first) &&
      !anyBetween<ReleaseOp>(wait.getChannel(), wait, first))
    wait->moveBefore(first);
}

static bool isTile(Value value) {
  auto type = value ? dyn_cast<VectorType>(value.getType()) : VectorType();
  return type && type.getRank() == 2;
}

/// Lanes read a vector of up to so many columns before they wait for the tile
/// that meets it. They have a register for each column, and need not wait for
/// shared memory once the tile is there. By the clock, the gradient at head
/// dims 192 and 128, in blocks of 64 queries, takes 13% less time.
static constexpr int64_t kHeldColumns = 64;

/// Returns true if `user` needs another tile, for which lanes wait behind
/// `wait` with no commit in between.
static bool needsLaterTile(Operation *user, WaitOp wait) {
  SetVector<Operation *> slice;
  slice.insert(user);
  for (unsigned i = 0; i < slice.size(); ++i)
    for (Operation *def : RoleGraph::operandOps(slice[i]))
      if (def->getBlock() == wait->getBlock() && wait->isBeforeInBlock(def))
        slice.insert(def);
  for (Operation *op = wait->getNextNode(); op && !isa<CommitOp>(op);
       op = op->getNextNode())
    if (auto other = dyn_cast<WaitOp>(op);
        other && slice.contains(op) && isTile(other.getValue()))
      return true;
  return false;
}

/// Returns true if lanes can work on the value a few columns at a time, from
/// the buffer to the commits, and need a register for each column otherwise.
/// The value must be a tile or a vector of columns, and must go through
/// elementwise operations and slices of columns only; some may be in the
/// branches of an scf.if. If lanes need another tile before they commit, they
/// compute what they can and hold it instead, so that the value's buffer is
/// free while they wait for that tile.
static bool isStreamed(WaitOp wait) {
  Value value = wait.getValue();
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || (type.getRank() == 1 && type.getNumElements() <= kHeldColumns))
    return false;
  bool isWide = isTile(value);
  SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (isa<CommitOp>(user))
        continue;
      auto branch = dyn_cast<scf::IfOp>(user->getParentOp());
      if (user->getBlock() != value.getParentBlock() &&
          (!branch || branch->getBlock() != value.getParentBlock()))
        return false;
      if (branch && isa<scf::YieldOp>(user)) {
        for (OpOperand &operand : user->getOpOperands())
          if (operand.get() == reached[i])
            reached.insert(branch.getResult(operand.getOperandNumber()));
        continue;
      }
      if (!(OpTrait::hasElementwiseMappableTraits(user) ||
            isa<vector::BroadcastOp, vector::ExtractStridedSliceOp, Exp2Op>(
                user)) ||
          (isTile(value) && needsLaterTile(user, wait)))
        return false;
      isWide |= isa<vector::BroadcastOp>(user);
      reached.insert(user->result_begin(), user->result_end());
    }
  return isWide;
}

/// Returns the first wait behind a commit, up to which lanes stream a value, or
/// null. A value that is used behind it as well is in registers.
static Operation *endOfStream(WaitOp wait) {
  bool isCommitted = false;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    isCommitted |= isa<CommitOp>(op);
    if (isCommitted && isa<WaitOp>(op))
      return op;
  }
  return nullptr;
}

/// Returns the last operation of the wait's block that reads the value, or
/// null. If `follows`, users of pure results computed from the value count as
/// well. In a role of one thread, and where only MMAs read the stage, these
/// still lie in the buffer. Lanes read a streamed value as late as they need
/// it, but before `end`.
static Operation *lastUse(WaitOp wait, bool follows, Operation *end) {
  Operation *last = wait;
  SetVector<Value> reached;
  // The wait itself reads a scalar.
  if (isa_and_nonnull<VectorType>(wait.getValue() ? wait.getValue().getType()
                                                  : Type()))
    reached.insert(wait.getValue());
  for (unsigned i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      Operation *op = wait->getBlock()->findAncestorOpInBlock(*user);
      if (!op || op->hasTrait<OpTrait::IsTerminator>())
        return nullptr;
      if (end && !op->isBeforeInBlock(end))
        continue;
      if (Operation *read = getEndOfUse(op); last->isBeforeInBlock(read))
        last = read;
      if (follows && !isa<MmaOp>(op) && isMemoryEffectFree(op))
        reached.insert(op->result_begin(), op->result_end());
    }
  return last;
}

static void hoistReleases(Block &block, bool oneThread) {
  llvm::MapVector<Value, SmallVector<WaitOp>> waits;
  llvm::MapVector<Value, SmallVector<ReleaseOp>> releases;
  // If a nested loop waits or releases as well, the n-th release of this block
  // need not belong to its n-th wait.
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
    for (auto [each, release] : llvm::zip(of, list)) {
      WaitOp wait = each;
      bool isLate = !oneThread && wait.getValue() && isStreamed(wait);
      bool isPlace =
          wait.getValue() && getHome(wait.getValue()) == ValueHome::Place;
      Operation *last = lastUse(wait, isPlace || isLate,
                                isLate ? endOfStream(wait) : nullptr);
      if (last && previous && last->isBeforeInBlock(previous))
        last = previous;
      // The release goes behind the other releases at this place.
      while (last && last->getNextNode() != release &&
             isa_and_nonnull<CommitOp, ReleaseOp>(last->getNextNode()) &&
             last->isBeforeInBlock(release))
        last = last->getNextNode();
      if (last && (isLate || last->isBeforeInBlock(release)) &&
          last->getNextNode() != release)
        release->moveAfter(last);
      previous = release;
    }
  }
}

/// Returns true if lanes can compute the operation column by column and write
/// each column as soon as it is done.
static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 &&
         isa<VectorType>(op->getResult(0).getType()) &&
         cast<VectorType>(op->getResult(0).getType()).getRank() == 2 &&
         (OpTrait::hasElementwiseMappableTraits(op) ||
          isa<vector::ExtractStridedSliceOp, RescaleOp, Exp2Op>(op));
}

/// Returns the first operation after which lanes can write a part of the
/// committed value: an elementwise one behind all waits and reductions that the
/// value needs.
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

/// Returns true if the acquire may have to wait. It finds a free stage at once
/// if it is the only acquire of its channel and runs once.
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
    // An acquire that may wait moves up past pure operations only: it must not
    // keep another role waiting.
    bool blocks = mayBlock(acquire);
    while (acquire->getPrevNode() && target->isBeforeInBlock(acquire) &&
           (!blocks || isMemoryEffectFree(acquire->getPrevNode())))
      acquire->moveBefore(acquire->getPrevNode());
  }
}

/// Moves computations for which no other role waits behind the last commit.
/// Reads of waited values stay, because a release depends on them.
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

/// Returns `limit`, or the release of a waited value that `op` reads if the
/// release comes earlier.
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

/// Moves each computation directly before its first use, so that only one of
/// several tiles is in registers at a time.
static void sinkToUsers(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (auto wait = dyn_cast<WaitOp>(op))
      sinkWait(wait);
    else if (isMemoryEffectFree(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      if (Operation *first = getFirstUser(op.getResults(), block))
        op.moveBefore(orReleaseBefore(&op, first));
  }
}

/// Returns true if all values of the channel are loaded.
static bool isLoaded(Value channel) {
  return llvm::all_of(channel.getUsers(), [](Operation *user) {
    auto commit = dyn_cast<CommitOp>(user);
    return !commit || getLoad(commit);
  });
}

/// Moves a wait for a loaded vector in front of the wait for a tile. A wait
/// behind computations on the tile that do not need the vector (a score_mod,
/// before the vector that shifts its results) makes lanes hold the whole tile
/// at once. A loaded vector is there before a tile that MMAs compute from other
/// loads, so the earlier wait costs nothing. Only computations and releases may
/// stand in between.
static void raiseLoadedVectors(Block &block) {
  SmallVector<WaitOp> waits(block.getOps<WaitOp>());
  for (WaitOp wait : waits) {
    if (!wait.getValue() || isTile(wait.getValue()) ||
        !isLoaded(wait.getChannel()))
      continue;
    for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
      auto tile = dyn_cast<WaitOp>(op);
      if (tile && isTile(tile.getValue()) && !isLoaded(tile.getChannel())) {
        wait->moveBefore(tile);
        break;
      }
      // A tile that has not been read yet may be released in between: the read
      // will come before.
      if (tile || !(isMemoryEffectFree(op) || isa<ReleaseOp>(op)))
        break;
    }
  }
}

void fa4::tile::waitForLoadedVectorsFirst(RoleOp role) {
  if (!role.runsOnOneThread())
    role.walk([](Block *block) { raiseLoadedVectors(*block); });
}

static void tidyBlock(Block &block, bool oneThread) {
  if (!oneThread)
    deferUncommitted(block);
  if (!oneThread && isa<RoleOp, WorkOp>(block.getParentOp()))
    sinkToUsers(block);
  SmallVector<WaitOp> waits(block.getOps<WaitOp>());
  for (WaitOp wait : waits)
    sinkWait(wait);
  if (!oneThread)
    raiseLoadedVectors(block);
  hoistReleases(block, oneThread);
  if (!oneThread)
    placeAcquires(block);
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        tidyBlock(inner, oneThread);
}

/// Puts the operations of each block of the role in order. Waits go directly
/// before the first use of their value (or where `waitForLoadedVectorsFirst`
/// puts them), and releases directly behind the last use. In compute roles,
/// acquires go where the computation of the committed value begins, and
/// computations for no commit go behind the last commit. Outside of loops, each
/// value goes directly before its first use.
static void tidyRole(RoleOp role) {
  tidyBlock(role.getBody().front(), role.runsOnOneThread());
}

//===----------------------------------------------------------------------===//
// The first loads
//===----------------------------------------------------------------------===//

namespace {
struct LoadGroup {
  SmallVector<Operation *> ops;
  Value channel;
  /// The number of the consumer's wait in program order, then the load's own
  /// number.
  std::pair<uint64_t, uint64_t> neededAt = {};
};
} // namespace

/// Returns the loads that stand directly in the role before its loop, each with
/// its acquire and commit, or nothing if the code has another form.
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

/// Sorts the loads in front of the loop of a role that only loads, in the order
/// in which their consumers wait for them.
static void orderFirstLoads(KernelOp kernel) {
  llvm::DenseMap<Operation *, uint64_t> number;
  kernel.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { number.insert({op, number.size()}); });
  llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    Block &block = KernelOp::getWorkBlock(role.getBody());
    auto loops = block.getOps<scf::ForOp>();
    if (!role.runsOnOneThread() || loops.empty())
      continue;
    scf::ForOp loop = *loops.begin();
    SmallVector<LoadGroup> groups = collectFirstLoads(block, loop);
    llvm::DenseMap<Value, unsigned> loaded;
    for (LoadGroup &group : groups) {
      // The n-th load of a channel belongs to the channel's n-th wait.
      ChannelUses &of = uses[group.channel.getDefiningOp<ChannelOp>()];
      unsigned n = loaded[group.channel]++;
      SmallVector<WaitOp> waits;
      for (WaitOp wait : of.waits)
        if (wait->getParentOfType<RoleOp>().startsMmas())
          waits.push_back(wait);
      // A role that computes needs the value later than a role that starts
      // MMAs, so it does not count.
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

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

void fa4::tile::orderRoles(KernelOp kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    tidyRole(role);
  // tidyRole releases a value as early as possible. Here the release moves
  // behind the next store.
  if (kernel.getPlanOrFastest().getOverlapStores())
    overlapStores(kernel);
  orderFirstLoads(kernel);
}

namespace {

struct TileOrder : public fa4::tile::impl::TileOrderBase<TileOrder> {
  void runOnOperation() override { orderRoles(getOperation()); }
};

} // namespace
