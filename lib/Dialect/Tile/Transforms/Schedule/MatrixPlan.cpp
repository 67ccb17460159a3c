//===- MatrixPlan.cpp - loops of lanes that start MMAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role whose lanes hold the results of their MMAs is two agents: the queue of
// its MMAs, and the lanes. In the loop of attention each iteration goes from
// the queue to the lanes and back:
//
//     S = Q K^T (queue)  ->  P = softmax(S) (lanes)  ->  O += P V (queue)
//
// Without a plan one agent waits while the other one works. An operation that
// an iteration reaches only by a way from the queue through the lanes back to
// the queue gets stage 1: it runs one pass later, beside stage 0 of the next
// iteration. A pass of the new loop is, with the iteration in brackets,
//
//     start S(j+1); rescale O(j), start O(j) += P(j) V(j);
//     await S(j+1), softmax(j+1); await O(j); narrow P(j+1)
//
// so that the lanes work on scores while the queue adds up the output. P is
// narrowed last, because until then the queue reads the registers of the P
// before.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include <array>

using namespace mlir;
using namespace fa4::tile;

namespace {
class MatrixPlanner {
public:
  explicit MatrixPlanner(scf::ForOp loop) : loop(loop), body(loop.getBody()) {
    plan.loop = loop;
  }

  void run();

  LoopPlan plan;

private:
  /// When the operations of a pass run, in this order.
  enum Turn { StartsFirst, StartsSecond, FirstRest, SecondRest, Narrowed };

  bool isOrdered(Operation *op);
  SetVector<Value> used(Operation *op);
  void findStages();
  unsigned findStage(Operation *op);
  void placeChannelOp(Operation *op);
  bool isNarrowed(Operation *op);
  llvm::DenseSet<Operation *> findNeeded(unsigned stage);

  scf::ForOp loop;
  Block *body;
  llvm::DenseMap<Operation *, unsigned> stage;
  /// The operations of lanes that use a result of an MMA of the iteration.
  llvm::DenseSet<Operation *> behindQueue;
};
} // namespace

static bool isTile(Type type) { return isa<VectorType, PendingType>(type); }

/// Returns true for operations that have a place in the order. The others are
/// computed where they are needed: arithmetic on positions, and parts of tiles
/// of which the role has the place.
bool MatrixPlanner::isOrdered(Operation *op) {
  if (isView(op) && getHome(op->getOperand(0)) == ValueHome::Place)
    return false;
  return !isMemoryEffectFree(op) ||
         llvm::any_of(op->getOperandTypes(), isTile) ||
         llvm::any_of(op->getResultTypes(), isTile);
}

SetVector<Value> MatrixPlanner::used(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// Returns the stage that an operation has by its operands, and notes whether
/// it is work of lanes behind the queue.
unsigned MatrixPlanner::findStage(Operation *op) {
  unsigned result = 0;
  bool isBehind = isa<AwaitOp>(op);
  for (Value value : used(op)) {
    Operation *def = value.getDefiningOp();
    bool isCarried = false;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == body &&
        value != loop.getInductionVar()) {
      def = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
      isCarried = true;
    }
    if (!def || def->getBlock() != body || isa<WaitOp>(def))
      continue;
    unsigned ofDef = stage.lookup(def);
    bool isByLanes = behindQueue.contains(def) && !isCarried;
    if (isByLanes && isa<MmaOp>(op))
      ++ofDef;
    isBehind |= isByLanes && !isa<MmaOp>(op);
    result = std::max(result, ofDef);
  }
  if (isBehind)
    behindQueue.insert(op);
  return std::min(result, 1u);
}

/// Carried values lead from the end of the body to its front, so stages are
/// found again until none changes.
void MatrixPlanner::findStages() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : body->without_terminator()) {
      unsigned found = findStage(&op);
      changed |= found > stage.lookup(&op);
      stage[&op] = std::max(found, stage.lookup(&op));
    }
  }
}

/// An operation on a channel has the stage of what it serves: a wait that of
/// its first user, a release that of the last one, a commit that of its value.
void MatrixPlanner::placeChannelOp(Operation *op) {
  auto usersOf = [&](Value channel) {
    SmallVector<unsigned> stages;
    for (auto wait : body->getOps<WaitOp>())
      if (wait.getChannel() == channel && wait.getValue())
        for (OpOperand *use : getEnds(wait.getValue(), FlowThrough::Views))
          if (Operation *user = body->findAncestorOpInBlock(*use->getOwner()))
            stages.push_back(stage.lookup(user));
    return stages;
  };
  if (isa<WaitOp, ReleaseOp>(op)) {
    SmallVector<unsigned> stages = usersOf(op->getOperand(0));
    if (!stages.empty())
      stage[op] = isa<WaitOp>(op) ? *llvm::min_element(stages)
                                  : *llvm::max_element(stages);
  } else if (auto acquire = dyn_cast<AcquireOp>(op)) {
    for (auto commit : body->getOps<CommitOp>())
      if (commit.getChannel() == acquire.getChannel())
        stage[op] = stage.lookup(commit);
  }
}

/// Returns true for a conversion to the operand of an MMA of stage 1: it would
/// write the registers that this MMA, of the iteration before, may still read.
bool MatrixPlanner::isNarrowed(Operation *op) {
  return isa<arith::TruncFOp>(op) && stage.lookup(op) == 0 &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isa<MmaOp>(user) && stage.lookup(user) == 1;
         });
}

/// Returns the ordered operations of a stage from which its MMAs are computed,
/// and the MMAs.
llvm::DenseSet<Operation *> MatrixPlanner::findNeeded(unsigned number) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> worklist;
  for (auto mma : body->getOps<MmaOp>())
    if (stage.lookup(mma) == number)
      worklist.push_back(mma);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (stage.lookup(op) != number || !needed.insert(op).second)
      continue;
    for (Value value : used(op))
      if (Operation *def = value.getDefiningOp();
          def && def->getBlock() == body)
        worklist.push_back(def);
  }
  return needed;
}

void MatrixPlanner::run() {
  findStages();
  for (Operation &op : body->without_terminator())
    placeChannelOp(&op);
  llvm::DenseSet<Operation *> first = findNeeded(0), second = findNeeded(1);
  std::array<SmallVector<Operation *>, Narrowed + 1> turns;
  for (Operation &each : body->without_terminator()) {
    Operation *op = &each;
    if (!isOrdered(op))
      continue;
    Turn turn = isNarrowed(op) ? Narrowed
                : stage.lookup(op) == 0
                    ? (first.contains(op) ? StartsFirst : FirstRest)
                : second.contains(op) ? StartsSecond
                                      : SecondRest;
    turns[turn].push_back(op);
    plan.stage[op] = stage.lookup(op);
  }
  for (ArrayRef<Operation *> ops : turns)
    llvm::append_range(plan.order, ops);
}

LoopPlan fa4::tile::planMatrixLoop(scf::ForOp loop) {
  MatrixPlanner planner(loop);
  planner.run();
  return std::move(planner.plan);
}
