//===- ProofState.h - a state of the proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFSTATE_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFSTATE_H

#include "ProtocolFacts.h"
#include "ProtocolHistory.h"
#include <memory>

namespace fa4::tile::proof {

using Clock = llvm::SmallVector<int32_t>;
/// The clock that an arrival passes on. Shared, because a state has most of its
/// tokens in common with the states that follow it.
using Token = std::shared_ptr<const Clock>;

/// An access with which later ones may conflict.
struct Record {
  int agent = -1;
  int32_t time = 0;
  unsigned role = 0;
  mlir::Operation *op = nullptr;
  int64_t pass = -1;
  int entry = ProtocolHistory::kNone;
};

struct SlotState {
  /// The position of the value, or -1 if it has been overwritten or was never
  /// written.
  int64_t content = -1;
  Record overwriter;
  Record lastWrite;
  llvm::SmallVector<Record, 2> reads;
};

struct ChannelState {
  int64_t acquired = 0, committed = 0;
  /// The numbers of values that each consumer has waited for and released.
  llvm::SmallVector<int64_t, 1> waited, released;
  /// The clocks that a wait or acquire takes over, by position modulo stages.
  llvm::SmallVector<Token> commits;
  llvm::SmallVector<llvm::SmallVector<Token>, 1> releases;
  /// The time of each consumer's wait, by position modulo stages.
  llvm::SmallVector<llvm::SmallVector<int32_t>, 1> waits;
  /// The time of each acquire by another role than the producer.
  llvm::SmallVector<int32_t> acquires;
};

struct Machine {
  std::vector<RoleCursor> cursors;
  ProtocolFacts facts;
  /// The clocks of each role's lanes and of its MMAs.
  llvm::SmallVector<Clock> lanes, mmas;
  llvm::SmallVector<int32_t> copies;
  std::vector<ChannelState> channels;
  std::vector<SlotState> slots;
  /// The last entry of each role in the history.
  llvm::SmallVector<int> history;
  /// The numbers of passes of each loop, summed over the times that it was
  /// left.
  llvm::SmallVector<int64_t> passesLeft;
};

/// Takes over what another clock knows.
inline void join(Clock &clock, const Clock &other) {
  std::transform(clock.begin(), clock.end(), other.begin(), clock.begin(),
                 [](int32_t a, int32_t b) { return std::max(a, b); });
}

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROOFSTATE_H
