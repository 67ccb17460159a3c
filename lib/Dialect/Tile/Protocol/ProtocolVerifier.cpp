//===- ProtocolVerifier.cpp - proof of a kernel's synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "ProtocolProof.h"
#include "ProtocolSites.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

static void join(Clock &clock, const Clock &other) {
  std::transform(clock.begin(), clock.end(), other.begin(), clock.begin(),
                 [](int32_t a, int32_t b) { return std::max(a, b); });
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Returns true if every path through the steps waits for another role.
static bool alwaysWaits(const std::vector<Step> &steps) {
  return llvm::any_of(steps, [](const Step &step) {
    return step.kind == StepKind::Acquire || step.kind == StepKind::Wait ||
           (step.kind == StepKind::If && alwaysWaits(step.body) &&
            alwaysWaits(step.elseBody));
  });
}

Verifier::Verifier(const ProtocolModel &model, ProtocolStatistics &statistics,
                   uint64_t maxStates)
    : model(model), statistics(statistics), maxStates(maxStates),
      isAcquired(model.channels.size(), false),
      isReleased(model.channels.size(), false),
      allOrderTensorMemory(llvm::all_of(model.channels,
                                        [](const ProtocolChannel &channel) {
                                          return channel.ordersTensorMemory;
                                        })),
      history(model) {
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    firstSlot.push_back(channelOfSlot.size());
    channelOfSlot.append(channel.stages, i);
  }
  overlapping.resize(channelOfSlot.size());
  rotates.assign(model.channels.size(), true);
  for (unsigned a = 0; a < channelOfSlot.size(); ++a)
    for (unsigned b = 0; b < channelOfSlot.size(); ++b) {
      unsigned channelA = channelOfSlot[a], channelB = channelOfSlot[b];
      if (!model.overlap(channelA, a - firstSlot[channelA], channelB,
                         b - firstSlot[channelB]))
        continue;
      overlapping[a].push_back(b);
      if (a != b)
        rotates[channelA] = rotates[channelB] = false;
    }
  for (const ProtocolLoop &loop : model.loops)
    mayIdle.push_back(loop.inside > 0);
  for (const ProtocolRole &role : model.roles)
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Loop && !alwaysWaits(step.body))
        mayIdle[step.number] = true;
      if (step.kind == StepKind::Acquire)
        isAcquired[step.channel] = true;
      if (step.kind == StepKind::Release)
        isReleased[step.channel] = true;
    });
  if (!areAllConnected())
    for (auto [i, loop] : llvm::enumerate(model.loops))
      if (loop.parents.empty())
        mayIdle[i] = true;
}

/// Returns true if channels connect all roles that have loops, perhaps by way
/// of other roles. Roles that are not connected do not wait for each other, so
/// some could run ahead without end while others stand still.
bool Verifier::areAllConnected() const {
  llvm::EquivalenceClasses<unsigned> connected;
  for (const ProtocolLoop &loop : model.loops)
    connected.insert(loop.role);
  for (const ProtocolChannel &channel : model.channels) {
    SmallVector<unsigned> roles = llvm::to_vector(channel.consumers);
    for (int role : {channel.producer, channel.acquirer})
      if (role != -1)
        roles.push_back(role);
    for (unsigned role : roles)
      connected.unionSets(roles.front(), role);
  }
  return llvm::all_of(model.loops, [&](const ProtocolLoop &loop) {
    return connected.isEquivalent(loop.role, model.loops.front().role);
  });
}

Machine Verifier::start() const {
  Machine machine;
  unsigned size = firstTensorAgent() + (allOrderTensorMemory ? 0 : roleCount());
  auto nothing = std::make_shared<const Clock>(size, 0);
  for (unsigned role = 0; role < roleCount(); ++role) {
    machine.cursors.emplace_back(model, role);
    machine.lanes.emplace_back(size, 0);
    machine.mmas.emplace_back(size, 0);
  }
  machine.history.assign(roleCount(), ProtocolHistory::kNone);
  machine.passesLeft.assign(model.loops.size(), 0);
  machine.copies.assign(channelOfSlot.size(), 0);
  machine.slots.resize(channelOfSlot.size());
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    ChannelState &state = machine.channels.emplace_back();
    unsigned consumers = channel.consumers.size();
    state.acquired = state.committed = channel.initial;
    state.waited.assign(consumers, 0);
    state.released.assign(consumers, 0);
    state.commits.assign(channel.stages, nothing);
    state.releases.assign(consumers,
                          SmallVector<Token>(channel.stages, nothing));
    state.waits.assign(consumers, SmallVector<int32_t>(channel.stages, 0));
    if (channel.isAcquiredForOthers())
      state.acquires.assign(channel.stages, 0);
    for (int64_t position = 0; position < channel.initial; ++position)
      machine.slots[slotOf(i, position)].content = position;
  }
  for (const ProtocolLoop &loop : model.loops)
    if (isPlain(loop.trips)) {
      LinearForm form = loop.trips;
      form.constant -= loop.atLeast;
      machine.facts.assume(form);
      relateClamped(machine.facts, loop.trips);
    }
  return machine;
}

/// Appends the questions that roles can still ask about numbers of passes, and
/// the facts about these numbers.
void Verifier::appendNumbers(Machine &machine,
                             SmallVectorImpl<int64_t> &key) const {
  ProtocolSites sites(model, machine.cursors, machine.facts);
  machine.facts.forget([&](Unknown unknown) { return sites.isOver(unknown); });
  sites.appendKey(key);
}

bool Verifier::isNew(Machine &machine) {
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
  statistics.states = seen.size();
  return seen.emplace(key.begin(), key.end()).second;
}

void Verifier::appendChannel(const Machine &machine, unsigned channel,
                             SmallVectorImpl<int64_t> &key) const {
  const ChannelState &state = machine.channels[channel];
  int64_t stages = model.channels[channel].stages;
  key.push_back(rotates[channel] ? -1 : state.committed % stages);
  key.push_back(isAcquired[channel] ? state.acquired - state.committed : 0);
  for (auto [waited, released] : llvm::zip(state.waited, state.released))
    key.append({state.committed - waited,
                isReleased[channel] ? state.committed - released : 0});
  for (int64_t i = 0; i < stages; ++i) {
    const SlotState &slot = machine.slots[slotOf(channel, state.committed + i)];
    bool isFresh = slot.content >= state.committed - 2 * stages;
    key.push_back(isFresh ? state.committed - slot.content : -1000);
  }
}

/// Returns the clocks of all roles, and the clocks in the tokens that a role
/// can still take, in the order of positions.
SmallVector<const int32_t *>
Verifier::collectClocks(const Machine &machine) const {
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
           isAcquired[i] && position < released; ++position)
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
void Verifier::appendClocks(const Machine &machine,
                            SmallVectorImpl<int64_t> &key) const {
  SmallVector<std::pair<int, int32_t>> records;
  auto append = [&](const Record &record, bool isCopy) {
    key.push_back(isCopy ? -2 : record.agent);
    if (record.agent != -1)
      records.push_back({record.agent, record.time});
  };
  int firstCopy = firstCopyAgent();
  for (auto [i, state] : llvm::enumerate(machine.channels)) {
    int64_t stages = model.channels[i].stages;
    for (int64_t stage = 0; stage < stages; ++stage) {
      int64_t position = state.committed + stage;
      const SlotState &slot = machine.slots[slotOf(i, position)];
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

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool Verifier::isEnabled(const Machine &machine, unsigned role) const {
  const ProtocolEvent &event = machine.cursors[role].event();
  const ChannelState &state = machine.channels[event.channel];
  if (event.step->strength == Step::Weak)
    return true;
  if (event.kind == StepKind::Wait)
    return event.position + event.step->ahead < state.committed;
  if (event.kind == StepKind::Acquire) {
    int64_t needed = event.position - model.channels[event.channel].stages;
    return llvm::all_of(state.released,
                        [&](int64_t released) { return released > needed; });
  }
  return true;
}

void Verifier::acquire(Machine &machine, unsigned role,
                       const ProtocolEvent &event) {
  ChannelState &state = machine.channels[event.channel];
  int64_t stages = model.channels[event.channel].stages;
  state.acquired = event.position + 1;
  if (!state.acquires.empty())
    state.acquires[event.position % stages] = ++machine.lanes[role][role];
  if (event.position < stages || event.step->strength == Step::Weak)
    return;
  for (const auto &releases : state.releases)
    join(machine.lanes[role], *releases[event.position % stages]);
}

void Verifier::commit(Machine &machine, unsigned role,
                      const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  int64_t stage = event.position % channel.stages;
  if (isAcquired[event.channel] && state.acquired <= event.position)
    return report(machine, event.step->op,
                  formatv("channel \"{0}\": {1} commits a stage that it has "
                          "not acquired",
                          channel.label, roleName(role)));
  Clock &lanes = machine.lanes[role];
  if (!state.acquires.empty() &&
      lanes[channel.acquirer] < state.acquires[stage])
    return report(machine, event.step->op,
                  formatv("channel \"{0}\": nothing orders the commit behind "
                          "the acquire of the stage by {1}",
                          channel.label, roleName(channel.acquirer)));
  Clock token = lanes;
  if (event.step->completes == Agent::Mma)
    join(token, machine.mmas[role]);
  unsigned slot = slotOf(event.channel, event.position);
  if (event.step->completes == Agent::Copy)
    token[copyAgent(slot)] = machine.copies[slot];
  token[threadsAgent(role)] = lanes[role];
  if (channel.hasRelaxedCommits)
    relax(token);
  if (!channel.ordersTensorMemory)
    forgetTensorMemory(token);
  // An mbarrier distinguishes a phase from the next one, but not from the one
  // after that. So the consumers must have seen the previous phase of this
  // stage before the next commit.
  int64_t previous = event.position - channel.stages;
  for (auto [i, waits] : llvm::enumerate(state.waits))
    if (previous >= channel.initial &&
        (state.waited[i] <= previous ||
         token[channel.consumers[i]] < waits[stage])) {
      report(machine, event.step->op,
             formatv("channel \"{0}\": a value is committed before {1} has "
                     "surely waited for the previous one in this stage",
                     channel.label, roleName(channel.consumers[i])));
      unsigned consumer = channel.consumers[i];
      int wait = history.find(machine.history[consumer], StepKind::Wait,
                              event.channel, previous);
      if (wait != ProtocolHistory::kNone)
        note(history.opOf(wait),
             "the wait" + inPass(history.passOf(wait)) +
                 ", which nothing orders before the commit");
      Record seen;
      seen.role = consumer;
      seen.entry = wait;
      return noteOrder(machine, role, seen, slot, token);
    }
  state.commits[stage] = std::make_shared<Clock>(std::move(token));
  state.committed = event.position + 1;
}

void Verifier::wait(Machine &machine, unsigned role,
                    const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  unsigned index = consumerIndex(event.channel, role);
  int64_t stage = event.position % channel.stages;
  if (event.step->strength == Step::Weak) {
    // An initial value has no phase that could be overtaken.
    state.waited[index] = event.position + 1;
    state.waits[index][stage] = 0;
    return;
  }
  if (event.position >= channel.initial)
    join(machine.lanes[role], *state.commits[stage]);
  state.waited[index] = event.position + 1;
  state.waits[index][stage] = ++machine.lanes[role][role];
}

void Verifier::release(Machine &machine, unsigned role,
                       const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  unsigned index = consumerIndex(event.channel, role);
  if (state.waited[index] <= event.position)
    return report(machine, event.step->op,
                  formatv("channel \"{0}\": {1} releases a stage that it has "
                          "not waited for",
                          channel.label, roleName(role)));
  Clock token = machine.lanes[role];
  token[threadsAgent(role)] = token[role];
  if (event.step->completes == Agent::Mma)
    join(token, machine.mmas[role]);
  unsigned slot = slotOf(event.channel, event.position);
  if (model.roles[role].oneThread)
    token[copyAgent(slot)] = machine.copies[slot];
  if (channel.hasRelaxedReleases)
    relax(token);
  if (!channel.ordersTensorMemory)
    forgetTensorMemory(token);
  state.releases[index][event.position % channel.stages] =
      std::make_shared<Clock>(std::move(token));
  state.released[index] = event.position + 1;
}

/// Reports an operation that writes its result over one of its operands. An
/// accumulator may be overwritten: it follows the operands in `reads` and is
/// not checked.
void Verifier::checkOperands(const Machine &machine, unsigned role,
                             const ProtocolEvent &event) {
  for (unsigned i = 0; event.write && i < event.step->reads.size(); ++i)
    if (model.overlap(event.reads[i].channel, stageOf(event.reads[i]),
                      event.write->channel, stageOf(*event.write)))
      return report(machine, event.step->op,
                    formatv("channel \"{0}\": {1} overwrites an operand of the "
                            "operation itself (channel \"{2}\")",
                            label(event.write->channel), roleName(role),
                            label(event.reads[i].channel)));
}

/// Returns the record of an access. The caller sets the agent and the time.
Record Verifier::recordOf(const Machine &machine, unsigned role,
                          const ProtocolEvent &event) {
  Record record;
  record.role = role;
  record.op = event.step->op;
  record.pass = event.pass();
  record.entry = machine.history[role];
  return record;
}

void Verifier::access(Machine &machine, unsigned role,
                      const ProtocolEvent &event) {
  if (event.readsNothing)
    return reportReadOfNothing(machine, role, event);
  checkOperands(machine, role, event);
  if (finding)
    return;
  Record record = recordOf(machine, role, event);
  Clock &clock = accessClock;
  clock = machine.lanes[role];
  int32_t time = ++machine.lanes[role][role];
  auto accessAll = [&](auto tick) {
    for (StageUse use : event.reads) {
      tick(use);
      read(machine, record, clock, use);
      if (finding)
        return;
    }
    if (event.write) {
      tick(*event.write);
      write(machine, record, clock, *event.write);
    }
  };
  switch (event.step->agent) {
  case Agent::Lanes:
    return accessAll([&](StageUse use) {
      bool inTensorMemory = model.channels[use.channel].inTensorMemory;
      record.agent = inTensorMemory ? tensorAgent(role) : threadsAgent(role);
      record.time = time;
      if (inTensorMemory)
        machine.lanes[role][record.agent] = time;
      // One thread makes its accesses to shared memory in order, so that each
      // one covers those before.
      if (!inTensorMemory && model.roles[role].oneThread)
        clock[record.agent] = machine.lanes[role][record.agent] = time;
    });
  case Agent::Mma:
    join(machine.mmas[role], clock);
    record.time = ++machine.mmas[role][mmaAgent(role, true)];
    machine.mmas[role][mmaAgent(role, false)] = record.time;
    clock = machine.mmas[role];
    return accessAll([&](StageUse use) {
      record.agent = mmaAgent(role, model.channels[use.channel].inTensorMemory);
    });
  case Agent::Copy:
    return accessAll([&](StageUse use) {
      // A copy from one stage to another has ended its read when it has
      // written.
      if (event.write)
        use = *event.write;
      unsigned slot = slotOf(use.channel, use.position);
      record.agent = copyAgent(slot);
      record.time = ++machine.copies[slot];
    });
  }
}

bool Verifier::knows(const Clock &clock, const Record &by, unsigned slot,
                     const Record &record, unsigned recordSlot) const {
  if (record.agent == -1 || clock[record.agent] >= record.time)
    return true;
  // A lane accesses the same bytes of a stage each time, so its own accesses do
  // not conflict.
  return by.agent == record.agent && by.agent == threadsAgent(by.role) &&
         slot == recordSlot;
}

/// Returns true if `clock` covers the access to shared memory by relaxed
/// arrivals only. Such arrivals order accesses to tensor memory, not to shared
/// memory.
bool Verifier::hasComeAfter(const Clock &clock, const Record &old) const {
  if (old.agent == threadsAgent(old.role))
    return clock[old.role] >= old.time;
  return old.agent == mmaAgent(old.role, /*inTensorMemory=*/false) &&
         clock[mmaAgent(old.role, /*inTensorMemory=*/true)] >= old.time;
}

/// Describes what `role` would have to have done after the access.
std::string Verifier::describeMissing(const Record &old, unsigned role,
                                      const Clock &clock) const {
  if (old.role != role && hasComeAfter(clock, old))
    return formatv("only relaxed arrivals, at the barriers of the leader, "
                   "lead from it to {0}: they order accesses to tensor memory, "
                   "not to shared memory",
                   roleName(role));
  bool isLanes =
      old.agent == tensorAgent(old.role) || old.agent == threadsAgent(old.role);
  if (old.role != role)
    return formatv("{0} has waited for no commit or release by {1} that "
                   "follows {2}",
                   roleName(role), roleName(old.role),
                   isLanes ? "it" : "its end");
  return isLanes ? "other lanes of the role may come later"
                 : "the role has waited for nothing that follows its end";
}

void Verifier::read(Machine &machine, const Record &record, const Clock &clock,
                    StageUse use) {
  const ProtocolChannel &channel = model.channels[use.channel];
  const ChannelState &state = machine.channels[use.channel];
  unsigned slotNumber = slotOf(use.channel, use.position);
  SlotState &slot = machine.slots[slotNumber];
  bool isConsumer =
      channel.hasConsumer(record.role) && channel.producer != int(record.role);
  if (isConsumer &&
      use.position < state.released[consumerIndex(use.channel, record.role)]) {
    report(machine, record.op,
           formatv("channel \"{0}\": a stage is read after its release",
                   channel.label));
    return noteStep(machine, record.role, StepKind::Release, use.channel,
                    "released");
  }
  for (unsigned other : overlapping[slotNumber]) {
    const Record &write = machine.slots[other].lastWrite;
    if (knows(clock, record, slotNumber, write, other))
      continue;
    report(machine, record.op,
           formatv("channel \"{0}\": {1} may read a stage{2} while {3} writes "
                   "it (channel \"{4}\")",
                   channel.label, roleName(record.role), inPass(record.pass),
                   roleName(write.role), label(channelOfSlot[other])));
    note(write.op, "the write" + inPass(write.pass) +
                       ", which nothing orders before the read: " +
                       describeMissing(write, record.role, clock));
    return noteOrder(machine, record.role, write, slotNumber, clock);
  }
  if (slot.content != use.position) {
    report(machine, record.op,
           formatv("channel \"{0}\": {1} reads a value that {2}", channel.label,
                   roleName(record.role),
                   slot.overwriter.op && slot.content == -1
                       ? "has been overwritten"
                       : "is not there: it was not written before"));
    finding->channels.push_back(use.channel);
    if (slot.overwriter.op && slot.content == -1)
      note(slot.overwriter.op, "overwritten by " +
                                   roleName(slot.overwriter.role) +
                                   inPass(slot.overwriter.pass));
    return;
  }
  for (Record &old : slot.reads)
    if (old.agent == record.agent) {
      old = record;
      return;
    }
  slot.reads.push_back(record);
}

void Verifier::write(Machine &machine, const Record &record, const Clock &clock,
                     StageUse use) {
  const ProtocolChannel &channel = model.channels[use.channel];
  unsigned slotNumber = slotOf(use.channel, use.position);
  if (isAcquired[use.channel] &&
      machine.channels[use.channel].acquired <= use.position)
    return report(machine, record.op,
                  formatv("channel \"{0}\": {1} writes a stage that it has "
                          "not acquired",
                          channel.label, roleName(record.role)));
  auto check = [&](const Record &old, unsigned other, StringRef what) {
    if (finding || knows(clock, record, slotNumber, old, other))
      return;
    report(machine, record.op,
           formatv("channel \"{0}\": {1} may overwrite a stage{2} while {3} "
                   "{4} it (channel \"{5}\")",
                   channel.label, roleName(record.role), inPass(record.pass),
                   roleName(old.role), what, label(channelOfSlot[other])));
    note(old.op, "the access" + inPass(old.pass) +
                     ", which nothing orders before the write: " +
                     describeMissing(old, record.role, clock));
    noteOrder(machine, record.role, old, slotNumber, clock);
  };
  for (unsigned other : overlapping[slotNumber]) {
    SlotState &slot = machine.slots[other];
    // Reads are checked first: a role that has read the value knows that it was
    // written, so an unordered read says more than the write before it.
    for (const Record &old : slot.reads)
      check(old, other, "reads");
    check(slot.lastWrite, other, "writes");
    if (other != slotNumber) {
      slot.content = -1;
      slot.overwriter = record;
    }
  }
  SlotState &slot = machine.slots[slotNumber];
  slot.content = use.position;
  slot.lastWrite = record;
  slot.reads.clear();
}

void Verifier::execute(Machine &machine, unsigned role) {
  ++statistics.steps;
  RoleCursor &cursor = machine.cursors[role];
  const ProtocolEvent &event = cursor.event();
  machine.history[role] = history.append(machine.history[role], event);
  switch (event.kind) {
  case StepKind::Acquire:
    acquire(machine, role, event);
    break;
  case StepKind::Commit:
    commit(machine, role, event);
    break;
  case StepKind::Wait:
    wait(machine, role, event);
    break;
  case StepKind::Release:
    release(machine, role, event);
    break;
  default:
    access(machine, role, event);
  }
  cursor.pop();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Adds facts about the unknowns in `form` that are the larger of 0 and another
/// form.
void Verifier::relateClamped(ProtocolFacts &facts,
                             const LinearForm &form) const {
  for (auto [unknown, coefficient] : form.terms) {
    auto it = model.clamped.find(unknown.number());
    if (it == model.clamped.end())
      continue;
    LinearForm length = model.instantiate(it->second, unknown.passes());
    auto lower = facts.lowerBound(length), upper = facts.upperBound(length);
    LinearForm value;
    value.terms[unknown] = 1;
    auto least = facts.lowerBound(value);
    bool isLength = (lower && *lower >= 0) || (least && *least > 0);
    bool isZero = !isLength && upper && *upper <= 0;
    if (!isZero)
      value.add(length, -1);
    if (isLength || isZero)
      facts.assumeZero(value);
    else
      facts.assume(value);
  }
}

/// Adds the least number of passes of each loop inside the given passes of the
/// loops around it. One role's question may follow from what another role's
/// loop surely does.
void Verifier::assumeLeast(ProtocolFacts &facts,
                           ArrayRef<int64_t> instance) const {
  for (const ProtocolLoop &loop : model.loops) {
    if (loop.parents.size() != instance.size())
      continue;
    LinearForm form = model.instantiate(loop.trips, instance);
    if (form.isConstant())
      continue;
    form.constant -= loop.atLeast;
    facts.assume(form);
  }
}

void Verifier::reply(Machine &machine, unsigned role, bool yes) {
  RoleCursor &cursor = machine.cursors[role];
  const ProtocolQuestion &question = cursor.question();
  if (question.kind == ProtocolQuestion::AnotherPass && !yes)
    machine.passesLeft[question.number] += question.pass;
  cursor.answer(yes);
}

int64_t Verifier::leastPasses(const Machine &machine, const ProtocolLoop &loop,
                              ArrayRef<int64_t> instance) const {
  auto least =
      machine.facts.lowerBound(model.instantiate(loop.trips, instance));
  return std::max({least ? *least : 0, loop.atLeast, int64_t(0)});
}

int64_t Verifier::countPasses(const Machine &machine) const {
  int64_t sum = 0;
  SmallVector<int64_t> passes(model.loops.size(), 0);
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    const RoleCursor &cursor = machine.cursors[loop.role];
    sum += machine.passesLeft[i];
    bool isHere = llvm::all_of(
        loop.parents, [&](unsigned outer) { return cursor.isIn(outer); });
    auto instance = cursor.instance(loop.parents);
    if (isHere && !cursor.isLeft(i)) {
      passes[i] =
          std::max(leastPasses(machine, loop, instance), cursor.passes(i));
      sum += passes[i];
    }
    if (loop.parents.size() != 1 || cursor.isLeft(loop.parents[0]))
      continue;
    // The same question comes in later passes of the surrounding loop.
    unsigned outer = loop.parents[0];
    for (int64_t pass = std::max<int64_t>(cursor.passes(outer), 0);
         pass < passes[outer]; ++pass)
      sum += leastPasses(machine, loop, pass + model.loops[outer].firstPass);
  }
  return sum;
}

/// Reports a question about a multiple of an unknown, such as `2 x == n`:
/// whether it has a solution in integers is beyond the facts.
void Verifier::reportMultiple(const Machine &machine, unsigned role) {
  ProtocolQuestion question = machine.cursors[role].question();
  if (question.kind == ProtocolQuestion::AnotherPass)
    return report(machine, model.loops[question.number].op,
                  formatv("{0} makes as many passes of this loop as a multiple "
                          "of an unknown says: not supported by the protocol "
                          "verifier",
                          roleName(role)));
  Operation *condition =
      model.conditions[question.number].value.getDefiningOp();
  report(machine,
         condition ? condition : RoleOp(model.roles[role].op).getOperation(),
         formatv("{0} decides by a multiple of an unknown: not supported by "
                 "the protocol verifier",
                 roleName(role)));
}

/// Goes on with each answer to the role's question that the facts leave
/// possible: the form may be below, equal to or above 0.
void Verifier::branch(Machine &machine, unsigned role,
                      ProtocolCondition::Predicate predicate,
                      const LinearForm &form) {
  ProtocolQuestion question = machine.cursors[role].question();
  bool isLoop = question.kind == ProtocolQuestion::AnotherPass;
  SmallVector<std::pair<int, ProtocolFacts>, 3> answers;
  for (int sign : {0, 1, -1}) {
    if (isLoop && sign < 0)
      continue;
    ProtocolFacts facts = machine.facts;
    LinearForm strict;
    strict.add(form, sign);
    strict.constant -= 1;
    if (sign == 0) {
      if (!facts.assumeZero(form))
        return reportMultiple(machine, role);
    } else {
      facts.assume(strict);
    }
    relateClamped(facts, form);
    if (facts.isFeasible())
      answers.push_back({sign, std::move(facts)});
  }
  for (auto &[sign, facts] : answers) {
    // The last answer takes the state, because a copy of it is large.
    bool isLast = sign == answers.back().first;
    Machine next = isLast ? std::move(machine) : machine;
    next.facts = std::move(facts);
    reply(next, role, ProtocolCondition::holds(predicate, sign));
    enqueue(std::move(next));
  }
}

bool Verifier::answer(Machine &machine, unsigned role) {
  RoleCursor &cursor = machine.cursors[role];
  ProtocolQuestion question = cursor.question();
  bool isLoop = question.kind == ProtocolQuestion::AnotherPass;
  LinearForm form;
  auto predicate = ProtocolCondition::Greater;
  if (isLoop) {
    const ProtocolLoop &loop = model.loops[question.number];
    form = model.instantiate(loop.trips, cursor.instance(loop.parents));
    form.constant -= question.pass;
  } else {
    const ProtocolCondition &condition = model.conditions[question.number];
    predicate = condition.predicate;
    form =
        model.instantiate(condition.form, cursor.instance(condition.parents));
    form.constant += condition.slope * question.pass;
  }
  auto decide = [&] {
    if (isLoop && question.pass == 0)
      assumeLeast(machine.facts,
                  cursor.instance(model.loops[question.number].parents));
    relateClamped(machine.facts, form);
    auto known = machine.facts.decide(predicate, form);
    if (known)
      reply(machine, role, *known);
    return known.has_value();
  };
  if (decide())
    return true;
  // States are compared only at such a question of a loop. Runs from equal
  // states are equal up to the next question that the facts do not decide. A
  // run without an end meets such a question of an endless loop again and
  // again.
  if (isLoop) {
    if (!isNew(machine) || isExhausted(machine))
      return false;
    if (decide())
      return true;
  }
  branch(machine, role, predicate, form);
  return false;
}

/// Returns the roles in the order in which they may take a step. Roles that are
/// behind in loops in which others may be left behind come first; otherwise one
/// role would run ahead without end.
SmallVector<unsigned> Verifier::orderRoles(const Machine &machine) const {
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq(0u, roleCount()));
  if (llvm::none_of(mayIdle, [](bool idle) { return idle; }))
    return order;
  SmallVector<SmallVector<int64_t, 2>> passes(roleCount());
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    const RoleCursor &cursor = machine.cursors[loop.role];
    if (mayIdle[i] && cursor.isIn(i))
      passes[loop.role].push_back(cursor.passes(i) + loop.firstPass);
  }
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tie(passes[a], a) < std::tie(passes[b], b);
  });
  return order;
}

bool Verifier::isExhausted(const Machine &machine) {
  if (statistics.steps <= kMaxProtocolSteps && seen.size() <= maxStates)
    return false;
  report(machine, model.kernel,
         formatv("the protocol of @{0} is not proven in {1} steps and {2} "
                 "states",
                 KernelOp(model.kernel).getSymName(), statistics.steps,
                 seen.size()));
  return true;
}

void Verifier::advance(Machine machine) {
  SmallVector<unsigned> order;
  std::optional<uint64_t> orderedAt;
  while (!finding) {
    // The order of the roles changes with the passes of their loops only.
    uint64_t answers = 0;
    for (const RoleCursor &cursor : machine.cursors)
      answers += cursor.loopAnswers();
    if (orderedAt != answers) {
      order = orderRoles(machine);
      orderedAt = answers;
    }
    bool hasMoved = false, isDone = true;
    for (unsigned role : order) {
      if (hasMoved)
        break;
      RoleCursor &cursor = machine.cursors[role];
      while (!cursor.fetch() && !cursor.isAtEnd())
        if (!answer(machine, role))
          return;
      if (cursor.isAtEnd())
        continue;
      isDone = false;
      if (!isEnabled(machine, role))
        continue;
      execute(machine, role);
      hasMoved = true;
    }
    if (isExhausted(machine))
      return;
    if (isDone)
      return checkEnd(machine);
    if (!hasMoved)
      return reportDeadlock(machine);
  }
}

std::optional<ProtocolFinding> Verifier::run() {
  enqueue(start());
  while (!queue.empty() && !finding)
    advance(std::move(queue.extract(queue.begin()).mapped()));
  if (finding) {
    notePasses(*found);
    if (finding->waits.empty())
      explainOrder(*found);
  }
  return std::move(finding);
}

std::optional<ProtocolFinding>
fa4::tile::verifyProtocol(const ProtocolModel &model,
                          ProtocolStatistics *statistics, uint64_t maxStates) {
  ProtocolStatistics unused;
  return Verifier(model, statistics ? *statistics : unused, maxStates).run();
}

LogicalResult fa4::tile::verifyProtocol(KernelOp kernel,
                                        ProtocolStatistics *statistics,
                                        uint64_t maxStates) {
  if (kernel.getBody().getOps<RoleOp>().empty())
    return success();
  FailureOr<ProtocolModel> model = buildProtocolModel(kernel);
  if (failed(model))
    return failure();
  std::optional<ProtocolFinding> finding = verifyPlacement(*model);
  if (!finding)
    finding = verifyProtocol(*model, statistics, maxStates);
  if (!finding)
    return success();
  finding->emit();
  return failure();
}
