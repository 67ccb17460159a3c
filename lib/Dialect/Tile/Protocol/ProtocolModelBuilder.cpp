//===- ProtocolModelBuilder.cpp - the model of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "ProtocolSteps.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolPeers.h"
#include "fa4/Support/NestedOps.h"

using namespace mlir;
using namespace fa4::tile;

/// Checks that a role takes the numbers of its next work tiles from the channel
/// `responses`, with one wait for each tile. The first role that is checked
/// sets the channel: a role that used another one would work on different
/// tiles.
static LogicalResult checkNext(WorkOp work, ChannelOp &responses) {
  NextOp next = work.getNext();
  auto role = work->getParentOfType<RoleOp>();
  if (!next.getNumber())
    return success();
  ChannelOp channel = next.getNumber().getDefiningOp<ResponseOp>().getChannel();
  if (!channel)
    return next.emitError("@") << role.getSymName()
                               << " takes the number of its next work tile "
                                  "from a response that no channel holds";
  if (responses && responses != channel)
    return next.emitError("@")
           << role.getSymName()
           << " takes the number of its next work tile from channel \""
           << channel.getLabel() << "\", but other roles from \""
           << responses.getLabel() << "\": they would work on different tiles";
  responses = channel;
  unsigned waits = 0, here = 0;
  role.walk([&](WaitOp wait) {
    bool isOne = wait.getChannel() == channel.getChannel();
    waits += isOne;
    here += isOne && wait->getBlock() == next->getBlock();
  });
  if (waits != 1 || here != 1)
    return work.emitError("@")
           << role.getSymName() << " must wait once for channel \""
           << channel.getLabel()
           << "\", at the top of its work, as it takes the number of its next "
              "work tile from there";
  for (Operation *user : channel->getUsers())
    if (auto commit = dyn_cast<CommitOp>(user))
      if (!commit.getValue() || !commit.getValue().getDefiningOp<RequestOp>())
        return commit.emitError("channel \"")
               << channel.getLabel() << "\": @"
               << commit->getParentOfType<RoleOp>().getSymName()
               << " commits a value that is no response to a tile.request, "
                  "though roles take the numbers of their work tiles from "
                  "there";
  return success();
}

/// Decides which asynchronous accesses have ended when a commit or release of
/// an issuing role takes effect. For a commit, this is the access that writes
/// its stage. For a release, these are the MMAs of the role, if any of them
/// reads the channel.
static void setCompletions(const ProtocolModel &model, ProtocolRole &role,
                           std::vector<Step> &steps, ArrayRef<Agent> writers) {
  for (Step &step : steps) {
    if (step.kind == StepKind::Commit)
      step.completes = writers[step.channel];
    if (step.kind == StepKind::Release &&
        feeds<MmaOp>(role.op, model.channels[step.channel].op))
      step.completes = Agent::Mma;
    setCompletions(model, role, step.body, writers);
    setCompletions(model, role, step.elseBody, writers);
  }
}

FailureOr<ProtocolModel> fa4::tile::buildCtaModel(KernelOp kernel) {
  ProtocolModel model;
  model.kernel = kernel;
  for (auto op : kernel.getBody().getOps<RoleOp>()) {
    ProtocolRole &role = model.roles.emplace_back();
    role.op = op;
    role.name = op.getSymName().str();
    role.oneThread = op.runsOnOneThread();
    role.variables = 1;
  }
  ProtocolChannels channels(model);
  ProtocolNumbers numbers(model);
  ChannelOp responses;
  auto check = [&](WorkOp work) { return checkNext(work, responses); };
  if (failed(channels.add()) || failed(fa4::checkEach(kernel, check)))
    return failure();
  numbers.findSpans();
  for (unsigned role = 0; role < model.roles.size(); ++role)
    if (failed(RoleSteps(model, numbers, channels, role).build()))
      return failure();
  SmallVector<Agent> writers(model.channels.size(), Agent::Lanes);
  for (ProtocolRole &role : model.roles)
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Access && step.writes != -1)
        writers[step.writes] = step.agent;
    });
  for (ProtocolRole &role : model.roles)
    setCompletions(model, role, role.body, writers);
  return std::move(model);
}

FailureOr<ProtocolModel> fa4::tile::buildProtocolModel(KernelOp kernel) {
  FailureOr<ProtocolModel> model = buildCtaModel(kernel);
  if (failed(model) || failed(addPeers(*model)))
    return failure();
  return model;
}
