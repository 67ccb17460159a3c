//===- StateSet.cpp - states that the proof has followed ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSet.h"
#include "ProtocolSites.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;

/// Appends the questions that roles can still ask about numbers of passes, and
/// the facts about these numbers.
void StateSet::appendNumbers(Machine &machine, Key &key) const {
  ProtocolSites sites(model, machine.cursors, machine.facts);
  machine.facts.forget([&](Unknown unknown) { return sites.isOver(unknown); });
  sites.appendKey(key);
}

bool StateSet::insert(Machine &machine) {
  key.clear();
  appendNumbers(machine, key);
  for (const RoleCursor &cursor : machine.cursors) {
    cursor.appendPlace(key);
    for (StageUse use : cursor.variables()) {
      key.push_back(use.channel);
      if (use.channel == -1)
        continue;
      // A value older than the ring has been overwritten. Its exact age does
      // not matter.
      int64_t age = machine.channels[use.channel].committed - use.position;
      key.push_back(std::min(age, model.channels[use.channel].stages + 2));
    }
  }
  for (unsigned channel = 0; channel < model.channels.size(); ++channel)
    appendChannel(machine, channel, key);
  appendClocks(machine, key);
  return seen.emplace(key.begin(), key.end()).second;
}

void StateSet::appendChannel(const Machine &machine, unsigned channel,
                             Key &key) const {
  const ChannelState &state = machine.channels[channel];
  int64_t stages = model.channels[channel].stages;
  key.push_back(layout.rotates(channel) ? -1 : state.committed % stages);
  key.push_back(layout.isAcquired(channel) ? state.acquired - state.committed
                                           : 0);
  for (auto [waited, released] : llvm::zip(state.waited, state.released))
    key.append({state.committed - waited,
                layout.isReleased(channel) ? state.committed - released : 0});
  for (int64_t i = 0; i < stages; ++i) {
    const SlotState &slot =
        machine.slots[layout.slotOf(channel, state.committed + i)];
    bool isFresh = slot.content >= state.committed - 2 * stages;
    key.push_back(isFresh ? state.committed - slot.content : -1000);
  }
}

/// Returns the clocks of all roles, and the clocks in the tokens that a role
/// can still take, in the order of positions.
SmallVector<const int32_t *>
StateSet::collectClocks(const Machine &machine) const {
  SmallVector<const int32_t *> clocks;
  for (const auto *group : {&machine.lanes, &machine.mmas})
    for (const Clock &clock : *group)
      clocks.push_back(clock.data());
  for (auto [i, state] : llvm::enumerate(machine.channels)) {
    int64_t stages = model.channels[i].stages;
    int64_t oldest = state.committed;
    for (auto [waited, released, releases] :
         llvm::zip(state.waited, state.released, state.releases)) {
      oldest = std::min(oldest, waited);
      for (int64_t position = std::max<int64_t>(state.acquired - stages, 0);
           layout.isAcquired(i) && position < released; ++position)
        clocks.push_back(releases[position % stages]->data());
    }
    for (int64_t position = std::max(oldest, state.committed - stages);
         position < state.committed; ++position)
      clocks.push_back(state.commits[position % stages]->data());
  }
  return clocks;
}

/// Appends, for each access that a later one may conflict with, which clocks
/// cover it.
void StateSet::appendClocks(const Machine &machine, Key &key) const {
  SmallVector<std::pair<int, int32_t>> records;
  auto append = [&](const Record &record, bool isCopy) {
    key.push_back(isCopy ? -2 : record.agent);
    if (record.agent != -1)
      records.push_back({record.agent, record.time});
  };
  int firstCopy = layout.firstCopyAgent();
  for (auto [i, state] : llvm::enumerate(machine.channels)) {
    int64_t stages = model.channels[i].stages;
    for (int64_t stage = 0; stage < stages; ++stage) {
      int64_t position = state.committed + stage;
      const SlotState &slot = machine.slots[layout.slotOf(i, position)];
      append(slot.lastWrite, slot.lastWrite.agent >= firstCopy);
      key.push_back(slot.reads.size());
      for (const Record &record : slot.reads)
        append(record, record.agent >= firstCopy);
      for (auto [k, waits] : llvm::enumerate(state.waits))
        append({int(model.channels[i].consumers[k]), waits[position % stages]},
               false);
      if (!state.acquires.empty())
        append({model.channels[i].acquirer, state.acquires[position % stages]},
               false);
    }
  }
  // One clock after the other: each is then read once as a whole, which is
  // faster than a look at all clocks for each access.
  for (const int32_t *clock : collectClocks(machine))
    for (size_t first = 0; first < records.size(); first += 64) {
      uint64_t bits = 0;
      for (auto [agent, time] : ArrayRef(records).slice(
               first, std::min<size_t>(64, records.size() - first)))
        bits = bits * 2 + (clock[agent] >= time);
      key.push_back(bits);
    }
}
