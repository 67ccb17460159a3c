//===- RankDependence.cpp - what differs between CTAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true if the operation's regions pass on values as `follow` assumes.
static bool isUnderstood(Operation *op) {
  return op->getNumRegions() == 0 ||
         isa<KernelOp, RoleOp, WorkOp, scf::ForOp, scf::IfOp>(op);
}

RankDependence::RankDependence(KernelOp kernel, unsigned axis)
    : clusterSize(kernel.getClusterAttr() ? kernel.getClusterSize()
                                          : kPairSize) {
  kernel.walk([&](Operation *op) {
    if (auto tile = dyn_cast<WorkTileOp>(op))
      add(tile.getResult(axis));
    else if (auto work = dyn_cast<WorkOp>(op))
      add(work.getCoordinates()[axis]);
    else if (isa<WaitOp, ReadOp>(op) || !isUnderstood(op))
      addAll(op);
  });
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      follow(use);
}

void RankDependence::addAll(Operation *op) {
  for (Value result : op->getResults())
    add(result);
  for (Region &region : op->getRegions())
    for (Value argument : region.getArguments())
      add(argument);
}

void RankDependence::follow(OpOperand &use) {
  Operation *op = use.getOwner();
  // All CTAs of a cluster have the same bound and the same number of the
  // cluster.
  bool isNumberOfCluster =
      op->getNumResults() == 1 &&
      getClusterNumberAxis(op->getResult(0), clusterSize).has_value();
  if (isa<AtMostOp, AtLeastOp>(op) || isNumberOfCluster)
    return;
  // The CTAs of a cluster get their work together.
  bool isTerminator = op->hasTrait<OpTrait::IsTerminator>();
  if (isa<WorkOp>(isTerminator ? op->getParentOp() : op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (BlockArgument carried = loop.getTiedLoopRegionIterArg(&use)) {
      add(carried);
      return add(loop.getTiedLoopResult(&use));
    }
    divergent.insert(loop);
    return addAll(loop);
  }
  if (isa<scf::IfOp>(op))
    divergent.insert(op);
  if (!isTerminator)
    return addAll(op);
  Operation *parent = op->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop && !isa<scf::IfOp>(parent))
    return addAll(parent);
  unsigned number = use.getOperandNumber();
  add(parent->getResult(number));
  if (loop)
    add(loop.getRegionIterArg(number));
}

Operation *RankDependence::getDivergence(Operation *op) const {
  for (; op; op = op->getParentOp())
    if (divergent.contains(op))
      return op;
  return nullptr;
}
