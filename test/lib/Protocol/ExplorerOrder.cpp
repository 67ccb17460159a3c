//===- ExplorerOrder.cpp - which orders of actions need to be run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ExplorerOrder.h"

using namespace fa4::tile;
using llvm::ArrayRef;
using llvm::BitVector;
using llvm::SmallVector;

/// Of the actions that an action needs, those that order no accesses to the
/// memory before it.
static ArrayRef<unsigned> listUnordered(const Action &action,
                                        MemorySpace memory) {
  return memory == MemorySpace::tmem ? action.unfenced : action.relaxed;
}

/// For each action that can happen at all, those that must come before it. An
/// empty vector for those that can not. If a memory is given, only those whose
/// accesses to it must have been made.
static std::vector<BitVector>
findPredecessors(ArrayRef<Action> actions,
                 std::optional<MemorySpace> memory = std::nullopt) {
  std::vector<BitVector> before(actions.size());
  std::vector<unsigned> missing;
  SmallVector<unsigned> ready;
  for (auto [number, action] : llvm::enumerate(actions)) {
    missing.push_back(action.needs.size() + (action.isNever ? 1 : 0));
    if (missing.back() == 0)
      ready.push_back(number);
  }
  while (!ready.empty()) {
    unsigned number = ready.pop_back_val();
    before[number].resize(actions.size());
    for (unsigned needed : actions[number].needs) {
      if (memory &&
          llvm::is_contained(listUnordered(actions[number], *memory), needed))
        continue;
      before[number] |= before[needed];
      before[number].set(needed);
    }
    for (unsigned next : actions[number].neededBy)
      if (--missing[next] == 0)
        ready.push_back(next);
  }
  return before;
}

static bool conflict(Touch a, Touch b) { return a != b || a == Touch::Write; }

/// Calls the function for all pairs of actions that may happen and do not
/// commute, once for each place.
static void
forConflicts(const ExplorerActions &graph, ArrayRef<BitVector> before,
             llvm::function_ref<void(unsigned, unsigned, unsigned)> function) {
  std::vector<SmallVector<std::pair<unsigned, Touch>>> ofPlace(
      graph.getPlaceCount());
  for (auto [number, action] : llvm::enumerate(graph.getActions()))
    if (!before[number].empty())
      for (auto [place, how] : action.touches)
        ofPlace[place].push_back({number, how});
  for (auto [place, touches] : llvm::enumerate(ofPlace))
    for (size_t i = 0; i < touches.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (conflict(touches[i].second, touches[j].second))
          function(touches[j].first, touches[i].first, place);
}

std::optional<std::pair<unsigned, unsigned>>
fa4::tile::findUnorderedPair(const ExplorerActions &graph, MemorySpace memory) {
  ArrayRef<Action> actions = graph.getActions();
  if (llvm::all_of(actions, [&](const Action &each) {
        return listUnordered(each, memory).empty();
      }))
    return std::nullopt;
  std::vector<BitVector> before = findPredecessors(actions);
  std::vector<BitVector> beforeInMemory = findPredecessors(actions, memory);
  std::optional<std::pair<unsigned, unsigned>> found;
  forConflicts(graph, before, [&](unsigned a, unsigned b, unsigned place) {
    if (before[a].test(b))
      std::swap(a, b);
    if (!graph.isIn(place, memory) || !before[b].test(a) ||
        beforeInMemory[b].test(a))
      return;
    // The earliest access of those that come too early, and the last one of
    // those that it should be behind.
    bool isEarlier = found && before[found->second].test(b);
    bool isCloser = found && found->second == b && before[a].test(found->first);
    if (!found || isEarlier || isCloser)
      found = {a, b};
  });
  return found;
}

std::vector<SmallVector<unsigned, 0>>
fa4::tile::findRivals(const ExplorerActions &graph) {
  ArrayRef<Action> actions = graph.getActions();
  std::vector<BitVector> before = findPredecessors(actions);
  std::vector<SmallVector<unsigned, 0>> rivals(actions.size());
  forConflicts(graph, before, [&](unsigned a, unsigned b, unsigned) {
    if (before[a].test(b) || before[b].test(a))
      return;
    rivals[a].push_back(b);
    rivals[b].push_back(a);
  });
  for (auto &list : rivals) {
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
  }
  return rivals;
}

/// The enabled actions of the smallest stubborn set with `seed`, which is
/// enabled.
static SmallVector<unsigned> closeSet(ArrayRef<Action> actions,
                                      ArrayRef<SmallVector<unsigned, 0>> rivals,
                                      const BitVector &done, unsigned seed) {
  SmallVector<unsigned> members{seed}, enabled;
  BitVector known(actions.size());
  known.set(seed);
  auto add = [&](unsigned action) {
    if (!known.test(action) && !done.test(action)) {
      known.set(action);
      members.push_back(action);
    }
  };
  for (size_t i = 0; i < members.size(); ++i) {
    const Action &action = actions[members[i]];
    auto missing = llvm::find_if(
        action.needs, [&](unsigned needed) { return !done.test(needed); });
    if (missing != action.needs.end()) {
      add(*missing);
      continue;
    }
    // What waits for an arrival that nobody makes never happens.
    if (action.isNever)
      continue;
    enabled.push_back(members[i]);
    for (unsigned rival : rivals[members[i]])
      add(rival);
  }
  return enabled;
}

SmallVector<unsigned>
fa4::tile::chooseActions(const ExplorerActions &graph,
                         ArrayRef<SmallVector<unsigned, 0>> rivals,
                         const BitVector &done, ArrayRef<unsigned> enabled) {
  SmallVector<unsigned> best(enabled);
  for (unsigned seed : enabled) {
    if (best.size() == 1)
      break;
    SmallVector<unsigned> set =
        closeSet(graph.getActions(), rivals, done, seed);
    if (set.size() < best.size())
      best = std::move(set);
  }
  return best;
}
