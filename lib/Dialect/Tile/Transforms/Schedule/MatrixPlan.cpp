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
// An MMA that runs a pass later keeps its operand A in registers over the
// loop's edge. Where a thread has too few, MMAs stay in their own pass: they
// start as soon as A is there, and end with the pass. The gradient's loop has
// S and dP, from which lanes compute the operands of dV and dK. At head dim 128
// it would have 248 words in flight, of 216, and is, without a second stage,
//
//     start S, dP; await S, narrow P, start dV += P dO;
//     await dP, narrow dS, start dK += dS Q; await dV, dK
//
// dQ = dS K is a sum over what several roles compute: they hand dS over, and
// the MMA reads it from memory. It keeps no operands in registers, and so it
// can run a pass later where others cannot (it is late), so that no role waits
// for what another one computes in the same pass:
//
//     ...; narrow dS(j), hand it over; start dQ(j-1), dK(j); await dV(j);
//     await dQ(j-1), let it leave; await dK(j)
//
// With 128 queries at a time and head dim 64, the registers suffice for P in
// 32 bits or in 16, but not for both. dV(j) is held back then:
//
//     ...; narrow dS(j), hand it over; narrow P(j); start dV(j), dQ(j-1), ...
//
//===----------------------------------------------------------------------===//

#include "MatrixStages.h"
#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <array>

using namespace mlir;
using namespace fa4::tile;

namespace {
class MatrixPlanner {
public:
  explicit MatrixPlanner(scf::ForOp loop) : body(loop.getBody()), stages(loop) {
    plan.loop = loop;
  }

  void run();

  LoopPlan plan;

private:
  /// When the operations of a pass run, in this order.
  enum Turn {
    StartsFirst,  ///< MMAs of this iteration that wait for no lanes.
    StartsSecond, ///< MMAs of the iteration before.
    FirstRest,    ///< The lanes' work, and MMAs that start meanwhile.
    StartsHeld,   ///< MMAs that wait until lanes have used up a number.
    StartsLate,   ///< MMAs of the iteration before that are late.
    StartsLast,   ///< MMAs that end with the pass and start behind these.
    EndsFirst,    ///< The ends of the MMAs that started meanwhile.
    SecondRest,   ///< The ends of MMAs of the iteration before.
    EndsLast,     ///< The ends of the MMAs that started last.
    Narrowed,     ///< Operands for the MMAs of the next pass.
    HandedOver,   ///< The commits of these.
    SecondLast    ///< Work on results of MMAs that read what is handed over.
  };

  bool isOrdered(Operation *op);
  bool isNarrowed(Operation *op);
  Operation *findEnding(Operation *op);
  Turn findTurn(Operation *op);
  llvm::DenseSet<Operation *> findNeeded(unsigned stage, bool late);
  bool isHeld(Operation *op);
  bool startsBehindLate(Operation *op);
  bool isBehindHandedOver(Operation *op);

  Block *body;
  MatrixStages stages;
  /// The MMAs with which a pass begins, of each stage, and what they need; the
  /// MMAs that start when the lanes have done their work, and what they need.
  llvm::DenseSet<Operation *> startFirst, startSecond, startLate;
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

/// Returns true for a conversion to the operand of an MMA of stage 1: it would
/// write the registers that this MMA, of the iteration before, may still read.
bool MatrixPlanner::isNarrowed(Operation *op) {
  if (!isa<arith::TruncFOp>(op) || stages.get(op) != 0)
    return false;
  bool isOperand = false;
  for (Operation *user : op->getUsers()) {
    isOperand |= isa<MmaOp>(user);
    if (auto commit = dyn_cast<CommitOp>(user);
        commit ? !isForMatrixRole(commit)
               : !isa<MmaOp>(user) || stages.get(user) != 1)
      return false;
  }
  return isOperand;
}

/// Returns the ordered operations of a stage from which its MMAs are computed,
/// the late ones or the others, and the MMAs.
llvm::DenseSet<Operation *> MatrixPlanner::findNeeded(unsigned number,
                                                      bool late) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> worklist;
  for (auto mma : body->getOps<MmaOp>())
    if (stages.get(mma) == number && !stages.getKept().contains(mma) &&
        stages.isLate(mma) == late)
      worklist.push_back(mma);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (stages.get(op) != number || !needed.insert(op).second)
      continue;
    for (Value value : getUsed(op))
      if (Operation *def = value.getDefiningOp();
          def && def->getBlock() == body)
        worklist.push_back(def);
  }
  return needed;
}

/// Returns the MMA that ends with the pass, if `op` is its await or the release
/// of what it reads; otherwise null. Nothing of the pass needs its result.
Operation *MatrixPlanner::findEnding(Operation *op) {
  if (auto await = dyn_cast<AwaitOp>(op)) {
    bool isUsed = llvm::any_of(await->getUsers(), [&](Operation *user) {
      return user != body->getTerminator();
    });
    return stages.getKept().contains(await.getMma()) && !isUsed ? await.getMma()
                                                                : nullptr;
  }
  auto release = dyn_cast<ReleaseOp>(op);
  if (!release)
    return nullptr;
  Operation *last = nullptr;
  for (Operation *mma : stages.getKept())
    for (Value operand : mma->getOperands())
      if (auto wait = operand.getDefiningOp<WaitOp>();
          wait && wait.getChannel() == release.getChannel() &&
          (!last || last->isBeforeInBlock(mma)))
        last = mma;
  return last;
}

/// Returns true for MMAs that end with the pass and start behind the commit of
/// what other MMAs read: the late MMAs start before them, so that lanes can use
/// their results meanwhile.
bool MatrixPlanner::startsBehindLate(Operation *op) {
  return stages.getKept().contains(op) &&
         llvm::any_of(body->getOps<CommitOp>(), [&](CommitOp commit) {
           return isForMatrixRole(commit) && commit->isBeforeInBlock(op);
         });
}

/// Returns true for MMAs that are held back, and for the narrowing of their
/// operand.
bool MatrixPlanner::isHeld(Operation *op) {
  return stages.isHeld(op) ||
         (isa<arith::TruncFOp>(op) &&
          llvm::all_of(op->getUsers(),
                       [&](Operation *user) { return stages.isHeld(user); }));
}

/// Returns true for operations on the result of an MMA that reads what lanes
/// have handed over, and for releases of that: the lanes hand over what they
/// have computed in this pass before.
bool MatrixPlanner::isBehindHandedOver(Operation *op) {
  SetVector<Operation *> behind;
  for (auto mma : body->getOps<MmaOp>())
    if (stages.isOfHandedOver(mma)) {
      behind.insert(mma);
      if (auto release = dyn_cast<ReleaseOp>(op))
        if (Operation *wait = mma.getA().getDefiningOp();
            wait && wait->getOperand(0) == release.getChannel())
          return true;
    }
  for (unsigned i = 0; i < behind.size(); ++i) {
    if (behind[i] == op)
      return true;
    for (Operation *user : behind[i]->getUsers())
      if (user->getBlock() == body)
        behind.insert(user);
  }
  auto acquire = dyn_cast<AcquireOp>(op);
  return acquire && llvm::any_of(behind, [&](Operation *user) {
           auto commit = dyn_cast<CommitOp>(user);
           return commit && commit.getChannel() == acquire.getChannel();
         });
}

MatrixPlanner::Turn MatrixPlanner::findTurn(Operation *op) {
  bool isSecond = stages.get(op) == 1;
  if (isNarrowed(op))
    return Narrowed;
  if (isHeld(op))
    return StartsHeld;
  if (auto commit = dyn_cast<CommitOp>(op))
    if (Operation *def =
            commit.getValue() ? commit.getValue().getDefiningOp() : nullptr;
        def && isNarrowed(def))
      return HandedOver;
  if (startLate.contains(op))
    return StartsLate;
  if ((isSecond ? startSecond : startFirst).contains(op))
    return isSecond ? StartsSecond : StartsFirst;
  if (isSecond)
    return stages.getKept().empty() && isBehindHandedOver(op) ? SecondLast
                                                              : SecondRest;
  if (startsBehindLate(op))
    return StartsLast;
  if (Operation *mma = findEnding(op))
    return startsBehindLate(mma) ? EndsLast : EndsFirst;
  return FirstRest;
}

void MatrixPlanner::run() {
  startFirst = findNeeded(0, /*late=*/false);
  startSecond = findNeeded(1, /*late=*/false);
  startLate = findNeeded(1, /*late=*/true);
  std::array<SmallVector<Operation *>, SecondLast + 1> turns;
  for (Operation &op : body->without_terminator()) {
    if (!isOrdered(&op))
      continue;
    turns[findTurn(&op)].push_back(&op);
    plan.stage[&op] = stages.get(&op);
  }
  for (ArrayRef<Operation *> ops : turns)
    llvm::append_range(plan.order, ops);
}

LoopPlan fa4::tile::planMatrixLoop(scf::ForOp loop) {
  MatrixPlanner planner(loop);
  planner.run();
  return std::move(planner.plan);
}
