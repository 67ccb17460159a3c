//===- ProtocolRoleSteps.cpp - the steps of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolLanes.h"
#include "ProtocolSteps.h"
#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"

using namespace mlir;
using namespace fa4::tile;

LogicalResult RoleSteps::build() {
  RoleOp op = context.role.op;
  if (failed(verifyUniformity(op)) ||
      failed(addBlock(op.getBody().front(), context.role.body)))
    return failure();
  return context.role.oneThread
             ? success()
             : completeLaneCommits(context.model, context.roleNumber);
}

LogicalResult RoleSteps::addBlock(Block &block, Steps &steps) {
  for (Operation &op : block) {
    if (!context.role.oneThread)
      lanes.readBefore(op, steps);
    if (failed(addOperation(op, steps)))
      return failure();
  }
  return success();
}

LogicalResult RoleSteps::addOperation(Operation &op, Steps &steps) {
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, ReadOp, WriteOp>(op))
    return onChannels.addChannelOperation(op, steps);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addLoop(loop, steps);
  if (auto work = dyn_cast<WorkOp>(op))
    return addWork(work, steps);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addIf(branch, steps);
  return context.role.oneThread ? addIssued(op, steps) : addOfLanes(op, steps);
}

LogicalResult RoleSteps::addOfLanes(Operation &op, Steps &steps) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return lanes.addSelection(select, steps);
  if (isView(&op) && getHome(op.getOperand(0)) == ValueHome::Place) {
    context.variables[op.getResult(0)] = context.variableOf(op.getOperand(0));
    return success();
  }
  if (auto await = dyn_cast<AwaitOp>(op))
    return addAwait(await, steps);
  lanes.addReads(op, steps);
  for (Region &region : op.getRegions())
    for (Block &block : region)
      if (failed(addBlock(block, steps)))
        return failure();
  return success();
}

/// An MMA that lanes have started reads its operands from where it stands to
/// where it is awaited. The model has a read at both ends: whoever may write
/// the stage meanwhile is ordered with one of them at most.
LogicalResult RoleSteps::addAwait(AwaitOp op, Steps &steps) {
  Step step(StepKind::Access, op);
  for (MmaOp mma : op.getMmas())
    for (Value operand : {Value(mma.getA()), Value(mma.getB())})
      if (unsigned variable = context.variableOf(operand))
        step.reads.push_back(variable);
  steps.push_back(std::move(step));
  return success();
}

LogicalResult RoleSteps::addIssued(Operation &op, Steps &steps) {
  if (isa<MmaOp, LoadOp, StoreOp, ReduceAddOp, RequestOp>(op))
    return onChannels.addAsynchronous(op, steps);
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return onChannels.addExchange(exchange, steps);
  if (isView(&op)) {
    context.variables[op.getResult(0)] = context.variableOf(op.getOperand(0));
    return success();
  }
  if (!isa<scf::YieldOp>(op) &&
      llvm::any_of(op.getOperands(),
                   [&](Value value) { return context.variableOf(value); }))
    return op.emitError("@")
           << context.role.name << " only issues operations on tiles, but '"
           << op.getName() << "' computes with one";
  return success();
}

/// Returns true if a loop or branch around the steps must be kept: another role
/// can notice one of the steps, or one ends only after the next ones begin.
static bool needsStructure(const std::vector<Step> &steps) {
  return llvm::any_of(steps, [](const Step &step) {
    if (step.kind == StepKind::If)
      return needsStructure(step.body) || needsStructure(step.elseBody);
    return step.kind != StepKind::Access || step.agent != Agent::Lanes ||
           step.writes != -1;
  });
}

/// Appends all accesses of `from`, regardless of conditions.
static void flatten(std::vector<Step> &from, std::vector<Step> &to) {
  for (Step &step : from)
    if (step.kind == StepKind::If) {
      flatten(step.body, to);
      flatten(step.elseBody, to);
    } else {
      to.push_back(std::move(step));
    }
}

LogicalResult RoleSteps::addLoop(scf::ForOp loop, Steps &steps) {
  Step step(StepKind::Loop, loop);
  if (!context.role.oneThread)
    lanes.addReads(*loop, steps);
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (getHome(argument) == ValueHome::Place)
      step.assignments.push_back({context.newVariable(argument),
                                  static_cast<int>(context.variableOf(init))});
  // The loop is numbered before its body is built, because conditions in the
  // body refer to it.
  step.number = context.numbers.addLoop(loop, context.roleNumber);
  size_t conditions = context.model.conditions.size();
  if (failed(addBlock(*loop.getBody(), step.body)))
    return failure();
  if (!needsStructure(step.body)) {
    context.model.loops.pop_back();
    context.model.conditions.resize(conditions);
    flatten(step.body, steps);
    return success();
  }
  if (failed(
          context.numbers.countPasses(loop, context.model.loops[step.number])))
    return failure();
  context.model.loops[step.number].inside =
      context.model.loops.size() - step.number - 1;
  Step results(StepKind::Copy, loop);
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [argument, value, result] : llvm::zip(
           loop.getRegionIterArgs(), yield->getOperands(), loop.getResults()))
    if (getHome(argument) == ValueHome::Place) {
      unsigned variable = context.variableOf(argument);
      step.back.push_back(
          {variable, static_cast<int>(context.variableOf(value))});
      results.assignments.push_back(
          {context.newVariable(result), static_cast<int>(variable)});
    }
  steps.push_back(std::move(step));
  if (!results.assignments.empty())
    steps.push_back(std::move(results));
  return success();
}

LogicalResult RoleSteps::addWork(WorkOp work, Steps &steps) {
  Step step(StepKind::Loop, work);
  step.number = context.numbers.addLoop(work, context.roleNumber);
  if (failed(addBlock(work.getBody().front(), step.body)) ||
      failed(
          context.numbers.countPasses(work, context.model.loops[step.number])))
    return failure();
  context.model.loops[step.number].inside =
      context.model.loops.size() - step.number - 1;
  steps.push_back(std::move(step));
  return success();
}

/// Adds the steps of one side of a branch. At its end, the results of the
/// branch get the stages of the values that the side yields.
LogicalResult RoleSteps::addRegion(scf::IfOp branch, Region &region,
                                   Steps &steps) {
  if (region.empty())
    return success();
  steps = lanes.takeReadsOf(region);
  if (failed(addBlock(region.front(), steps)))
    return failure();
  Step copy(StepKind::Copy, branch);
  for (auto [result, value] : llvm::zip(
           branch.getResults(), region.front().getTerminator()->getOperands()))
    if (getHome(result) == ValueHome::Place)
      copy.assignments.push_back(
          {context.variableOf(result), int(context.variableOf(value))});
  if (!copy.assignments.empty())
    steps.push_back(std::move(copy));
  return success();
}

LogicalResult RoleSteps::addIf(scf::IfOp branch, Steps &steps) {
  Step step(StepKind::If, branch);
  ProtocolModel &model = context.model;
  size_t conditions = model.conditions.size();
  for (Value result : branch.getResults())
    if (getHome(result) == ValueHome::Place)
      context.newVariable(result);
  if (failed(addRegion(branch, branch.getThenRegion(), step.body)) ||
      failed(addRegion(branch, branch.getElseRegion(), step.elseBody)))
    return failure();
  if (step.body.empty() && step.elseBody.empty())
    return success();
  bool comparesTrips = context.numbers.comparesTrips(branch.getCondition());
  bool handsOn = !comparesTrips && !context.role.oneThread &&
                 step.elseBody.empty() &&
                 mayHandOn(model, context.roleNumber, step.body);
  if (handsOn)
    addHandOnReads(model, context.roleNumber, branch, step.body, steps);
  // A read on both paths is stricter than a read on one, so it needs no branch.
  if (handsOn || (!comparesTrips && !needsStructure(step.body) &&
                  !needsStructure(step.elseBody))) {
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    flatten(step.elseBody, steps);
    return success();
  }
  auto condition = context.addCondition(branch.getCondition(), branch);
  if (failed(condition))
    return failure();
  step.number = *condition;
  steps.push_back(std::move(step));
  return success();
}
