//===- LoopPipeliner.cpp - prologue, steady state, epilogue ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Upstream's scf::pipelineForLoop needs a static trip count or predication of
// every operation, and hands every pure value from stage to stage. Here trip
// counts are dynamic, and indices and conditions are computed again for the
// iteration that needs them.

#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// A value from `lag` passes ago of the new loop. It is the result of an
/// operation in the body, or an iteration argument: the value yielded for it,
/// in the pass that makes it, or its initial value before the first iteration.
using Slot = std::pair<Value, unsigned>;

/// One of the three pieces of straight-line code into which the loop is cut:
/// prologue, body and epilogue. In all of them, "age" counts iterations
/// backwards from the iteration of stage 0, so an operation of stage s works at
/// age s.
struct Segment {
  enum Kind { Prologue, Body, Epilogue };
  Segment(Kind kind, OpBuilder &builder) : kind(kind), builder(builder) {}

  Kind kind;
  OpBuilder &builder;
  /// The induction variables at ages 0 and 1.
  Value iv[2] = {};
  llvm::DenseMap<Slot, Value> slots;
  llvm::DenseMap<Value, Value> current;
  llvm::DenseMap<std::pair<Operation *, unsigned>, Operation *> pure;
};

class Pipeliner {
public:
  Pipeliner(const LoopPlan &plan)
      : plan(plan), loop(plan.loop), body(loop.getBody()) {}

  void run();

private:
  Value yieldedFor(BlockArgument arg) {
    return body->getTerminator()->getOperand(arg.getArgNumber() - 1);
  }
  unsigned stageOfValue(Value value) {
    return plan.stage.lookup(value.getDefiningOp());
  }
  SetVector<Value> used(Operation *op) {
    SetVector<Value> values(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), values);
    return values;
  }
  void need(Value value, unsigned age);
  void needSlot(Value value, unsigned lag) {
    for (unsigned i = 1; i <= lag; ++i)
      slots.insert({value, i});
  }
  Value resolve(Value value, unsigned age, Segment &segment);
  void emit(Operation *op, Segment &segment);
  void emitAll(Segment &segment);
  Value lastIteration(OpBuilder &builder);
  SmallVector<Value> emitLoop(OpBuilder &builder);
  Value initialSlot(Slot slot, Segment &prologue);
  Value currentOf(Value value, Segment &segment);

  const LoopPlan &plan;
  scf::ForOp loop;
  Block *body;
  SetVector<Slot> slots;
};
} // namespace

/// Records what the new loop must carry so that `value` is known at `age`.
void Pipeliner::need(Value value, unsigned age) {
  if (value == loop.getInductionVar())
    return;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() == body)
      needSlot(arg, age + 1 - stageOfValue(yieldedFor(arg)));
    return;
  }
  Operation *def = value.getDefiningOp();
  if (def->getBlock() != body)
    return;
  if (plan.stage.count(def))
    return needSlot(value, age - stageOfValue(value));
  for (Value operand : used(def))
    need(operand, age);
}

/// Returns the copy of `value` that an operation of the order makes in this
/// pass.
Value Pipeliner::currentOf(Value value, Segment &segment) {
  Value current = segment.current.lookup(value);
  assert(current && "the order has a use before its definition");
  return current;
}

Value Pipeliner::resolve(Value value, unsigned age, Segment &segment) {
  if (value == loop.getInductionVar()) {
    if (!segment.iv[age])
      segment.iv[age] = arith::AddIOp::create(segment.builder, loop.getLoc(),
                                              segment.iv[1], loop.getStep());
    return segment.iv[age];
  }
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != body)
      return value;
    if (segment.kind == Segment::Prologue)
      return loop.getTiedLoopInit(arg)->get();
    Value yielded = yieldedFor(arg);
    unsigned lag = age + 1 - stageOfValue(yielded);
    return lag ? segment.slots.lookup({arg, lag}) : currentOf(yielded, segment);
  }
  Operation *def = value.getDefiningOp();
  if (def->getBlock() != body)
    return value;
  if (plan.stage.count(def)) {
    unsigned lag = age - stageOfValue(value);
    return lag ? segment.slots.lookup({value, lag}) : currentOf(value, segment);
  }
  Operation *clone = segment.pure.lookup({def, age});
  if (!clone) {
    IRMapping mapping;
    for (Value operand : used(def))
      mapping.map(operand, resolve(operand, age, segment));
    clone = segment.builder.clone(*def, mapping);
    segment.pure[{def, age}] = clone;
  }
  return clone->getResult(cast<OpResult>(value).getResultNumber());
}

void Pipeliner::emit(Operation *op, Segment &segment) {
  unsigned age = plan.stage.lookup(op);
  IRMapping mapping;
  for (Value operand : used(op))
    mapping.map(operand, resolve(operand, age, segment));
  Operation *clone = segment.builder.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    segment.current[from] = to;
}

void Pipeliner::emitAll(Segment &segment) {
  for (Operation *op : plan.order) {
    unsigned stage = plan.stage.lookup(op);
    if ((segment.kind == Segment::Prologue && stage != 0) ||
        (segment.kind == Segment::Epilogue && stage == 0))
      continue;
    emit(op, segment);
  }
}

/// Builds the induction variable of the last iteration.
Value Pipeliner::lastIteration(OpBuilder &builder) {
  Location loc = loop.getLoc();
  Value begin = loop.getLowerBound(), end = loop.getUpperBound(),
        step = loop.getStep();
  if (isConstantIntValue(step, 1))
    return arith::SubIOp::create(builder, loc, end, step);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value span = arith::SubIOp::create(builder, loc, end, begin);
  Value count = arith::CeilDivSIOp::create(builder, loc, span, step);
  Value passes = arith::SubIOp::create(builder, loc, count, one);
  Value offset = arith::MulIOp::create(builder, loc, passes, step);
  return arith::AddIOp::create(builder, loc, begin, offset);
}

/// Returns the value of a slot in the first pass of the new loop. Stage 0 works
/// on iteration 1 there, so a value of iteration 0 was made in the prologue.
Value Pipeliner::initialSlot(Slot slot, Segment &prologue) {
  auto [value, lag] = slot;
  auto arg = dyn_cast<BlockArgument>(value);
  Value made = arg ? yieldedFor(arg) : value;
  if (stageOfValue(made) == 0 && lag == 1)
    return currentOf(made, prologue);
  assert(arg && "no operation has run before the prologue");
  return loop.getTiedLoopInit(arg)->get();
}

SmallVector<Value> Pipeliner::emitLoop(OpBuilder &builder) {
  Segment prologue(Segment::Prologue, builder);
  prologue.iv[0] = loop.getLowerBound();
  emitAll(prologue);

  Value last = lastIteration(builder);
  SmallVector<Value> initial = llvm::map_to_vector(
      slots, [&](Slot slot) { return initialSlot(slot, prologue); });
  auto steady = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                   last, loop.getStep(), initial);
  steady->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  {
    OpBuilder::InsertionGuard guard(builder);
    // The builder has already made a terminator if the loop carries nothing.
    if (!steady.getBody()->empty())
      steady.getBody()->back().erase();
    builder.setInsertionPointToEnd(steady.getBody());
    Segment pass(Segment::Body, builder);
    pass.iv[1] = steady.getInductionVar();
    for (auto [slot, arg] : llvm::zip(slots, steady.getRegionIterArgs()))
      pass.slots[slot] = arg;
    emitAll(pass);
    SmallVector<Value> next;
    for (auto [value, lag] : slots) {
      auto arg = dyn_cast<BlockArgument>(value);
      next.push_back(lag > 1 ? pass.slots.lookup({value, lag - 1})
                             : currentOf(arg ? yieldedFor(arg) : value, pass));
    }
    scf::YieldOp::create(builder, loop.getLoc(), next);
  }

  Segment epilogue(Segment::Epilogue, builder);
  epilogue.iv[1] = last;
  for (auto [slot, result] : llvm::zip(slots, steady.getResults()))
    epilogue.slots[slot] = result;
  emitAll(epilogue);
  SmallVector<Value> results;
  for (auto arg : loop.getRegionIterArgs()) {
    // The loop's result is the value with which the next iteration would start.
    Value yielded = yieldedFor(arg);
    results.push_back(stageOfValue(yielded) ? currentOf(yielded, epilogue)
                                            : epilogue.slots.lookup({arg, 1}));
  }
  return results;
}

void Pipeliner::run() {
  for (Operation *op : plan.order)
    for (Value operand : used(op))
      need(operand, plan.stage.lookup(op));
  for (auto arg : loop.getRegionIterArgs())
    if (stageOfValue(yieldedFor(arg)) == 0)
      needSlot(arg, 1);

  OpBuilder builder(loop);
  SmallVector<Value> results;
  if (IndexForms().runsAtLeastOnce(loop)) {
    results = emitLoop(builder);
  } else {
    Location loc = loop.getLoc();
    Value any =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    auto guard = scf::IfOp::create(builder, loc, loop.getResultTypes(), any,
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/!loop.getResults().empty());
    OpBuilder inner = guard.getThenBodyBuilder();
    SmallVector<Value> made = emitLoop(inner);
    scf::YieldOp::create(inner, loc, made);
    if (!loop.getResults().empty()) {
      OpBuilder otherwise = guard.getElseBodyBuilder();
      scf::YieldOp::create(otherwise, loc, loop.getInitArgs());
    }
    llvm::append_range(results, guard.getResults());
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

/// Reorders the body in place. Pure operations move up to where they are first
/// needed, or stay at the top.
static void reorder(const LoopPlan &plan) {
  scf::ForOp loop = plan.loop;
  Block *body = loop.getBody();
  Operation *end = body->getTerminator();
  for (Operation *op : plan.order)
    op->moveBefore(end);
  // The pure operations have collected at the top, in order. Those that use a
  // result of an ordered operation move behind their last operand.
  SmallVector<Operation *> pure;
  for (Operation &op : *body)
    if (!plan.stage.count(&op) && &op != end)
      pure.push_back(&op);
  for (Operation *op : pure) {
    Operation *last = nullptr;
    for (Operation *def : RoleGraph::operandOps(op))
      if (!last || last->isBeforeInBlock(def))
        last = def;
    if (last && op->isBeforeInBlock(last))
      op->moveAfter(last);
  }
}

void fa4::tile::applyPlan(const LoopPlan &plan) {
  if (!plan.isPipelined())
    return reorder(plan);
  // A channel needs another stage if its next value is waited for before the
  // last one is released, or committed before the last one is waited for.
  for (Operation *op : plan.order) {
    if (auto commit = dyn_cast<CommitOp>(op))
      for (Operation *user : commit.getChannel().getUsers())
        if (isa<WaitOp>(user) &&
            plan.stage.lookup(user) > plan.stage.lookup(op))
          requireStages(commit.getChannel().getDefiningOp<ChannelOp>(), 2);
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait || plan.stage.lookup(op) != 0)
      continue;
    for (Operation *later : ArrayRef(plan.order).drop_front(plan.indexOf(op)))
      if (auto release = dyn_cast<ReleaseOp>(later);
          release && release.getChannel() == wait.getChannel() &&
          plan.stage.lookup(release) != 0)
        requireStages(wait.getChannel().getDefiningOp<ChannelOp>(), 2);
  }
  Pipeliner(plan).run();
}
