//===- ProtocolExplorer.cpp - all interleavings of a kernel's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolExplorer.h"
#include "Protocol/ProtocolCases.h"
#include "Protocol/ProtocolTokens.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>
#include <set>

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

namespace {

using Trace = ProtocolTrace;

/// The largest number of cases (choices of trip counts) that are explored.
constexpr size_t kMaxCases = 20000;

/// Of loops whose bounds are constants, so many passes are all explored.
constexpr int64_t kMaxConstantPasses = 1000;

/// The memory that a transition touches and, for channels that nobody acquires,
/// the phases of their barriers.
struct Footprint {
  llvm::BitVector reads, writes;

  void resize(unsigned size) {
    reads.resize(size);
    writes.resize(size);
  }
  bool isEmpty() const { return reads.none() && writes.none(); }
  void add(const Footprint &other) {
    reads |= other.reads;
    writes |= other.writes;
  }
  bool conflicts(const Footprint &other) const {
    return writes.anyCommon(other.writes) || writes.anyCommon(other.reads) ||
           reads.anyCommon(other.writes);
  }
};

struct ValueUse {
  unsigned channel;
  /// The number of half a stage: see Explorer.
  unsigned slot;
  unsigned value;
  /// The number of writes of the value that have been done: before a read, or
  /// after a write.
  unsigned writes;
};

/// An event with everything that its execution needs.
struct Item {
  SmallVector<ValueUse, 3> reads;
  SmallVector<ValueUse, 2> writes;
  Footprint footprint;
  /// The number of the role's MMAs and tensor-core arrivals before this event.
  unsigned queuedBefore = 0;
  /// The role's TMA operations, by their events, for which a commit or release
  /// waits.
  SmallVector<unsigned, 1> copies;
  bool isQueued = false, isCopy = false;
};

struct State {
  /// The number of events that each role has executed, and of entries of its
  /// MMA queue that have ended.
  SmallVector<unsigned, 8> next, ended;
  /// The TMA operations of each role that were issued and have not ended.
  SmallVector<SmallVector<unsigned, 2>, 8> copies;
  /// The value in each slot and the number of its writes. Value 0 stands for
  /// none.
  SmallVector<std::pair<unsigned, unsigned>, 32> slots;
  /// The number of reads of each value that have been done. The rest of the
  /// state determines it.
  SmallVector<unsigned, 64> readsDone;
};

struct Transition {
  enum Kind { Thread, Queue, Copy } kind;
  unsigned role;
  /// For Copy: the event.
  unsigned event = 0;
  bool operator<(const Transition &o) const {
    return std::tie(kind, role, event) < std::tie(o.kind, o.role, o.event);
  }
};

/// A thread of a role. Roles that compute have two, which stand for all lanes:
/// nothing orders them with each other but the protocol.
struct Thread {
  unsigned role;
  /// The lane, or -1 if the role has one thread.
  int lane;
};

/// One choice of all numbers of passes. A stage has two halves, the rows of
/// either lane; asynchronous operations access both.
class Explorer {
public:
  Explorer(const ProtocolModel &model, std::vector<Trace> traces,
           const ExplorerOptions &options, ExplorerStatistics &statistics);
  std::optional<ProtocolFinding> run();

private:
  struct Place {
    int role = -1;
    unsigned event = 0;
  };

  using Places = SmallVector<Place, 2>;
  /// A thread and one of its events.
  using Access = std::pair<unsigned, unsigned>;
  using PlaceMap = std::map<std::pair<unsigned, int64_t>, Places>;

  void checkCounts();
  void checkRole(unsigned role);
  void prepare();
  void prepareAccess(unsigned role, unsigned event);
  void preparePhases(unsigned role, unsigned event);
  void prepareSuffixes();

  unsigned slotOf(unsigned channel, int64_t position) const {
    return firstSlot[channel] + position % model.channels[channel].stages;
  }
  /// Returns the number of the first half's value; that of the other half
  /// follows.
  unsigned valueOf(StageUse use) {
    auto key = std::make_pair(unsigned(use.channel), use.position);
    unsigned number = valueNumbers.try_emplace(key, 2 * valueNumbers.size() + 2)
                          .first->second;
    readsOf.resize(2 * valueNumbers.size() + 2);
    writesOf.resize(2 * valueNumbers.size() + 2);
    return number;
  }
  bool isDone(const State &state, ArrayRef<Place> places) const {
    return llvm::all_of(
        places, [&](Place place) { return isIssuedAndEnded(state, place); });
  }
  /// The places of the n-th event on a channel, one for each lane; empty if
  /// there is no such event.
  static ArrayRef<Place> find(const PlaceMap &places, unsigned channel,
                              int64_t position) {
    auto it = places.find({channel, position});
    return it == places.end() ? ArrayRef<Place>() : it->second;
  }

  bool isIssuedAndEnded(const State &state, Place place) const;
  /// Returns the transition after which `place` counts as done.
  Transition needed(const State &state, Place place) const;
  /// Returns a transition that must come before the role's next event, or
  /// nothing if the event can be executed.
  std::optional<Transition> blocker(const State &state, unsigned role) const;
  bool isEnabled(const State &state, const Transition &transition) const;
  const Item &itemOf(const State &state, const Transition &transition) const;
  SmallVector<Transition> processes(const State &state) const;
  bool mayConflict(const State &state, const Footprint &footprint,
                   const Transition &process) const;
  SmallVector<Transition> closure(const State &state, Transition seed) const;
  SmallVector<Transition> choose(const State &state) const;

  void execute(State &state, const Transition &transition);
  void performAccess(State &state, unsigned role, unsigned event);
  void checkOrder(Access first, Access second, unsigned slot);
  void checkPhase(const State &state, unsigned role, unsigned event);
  std::string describeBlocked(const State &state, unsigned thread) const;
  void reportDeadlock(const State &state);
  void report(Operation *op, std::string message) {
    if (!finding)
      finding = ProtocolFinding{op, std::move(message), {}};
  }
  void report(const ProtocolEvent &event, std::string message) {
    if (finding)
      return;
    report(event.step->op, std::move(message));
    auto &channels = finding->channels;
    for (StageUse use : event.reads)
      channels.push_back(use.channel);
    if (event.write)
      channels.push_back(event.write->channel);
    if (event.kind != StepKind::Access)
      channels.push_back(event.channel);
  }
  /// Sets `key` to what tells `state` from others.
  void setKey(SmallVectorImpl<uint32_t> &key, const State &state) const;

  std::string name(unsigned thread) const {
    return "@" + model.roles[threads[thread].role].name;
  }
  const std::string &label(unsigned channel) const {
    return model.channels[channel].label;
  }

  const ProtocolModel &model;
  SmallVector<Thread> threads;
  /// The events of each thread. The following members are indexed by thread,
  /// too.
  std::vector<Trace> traces;
  const ExplorerOptions &options;
  ExplorerStatistics &statistics;
  SmallVector<unsigned> firstSlot, channelOfSlot;
  SmallVector<bool> isAcquired;
  /// True for channels whose acquires keep a commit from overtaking a wait for
  /// the phase before.
  SmallVector<bool> keepsPhases;
  std::vector<std::vector<Item>> items;
  std::vector<std::vector<unsigned>> queues;
  /// The footprints of everything that follows: from each event of a thread on,
  /// including TMA operations still to be issued, and from each queue entry on.
  std::vector<std::vector<Footprint>> threadRest, queueRest;
  std::map<std::pair<unsigned, int64_t>, unsigned> valueNumbers;
  std::vector<unsigned> readsOf, writesOf;
  /// Maps a value and the number of a write to the access that writes it.
  std::map<std::pair<unsigned, unsigned>, Access> writers;
  /// The pairs of writes of the same memory that came one after the other in
  /// some execution.
  std::set<std::pair<Access, Access>> orders;
  PlaceMap commits;
  /// Of each role.
  std::vector<PlaceMap> waits, releases;
  std::optional<ProtocolFinding> finding;
};

} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

Explorer::Explorer(const ProtocolModel &model, std::vector<Trace> roleTraces,
                   const ExplorerOptions &options,
                   ExplorerStatistics &statistics)
    : model(model), options(options), statistics(statistics),
      isAcquired(model.channels.size(), false),
      keepsPhases(model.channels.size(), false), waits(model.roles.size()),
      releases(model.roles.size()) {
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    firstSlot.push_back(channelOfSlot.size());
    channelOfSlot.append(channel.stages, i);
  }
  for (unsigned role = 0; role < roleTraces.size(); ++role) {
    for (const ProtocolEvent &event : roleTraces[role])
      if (event.kind == StepKind::Acquire)
        isAcquired[event.channel] = keepsPhases[event.channel] = true;
    for (const ProtocolEvent &event : roleTraces[role])
      if (event.kind == StepKind::Acquire && event.step->strength != Step::Full)
        keepsPhases[event.channel] = false;
    bool hasLanes = options.lanes && !model.roles[role].issues;
    for (int lane = hasLanes ? 0 : -1; lane <= (hasLanes ? 1 : -1); ++lane) {
      threads.push_back({role, lane});
      traces.push_back(roleTraces[role]);
    }
  }
  items.resize(traces.size());
  queues.resize(traces.size());
  threadRest.resize(traces.size());
  queueRest.resize(traces.size());
}

/// Checks for faults of a role that do not depend on the other roles.
void Explorer::checkRole(unsigned role) {
  struct Counts {
    int64_t acquired, waited = 0, released = 0;
  };
  SmallVector<Counts> counts;
  for (const ProtocolChannel &channel : model.channels)
    counts.push_back({channel.initial});
  for (const ProtocolEvent &event : traces[role]) {
    Counts &count = counts[event.channel];
    auto complain = [&](StringRef what) {
      report(event,
             formatv("channel \"{0}\": {1}", label(event.channel), what));
    };
    switch (event.kind) {
    case StepKind::Acquire:
      ++count.acquired;
      break;
    case StepKind::Commit:
      if (isAcquired[event.channel] && count.acquired <= event.position)
        complain("commit without acquire");
      break;
    case StepKind::Wait:
      ++count.waited;
      break;
    case StepKind::Release:
      ++count.released;
      if (count.waited < count.released)
        complain("release without wait");
      break;
    default:
      if (event.readsNothing)
        report(event, "reads a value that nobody writes");
      for (StageUse use : event.reads)
        if (model.channels[use.channel].producer != int(threads[role].role) &&
            counts[use.channel].released > use.position)
          report(event, formatv("channel \"{0}\": read after release",
                                label(use.channel)));
      if (event.write && isAcquired[event.write->channel] &&
          counts[event.write->channel].acquired <= event.write->position)
        report(event, formatv("channel \"{0}\": write without acquire",
                              label(event.write->channel)));
    }
  }
}

void Explorer::checkCounts() {
  // The numbers of acquires, commits, waits and releases of each channel; the
  // latter two by role.
  SmallVector<std::array<std::map<unsigned, int64_t>, 4>> counts(
      model.channels.size());
  auto kindOf = [](StepKind kind) {
    return kind == StepKind::Acquire  ? 0
           : kind == StepKind::Commit ? 1
           : kind == StepKind::Wait   ? 2
                                      : 3;
  };
  for (auto [thread, trace] : llvm::zip(threads, traces))
    for (const ProtocolEvent &event : trace)
      if (event.kind != StepKind::Access && thread.lane <= 0)
        ++counts[event.channel][kindOf(event.kind)][thread.role];
  for (unsigned i = 0; i < model.channels.size(); ++i) {
    const ProtocolChannel &channel = model.channels[i];
    auto total = [&](unsigned kind, int role) {
      return role == -1 ? 0 : counts[i][kind][role];
    };
    int64_t committed = total(1, channel.producer) + channel.initial;
    bool isBalanced = true;
    bool hasEmptySide = isAcquired[i] || !counts[i][3].empty();
    if (hasEmptySide)
      isBalanced &= total(0, channel.producer) + channel.initial == committed;
    for (unsigned consumer : channel.consumers) {
      isBalanced &= total(2, consumer) == committed;
      if (hasEmptySide)
        isBalanced &= total(3, consumer) == committed;
    }
    if (!isBalanced)
      report(channel.op,
             formatv("channel \"{0}\": tokens are left over at the end",
                     channel.label));
  }
}

void Explorer::prepareAccess(unsigned thread, unsigned number) {
  const ProtocolEvent &event = traces[thread][number];
  Item &item = items[thread][number];
  int lane = threads[thread].lane;
  auto halves = [&](StageUse stage, auto function) {
    for (unsigned half = 0; half < 2; ++half)
      if (lane == -1 || unsigned(lane) == half)
        function(ValueUse{unsigned(stage.channel),
                          2 * slotOf(stage.channel, stage.position) + half,
                          valueOf(stage) + half, 0});
  };
  for (StageUse stage : event.reads)
    halves(stage, [&](ValueUse read) {
      // The producer sees the writes that it has done so far, other roles see
      // all of them.
      bool isOwn =
          model.channels[read.channel].producer == int(threads[thread].role);
      read.writes = isOwn ? writesOf[read.value] : ~0u;
      ++readsOf[read.value];
      item.reads.push_back(read);
      item.footprint.reads.set(read.slot);
    });
  if (!event.write)
    return;
  halves(*event.write, [&](ValueUse write) {
    write.writes = ++writesOf[write.value];
    writers[{write.value, write.writes}] = {thread, number};
    item.writes.push_back(write);
  });
  auto stageOf = [&](StageUse use) {
    return use.position % model.channels[use.channel].stages;
  };
  for (StageUse operand :
       ArrayRef(event.reads).take_front(event.step->reads.size()))
    if (model.overlap(operand.channel, stageOf(operand), event.write->channel,
                      stageOf(*event.write)))
      report(event, formatv("channel \"{0}\": written over an operand",
                            label(event.write->channel)));
  // In tensor memory, rows are lanes. In shared memory, a row of one channel
  // may lie anywhere in another channel.
  const ProtocolChannel &channel = model.channels[event.write->channel];
  unsigned own = slotOf(event.write->channel, event.write->position);
  for (unsigned slot = 0; slot < channelOfSlot.size(); ++slot)
    if (model.overlap(
            event.write->channel, event.write->position % channel.stages,
            channelOfSlot[slot], slot - firstSlot[channelOfSlot[slot]]))
      for (unsigned half = 0; half < 2; ++half)
        if (lane == -1 || unsigned(lane) == half ||
            (!channel.inTensorMemory && slot != own))
          item.footprint.writes.set(2 * slot + half);
}

/// Prepares the phases of a channel without acquires. Only the rest of the
/// protocol keeps its commits from overtaking a wait, so a wait counts as an
/// access to the phase that commits change.
void Explorer::preparePhases(unsigned role, unsigned number) {
  const ProtocolEvent &event = traces[role][number];
  if (keepsPhases[event.channel])
    return;
  const ProtocolChannel &channel = model.channels[event.channel];
  unsigned phase =
      2 * channelOfSlot.size() + slotOf(event.channel, event.position);
  Item &item = items[role][number];
  if (event.kind == StepKind::Wait && event.position >= channel.initial &&
      event.step->strength == Step::Full)
    item.footprint.reads.set(phase);
  if (event.kind == StepKind::Commit &&
      event.position - channel.stages >= channel.initial) {
    item.footprint.writes.set(phase);
    // The load may be the operation that ends last.
    for (unsigned copy : item.copies)
      items[role][copy].footprint.writes.set(phase);
  }
}

void Explorer::prepare() {
  for (auto [i, channel] : llvm::enumerate(model.channels))
    for (int64_t position = 0; position < channel.initial; ++position)
      valueOf({int(i), position});
  for (unsigned role = 0; role < traces.size(); ++role) {
    items[role].resize(traces[role].size());
    bool issues = model.roles[threads[role].role].issues;
    unsigned ofRole = threads[role].role;
    for (auto [number, event] : llvm::enumerate(traces[role])) {
      Item &item = items[role][number];
      item.footprint.resize(3 * channelOfSlot.size());
      item.queuedBefore = queues[role].size();
      auto key = std::make_pair(event.channel, event.position);
      Place place{int(role), unsigned(number)};
      if (event.kind == StepKind::Access) {
        prepareAccess(role, number);
        item.isQueued = event.step->agent == Agent::Mma;
        item.isCopy = event.step->agent == Agent::Copy;
      } else if (event.kind == StepKind::Commit) {
        commits[key].push_back(place);
        // The arrival of a commit of MMAs is an entry of the MMA queue.
        item.isQueued = event.step->completes == Agent::Mma;
      } else if (event.kind == StepKind::Release) {
        releases[ofRole][key].push_back(place);
        item.isQueued = issues && !queues[role].empty();
      } else if (event.kind == StepKind::Wait) {
        waits[ofRole][key].push_back(place);
      }
      bool ends = event.kind == StepKind::Release ||
                  (event.kind == StepKind::Commit &&
                   event.step->completes == Agent::Copy);
      for (unsigned other = 0; ends && issues && other < number; ++other)
        if (items[role][other].isCopy) {
          const ProtocolEvent &copy = traces[role][other];
          StageUse use{int(event.channel), event.position};
          if (copy.write == use || llvm::is_contained(copy.reads, use))
            item.copies.push_back(other);
        }
      if (item.isQueued)
        queues[role].push_back(number);
      if (event.kind != StepKind::Access)
        preparePhases(role, number);
    }
  }
  prepareSuffixes();
}

void Explorer::prepareSuffixes() {
  for (unsigned role = 0; role < traces.size(); ++role) {
    Footprint rest;
    rest.resize(3 * channelOfSlot.size());
    threadRest[role].assign(traces[role].size() + 1, rest);
    for (unsigned i = traces[role].size(); i-- > 0;) {
      if (!items[role][i].isQueued)
        rest.add(items[role][i].footprint);
      threadRest[role][i] = rest;
    }
    rest.reads.reset();
    rest.writes.reset();
    queueRest[role].assign(queues[role].size() + 1, rest);
    for (unsigned i = queues[role].size(); i-- > 0;) {
      rest.add(items[role][queues[role][i]].footprint);
      queueRest[role][i] = rest;
    }
  }
  for (std::vector<Item> &list : items)
    for (Item &item : list)
      for (ValueUse &read : item.reads)
        if (read.writes == ~0u)
          read.writes = writesOf[read.value];
}

//===----------------------------------------------------------------------===//
// Transitions
//===----------------------------------------------------------------------===//

bool Explorer::isIssuedAndEnded(const State &state, Place place) const {
  const Item &item = items[place.role][place.event];
  if (state.next[place.role] <= place.event)
    return false;
  if (item.isQueued && state.ended[place.role] <= item.queuedBefore)
    return false;
  return llvm::none_of(item.copies, [&](unsigned copy) {
    return llvm::is_contained(state.copies[place.role], copy);
  });
}

Transition Explorer::needed(const State &state, Place place) const {
  unsigned role = place.role;
  const Item &item = items[role][place.event];
  if (state.next[role] <= place.event)
    return {Transition::Thread, role};
  if (item.isQueued && state.ended[role] <= item.queuedBefore)
    return {Transition::Queue, role};
  for (unsigned copy : item.copies)
    if (llvm::is_contained(state.copies[role], copy))
      return {Transition::Copy, role, copy};
  llvm_unreachable("done");
}

std::optional<Transition> Explorer::blocker(const State &state,
                                            unsigned role) const {
  Transition self{Transition::Thread, role};
  const ProtocolEvent &event = traces[role][state.next[role]];
  const ProtocolChannel &channel = model.channels[event.channel];
  if (event.step->strength == Step::Weak)
    return {};
  if (event.kind == StepKind::Wait && event.position >= channel.initial) {
    // If there is no such commit, the wait waits for itself, that is, forever.
    ArrayRef<Place> places = find(commits, event.channel, event.position);
    if (places.empty())
      return self;
    for (Place place : places)
      if (!isIssuedAndEnded(state, place))
        return needed(state, place);
  }
  if (event.kind == StepKind::Acquire && event.position >= channel.stages)
    for (unsigned consumer : channel.consumers) {
      ArrayRef<Place> places = find(releases[consumer], event.channel,
                                    event.position - channel.stages);
      if (places.empty())
        return self;
      for (Place place : places)
        if (!isIssuedAndEnded(state, place))
          return needed(state, place);
    }
  return {};
}

bool Explorer::isEnabled(const State &state,
                         const Transition &transition) const {
  unsigned role = transition.role;
  switch (transition.kind) {
  case Transition::Thread:
    return state.next[role] < traces[role].size() && !blocker(state, role);
  case Transition::Queue:
    return state.ended[role] < queues[role].size() &&
           queues[role][state.ended[role]] < state.next[role];
  case Transition::Copy:
    return true;
  }
  llvm_unreachable("covered");
}

const Item &Explorer::itemOf(const State &state,
                             const Transition &transition) const {
  unsigned role = transition.role;
  switch (transition.kind) {
  case Transition::Thread:
    return items[role][state.next[role]];
  case Transition::Queue:
    return items[role][queues[role][state.ended[role]]];
  case Transition::Copy:
    return items[role][transition.event];
  }
  llvm_unreachable("covered");
}

SmallVector<Transition> Explorer::processes(const State &state) const {
  SmallVector<Transition> result;
  for (unsigned role = 0; role < traces.size(); ++role) {
    if (state.next[role] < traces[role].size())
      result.push_back({Transition::Thread, role});
    if (state.ended[role] < queues[role].size())
      result.push_back({Transition::Queue, role});
    for (unsigned copy : state.copies[role])
      result.push_back({Transition::Copy, role, copy});
  }
  return result;
}

bool Explorer::mayConflict(const State &state, const Footprint &footprint,
                           const Transition &process) const {
  unsigned role = process.role;
  switch (process.kind) {
  case Transition::Thread:
    return footprint.conflicts(threadRest[role][state.next[role]]);
  case Transition::Queue:
    return footprint.conflicts(queueRest[role][state.ended[role]]);
  case Transition::Copy:
    return footprint.conflicts(items[role][process.event].footprint);
  }
  llvm_unreachable("covered");
}

/// Returns true if an event takes effect when it ends, not when it is issued.
static bool isDeferred(const Item &item) {
  return item.isQueued || item.isCopy;
}

/// Returns the enabled transitions of a persistent set of processes: no later
/// transition of other processes conflicts with these, or enables more of them.
SmallVector<Transition> Explorer::closure(const State &state,
                                          Transition seed) const {
  SmallVector<Transition> members{seed}, enabled;
  std::set<Transition> known{seed};
  auto add = [&](Transition process) {
    if (known.insert(process).second)
      members.push_back(process);
  };
  SmallVector<Transition> all = processes(state);
  for (size_t i = 0; i < members.size(); ++i) {
    Transition process = members[i];
    if (!isEnabled(state, process)) {
      if (process.kind == Transition::Queue)
        add({Transition::Thread, process.role});
      else if (state.next[process.role] < traces[process.role].size())
        add(*blocker(state, process.role));
      continue;
    }
    enabled.push_back(process);
    const Item &item = itemOf(state, process);
    if (process.kind == Transition::Thread && isDeferred(item))
      continue;
    for (const Transition &other : all)
      if (!known.count(other) && mayConflict(state, item.footprint, other))
        add(other);
  }
  return enabled;
}

SmallVector<Transition> Explorer::choose(const State &state) const {
  SmallVector<Transition> enabled;
  for (const Transition &transition : processes(state))
    if (isEnabled(state, transition))
      enabled.push_back(transition);
  if (!options.reduce)
    return enabled;
  SmallVector<Transition> best = enabled;
  for (const Transition &transition : enabled) {
    if (best.size() == 1)
      break;
    const Item &item = itemOf(state, transition);
    bool isLocal = item.footprint.isEmpty() ||
                   (transition.kind == Transition::Thread && isDeferred(item));
    SmallVector<Transition> set = isLocal ? SmallVector<Transition>{transition}
                                          : closure(state, transition);
    if (set.size() < best.size())
      best = std::move(set);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

void Explorer::performAccess(State &state, unsigned thread, unsigned number) {
  const Item &item = items[thread][number];
  const ProtocolEvent &event = traces[thread][number];
  for (ValueUse read : item.reads) {
    auto [value, writes] = state.slots[read.slot];
    if (value != read.value || writes != read.writes)
      report(event,
             formatv("channel \"{0}\": {1} reads a stage that does not contain "
                     "the value",
                     label(read.channel), name(thread)));
    ++state.readsDone[read.value];
  }
  if (item.writes.empty())
    return;
  for (unsigned slot : item.footprint.writes.set_bits()) {
    // The slots behind those of the stages are phases.
    if (slot >= state.slots.size())
      break;
    unsigned value = state.slots[slot].first;
    bool isOwn = llvm::any_of(item.writes, [&](const ValueUse &write) {
      return write.value == value;
    });
    if (auto writer = writers.find(state.slots[slot]); writer != writers.end())
      checkOrder(writer->second, {thread, number}, slot);
    if (value != 0 && !isOwn && state.readsDone[value] < readsOf[value])
      report(
          event,
          formatv("channel \"{0}\": {1} overwrites a value of channel \"{2}\" "
                  "that is still to be read",
                  label(event.write->channel), name(thread),
                  label(channelOfSlot[slot / 2])));
    state.slots[slot] = {0, 0};
  }
  for (ValueUse write : item.writes)
    state.slots[write.slot] = {write.value, write.writes};
}

/// Two writes that come in both orders race, even if nobody reads the result.
void Explorer::checkOrder(Access first, Access second, unsigned slot) {
  orders.insert({first, second});
  if (!orders.count({second, first}))
    return;
  const ProtocolEvent &event = traces[second.first][second.second];
  report(
      event,
      formatv("channel \"{0}\": nothing orders this write by {1} with one by "
              "{2} of channel \"{3}\"",
              label(event.write->channel), name(second.first),
              name(first.first), label(channelOfSlot[slot / 2])));
}

/// A commit completes a phase now. Checks whether a role still has to wait for
/// the phase before.
void Explorer::checkPhase(const State &state, unsigned role, unsigned number) {
  const ProtocolEvent &event = traces[role][number];
  const ProtocolChannel &channel = model.channels[event.channel];
  int64_t previous = event.position - channel.stages;
  if (keepsPhases[event.channel] || previous < channel.initial)
    return;
  if (!isDone(state, find(commits, event.channel, event.position)))
    return;
  for (unsigned consumer : channel.consumers) {
    bool isSeen = llvm::all_of(
        find(waits[consumer], event.channel, previous), [&](Place place) {
          return state.next[place.role] > place.event ||
                 traces[place.role][place.event].step->strength == Step::Weak;
        });
    if (!isSeen || find(waits[consumer], event.channel, previous).empty())
      report(event, formatv("channel \"{0}\": commit overtakes a wait by {1}",
                            channel.label, "@" + model.roles[consumer].name));
  }
}

void Explorer::execute(State &state, const Transition &transition) {
  ++statistics.transitions;
  unsigned role = transition.role;
  unsigned number = transition.event;
  if (transition.kind == Transition::Thread) {
    number = state.next[role]++;
    const Item &item = items[role][number];
    if (item.isQueued)
      return;
    if (item.isCopy) {
      state.copies[role].push_back(number);
      return;
    }
  } else if (transition.kind == Transition::Queue) {
    number = queues[role][state.ended[role]++];
  } else {
    llvm::erase(state.copies[role], number);
  }
  const ProtocolEvent &event = traces[role][number];
  if (event.kind == StepKind::Access)
    performAccess(state, role, number);
  if (event.kind == StepKind::Commit)
    checkPhase(state, role, number);
  if (transition.kind == Transition::Copy && event.write)
    for (Place place :
         find(commits, event.write->channel, event.write->position))
      checkPhase(state, place.role, place.event);
}

void Explorer::setKey(SmallVectorImpl<uint32_t> &key,
                      const State &state) const {
  key.clear();
  for (unsigned role = 0; role < traces.size(); ++role) {
    ArrayRef<unsigned> copies = state.copies[role];
    key.append({state.next[role], state.ended[role], unsigned(copies.size())});
    key.append(copies.begin(), copies.end());
  }
  for (auto [value, writes] : state.slots)
    key.append({value, writes});
}

std::string Explorer::describeBlocked(const State &state,
                                      unsigned thread) const {
  const ProtocolEvent &event = traces[thread][state.next[thread]];
  const ProtocolChannel &channel = model.channels[event.channel];
  bool isWait = event.kind == StepKind::Wait;
  unsigned by = blocker(state, thread)->role;
  std::string whom = by == thread ? "which never comes" : "by " + name(by);
  return formatv("{0} waits for {1} number {2} of channel \"{3}\"{4} {5}",
                 name(thread), isWait ? "commit" : "release",
                 isWait ? event.position + 1
                        : event.position - channel.stages + 1,
                 channel.label, by == thread ? "," : "", whom);
}

/// Reports who waits for whom: a cycle, or a signal that never comes.
void Explorer::reportDeadlock(const State &state) {
  unsigned thread = 0;
  while (state.next[thread] == traces[thread].size())
    ++thread;
  SmallVector<unsigned> chain;
  while (!llvm::is_contained(chain, thread)) {
    chain.push_back(thread);
    thread = blocker(state, thread)->role;
  }
  chain.erase(chain.begin(), llvm::find(chain, thread));
  const ProtocolEvent &event = traces[thread][state.next[thread]];
  report(event.step->op, formatv("channel \"{0}\": {1} never goes on",
                                 label(event.channel), name(thread)));
  for (unsigned blocked : chain) {
    const ProtocolEvent &waiting = traces[blocked][state.next[blocked]];
    finding->notes.push_back(
        {waiting.step->op, describeBlocked(state, blocked)});
    if (blocker(state, blocked)->role == blocked)
      finding->channels.push_back(waiting.channel);
  }
}

std::optional<ProtocolFinding> Explorer::run() {
  for (unsigned role = 0; role < traces.size() && !finding; ++role)
    checkRole(role);
  if (finding)
    return finding;
  prepare();
  State first;
  first.next.assign(traces.size(), 0);
  first.ended.assign(traces.size(), 0);
  first.copies.resize(traces.size());
  first.slots.assign(2 * channelOfSlot.size(), {0, 0});
  first.readsDone.assign(readsOf.size(), 0);
  for (auto [i, channel] : llvm::enumerate(model.channels))
    for (int64_t position = 0; position < channel.initial; ++position)
      for (unsigned half = 0; half < 2; ++half)
        first.slots[2 * slotOf(i, position) + half] = {
            valueOf({int(i), position}) + half, 0};
  llvm::StringSet<> seen;
  SmallVector<uint32_t, 256> key;
  // The search is breadth-first, so the first fault found is one with the
  // fewest steps.
  std::deque<State> queue{first};
  while (!queue.empty() && !finding) {
    State state = std::move(queue.front());
    queue.pop_front();
    if (++statistics.states > options.maxStates) {
      statistics.gaveUp = true;
      break;
    }
    SmallVector<Transition> transitions = choose(state);
    if (transitions.empty() && !processes(state).empty())
      reportDeadlock(state);
    for (const Transition &transition : transitions) {
      State next = state;
      execute(next, transition);
      for (auto &copies : next.copies)
        llvm::sort(copies);
      setKey(key, next);
      StringRef bytes(reinterpret_cast<const char *>(key.data()),
                      key.size_in_bytes());
      if (seen.insert(bytes).second)
        queue.push_back(std::move(next));
    }
  }
  if (!finding)
    checkCounts();
  return std::move(finding);
}

static std::string listPasses(llvm::ArrayRef<int64_t> passes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(passes, os, ", then ");
  return text + (passes.size() == 1 && passes[0] == 1 ? " pass" : " passes");
}

static void notePasses(const ProtocolModel &model, const ProtocolCase &choice,
                       ProtocolFinding &finding) {
  FindingConcerns concerns(model, finding);
  for (auto [loop, passes] : llvm::zip(model.loops, choice.passes))
    if (concerns.isAbout(loop))
      finding.notes.push_back(
          {loop.op,
           formatv("@{0} makes {1} of this loop", model.roles[loop.role].name,
                   passes.empty() ? "no passes" : listPasses(passes))});
  noteSizes(model, choice.sizes, finding);
}

std::optional<ProtocolFinding>
fa4::tile::exploreProtocol(const ProtocolModel &model,
                           const ExplorerOptions &options,
                           ExplorerStatistics *statistics) {
  ExplorerStatistics unused;
  ExplorerStatistics &counts = statistics ? *statistics : unused;
  bool isNested = llvm::any_of(
      model.loops, [](const ProtocolLoop &loop) { return loop.inside > 0; });
  int64_t maxPasses = options.maxPasses, maxOuterPasses = maxPasses;
  bool hasSeveralTiles = llvm::any_of(
      model.loops, [](const auto &loop) { return llvm::isa<WorkOp>(loop.op); });
  if (maxPasses == 0 && hasSeveralTiles) {
    // Rings go on from work tile to work tile, so few passes in each go round.
    maxPasses = maxOuterPasses = 2;
  } else if (maxPasses == 0) {
    for (const ProtocolChannel &channel : model.channels)
      maxPasses = std::max(maxPasses, channel.stages);
    maxPasses += isNested ? 1 : 2;
    maxOuterPasses = 3;
  }
  ProtocolInputs inputs(model);
  for (auto [i, loop] : llvm::enumerate(model.loops))
    if (auto passes = inputs.countPasses(i, RoleCursor(model, loop.role));
        passes && *passes < kMaxConstantPasses) {
      int64_t &limit = loop.inside ? maxOuterPasses : maxPasses;
      limit = std::max(limit, *passes);
    }
  auto cases = findProtocolCases(model, inputs, maxPasses, maxOuterPasses,
                                 kMaxCases, options.corners);
  if (!cases) {
    counts.gaveUp = true;
    return {};
  }
  for (ProtocolCase &choice : cases->small) {
    ++counts.cases;
    auto finding =
        Explorer(model, std::move(choice.traces), options, counts).run();
    if (finding) {
      finding->passes = choice.total();
      notePasses(model, choice, *finding);
      return finding;
    }
    if (counts.gaveUp)
      return {};
  }
  for (const ProtocolSizes &sizes : cases->large) {
    ++counts.corners;
    if (auto finding =
            runProtocolTokens(model, inputs, sizes, options.maxTokenEvents))
      return finding;
  }
  return {};
}
