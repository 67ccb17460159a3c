//===- ValueFlow.cpp - where values come from and where they go ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::tile;

static bool has(FlowThrough set, FlowThrough bit) {
  return (unsigned(set) & unsigned(bit)) != 0;
}

bool fa4::tile::isView(Operation *op) {
  return isa<vector::ExtractStridedSliceOp, vector::ShapeCastOp>(op);
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// Adds the value that `use` becomes in `successor`, if `use` is one of the
/// `operands` that are handed to it.
static void addInput(OpOperand &use, OperandRange operands,
                     const RegionSuccessor &successor,
                     SmallVectorImpl<Value> &next) {
  if (operands.empty())
    return;
  unsigned first = operands.getBeginOperandIndex();
  if (use.getOperandNumber() >= first &&
      use.getOperandNumber() < first + operands.size())
    next.push_back(
        successor.getSuccessorInputs()[use.getOperandNumber() - first]);
}

SmallVector<Value> fa4::tile::getNextValues(OpOperand &use,
                                            FlowThrough through) {
  Operation *user = use.getOwner();
  SmallVector<Value> next;
  SmallVector<RegionSuccessor> successors;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(user)) {
    branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
    for (const RegionSuccessor &successor : successors)
      addInput(use, branch.getEntrySuccessorOperands(successor), successor,
               next);
  } else if (auto end = dyn_cast<RegionBranchTerminatorOpInterface>(user)) {
    if (auto parent = dyn_cast<RegionBranchOpInterface>(user->getParentOp())) {
      parent.getSuccessorRegions(end, successors);
      for (const RegionSuccessor &successor : successors)
        addInput(use, end.getSuccessorOperands(successor), successor, next);
    }
  } else if (has(through, FlowThrough::Views) && isView(user)) {
    next.push_back(user->getResult(0));
  } else if (auto mma = dyn_cast<MmaOp>(user)) {
    if (has(through, FlowThrough::Accumulators) &&
        mma.getAccMutable().begin() != mma.getAccMutable().end() &&
        &*mma.getAccMutable().begin() == &use)
      next.push_back(mma.getResult());
  } else if (auto commit = dyn_cast<CommitOp>(user)) {
    if (has(through, FlowThrough::Channels) && commit.getValue() == use.get())
      for (Operation *other : commit.getChannel().getUsers())
        if (auto wait = dyn_cast<WaitOp>(other); wait && wait.getValue())
          next.push_back(wait.getValue());
  }
  return next;
}

SmallVector<Value> fa4::tile::getPreviousValues(Value value,
                                                FlowThrough through) {
  SmallVector<Value> previous;
  auto addPredecessors = [&](RegionBranchOpInterface op,
                             const RegionSuccessor &successor) {
    for (auto [i, input] : llvm::enumerate(successor.getSuccessorInputs()))
      if (input == value)
        op.getPredecessorValues(successor, i, previous);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Region *region = argument.getOwner()->getParent();
    auto op = dyn_cast<RegionBranchOpInterface>(region->getParentOp());
    if (!op)
      return previous;
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(RegionBranchPoint::parent(), successors);
    for (const RegionSuccessor &successor : successors)
      if (successor.getSuccessor() == region)
        addPredecessors(op, successor);
    return previous;
  }
  Operation *op = value.getDefiningOp();
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    addPredecessors(branch, RegionSuccessor(op, op->getResults()));
  } else if (has(through, FlowThrough::Views) && isView(op)) {
    previous.push_back(op->getOperand(0));
  } else if (auto mma = dyn_cast<MmaOp>(op)) {
    if (has(through, FlowThrough::Accumulators) && mma.getAcc())
      previous.push_back(mma.getAcc());
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    if (has(through, FlowThrough::Channels))
      for (Operation *other : wait.getChannel().getUsers())
        if (auto commit = dyn_cast<CommitOp>(other);
            commit && commit.getValue())
          previous.push_back(commit.getValue());
  }
  return previous;
}

//===----------------------------------------------------------------------===//
// The whole way
//===----------------------------------------------------------------------===//

SmallVector<OpOperand *> fa4::tile::getEnds(Value value, FlowThrough through) {
  SmallVector<OpOperand *> ends;
  llvm::SetVector<Value> names;
  names.insert(value);
  for (unsigned i = 0; i < names.size(); ++i)
    for (OpOperand &use : Value(names[i]).getUses()) {
      SmallVector<Value> next = getNextValues(use, through);
      if (next.empty())
        ends.push_back(&use);
      names.insert(next.begin(), next.end());
    }
  return ends;
}

CommitOp fa4::tile::findCommit(Value value) {
  for (OpOperand *use : getEnds(value, FlowThrough::Accumulators))
    if (auto commit = dyn_cast<CommitOp>(use->getOwner()))
      return commit;
  return {};
}

SmallVector<Value> fa4::tile::getOrigins(Value value, FlowThrough through) {
  SmallVector<Value> origins;
  llvm::SetVector<Value> names;
  names.insert(value);
  for (unsigned i = 0; i < names.size(); ++i) {
    Value name = names[i];
    SmallVector<Value> previous = getPreviousValues(name, through);
    if (previous.empty() || name.getDefiningOp<MmaOp>())
      origins.push_back(name);
    names.insert(previous.begin(), previous.end());
  }
  return origins;
}

Value fa4::tile::getLastMade(Value value) {
  llvm::SmallDenseSet<Value> seen;
  while (seen.insert(value).second) {
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value))
      op = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop)
      return value;
    OpOperand *yielded = nullptr;
    if (auto argument = dyn_cast<BlockArgument>(value))
      yielded = loop.getTiedLoopYieldedValue(argument);
    else if (BlockArgument argument =
                 loop.getTiedLoopRegionIterArg(cast<OpResult>(value)))
      yielded = loop.getTiedLoopYieldedValue(argument);
    // An induction variable.
    if (!yielded)
      return value;
    value = yielded->get();
  }
  return {};
}
