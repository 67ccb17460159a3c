//===- ProtocolNumbers.cpp - numbers of passes and conditions of a model
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns the number as an integer if sums and products of a few such integers
/// fit into 64 bits.
static std::optional<int64_t> toSmallInteger(const llvm::DynamicAPInt &number) {
  constexpr int64_t limit = int64_t(1) << 31;
  if (number < -limit || number > limit)
    return std::nullopt;
  return int64_t(number);
}

/// Returns the value of a polynomial that is a small constant, or nothing.
static std::optional<int64_t> toSmallInteger(const Polynomial &polynomial) {
  if (polynomial.empty())
    return 0;
  if (polynomial.size() != 1 || !polynomial.begin()->first.empty())
    return std::nullopt;
  return toSmallInteger(polynomial.begin()->second);
}

static bool synchronises(scf::ForOp loop) {
  return loop
      .walk([](Operation *op) {
        return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void ProtocolNumbers::findSpans() {
  model.kernel.walk([&](Operation *op) {
    Span span{{}, {}, 0, false};
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      span.length =
          ExecutionCounts::add(counts.getValue(loop.getUpperBound()),
                               counts.getValue(loop.getLowerBound()), -1);
      span.trips = counts.getTripCount(loop);
      // The loop's length in steps is known only if the loop counts: passes of
      // other loops (the loop over work tiles, say) do not tell their length.
      if (counts.getRanges().isCounted(loop))
        span.step = toSmallInteger(counts.getValue(loop.getStep())).value_or(0);
      span.isClamped = true;
      unsigned depth = synchronises(loop) ? loopsAround(loop).size() : 0;
      for (const auto &[monomial, coefficient] : span.trips)
        tripDepths[monomial] = std::max(tripDepths[monomial], depth);
    } else if (auto division = dyn_cast<arith::CeilDivSIOp>(op)) {
      span.length = counts.getValue(division.getLhs());
      span.trips = counts.getValue(division.getResult());
      span.step =
          toSmallInteger(counts.getValue(division.getRhs())).value_or(0);
    }
    // A number that is known says nothing about others.
    if (span.step > 0 && span.length != span.trips &&
        !toSmallInteger(span.length))
      spans.push_back(std::move(span));
  });
}

SmallVector<unsigned, 2> ProtocolNumbers::loopsAround(Operation *op) {
  SmallVector<unsigned, 2> result;
  for (op = op->getParentOp(); op; op = op->getParentOp())
    if (isa<scf::ForOp, WorkOp>(op))
      result.insert(result.begin(), loopIndex.lookup(op));
  return result;
}

unsigned ProtocolNumbers::addLoop(Operation *loop, unsigned role) {
  unsigned number = model.loops.size();
  loopIndex[loop] = number;
  model.loops.push_back({loop, role, {}, 0, loopsAround(loop)});
  return number;
}

static StringRef nameOfRole(Operation *op) {
  return op->getParentOfType<RoleOp>().getSymName();
}

LogicalResult ProtocolNumbers::countPasses(WorkOp work, ProtocolLoop &info) {
  FailureOr<LinearForm> form = toForm(counts.getTripCount(work), /*depth=*/0,
                                      /*countsPasses=*/true, work);
  if (failed(form))
    return failure();
  info.trips = *form;
  return success();
}

LogicalResult ProtocolNumbers::countPasses(scf::ForOp loop,
                                           ProtocolLoop &info) {
  if (!counts.getRanges().hasPositiveStep(loop))
    return loop.emitError("@")
           << nameOfRole(loop)
           << " executes channel operations in a loop whose step is not proven "
              "to be positive: such a loop may not end";
  Polynomial trips = counts.getTripCount(loop);
  unsigned depth = info.parents.size();
  FailureOr<LinearForm> form = toForm(trips, depth, true, loop);
  if (failed(form))
    return failure();
  info.trips = *form;
  Polynomial length =
      ExecutionCounts::add(counts.getValue(loop.getUpperBound()),
                           counts.getValue(loop.getLowerBound()), -1);
  bool hasUnitStep =
      counts.getValue(loop.getStep()) == ExecutionCounts::constant(1);
  if (hasUnitStep && counts.getRanges().isCounted(loop) && length != trips) {
    FailureOr<LinearForm> unclamped = toForm(length, depth, true, loop);
    if (failed(unclamped))
      return failure();
    model.clamped[form->terms.begin()->first.number()] = *unclamped;
  }
  info.firstPass = counts.getPass(loop).offset;
  info.atLeast = counts.runsAtLeastOnce(loop);
  for (int64_t least : {1, 2})
    if (counts.isNonNegative(
            ExecutionCounts::add(trips, ExecutionCounts::constant(least), -1)))
      info.atLeast = least;
  return success();
}

/// Makes a linear form of a polynomial: each monomial becomes an unknown of the
/// model. The number of passes of an inner loop gets a new unknown in each pass
/// of the `depth` outer loops, even where it is always the same. The verifier
/// can then forget the facts about it after the pass.
FailureOr<LinearForm> ProtocolNumbers::toForm(const Polynomial &polynomial,
                                              unsigned depth, bool countsPasses,
                                              Operation *op) {
  LinearForm form;
  for (const auto &[monomial, number] : polynomial) {
    std::optional<int64_t> coefficient = toSmallInteger(number);
    if (!coefficient)
      return op->emitError("@")
             << nameOfRole(op)
             << " synchronises or accumulates by a number with a factor beyond "
                "2^31: not supported by the protocol verifier";
    if (monomial.empty()) {
      form.constant = *coefficient;
      continue;
    }
    auto inner = tripDepths.find(monomial);
    unsigned own = countsPasses                ? depth
                   : inner == tripDepths.end() ? 0
                                               : std::min(inner->second, depth);
    own = std::max(own, counts.getDepth(monomial));
    if (own > 2)
      return op->emitError("@")
             << nameOfRole(op)
             << " synchronises or accumulates by a number that three loops "
                "decide: not supported by the protocol verifier";
    auto [it, isNew] =
        unknownOf.try_emplace({monomial, own}, model.depths.size());
    if (isNew)
      model.depths.push_back(own);
    form.terms[it->second] = *coefficient;
  }
  return form;
}

/// Returns the signed comparison that gives the same result as `predicate`, or
/// nothing.
static std::optional<ProtocolCondition::Predicate>
getPredicate(arith::CmpIPredicate predicate, bool hasNegative) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ProtocolCondition::Equal;
  case arith::CmpIPredicate::ne:
    return ProtocolCondition::NotEqual;
  case arith::CmpIPredicate::slt:
    return ProtocolCondition::Less;
  case arith::CmpIPredicate::sle:
    return ProtocolCondition::LessEqual;
  case arith::CmpIPredicate::sgt:
    return ProtocolCondition::Greater;
  case arith::CmpIPredicate::sge:
    return ProtocolCondition::GreaterEqual;
  default:
    break;
  }
  if (hasNegative)
    return std::nullopt;
  switch (predicate) {
  case arith::CmpIPredicate::ult:
    return ProtocolCondition::Less;
  case arith::CmpIPredicate::ule:
    return ProtocolCondition::LessEqual;
  case arith::CmpIPredicate::ugt:
    return ProtocolCondition::Greater;
  default:
    return ProtocolCondition::GreaterEqual;
  }
}

/// Returns the form that a condition compares with 0, and how. A comparison
/// gives `getValue(lhs) - getValue(rhs)`; any other condition asks whether its
/// value is not 0.
std::pair<Polynomial, ProtocolCondition::Predicate>
ProtocolNumbers::getComparison(Value condition) {
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    bool hasNegative = llvm::any_of(compare->getOperands(), [&](Value operand) {
      return counts.getRanges().get(operand).smin().isNegative();
    });
    if (auto predicate = getPredicate(compare.getPredicate(), hasNegative))
      return {ExecutionCounts::add(counts.getValue(compare.getLhs()),
                                   counts.getValue(compare.getRhs()), -1),
              *predicate};
  }
  return {counts.getValue(condition), ProtocolCondition::NotEqual};
}

/// Moves the term of `form` that counts passes of a loop into the condition's
/// slope. Does nothing if another term depends on the same passes.
void ProtocolNumbers::takeSlope(Polynomial &form,
                                ProtocolCondition &condition) {
  unsigned depth = 0, count = 0;
  for (const auto &[monomial, coefficient] : form) {
    unsigned own = counts.getDepth(monomial);
    count = own > depth ? 1 : count + (own == depth);
    depth = std::max(depth, own);
  }
  if (depth == 0 || count != 1)
    return;
  unsigned loop = condition.parents[depth - 1];
  // A loop over work tiles has no slope: the coordinates of a tile are not
  // linear in the number of the pass.
  auto around = dyn_cast<scf::ForOp>(model.loops[loop].op);
  if (!around)
    return;
  auto pass = counts.getPass(around);
  auto found = form.find({pass.atom});
  auto slope =
      found == form.end() ? std::nullopt : toSmallInteger(found->second);
  if (!slope)
    return;
  condition.slope = *slope;
  condition.loop = loop;
  form.erase(found);
  form = ExecutionCounts::add(
      form, ExecutionCounts::constant(condition.slope * pass.offset));
}

/// Turns a comparison of a loop's length into one of its number of passes: with
/// steps of 128, `length > 256` says the same as `passes > 2`.
void ProtocolNumbers::compareTrips(Polynomial &form,
                                   ProtocolCondition &condition) {
  using Condition = ProtocolCondition;
  for (const Span &span : spans)
    for (int sign : {1, -1}) {
      auto rest =
          toSmallInteger(ExecutionCounts::add(form, span.length, -sign));
      if (!rest)
        continue;
      // length <predicate> bound + slope * pass
      int64_t bound = -sign * *rest, slope = -sign * condition.slope;
      Condition::Predicate predicate = condition.predicate;
      if (sign < 0)
        predicate =
            predicate == Condition::Less           ? Condition::Greater
            : predicate == Condition::Greater      ? Condition::Less
            : predicate == Condition::LessEqual    ? Condition::GreaterEqual
            : predicate == Condition::GreaterEqual ? Condition::LessEqual
                                                   : predicate;
      bool isZero = bound == 0 && slope == 0;
      if (predicate == Condition::Less) {
        predicate = Condition::LessEqual;
        --bound;
      } else if (predicate == Condition::GreaterEqual) {
        predicate = Condition::Greater;
        --bound;
      } else if (isZero && counts.isNonNegative(span.length)) {
        predicate = predicate == Condition::Equal      ? Condition::LessEqual
                    : predicate == Condition::NotEqual ? Condition::Greater
                                                       : predicate;
      }
      bool isOrdered =
          predicate == Condition::Greater || predicate == Condition::LessEqual;
      if (!isOrdered || bound % span.step || slope % span.step ||
          (span.isClamped && (bound < 0 || slope < 0)))
        continue;
      condition.predicate = predicate;
      condition.slope = -slope / span.step;
      form = ExecutionCounts::add(
          span.trips, ExecutionCounts::constant(-bound / span.step));
      return;
    }
}

bool ProtocolNumbers::comparesTrips(Value condition) {
  ProtocolCondition unused;
  auto [form, predicate] = getComparison(condition);
  unused.predicate = predicate;
  compareTrips(form, unused);
  return llvm::all_of(form, [&](const auto &term) {
    return term.first.empty() || tripDepths.count(term.first);
  });
}

FailureOr<unsigned> ProtocolNumbers::addCondition(Value value, Operation *op,
                                                  unsigned role) {
  ProtocolCondition condition;
  condition.value = value;
  condition.role = role;
  condition.parents = loopsAround(op);
  Polynomial form;
  std::tie(form, condition.predicate) = getComparison(value);
  takeSlope(form, condition);
  compareTrips(form, condition);
  ArrayRef<unsigned> parents = condition.parents;
  size_t depth = parents.size();
  if (condition.loop != -1)
    depth = llvm::find(parents, unsigned(condition.loop)) - parents.begin();
  FailureOr<LinearForm> linear = toForm(form, depth, condition.loop != -1, op);
  if (failed(linear))
    return failure();
  condition.form = *linear;
  model.conditions.push_back(std::move(condition));
  return static_cast<unsigned>(model.conditions.size() - 1);
}
