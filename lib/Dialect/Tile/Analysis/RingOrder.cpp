//===- RingOrder.cpp - the order of turns in tensor memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RingOrder.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

RingOrder::RingOrder(const ChannelUses &accumulator)
    : accumulator(accumulator), all{0, getTmemColumns(accumulator.channel)} {}

std::optional<SmallVector<Operation *>>
RingOrder::findWrites(const ChannelUses &uses) {
  SmallVector<Operation *> result;
  for (CommitOp commit : uses.commits) {
    SmallVector<Operation *> writers = getStageWriters(commit);
    for (Operation *writer : writers) {
      auto mma = dyn_cast<MmaOp>(writer);
      if (!mma)
        return std::nullopt;
      // An MMA that accumulates to the result of another MMA of its block
      // belongs to the same write.
      Operation *acc = mma.getAcc() ? mma.getAcc().getDefiningOp() : nullptr;
      if (!acc || acc->getBlock() != mma->getBlock() ||
          !llvm::is_contained(writers, acc))
        result.push_back(mma);
    }
  }
  if (result.empty())
    return std::nullopt;
  return result;
}

SmallVector<Operation *> RingOrder::getWrites() {
  SmallVector<Operation *> found =
      findWrites(accumulator).value_or(SmallVector<Operation *>());
  SmallVector<Operation *> sorted;
  RoleOp role = ArrayRef(accumulator.producers.getArrayRef()).front();
  role.walk([&](Operation *op) {
    if (llvm::is_contained(found, op))
      sorted.push_back(op);
  });
  return sorted;
}

bool RingOrder::addGuest(const ChannelUses &uses, Columns columns,
                         ArrayRef<Operation *> before) {
  auto written = findWrites(uses);
  if (!written)
    return false;
  unsigned number = guests.size();
  Guest guest{numMembers++, columns, std::nullopt};
  if (!before.empty())
    guest.isAcquired = addOnce();
  guests.push_back(guest);
  for (Operation *write : *written)
    guestWrites[write].push_back(number);
  for (Operation *op : before)
    acquires[op].push_back(number);
  return true;
}

void RingOrder::addWitness(const ChannelUses &uses, RoleOp role) {
  unsigned bit = addFollower(all);
  for (WaitOp wait : uses.waits)
    if (wait->getParentOfType<RoleOp>() == role)
      ends[wait].push_back(bit);
}

void RingOrder::addWaits(ArrayRef<Operation *> before) {
  unsigned bit = addFollower(all);
  for (Operation *op : before)
    begins[op].push_back(bit);
}

bool RingOrder::addPart(const ChannelUses &uses, Columns columns) {
  unsigned bit = addFollower(columns);
  for (WaitOp wait : uses.waits) {
    if (!wait.getValue())
      return false;
    Operation *last = nullptr;
    for (OpOperand *use : getEnds(wait.getValue(), FlowThrough::Views)) {
      auto mma = dyn_cast<MmaOp>(use->getOwner());
      if (!mma || use->get() != mma.getA() || use->getOperandNumber() != 0 ||
          mma->getBlock() != wait->getBlock())
        return false;
      if (!last || last->isBeforeInBlock(mma))
        last = mma;
    }
    if (!last)
      return false;
    ends[last].push_back(bit);
  }
  return !uses.waits.empty();
}

bool RingOrder::hasEvent(Operation *op) {
  return writes.contains(op) || guestWrites.contains(op) ||
         acquires.contains(op) || begins.contains(op) || ends.contains(op) ||
         drains.contains(op);
}

std::optional<RingOrder::State>
RingOrder::join(std::optional<State> a, const std::optional<State> &b) const {
  // A guest that may be in use on one of several paths counts as in use.
  if (!a || !b || llvm::any_of(once, [&](unsigned member) {
        return a->test(member) != b->test(member);
      }))
    return std::nullopt;
  *a |= *b;
  return a;
}

/// A successful acquire of a guest's next value shows that the last value has
/// been read.
bool RingOrder::acquire(const Guest &guest, State &state) {
  if (state.test(*guest.isAcquired))
    return false;
  state.set(*guest.isAcquired);
  state.reset(guest.isRead);
  return true;
}

/// Returns true if no value in these columns is needed any more.
bool RingOrder::isFree(Columns columns, const State &state) const {
  return llvm::none_of(follow,
                       [&](const Follower &f) {
                         return f.columns.overlaps(columns) &&
                                state.test(f.bit);
                       }) &&
         llvm::none_of(guests, [&](const Guest &g) {
           return g.columns.overlaps(columns) && state.test(g.isRead);
         });
}

/// A write of the accumulator or of a guest overwrites the other values in its
/// columns.
bool RingOrder::write(Operation *op, State &state) {
  if (writes.contains(op)) {
    if (!isFree(all, state))
      return false;
    for (const Follower &follower : follow)
      state.set(follower.bit);
  }
  for (unsigned number : guestWrites.lookup(op)) {
    const Guest &guest = guests[number];
    if (!isFree(guest.columns, state))
      return false;
    state.set(guest.isRead);
    if (!guest.isAcquired)
      continue;
    if (!state.test(*guest.isAcquired))
      return false;
    state.reset(*guest.isAcquired);
  }
  return true;
}

/// Clears the bits of values that the role reads or waits for. Returns false if
/// one is not set: each value must be read exactly once for each write of its
/// accumulator.
bool RingOrder::clear(const Members &members, State &state) const {
  for (unsigned member : members) {
    if (!state.test(member))
      return false;
    state.reset(member);
  }
  return true;
}

std::optional<RingOrder::State> RingOrder::run(Operation &op, State state) {
  if (!clear(begins.lookup(&op), state))
    return std::nullopt;
  for (unsigned number : acquires.lookup(&op))
    if (!acquire(guests[number], state))
      return std::nullopt;
  if ((writes.contains(&op) || guestWrites.contains(&op)) && !write(&op, state))
    return std::nullopt;
  if (!clear(ends.lookup(&op), state))
    return std::nullopt;
  if (drains.contains(&op))
    for (const Guest &guest : guests)
      state.reset(guest.isRead);
  if (isa<scf::ForOp, WorkOp>(op)) {
    // The state after the loop must be the same for any number of iterations,
    // including none.
    Block &body = op.getRegion(0).front();
    for (;;) {
      auto after = join(state, run(body, state));
      if (!after || *after == state)
        return after;
      state = *after;
    }
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto otherwise = branch.getElseRegion().empty()
                         ? state
                         : run(branch.getElseRegion().front(), state);
    return join(run(branch.getThenRegion().front(), state), otherwise);
  }
  if (fa4::anyIn(&op, [&](Operation *inner) {
        return inner != &op && hasEvent(inner);
      }))
    return std::nullopt;
  return state;
}

std::optional<RingOrder::State> RingOrder::run(Block &block, State state) {
  std::optional<State> current = state;
  for (Operation &op : block)
    if (current)
      current = run(op, *current);
  return current;
}

bool RingOrder::holdsIn(RoleOp role) {
  auto written = findWrites(accumulator);
  if (!written)
    return false;
  writes.insert(written->begin(), written->end());
  auto end = run(role.getBody().front(), State(numMembers));
  return end && llvm::none_of(
                    once, [&](unsigned member) { return end->test(member); });
}
