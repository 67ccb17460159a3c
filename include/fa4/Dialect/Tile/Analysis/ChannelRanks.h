//===- ChannelRanks.h - hand-overs in a cluster -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a kernel with a cluster, a role runs in all CTAs or in the leader only,
// and each CTA has the stages and barriers of all channels. Which CTA's barrier
// an arrival goes to follows from who waits at it:
//
// | who arrives | who waits | arrivals go to |
// |---|---|---|
// | all CTAs | all CTAs | the CTA's own barrier |
// | all CTAs | the leader | the leader's barrier, which counts those of all |
// | the leader | all CTAs | the barriers of all CTAs |
// | the leader | the leader | the leader's own barrier |
//
// At `full` barriers producers arrive and consumers wait, at `empty` ones the
// other way round. What the leader commits for all CTAs, as a response to a
// request for work, roles of the leader may wait for beside those of all CTAs:
// at the leader's barrier, as any role waits at that of its own CTA.
//
// A release to the cluster is a fence of all memory, which takes as long as an
// MMA. So threads that hand on tensor memory to the leader arrive without one:
// such arrivals and the waits for them are relaxed, and fences of tcgen05 order
// accesses to tensor memory with them, but nothing orders other memory (PTX
// ISA, tcgen05 memory consistency model, canonical synchronization patterns).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H
#define FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"

namespace fa4::tile {

/// The CTAs at whose barrier an arrival counts.
enum class ArrivalReach { Own, Leader, All };

/// Where arrivals at the barriers of a channel go to.
struct ChannelRanks {
  ArrivalReach full = ArrivalReach::Own, empty = ArrivalReach::Own;
  bool inTensorMemory = false;

  /// Whether threads whose arrivals have this reach, that of `full` or `empty`,
  /// arrive relaxed. The waits for such arrivals are relaxed as well.
  bool isRelaxed(ArrivalReach reach) const {
    return reach == ArrivalReach::Leader && inTensorMemory;
  }
};

/// Whether commits of the channel are relaxed, as far as that is known without
/// findChannelRanks: false where that fails.
bool hasRelaxedCommits(const ChannelUses &uses);

/// Returns where arrivals go to. Emits an error on a channel that roles of the
/// leader and roles of all CTAs commit, or wait for if all CTAs commit it.
mlir::FailureOr<ChannelRanks> findChannelRanks(const ChannelUses &uses);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H
