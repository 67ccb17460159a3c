//===- TileClusterOps.cpp - what CTAs give each other ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa4::tile;

using MemoryEffectInstance = SideEffects::EffectInstance<MemoryEffects::Effect>;

static bool isInRole(Operation *op) {
  return bool(op->getParentOfType<RoleOp>());
}

/// In a role, the operation reads a stage of this CTA, and writes a stage of
/// the other CTA.
void ExchangeOp::getEffects(SmallVectorImpl<MemoryEffectInstance> &effects) {
  if (!isInRole(*this))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), ChannelResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), ChannelResource::get());
}

Speculation::Speculatability ExchangeOp::getSpeculatability() {
  return isInRole(*this) ? Speculation::NotSpeculatable
                         : Speculation::Speculatable;
}

/// Checks that a role hands on what it got: from the stages of a channel to one
/// that is in place of it.
static LogicalResult verifyChannels(ExchangeOp op) {
  auto wait = op.getTile().getDefiningOp<WaitOp>();
  auto from = wait ? wait.getChannel().getDefiningOp<ChannelOp>() : ChannelOp();
  if (!from || !from.getExchange())
    return op.emitOpError("takes a tile that is not the value of a channel "
                          "with 'exchange'");
  for (Operation *user : op->getUsers()) {
    auto commit = dyn_cast<CommitOp>(user);
    auto to =
        commit ? commit.getChannel().getDefiningOp<ChannelOp>() : ChannelOp();
    if (!to || to.getInPlaceOf() != from.getChannel())
      return op.emitOpError("gives a tile that is not committed to a channel "
                            "in place of '")
             << from.getLabel() << "'";
  }
  return success();
}

LogicalResult ExchangeOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel || !kernel.getCluster())
    return emitOpError("is in no kernel with a cluster, whose CTAs could "
                       "exchange tiles");
  VectorType tile = getTile().getType(), result = getResult().getType();
  int64_t ctas = kernel.getClusterSize();
  if (result.getElementType() != tile.getElementType() ||
      result.getDimSize(0) != tile.getDimSize(0) * ctas ||
      result.getDimSize(1) * ctas != tile.getDimSize(1))
    return emitOpError("must have a result of ")
           << ctas << " times the rows and 1/" << ctas << " of the columns of "
           << tile << ", not " << result;
  if (isInRole(*this))
    return verifyChannels(*this);
  for (OpOperand &use : getResult().getUses()) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    if (!mma || &use != &mma.getAMutable())
      return emitOpError("gives rows of all CTAs to '")
             << use.getOwner()->getName()
             << "'; only MMAs take them, as their A";
  }
  return success();
}
