//===- ProtocolFindings.cpp - counter-examples ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolProof.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "mlir/IR/Diagnostics.h"

#include <map>
#include <set>

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

void ProtocolFinding::emit() const {
  InFlightDiagnostic diagnostic = op->emitError(message);
  for (const auto &[at, note] : notes)
    diagnostic.attachNote(at->getLoc()) << note;
}

void Verifier::checkEnd(const Machine &machine) {
  struct Side {
    std::string done;
    StepKind kind;
    int role;
    int64_t count;
  };
  for (auto [i, state] : llvm::enumerate(machine.channels)) {
    const ProtocolChannel &channel = model.channels[i];
    auto compare = [&, i = i](const Side &a, const Side &b) {
      if (finding || a.count == b.count)
        return;
      report(machine, channel.op,
             formatv("channel \"{0}\": {1} values are {2}, but {3} {4}",
                     channel.label, a.count, a.done, b.count, b.done));
      const Side &more = a.count > b.count ? a : b;
      noteStep(machine, more.role, more.kind, i, more.done);
      explainStarved(machine, i);
    };
    int producer = channel.producer;
    Side commits{"committed", StepKind::Commit, producer, state.committed};
    for (auto [k, consumer] : llvm::enumerate(channel.consumers)) {
      int role = consumer;
      Side waits{"waited for by " + roleName(consumer), StepKind::Wait, role,
                 state.waited[k]};
      compare(commits, waits);
      if (isAcquired[i] || isReleased[i])
        compare(waits,
                {"released", StepKind::Release, role, state.released[k]});
    }
    if (isAcquired[i] || isReleased[i])
      compare(commits,
              {"acquired", StepKind::Acquire, producer, state.acquired});
  }
}

void Verifier::report(const Machine &machine, Operation *op,
                      std::string message) {
  finding = ProtocolFinding{op, std::move(message), {}, countPasses(machine)};
  found = machine;
}

void Verifier::reportReadOfNothing(const Machine &machine, unsigned role,
                                   const ProtocolEvent &event) {
  for (unsigned channel : event.step->readsLast)
    return report(machine, event.step->op,
                  formatv("channel \"{0}\": {1} reads a stage before it has "
                          "waited for one",
                          label(channel), roleName(role)));
  std::string where;
  if (event.write)
    where = formatv("channel \"{0}\": ", label(event.write->channel));
  report(machine, event.step->op,
         formatv("{0}{1} reads a value that no one has written", where,
                 roleName(role)));
}

/// Adds notes that say why the access `old` to the memory of `slot` may still
/// be under way: what `role` has waited for, and why this does not cover `old`.
/// `clock` is the clock of `role`.
void Verifier::noteOrder(const Machine &machine, unsigned role,
                         const Record &old, unsigned slot, const Clock &clock) {
  if (role == old.role)
    return;
  if (hasComeAfter(clock, old)) {
    int arrival = history.findRelaxed(machine.history[old.role], old.entry);
    if (arrival != ProtocolHistory::kNone)
      note(history.opOf(arrival),
           "this arrival" + inPass(history.passOf(arrival)) + " is relaxed");
    return;
  }
  auto isAbout = [&](unsigned channel) {
    return llvm::any_of(overlapping[slot], [&](unsigned other) {
      return channelOfSlot[other] == channel;
    });
  };
  for (auto &[op, message] :
       history.explain(machine.history, role, old.role, old.entry, isAbout))
    note(op, std::move(message));
}

/// Adds a note on the last step of kind `kind` on `channel` that the role has
/// taken.
void Verifier::noteStep(const Machine &machine, int role, StepKind kind,
                        unsigned channel, StringRef what) {
  int entry = role == -1 ? ProtocolHistory::kNone
                         : history.find(machine.history[role], kind, channel);
  if (entry != ProtocolHistory::kNone)
    note(history.opOf(entry),
         formatv("value {0} is {1} here{2}", history.positionOf(entry) + 1,
                 what, inPass(history.passOf(entry))));
}

void Verifier::notePasses(const Machine &machine) {
  FindingConcerns concerns(model, *finding);
  for (const ProtocolLoop &loop : model.loops) {
    const RoleCursor &cursor = machine.cursors[loop.role];
    if (!concerns.isAbout(loop) ||
        !llvm::all_of(loop.parents,
                      [&](unsigned outer) { return cursor.isIn(outer); }))
      continue;
    LinearForm trips = machine.facts.simplify(
        model.instantiate(loop.trips, cursor.instance(loop.parents)));
    auto least = machine.facts.lowerBound(trips);
    int64_t known = std::max<int64_t>(least ? *least : 0, 0);
    std::string where;
    if (!loop.parents.empty())
      where = formatv(" in pass {0} of the one around it",
                      cursor.passes(loop.parents.back()));
    finding->notes.push_back(
        {loop.op,
         formatv("{0} makes {1}{2} pass{3} of this loop{4}",
                 roleName(loop.role), trips.isConstant() ? "" : "at least ",
                 known, known == 1 ? "" : "es", where)});
  }
}

unsigned Verifier::culprit(const Machine &machine, unsigned role) const {
  const ProtocolEvent &event = machine.cursors[role].event();
  const ProtocolChannel &channel = model.channels[event.channel];
  if (event.kind == StepKind::Wait)
    return channel.producer;
  const ChannelState &state = machine.channels[event.channel];
  for (auto [i, consumer] : llvm::enumerate(channel.consumers))
    if (state.released[i] <= event.position - channel.stages)
      return consumer;
  return role;
}

std::string Verifier::describeBlocked(const Machine &machine,
                                      unsigned role) const {
  const ProtocolEvent &event = machine.cursors[role].event();
  int64_t stages = model.channels[event.channel].stages;
  bool isWait = event.kind == StepKind::Wait;
  unsigned other = culprit(machine, role);
  return formatv("{0}{1} waits for {2} number {3} of channel \"{4}\" by {5}{6}",
                 roleName(role), inPass(event.pass()),
                 isWait ? "commit" : "release",
                 isWait ? event.position + 1 : event.position - stages + 1,
                 label(event.channel), roleName(other),
                 machine.cursors[other].isAtEnd() ? ", which has ended" : "")
      .str();
}

/// Returns true if the roles of a deadlock's chain have loops whose numbers of
/// passes are computed from different unknowns. The proof then assumes a
/// relation between these numbers, and no call of the kernel may have it.
bool Verifier::assumesPasses(const Machine &machine,
                             ArrayRef<unsigned> chain) const {
  using Terms = std::map<Unknown, int64_t>;
  std::map<unsigned, std::set<Terms>> passes;
  for (unsigned blocked : chain)
    for (unsigned role : {blocked, culprit(machine, blocked)})
      passes[role];
  for (const ProtocolLoop &loop : model.loops) {
    auto ofRole = passes.find(loop.role);
    if (ofRole != passes.end() && loop.parents.empty() &&
        !loop.trips.isConstant())
      ofRole->second.insert(loop.trips.terms);
  }
  return llvm::any_of(passes, [&](const auto &role) {
    return !role.second.empty() && role.second != passes.begin()->second &&
           !passes.begin()->second.empty();
  });
}

void Verifier::reportDeadlock(const Machine &machine) {
  // The chain of roles that wait for each other begins at the first role that
  // is stuck, and leads to a cycle or to a role that has ended.
  unsigned role = 0;
  while (machine.cursors[role].isAtEnd())
    ++role;
  SmallVector<unsigned> chain;
  while (!machine.cursors[role].isAtEnd() && !llvm::is_contained(chain, role)) {
    chain.push_back(role);
    role = culprit(machine, role);
  }
  // The roles in front of the cycle do not belong to it.
  if (auto *start = llvm::find(chain, role); start != chain.end())
    chain.erase(chain.begin(), start);
  else
    chain.erase(chain.begin(), chain.end() - 1);
  const ProtocolEvent &event = machine.cursors[chain.front()].event();
  unsigned other = culprit(machine, chain.front());
  StringRef awaited = event.kind == StepKind::Wait ? "commit" : "release";
  std::string waiting = roleName(chain.front()), acting = roleName(other);
  if (assumesPasses(machine, chain))
    report(machine, event.step->op,
           formatv("channel \"{0}\": it is not shown that {1} {2}s it as often "
                   "as {3} waits for that: the passes of their loops are "
                   "computed in different ways",
                   label(event.channel), acting, awaited, waiting));
  else
    report(machine, event.step->op,
           formatv("channel \"{0}\": {1} waits forever for {2} to {3} it",
                   label(event.channel), waiting, acting, awaited));
  for (unsigned blocked : chain) {
    const ProtocolEvent &next = machine.cursors[blocked].event();
    note(next.step->op, describeBlocked(machine, blocked));
    // If the role that should act has ended, a note tells how often it has
    // acted.
    if (machine.cursors[culprit(machine, blocked)].isAtEnd())
      finding->channels.push_back(next.channel);
    explainBlocked(machine, blocked);
  }
}
