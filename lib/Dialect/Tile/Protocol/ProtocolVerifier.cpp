//===- ProtocolVerifier.cpp - proof of a kernel's synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "AccessChecks.h"
#include "RingSteps.h"
#include "StateSet.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

/// Returns true if every path through the steps waits for another role.
static bool alwaysWaits(const std::vector<Step> &steps) {
  return llvm::any_of(steps, [](const Step &step) {
    return step.kind == StepKind::Acquire || step.kind == StepKind::Wait ||
           (step.kind == StepKind::If && alwaysWaits(step.body) &&
            alwaysWaits(step.elseBody));
  });
}

/// Returns true if channels connect all roles that have loops, perhaps by way
/// of other roles. Roles that are not connected do not wait for each other, so
/// some could run ahead without end while others stand still.
static bool areAllConnected(const ProtocolModel &model) {
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

/// Returns for each loop whether its role may make a pass without a wait for
/// each of the other roles.
static SmallVector<bool> findIdleLoops(const ProtocolModel &model) {
  bool areConnected = areAllConnected(model);
  SmallVector<bool> mayIdle;
  for (const ProtocolLoop &loop : model.loops)
    mayIdle.push_back(loop.inside > 0 ||
                      (!areConnected && loop.parents.empty()));
  for (const ProtocolRole &role : model.roles)
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Loop && !alwaysWaits(step.body))
        mayIdle[step.number] = true;
    });
  return mayIdle;
}

namespace {

/// Follows runs of the roles, from the state before their first step.
class Verifier {
public:
  Verifier(const ProtocolModel &model, ProtocolStatistics &statistics,
           uint64_t maxStates)
      : model(model), statistics(statistics), maxStates(maxStates),
        mayIdle(findIdleLoops(model)) {}
  std::optional<ProtocolFinding> run();

private:
  Machine start() const;
  SmallVector<unsigned> orderRoles(const Machine &machine) const;
  /// Reports that there is no proof within the limits.
  bool isExhausted(const Machine &machine);
  void advance(Machine machine);
  void enqueue(Machine machine) {
    int64_t count = passes.countPasses(machine);
    queue.emplace(count, std::move(machine));
  }
  /// Answers a role's question. Returns false if both answers are possible and
  /// have been queued, or if the state has been seen before.
  bool answer(Machine &machine, unsigned role);
  void branch(Machine &machine, unsigned role,
              ProtocolCondition::Predicate predicate, const LinearForm &form);
  void reportMultiple(const Machine &machine, unsigned role);
  void execute(Machine &machine, unsigned role);

  const ProtocolModel &model;
  ProtocolStatistics &statistics;
  uint64_t maxStates;
  ProofLayout layout{model};
  PassCounts passes{model};
  Findings findings{model, layout, passes};
  RingSteps rings{model, layout, findings};
  AccessChecks accesses{model, layout, findings};
  StateSet states{model, layout};
  /// See findIdleLoops.
  SmallVector<bool> mayIdle;
  /// The states to follow, sorted by the number of passes, then by the order in
  /// which they were made.
  std::multimap<int64_t, Machine> queue;
};

} // namespace

Machine Verifier::start() const {
  Machine machine;
  unsigned size = layout.clockSize();
  auto nothing = std::make_shared<const Clock>(size, 0);
  for (unsigned role = 0; role < layout.roleCount(); ++role) {
    machine.cursors.emplace_back(model, role);
    machine.lanes.emplace_back(size, 0);
    machine.mmas.emplace_back(size, 0);
  }
  machine.history.assign(layout.roleCount(), ProtocolHistory::kNone);
  machine.passesLeft.assign(model.loops.size(), 0);
  machine.copies.assign(layout.slotCount(), 0);
  machine.slots.resize(layout.slotCount());
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
      machine.slots[layout.slotOf(i, position)].content = position;
  }
  passes.assumePlain(machine.facts);
  return machine;
}

void Verifier::execute(Machine &machine, unsigned role) {
  ++statistics.steps;
  RoleCursor &cursor = machine.cursors[role];
  const ProtocolEvent &event = cursor.event();
  machine.history[role] = findings.history.append(machine.history[role], event);
  switch (event.kind) {
  case StepKind::Acquire:
    rings.acquire(machine, role, event);
    break;
  case StepKind::Commit:
    rings.commit(machine, role, event);
    break;
  case StepKind::Wait:
    rings.wait(machine, role, event);
    break;
  case StepKind::Release:
    rings.release(machine, role, event);
    break;
  default:
    accesses.access(machine, role, event);
  }
  cursor.pop();
}

static void reply(Machine &machine, unsigned role, bool yes) {
  RoleCursor &cursor = machine.cursors[role];
  const ProtocolQuestion &question = cursor.question();
  if (question.kind == ProtocolQuestion::AnotherPass && !yes)
    machine.passesLeft[question.number] += question.pass;
  cursor.answer(yes);
}

/// Reports a question about a multiple of an unknown, such as `2 x == n`:
/// whether it has a solution in integers is beyond the facts.
void Verifier::reportMultiple(const Machine &machine, unsigned role) {
  ProtocolQuestion question = machine.cursors[role].question();
  if (question.kind == ProtocolQuestion::AnotherPass)
    return findings.report(
        machine, model.loops[question.number].op,
        formatv("{0} makes as many passes of this loop as a multiple of an "
                "unknown says: not supported by the protocol verifier",
                findings.roleName(role)));
  Operation *condition =
      model.conditions[question.number].value.getDefiningOp();
  findings.report(machine,
                  condition ? condition
                            : RoleOp(model.roles[role].op).getOperation(),
                  formatv("{0} decides by a multiple of an unknown: not "
                          "supported by the protocol verifier",
                          findings.roleName(role)));
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
    passes.relateClamped(facts, form);
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
      passes.assumeLeast(machine.facts,
                         cursor.instance(model.loops[question.number].parents));
    passes.relateClamped(machine.facts, form);
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
    if (!states.insert(machine) || isExhausted(machine))
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
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq(0u, layout.roleCount()));
  if (llvm::none_of(mayIdle, [](bool idle) { return idle; }))
    return order;
  SmallVector<SmallVector<int64_t, 2>> passesOf(layout.roleCount());
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    const RoleCursor &cursor = machine.cursors[loop.role];
    if (mayIdle[i] && cursor.isIn(i))
      passesOf[loop.role].push_back(cursor.passes(i) + loop.firstPass);
  }
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tie(passesOf[a], a) < std::tie(passesOf[b], b);
  });
  return order;
}

bool Verifier::isExhausted(const Machine &machine) {
  if (statistics.steps <= kMaxProtocolSteps && states.size() <= maxStates)
    return false;
  findings.report(
      machine, model.kernel,
      formatv("the protocol of @{0} is not proven in {1} steps and {2} states",
              KernelOp(model.kernel).getSymName(), statistics.steps,
              states.size()));
  return true;
}

void Verifier::advance(Machine machine) {
  SmallVector<unsigned> order;
  std::optional<uint64_t> orderedAt;
  while (!findings.any()) {
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
      if (!rings.isEnabled(machine, role))
        continue;
      execute(machine, role);
      hasMoved = true;
    }
    if (isExhausted(machine))
      return;
    if (isDone)
      return rings.checkEnd(machine);
    if (!hasMoved)
      return reportDeadlock(model, findings, machine);
  }
}

std::optional<ProtocolFinding> Verifier::run() {
  enqueue(start());
  while (!queue.empty() && !findings.any())
    advance(std::move(queue.extract(queue.begin()).mapped()));
  statistics.states = states.size();
  return findings.take();
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
