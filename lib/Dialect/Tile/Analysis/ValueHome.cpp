//===- ValueHome.cpp - where a role has a value ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true if only MMAs read the tile of this wait: they read the stage
/// themselves, without registers. A store does not count, because lanes store
/// from their registers.
static bool isReadByMmasOnly(WaitOp wait) {
  SmallVector<OpOperand *> ends = getEnds(wait.getValue(), FlowThrough::Views);
  return !ends.empty() && llvm::all_of(ends, [](OpOperand *use) {
    return isa<MmaOp>(use->getOwner());
  });
}

ValueHome fa4::tile::getHome(Value value) {
  if (isa<PendingType>(value.getType()))
    return ValueHome::InFlight;
  auto role = value.getParentRegion()->getParentOfType<RoleOp>();
  if (!role || !isa<VectorType>(value.getType()))
    return ValueHome::Whole;
  if (role.runsOnOneThread())
    return ValueHome::Place;
  // Loops carry places on, under other names.
  bool isPlace =
      llvm::all_of(getOrigins(value, FlowThrough::Views), [](Value origin) {
        auto wait = origin.getDefiningOp<WaitOp>();
        return wait && isReadByMmasOnly(wait);
      });
  return isPlace ? ValueHome::Place : ValueHome::Fragment;
}
