//===- ProtocolLaneSteps.cpp - what lanes read ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolLanes.h"
#include "ProtocolSteps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::tile;

void LaneSteps::addReads(Operation &op, Steps &steps) {
  Step step(StepKind::Access, &op);
  for (Value operand : op.getOperands())
    if (unsigned variable = context.variableOf(operand))
      step.reads.push_back(variable);
  if (!step.reads.empty())
    steps.push_back(std::move(step));
}

void LaneSteps::expectRead(WaitOp wait) {
  waited[context.channels.bufferOf(wait.getChannel())].push_back(wait);
}

void LaneSteps::readBefore(Operation &op, Steps &steps) {
  llvm::SmallSetVector<unsigned, 2> buffers;
  op.walk([&](Operation *inner) {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
      buffers.insert(context.channels.bufferOf(inner->getOperand(0)));
  });
  for (unsigned buffer : buffers)
    llvm::erase_if(waited[buffer], [&](WaitOp wait) {
      if (wait->getBlock() != op.getBlock())
        return false;
      // Reads by users in front of `op` have been added before.
      for (Operation *user : wait.getValue().getUsers()) {
        Operation *ancestor = op.getBlock()->findAncestorOpInBlock(*user);
        if (user == &op || ancestor->isBeforeInBlock(&op))
          continue;
        Step step(StepKind::Access, user);
        step.reads.push_back(context.variableOf(wait.getValue()));
        steps.push_back(std::move(step));
        context.variables.erase(wait.getValue());
        break;
      }
      return true;
    });
}

/// Adds an access of lanes that happens only where the condition is `isTaken`.
LogicalResult LaneSteps::addGuarded(Value condition, bool isTaken, Step access,
                                    Steps &steps) {
  // A read on both paths is stricter than a read on one, so it needs no branch.
  if (!context.numbers.comparesTrips(condition)) {
    steps.push_back(std::move(access));
    return success();
  }
  Step step(StepKind::If, access.op);
  auto number = context.addCondition(condition, access.op);
  if (failed(number))
    return failure();
  step.number = *number;
  (isTaken ? step.body : step.elseBody).push_back(std::move(access));
  steps.push_back(std::move(step));
  return success();
}

LogicalResult LaneSteps::addRead(ReadOp read, Steps &steps) {
  Step step(StepKind::Access, read);
  step.readsLast.push_back(context.channels.numberOf(read.getChannel()));
  if (auto side = findSelection(read))
    return addGuarded(side->first, side->second, std::move(step), steps);
  Region *branch = findBranch(read);
  (branch ? readsOf[branch] : steps).push_back(std::move(step));
  return success();
}

LogicalResult LaneSteps::addSelection(arith::SelectOp select, Steps &steps) {
  if (isa<VectorType>(select.getCondition().getType())) {
    addReads(*select, steps);
    return success();
  }
  for (bool isTaken : {true, false}) {
    Step step(StepKind::Access, select);
    Value value = isTaken ? select.getTrueValue() : select.getFalseValue();
    if (unsigned variable = context.variableOf(value))
      step.reads.push_back(variable);
    if (!step.reads.empty() && failed(addGuarded(select.getCondition(), isTaken,
                                                 std::move(step), steps)))
      return failure();
  }
  return success();
}
