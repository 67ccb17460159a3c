//===- BlockUsers.cpp - where a block uses values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns the operation of `block` that uses one of `values`, itself or in its
/// regions, and that `isBetter` prefers to all others; or null.
template <typename Fn>
static Operation *findUser(ValueRange values, Block &block, Fn isBetter) {
  Operation *best = nullptr;
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user);
          here && (!best || isBetter(here, best)))
        best = here;
  return best;
}

Operation *fa4::tile::getFirstUser(ValueRange values, Block &block) {
  return findUser(values, block, [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  });
}

Operation *fa4::tile::getLastUser(ValueRange values, Block &block) {
  return findUser(values, block, [](Operation *a, Operation *b) {
    return b->isBeforeInBlock(a);
  });
}

Operation *fa4::tile::getEndOfUse(Operation *user) {
  // Products that are added to each other end together.
  while (auto mma = dyn_cast<MmaOp>(user)) {
    if (!mma.isPending())
      break;
    user = *mma->user_begin();
  }
  return user;
}

Operation *fa4::tile::getLastRead(Value waited, Block &block) {
  Operation *last = nullptr;
  // Parts of a stage lie in it.
  SmallVector<Value> parts = {waited};
  for (unsigned i = 0; i < parts.size(); ++i)
    for (Operation *user : Value(parts[i]).getUsers()) {
      if (isView(user) && getHome(parts[i]) == ValueHome::Place)
        parts.push_back(user->getResult(0));
      Operation *here = block.findAncestorOpInBlock(*user);
      Operation *end = here ? getEndOfUse(here) : nullptr;
      if (end && (!last || last->isBeforeInBlock(end)))
        last = end;
    }
  return last;
}
