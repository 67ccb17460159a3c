//===- ProtocolBarriers.cpp - what completes barriers, and fences ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolBarriers.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

namespace {

using Finding = std::optional<ProtocolFinding>;

//===----------------------------------------------------------------------===//
// Asynchronous reads
//===----------------------------------------------------------------------===//

/// Finds the channels whose stages an MMA or a TMA store reads. A role hands a
/// stage on through variables, so these are followed.
class AsyncReaders {
public:
  explicit AsyncReaders(const ProtocolModel &model) {
    for (auto [number, role] : llvm::enumerate(model.roles)) {
      stagesOf.clear();
      while (follow(role, number))
        ;
    }
  }

  /// Returns the operation that reads stages of the channel, or null.
  Operation *of(unsigned channel) const { return readers.lookup(channel); }
  /// Returns true if MMAs that the role starts read stages of the channel.
  bool hasMmas(unsigned role, unsigned channel) const {
    return ofMmas.count({role, channel});
  }

private:
  /// Follows the steps of a role once. Returns true if a variable may name a
  /// stage that was not known for it before; the caller repeats until none
  /// does.
  bool follow(const ProtocolRole &role, unsigned number) {
    bool isNew = false;
    auto flow = [&](const Step::Assignments &assignments) {
      for (auto [to, from] : assignments)
        for (unsigned channel : stagesOf[from])
          isNew |= stagesOf[to].insert(channel).second;
    };
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Wait && step.result != -1)
        isNew |= stagesOf[step.result].insert(step.channel).second;
      flow(step.assignments);
      flow(step.back);
      bool isMma = isa<MmaOp>(step.op);
      if (step.kind != StepKind::Access ||
          (step.agent == Agent::Lanes && !isMma))
        return;
      for (unsigned variable : step.reads)
        for (unsigned channel : stagesOf[variable]) {
          isNew |= readers.try_emplace(channel, step.op).second;
          if (isMma)
            ofMmas.insert({number, channel});
        }
    });
    return isNew;
  }

  /// Maps a variable of the role to the channels whose stages it may name.
  std::map<int, std::set<unsigned>> stagesOf;
  llvm::DenseMap<unsigned, Operation *> readers;
  /// Roles and the channels that their MMAs read.
  std::set<std::pair<unsigned, unsigned>> ofMmas;
};

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

class CountCheck {
public:
  CountCheck(const ProtocolModel &model, const TargetDescription &target,
             const AsyncReaders &readers)
      : model(model), target(target), readers(readers) {}

  Finding run();

private:
  struct Count {
    int64_t number = 0;
    /// A text for the diagnostic: the arrivals or bytes whose sum is the
    /// number.
    std::string why;
  };
  Finding checkFull(unsigned channel);
  Finding checkEmpty(unsigned channel);
  Finding checkLanded(unsigned channel);
  Count commits(ArrayRef<unsigned> roles) const;
  Count releases(ArrayRef<unsigned> roles, unsigned channel) const;
  void add(Count &count, unsigned role, int64_t arrivals) const;
  Count bytes(unsigned channel, int64_t loads) const;
  /// Returns the channel of the other CTA that comes from the same
  /// tile.channel. In a kernel without a cluster, returns the channel itself.
  unsigned peerOf(unsigned channel) const;
  Finding compare(unsigned channel, StringRef what, StringRef of,
                  std::optional<int64_t> found, const Count &expected) const;
  Finding compare(unsigned channel, StringRef of, const Barriers &found,
                  const Count &arrivals, const Count &bytes) const;

  const ProtocolModel &model;
  const TargetDescription &target;
  const AsyncReaders &readers;
  /// The channels whose stages a TMA load fills.
  std::set<unsigned> isLoaded;
};

} // namespace

unsigned CountCheck::peerOf(unsigned channel) const {
  unsigned half = model.channels.size() / 2;
  if (model.channels.back().rank == 0)
    return channel;
  return channel < half ? channel + half : channel - half;
}

void CountCheck::add(Count &count, unsigned role, int64_t arrivals) const {
  count.number += arrivals;
  count.why += formatv("{0}@{1} {2}", count.why.empty() ? "" : ", ",
                       model.roles[role].name, arrivals);
}

CountCheck::Count CountCheck::commits(ArrayRef<unsigned> roles) const {
  Count count;
  for (unsigned number : roles) {
    const ProtocolRole &role = model.roles[number];
    int64_t warps = RoleOp(role.op).getNumWarps();
    add(count, number, role.oneThread ? 1 : warps * int64_t(target.warpSize));
  }
  return count;
}

/// Each thread of a role of lanes arrives, but one of each warp where the role
/// releases what its MMAs have read.
CountCheck::Count CountCheck::releases(ArrayRef<unsigned> roles,
                                       unsigned channel) const {
  Count count;
  for (unsigned number : roles) {
    const ProtocolRole &role = model.roles[number];
    int64_t warps = RoleOp(role.op).getNumWarps();
    bool ofWarps = readers.hasMmas(number, channel);
    add(count, number,
        role.oneThread ? 1 : warps * (ofWarps ? 1 : int64_t(target.warpSize)));
  }
  return count;
}

CountCheck::Count CountCheck::bytes(unsigned channel, int64_t loads) const {
  if (!isLoaded.count(channel))
    return {0, "no TMA load fills it"};
  ChannelOp op = model.channels[channel].op;
  VectorType type = op.getTileType();
  if (!type)
    return {16 * loads, "a response of 16 bytes"};
  int64_t elementBits = type.getElementTypeBitWidth();
  KernelOp kernel = model.kernel;
  SmallVector<int64_t> shape(type.getShape());
  if (op.getSplit())
    shape[*op.getSplit()] /= kernel.getClusterSize();
  int64_t rows = shape.front();
  int64_t rowBytes = (shape.size() == 2 ? shape.back() : 1) * elementBits / 8;
  int64_t span = getSwizzleSpan(VectorType::get(shape, type.getElementType()));
  int64_t boxes = span ? rowBytes / span : 1;
  int64_t boxBytes = rows * (span ? span : rowBytes);
  return {boxes * boxBytes * loads,
          formatv("{0} {1} of {2} rows of {3} bytes", boxes * loads,
                  boxes * loads == 1 ? "box" : "boxes", rows, boxBytes / rows)};
}

Finding CountCheck::compare(unsigned channel, StringRef what, StringRef of,
                            std::optional<int64_t> found,
                            const Count &expected) const {
  if (found.value_or(0) == expected.number)
    return {};
  auto number = [&](int64_t n) {
    return n ? formatv("{0}({1})", what, n).str() : ("no '" + what + "'").str();
  };
  return ProtocolFinding{model.channels[channel].op,
                         formatv("channel \"{0}\" has {1} a phase of its {2} "
                                 "barriers, expected {3}: {4}",
                                 model.channels[channel].label,
                                 number(found.value_or(0)), of,
                                 number(expected.number), expected.why),
                         {}};
}

Finding CountCheck::compare(unsigned channel, StringRef of,
                            const Barriers &found, const Count &arrivals,
                            const Count &bytes) const {
  if (auto finding = compare(channel, "arrivals", of, found.arrivals, arrivals))
    return finding;
  return compare(channel, "bytes", of, found.bytes, bytes);
}

Finding CountCheck::run() {
  for (const ProtocolRole &role : model.roles)
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Access && step.agent == Agent::Copy &&
          step.writes != -1)
        isLoaded.insert(step.writes);
    });
  for (unsigned channel = 0; channel < model.channels.size(); ++channel) {
    if (auto finding = checkFull(channel))
      return finding;
    if (auto finding = checkEmpty(channel))
      return finding;
  }
  return {};
}

/// Checks the barrier of an exchange. The role of the exchange waits there for
/// all bytes that the other CTA sends, which are half of the columns of its
/// tile.
Finding CountCheck::checkLanded(unsigned number) {
  ChannelOp op = model.channels[number].op;
  VectorType type = op.getTileType();
  int64_t columns = type.getDimSize(1) / 2;
  int64_t bytes = columns * type.getElementTypeBitWidth() / 8;
  return compare(number, "landed", *op.getPlaceAttr().getLanded(),
                 {1, "the thread that expects the bytes"},
                 {type.getDimSize(0) * bytes,
                  formatv("{0} rows of {1} bytes from the other CTA",
                          type.getDimSize(0), bytes)});
}

/// Checks the barrier at which consumers wait for a filled stage. A consumer
/// that reads the stages of both CTAs waits at one barrier only: the producers
/// of both CTAs arrive there, and one of them expects the bytes of both loads.
Finding CountCheck::checkFull(unsigned number) {
  const ProtocolChannel &channel = model.channels[number];
  const ProtocolChannel &peer = model.channels[peerOf(number)];
  ChannelOp op = channel.op;
  if (!op.getPlaceAttr())
    return {};
  if (channel.part == StagePart::Received)
    return checkLanded(number);
  if (channel.producer == -1)
    return {};
  if (op.isTurn()) {
    // The role that waits arrives as well.
    SmallVector<unsigned, 2> roles = {unsigned(channel.producer)};
    llvm::append_range(roles, channel.consumers);
    return compare(number, "full", op.getPlaceAttr().getFull(), commits(roles),
                   {0, "nothing writes it"});
  }
  SmallVector<unsigned, 2> producers = {unsigned(channel.producer)};
  auto waitsForBoth = [&](unsigned role) {
    return peer.rank != channel.rank && peer.hasConsumer(role);
  };
  if (llvm::any_of(channel.consumers, waitsForBoth)) {
    if (!llvm::all_of(channel.consumers, waitsForBoth))
      return ProtocolFinding{
          op,
          formatv("channel \"{0}\": a value of both CTAs is waited for at one "
                  "barrier, and at one of each CTA",
                  channel.label),
          {}};
    if (peer.producer != channel.producer)
      producers.push_back(peer.producer);
  }
  bool isLoad = isLoaded.count(number);
  Count expected =
      commits(isLoad ? ArrayRef(producers).take_front() : ArrayRef(producers));
  return compare(number, "full", op.getPlaceAttr().getFull(), expected,
                 bytes(number, producers.size()));
}

/// Checks the barrier at which the producer waits for an empty stage. A
/// producer that fills the stages of both CTAs waits at one barrier only, where
/// the consumers of both CTAs arrive.
Finding CountCheck::checkEmpty(unsigned number) {
  const ProtocolChannel &channel = model.channels[number];
  const ProtocolChannel &peer = model.channels[peerOf(number)];
  ChannelOp op = channel.op;
  if (!op.getPlaceAttr() || !op.getPlaceAttr().getEmpty() ||
      channel.consumers.empty() || channel.part == StagePart::Received)
    return {};
  SmallVector<unsigned, 2> consumers(channel.consumers);
  if (peer.rank != channel.rank && channel.producer != -1 &&
      channel.producer == peer.producer)
    for (unsigned role : peer.consumers)
      if (!llvm::is_contained(consumers, role))
        consumers.push_back(role);
  return compare(number, "empty", *op.getPlaceAttr().getEmpty(),
                 releases(consumers, number), {0, "no copy releases a stage"});
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

namespace {

/// Follows writes through the code of a role of lanes, from a tile.write to the
/// fence or the commit behind it.
class FenceCheck {
public:
  FenceCheck(const ProtocolModel &model, const AsyncReaders &readers)
      : model(model), readers(readers) {
    for (auto [i, channel] : llvm::enumerate(model.channels)) {
      ChannelOp op = channel.op;
      channelIndex.try_emplace(op.getChannel(), i);
    }
  }

  Finding check(const ProtocolRole &role) {
    Pending pending;
    return checkBlock(RoleOp(role.op).getBody().front(), pending);
  }

private:
  /// Maps each channel to its last write for which a fence may be missing.
  using Pending = llvm::MapVector<unsigned, Operation *>;

  Finding checkBlock(Block &block, Pending &pending);
  Finding checkRegions(Operation &op, Pending &pending);
  void write(WriteOp op, Pending &pending) {
    unsigned channel = channelIndex.lookup(op.getChannel());
    if (!model.channels[channel].inTensorMemory && readers.of(channel))
      pending[channel] = op;
  }
  Finding commit(CommitOp op, const Pending &pending) const;

  const ProtocolModel &model;
  const AsyncReaders &readers;
  llvm::DenseMap<Value, unsigned> channelIndex;
};

} // namespace

Finding FenceCheck::commit(CommitOp op, const Pending &pending) const {
  unsigned channel = channelIndex.lookup(op.getChannel());
  auto write = pending.find(channel);
  if (write == pending.end())
    return {};
  return ProtocolFinding{
      op,
      formatv("channel \"{0}\": no tile.fence between a write by lanes and the "
              "commit, but an asynchronous operation reads the stage",
              model.channels[channel].label),
      {{write->second, "the write"},
       {readers.of(channel), "the asynchronous read"}}};
}

/// A write counts as pending behind an operation if it is pending on any path
/// through the operation.
Finding FenceCheck::checkRegions(Operation &op, Pending &pending) {
  bool isLoop = isa<LoopLikeOpInterface>(op);
  // A loop is followed twice, because its second pass starts with the writes
  // that are pending at the end of the first.
  for (int pass = 0; pass < (isLoop ? 2 : 1); ++pass) {
    Pending before = pending;
    bool isExhaustive = !isLoop && op.getNumRegions() != 0;
    Pending after;
    for (Region &region : op.getRegions()) {
      Pending inside = before;
      isExhaustive &= !region.empty();
      for (Block &block : region)
        if (auto finding = checkBlock(block, inside))
          return finding;
      for (auto &entry : inside)
        after.insert(entry);
    }
    if (!isExhaustive)
      for (auto &entry : before)
        after.insert(entry);
    pending = std::move(after);
  }
  return {};
}

Finding FenceCheck::checkBlock(Block &block, Pending &pending) {
  for (Operation &op : block) {
    if (auto writeOp = dyn_cast<WriteOp>(op))
      write(writeOp, pending);
    else if (isa<FenceOp>(op))
      pending.clear();
    else if (auto commitOp = dyn_cast<CommitOp>(op)) {
      if (auto finding = commit(commitOp, pending))
        return finding;
    } else if (op.getNumRegions() != 0)
      if (auto finding = checkRegions(op, pending))
        return finding;
  }
  return {};
}

std::optional<ProtocolFinding>
fa4::tile::verifyBarriers(const ProtocolModel &model,
                          const TargetDescription &target) {
  AsyncReaders readers(model);
  if (auto finding = CountCheck(model, target, readers).run())
    return finding;
  FenceCheck fences(model, readers);
  for (const ProtocolRole &role : model.roles)
    if (!role.oneThread)
      if (auto finding = fences.check(role))
        return finding;
  return {};
}
