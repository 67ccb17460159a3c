//===- ChannelRanks.h - hand-overs in a cluster -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a kernel with a cluster, a role runs in all CTAs or in the leader only,
// and each CTA has the stages and barriers of all channels. The role that waits
// decides to which CTA's barrier an arrival goes:
//
// | who arrives | who waits | arrivals go to |
// |---|---|---|
// | all CTAs | all CTAs | the CTA's own barrier |
// | all CTAs | the leader | the leader's barrier, which counts those of all |
// | the leader | all CTAs | the barriers of all CTAs |
// | the leader | the leader | the leader's own barrier |
//
// At `full` barriers producers arrive and consumers wait; at `empty` barriers
// it is the other way round. A value that the leader commits for all CTAs, such
// as a response to a request for work, may be awaited by roles of the leader as
// well. They wait at the leader's barrier, as any role waits at the barrier of
// its own CTA.
//
// A release to the cluster is a fence of all memory, which takes as long as an
// MMA. So threads that hand on tensor memory to the leader arrive without one:
// such arrivals, and the waits for them, are relaxed. Fences of tcgen05 then
// order accesses to tensor memory, but nothing orders other memory (PTX ISA,
// tcgen05 memory consistency model, canonical synchronization patterns).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H
#define FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"

namespace fa4::tile {

/// The CTAs at whose barrier an arrival counts.
enum class ArrivalReach { Own, Leader, All };

/// The reach of the arrivals at the barriers of a channel.
struct ChannelRanks {
  ArrivalReach full = ArrivalReach::Own, empty = ArrivalReach::Own;
  bool inTensorMemory = false;

  /// Returns true if threads arrive relaxed at a barrier whose arrivals have
  /// this reach (`full` or `empty`). The waits for such arrivals are relaxed as
  /// well.
  bool isRelaxed(ArrivalReach reach) const {
    return reach == ArrivalReach::Leader && inTensorMemory;
  }
};

/// Returns true if commits of the channel are relaxed. Returns false for a
/// channel on which findChannelRanks would emit an error.
bool hasRelaxedCommits(const ChannelUses &uses);

/// Returns where arrivals go to. Emits an error if both roles of the leader and
/// roles of all CTAs commit the channel. Emits an error, too, if all CTAs
/// commit the channel and roles of both kinds wait for it.
mlir::FailureOr<ChannelRanks> findChannelRanks(const ChannelUses &uses);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CHANNELRANKS_H
