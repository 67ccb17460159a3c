//===- BlockUsers.cpp - where a block uses values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
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
  auto mma = dyn_cast<MmaOp>(user);
  return mma && mma.isPending() ? *mma->user_begin() : user;
}

Operation *fa4::tile::getLastRead(Value waited, Block &block) {
  Operation *last = nullptr;
  for (Operation *user : waited.getUsers())
    if (Operation *here = block.findAncestorOpInBlock(*user)) {
      Operation *end = getEndOfUse(here);
      if (!last || last->isBeforeInBlock(end))
        last = end;
    }
  return last;
}
