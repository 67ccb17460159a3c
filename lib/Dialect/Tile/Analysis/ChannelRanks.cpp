//===- ChannelRanks.cpp - hand-overs in a cluster ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"

using namespace mlir;
using namespace fa4::tile;

static bool isOfLeader(RoleOp role) { return role.getLeader(); }

/// Returns nothing for a channel with mixed ends: roles of the leader and roles
/// of all CTAs commit, or they wait for a channel that all CTAs commit.
static std::optional<ChannelRanks> findRanks(const ChannelUses &uses) {
  auto isMixed = [&](const auto &roles) {
    return llvm::any_of(roles, isOfLeader) && !llvm::all_of(roles, isOfLeader);
  };
  ChannelOp channel = uses.channel;
  bool leaderCommits = llvm::any_of(uses.producers, isOfLeader),
       leaderWaits = llvm::any_of(uses.consumers, isOfLeader);
  if (isMixed(uses.producers) || (isMixed(uses.consumers) && !leaderCommits))
    return std::nullopt;
  ChannelRanks ranks;
  ranks.inTensorMemory = channel.getSpace() == MemorySpace::tmem;
  bool isWithin =
      leaderCommits ? llvm::all_of(uses.consumers, isOfLeader) : !leaderWaits;
  if (isWithin)
    return ranks;
  ranks.full = leaderCommits ? ArrivalReach::All : ArrivalReach::Leader;
  ranks.empty = leaderCommits ? ArrivalReach::Leader : ArrivalReach::All;
  return ranks;
}

bool fa4::tile::hasRelaxedCommits(const ChannelUses &uses) {
  std::optional<ChannelRanks> ranks = findRanks(uses);
  return ranks && ranks->isRelaxed(ranks->full);
}

FailureOr<ChannelRanks> fa4::tile::findChannelRanks(const ChannelUses &uses) {
  if (std::optional<ChannelRanks> ranks = findRanks(uses))
    return *ranks;
  ChannelOp channel = uses.channel;
  return channel.emitOpError("is on one side used by a role of the leader and "
                             "by one that all CTAs of the cluster run: not "
                             "supported");
}
