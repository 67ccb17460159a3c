//===- TileSplitLoop.cpp - loops in which conditions are constant ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EraseDead.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITLOOP
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {
/// A comparison of the induction variable, plus `ahead`, with `bound`. It has
/// the value `holdsBelow` in all iterations below the bound (or up to it, with
/// `inclusive`), and the opposite value from there on. A loop that is pipelined
/// asks for the iteration after the one of its induction variable, for example.
struct Threshold {
  Value bound;
  int64_t ahead;
  bool inclusive;
  bool holdsBelow;
};

/// The values of a condition in the order of iterations. The condition is
/// constant up to the first threshold and changes its value at each threshold.
struct Phases {
  SmallVector<Threshold, 2> ends;
  bool first;
};
} // namespace

/// Returns by how much a value exceeds the induction variable, if it is the
/// sum of this and a constant.
static std::optional<int64_t> getDistance(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return 0;
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() != loop.getInductionVar())
    return std::nullopt;
  return getConstantIntValue(sum.getRhs());
}

static std::optional<Threshold> matchThreshold(Value condition,
                                               scf::ForOp loop) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (getDistance(rhs, loop)) {
    std::swap(lhs, rhs);
    switch (predicate) {
    case arith::CmpIPredicate::slt:
      predicate = arith::CmpIPredicate::sgt;
      break;
    case arith::CmpIPredicate::sle:
      predicate = arith::CmpIPredicate::sge;
      break;
    case arith::CmpIPredicate::sgt:
      predicate = arith::CmpIPredicate::slt;
      break;
    case arith::CmpIPredicate::sge:
      predicate = arith::CmpIPredicate::sle;
      break;
    default:
      return std::nullopt;
    }
  }
  std::optional<int64_t> ahead = getDistance(lhs, loop);
  if (!ahead || !loop.isDefinedOutsideOfLoop(rhs))
    return std::nullopt;
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return Threshold{rhs, *ahead, false, true};
  case arith::CmpIPredicate::sle:
    return Threshold{rhs, *ahead, true, true};
  case arith::CmpIPredicate::sgt:
    return Threshold{rhs, *ahead, true, false};
  case arith::CmpIPredicate::sge:
    return Threshold{rhs, *ahead, false, false};
  default:
    return std::nullopt;
  }
}

/// Matches a comparison, or two comparisons of opposite directions. With `ori`,
/// the one that holds first comes first (true, false, true); with `andi`, the
/// other one (false, true, false). If the two ranges overlap or touch, the
/// middle phase is empty, which is right as well.
static std::optional<Phases> matchCondition(Value condition, scf::ForOp loop) {
  if (auto threshold = matchThreshold(condition, loop))
    return Phases{{*threshold}, threshold->holdsBelow};
  Operation *def = condition.getDefiningOp();
  if (!isa_and_nonnull<arith::OrIOp, arith::AndIOp>(def))
    return std::nullopt;
  auto a = matchThreshold(def->getOperand(0), loop);
  auto b = matchThreshold(def->getOperand(1), loop);
  if (!a || !b || a->holdsBelow == b->holdsBelow)
    return std::nullopt;
  bool first = isa<arith::OrIOp>(def);
  if (a->holdsBelow != first)
    std::swap(a, b);
  return Phases{{*a, *b}, first};
}

/// Builds the induction variable of the first iteration that is not below the
/// threshold, within [begin, end].
static Value firstBeyond(OpBuilder &builder, scf::ForOp loop, Threshold at,
                         Value begin) {
  Location loc = loop.getLoc();
  Value bound = at.bound, step = loop.getStep();
  if (int64_t distance = int64_t(at.inclusive) - at.ahead; distance != 0) {
    Value constant = arith::ConstantIndexOp::create(builder, loc, distance);
    bound = arith::AddIOp::create(builder, loc, bound, constant);
  }
  bound = arith::MaxSIOp::create(builder, loc, bound, begin);
  if (!isConstantIntValue(step, 1)) {
    Value span = arith::SubIOp::create(builder, loc, bound, begin);
    Value steps = arith::CeilDivSIOp::create(builder, loc, span, step);
    Value offset = arith::MulIOp::create(builder, loc, steps, step);
    bound = arith::AddIOp::create(builder, loc, begin, offset);
  }
  // The value may exceed the end by less than one step. The next loop would
  // then start behind the end.
  return arith::MinSIOp::create(builder, loc, bound, loop.getUpperBound());
}

/// Replaces a branch by the region that runs if the condition is `value`.
static void takeBranch(scf::IfOp branch, bool value) {
  Region &region = value ? branch.getThenRegion() : branch.getElseRegion();
  if (!region.empty()) {
    Block &block = region.front();
    Operation *yield = block.getTerminator();
    branch.replaceAllUsesWith(SmallVector<Value>(yield->getOperands()));
    yield->erase();
    branch->getBlock()->getOperations().splice(branch->getIterator(),
                                               block.getOperations());
  }
  branch.erase();
}

/// Splits the loop at the thresholds of the condition and returns the new
/// loops.
static SmallVector<scf::ForOp> split(scf::ForOp loop, Value condition,
                                     const Phases &phases) {
  OpBuilder builder(loop);
  SmallVector<unsigned> positions;
  for (auto [i, op] : llvm::enumerate(*loop.getBody()))
    if (auto branch = dyn_cast<scf::IfOp>(op);
        branch && branch.getCondition() == condition)
      positions.push_back(i);
  SmallVector<scf::ForOp> pieces;
  Value begin = loop.getLowerBound();
  SmallVector<Value> carried(loop.getInitArgs());
  for (unsigned i = 0; i <= phases.ends.size(); ++i) {
    Value end = i < phases.ends.size()
                    ? firstBeyond(builder, loop, phases.ends[i], begin)
                    : loop.getUpperBound();
    auto piece = cast<scf::ForOp>(builder.clone(*loop));
    piece.setLowerBound(begin);
    piece.setUpperBound(end);
    piece.getInitArgsMutable().assign(carried);
    SmallVector<scf::IfOp> branches;
    for (unsigned position : positions)
      branches.push_back(
          cast<scf::IfOp>(*std::next(piece.getBody()->begin(), position)));
    for (scf::IfOp branch : branches)
      takeBranch(branch, phases.first == (i % 2 == 0));
    carried = SmallVector<Value>(piece.getResults());
    begin = end;
    pieces.push_back(piece);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
  return pieces;
}

/// Moves releases behind the last use of a waited value. Before the split, the
/// last use was a branch that passed the value on; now it is a user of the
/// branch's result.
static void sinkReleases(Block &block) {
  llvm::DenseMap<Value, WaitOp> waited;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto wait = dyn_cast<WaitOp>(op))
      waited[wait.getChannel()] = wait;
    auto release = dyn_cast<ReleaseOp>(op);
    WaitOp wait = release ? waited.lookup(release.getChannel()) : WaitOp();
    // The wait itself reads a scalar.
    if (!wait || !wait.getValue() ||
        !isa<VectorType>(wait.getValue().getType()))
      continue;
    Operation *last = getLastRead(wait.getValue(), block);
    // Where the loop carries the value on, the release is that of an earlier
    // pass's value, of which MMAs are the readers.
    if (last && !last->hasTrait<OpTrait::IsTerminator>() &&
        release->isBeforeInBlock(last))
      release->moveAfter(last);
  }
}

/// Returns true if the CTAs of a cluster may decide differently. Their loops
/// must make the same passes, so a loop cannot end where a single CTA decides.
static bool differsInCluster(KernelOp kernel, Value condition) {
  ClusterAttr cluster = kernel.getClusterAttr();
  return cluster &&
         RankDependence(kernel, cluster.getAxis()).differs(condition);
}

/// A body with more operations on rows is not cloned. Each operation becomes
/// one or more instructions for each column, so the branch costs little beside
/// them. A copy of the body, however, would cost as much compile time as the
/// body.
static constexpr unsigned kLongBody = 150;

static bool isShort(scf::ForOp loop) {
  unsigned count = 0;
  loop.walk([&](Operation *op) {
    count += OpTrait::hasElementwiseMappableTraits(op) &&
             isa<VectorType>(op->getResult(0).getType());
  });
  return count <= kLongBody;
}

namespace {
struct TileSplitLoop
    : public fa4::tile::impl::TileSplitLoopBase<TileSplitLoop> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> worklist;
    for (auto role : getOperation().getBody().getOps<RoleOp>())
      if (!role.runsOnOneThread())
        llvm::append_range(worklist, fa4::collectOpsIf(role, isShort));
    while (!worklist.empty()) {
      scf::ForOp loop = worklist.pop_back_val();
      for (auto branch : loop.getBody()->getOps<scf::IfOp>())
        if (auto phases = matchCondition(branch.getCondition(), loop);
            phases &&
            !differsInCluster(getOperation(), branch.getCondition())) {
          for (scf::ForOp piece : split(loop, branch.getCondition(), *phases)) {
            // Erases operations whose results only the conditions needed.
            eraseDead(*piece.getBody());
            sinkReleases(*piece.getBody());
            worklist.push_back(piece);
          }
          break;
        }
    }
  }
};
} // namespace
