//===- TileScheduleStages.cpp - stages from the memory budget ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

/// Row values are read by lanes, one each; they need no more than a cache
/// line's alignment.
static constexpr int64_t kRowAlignment = 128;
/// The address of the tensor memory, which its allocation writes to.
static constexpr int64_t kAddressBytes = 16;

static int64_t stageBytes(ChannelOp channel, const TargetDescription &target) {
  VectorType type = channel.getValueType();
  int64_t bytes = llvm::divideCeil(
      type.getNumElements() * type.getElementTypeBitWidth(), 8);
  return llvm::alignTo(bytes, type.getRank() == 1 ? kRowAlignment
                                                  : target.smemTileAlignment);
}

/// Whether the channel is a ring that loads fill in a loop.
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

/// Shared memory of all channels with their present stages.
static int64_t sharedBytes(KernelOp kernel, const TargetDescription &target) {
  int64_t bytes = kAddressBytes;
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    int64_t stages = channel.getStages();
    bytes += 2 * stages * target.mbarrierBytes;
    if (channel.getSpace() == MemorySpace::smem && !channel.getInPlaceOf())
      bytes += stages * stageBytes(channel, target);
  }
  return bytes;
}

void fa4::tile::chooseStages(KernelOp kernel, const TargetDescription &target,
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
  SmallVector<ChannelOp> rings;
  for (auto &[channel, uses] : collectChannelUses(kernel))
    if (isLoadRing(uses))
      rings.push_back(channel);
  // One more each, until that does not fit; the first ones of the last round
  // are those that are needed first.
  bool all = !rings.empty();
  while (all)
    for (ChannelOp ring : rings) {
      int64_t stages = ring.getStages();
      ring.setStages(stages + 1);
      if (stages < maxStages &&
          sharedBytes(kernel, target) <= static_cast<int64_t>(target.smemBytes))
        continue;
      ring.setStages(stages);
      all = false;
    }
}
