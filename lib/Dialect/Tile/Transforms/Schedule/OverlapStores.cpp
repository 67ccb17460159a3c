//===- OverlapStores.cpp - stores that overlap ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A role that stores values from shared memory releases the stage of a value
// when the store has read it. With two stages, the role can issue the next
// store before the last one has ended.

#include "MatrixStages.h"
#include "Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa4::tile;

static bool isStore(Operation *op) { return isa<StoreOp, ReduceAddOp>(op); }

/// Moves the releases into an scf.if on the comparison of `a` and `b`.
static void guardReleases(OpBuilder &builder, Location loc,
                          arith::CmpIPredicate predicate, Value a, Value b,
                          ArrayRef<ReleaseOp> releases) {
  Value condition = arith::CmpIOp::create(builder, loc, predicate, a, b);
  auto guard = scf::IfOp::create(builder, loc, condition);
  OpBuilder inner = guard.getThenBodyBuilder();
  for (ReleaseOp release : releases)
    ReleaseOp::create(inner, release.getLoc(), release.getChannel());
}

/// Moves each release of the loop behind the next store. For the last store of
/// an iteration, this is the first store of the next iteration: the release is
/// left out in the first iteration, and stands once more behind the loop. A
/// release does not move behind the end of a turn, which waits for all stores.
static void delayReleases(scf::ForOp loop) {
  SmallVector<ReleaseOp> pending;
  Operation *firstStore = nullptr;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      pending.push_back(release);
      requireStages(release.getChannel().getDefiningOp<ChannelOp>(), 2);
    }
    if (isa<PassTurnOp>(op))
      pending.clear();
    if (!isStore(&op))
      continue;
    firstStore = firstStore ? firstStore : &op;
    for (ReleaseOp release : llvm::reverse(std::exchange(pending, {})))
      release->moveAfter(&op);
  }
  if (pending.empty())
    return;
  Location loc = loop.getLoc();
  OpBuilder builder(loop.getContext());
  builder.setInsertionPointAfter(firstStore);
  guardReleases(builder, loc, arith::CmpIPredicate::ne, loop.getInductionVar(),
                loop.getLowerBound(), pending);
  builder.setInsertionPointAfter(loop);
  guardReleases(builder, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                loop.getUpperBound(), pending);
  for (ReleaseOp release : pending)
    release->erase();
}

/// Returns true if the loop only waits for values, stores them (perhaps in
/// turn) and releases them, all directly in its body.
static bool isStoreLoop(scf::ForOp loop) {
  bool stores = false;
  return loop.getRegionIterArgs().empty() &&
         llvm::all_of(loop.getBody()->without_terminator(),
                      [&](Operation &op) {
                        stores |= isStore(&op);
                        return isStore(&op) ||
                               isa<WaitOp, AwaitTurnOp, PassTurnOp>(op) ||
                               (isa<ReleaseOp>(op) && stores) ||
                               isMemoryEffectFree(&op);
                      }) &&
         stores;
}

/// Returns true if lanes that start MMAs commit what the loop stores.
static bool storesOfMatrixLoop(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<WaitOp>(), [](WaitOp wait) {
    return llvm::any_of(wait.getChannel().getUsers(), [](Operation *user) {
      auto commit = dyn_cast<CommitOp>(user);
      return commit && isInMatrixLoop(commit);
    });
  });
}

void fa4::tile::overlapStores(KernelOp kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (role.runsOnOneThread())
      for (auto loop :
           KernelOp::getWorkBlock(role.getBody()).getOps<scf::ForOp>())
        if (isStoreLoop(loop) && !storesOfMatrixLoop(loop))
          delayReleases(loop);
}
