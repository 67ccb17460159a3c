//===- TileSplitLoops.cpp - loops without a rare branch ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITLOOPS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

/// Whether a comparison of the loop's counter with something that does not
/// change in it is true first and false from then on (or the other way,
/// `trueFirst`).
static bool isSplit(arith::CmpIOp compare, scf::ForOp loop, bool &trueFirst) {
  using Predicate = arith::CmpIPredicate;
  if (!compare || compare.getLhs() != loop.getInductionVar() ||
      !loop.isDefinedOutsideOfLoop(compare.getRhs()))
    return false;
  trueFirst = compare.getPredicate() == Predicate::slt;
  return trueFirst || compare.getPredicate() == Predicate::sge;
}

/// The comparison at which to split the loop: that of a branch which chooses
/// among tiles. Where the two ways join, these are copied.
static arith::CmpIOp findSplit(scf::ForOp loop, bool &trueFirst) {
  if (!isConstantIntValue(loop.getStep(), 1))
    return nullptr;
  for (auto branch : loop.getBody()->getOps<scf::IfOp>()) {
    auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    if (llvm::any_of(branch.getResultTypes(), llvm::IsaPred<VectorType>) &&
        isSplit(compare, loop, trueFirst))
      return compare;
  }
  return nullptr;
}

/// Replaces the comparison by what it is, and the branches on it by the way
/// taken.
static void decide(IRRewriter &rewriter, arith::CmpIOp compare, bool value) {
  SmallVector<scf::IfOp> branches;
  for (Operation *user : compare->getUsers())
    if (auto branch = dyn_cast<scf::IfOp>(user))
      branches.push_back(branch);
  for (scf::IfOp branch : branches) {
    Region &taken = value ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty()) {
      rewriter.eraseOp(branch);
      continue;
    }
    Operation *yield = taken.front().getTerminator();
    SmallVector<Value> results(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&taken.front(), branch);
    rewriter.replaceOp(branch, results);
  }
  rewriter.setInsertionPoint(compare);
  rewriter.replaceOpWithNewOp<arith::ConstantIntOp>(compare, value, 1);
}

/// From `begin` to `end` to the comparison's change, and from there on.
static void split(IRRewriter &rewriter, scf::ForOp loop, arith::CmpIOp compare,
                  bool trueFirst) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value middle = arith::MaxSIOp::create(rewriter, loc, compare.getRhs(),
                                        loop.getLowerBound());
  middle = arith::MinSIOp::create(rewriter, loc, middle, loop.getUpperBound());
  IRMapping map;
  auto first = cast<scf::ForOp>(rewriter.clone(*loop, map));
  first.setUpperBound(middle);
  auto firstCompare = cast<arith::CmpIOp>(map.lookup(compare.getOperation()));
  rewriter.modifyOpInPlace(loop, [&] {
    loop.setLowerBound(middle);
    loop.getInitArgsMutable().assign(first.getResults());
  });
  decide(rewriter, firstCompare, trueFirst);
  decide(rewriter, compare, !trueFirst);
}

namespace {
struct TileSplitLoops
    : public fa4::tile::impl::TileSplitLoopsBase<TileSplitLoops> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](RoleOp role) {
      if (role.getIssue())
        return;
      SmallVector<scf::ForOp> loops;
      role.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops) {
        bool trueFirst;
        while (arith::CmpIOp compare = findSplit(loop, trueFirst))
          split(rewriter, loop, compare, trueFirst);
      }
    });
  }
};
} // namespace
