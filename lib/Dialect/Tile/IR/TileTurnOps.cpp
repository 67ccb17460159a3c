//===- TileTurnOps.cpp - an order among CTAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa4::tile;

PassTurnOp AwaitTurnOp::getPass() {
  for (Operation *user : getTurn().getUsers())
    if (auto pass = dyn_cast<PassTurnOp>(user))
      return pass;
  return PassTurnOp();
}

/// Whether `value` is a coordinate of the work tile.
static bool isCoordinate(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<WorkOp>(argument.getOwner()->getParentOp());
  return isa<WorkTileOp>(value.getDefiningOp());
}

unsigned AwaitTurnOp::getAxis() {
  if (auto argument = dyn_cast<BlockArgument>(getTile()))
    return argument.getArgNumber();
  return cast<OpResult>(getTile()).getResultNumber();
}

LogicalResult AwaitTurnOp::verify() {
  auto turns = dyn_cast<BlockArgument>(getTurns());
  if (!turns || !isa<KernelOp>(turns.getOwner()->getParentOp()))
    return emitOpError("must count turns in an argument of a tile.kernel");
  int64_t rank = getTurns().getType().getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("needs ") << rank << " indices, one a dimension";
  if (!isCoordinate(getTile()))
    return emitOpError("takes turns by what is no coordinate of the work tile "
                       "(a result of tile.work_tile or an argument of "
                       "tile.work)");
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
                       "may run at another number of times");
  return success();
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
