//===- MatrixStages.cpp - passes in which a role's MMAs run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStages.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Target/RegisterBudget.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa4::tile;

SetVector<Value> fa4::tile::getUsed(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

bool fa4::tile::isMatrixRole(RoleOp role) {
  return role.startsMmas() && !role.runsOnOneThread();
}

bool fa4::tile::isInMatrixRole(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  return role && isMatrixRole(role);
}

/// Returns true if lanes that start MMAs hand over what the wait gives.
static bool isFromMatrixRole(WaitOp wait) {
  return llvm::any_of(wait.getChannel().getUsers(), [](Operation *user) {
    return isa<CommitOp>(user) && isInMatrixRole(user);
  });
}

bool fa4::tile::isForMatrixRole(CommitOp commit) {
  return llvm::any_of(commit.getChannel().getUsers(), [](Operation *user) {
    auto wait = dyn_cast<WaitOp>(user);
    return wait && isInMatrixRole(wait) && wait.getValue() &&
           getHome(wait.getValue()) == ValueHome::Place;
  });
}

bool fa4::tile::exchangesOperands(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<CommitOp>(), isForMatrixRole);
}

bool fa4::tile::isInMatrixLoop(CommitOp commit) {
  return isInMatrixRole(commit) && isa<scf::ForOp>(commit->getParentOp());
}

MatrixStages::MatrixStages(scf::ForOp loop)
    : loop(loop), body(loop.getBody()), exchanges(exchangesOperands(loop)) {
  find();
  fitRegisters();
}

/// Returns the stage that an operation has by its operands, and notes whether
/// it is work of lanes behind the queue.
unsigned MatrixStages::findStage(Operation *op) {
  unsigned result = 0;
  bool isBehind = isa<AwaitOp>(op);
  for (Value value : getUsed(op)) {
    Operation *def = value.getDefiningOp();
    bool isCarried = false;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == body &&
        value != loop.getInductionVar()) {
      def = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
      isCarried = true;
    }
    if (!def || def->getBlock() != body)
      continue;
    bool isByLanes = behindQueue.contains(def) && !isCarried;
    if (auto wait = dyn_cast<WaitOp>(def)) {
      // What this loop's lanes compute for MMAs, those of other roles compute
      // in the same iteration.
      if (!exchanges || !isFromMatrixRole(wait))
        continue;
      isByLanes = !isCarried;
    }
    unsigned ofDef = isa<WaitOp>(def) ? 0 : stage.lookup(def);
    if (isByLanes && isa<MmaOp>(op) && !kept.contains(op))
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
void MatrixStages::find() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : body->without_terminator()) {
      unsigned found = findStage(&op);
      changed |= found > stage.lookup(&op);
      stage[&op] = std::max(found, stage.lookup(&op));
    }
  }
  for (Operation &op : body->without_terminator())
    placeChannelOp(&op);
}

/// Returns the words that a thread has of a tile in registers.
int64_t MatrixStages::countWords(Value tile) const {
  VectorType vector = getTileType(tile.getType());
  auto role = loop->getParentOfType<RoleOp>();
  return vector.getNumElements() * vector.getElementTypeBitWidth() / 32 /
         role.getNumThreads();
}

/// The words that a thread has of a stage that a loop carries beside the next
/// one: their numbers, and what is computed from these. Measured with
/// ptxas 13.0 on gradients, whose loops carry one or two: 192 words of tiles
/// fit a thread with 240 registers beside two, 208 do not fit beside one.
static constexpr int64_t kStageWords = 8;

/// Returns the words of A that a thread has beside the results: those of the
/// pass before; and those of this pass, unless they take the place of the
/// number from which they were narrowed. They do if the MMA is held back.
int64_t MatrixStages::countWordsOfA(MmaOp mma) const {
  if (getHome(mma.getA()) != ValueHome::Fragment || held.contains(mma))
    return 0;
  Operation *narrow = mma.getA().getDefiningOp();
  bool isInPlace = stage.lookup(mma) == 0 && narrow &&
                   llvm::all_of(narrow->getOperands(), [](Value source) {
                     return source.hasOneUse();
                   });
  return isInPlace ? 0 : countWords(mma.getA());
}

/// Returns the words of a thread that MMAs of a pass need while the first of
/// them is under way. What is computed from a result takes its place.
int64_t MatrixStages::countWordsInFlight() const {
  int64_t words = 0;
  llvm::DenseSet<Value> carried;
  for (auto mma : body->getOps<MmaOp>()) {
    words += countWordsOfA(mma);
    // The parts of a sum are one accumulator.
    if (!mma.getOnto() && !isLate(mma))
      words += countWords(mma.getResult());
    auto wait = mma.getB().getDefiningOp<WaitOp>();
    if (wait && !isLate(mma) && stage.lookup(mma) != stage.lookup(wait))
      carried.insert(wait.getValue());
  }
  // Numbers that lanes read for scores are under way beside these. Roles that
  // hand nothing over have room for them: ptxas 13.0 and 13.5 spill with 216
  // words in gradients, and not with 224 forward.
  if (exchanges)
    for (auto read : body->getOps<GatherOp>()) {
      bool isTile = isa<VectorType>(read.getType());
      words += isTile ? countWords(read.getResult()) + kStageWords : 1;
    }
  int64_t stages = carried.empty() ? 0 : carried.size() + 1;
  return words + kStageWords * stages;
}

bool MatrixStages::isOfHandedOver(MmaOp mma) const {
  return exchanges && get(mma) == 1 && getHome(mma.getA()) == ValueHome::Place;
}

/// Keeps MMAs in their own pass, the first ones first, until registers suffice;
/// all of them if there are MMAs that can be late.
void MatrixStages::fitRegisters() {
  std::optional<uint64_t> registers =
      loop->getParentOfType<RoleOp>().getRegisters();
  if (!registers)
    return;
  int64_t most = int64_t(*registers) - fa4::kRegisterSlack;
  bool hasLate = llvm::any_of(body->getOps<MmaOp>(),
                              [&](MmaOp mma) { return isOfHandedOver(mma); });
  for (auto mma : body->getOps<MmaOp>()) {
    if ((kept.empty() || !hasLate) && countWordsInFlight() <= most)
      break;
    if (stage.lookup(mma) == 0 || isOfHandedOver(mma))
      continue;
    kept.insert(mma);
    stage.clear();
    behindQueue.clear();
    find();
  }
  if (hasLate)
    holdBack(most);
}

/// Holds MMAs of this pass back until their operand is all that is left of the
/// number from which it was narrowed, the first ones first, until registers
/// suffice. In the gradient P is such a number: dV += P dO can start as soon as
/// P is narrowed, but dS = P (dP - delta) needs P, too. MMAs that are late run
/// meanwhile; without them, ptxas 13.0 finds the few registers that are missing
/// (head dim 144).
void MatrixStages::holdBack(int64_t most) {
  for (auto mma : body->getOps<MmaOp>()) {
    if (countWordsInFlight() <= most)
      return;
    if (kept.contains(mma) && countWordsOfA(mma) > 0)
      held.insert(mma);
  }
}

/// An operation on a channel has the stage of what it serves: a wait that of
/// its first user, a release that of the last one, a commit that of its value.
void MatrixStages::placeChannelOp(Operation *op) {
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
