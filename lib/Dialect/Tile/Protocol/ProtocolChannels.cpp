//===- ProtocolChannels.cpp - the channels of a model ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolChannels.h"
#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Support/NestedOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::tile;

ProtocolChannels::ProtocolChannels(ProtocolModel &model)
    : model(model), bufferNumbers(numberBuffers(model.kernel)) {
  for (auto [i, role] : llvm::enumerate(model.roles))
    roles[role.op] = i;
}

LogicalResult ProtocolChannels::checkSides(const ChannelUses &uses,
                                           ProtocolChannel &channel) {
  ChannelOp op = channel.op;
  auto report = [&](Operation *at) {
    return at->emitError("channel \"") << channel.label << "\" ";
  };
  if (uses.producers.size() > 1) {
    auto first = uses.producers[0];
    auto second = uses.producers[1];
    return report(op) << "has two producers, @" << first.getSymName()
                      << " and @" << second.getSymName();
  }
  bool isUsed = !uses.producers.empty() || !uses.consumers.empty();
  if (isUsed && uses.commits.empty() && channel.initial == 0)
    return report(op) << "is never committed";
  if (isUsed && uses.waits.empty())
    return report(op) << "is committed, but no role waits for it";
  for (WriteOp write : uses.writes)
    if (!uses.producers.contains(write->getParentOfType<RoleOp>()))
      return report(write) << "is written by a role that does not commit it";
  for (ReadOp read : uses.reads) {
    auto reader = read->getParentOfType<RoleOp>();
    if (!uses.consumers.contains(reader))
      return report(read) << "is read by a role that does not wait for it";
  }
  if (!uses.producers.empty())
    channel.producer = roles.lookup(uses.producers[0]);
  for (RoleOp consumer : uses.consumers)
    channel.consumers.push_back(roles.lookup(consumer));
  llvm::sort(channel.consumers);
  return checkAcquires(uses, channel);
}

/// Checks that one role acquires the stages: the role that commits them, or a
/// role that commits another value in the same buffer.
LogicalResult ProtocolChannels::checkAcquires(const ChannelUses &uses,
                                              ProtocolChannel &channel) {
  auto commitsToBuffer = [&](RoleOp op) {
    return fa4::anyIn(op, [&](CommitOp commit) {
      return bufferOf(commit.getChannel()) ==
             bufferOf(ChannelOp(channel.op).getChannel());
    });
  };
  for (AcquireOp acquire : uses.acquires) {
    auto op = acquire->getParentOfType<RoleOp>();
    int number = roles.lookup(op);
    if (channel.acquirer != -1 && channel.acquirer != number)
      return acquire.emitError("channel \"")
             << channel.label << "\" is acquired by two roles";
    if (!commitsToBuffer(op))
      return acquire.emitError("channel \"")
             << channel.label << "\" is acquired by @" << op.getSymName()
             << ", which commits no value of its buffer";
    channel.acquirer = number;
  }
  return success();
}

/// Returns true if `value` may be a value of `owner`, perhaps rescaled, on any
/// path that leads to `value`.
static bool mayComeFrom(ChannelOp owner, Value value) {
  llvm::SmallSetVector<Value, 4> values;
  values.insert(value);
  for (unsigned i = 0; i < values.size(); ++i)
    for (Value origin : getOrigins(values[i], FlowThrough::Regions)) {
      if (auto rescale = origin.getDefiningOp<RescaleOp>())
        values.insert(rescale.getValue());
      auto wait = origin.getDefiningOp<WaitOp>();
      if (wait && wait.getChannel() == owner.getChannel())
        return true;
    }
  return false;
}

/// Returns true if each commit may hand on a value of `owner`: it commits such
/// a value, or no lane writes the stage in the block of the commit.
static bool handsOn(ChannelOp owner, const ChannelUses &uses) {
  return llvm::all_of(uses.commits, [&](CommitOp commit) {
    if (commit.getValue())
      return mayComeFrom(owner, commit.getValue());
    return llvm::none_of(uses.writes, [&](WriteOp write) {
      return write->getBlock() == commit->getBlock();
    });
  });
}

/// Counts the values of the channel that nobody has written: its own initial
/// values. If the channel hands on the values of the owner of its memory, the
/// owner's initial values follow them.
static int64_t countUndefined(ChannelOp op, const ChannelUses &uses) {
  int64_t initial = op.getInitial().value_or(0);
  auto owner = op.getInPlaceOf() ? op.getInPlaceOf().getDefiningOp<ChannelOp>()
                                 : ChannelOp();
  if (!owner || owner.getValueType() != op.getValueType() ||
      !handsOn(owner, uses))
    return initial;
  return initial + owner.getInitial().value_or(0);
}

LogicalResult ProtocolChannels::add() {
  for (auto [channelOp, uses] : collectChannelUses(model.kernel)) {
    ChannelOp op = channelOp;
    numbers[op] = model.channels.size();
    ProtocolChannel &channel = model.channels.emplace_back();
    channel.op = op;
    channel.label = op.getLabel().str();
    channel.stages = op.getStages();
    channel.initial = op.getInitial().value_or(0);
    channel.undefined = countUndefined(op, uses);
    channel.inTensorMemory = op.getSpace() == MemorySpace::tmem;
    channel.size = op.isTurn()              ? 1
                   : channel.inTensorMemory ? getTmemColumns(op)
                                            : getSmemBytes(op);
    FailureOr<ChannelRanks> ranks = findChannelRanks(uses);
    if (failed(ranks) || failed(checkSides(uses, channel)))
      return failure();
    channel.hasRelaxedCommits = ranks->isRelaxed(ranks->full);
    channel.hasRelaxedReleases = ranks->isRelaxed(ranks->empty);
  }
  if (failed(place()))
    return failure();
  addExchanges();
  return success();
}

/// Adds channels for the other parts of the stages that an exchange splits.
void ProtocolChannels::addExchanges() {
  unsigned size = model.channels.size();
  auto addPart = [&](unsigned sent, StagePart part, StringRef what) {
    ProtocolChannel channel = model.channels[sent];
    channel.part = part;
    channel.label += what;
    for (ProtocolChannel &other : model.channels)
      if (llvm::is_contained(other.after, sent))
        other.after.push_back(model.channels.size());
    model.channels.push_back(std::move(channel));
    return model.channels.size() - 1;
  };
  for (unsigned sent = 0; sent < size; ++sent) {
    ChannelOp op = model.channels[sent].op;
    if (!op.getExchange())
      continue;
    for (unsigned other = 0; other < size; ++other)
      if (model.channels[other].op.getInPlaceOf() == op.getChannel()) {
        model.channels[other].exchange = sent;
        model.channels[other].part = StagePart::Result;
      }
    model.channels[sent].exchange = sent;
    model.channels[sent].part = StagePart::Sent;
    unsigned kept = addPart(sent, StagePart::Kept, " (kept)");
    unsigned received = addPart(sent, StagePart::Received, " (received)");
    // The role that has the value sends it to the other CTA.
    ProtocolChannel &channel = model.channels[received];
    channel.producer =
        channel.consumers.empty() ? -1 : int(channel.consumers.front());
    channel.acquirer = -1;
    exchanges[sent] = {kept, received};
  }
}

/// Turns are in no memory. In the model a turn is a byte behind all memory,
/// which its commit writes and its wait reads: that the next commit comes
/// behind the wait is then what is proven of any other stage.
static constexpr int64_t kFirstTurn = int64_t(1) << 40;

LogicalResult ProtocolChannels::place() {
  ProtocolChannel *placed = nullptr, *unplaced = nullptr;
  for (ProtocolChannel &channel : model.channels)
    (channel.op.getPlaceAttr() ? placed : unplaced) = &channel;
  if (placed && unplaced)
    return unplaced->op.emitError("channel \"")
           << unplaced->label << "\" has no place, but \"" << placed->label
           << "\" has one";
  if (!unplaced) {
    for (ProtocolChannel &channel : model.channels) {
      PlaceAttr place = channel.op.getPlaceAttr();
      channel.offset = channel.op.isTurn() ? kFirstTurn + place.getFull().first
                                           : place.getOffset();
    }
    return success();
  }
  // Buffers are laid side by side. If one buffer may take over the memory of
  // another, the two count as overlapping.
  int64_t next = 0;
  auto channelOfOp = [&](ChannelOp op) -> ProtocolChannel & {
    return model.channels[numbers.lookup(op)];
  };
  SmallVector<SmallVector<ChannelOp>> buffers = collectBuffers(model.kernel);
  DenseMap<Operation *, unsigned> bufferOfOwner;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    bufferOfOwner[buffer.front()] = number;
    for (ChannelOp member : buffer)
      channelOfOp(member).offset = next + getPlaceInBuffer(member);
    const ProtocolChannel &owner = channelOfOp(buffer.front());
    next += owner.size * owner.stages;
  }
  for (ArrayRef<ChannelOp> buffer : buffers)
    for (Value earlier : ChannelOp(buffer.front()).getAfter())
      for (ChannelOp other :
           buffers[bufferOfOwner.lookup(earlier.getDefiningOp())])
        for (ChannelOp member : buffer)
          channelOfOp(member).after.push_back(numbers.lookup(other));
  return success();
}
