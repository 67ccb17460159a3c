//===- LaneReads.cpp - where a thread reads the values it waits for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneReads.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

LaneReads::LaneReads(RoleOp role, LaneValues &values,
                     const llvm::DenseMap<Value, unsigned> &bufferOf)
    : role(role), values(values), bufferOf(bufferOf) {
  role.walk([&](RescaleOp op) {
    auto wait = op.getValue().getDefiningOp<WaitOp>();
    if (!wait || !op->hasOneUse())
      return;
    auto commit = dyn_cast<CommitOp>(*op->user_begin());
    if (commit && commit->getBlock() == op->getBlock() &&
        wait->getBlock() == op->getBlock() &&
        bufferOf.lookup(commit.getChannel()) ==
            bufferOf.lookup(wait.getChannel()))
      inPlace.insert(op);
  });
}

bool LaneReads::isUnread(Value value) const {
  auto wait = value.getDefiningOp<WaitOp>();
  return wait && unread.contains(wait);
}

void LaneReads::read(WaitOp wait, OpBuilder &b) {
  unread.remove(wait);
  Value value = wait.getValue();
  bool all = values.getLayout(value) == LaneLayout::Columns;
  values.setParts(value,
                  ReadOp::create(b, wait.getLoc(), values.getPartType(value),
                                 wait.getChannel(), /*column=*/0, all)
                      ->getResults());
}

/// A condition, and whether it must be true or false.
using Side = std::pair<Value, bool>;

/// Returns the conditions under which the operations of `block`, and of the
/// regions in it, need the used value: each branch around the use is taken, and
/// a selection that uses the value selects it. Empty if the value is needed
/// always.
static SmallVector<Side> getSides(OpOperand &use, Block *block) {
  SmallVector<Side> sides;
  Operation *op = use.getOwner();
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && !isa<VectorType>(select.getCondition().getType()) &&
      select.getTrueValue() != select.getFalseValue())
    sides.emplace_back(select.getCondition(), use.getOperandNumber() == 1);
  for (; op->getBlock() != block; op = op->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp()))
      sides.emplace_back(branch.getCondition(),
                         op->getParentRegion() == &branch.getThenRegion());
  return sides;
}

/// Returns true if the value is in tensor memory and each use of it is in one
/// side of a branch or of a selection. If none of these sides is taken, there
/// may be nothing to read: tensor memory is undefined until an MMA has written
/// it, and a loop of MMAs may make no pass. Shared memory has no such case: it
/// is written before each commit.
static bool isConditional(WaitOp wait) {
  if (wait.getChannel().getDefiningOp<ChannelOp>().getSpace() !=
      MemorySpace::tmem)
    return false;
  return llvm::none_of(wait.getValue().getUses(), [&](OpOperand &use) {
    return getSides(use, wait->getBlock()).empty();
  });
}

/// Returns true if one side of `op`, a branch or a selection, uses the value,
/// and nothing else does. The value is then read in this side.
static bool isForOneSide(Operation &op, Value value) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return value.hasOneUse() &&
           !isa<VectorType>(select.getCondition().getType());
  if (!isa<scf::IfOp>(op))
    return false;
  return llvm::any_of(op.getRegions(), [&](Region &branch) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return branch.isAncestor(user->getParentRegion());
    });
  });
}

void LaneReads::add(WaitOp wait, OpBuilder &b) {
  unread.insert(wait);
  // A single element is read early: that costs no registers and hides the
  // latency of the read.
  if (isa<FloatType, IntegerType, IndexType>(
          values.getPartType(wait.getValue())) &&
      !wait.getValue().use_empty() && !isConditional(wait))
    read(wait, b);
}

/// Builds the condition under which `at` or an operation behind it needs the
/// value. Returns null if one of them needs it always, or if a condition is not
/// computed yet.
Value LaneReads::isNeeded(WaitOp wait, Operation &at, OpBuilder &b) {
  if (!isConditional(wait))
    return {};
  SmallVector<Side> seen;
  Value needed;
  for (OpOperand &use : wait.getValue().getUses()) {
    Operation *ancestor = at.getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (!ancestor)
      return {};
    if (ancestor->isBeforeInBlock(&at))
      continue;
    SmallVector<Side> sides = getSides(use, at.getBlock());
    llvm::erase_if(sides, [&](Side side) {
      return !values.contains(side.first) &&
             role->isAncestor(side.first.getParentRegion()->getParentOp());
    });
    if (sides.empty())
      return {};
    if (sides.size() == 1) {
      Side side = sides.front();
      if (llvm::is_contained(seen, Side(side.first, !side.second)))
        return {};
      if (llvm::is_contained(seen, side))
        continue;
      seen.push_back(side);
    }
    Value all;
    for (auto [condition, isTrue] : sides) {
      Value holds = values.get(condition);
      if (!isTrue)
        holds = arith::XOrIOp::create(
            b, wait.getLoc(), holds,
            arith::ConstantIntOp::create(b, wait.getLoc(), 1, 1));
      all =
          all ? arith::AndIOp::create(b, wait.getLoc(), all, holds).getResult()
              : holds;
    }
    needed =
        needed ? arith::OrIOp::create(b, wait.getLoc(), needed, all).getResult()
               : all;
  }
  return needed;
}

/// Reads a value if `at` or an operation behind it needs it. Otherwise zeros
/// stand for the value.
void LaneReads::readForUses(WaitOp wait, Operation &at, OpBuilder &b) {
  Value needed = isNeeded(wait, at, b);
  if (!needed)
    return read(wait, b);
  Value value = wait.getValue();
  auto branch =
      scf::IfOp::create(b, wait.getLoc(), TypeRange{values.getPartType(value)},
                        needed, /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  OpBuilder then = branch.getThenBodyBuilder(),
            other = branch.getElseBodyBuilder();
  read(wait, then);
  scf::YieldOp::create(then, wait.getLoc(), values.getParts(value));
  Value zero = arith::ConstantOp::create(
      other, wait.getLoc(), b.getZeroAttr(values.getPartType(value)));
  scf::YieldOp::create(other, wait.getLoc(), zero);
  values.setParts(value, branch.getResults());
}

void LaneReads::readUsed(Operation &op, OpBuilder &b) {
  SmallVector<WaitOp> pending(unread.begin(), unread.end());
  for (WaitOp wait : pending) {
    bool used = llvm::any_of(wait.getValue().getUsers(), [&](Operation *user) {
      return op.isAncestor(user) && !inPlace.contains(user);
    });
    if (used && !isForOneSide(op, wait.getValue()))
      readForUses(wait, op, b);
  }
  if (op.getNumRegions())
    op.walk([&](Operation *inner) {
      if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
        readBuffer(inner->getOperand(0), op, b);
    });
}

void LaneReads::readBuffer(Value channel, Operation &at, OpBuilder &b) {
  unsigned buffer = bufferOf.lookup(channel);
  SmallVector<WaitOp> pending(unread.begin(), unread.end());
  for (WaitOp wait : pending)
    if (bufferOf.lookup(wait.getChannel()) == buffer &&
        !wait.getValue().use_empty())
      readForUses(wait, at, b);
}
