//===- TileTurnOps.cpp - an order among CTAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa4::tile;

PassTurnOp AwaitTurnOp::getPass() {
  for (Operation *user : getTurn().getUsers())
    if (auto pass = dyn_cast<PassTurnOp>(user))
      return pass;
  return PassTurnOp();
}

SmallVector<Operation *> AwaitTurnOp::getAdditions() {
  SmallVector<Operation *> additions;
  for (Operation *user : getTurn().getUsers())
    if (isa<ReduceAddOp>(user))
      additions.push_back(user);
  llvm::sort(additions, [](Operation *a, Operation *b) {
    return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
  });
  return additions;
}

/// Whether two additions are to elements of a tensor that differ in an index,
/// which is a constant of both.
static bool areApart(ReduceAddOp a, ReduceAddOp b) {
  if (a.getDest() != b.getDest() || a.getTileDims() != b.getTileDims())
    return false;
  ArrayRef<int64_t> shape = cast<VectorType>(a.getTile().getType()).getShape();
  if (cast<VectorType>(b.getTile().getType()).getShape() != shape)
    return false;
  for (auto [dim, extent] : llvm::zip(a.getTileDims(), shape)) {
    auto x = getConstantIntValue(a.getIndices()[dim]),
         y = getConstantIntValue(b.getIndices()[dim]);
    if (x && y && std::abs(*x - *y) >= extent)
      return true;
  }
  return false;
}

static LogicalResult verifyParts(AwaitTurnOp op) {
  int64_t parts = op.getParts();
  if (parts == 1)
    return success();
  SmallVector<Operation *> additions = op.getAdditions();
  if (parts < 1 || parts != int64_t(additions.size()))
    return op.emitOpError("has ")
           << additions.size() << " tile.reduce_add in its turn, but parts("
           << parts << "): each part is one of them";
  for (auto [i, add] : llvm::enumerate(additions)) {
    if (add->getBlock() != op->getBlock())
      return add->emitOpError("is a part of a turn, and must be in the block "
                              "of its tile.await_turn");
    for (Operation *other : ArrayRef(additions).take_front(i))
      if (!areApart(cast<ReduceAddOp>(add), cast<ReduceAddOp>(other)))
        return add->emitOpError("is a part of a turn, and may add to what "
                                "another part adds to: parts differ in a "
                                "constant index, by a tile at least");
  }
  return success();
}

Value AwaitTurnOp::getCoordinate() {
  auto quotient = getTile().getDefiningOp<arith::DivUIOp>();
  return quotient ? quotient.getLhs() : getTile();
}

unsigned AwaitTurnOp::getAxis() { return *getWorkAxis(getCoordinate()); }

/// Turns go by a coordinate, or by the number of the cluster along its axis.
static LogicalResult verifyNumber(AwaitTurnOp op) {
  if (!getWorkAxis(op.getCoordinate()))
    return op.emitOpError(
        "takes turns by a value that is no coordinate of the work "
        "tile (a result of tile.work_tile or an argument of "
        "tile.work)");
  ClusterAttr cluster = op->getParentOfType<KernelOp>().getClusterAttr();
  bool isOfClusters = cluster && cluster.getAxis() == op.getAxis();
  if (isOfClusters && !getClusterNumberAxis(op.getTile(), cluster.getSize()))
    return op.emitOpError("takes turns by a coordinate in which the CTAs of a "
                          "cluster differ, so that they would wait for each "
                          "other; clusters take them by the coordinate divided "
                          "by ")
           << cluster.getSize() << " (arith.divui)";
  if (!isOfClusters && op.getTile() != op.getCoordinate())
    return op.emitOpError("takes turns by the number of a cluster, but there "
                          "are no clusters along axis ")
           << op.getAxis();
  return success();
}

LogicalResult AwaitTurnOp::verify() {
  auto turns = dyn_cast<BlockArgument>(getTurns());
  if (!turns || !isa<KernelOp>(turns.getOwner()->getParentOp()))
    return emitOpError("must count turns in an argument of a tile.kernel");
  int64_t rank = getTurns().getType().getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("needs ") << rank << " indices, one a dimension";
  if (failed(verifyNumber(*this)))
    return failure();
  PassTurnOp pass;
  for (Operation *user : getTurn().getUsers()) {
    auto other = dyn_cast<PassTurnOp>(user);
    if (!other)
      continue;
    if (pass)
      return emitOpError("has a turn that is passed on twice, so that two "
                         "work tiles would have the next one");
    pass = other;
  }
  if (!pass)
    return emitOpError("has a turn that no tile.pass_turn passes on: the next "
                       "work tile would wait forever");
  if (pass->getBlock() != (*this)->getBlock())
    return emitOpError("has a turn that is passed on in another block, which "
                       "may run a different number of times");
  return verifyParts(*this);
}

LogicalResult PassTurnOp::verify() {
  // A turn that something else than tile.await_turn gives may be another one in
  // each pass of a loop.
  if (!getTurn().getDefiningOp<AwaitTurnOp>())
    return emitOpError("must pass on the turn of a tile.await_turn");
  for (Operation *user : getTurn().getUsers()) {
    if (isa<PassTurnOp>(user))
      continue;
    Operation *inBlock = (*this)->getBlock()->findAncestorOpInBlock(*user);
    if (!inBlock || !inBlock->isBeforeInBlock(*this))
      return user->emitOpError("adds in a turn that has been passed on before");
  }
  return success();
}
