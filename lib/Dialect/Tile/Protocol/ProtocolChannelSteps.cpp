//===- ProtocolChannelSteps.cpp - steps on the stages of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolSteps.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

LogicalResult ChannelSteps::addChannelOperation(Operation &op, Steps &steps) {
  Steps added;
  if (failed(addForTile(op, added)))
    return failure();
  for (Step &step : added)
    addWithKept(std::move(step), steps);
  return success();
}

void ChannelSteps::addWithKept(Step step, Steps &steps) {
  bool isAccess = step.kind == StepKind::Access;
  const auto *parts =
      context.channels.findExchange(isAccess ? step.writes : int(step.channel));
  steps.push_back(step);
  if (!parts)
    return;
  if (isAccess)
    step.writes = parts->kept;
  else
    step.channel = parts->kept;
  if (step.result != -1)
    step.result = keptWith[step.result] = context.role.variables++;
  steps.push_back(std::move(step));
}

void ChannelSteps::addWait(WaitOp op, Steps &steps) {
  unsigned channel = context.channels.numberOf(op.getChannel());
  bool isScalar = !op.getChannel().getType().getTileType();
  Step step(StepKind::Wait, op, channel);
  if (!isScalar && op.getValue()) {
    step.result = context.newVariable(op.getValue());
    // Lanes read a stage themselves, unless only MMAs that they start do.
    if (getHome(op.getValue()) != ValueHome::Place)
      lanes.expectRead(op);
  }
  steps.push_back(std::move(step));
  if (!isScalar)
    return;
  // A wait for a scalar also reads it.
  Step read(StepKind::Access, op);
  read.readsLast.push_back(channel);
  steps.push_back(std::move(read));
}

LogicalResult ChannelSteps::addCommit(CommitOp op, Steps &steps) {
  unsigned channel = context.channels.numberOf(op.getChannel());
  Value value = op.getValue();
  if (context.role.oneThread &&
      !isWord(op.getChannel().getType().getValueType())) {
    // The steps of the operations that write the stage name the channel.
    if (value && !context.variableOf(value) &&
        !matchPattern(value, m_Constant()))
      return op.emitError("channel \"")
             << context.model.channels[channel].label << "\": @"
             << context.role.name
             << " commits a value that no asynchronous operation of the role "
                "makes";
  } else if (value || op.getChannel().getType().isTurn()) {
    lanes.addReads(*op, steps);
    Step write(StepKind::Access, op);
    write.writes = channel;
    steps.push_back(std::move(write));
  }
  steps.emplace_back(StepKind::Commit, op, channel);
  return success();
}

/// Adds the steps of an operation as if its stage were not split by an
/// exchange.
LogicalResult ChannelSteps::addForTile(Operation &op, Steps &steps) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    addWait(wait, steps);
    return success();
  }
  if (auto commit = dyn_cast<CommitOp>(op))
    return addCommit(commit, steps);
  if (auto read = dyn_cast<ReadOp>(op))
    return lanes.addRead(read, steps);
  if (auto write = dyn_cast<WriteOp>(op)) {
    Step step(StepKind::Access, &op);
    step.writes = context.channels.numberOf(write.getChannel());
    steps.push_back(std::move(step));
    return success();
  }
  auto kind = isa<AcquireOp>(op) ? StepKind::Acquire : StepKind::Release;
  steps.emplace_back(kind, &op, context.channels.numberOf(op.getOperand(0)));
  return success();
}

FailureOr<int> ChannelSteps::findTarget(Operation *op) {
  int target = -1;
  for (OpOperand *use : getEnds(op->getResult(0), FlowThrough::Accumulators)) {
    auto commit = dyn_cast<CommitOp>(use->getOwner());
    if (!commit)
      continue;
    int channel = context.channels.numberOf(commit.getChannel());
    if (target != -1 && target != channel)
      return op->emitError("@")
             << context.role.name << " commits the result of '" << op->getName()
             << "' to two channels, \"" << context.model.channels[target].label
             << "\" and \"" << context.model.channels[channel].label << "\"";
    target = channel;
  }
  if (target == -1)
    return op->emitError("@") << context.role.name << " commits the result of '"
                              << op->getName() << "' to no channel";
  return target;
}

LogicalResult ChannelSteps::needStage(Operation &op, Value operand,
                                      Step &step) {
  unsigned variable = context.variableOf(operand);
  if (!variable)
    return op.emitError("@")
           << context.role.name << " has not waited for a matrix that '"
           << op.getName() << "' reads";
  step.reads.push_back(variable);
  return success();
}

LogicalResult ChannelSteps::addMma(MmaOp op, Step &step) {
  step.agent = Agent::Mma;
  if (failed(needStage(*op, op.getA(), step)) ||
      failed(needStage(*op, op.getB(), step)))
    return failure();
  if (op.getAcc()) {
    step.accumulator = context.variableOf(op.getAcc());
    if (op.getAccumulate()) {
      auto condition = context.addCondition(op.getAccumulate(), op);
      if (failed(condition))
        return failure();
      step.accumulate = *condition;
    }
  }
  return success();
}

LogicalResult ChannelSteps::addAsynchronous(Operation &op, Steps &steps) {
  Step step(StepKind::Access, &op);
  step.agent = Agent::Copy;
  if (auto mma = dyn_cast<MmaOp>(op)) {
    if (failed(addMma(mma, step)))
      return failure();
  } else if (!isa<LoadOp, RequestOp>(op) &&
             failed(needStage(op, op.getOperand(0), step))) {
    return failure();
  }
  if (op.getNumResults() == 1) {
    FailureOr<int> target = findTarget(&op);
    if (failed(target))
      return failure();
    step.writes = *target;
    step.result = context.newVariable(op.getResult(0));
  }
  steps.push_back(std::move(step));
  return success();
}

LogicalResult ChannelSteps::addExchange(ExchangeOp op, Steps &steps) {
  Step copy(StepKind::Access, op);
  copy.agent = Agent::Copy;
  if (failed(needStage(*op, op.getTile(), copy)))
    return failure();
  FailureOr<int> target = findTarget(op);
  if (failed(target))
    return failure();
  unsigned sent = context.channels.numberOf(
      op.getTile().getDefiningOp<WaitOp>().getChannel());
  unsigned received = context.channels.findExchange(sent)->received;
  copy.writes = received;
  Step wait(StepKind::Wait, op, received);
  wait.result = context.role.variables++;
  Step look(StepKind::Access, op), make(StepKind::Access, op);
  look.reads = {unsigned(wait.result),
                keptWith[context.variableOf(op.getTile())]};
  make.writes = *target;
  make.result = context.newVariable(op.getResult());
  steps.push_back(std::move(copy));
  steps.emplace_back(StepKind::Commit, op, received);
  steps.push_back(std::move(wait));
  steps.push_back(std::move(look));
  steps.push_back(std::move(make));
  return success();
}
