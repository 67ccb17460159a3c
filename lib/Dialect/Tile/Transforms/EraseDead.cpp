//===- EraseDead.cpp - operations and iter_args without uses ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EraseDead.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

/// Returns true if `value` reaches no operation with an effect. Collects the
/// operands of the terminator of `loop` that it reaches.
static bool reachesYieldOnly(scf::ForOp loop, Value value,
                             llvm::SmallDenseSet<unsigned> &yielded) {
  SmallVector<Value> work = {value};
  llvm::SmallDenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (user == loop.getBody()->getTerminator()) {
        yielded.insert(use.getOperandNumber());
        continue;
      }
      if (user->hasTrait<OpTrait::IsTerminator>())
        user = user->getParentOp();
      if (!isMemoryEffectFree(user))
        return false;
      llvm::append_range(work, user->getResults());
      for (Region &region : user->getRegions())
        llvm::append_range(work, region.getArguments());
    }
  }
  return true;
}

/// Returns the numbers of the iter_args that nothing needs but other such
/// iter_args.
static llvm::BitVector findDeadIterArgs(scf::ForOp loop) {
  unsigned count = loop.getNumResults();
  // The iter_args of the next pass that each iter_arg reaches.
  SmallVector<llvm::SmallDenseSet<unsigned>> yields(count);
  llvm::BitVector dead(count);
  for (unsigned i = 0; i < count; ++i)
    dead[i] = loop.getResult(i).use_empty() &&
              reachesYieldOnly(loop, loop.getRegionIterArg(i), yields[i]);
  auto isNeeded = [&](unsigned i) {
    return dead[i] &&
           llvm::any_of(yields[i], [&](unsigned to) { return !dead[to]; });
  };
  for (auto all = llvm::seq(count);;) {
    auto needed = llvm::find_if(all, isNeeded);
    if (needed == all.end())
      return dead;
    dead.reset(*needed);
  }
}

/// Returns a loop without the given iter_args, which replaces this one.
static scf::ForOp dropIterArgs(scf::ForOp loop, const llvm::BitVector &dead) {
  OpBuilder builder(loop);
  SmallVector<Value> inits, results;
  for (unsigned i = 0; i < dead.size(); ++i)
    if (!dead[i]) {
      inits.push_back(loop.getInitArgs()[i]);
      results.push_back(loop.getResult(i));
    }
  auto copy = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(results, copy.getResults()))
    from.replaceAllUsesWith(to);
  // The remaining uses of these arguments are erased together with them.
  llvm::BitVector arguments(1);
  for (unsigned i = 0; i < dead.size(); ++i) {
    arguments.push_back(dead[i]);
    if (dead[i])
      loop.getRegionIterArg(i).replaceAllUsesWith(loop.getInitArgs()[i]);
  }
  copy.getRegion().takeBody(loop.getRegion());
  copy.getBody()->getTerminator()->eraseOperands(dead);
  copy.getBody()->eraseArguments(arguments);
  loop.erase();
  return copy;
}

void fa4::tile::eraseDead(Block &block) {
  for (Operation &each : llvm::make_early_inc_range(llvm::reverse(block))) {
    Operation *op = &each;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      if (llvm::BitVector dead = findDeadIterArgs(loop); dead.any())
        op = dropIterArgs(loop, dead);
    for (Region &region : op->getRegions())
      for (Block &nested : region)
        eraseDead(nested);
    if (isOpTriviallyDead(op))
      op->erase();
  }
}
