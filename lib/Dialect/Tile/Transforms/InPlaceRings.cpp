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

/// What the issuing role does to the shared columns.
class RingOrder {
public:
  RingOrder(unsigned numParts) : numParts(numParts) {}

  bool addAccumulator(const ChannelUses &uses);
  bool addPart(unsigned part, const ChannelUses &uses);
  bool holdsIn(RoleOp role);

private:
  /// Parts that are still to be read before the columns may be overwritten.
  using State = llvm::BitVector;
  std::optional<State> run(Block &block, State state);
  std::optional<State> run(Operation &op, State state);
  bool hasEvent(Operation &op);

  unsigned numParts;
  llvm::SmallPtrSet<Operation *, 4> overwrites;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 2>> lastReads;
};
} // namespace

//===----------------------------------------------------------------------===//
// The issuing role
//===----------------------------------------------------------------------===//

bool RingOrder::addAccumulator(const ChannelUses &uses) {
  for (CommitOp commit : uses.commits) {
    SmallVector<Operation *> writers = getStageWriters(commit);
    for (Operation *writer : writers) {
      auto mma = dyn_cast<MmaOp>(writer);
      if (!mma)
        return false;
      // An MMA that goes on accumulating in its block is part of one write.
      Operation *acc = mma.getAcc() ? mma.getAcc().getDefiningOp() : nullptr;
      if (acc && acc->getBlock() == mma->getBlock() &&
          llvm::is_contained(writers, acc))
        continue;
      overwrites.insert(mma);
    }
  }
  return !overwrites.empty();
}

bool RingOrder::addPart(unsigned part, const ChannelUses &uses) {
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
    lastReads[last].push_back(part);
  }
  return !uses.waits.empty();
}

bool RingOrder::hasEvent(Operation &op) {
  return overwrites.contains(&op) || lastReads.contains(&op);
}

std::optional<RingOrder::State> RingOrder::run(Operation &op, State state) {
  if (overwrites.contains(&op)) {
    if (state.any())
      return std::nullopt;
    state.set();
  }
  if (auto reads = lastReads.find(&op); reads != lastReads.end())
    for (unsigned part : reads->second) {
      if (!state.test(part))
        return std::nullopt;
      state.reset(part);
    }
  if (isa<scf::ForOp>(op)) {
    // Any number of iterations, none included, must leave the same.
    auto after = run(op.getRegion(0).front(), state);
    return after == state ? after : std::nullopt;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto then = run(branch.getThenRegion().front(), state);
    auto otherwise = branch.getElseRegion().empty()
                         ? state
                         : run(branch.getElseRegion().front(), state);
    return then == otherwise ? then : std::nullopt;
  }
  if (op.walk([&](Operation *inner) {
          return inner != &op && hasEvent(*inner) ? WalkResult::interrupt()
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
  auto end = run(role.getBody().front(), State(numParts));
  return end && end->none();
}

//===----------------------------------------------------------------------===//
// The role of lanes
//===----------------------------------------------------------------------===//

/// Whether `value` is computed from `source` by operations of the block that
/// `source` is defined in.
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
    // What a region uses may end up in its results.
    op->walk([&](Operation *inner) {
      llvm::append_range(worklist, inner->getOperands());
    });
  }
  return false;
}

/// The wait for the accumulator from which `commit`'s value is computed, if the
/// lanes have no use for its columns when they commit.
static WaitOp findSource(CommitOp commit, const ChannelUses &accumulator) {
  WaitOp source;
  Block *block = commit->getBlock();
  for (WaitOp wait : accumulator.waits) {
    Operation *ancestor = block->findAncestorOpInBlock(*wait);
    if (!ancestor)
      continue;
    // The wait itself, and nothing else of the ring, lies in this block.
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

/// Pairs the commits of `part` with the waits for `accumulator`, one to one.
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

static bool isIssuing(RoleOp role) { return role.getIssue(); }

/// Channels between one role of MMAs and one role of lanes whose only stage is
/// not shared yet.
static bool isCandidate(const ChannelUses &uses, const UsesMap &all) {
  ChannelOp channel = uses.channel;
  return channel.getSpace() == MemorySpace::tmem && channel.getStages() == 1 &&
         !channel.getInitial().value_or(0) && !channel.getInPlaceOf() &&
         uses.producers.size() == 1 && uses.consumers.size() == 1 &&
         isIssuing(uses.producers[0]) != isIssuing(uses.consumers[0]) &&
         llvm::none_of(all, [&](const auto &other) {
           return ChannelOp(other.first).getInPlaceOf() == channel.getChannel();
         });
}

/// The accumulator that `part` is made of, or null.
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

static bool isRing(ChannelOp accumulator, ArrayRef<ChannelOp> parts,
                   const UsesMap &all) {
  int64_t columns = 0;
  RingOrder order(parts.size());
  const ChannelUses &uses = all.find(accumulator)->second;
  if (!order.addAccumulator(uses))
    return false;
  for (auto [index, channel] : llvm::enumerate(parts)) {
    ChannelOp part = channel;
    columns += getTmemColumns(part.getValueType());
    if (!order.addPart(index, all.find(part)->second))
      return false;
  }
  return columns <= getTmemColumns(accumulator.getValueType()) &&
         order.holdsIn(uses.producers[0]);
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
    while (!parts.empty() && !isRing(accumulator, parts, all))
      parts.pop_back();
    if (!parts.empty())
      shareColumns(accumulator, parts, all);
  }
}
