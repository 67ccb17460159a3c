//===- TileScheduleStages.cpp - stages from the memory budget ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

/// Returns true if loads fill the channel in a loop.
static bool isLoadRing(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  if (channel.getSpace() != MemorySpace::smem || channel.getInPlaceOf())
    return false;
  bool inLoop = false;
  for (CommitOp commit : uses.commits) {
    if (!commit.getValue() || !commit.getValue().getDefiningOp<LoadOp>())
      return false;
    inLoop |= commit->getParentOfType<scf::ForOp>() != nullptr;
  }
  return inLoop;
}

/// Returns the rings in the order in which a pass of the consumer's loop waits
/// for them. With one stage each, the load of the next value of the first one
/// starts when the pass is over, and has less time.
static SmallVector<ChannelOp> findLoadRings(KernelOp kernel) {
  llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
  llvm::SetVector<ChannelOp> rings;
  kernel.walk([&](WaitOp wait) {
    auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
    if (wait->getParentOfType<scf::ForOp>() &&
        isLoadRing(uses.find(channel)->second))
      rings.insert(channel);
  });
  for (auto &[channel, of] : uses)
    if (isLoadRing(of))
      rings.insert(channel);
  return rings.takeVector();
}

namespace {
/// Computes the shared memory that `tile-allocate` will need for given numbers
/// of stages.
class SharedMemory {
public:
  explicit SharedMemory(KernelOp kernel) : kernel(kernel) {
    Lifetimes lifetimes(kernel);
    for (SmallVector<ChannelOp> &buffer : collectBuffers(kernel))
      if (buffer.front().getSpace() == MemorySpace::smem)
        owners.push_back(buffer.front());
    for (ChannelOp a : owners)
      for (ChannelOp b : owners)
        dead.push_back(a != b && lifetimes.deadBefore(a, b));
  }

  int64_t bytes() {
    SmallVector<PlacedBuffer> buffers;
    for (ChannelOp owner : owners)
      buffers.push_back(
          {static_cast<int64_t>(owner.getStages()) * getSmemBytes(owner),
           getSmemAlignment(owner)});
    unsigned count = owners.size();
    int64_t total = placeFirstFit(buffers, [&](unsigned a, unsigned b) {
      return dead[a * count + b] || dead[b * count + a];
    });
    // Each stage has a full and an empty barrier.
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      total += 2 * channel.getStages() * kernel.getTarget().mbarrierBytes;
    return total + kTmemAddressBytes;
  }

private:
  KernelOp kernel;
  SmallVector<ChannelOp> owners;
  /// A matrix of flags: true if the buffer of the row is dead before the buffer
  /// of the column is written.
  SmallVector<bool> dead;
};
} // namespace

bool fa4::tile::chooseStages(KernelOp kernel, const TargetDescription &target,
                             const RequiredStages &required,
                             int64_t maxStages) {
  for (SmallVector<ChannelOp> &buffer : collectBuffers(kernel)) {
    int64_t stages = 1;
    for (ChannelOp channel : buffer) {
      stages = std::max<int64_t>(stages, channel.getStages());
      if (auto it = required.find(channel); it != required.end())
        stages = std::max(stages, it->second);
    }
    for (ChannelOp channel : buffer)
      channel.setStages(stages);
  }
  SmallVector<ChannelOp> rings = findLoadRings(kernel);
  // Each ring gets one more stage in turn until the next one does not fit. In
  // the last round some rings get their second stage, but no third one: a load
  // of the others waits for its turn anyway, and more rounds of different
  // lengths make more states to prove.
  SharedMemory memory(kernel);
  bool fits = memory.bytes() <= static_cast<int64_t>(target.smemBytes);
  bool all = fits && !rings.empty();
  while (all) {
    SmallVector<ChannelOp> grown;
    for (ChannelOp ring : rings) {
      int64_t stages = ring.getStages();
      ring.setStages(stages + 1);
      if (stages < maxStages &&
          memory.bytes() <= static_cast<int64_t>(target.smemBytes)) {
        grown.push_back(ring);
        continue;
      }
      ring.setStages(stages);
      all = false;
    }
    for (ChannelOp ring : grown)
      if (!all && ring.getStages() > 2)
        ring.setStages(ring.getStages() - 1);
  }
  return fits;
}
