//===- Lifetimes.cpp - whose memory is free when ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Program order
//===----------------------------------------------------------------------===//

/// Returns the ancestors of the two operations in the innermost block that
/// contains both.
static std::pair<Operation *, Operation *> inCommonBlock(Operation *a,
                                                         Operation *b) {
  for (; a && a->getBlock(); a = a->getParentOp())
    if (Operation *other = a->getBlock()->findAncestorOpInBlock(*b))
      return {a, other};
  return {nullptr, nullptr};
}

/// Any region operation other than a branch may repeat its body.
bool Lifetimes::isRepeated(Operation *op) {
  for (Operation *parent = op->getParentOp();
       parent && !isa<RoleOp, KernelOp>(parent); parent = parent->getParentOp())
    if (!isa<scf::IfOp>(parent))
      return true;
  return false;
}

bool Lifetimes::allBefore(Operation *before, Operation *after) {
  auto [a, b] = inCommonBlock(before, after);
  return a && a != b && a->isBeforeInBlock(b) && !isRepeated(a);
}

bool Lifetimes::isFollowedBy(Operation *op, Operation *next) {
  auto [a, b] = inCommonBlock(op, next);
  if (!a || a == b || !a->isBeforeInBlock(b))
    return false;
  // `next` must run whenever its ancestor in the common block runs.
  for (Operation *inner = next; inner != b;) {
    inner = inner->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(inner);
    if (!loop || !counts.getForms().runsAtLeastOnce(loop))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Dataflow inside a role
//===----------------------------------------------------------------------===//

/// Returns the operations that may have made `value`, through slices, loops,
/// branches and, for MMAs, accumulators. A value from outside of the role has
/// none.
static SmallVector<Operation *> getSources(Value value) {
  llvm::SetVector<Operation *> sources;
  for (Value origin :
       getOrigins(value, FlowThrough::Views | FlowThrough::Accumulators))
    if (Operation *op = origin.getDefiningOp())
      sources.insert(op);
  return sources.takeVector();
}

bool fa4::tile::isMmaCommit(CommitOp commit) {
  if (!commit.getValue() || !commit->getParentOfType<RoleOp>().startsMmas())
    return false;
  bool hasMma = false;
  for (Operation *source : getSources(commit.getValue())) {
    hasMma |= isa<MmaOp>(source);
    // An accumulator starts from zero, or from a value that another role has
    // handed over.
    if (!isa<MmaOp, WaitOp>(source) &&
        !source->hasTrait<OpTrait::ConstantLike>())
      return false;
  }
  return hasMma;
}

SmallVector<Operation *> fa4::tile::getStageWriters(CommitOp commit) {
  SmallVector<Operation *> writers;
  if (!commit.getValue())
    return writers;
  if (getHome(commit.getValue()) == ValueHome::Place) {
    for (Operation *source : getSources(commit.getValue()))
      if (!isa<WaitOp>(source) && !source->hasTrait<OpTrait::ConstantLike>())
        writers.push_back(source);
    if (writers.empty())
      writers.push_back(commit);
    return writers;
  }
  // Lanes write the stage no earlier than the committed value exists.
  Value value = commit.getValue();
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op)) {
      // A constant exists from the start, but lanes write it at the commit.
      writers.push_back(op->hasTrait<OpTrait::ConstantLike>() ? commit : op);
      return writers;
    }
    value = op->getOperand(0);
  }
  writers.push_back(&cast<BlockArgument>(value).getOwner()->front());
  return writers;
}

//===----------------------------------------------------------------------===//
// Accesses to buffers
//===----------------------------------------------------------------------===//

void Lifetimes::addStoreSource(Operation *store, const ChannelUses &uses,
                               Buffer &buffer) {
  RoleOp role = store->getParentOfType<RoleOp>();
  bool isReleased = false;
  for (ReleaseOp release : uses.releases)
    if (release->getParentOfType<RoleOp>() == role) {
      isReleased |= isFollowedBy(store, release);
      buffer.accesses.push_back({release, role, /*isMma=*/false});
    }
  buffer.isLostTrackOf |= !isReleased;
}

void Lifetimes::collectUses(WaitOp wait, const ChannelUses &uses,
                            Buffer &buffer) {
  RoleOp role = wait->getParentOfType<RoleOp>();
  buffer.accesses.push_back({wait, role, /*isMma=*/false});
  if (!wait.getValue())
    return;
  if (getHome(wait.getValue()) != ValueHome::Place) {
    SmallVector<Operation *> users(wait.getValue().getUsers());
    for (unsigned i = 0; i < users.size(); ++i) {
      buffer.accesses.push_back({users[i], role, /*isMma=*/false});
      if (isView(users[i]))
        llvm::append_range(users, users[i]->getUsers());
    }
    return;
  }
  for (OpOperand *use : getEnds(wait.getValue(), FlowThrough::Views)) {
    Operation *user = use->getOwner();
    if (isa<StoreOp, ReduceAddOp>(user))
      addStoreSource(user, uses, buffer);
    else
      buffer.accesses.push_back({user, role, isa<MmaOp>(user)});
  }
}

void Lifetimes::collectAccesses(const ChannelUses &uses, Buffer &buffer) {
  // A value for which no role waits may arrive at any time.
  buffer.isLostTrackOf |= uses.consumers.empty();
  for (RoleOp consumer : uses.consumers)
    buffer.isLostTrackOf |= !isBalanced(uses, consumer);
  for (WaitOp wait : uses.waits)
    collectUses(wait, uses, buffer);
  for (ReadOp read : uses.reads)
    buffer.accesses.push_back(
        {read, read->getParentOfType<RoleOp>(), /*isMma=*/false});
  for (ReleaseOp release : uses.releases)
    if (auto role = release->getParentOfType<RoleOp>(); !role.runsOnOneThread())
      buffer.accesses.push_back({release, role, /*isMma=*/false});
}

void Lifetimes::collectWrites(const ChannelUses &uses, Buffer &buffer) {
  for (CommitOp commit : uses.commits) {
    RoleOp role = commit->getParentOfType<RoleOp>();
    for (Operation *writer : getStageWriters(commit))
      buffer.writes.push_back({writer, role, isa<MmaOp>(writer)});
  }
  for (WriteOp write : uses.writes)
    buffer.writes.push_back(
        {write, write->getParentOfType<RoleOp>(), /*isMma=*/false});
}

Lifetimes::Lifetimes(KernelOp kernel) : uses(collectChannelUses(kernel)) {
  for (auto &[channel, channelUses] : uses) {
    for (CommitOp commit : channelUses.commits)
      if (isMmaCommit(commit))
        mmaCommits.insert(commit);
    if (hasRelaxedCommits(channelUses))
      relaxed.insert(channel);
  }
  for (auto &channels : collectBuffers(kernel)) {
    Buffer &buffer = buffers.emplace_back();
    buffer.channels = channels;
    collectBuffer(buffer);
    for (ChannelOp channel : channels)
      bufferOf[channel] = buffers.size() - 1;
  }
}

void Lifetimes::collectBuffer(Buffer &buffer) {
  for (ChannelOp channel : buffer.channels) {
    collectAccesses(uses.find(channel)->second, buffer);
    collectWrites(uses.find(channel)->second, buffer);
  }
  for (Access &access : buffer.accesses)
    access.inSharedMemory =
        buffer.channels.front().getSpace() == MemorySpace::smem;
}

//===----------------------------------------------------------------------===//
// Order across roles
//===----------------------------------------------------------------------===//

bool Lifetimes::isBalanced(const ChannelUses &uses, RoleOp consumer) {
  auto [known, isNew] =
      balanced.try_emplace({ChannelOp(uses.channel), consumer}, false);
  if (!isNew)
    return known->second;
  IndexForm made = ChannelOp(uses.channel).getInitial().value_or(0);
  for (CommitOp commit : uses.commits)
    made += counts.getCount(commit);
  IndexForm waited;
  for (WaitOp wait : uses.waits)
    if (wait->getParentOfType<RoleOp>() == consumer)
      waited += counts.getCount(wait);
  known->second = uses.producers.size() <= 1 && made == waited;
  return known->second;
}

void Lifetimes::addEventsAfter(const Access &access, Events &events) {
  for (auto &[channel, channelUses] : uses) {
    if (access.inSharedMemory && relaxed.contains(channel))
      continue;
    bool isKnown = llvm::any_of(channelUses.commits, [&](CommitOp commit) {
      return commit->getParentOfType<RoleOp>() == access.role &&
             (!access.isMma || mmaCommits.contains(commit)) &&
             isFollowedBy(access.op, commit);
    });
    if (!isKnown)
      continue;
    for (RoleOp consumer : channelUses.consumers)
      if (isBalanced(channelUses, consumer))
        events.insert({channel, consumer});
  }
}

const Lifetimes::Events &Lifetimes::getEventsAfterWaits(Event event,
                                                        bool inSharedMemory) {
  auto [known, isNew] = eventsAfterWaits.try_emplace(
      {event.first.getOperation(), event.second.getOperation(),
       inSharedMemory});
  Events &common = known->second;
  if (!isNew)
    return common;
  // All waits count, because the sizes may decide which one is the last.
  bool isFirst = true;
  for (WaitOp wait : uses.find(event.first)->second.waits) {
    if (wait->getParentOfType<RoleOp>() != event.second)
      continue;
    Events after;
    addEventsAfter({wait, event.second, /*isMma=*/false, inSharedMemory},
                   after);
    if (std::exchange(isFirst, false))
      common = std::move(after);
    else
      common.remove_if(
          [&](const Event &other) { return !after.contains(other); });
  }
  return common;
}

const Lifetimes::Events &Lifetimes::getEventsAfter(const Access &access) {
  auto [known, isNew] =
      eventsAfter.try_emplace({access.op, access.isMma, access.inSharedMemory});
  Events &events = known->second;
  if (!isNew)
    return events;
  addEventsAfter(access, events);
  // The loop uses indices, because the vector grows meanwhile.
  for (unsigned i = 0; i < events.size(); ++i) {
    const Events &after = getEventsAfterWaits(events[i], access.inSharedMemory);
    events.insert(after.begin(), after.end());
  }
  return events;
}

bool Lifetimes::happensBefore(const Access &access, const Events &events,
                              const Access &write) {
  // MMAs of one role execute in order, so no role needs to observe the end of
  // the first one. Lanes, however, run ahead of each other: one lane may write
  // where another has not read yet.
  if (access.role == write.role && RoleOp(write.role).runsOnOneThread() &&
      (!access.isMma || write.isMma) && allBefore(access.op, write.op))
    return true;
  return llvm::any_of(events, [&](const Event &event) {
    if (event.second != write.role)
      return false;
    return llvm::all_of(uses.find(event.first)->second.waits, [&](WaitOp wait) {
      return wait->getParentOfType<RoleOp>() != write.role ||
             allBefore(wait, write.op) ||
             (wait.getOperation() == write.op && !isRepeated(wait));
    });
  });
}

bool Lifetimes::deadBefore(ChannelOp a, ChannelOp b) {
  // Scalars share no memory.
  if (a.carriesScalars() || b.carriesScalars())
    return false;
  const Buffer &first = buffers[bufferOf.find(a)->second];
  const Buffer &second = buffers[bufferOf.find(b)->second];
  // A buffer that nobody writes would count as dead both before and after all
  // other buffers.
  if (&first == &second || first.isLostTrackOf || second.writes.empty())
    return false;
  // The other CTA writes to the buffer of an exchange, and does not know what
  // happens in this CTA.
  if (llvm::any_of(second.channels,
                   [](ChannelOp channel) { return channel.getExchange(); }))
    return false;
  for (const Access &access : first.accesses) {
    const Events &events = getEventsAfter(access);
    if (!llvm::all_of(second.writes, [&](const Access &write) {
          return happensBefore(access, events, write);
        }))
      return false;
  }
  return true;
}
