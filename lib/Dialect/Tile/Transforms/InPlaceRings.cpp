//===- InPlaceRings.cpp - values that replace the accumulator they come from
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceRings.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

using namespace mlir;
using namespace fa4::tile;

namespace {
using UsesMap = llvm::MapVector<ChannelOp, ChannelUses>;

/// The order in which the issuing role works on columns of tensor memory that
/// several values share: an accumulator, values that lanes make from it
/// (parts), and results of other MMAs (guests).
class RingOrder {
public:
  explicit RingOrder(const ChannelUses &accumulator)
      : accumulator(accumulator) {}
  bool addPart(const ChannelUses &uses);
  bool addGuest(const ChannelUses &uses);
  /// Adds a guest that is acquired before each write of the accumulator and
  /// written once for each. Returns false if there is one already, as only one
  /// can be.
  bool addEarlyGuest(const ChannelUses &uses);
  /// Returns true if the role overwrites no value before it has been read.
  bool holdsIn(RoleOp role);
  /// Returns the first MMA of each value of the accumulator, in program order.
  SmallVector<Operation *> getWrites();

private:
  /// One bit each: for a part, MMAs must still read it; for a guest, other
  /// roles may still read it; for the early guest, it must still be written.
  using State = llvm::BitVector;
  using Members = SmallVector<unsigned, 2>;

  bool addWrites(const ChannelUses &uses, ArrayRef<unsigned> members);
  std::optional<State> run(Block &block, State state);
  std::optional<State> run(Operation &op, State state);
  std::optional<State> join(std::optional<State> a,
                            const std::optional<State> &b) const;
  bool hasEvent(Operation *op);

  const ChannelUses &accumulator;
  unsigned numMembers = 0;
  /// The values that are made once for each write of the accumulator.
  Members parts;
  std::optional<unsigned> early;
  llvm::SmallPtrSet<Operation *, 4> earlyWrites;
  llvm::DenseMap<Operation *, Members> overwrites;
  llvm::DenseMap<Operation *, Members> ends;
};
} // namespace

//===----------------------------------------------------------------------===//
// The issuing role
//===----------------------------------------------------------------------===//

bool RingOrder::addWrites(const ChannelUses &uses, ArrayRef<unsigned> members) {
  for (CommitOp commit : uses.commits) {
    SmallVector<Operation *> writers = getStageWriters(commit);
    for (Operation *writer : writers) {
      auto mma = dyn_cast<MmaOp>(writer);
      if (!mma)
        return false;
      // An MMA that accumulates to the result of another MMA of its block
      // belongs to the same write.
      Operation *acc = mma.getAcc() ? mma.getAcc().getDefiningOp() : nullptr;
      if (acc && acc->getBlock() == mma->getBlock() &&
          llvm::is_contained(writers, acc))
        continue;
      overwrites[mma].assign(members.begin(), members.end());
    }
  }
  return !uses.commits.empty();
}

SmallVector<Operation *> RingOrder::getWrites() {
  addWrites(accumulator, {});
  SmallVector<Operation *> writes;
  RoleOp role = ArrayRef(accumulator.producers.getArrayRef()).front();
  role.walk([&](Operation *op) {
    if (overwrites.contains(op))
      writes.push_back(op);
  });
  return writes;
}

bool RingOrder::addGuest(const ChannelUses &uses) {
  unsigned guest = numMembers++;
  // A successful acquire of the next value shows that the last one has been
  // read.
  for (AcquireOp acquire : uses.acquires)
    ends[acquire].push_back(guest);
  return addWrites(uses, guest);
}

bool RingOrder::addEarlyGuest(const ChannelUses &uses) {
  llvm::DenseMap<Operation *, Members> others;
  std::swap(others, overwrites);
  bool isWritten = addWrites(uses, {});
  std::swap(others, overwrites);
  for (auto &[write, members] : others)
    earlyWrites.insert(write);
  early = numMembers++;
  parts.push_back(*early);
  return isWritten;
}

bool RingOrder::addPart(const ChannelUses &uses) {
  unsigned part = numMembers++;
  parts.push_back(part);
  for (WaitOp wait : uses.waits) {
    if (!wait.getValue())
      return false;
    Operation *last = nullptr;
    for (OpOperand *use : getHandleUses(wait.getValue())) {
      auto mma = dyn_cast<MmaOp>(use->getOwner());
      if (!mma || use->get() != mma.getA() || use->getOperandNumber() != 0 ||
          mma->getBlock() != wait->getBlock())
        return false;
      if (!last || last->isBeforeInBlock(mma))
        last = mma;
    }
    if (!last)
      return false;
    ends[last].push_back(part);
  }
  return !uses.waits.empty();
}

bool RingOrder::hasEvent(Operation *op) {
  return overwrites.contains(op) || ends.contains(op) ||
         earlyWrites.contains(op);
}

std::optional<RingOrder::State>
RingOrder::join(std::optional<State> a, const std::optional<State> &b) const {
  // A guest that may be in use on one of several paths counts as in use.
  if (!a || !b || llvm::any_of(parts, [&](unsigned part) {
        return a->test(part) != b->test(part);
      }))
    return std::nullopt;
  *a |= *b;
  return a;
}

std::optional<RingOrder::State> RingOrder::run(Operation &op, State state) {
  if (earlyWrites.contains(&op)) {
    if (!state.test(*early) || state.count() != 1)
      return std::nullopt;
    state.reset(*early);
  }
  if (auto write = overwrites.find(&op); write != overwrites.end()) {
    if (state.any())
      return std::nullopt;
    for (unsigned member : write->second)
      state.set(member);
  }
  if (auto end = ends.find(&op); end != ends.end())
    for (unsigned member : end->second) {
      // A part must be read exactly once for each write of its accumulator.
      if (llvm::is_contained(parts, member) && !state.test(member))
        return std::nullopt;
      state.reset(member);
    }
  if (isa<scf::ForOp>(op)) {
    // The state after the loop must be the same for any number of iterations,
    // including none.
    Block &body = op.getRegion(0).front();
    for (;;) {
      auto after = join(state, run(body, state));
      if (!after || *after == state)
        return after;
      state = *after;
    }
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto otherwise = branch.getElseRegion().empty()
                         ? state
                         : run(branch.getElseRegion().front(), state);
    return join(run(branch.getThenRegion().front(), state), otherwise);
  }
  if (op.walk([&](Operation *inner) {
          return inner != &op && hasEvent(inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
        }).wasInterrupted())
    return std::nullopt;
  return state;
}

std::optional<RingOrder::State> RingOrder::run(Block &block, State state) {
  std::optional<State> current = state;
  for (Operation &op : block)
    if (current)
      current = run(op, *current);
  return current;
}

bool RingOrder::holdsIn(RoleOp role) {
  if (!addWrites(accumulator, parts))
    return false;
  auto end = run(role.getBody().front(), State(numMembers));
  return end &&
         llvm::none_of(parts, [&](unsigned part) { return end->test(part); });
}

//===----------------------------------------------------------------------===//
// The role of lanes
//===----------------------------------------------------------------------===//

/// Returns true if `value` is computed from `source` by operations of the block
/// in which `source` is defined.
static bool dependsOn(Value value, Value source) {
  SmallVector<Value> worklist = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  Block *block = source.getParentBlock();
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (next == source)
      return true;
    Operation *op = next.getDefiningOp();
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (!op || !seen.insert(op).second)
      continue;
    // A value that is used in a region may reach the results of the region's
    // operation.
    op->walk([&](Operation *inner) {
      llvm::append_range(worklist, inner->getOperands());
    });
  }
  return false;
}

/// Returns the wait for the accumulator from which the value of `commit` is
/// computed, or null. The lanes must no longer need the accumulator's columns
/// when they commit.
static WaitOp findSource(CommitOp commit, const ChannelUses &accumulator) {
  WaitOp source;
  Block *block = commit->getBlock();
  for (WaitOp wait : accumulator.waits) {
    Operation *ancestor = block->findAncestorOpInBlock(*wait);
    if (!ancestor)
      continue;
    // The wait must lie in this block, and no other operation on the ring
    // between it and the commit.
    if (ancestor != wait || source || !wait->isBeforeInBlock(commit) ||
        !wait.getValue())
      return nullptr;
    source = wait;
  }
  if (!source || !commit.getValue() ||
      !dependsOn(commit.getValue(), source.getValue()))
    return nullptr;
  for (Operation *user : source.getValue().getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!ancestor || !ancestor->isBeforeInBlock(commit))
      return nullptr;
  }
  return source;
}

/// Returns true if each commit of `part` belongs to exactly one wait for
/// `accumulator`.
static bool alternateInLanes(const ChannelUses &part,
                             const ChannelUses &accumulator) {
  llvm::SmallPtrSet<Operation *, 4> sources;
  for (CommitOp commit : part.commits) {
    WaitOp source = findSource(commit, accumulator);
    if (!source || !sources.insert(source).second)
      return false;
  }
  return sources.size() == accumulator.waits.size();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

static bool isIssuing(RoleOp role) { return role.issues(); }

/// Returns true for a channel in tensor memory that has one producer, one
/// stage, and a buffer which no other channel shares yet.
static bool isAlone(const ChannelUses &uses, const UsesMap &all) {
  ChannelOp channel = uses.channel;
  return channel.getSpace() == MemorySpace::tmem && channel.getStages() == 1 &&
         !channel.getInitial().value_or(0) && !channel.getInPlaceOf() &&
         uses.producers.size() == 1 && !uses.consumers.empty() &&
         llvm::none_of(all, [&](const auto &other) {
           return ChannelOp(other.first).getInPlaceOf() == channel.getChannel();
         });
}

/// Returns true for such a channel if it goes from one role of MMAs to one role
/// of lanes, or back.
static bool isCandidate(const ChannelUses &uses, const UsesMap &all) {
  return isAlone(uses, all) && uses.consumers.size() == 1 &&
         isIssuing(uses.producers[0]) != isIssuing(uses.consumers[0]);
}

/// Returns the accumulator from which `part` is computed, or null.
static ChannelOp findAccumulator(const ChannelUses &part, const UsesMap &all) {
  ChannelOp best;
  WaitOp bestWait;
  for (const auto &[channel, uses] : all) {
    if (!isCandidate(uses, all) || uses.producers[0] != part.consumers[0] ||
        uses.consumers[0] != part.producers[0] ||
        ChannelOp(channel).getValueType().getDimSize(0) !=
            ChannelOp(part.channel).getValueType().getDimSize(0) ||
        !alternateInLanes(part, uses))
      continue;
    WaitOp wait = findSource(part.commits.front(), uses);
    if (!best || bestWait->isBeforeInBlock(wait)) {
      best = channel;
      bestWait = wait;
    }
  }
  return best;
}

/// Returns true if the parts can lie in place of the accumulator, and the
/// guests in the same columns at other times.
static bool isRing(ChannelOp accumulator, ArrayRef<ChannelOp> parts,
                   ArrayRef<ChannelOp> guests, const UsesMap &all,
                   ChannelOp early = nullptr) {
  int64_t available = getTmemColumns(accumulator.getValueType());
  int64_t columns = 0;
  const ChannelUses &uses = all.find(accumulator)->second;
  RingOrder order(uses);
  for (ChannelOp part : parts) {
    columns += getTmemColumns(part.getValueType());
    if (!order.addPart(all.find(part)->second))
      return false;
  }
  for (ChannelOp guest : guests)
    if (getTmemColumns(guest.getValueType()) > available ||
        !order.addGuest(all.find(guest)->second))
      return false;
  if (early && (getTmemColumns(early.getValueType()) > available ||
                !order.addEarlyGuest(all.find(early)->second)))
    return false;
  return columns <= available && order.holdsIn(uses.producers[0]);
}

static void shareColumns(ChannelOp accumulator, ArrayRef<ChannelOp> parts,
                         const UsesMap &all) {
  auto eraseOwnership = [&](ChannelOp channel) {
    const ChannelUses &uses = all.find(channel)->second;
    for (AcquireOp acquire : uses.acquires)
      acquire->erase();
    for (ReleaseOp release : uses.releases)
      release->erase();
  };
  eraseOwnership(accumulator);
  for (ChannelOp part : parts) {
    if (part->isBeforeInBlock(accumulator))
      accumulator->moveBefore(part);
    part.getInPlaceOfMutable().assign(accumulator.getChannel());
    eraseOwnership(part);
  }
}

void fa4::tile::formInPlaceRings(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  llvm::MapVector<ChannelOp, SmallVector<ChannelOp>> rings;
  for (const auto &[channel, uses] : all)
    if (isCandidate(uses, all) && isIssuing(uses.consumers[0]))
      if (ChannelOp accumulator = findAccumulator(uses, all))
        rings[accumulator].push_back(channel);
  for (auto &[accumulator, parts] : rings) {
    while (!parts.empty() && !isRing(accumulator, parts, {}, all))
      parts.pop_back();
    if (!parts.empty())
      shareColumns(accumulator, parts, all);
  }
}

/// Returns the groups of channels that share a buffer in turn.
static SmallVector<SmallVector<ChannelOp>> getRings(KernelOp kernel) {
  SmallVector<SmallVector<ChannelOp>> rings;
  for (auto &channels : collectBuffers(kernel))
    if (channels.size() > 1 &&
        channels.front().getSpace() == MemorySpace::tmem &&
        channels.front().getStages() == 1 &&
        !channels.front().getInitial().value_or(0))
      rings.push_back(channels);
  return rings;
}

/// Returns true if the consumers of `uses` release each value independently of
/// what `role` does after its commit: neither they, nor the roles whose
/// releases they wait for, wait for anything else before.
static bool releasesWithout(RoleOp role, const ChannelUses &uses,
                            const UsesMap &all) {
  llvm::SetVector<ChannelOp> needed;
  needed.insert(uses.channel);
  for (unsigned i = 0; i < needed.size(); ++i) {
    const ChannelUses &current = all.find(needed[i])->second;
    for (RoleOp consumer : current.consumers) {
      if (consumer == role)
        return false;
      // Only an operation that follows all releases cannot delay one.
      auto isLater = [&](Operation *op) {
        return llvm::all_of(current.releases, [&](ReleaseOp release) {
          return Lifetimes::allBefore(release, op);
        });
      };
      for (const auto &[channel, others] : all) {
        for (WaitOp wait : others.waits)
          if (channel != needed[i] && consumer->isAncestor(wait) &&
              !isLater(wait))
            return false;
        for (AcquireOp acquire : others.acquires)
          if (consumer->isAncestor(acquire) && !isLater(acquire))
            needed.insert(channel);
      }
    }
  }
  return true;
}

bool fa4::tile::acquireGuestsEarly(KernelOp kernel) {
  bool changed = false;
  for (auto &channels : getRings(kernel)) {
    UsesMap all = collectChannelUses(kernel);
    ChannelOp accumulator = channels.front();
    const ChannelUses &host = all.find(accumulator)->second;
    for (const auto &[channel, uses] : all) {
      if (!isAlone(uses, all) || uses.acquires.empty() ||
          uses.producers != host.producers || !isIssuing(uses.producers[0]) ||
          !isRing(accumulator, ArrayRef(channels).drop_front(), {}, all,
                  channel) ||
          !releasesWithout(uses.producers[0], uses, all))
        continue;
      for (AcquireOp acquire : uses.acquires)
        acquire->erase();
      for (Operation *write : RingOrder(host).getWrites()) {
        OpBuilder builder(write);
        AcquireOp::create(builder, write->getLoc(),
                          ChannelOp(channel).getChannel());
      }
      changed = true;
      break;
    }
  }
  return changed;
}

llvm::MapVector<ChannelOp, SmallVector<ChannelOp>>
fa4::tile::findRingGuests(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  llvm::MapVector<ChannelOp, SmallVector<ChannelOp>> result;
  auto rings = getRings(kernel);
  for (const auto &[channel, uses] : all) {
    if (!isAlone(uses, all) || !isIssuing(uses.producers[0]))
      continue;
    for (auto &channels : rings) {
      ChannelOp accumulator = channels.front();
      SmallVector<ChannelOp> guests = result.lookup(accumulator);
      guests.push_back(channel);
      if (all.find(accumulator)->second.producers.front() !=
              uses.producers.front() ||
          !isRing(accumulator, ArrayRef(channels).drop_front(), guests, all))
        continue;
      result[accumulator] = guests;
      break;
    }
  }
  return result;
}
