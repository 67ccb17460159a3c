//===- ProtocolNotes.cpp - what belongs to a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolNotes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fa4::tile;

void ProtocolFinding::emit() const {
  InFlightDiagnostic diagnostic = op->emitError(message);
  for (const auto &[at, note] : notes)
    diagnostic.attachNote(at->getLoc()) << note;
}

void FindingConcerns::add(unsigned number) {
  const ProtocolChannel &channel = model.channels[number];
  channels.insert(number);
  if (channel.producer != -1)
    roles.insert(channel.producer);
  roles.insert(channel.consumers.begin(), channel.consumers.end());
}

void FindingConcerns::add(Operation *op) {
  operations.push_back(op);
  for (auto [i, channel] : llvm::enumerate(model.channels))
    if (channel.op == op)
      add(unsigned(i));
  for (auto [i, role] : llvm::enumerate(model.roles)) {
    if (!role.op->isProperAncestor(op))
      continue;
    roles.insert(i);
    forEachStep(role.body, [&](const Step &step) {
      if (step.op == op && step.kind != StepKind::Access &&
          step.kind != StepKind::Loop && step.kind != StepKind::If)
        channels.insert(step.channel);
    });
  }
}

FindingConcerns::FindingConcerns(const ProtocolModel &model,
                                 const ProtocolFinding &finding)
    : model(model) {
  add(finding.op);
  for (const auto &[op, note] : finding.notes)
    add(op);
  for (unsigned channel : finding.channels)
    add(channel);
}

bool FindingConcerns::isAbout(const Step &step) const {
  switch (step.kind) {
  case StepKind::Acquire:
  case StepKind::Commit:
  case StepKind::Wait:
  case StepKind::Release:
    return channels.count(step.channel);
  case StepKind::Access:
    return (step.writes != -1 && channels.count(step.writes)) ||
           llvm::any_of(step.readsLast, [&](unsigned channel) {
             return channels.count(channel);
           });
  default:
    return false;
  }
}

bool FindingConcerns::isAbout(const ProtocolLoop &loop) const {
  if (!roles.count(loop.role))
    return false;
  bool isAround = llvm::any_of(
      operations, [&](Operation *op) { return loop.op->isAncestor(op); });
  forEachStep(model.roles[loop.role].body, [&](const Step &step) {
    if (step.kind == StepKind::Loop && step.op == loop.op)
      forEachStep(step.body,
                  [&](const Step &inner) { isAround |= isAbout(inner); });
  });
  return isAround;
}

void fa4::tile::noteSizes(const ProtocolModel &model, const std::string &sizes,
                          ProtocolFinding &finding) {
  if (!sizes.empty())
    finding.notes.push_back({model.kernel, "found for " + sizes});
}
