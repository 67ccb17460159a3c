//===- RingSteps.cpp - steps on the rings of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingSteps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

bool RingSteps::isEnabled(const Machine &machine, unsigned role) const {
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

void RingSteps::acquire(Machine &machine, unsigned role,
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

void RingSteps::commit(Machine &machine, unsigned role,
                       const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  int64_t stage = event.position % channel.stages;
  if (layout.isAcquired(event.channel) && state.acquired <= event.position)
    return findings.report(
        machine, event.step->op,
        formatv("channel \"{0}\": {1} commits a stage that it has not acquired",
                channel.label, findings.roleName(role)));
  Clock &lanes = machine.lanes[role];
  if (!state.acquires.empty() &&
      lanes[channel.acquirer] < state.acquires[stage])
    return findings.report(machine, event.step->op,
                           formatv("channel \"{0}\": nothing orders the commit "
                                   "behind the acquire of the stage by {1}",
                                   channel.label,
                                   findings.roleName(channel.acquirer)));
  Clock token = lanes;
  if (event.step->completes == Agent::Mma)
    join(token, machine.mmas[role]);
  unsigned slot = layout.slotOf(event.channel, event.position);
  if (event.step->completes == Agent::Copy)
    token[layout.copyAgent(slot)] = machine.copies[slot];
  token[layout.threadsAgent(role)] = lanes[role];
  layout.limit(token, channel, channel.hasRelaxedCommits);
  // An mbarrier distinguishes a phase from the next one, but not from the one
  // after that. So the consumers must have seen the previous phase of this
  // stage before the next commit.
  int64_t previous = event.position - channel.stages;
  for (auto [i, waits] : llvm::enumerate(state.waits))
    if (previous >= channel.initial &&
        (state.waited[i] <= previous ||
         token[channel.consumers[i]] < waits[stage])) {
      findings.report(
          machine, event.step->op,
          formatv("channel \"{0}\": a value is committed before {1} has surely "
                  "waited for the previous one in this stage",
                  channel.label, findings.roleName(channel.consumers[i])));
      unsigned consumer = channel.consumers[i];
      int wait = findings.history.find(machine.history[consumer],
                                       StepKind::Wait, event.channel, previous);
      if (wait != ProtocolHistory::kNone)
        findings.note(findings.history.opOf(wait),
                      "the wait" + inPass(findings.history.passOf(wait)) +
                          ", which nothing orders before the commit");
      Record seen;
      seen.role = consumer;
      seen.entry = wait;
      return findings.noteOrder(machine, role, seen, slot, token);
    }
  state.commits[stage] = std::make_shared<Clock>(std::move(token));
  state.committed = event.position + 1;
}

void RingSteps::wait(Machine &machine, unsigned role,
                     const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  unsigned index = consumerIndex(channel, role);
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

void RingSteps::release(Machine &machine, unsigned role,
                        const ProtocolEvent &event) {
  const ProtocolChannel &channel = model.channels[event.channel];
  ChannelState &state = machine.channels[event.channel];
  unsigned index = consumerIndex(channel, role);
  if (state.waited[index] <= event.position)
    return findings.report(
        machine, event.step->op,
        formatv(
            "channel \"{0}\": {1} releases a stage that it has not waited for",
            channel.label, findings.roleName(role)));
  Clock token = machine.lanes[role];
  token[layout.threadsAgent(role)] = token[role];
  if (event.step->completes == Agent::Mma)
    join(token, machine.mmas[role]);
  unsigned slot = layout.slotOf(event.channel, event.position);
  if (model.roles[role].oneThread)
    token[layout.copyAgent(slot)] = machine.copies[slot];
  layout.limit(token, channel, channel.hasRelaxedReleases);
  state.releases[index][event.position % channel.stages] =
      std::make_shared<Clock>(std::move(token));
  state.released[index] = event.position + 1;
}

void RingSteps::checkEnd(const Machine &machine) {
  struct Side {
    std::string done;
    StepKind kind;
    int role;
    int64_t count;
  };
  for (auto [i, state] : llvm::enumerate(machine.channels)) {
    const ProtocolChannel &channel = model.channels[i];
    auto compare = [&, i = i](const Side &a, const Side &b) {
      if (findings.any() || a.count == b.count)
        return;
      findings.report(
          machine, channel.op,
          formatv("channel \"{0}\": {1} values are {2}, but {3} {4}",
                  channel.label, a.count, a.done, b.count, b.done));
      const Side &more = a.count > b.count ? a : b;
      findings.noteStep(machine, more.role, more.kind, i, more.done);
      explainStarved(machine, i);
    };
    int producer = channel.producer;
    Side commits{"committed", StepKind::Commit, producer, state.committed};
    for (auto [k, consumer] : llvm::enumerate(channel.consumers)) {
      int role = consumer;
      Side waits{"waited for by " + findings.roleName(consumer), StepKind::Wait,
                 role, state.waited[k]};
      compare(commits, waits);
      if (layout.isAcquired(i) || layout.isReleased(i))
        compare(waits,
                {"released", StepKind::Release, role, state.released[k]});
    }
    if (layout.isAcquired(i) || layout.isReleased(i))
      compare(commits,
              {"acquired", StepKind::Acquire, producer, state.acquired});
  }
}

/// Explains a channel with fewer releases than commits: which steps of its
/// producer will wait for the missing release.
void RingSteps::explainStarved(const Machine &machine, unsigned channel) {
  const ProtocolChannel &of = model.channels[channel];
  const ChannelState &state = machine.channels[channel];
  if (of.producer == -1)
    return;
  const auto *fewest = llvm::min_element(state.released);
  if (fewest == state.released.end() || *fewest >= state.committed)
    return;
  unsigned consumer = of.consumers[fewest - state.released.begin()];
  forEachStep(model.roles[of.producer].body, [&](const Step &step) {
    if (step.kind == StepKind::Acquire && step.channel == channel)
      findings.explainWait(
          step.op,
          formatv("{0} waits here for release number {1} of channel \"{2}\" by "
                  "{3}, to make value {4}: the ring has {5} stage{6}",
                  findings.roleName(of.producer), *fewest + 1, of.label,
                  findings.roleName(consumer), *fewest + of.stages + 1,
                  of.stages, of.stages == 1 ? "" : "s"));
  });
}
