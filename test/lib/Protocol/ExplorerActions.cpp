//===- ExplorerActions.cpp - what the CTAs of a kernel do, one by one ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ExplorerActions.h"

using namespace mlir;
using namespace fa4::tile;

/// In HalfStage::writes, until all writes are known: all of them.
static constexpr unsigned kAllWrites = ~0u;

ExplorerActions::ExplorerActions(const ProtocolModel &model,
                                 const std::vector<ProtocolTrace> &traces)
    : model(model), ctas(KernelOp(model.kernel).getClusterSize()),
      acquirer(model.channels.size(), -1),
      isPhaseKept(model.channels.size(), false) {
  for (unsigned rank = 0; rank < ctas; ++rank)
    for (auto [i, channel] : llvm::enumerate(model.channels)) {
      firstStage.push_back(stages.size());
      stages.append(channel.stages, {rank, unsigned(i)});
    }
  std::vector<RoleOfCta> roles = listRolesOfCtas(model);
  for (auto [role, trace] : llvm::zip_equal(roles, traces))
    for (const ProtocolEvent &event : trace)
      if (event.kind == StepKind::Acquire) {
        acquirer[event.channel] = role.role;
        isPhaseKept[event.channel] = true;
      }
  for (const ProtocolTrace &trace : traces)
    for (const ProtocolEvent &event : trace)
      if (event.kind == StepKind::Acquire &&
          (event.step->strength != Step::Full || event.step->lacking != -1))
        isPhaseKept[event.channel] = false;
  for (unsigned rank = 0; rank < ctas; ++rank)
    for (auto [i, channel] : llvm::enumerate(model.channels))
      for (int64_t position = 0; position < channel.initial; ++position)
        for (unsigned half = 0; half < 2; ++half) {
          ChannelOfCta of{rank, unsigned(i)};
          initial.push_back({of, 2 * stageOf(of, position) + half,
                             valueOf(of, position) + half, 0});
        }
  for (auto [of, trace] : llvm::zip_equal(roles, traces)) {
    const ProtocolRole &role = model.roles[of.role];
    ExplorerThread thread;
    thread.role = of.role;
    thread.rank = of.rank;
    thread.ranks = {of.rank};
    if (RoleOp(role.op).getLeader() && ctas == 2)
      thread.ranks = {0, 1};
    for (int lane = role.oneThread ? -1 : 0; lane <= (role.oneThread ? -1 : 1);
         ++lane) {
      thread.lane = lane;
      threads.push_back(thread);
      addThread(threads.size() - 1, trace);
    }
  }
  link();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

unsigned ExplorerActions::stageOf(ChannelOfCta channel,
                                  int64_t position) const {
  unsigned first =
      firstStage[channel.rank * model.channels.size() + channel.channel];
  return first + position % model.channels[channel.channel].stages;
}

/// Returns the number of the value in the first half; that in the other half
/// follows.
unsigned ExplorerActions::valueOf(ChannelOfCta channel, int64_t position) {
  Key key{channel.rank, channel.channel, position};
  unsigned number =
      valueNumbers.try_emplace(key, 2 * valueNumbers.size() + 2).first->second;
  readsOf.resize(2 * valueNumbers.size() + 2);
  writesOf.resize(2 * valueNumbers.size() + 2);
  return number;
}

std::optional<unsigned> ExplorerActions::findWriter(unsigned value,
                                                    unsigned writes) const {
  auto it = writers.find({value, writes});
  return it == writers.end() ? std::nullopt : std::optional(it->second);
}

/// Where in its CTA's memory a stage begins and ends.
static std::pair<int64_t, int64_t> getRange(const ProtocolChannel &channel,
                                            int64_t stage, unsigned rank,
                                            const ProtocolModel &model) {
  int64_t begin = channel.offset + stage * channel.size;
  int64_t end = begin + channel.size;
  if (channel.part == StagePart::All || channel.exchange == -1)
    return {begin, end};
  // Half of the tile goes to the other CTA, and as much comes from there.
  VectorType tile =
      ChannelOp(model.channels[channel.exchange].op).getTileType();
  int64_t half = tile.getNumElements() * tile.getElementTypeBitWidth() / 8 / 2;
  switch (channel.part) {
  case StagePart::Kept:
    return {begin + rank * half, begin + (rank + 1) * half};
  case StagePart::Received:
    return {begin + (1 - rank) * half, begin + (2 - rank) * half};
  case StagePart::Result:
    return {begin, begin + 2 * half};
  default:
    return {begin + 2 * half, end};
  }
}

bool ExplorerActions::overlap(ChannelOfCta a, int64_t stageA, ChannelOfCta b,
                              int64_t stageB) const {
  const ProtocolChannel &first = model.channels[a.channel],
                        &second = model.channels[b.channel];
  if (a.rank != b.rank || first.inTensorMemory != second.inTensorMemory)
    return false;
  // Where nothing has a place yet, a buffer may come to lie anywhere in those
  // whose memory it takes over.
  if (llvm::is_contained(first.after, b.channel) ||
      llvm::is_contained(second.after, a.channel))
    return true;
  auto [beginA, endA] = getRange(first, stageA, a.rank, model);
  auto [beginB, endB] = getRange(second, stageB, b.rank, model);
  return beginA < endB && beginB < endA;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

unsigned ExplorerActions::addAction(Action::Kind kind, unsigned thread,
                                    const ProtocolEvent &event,
                                    std::optional<unsigned> after) {
  Action &action = actions.emplace_back();
  action.kind = kind;
  action.thread = thread;
  action.event = &event;
  if (after)
    action.needs.push_back(*after);
  return actions.size() - 1;
}

void ExplorerActions::addThread(unsigned number, const ProtocolTrace &trace) {
  lastOfQueue.reset();
  copies.clear();
  SmallVector<unsigned> &steps = threads[number].steps;
  for (const ProtocolEvent &event : trace) {
    unsigned step =
        addAction(Action::Step, number, event,
                  steps.empty() ? std::nullopt : std::optional(steps.back()));
    steps.push_back(step);
    bool isAccess = event.kind == StepKind::Access;
    // The arrival of a commit of MMAs, or of a release that waits for them, is
    // an entry of the MMA queue.
    bool isQueued = isAccess
                        ? event.step->agent == Agent::Mma
                        : event.step->completes == Agent::Mma &&
                              (event.kind == StepKind::Commit || lastOfQueue);
    bool isCopy = isAccess && event.step->agent == Agent::Copy;
    unsigned end = step;
    if (isQueued || isCopy) {
      end =
          addAction(isCopy ? Action::Copy : Action::Queue, number, event, step);
      actions[step].hasEffect = false;
    }
    if (isQueued) {
      if (lastOfQueue)
        actions[end].needs.push_back(*lastOfQueue);
      lastOfQueue = end;
    }
    if (isCopy) {
      for (StageUse use : event.reads)
        copies[{use.channel, use.position}].push_back(end);
      if (event.write)
        copies[{event.write->channel, event.write->position}].push_back(end);
    }
    if (isAccess)
      addAccess(end);
    else if (event.kind == StepKind::Commit || event.kind == StepKind::Release)
      addArrival(step, end);
    else
      addWait(step);
  }
}

SmallVector<unsigned, 2>
ExplorerActions::ranksOf(const ExplorerThread &thread,
                         unsigned writtenChannel) const {
  if (model.channels[writtenChannel].part == StagePart::Received)
    return {(thread.rank + 1) % ctas};
  return thread.ranks;
}

bool ExplorerActions::consumesIn(unsigned role, ChannelOfCta channel) const {
  auto isLeader = [&](unsigned number) {
    return RoleOp(model.roles[number].op).getLeader();
  };
  const auto &consumers = model.channels[channel.channel].consumers;
  return channel.rank == 0 || !isLeader(role) ||
         !llvm::is_contained(consumers, role) ||
         llvm::all_of(consumers, isLeader);
}

/// Calls the function for the halves of a stage that the thread's access
/// touches.
static void forHalves(const ExplorerThread &thread,
                      llvm::function_ref<void(unsigned)> function) {
  for (unsigned half = 0; half < 2; ++half)
    if (thread.lane == -1 || unsigned(thread.lane) == half)
      function(half);
}

void ExplorerActions::addAccess(unsigned number) {
  const ProtocolEvent &event = *actions[number].event;
  const ExplorerThread &thread = threads[actions[number].thread];
  for (StageUse use : event.reads) {
    const ProtocolChannel &channel = model.channels[use.channel];
    // The producer sees the writes that it has done so far, other roles see all
    // of them.
    bool isOwn = channel.producer == int(thread.role) &&
                 channel.part != StagePart::Received;
    for (unsigned rank : thread.ranks) {
      ChannelOfCta of{rank, unsigned(use.channel)};
      if (!consumesIn(thread.role, of))
        continue;
      forHalves(thread, [&](unsigned half) {
        HalfStage read{of, 2 * stageOf(of, use.position) + half,
                       valueOf(of, use.position) + half, kAllWrites};
        if (isOwn)
          read.writes = writesOf[read.value];
        ++readsOf[read.value];
        actions[number].reads.push_back(read);
        touch(number, read.place, Touch::Read);
      });
    }
  }
  if (event.write)
    for (unsigned rank : ranksOf(thread, event.write->channel))
      addWrite(number, {rank, unsigned(event.write->channel)},
               event.write->position);
}

void ExplorerActions::addWrite(unsigned number, ChannelOfCta of,
                               int64_t position) {
  const ProtocolEvent &event = *actions[number].event;
  const ExplorerThread &thread = threads[actions[number].thread];
  unsigned own = stageOf(of, position);
  forHalves(thread, [&](unsigned half) {
    HalfStage write{of, 2 * own + half, valueOf(of, position) + half, 0};
    write.writes = ++writesOf[write.value];
    writers[{write.value, write.writes}] = number;
    actions[number].writes.push_back(write);
  });
  const ProtocolChannel &channel = model.channels[of.channel];
  int64_t stage = position % channel.stages;
  for (StageUse operand :
       ArrayRef(event.reads).take_front(event.step->reads.size())) {
    int64_t other = operand.position % model.channels[operand.channel].stages;
    if (overlap(of, stage, {of.rank, unsigned(operand.channel)}, other) &&
        !operandOverwritten)
      operandOverwritten = {&event, of.channel};
  }
  // In tensor memory, rows are lanes. In shared memory, a row of one channel
  // may lie anywhere in another channel.
  for (unsigned index = 0; index < stages.size(); ++index) {
    ChannelOfCta other = stages[index];
    if (!overlap(of, stage, other, index - stageOf(other, 0)))
      continue;
    for (unsigned half = 0; half < 2; ++half)
      if (thread.lane == -1 || unsigned(thread.lane) == half ||
          (!channel.inTensorMemory && index != own))
        touch(number, 2 * index + half,
              index == own ? Touch::Write : Touch::Spoil);
  }
}

//===----------------------------------------------------------------------===//
// Arrivals and waits
//===----------------------------------------------------------------------===//

void ExplorerActions::addArrival(unsigned step, unsigned end) {
  const ProtocolEvent &event = *actions[step].event;
  const ExplorerThread &thread = threads[actions[step].thread];
  const ProtocolChannel &channel = model.channels[event.channel];
  bool isCommit = event.kind == StepKind::Commit;
  SmallVector<unsigned, 2> parts{end};
  auto copy = copies.find({int(event.channel), event.position});
  if (copy != copies.end() &&
      (!isCommit || event.step->completes == Agent::Copy))
    llvm::append_range(parts, copy->second);
  for (unsigned rank : ranksOf(thread, event.channel)) {
    if (event.step->lacking == int(rank))
      continue;
    if (!isCommit && !consumesIn(thread.role, {rank, event.channel}))
      continue;
    if (!isCommit) {
      llvm::append_range(
          releases[{rank, event.channel, thread.role, event.position}], parts);
      continue;
    }
    ChannelOfCta of{rank, event.channel};
    auto [it, isNew] = commitNumbers.try_emplace(
        Key(rank, event.channel, event.position), commits.size());
    if (isNew)
      commits.push_back({of, event.position, {}});
    unsigned stage = stageOf(of, event.position);
    for (unsigned part : parts) {
      commits[it->second].actions.push_back(part);
      actions[part].commits.push_back(it->second);
      // Only the rest of the protocol keeps a commit to a channel without
      // acquires from overtaking a wait. The load may be what ends last.
      if (!isPhaseKept[event.channel] &&
          event.position - channel.stages >= channel.initial)
        touch(part, phasePlace(stage), Touch::Signal);
    }
    if (isForeign(event.channel))
      touch(step, turnPlace(stage), Touch::Signal);
  }
}

void ExplorerActions::addWait(unsigned step) {
  const ProtocolEvent &event = *actions[step].event;
  const ExplorerThread &thread = threads[actions[step].thread];
  const ProtocolChannel &channel = model.channels[event.channel];
  for (unsigned rank : thread.ranks) {
    unsigned stage = stageOf({rank, event.channel}, event.position);
    if (event.kind == StepKind::Acquire) {
      if (!isForeign(event.channel))
        continue;
      foreignAcquires[Key(rank, event.channel, event.position)].push_back(step);
      touch(step, turnPlace(stage), Touch::Read);
      continue;
    }
    if (!consumesIn(thread.role, {rank, event.channel}))
      continue;
    Steps &waiting = waits[{rank, event.channel, thread.role, event.position}];
    if (event.step->strength != Step::Full || event.step->lacking == int(rank))
      continue;
    waiting.push_back(step);
    if (!isPhaseKept[event.channel] && event.position >= channel.initial)
      touch(step, phasePlace(stage), Touch::Read);
  }
}

const ExplorerActions::Steps *
ExplorerActions::findWaits(ChannelOfCta channel, unsigned role,
                           int64_t position) const {
  auto it = waits.find({channel.rank, channel.channel, role, position});
  return it == waits.end() ? nullptr : &it->second;
}

const ExplorerActions::Steps *
ExplorerActions::findForeignAcquires(ChannelOfCta channel,
                                     int64_t position) const {
  auto it = foreignAcquires.find(Key(channel.rank, channel.channel, position));
  return it == foreignAcquires.end() ? nullptr : &it->second;
}

/// A thread of either CTA that hands on tensor memory to the leader arrives at
/// the leader's barrier without a release to the cluster.
bool ExplorerActions::isRelaxed(const ProtocolChannel &channel, int by,
                                unsigned to) const {
  auto isLeader = [&](int role) {
    return role != -1 && RoleOp(model.roles[role].op).getLeader();
  };
  return channel.inTensorMemory && !isLeader(by) && isLeader(to);
}

/// Lets a wait or an acquire need the arrivals that it waits for.
void ExplorerActions::linkWait(Action &action) {
  const ProtocolEvent &event = *action.event;
  const ProtocolChannel &channel = model.channels[event.channel];
  auto need = [&](const Steps *arrivals, int by) {
    if (!arrivals) {
      action.isNever = true;
      return;
    }
    llvm::append_range(action.needs, *arrivals);
    if (isRelaxed(channel, by, threads[action.thread].role))
      llvm::append_range(action.relaxed, *arrivals);
    if (!channel.ordersTensorMemory)
      llvm::append_range(action.unfenced, *arrivals);
  };
  if (event.step->strength == Step::Weak)
    return;
  const ExplorerThread &thread = threads[action.thread];
  for (unsigned rank : thread.ranks) {
    ChannelOfCta of{rank, event.channel};
    if (event.step->lacking == int(rank))
      continue;
    if (event.kind == StepKind::Wait && event.position >= channel.initial &&
        consumesIn(thread.role, of)) {
      for (int64_t value = event.position;
           value <= event.position + event.step->ahead; ++value) {
        auto it = commitNumbers.find(Key(rank, event.channel, value));
        need(it == commitNumbers.end() ? nullptr : &commits[it->second].actions,
             channel.producer);
      }
    }
    if (event.kind == StepKind::Acquire && event.position >= channel.stages)
      for (unsigned consumer : channel.consumers) {
        if (!consumesIn(consumer, of))
          continue;
        auto it = releases.find(
            {rank, event.channel, consumer, event.position - channel.stages});
        need(it == releases.end() ? nullptr : &it->second, consumer);
      }
  }
}

void ExplorerActions::link() {
  for (auto [number, action] : llvm::enumerate(actions)) {
    if (action.kind == Action::Step &&
        (action.event->kind == StepKind::Wait ||
         action.event->kind == StepKind::Acquire))
      linkWait(action);
    for (HalfStage &read : action.reads)
      if (read.writes == kAllWrites)
        read.writes = writesOf[read.value];
    // Of the touches of one place, the strongest one.
    llvm::sort(action.touches, [](const auto &a, const auto &b) {
      return std::tie(a.first, b.second) < std::tie(b.first, a.second);
    });
    action.touches.erase(std::unique(action.touches.begin(),
                                     action.touches.end(),
                                     [](const auto &a, const auto &b) {
                                       return a.first == b.first;
                                     }),
                         action.touches.end());
  }
  for (auto [number, action] : llvm::enumerate(actions))
    for (unsigned needed : action.needs)
      actions[needed].neededBy.push_back(number);
}
