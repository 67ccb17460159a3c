//===- Deadlock.cpp - roles that wait for each other ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Findings.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

namespace {

/// A state in which no role can take a step.
class Deadlock {
public:
  Deadlock(const ProtocolModel &model, Findings &findings,
           const Machine &machine)
      : model(model), findings(findings), machine(machine) {}

  void report();

private:
  /// Returns the role for whose step `role` waits.
  unsigned culprit(unsigned role) const;
  std::string describeBlocked(unsigned role) const;
  bool assumesPasses(ArrayRef<unsigned> chain) const;
  void explainBlocked(unsigned role);

  const ProtocolModel &model;
  Findings &findings;
  const Machine &machine;
};

} // namespace

unsigned Deadlock::culprit(unsigned role) const {
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

std::string Deadlock::describeBlocked(unsigned role) const {
  const ProtocolEvent &event = machine.cursors[role].event();
  int64_t stages = model.channels[event.channel].stages;
  bool isWait = event.kind == StepKind::Wait;
  unsigned other = culprit(role);
  return formatv("{0}{1} waits for {2} number {3} of channel \"{4}\" by {5}{6}",
                 findings.roleName(role), inPass(event.pass()),
                 isWait ? "commit" : "release",
                 isWait ? event.position + 1 : event.position - stages + 1,
                 findings.label(event.channel), findings.roleName(other),
                 machine.cursors[other].isAtEnd() ? ", which has ended" : "")
      .str();
}

/// Returns true if the roles of a deadlock's chain have loops whose numbers of
/// passes are computed from different unknowns. The proof then assumes a
/// relation between these numbers, and no call of the kernel may have it.
bool Deadlock::assumesPasses(ArrayRef<unsigned> chain) const {
  using Terms = std::map<Unknown, int64_t>;
  std::map<unsigned, std::set<Terms>> passes;
  for (unsigned blocked : chain)
    for (unsigned role : {blocked, culprit(blocked)})
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

/// Explains a role that cannot go on: what the role waits for, and where the
/// other role has the commit or release that would end the wait.
void Deadlock::explainBlocked(unsigned role) {
  const ProtocolEvent &event = machine.cursors[role].event();
  findings.explainWait(event.step->op, describeBlocked(role));
  bool isWait = event.kind == StepKind::Wait;
  StepKind kind = isWait ? StepKind::Commit : StepKind::Release;
  unsigned other = culprit(role);
  const RoleCursor &cursor = machine.cursors[other];
  bool hasEnded = cursor.isAtEnd();
  bool isSaid = false;
  forEachStep(model.roles[other].body, [&](const Step &step) {
    if (step.kind != kind || step.channel != event.channel)
      return;
    isSaid = true;
    findings.explainWait(
        step.op,
        formatv("{0} {1} channel \"{2}\" here, {3}", findings.roleName(other),
                isWait ? "commits" : "releases", findings.label(event.channel),
                hasEnded ? "for the last time before it ends"
                         : "once its own wait has ended"));
  });
  if (!isSaid)
    findings.explainWait(model.roles[other].op,
                         formatv("{0} never {1} channel \"{2}\"",
                                 findings.roleName(other),
                                 isWait ? "commits" : "releases",
                                 findings.label(event.channel)));
}

void Deadlock::report() {
  // The chain of roles that wait for each other begins at the first role that
  // is stuck, and leads to a cycle or to a role that has ended.
  unsigned role = 0;
  while (machine.cursors[role].isAtEnd())
    ++role;
  SmallVector<unsigned> chain;
  while (!machine.cursors[role].isAtEnd() && !llvm::is_contained(chain, role)) {
    chain.push_back(role);
    role = culprit(role);
  }
  // The roles in front of the cycle do not belong to it.
  if (auto *start = llvm::find(chain, role); start != chain.end())
    chain.erase(chain.begin(), start);
  else
    chain.erase(chain.begin(), chain.end() - 1);
  const ProtocolEvent &event = machine.cursors[chain.front()].event();
  unsigned other = culprit(chain.front());
  StringRef awaited = event.kind == StepKind::Wait ? "commit" : "release";
  std::string waiting = findings.roleName(chain.front()),
              acting = findings.roleName(other);
  if (assumesPasses(chain))
    findings.report(machine, event.step->op,
                    formatv("channel \"{0}\": it is not shown that {1} {2}s it "
                            "as often as {3} waits for that: the passes of "
                            "their loops are computed in different ways",
                            findings.label(event.channel), acting, awaited,
                            waiting));
  else
    findings.report(
        machine, event.step->op,
        formatv("channel \"{0}\": {1} waits forever for {2} to {3} it",
                findings.label(event.channel), waiting, acting, awaited));
  for (unsigned blocked : chain) {
    const ProtocolEvent &next = machine.cursors[blocked].event();
    findings.note(next.step->op, describeBlocked(blocked));
    // If the role that should act has ended, a note tells how often it has
    // acted.
    if (machine.cursors[culprit(blocked)].isAtEnd())
      findings.nameChannel(next.channel);
    explainBlocked(blocked);
  }
}

void fa4::tile::proof::reportDeadlock(const ProtocolModel &model,
                                      Findings &findings,
                                      const Machine &machine) {
  Deadlock(model, findings, machine).report();
}
