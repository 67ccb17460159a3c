//===- ProtocolTokens.cpp - one run of the tokens of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolTokens.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

namespace {

class TokenRun {
public:
  TokenRun(const ProtocolModel &model, ProtocolInputs &inputs);
  std::optional<ProtocolFinding> run(size_t maxEvents);

private:
  /// What was done with a channel: by its producer, and by each consumer.
  struct Tokens {
    int64_t acquired = 0, committed = 0;
    std::map<unsigned, int64_t> waited, released;
    bool isAcquired = false, isReleased = false;
  };

  /// Fetches the role's next event. False: it is at its end, or the kernel is
  /// not defined for these sizes.
  bool fetch(unsigned role);
  /// The role whose step the event waits for; none if it may happen.
  std::optional<unsigned> blocker(unsigned role) const;
  void execute(unsigned role);
  void reportDeadlock();
  void checkBalance();
  void notePasses();

  std::string name(unsigned role) const { return "@" + model.roles[role].name; }

  const ProtocolModel &model;
  ProtocolInputs &inputs;
  std::vector<RoleCursor> cursors;
  std::vector<Tokens> channels;
  bool isDefined = true;
  std::optional<ProtocolFinding> finding;
};

} // namespace

TokenRun::TokenRun(const ProtocolModel &model, ProtocolInputs &inputs)
    : model(model), inputs(inputs), channels(model.channels.size()) {
  for (unsigned role = 0; role < model.roles.size(); ++role)
    cursors.emplace_back(model, role);
  for (auto [tokens, channel] : llvm::zip(channels, model.channels))
    tokens.acquired = tokens.committed = channel.initial;
}

bool TokenRun::fetch(unsigned role) {
  RoleCursor &cursor = cursors[role];
  while (!cursor.fetch()) {
    if (cursor.isAtEnd())
      return false;
    std::optional<bool> yes = inputs.answer(cursor);
    // Anything is possible of what nothing is known of: say, 1.
    while (!yes && inputs.missing()) {
      ProtocolInput input = *inputs.missing();
      inputs.set(input, isa<FloatType>(input.type)
                            ? TypedAttr(FloatAttr::get(input.type, 1.0))
                            : IntegerAttr::get(input.type, 1));
      yes = inputs.answer(cursor);
    }
    isDefined &= yes.has_value();
    if (!isDefined)
      return false;
    cursor.answer(*yes);
  }
  return true;
}

std::optional<unsigned> TokenRun::blocker(unsigned role) const {
  const ProtocolEvent &event = cursors[role].event();
  const ProtocolChannel &channel = model.channels[event.channel];
  const Tokens &tokens = channels[event.channel];
  if (event.step->strength == Step::Weak)
    return std::nullopt;
  if (event.kind == StepKind::Wait &&
      event.position + event.step->ahead >= tokens.committed)
    return channel.producer == -1 ? role : channel.producer;
  if (event.kind == StepKind::Acquire)
    for (unsigned consumer : channel.consumers) {
      auto released = tokens.released.find(consumer);
      int64_t count = released == tokens.released.end() ? 0 : released->second;
      if (count <= event.position - channel.stages)
        return consumer;
    }
  return std::nullopt;
}

void TokenRun::execute(unsigned role) {
  const ProtocolEvent &event = cursors[role].event();
  Tokens &tokens = channels[event.channel];
  switch (event.kind) {
  case StepKind::Acquire:
    ++tokens.acquired;
    tokens.isAcquired = true;
    break;
  case StepKind::Commit:
    ++tokens.committed;
    break;
  case StepKind::Wait:
    ++tokens.waited[role];
    break;
  case StepKind::Release:
    ++tokens.released[role];
    tokens.isReleased = true;
    break;
  default:
    break;
  }
  cursors[role].pop();
}

void TokenRun::reportDeadlock() {
  unsigned role = 0;
  while (!fetch(role))
    ++role;
  SmallVector<unsigned> chain;
  while (fetch(role) && !llvm::is_contained(chain, role)) {
    chain.push_back(role);
    role = *blocker(role);
  }
  // What leads to a cycle is not part of it.
  if (auto *start = llvm::find(chain, role); start != chain.end())
    chain.erase(chain.begin(), start);
  else
    chain.erase(chain.begin(), chain.end() - 1);
  auto describe = [&](unsigned blocked) {
    const ProtocolEvent &event = cursors[blocked].event();
    const ProtocolChannel &channel = model.channels[event.channel];
    bool isWait = event.kind == StepKind::Wait;
    unsigned by = *blocker(blocked);
    bool hasEnded = cursors[by].isAtEnd() || by == blocked;
    return formatv("{0} waits for {1} number {2} of channel \"{3}\" by {4}{5}",
                   name(blocked), isWait ? "commit" : "release",
                   event.position + 1 - (isWait ? 0 : channel.stages),
                   channel.label, name(by), hasEnded ? ", which has ended" : "")
        .str();
  };
  const ProtocolEvent &event = cursors[chain.front()].event();
  finding = ProtocolFinding{event.step->op,
                            formatv("channel \"{0}\": {1} never goes on",
                                    model.channels[event.channel].label,
                                    name(chain.front())),
                            {}};
  for (unsigned blocked : chain) {
    finding->notes.push_back(
        {cursors[blocked].event().step->op, describe(blocked)});
    finding->channels.push_back(cursors[blocked].event().channel);
  }
}

void TokenRun::checkBalance() {
  for (auto [tokens, channel] : llvm::zip(channels, model.channels)) {
    bool hasEmptySide = tokens.isAcquired || tokens.isReleased;
    bool isBalanced = !hasEmptySide || tokens.acquired == tokens.committed;
    for (unsigned consumer : channel.consumers)
      isBalanced &=
          tokens.waited[consumer] == tokens.committed &&
          (!hasEmptySide || tokens.released[consumer] == tokens.committed);
    if (isBalanced || finding)
      continue;
    finding = ProtocolFinding{
        channel.op,
        formatv("channel \"{0}\": tokens are left over at the end",
                channel.label),
        {}};
  }
}

void TokenRun::notePasses() {
  FindingConcerns concerns(model, *finding);
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    if (!loop.parents.empty() || !concerns.isAbout(loop))
      continue;
    std::optional<int64_t> passes =
        inputs.countPasses(i, RoleCursor(model, loop.role));
    if (passes)
      finding->passes += *passes;
    if (passes && *passes == ProtocolInputs::kEndless)
      finding->notes.push_back(
          {loop.op, formatv("{0} makes passes of this loop without end: its "
                            "induction variable wraps around",
                            name(loop.role))});
    else if (passes)
      finding->notes.push_back(
          {loop.op,
           formatv("{0} makes {1} pass{2} of this loop", name(loop.role),
                   *passes, *passes == 1 ? "" : "es")});
  }
  noteSizes(model, inputs.describe(), *finding);
}

std::optional<ProtocolFinding> TokenRun::run(size_t maxEvents) {
  for (size_t events = 0; events < maxEvents;) {
    bool hasMoved = false, isDone = true;
    for (unsigned role = 0; role < model.roles.size(); ++role) {
      // A role goes on until it waits for another one.
      while (events < maxEvents && fetch(role) && !blocker(role)) {
        execute(role);
        hasMoved = true;
        ++events;
      }
      isDone &= cursors[role].isAtEnd();
    }
    if (!isDefined)
      return std::nullopt;
    if (isDone)
      checkBalance();
    else if (!hasMoved)
      reportDeadlock();
    if (finding)
      notePasses();
    if (isDone || !hasMoved)
      return std::move(finding);
  }
  return std::nullopt;
}

std::optional<ProtocolFinding>
fa4::tile::runProtocolTokens(const ProtocolModel &model, ProtocolInputs &inputs,
                             const ProtocolSizes &sizes, size_t maxEvents) {
  inputs.clear();
  inputs.setRank(0);
  for (const auto &[input, number] : sizes)
    inputs.set(input, number);
  return TokenRun(model, inputs).run(maxEvents);
}
