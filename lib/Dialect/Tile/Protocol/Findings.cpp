//===- Findings.cpp - counter-examples of the proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Findings.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

void Findings::report(const Machine &machine, Operation *op,
                      std::string message) {
  finding =
      ProtocolFinding{op, std::move(message), {}, passes.countPasses(machine)};
  found = machine;
}

/// Returns true if `clock` covers the access to shared memory by relaxed
/// arrivals only. Such arrivals order accesses to tensor memory, not to shared
/// memory.
bool Findings::hasComeAfter(const Clock &clock, const Record &old) const {
  if (old.agent == layout.threadsAgent(old.role))
    return clock[old.role] >= old.time;
  return old.agent == layout.mmaAgent(old.role, /*inTensorMemory=*/false) &&
         clock[layout.mmaAgent(old.role, /*inTensorMemory=*/true)] >= old.time;
}

std::string Findings::describeMissing(const Record &old, unsigned role,
                                      const Clock &clock) const {
  if (old.role != role && hasComeAfter(clock, old))
    return formatv(
        "only relaxed arrivals, at the barriers of the leader, lead from it to "
        "{0}: they order accesses to tensor memory, not to shared memory",
        roleName(role));
  bool isLanes = layout.isOfLanes(old);
  if (old.role != role)
    return formatv(
        "{0} has waited for no commit or release by {1} that follows {2}",
        roleName(role), roleName(old.role), isLanes ? "it" : "its end");
  return isLanes ? "other lanes of the role may come later"
                 : "the role has waited for nothing that follows its end";
}

void Findings::noteOrder(const Machine &machine, unsigned role,
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
    return llvm::any_of(layout.overlapping(slot), [&](unsigned other) {
      return layout.channelOf(other) == channel;
    });
  };
  for (auto &[op, message] :
       history.explain(machine.history, role, old.role, old.entry, isAbout))
    note(op, std::move(message));
}

void Findings::noteStep(const Machine &machine, int role, StepKind kind,
                        unsigned channel, StringRef what) {
  int entry = role == -1 ? ProtocolHistory::kNone
                         : history.find(machine.history[role], kind, channel);
  if (entry != ProtocolHistory::kNone)
    note(history.opOf(entry),
         formatv("value {0} is {1} here{2}", history.positionOf(entry) + 1,
                 what, inPass(history.passOf(entry))));
}

void Findings::notePasses() {
  const Machine &machine = *found;
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

/// Explains two accesses that nothing orders: the last wait of each role before
/// its access.
void Findings::explainOrder() {
  FindingConcerns concerns(model, *finding);
  for (unsigned role = 0; role < layout.roleCount(); ++role) {
    if (!concerns.isAboutRole(role))
      continue;
    if (auto wait = history.lastWait(found->history[role], role))
      finding->waits.push_back(
          {wait->first, wait->second + ", the last wait of this role by then"});
    else
      finding->waits.push_back({model.roles[role].op,
                                roleName(role) + " has waited for no one yet"});
  }
}

std::optional<ProtocolFinding> Findings::take() {
  if (!finding)
    return std::nullopt;
  notePasses();
  if (finding->waits.empty())
    explainOrder();
  return std::move(finding);
}
