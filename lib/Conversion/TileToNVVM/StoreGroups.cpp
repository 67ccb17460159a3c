//===- StoreGroups.cpp - stores that may go on behind a release ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

/// More groups than this are not counted, so that counts in loops end.
static constexpr int64_t kMostGroups = 64;

/// More paths than this are not followed.
static constexpr size_t kMostStates = 16;

StoreGroups::StoreGroups(RoleOp role) {
  role.walk([&](ReleaseOp op) { released.insert(op.getChannel()); });
  States states(1);
  isKnown = run(role.getBody().front(), states);
}

int64_t StoreGroups::mayBePending(ReleaseOp release) const {
  return isKnown ? pending.lookup(release) : 0;
}

void StoreGroups::store(mlir::Value tile, State &state) {
  for (auto &[channel, values] : state.values)
    for (Value &value : values)
      value.storesSince = std::min(value.storesSince + 1, kMostGroups);
  while (auto slice = tile.getDefiningOp<vector::ExtractStridedSliceOp>())
    tile = slice.getSource();
  Operation *wait = tile.getDefiningOp<WaitOp>();
  Value *read = nullptr;
  if (wait)
    for (Value &value : state.values[wait->getOperand(0)])
      if (value.wait == wait)
        read = &value;
  if (read) {
    read->storesSince = 0;
    return;
  }
  // The store may read any of the values.
  for (auto &[channel, values] : state.values)
    for (Value &value : values)
      value.storesSince = 0;
}

bool StoreGroups::release(ReleaseOp op, State &state) {
  std::deque<Value> &values = state.values[op.getChannel()];
  if (values.empty())
    return false;
  auto [known, isNew] = pending.try_emplace(op, values.front().storesSince);
  known->second = std::min(known->second, values.front().storesSince);
  values.pop_front();
  return true;
}

bool StoreGroups::add(State state, States &states) {
  auto sameLoops = [](const State &a, const State &b) {
    return a.loops.size() == b.loops.size() &&
           llvm::all_of(llvm::zip_equal(a.loops, b.loops), [](auto pair) {
             return std::get<0>(pair) == std::get<1>(pair);
           });
  };
  for (State &known : states) {
    bool isAlike = sameLoops(known, state);
    for (State *side : {&known, &state})
      for (auto &[channel, values] : side->values)
        isAlike &= known.values.lookup(channel).size() ==
                   state.values.lookup(channel).size();
    if (!isAlike)
      continue;
    bool isChanged = false;
    for (auto &[channel, values] : known.values)
      for (auto [a, b] :
           llvm::zip_equal(values, state.values.lookup(channel))) {
        Value joined = {a.wait == b.wait ? a.wait : nullptr,
                        std::min(a.storesSince, b.storesSince)};
        isChanged |=
            joined.wait != a.wait || joined.storesSince != a.storesSince;
        a = joined;
      }
    return isChanged;
  }
  states.push_back(std::move(state));
  return true;
}

static bool isSame(mlir::Value a, mlir::Value b) {
  auto constant = getConstantIntValue(a);
  return a == b || (constant && constant == getConstantIntValue(b));
}

/// Returns whether a condition holds that compares the induction variable of a
/// loop with the loop's start, or the start with the end.
std::optional<bool> StoreGroups::decide(mlir::Value condition,
                                        const State &state) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  mlir::Value a = compare.getLhs(), b = compare.getRhs();
  arith::CmpIPredicate predicate = compare.getPredicate();
  for (auto [op, passes] : state.loops) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      continue;
    mlir::Value begin = loop.getLowerBound(), end = loop.getUpperBound();
    if (a == loop.getInductionVar() && isSame(b, begin)) {
      if (predicate == arith::CmpIPredicate::ne)
        return passes == State::Later;
      if (predicate == arith::CmpIPredicate::eq)
        return passes == State::First;
    }
    bool isRange = isSame(a, begin) && isSame(b, end) &&
                   predicate == arith::CmpIPredicate::slt;
    bool isTurned = isSame(b, begin) && isSame(a, end) &&
                    predicate == arith::CmpIPredicate::sgt;
    if (isRange || isTurned)
      return passes != State::None;
  }
  return std::nullopt;
}

bool StoreGroups::runLoop(Operation *loop, States &states) {
  States done, current;
  for (State &state : states) {
    state.loops[loop] = State::None;
    add(state, done);
    state.loops[loop] = State::First;
    add(state, current);
  }
  // A value gets nearer to its store with each join, and states are few: this
  // ends.
  while (!current.empty()) {
    if (done.size() > kMostStates || !run(loop->getRegion(0).front(), current))
      return false;
    States next;
    for (State &state : current) {
      state.loops[loop] = State::Later;
      if (add(state, done))
        add(state, next);
    }
    current = std::move(next);
  }
  states = std::move(done);
  return true;
}

bool StoreGroups::runBranch(scf::IfOp branch, States &states) {
  States yes, no;
  for (State &state : states) {
    std::optional<bool> holds = decide(branch.getCondition(), state);
    if (holds.value_or(true))
      yes.push_back(state);
    if (!holds.value_or(false))
      no.push_back(state);
  }
  if (!run(branch.getThenRegion().front(), yes) ||
      (!branch.getElseRegion().empty() &&
       !run(branch.getElseRegion().front(), no)))
    return false;
  states = std::move(yes);
  for (State &state : no)
    add(std::move(state), states);
  return states.size() <= kMostStates;
}

bool StoreGroups::run(Operation &op, States &states) {
  if (isa<scf::ForOp, WorkOp>(op))
    return runLoop(&op, states);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runBranch(branch, states);
  // Nothing else that has regions holds operations on channels in a role that
  // issues.
  for (State &state : states) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      // A value that no store reads never needs a wait.
      if (released.contains(wait.getChannel()))
        state.values[wait.getChannel()].push_back({wait, kMostGroups});
    } else if (isa<StoreOp, ReduceAddOp>(op)) {
      store(op.getOperand(0), state);
    } else if (isa<PassTurnOp>(op)) {
      // All stores have ended.
      for (auto &[channel, values] : state.values)
        for (Value &value : values)
          value.storesSince = kMostGroups;
    } else if (auto end = dyn_cast<ReleaseOp>(op)) {
      if (!release(end, state))
        return false;
    }
  }
  return true;
}

bool StoreGroups::run(Block &block, States &states) {
  return llvm::all_of(block, [&](Operation &op) { return run(op, states); });
}
