//===- ProofLayout.h - slots and clocks of the proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFLAYOUT_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFLAYOUT_H

#include "ProofState.h"

namespace fa4::tile::proof {

/// What the proof knows of a model before it runs: the memory of stages, and
/// the components of clocks. A slot is a stage of a channel.
///
/// A clock has four kinds of components. The first two tell how far a role has
/// come, and which of its MMAs' accesses to tensor memory have ended. A relaxed
/// arrival passes on only these. The others are about shared memory.
class ProofLayout {
public:
  explicit ProofLayout(const ProtocolModel &model);

  unsigned roleCount() const { return model.roles.size(); }
  unsigned slotCount() const { return channelOfSlot.size(); }
  unsigned clockSize() const {
    return firstTensorAgent() + (allOrderTensorMemory ? 0 : roleCount());
  }

  int mmaAgent(unsigned role, bool inTensorMemory) const {
    return (inTensorMemory ? 1 : 3) * roleCount() + role;
  }
  /// Returns the agent for all accesses of the role's threads to shared memory.
  int threadsAgent(unsigned role) const { return 2 * roleCount() + role; }
  int copyAgent(unsigned slot) const { return firstCopyAgent() + slot; }
  int firstCopyAgent() const { return 4 * roleCount(); }
  /// Returns the agent for all accesses of the role's threads to tensor memory.
  /// Where every arrival orders tensor memory, the role's own component serves.
  int tensorAgent(unsigned role) const {
    return allOrderTensorMemory ? role : firstTensorAgent() + role;
  }
  bool isOfLanes(const Record &record) const {
    return record.agent == tensorAgent(record.role) ||
           record.agent == threadsAgent(record.role);
  }
  /// Removes from a token what arrivals at the channel do not pass on.
  void limit(Clock &token, const ProtocolChannel &channel,
             bool isRelaxed) const {
    if (isRelaxed)
      std::fill(token.begin() + 2 * roleCount(),
                token.begin() + firstTensorAgent(), 0);
    // Mutants have arrivals that do not order tensor memory.
    if (channel.ordersTensorMemory)
      return;
    std::fill(token.begin() + mmaAgent(0, /*inTensorMemory=*/true),
              token.begin() + threadsAgent(0), 0);
    std::fill(token.begin() + firstTensorAgent(), token.end(), 0);
  }

  unsigned slotOf(unsigned channel, int64_t position) const {
    return firstSlot[channel] + position % model.channels[channel].stages;
  }
  /// Returns the channel of the slot.
  unsigned channelOf(unsigned slot) const { return channelOfSlot[slot]; }
  /// Returns the slots that share memory with this one, and itself.
  llvm::ArrayRef<unsigned> overlapping(unsigned slot) const {
    return overlaps[slot];
  }
  /// Returns true for channels whose stages may be renamed, because none shares
  /// memory with another channel.
  bool rotates(unsigned channel) const { return hasOwnMemory[channel]; }
  bool isAcquired(unsigned channel) const { return acquired[channel]; }
  bool isReleased(unsigned channel) const { return released[channel]; }

private:
  int firstTensorAgent() const { return firstCopyAgent() + slotCount(); }

  const ProtocolModel &model;
  llvm::SmallVector<unsigned> firstSlot, channelOfSlot;
  llvm::SmallVector<llvm::SmallVector<unsigned>> overlaps;
  llvm::SmallVector<bool> hasOwnMemory, acquired, released;
  /// False only in mutants, where some arrivals do not order tensor memory.
  bool allOrderTensorMemory;
};

/// Returns the number of the role among the consumers of the channel.
inline unsigned consumerIndex(const ProtocolChannel &channel, unsigned role) {
  return llvm::find(channel.consumers, role) - channel.consumers.begin();
}

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFLAYOUT_H
