//===- ChannelUses.cpp - who uses a channel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

llvm::MapVector<ChannelOp, ChannelUses>
fa4::tile::collectChannelUses(KernelOp kernel) {
  llvm::MapVector<ChannelOp, ChannelUses> result;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    result[channel].channel = channel;
  auto find = [&](Value channel) -> ChannelUses * {
    auto op = channel.getDefiningOp<ChannelOp>();
    return op ? &result[op] : nullptr;
  };
  for (auto role : kernel.getBody().getOps<RoleOp>())
    role.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](AcquireOp op) {
            find(op.getChannel())->acquires.push_back(op);
          })
          .Case([&](CommitOp op) {
            find(op.getChannel())->commits.push_back(op);
            find(op.getChannel())->producers.insert(role);
          })
          .Case([&](WaitOp op) {
            find(op.getChannel())->waits.push_back(op);
            find(op.getChannel())->consumers.insert(role);
          })
          .Case([&](ReleaseOp op) {
            find(op.getChannel())->releases.push_back(op);
            find(op.getChannel())->consumers.insert(role);
          })
          .Case([&](ReadOp op) { find(op.getChannel())->reads.push_back(op); })
          .Case(
              [&](WriteOp op) { find(op.getChannel())->writes.push_back(op); });
    });
  return result;
}

void fa4::tile::eraseOwnership(const ChannelUses &uses) {
  for (AcquireOp acquire : uses.acquires)
    acquire->erase();
  for (ReleaseOp release : uses.releases)
    release->erase();
}

//===----------------------------------------------------------------------===//
// What is done with values
//===----------------------------------------------------------------------===//

bool fa4::tile::feeds(RoleOp role, ChannelOp channel,
                      llvm::function_ref<bool(Operation *)> isReader) {
  // The wait itself reads a scalar: operations that use the scalar read no
  // stage.
  if (channel.carriesScalars())
    return false;
  return llvm::any_of(channel.getChannel().getUsers(), [&](Operation *user) {
    auto wait = dyn_cast<WaitOp>(user);
    return wait && wait->getParentOfType<RoleOp>() == role && wait.getValue() &&
           llvm::any_of(
               getEnds(wait.getValue(), FlowThrough::Views),
               [&](OpOperand *use) { return isReader(use->getOwner()); });
  });
}

SmallVector<ChannelOp> fa4::tile::getSourceChannels(Value operand) {
  llvm::SmallSetVector<ChannelOp, 2> channels;
  for (Value origin : getOrigins(operand, FlowThrough::Views))
    if (auto wait = origin.getDefiningOp<WaitOp>())
      channels.insert(wait.getChannel().getDefiningOp<ChannelOp>());
  return channels.takeVector();
}

bool fa4::tile::liesInTensorMemory(Value operand) {
  SmallVector<ChannelOp> channels = getSourceChannels(operand);
  return !channels.empty() && llvm::all_of(channels, [](ChannelOp channel) {
    return channel.getSpace() == MemorySpace::tmem;
  });
}

LoadOp fa4::tile::getLoad(CommitOp commit) {
  Value value = commit.getValue();
  return value ? value.getDefiningOp<LoadOp>() : LoadOp();
}

/// Returns true if asynchronous operations of the role read stages of the
/// channel where they lie. Lanes that store a value do so from registers, which
/// they have read before.
static bool readsAsynchronously(RoleOp role, ChannelOp channel) {
  if (!role.runsOnOneThread())
    return feeds<MmaOp>(role, channel);
  return feeds<MmaOp, StoreOp, ReduceAddOp, ExchangeOp>(role, channel);
}

DenseSet<Value> fa4::tile::findAsyncReads(KernelOp kernel) {
  DenseSet<Value> result;
  for (auto role : kernel.getBody().getOps<RoleOp>())
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      if (readsAsynchronously(role, channel))
        result.insert(channel.getChannel());
  return result;
}

ArrivalCause fa4::tile::getCommitCause(const ChannelUses &uses) {
  bool isIssued = llvm::any_of(uses.commits, [](CommitOp commit) {
    Value made = commit.getValue() ? getLastMade(commit.getValue()) : Value();
    return made && isa_and_nonnull<LoadOp, MmaOp, RequestOp, ExchangeOp>(
                       made.getDefiningOp());
  });
  return isIssued ? ArrivalCause::Asynchronous : ArrivalCause::Threads;
}

ArrivalCause fa4::tile::getReleaseCause(RoleOp role, ChannelOp channel) {
  if (!readsAsynchronously(role, channel))
    return ArrivalCause::Threads;
  return role.runsOnOneThread() ? ArrivalCause::Asynchronous
                                : ArrivalCause::Awaited;
}

int64_t fa4::tile::countArrivals(RoleOp role, ArrivalCause cause) {
  switch (cause) {
  case ArrivalCause::Asynchronous:
    return 1;
  case ArrivalCause::Awaited:
    return role.getNumWarps();
  case ArrivalCause::Threads:
    return role.getNumThreads();
  }
  llvm_unreachable("no such cause");
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

llvm::SmallVector<llvm::SmallVector<ChannelOp>>
fa4::tile::collectBuffers(KernelOp kernel) {
  llvm::SmallVector<llvm::SmallVector<ChannelOp>> buffers;
  llvm::DenseMap<ChannelOp, unsigned> bufferOf;
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    ChannelOp owner;
    if (channel.getInPlaceOf())
      owner = channel.getInPlaceOf().getDefiningOp<ChannelOp>();
    auto known = owner ? bufferOf.find(owner) : bufferOf.end();
    unsigned index = known == bufferOf.end() ? buffers.size() : known->second;
    if (index == buffers.size())
      buffers.emplace_back();
    buffers[index].push_back(channel);
    bufferOf[channel] = index;
  }
  return buffers;
}

int64_t fa4::tile::getPlaceInBuffer(ChannelOp channel) {
  int64_t place = 0;
  while (channel && channel.getInPlaceOf()) {
    place += channel.getAt().value_or(0);
    channel = channel.getInPlaceOf().getDefiningOp<ChannelOp>();
  }
  return place;
}

llvm::DenseMap<Value, unsigned> fa4::tile::numberBuffers(KernelOp kernel) {
  llvm::DenseMap<Value, unsigned> numbers;
  for (auto [number, buffer] : llvm::enumerate(collectBuffers(kernel)))
    for (ChannelOp channel : buffer)
      numbers[channel.getChannel()] = number;
  return numbers;
}

llvm::DenseSet<unsigned> fa4::tile::findBuffersUsedAgain(
    KernelOp kernel, const llvm::DenseMap<Value, unsigned> &numbers) {
  llvm::DenseSet<unsigned> found;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    for (Value earlier : channel.getAfter())
      found.insert(numbers.lookup(earlier));
  return found;
}
