//===- ProtocolExplanation.cpp - which step waits for whom ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error of the proof stands on one operation, and its notes tell the
// shortest counter-example. The explanation is for the person who edits the
// file. It says where each role stands at the end of the counter-example, what
// the role waits for, and which line of which other role should end the wait.
//
//===----------------------------------------------------------------------===//

#include "ProtocolProof.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

static bool isStep(const Step &step, StepKind kind, unsigned channel) {
  return step.kind == kind && step.channel == channel;
}

/// Explains a role that cannot go on: what the role waits for, and where the
/// other role has the commit or release that would end the wait.
void Verifier::explainBlocked(const Machine &machine, unsigned role) {
  const ProtocolEvent &event = machine.cursors[role].event();
  finding->waits.push_back({event.step->op, describeBlocked(machine, role)});
  bool isWait = event.kind == StepKind::Wait;
  StepKind kind = isWait ? StepKind::Commit : StepKind::Release;
  unsigned other = culprit(machine, role);
  const RoleCursor &cursor = machine.cursors[other];
  bool hasEnded = cursor.isAtEnd();
  bool isSaid = false;
  forEachStep(model.roles[other].body, [&](const Step &step) {
    if (!isStep(step, kind, event.channel))
      return;
    isSaid = true;
    finding->waits.push_back(
        {step.op, formatv("{0} {1} channel \"{2}\" here, {3}", roleName(other),
                          isWait ? "commits" : "releases", label(event.channel),
                          hasEnded ? "for the last time before it ends"
                                   : "once its own wait has ended")
                      .str()});
  });
  if (!isSaid)
    finding->waits.push_back(
        {model.roles[other].op,
         formatv("{0} never {1} channel \"{2}\"", roleName(other),
                 isWait ? "commits" : "releases", label(event.channel))
             .str()});
}

/// Explains a channel with fewer releases than commits: which steps of its
/// producer will wait for the missing release.
void Verifier::explainStarved(const Machine &machine, unsigned channel) {
  const ProtocolChannel &of = model.channels[channel];
  const ChannelState &state = machine.channels[channel];
  if (of.producer == -1)
    return;
  const auto *fewest = llvm::min_element(state.released);
  if (fewest == state.released.end() || *fewest >= state.committed)
    return;
  unsigned consumer = of.consumers[fewest - state.released.begin()];
  forEachStep(model.roles[of.producer].body, [&](const Step &step) {
    if (isStep(step, StepKind::Acquire, channel))
      finding->waits.push_back(
          {step.op,
           formatv("{0} waits here for release number {1} of channel \"{2}\" "
                   "by {3}, to make value {4}: the ring has {5} stage{6}",
                   roleName(of.producer), *fewest + 1, of.label,
                   roleName(consumer), *fewest + of.stages + 1, of.stages,
                   of.stages == 1 ? "" : "s")
               .str()});
  });
}

/// Explains two accesses that nothing orders: the last wait of each role before
/// its access.
void Verifier::explainOrder(const Machine &machine) {
  FindingConcerns concerns(model, *finding);
  for (unsigned role = 0; role < roleCount(); ++role) {
    if (!concerns.isAboutRole(role))
      continue;
    if (auto wait = history.lastWait(machine.history[role], role))
      finding->waits.push_back(
          {wait->first, wait->second + ", the last wait of this role by then"});
    else
      finding->waits.push_back({model.roles[role].op,
                                roleName(role) + " has waited for no one yet"});
  }
}

/// Explains a kernel that has no model because a channel lacks its producer or
/// its consumers: names the roles that wait for the missing side. Returns false
/// if no role does.
static bool explainMissingSide(KernelOp kernel) {
  bool hasExplained = false;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    auto has = [&](auto isKind) {
      return llvm::any_of(channel->getUsers(), isKind);
    };
    bool isCommitted = channel.getInitial() ||
                       has([](Operation *user) { return isa<CommitOp>(user); });
    for (Operation *user : channel->getUsers()) {
      if (!isa<WaitOp>(user) || isCommitted)
        continue;
      auto role = user->getParentOfType<RoleOp>();
      emitRemark(user->getLoc())
          << "@" << role.getSymName() << " waits here for commits of channel \""
          << channel.getLabel() << "\", which no role makes";
      hasExplained = true;
    }
  }
  return hasExplained;
}

bool fa4::tile::explainProtocol(KernelOp kernel) {
  if (kernel.getBody().getOps<RoleOp>().empty())
    return false;
  auto model = [&]() -> FailureOr<ProtocolModel> {
    ScopedDiagnosticHandler quiet(kernel.getContext(),
                                  [](Diagnostic &) { return success(); });
    return buildProtocolModel(kernel);
  }();
  if (failed(model))
    return explainMissingSide(kernel);
  if (verifyPlacement(*model))
    return false;
  std::optional<ProtocolFinding> finding = verifyProtocol(*model);
  if (!finding)
    return false;
  // Not op->emitRemark, which prints the op and therefore verifies it: this may
  // be part of a verifier.
  for (const auto &[op, text] : finding->waits)
    emitRemark(op->getLoc(), text);
  return !finding->waits.empty();
}
