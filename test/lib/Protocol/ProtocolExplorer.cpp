//===- ProtocolExplorer.cpp - all interleavings of a kernel's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolExplorer.h"
#include "Protocol/ExplorerOrder.h"
#include "Protocol/ProtocolTokens.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>
#include <set>

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

/// The largest number of cases (choices of trip counts) that are explored.
static constexpr size_t kMaxCases = 20000;

/// Of loops whose bounds are constants, so many passes are all explored.
static constexpr int64_t kMaxConstantPasses = 1000;

namespace {

struct State {
  /// The actions that have happened, and those that may happen now.
  llvm::BitVector done;
  SmallVector<unsigned> enabled;
  /// The value in each half of a stage and the number of its writes.
  SmallVector<std::pair<unsigned, unsigned>, 0> contents;
  /// The number of reads of each value that have been done. The rest of the
  /// state determines it.
  SmallVector<unsigned, 0> readsDone;
};

/// One choice of all numbers of passes.
class Explorer {
public:
  Explorer(const ProtocolModel &model, const std::vector<ProtocolTrace> &traces,
           const ExplorerOptions &options, ExplorerStatistics &statistics)
      : model(model), graph(model, traces), traces(traces), options(options),
        statistics(statistics) {}
  std::optional<ProtocolFinding> run();

private:
  void checkRole(unsigned role, const ProtocolTrace &trace);
  void checkCounts();
  void checkUnordered(MemorySpace memory);

  State begin() const;
  void search();
  void runAlone(State &state);
  void execute(State &state, unsigned number);
  bool isDone(const State &state, ArrayRef<unsigned> actions) const {
    return llvm::all_of(
        actions, [&](unsigned action) { return state.done.test(action); });
  }
  void performAccess(State &state, unsigned number);
  void checkOrder(unsigned first, unsigned second, unsigned half);
  void checkPhase(const State &state, const ExplorerCommit &commit,
                  const ProtocolEvent &event);
  void checkTurn(const State &state, const Action &action);

  /// The next step of a thread, which has one.
  const Action &nextStep(const State &state, unsigned thread) const;
  std::optional<unsigned> blocker(const State &state, unsigned thread) const;
  std::string describeBlocked(const State &state, unsigned thread) const;
  void reportDeadlock(const State &state);
  void report(Operation *op, std::string message) {
    if (!finding)
      finding = ProtocolFinding{op, std::move(message), {}};
  }
  void report(const ProtocolEvent &event, std::string message);
  /// Sets `key` to what tells `state` from others.
  static void setKey(SmallVectorImpl<char> &key, const State &state);

  std::string nameOf(unsigned role, unsigned rank) const {
    return "@" + model.roles[role].name + (rank == 0 ? "" : " (peer)");
  }
  std::string name(unsigned thread) const {
    const ExplorerThread &of = graph.getThreads()[thread];
    return nameOf(of.role, of.rank);
  }
  std::string label(ChannelOfCta of) const {
    return model.channels[of.channel].label + (of.rank == 0 ? "" : " (peer)");
  }

  const ProtocolModel &model;
  ExplorerActions graph;
  const std::vector<ProtocolTrace> &traces;
  const ExplorerOptions &options;
  ExplorerStatistics &statistics;
  std::vector<SmallVector<unsigned, 0>> rivals;
  /// The pairs of writes of the same memory that came one after the other in
  /// some execution.
  std::set<std::pair<unsigned, unsigned>> orders;
  std::optional<ProtocolFinding> finding;
};

} // namespace

void Explorer::report(const ProtocolEvent &event, std::string message) {
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

//===----------------------------------------------------------------------===//
// What does not depend on the order
//===----------------------------------------------------------------------===//

/// Checks for faults of a role that do not depend on the other roles.
void Explorer::checkRole(unsigned role, const ProtocolTrace &trace) {
  struct Counts {
    int64_t acquired, waited = 0, released = 0;
  };
  SmallVector<Counts> counts;
  for (const ProtocolChannel &channel : model.channels)
    counts.push_back({channel.initial});
  auto hasAcquired = [&](unsigned channel, int64_t position) {
    return graph.getAcquirer(channel) == -1 || graph.isForeign(channel) ||
           counts[channel].acquired > position;
  };
  for (const ProtocolEvent &event : trace) {
    Counts &count = counts[event.channel];
    auto complain = [&](unsigned channel, StringRef what) {
      report(event, formatv("channel \"{0}\": {1}",
                            model.channels[channel].label, what));
    };
    switch (event.kind) {
    case StepKind::Acquire:
      ++count.acquired;
      break;
    case StepKind::Commit:
      if (!hasAcquired(event.channel, event.position))
        complain(event.channel, "commit without acquire");
      break;
    case StepKind::Wait:
      ++count.waited;
      break;
    case StepKind::Release:
      ++count.released;
      if (count.waited < count.released)
        complain(event.channel, "release without wait");
      break;
    default:
      if (event.readsNothing)
        report(event, formatv("@{0} reads a value that nobody writes",
                              model.roles[role].name));
      for (StageUse use : event.reads)
        if (model.channels[use.channel].producer != int(role) &&
            counts[use.channel].released > use.position)
          complain(use.channel, "read after release");
      if (event.write &&
          !hasAcquired(event.write->channel, event.write->position))
        complain(event.write->channel, "write without acquire");
    }
  }
}

/// Compares the numbers of acquires, commits, waits and releases of each
/// channel in each CTA.
void Explorer::checkCounts() {
  // By role, for each channel of each CTA.
  using Counts = std::array<std::map<int, int64_t>, 4>;
  unsigned ctas = KernelOp(model.kernel).getClusterSize();
  std::vector<std::vector<Counts>> counts(
      ctas, std::vector<Counts>(model.channels.size()));
  auto kindOf = [](StepKind kind) {
    return kind == StepKind::Acquire  ? 0
           : kind == StepKind::Commit ? 1
           : kind == StepKind::Wait   ? 2
                                      : 3;
  };
  for (const ExplorerThread &thread : graph.getThreads())
    for (unsigned step : thread.steps) {
      const ProtocolEvent &event = *graph.getActions()[step].event;
      if (event.kind == StepKind::Access || thread.lane > 0)
        continue;
      bool isCommit = event.kind == StepKind::Commit;
      bool isOfProducer = isCommit || event.kind == StepKind::Acquire;
      bool arrives = isCommit || event.kind == StepKind::Release;
      for (unsigned rank :
           isCommit ? graph.ranksOf(thread, event.channel) : thread.ranks)
        if ((!arrives || event.step->lacking != int(rank)) &&
            (isOfProducer ||
             graph.consumesIn(thread.role, {rank, event.channel})))
          ++counts[rank][event.channel][kindOf(event.kind)][thread.role];
    }
  for (unsigned rank = 0; rank < ctas; ++rank)
    for (auto [i, channel] : llvm::enumerate(model.channels)) {
      Counts &count = counts[rank][i];
      int acquirer = graph.getAcquirer(i);
      int64_t committed = count[1][channel.producer] + channel.initial;
      bool isBalanced = true;
      bool hasEmptySide = acquirer != -1 || !count[3].empty();
      if (hasEmptySide)
        isBalanced &= count[0][acquirer] + channel.initial == committed;
      for (unsigned consumer : channel.consumers) {
        if (!graph.consumesIn(consumer, {rank, unsigned(i)}))
          continue;
        isBalanced &= count[2][consumer] == committed;
        if (hasEmptySide)
          isBalanced &= count[3][consumer] == committed;
      }
      if (!isBalanced)
        report(channel.op,
               formatv("channel \"{0}\": tokens are left over at the end",
                       label({rank, unsigned(i)})));
    }
}

/// No order of actions shows what a relaxed arrival leaves open: an access to
/// shared memory has happened in it, but need not be seen. The same holds for
/// tensor memory and arrivals without its fences.
void Explorer::checkUnordered(MemorySpace memory) {
  auto pair = findUnorderedPair(graph, memory);
  if (!pair)
    return;
  const Action &first = graph.getActions()[pair->first],
               &second = graph.getActions()[pair->second];
  report(*second.event,
         formatv("only {0} order this access of {1} to {2} memory behind one "
                 "of {3}",
                 memory == MemorySpace::tmem ? "arrivals without fences"
                                             : "relaxed arrivals",
                 name(second.thread),
                 memory == MemorySpace::tmem ? "tensor" : "shared",
                 name(first.thread)));
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

void Explorer::performAccess(State &state, unsigned number) {
  const Action &action = graph.getActions()[number];
  const ProtocolEvent &event = *action.event;
  for (const HalfStage &read : action.reads) {
    auto [value, writes] = state.contents[read.place];
    if (value != read.value || writes != read.writes)
      report(event,
             formatv("channel \"{0}\": {1} reads a stage that does not contain "
                     "the value",
                     label(read.channel), name(action.thread)));
    ++state.readsDone[read.value];
  }
  for (auto [half, how] : action.touches) {
    if (how != Touch::Write && how != Touch::Spoil)
      continue;
    unsigned value = state.contents[half].first,
             writes = state.contents[half].second;
    bool isOwn = llvm::any_of(action.writes, [&](const HalfStage &write) {
      return write.value == value;
    });
    if (std::optional<unsigned> writer = graph.findWriter(value, writes))
      checkOrder(*writer, number, half);
    if (value != 0 && !isOwn &&
        state.readsDone[value] < graph.getReads()[value])
      report(event, formatv("channel \"{0}\": {1} overwrites a value of "
                            "channel \"{2}\" that is still to be read",
                            label(action.writes.front().channel),
                            name(action.thread), label(graph.channelOf(half))));
    state.contents[half] = {0, 0};
  }
  for (const HalfStage &write : action.writes)
    state.contents[write.place] = {write.value, write.writes};
}

/// Two writes that come in both orders race, even if nobody reads the result.
void Explorer::checkOrder(unsigned first, unsigned second, unsigned half) {
  orders.insert({first, second});
  if (!orders.count({second, first}))
    return;
  const Action &earlier = graph.getActions()[first],
               &later = graph.getActions()[second];
  report(*later.event,
         formatv("channel \"{0}\": nothing orders this write by {1} with one "
                 "by {2} of channel \"{3}\"",
                 label(later.writes.front().channel), name(later.thread),
                 name(earlier.thread), label(graph.channelOf(half))));
}

/// If the commit completes a phase now, checks whether a role still has to wait
/// for the phase before.
void Explorer::checkPhase(const State &state, const ExplorerCommit &commit,
                          const ProtocolEvent &event) {
  ChannelOfCta of = commit.channel;
  const ProtocolChannel &channel = model.channels[of.channel];
  int64_t previous = commit.position - channel.stages;
  if (graph.keepsPhases(of.channel) || previous < channel.initial ||
      !isDone(state, commit.actions))
    return;
  for (unsigned consumer : channel.consumers) {
    if (!graph.consumesIn(consumer, of))
      continue;
    const auto *waits = graph.findWaits(of, consumer, previous);
    bool isLeader = RoleOp(model.roles[consumer].op).getLeader();
    if (!waits || !isDone(state, *waits))
      report(event,
             formatv("channel \"{0}\": commit overtakes a wait by {1}",
                     label(of), nameOf(consumer, isLeader ? 0 : of.rank)));
  }
}

/// Checks that another role that acquires for this one has done so before a
/// commit.
void Explorer::checkTurn(const State &state, const Action &action) {
  const ProtocolEvent &event = *action.event;
  if (event.kind != StepKind::Commit || !graph.isForeign(event.channel))
    return;
  const ExplorerThread &thread = graph.getThreads()[action.thread];
  for (unsigned rank : graph.ranksOf(thread, event.channel)) {
    ChannelOfCta of{rank, event.channel};
    const auto *acquires = graph.findForeignAcquires(of, event.position);
    if (!acquires || !isDone(state, *acquires))
      report(event, formatv("channel \"{0}\": commit before the stage is "
                            "acquired",
                            label(of)));
  }
}

void Explorer::execute(State &state, unsigned number) {
  ++statistics.transitions;
  const Action &action = graph.getActions()[number];
  state.done.set(number);
  llvm::erase(state.enabled, number);
  for (unsigned next : action.neededBy) {
    const Action &other = graph.getActions()[next];
    if (!other.isNever && isDone(state, other.needs) &&
        !llvm::is_contained(state.enabled, next))
      state.enabled.push_back(next);
  }
  if (action.kind == Action::Step)
    checkTurn(state, action);
  if (action.event->kind == StepKind::Access && action.hasEffect)
    performAccess(state, number);
  for (unsigned commit : action.commits)
    checkPhase(state, graph.getCommit(commit), *action.event);
}

//===----------------------------------------------------------------------===//
// Roles that wait forever
//===----------------------------------------------------------------------===//

static const unsigned *findNext(ArrayRef<unsigned> steps,
                                const llvm::BitVector &done) {
  return llvm::find_if(steps, [&](unsigned step) { return !done.test(step); });
}

const Action &Explorer::nextStep(const State &state, unsigned thread) const {
  return graph
      .getActions()[*findNext(graph.getThreads()[thread].steps, state.done)];
}

/// The thread for which the thread's next step waits; none if the step waits
/// for what never comes.
std::optional<unsigned> Explorer::blocker(const State &state,
                                          unsigned thread) const {
  const Action &next = nextStep(state, thread);
  if (!next.isNever)
    for (unsigned needed : next.needs)
      if (!state.done.test(needed))
        return graph.getActions()[needed].thread;
  return std::nullopt;
}

std::string Explorer::describeBlocked(const State &state,
                                      unsigned thread) const {
  const ProtocolEvent &event = *nextStep(state, thread).event;
  const ProtocolChannel &channel = model.channels[event.channel];
  bool isWait = event.kind == StepKind::Wait;
  std::optional<unsigned> by = blocker(state, thread);
  return formatv(
      "{0} waits for {1} number {2} of channel \"{3}\"{4}", name(thread),
      isWait ? "commit" : "release",
      isWait ? event.position + 1 : event.position - channel.stages + 1,
      channel.label, by ? " by " + name(*by) : ", which never comes");
}

/// Reports who waits for whom: a cycle, or a signal that never comes.
void Explorer::reportDeadlock(const State &state) {
  unsigned thread = 0;
  auto isAtEnd = [&](unsigned number) {
    ArrayRef<unsigned> steps = graph.getThreads()[number].steps;
    return findNext(steps, state.done) == steps.end();
  };
  while (isAtEnd(thread))
    ++thread;
  SmallVector<unsigned> chain;
  std::optional<unsigned> next = thread;
  while (next && !llvm::is_contained(chain, *next)) {
    chain.push_back(*next);
    next = blocker(state, *next);
  }
  chain.erase(chain.begin(),
              next ? llvm::find(chain, *next) : std::prev(chain.end()));
  const ProtocolEvent &event = *nextStep(state, chain.front()).event;
  report(event.step->op,
         formatv("channel \"{0}\": {1} never goes on",
                 model.channels[event.channel].label, name(chain.front())));
  for (unsigned blocked : chain) {
    const ProtocolEvent &waiting = *nextStep(state, blocked).event;
    finding->notes.push_back(
        {waiting.step->op, describeBlocked(state, blocked)});
    if (!blocker(state, blocked))
      finding->channels.push_back(waiting.channel);
  }
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

State Explorer::begin() const {
  State state;
  state.done.resize(graph.getActions().size());
  for (auto [number, action] : llvm::enumerate(graph.getActions()))
    if (action.needs.empty() && !action.isNever)
      state.enabled.push_back(number);
  state.contents.assign(graph.getHalfCount(), {0, 0});
  state.readsDone.assign(graph.getReads().size(), 0);
  for (const HalfStage &half : graph.getInitial())
    state.contents[half.place] = {half.value, 0};
  return state;
}

void Explorer::setKey(SmallVectorImpl<char> &key, const State &state) {
  auto bytesOf = [&](const auto &list) {
    const char *begin = reinterpret_cast<const char *>(list.data());
    key.append(begin, begin + list.size() * sizeof(list[0]));
  };
  key.clear();
  bytesOf(state.done.getData());
  bytesOf(state.contents);
}

/// Goes on as long as there is an action all of whose rivals have happened:
/// then that action alone is tried, and the state in between needs no place
/// among those that are kept.
void Explorer::runAlone(State &state) {
  while (!finding && statistics.states <= options.maxStates) {
    auto *alone = llvm::find_if(state.enabled, [&](unsigned action) {
      return isDone(state, rivals[action]);
    });
    if (alone == state.enabled.end())
      return;
    ++statistics.states;
    execute(state, *alone);
  }
}

void Explorer::search() {
  llvm::StringSet<> seen;
  SmallVector<char, 0> key;
  // The search is breadth-first, so the first fault found is one with few
  // steps.
  std::deque<State> queue{begin()};
  while (!queue.empty() && !finding) {
    State state = std::move(queue.front());
    queue.pop_front();
    if (options.reduce)
      runAlone(state);
    if (++statistics.states > options.maxStates) {
      statistics.gaveUp = true;
      return;
    }
    if (finding)
      return;
    if (state.enabled.empty() && !state.done.all())
      reportDeadlock(state);
    SmallVector<unsigned> tried(state.enabled);
    if (options.reduce)
      tried = chooseActions(graph, rivals, state.done, state.enabled);
    for (unsigned action : tried) {
      State next = state;
      execute(next, action);
      setKey(key, next);
      if (seen.insert(StringRef(key.data(), key.size())).second)
        queue.push_back(std::move(next));
    }
  }
}

std::optional<ProtocolFinding> Explorer::run() {
  for (auto [role, trace] : llvm::zip_equal(listRolesOfCtas(model), traces))
    checkRole(role.role, trace);
  if (const auto &overwritten = graph.getOverwritten())
    report(*overwritten->first,
           formatv("channel \"{0}\": written over an operand",
                   model.channels[overwritten->second].label));
  checkUnordered(MemorySpace::smem);
  checkUnordered(MemorySpace::tmem);
  if (finding)
    return finding;
  if (options.reduce)
    rivals = findRivals(graph);
  search();
  if (!finding && !statistics.gaveUp)
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

/// Returns the largest number of passes of loops, and of loops with loops in
/// them, that are explored.
static std::pair<int64_t, int64_t>
choosePasses(const ProtocolModel &model, ProtocolInputs &inputs,
             const ExplorerOptions &options) {
  bool isNested = llvm::any_of(
      model.loops, [](const ProtocolLoop &loop) { return loop.inside > 0; });
  int64_t maxPasses = options.maxPasses, maxOuterPasses = maxPasses;
  bool hasSeveralTiles = llvm::any_of(
      model.loops, [](const auto &loop) { return llvm::isa<WorkOp>(loop.op); });
  if (maxPasses == 0 && hasSeveralTiles) {
    // Rings go on from work tile to work tile, so few passes in each go round.
    maxPasses = maxOuterPasses = 2;
    if (options.isDeep)
      for (const ProtocolChannel &channel : model.channels)
        maxPasses = std::max(maxPasses, channel.stages + 1);
  } else if (maxPasses == 0) {
    for (const ProtocolChannel &channel : model.channels)
      maxPasses = std::max(maxPasses, channel.stages);
    maxPasses += isNested ? 1 : 2;
    maxOuterPasses = 3;
  }
  for (auto [i, loop] : llvm::enumerate(model.loops))
    if (auto passes = inputs.countPasses(i, RoleCursor(model, loop.role));
        passes && *passes < kMaxConstantPasses) {
      int64_t &limit = loop.inside ? maxOuterPasses : maxPasses;
      limit = std::max(limit, *passes);
    }
  return {maxPasses, maxOuterPasses};
}

std::optional<ProtocolFinding>
fa4::tile::exploreProtocol(const ProtocolModel &model,
                           const ExplorerOptions &options,
                           ExplorerStatistics *statistics) {
  ExplorerStatistics unused;
  ExplorerStatistics &counts = statistics ? *statistics : unused;
  ProtocolInputs inputs(model);
  auto [maxPasses, maxOuterPasses] = choosePasses(model, inputs, options);
  auto cases = findProtocolCases(model, inputs, maxPasses, maxOuterPasses,
                                 kMaxCases, options.corners, options.choices);
  if (!cases) {
    counts.gaveUp = true;
    return {};
  }
  for (ProtocolCase &choice : cases->small) {
    ++counts.cases;
    auto finding = Explorer(model, choice.traces, options, counts).run();
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
