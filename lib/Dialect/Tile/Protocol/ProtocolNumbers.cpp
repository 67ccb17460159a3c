//===- ProtocolNumbers.cpp - numbers of passes and conditions of a model
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolNumbers.h"
#include "fa4/Support/NestedOps.h"
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

/// Returns the value of a form that is a small constant, or nothing.
static std::optional<int64_t> toSmallInteger(const IndexForm &form) {
  std::optional<llvm::DynamicAPInt> constant = form.getConstant();
  return constant ? toSmallInteger(*constant) : std::nullopt;
}

static bool synchronises(scf::ForOp loop) {
  return fa4::containsOp<AcquireOp, CommitOp, WaitOp, ReleaseOp>(loop);
}

void ProtocolNumbers::findSpans() {
  model.kernel.walk([&](Operation *op) {
    Span span{{}, {}, 0, false};
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      span.length =
          forms.get(loop.getUpperBound()) - forms.get(loop.getLowerBound());
      span.trips = forms.getTripCount(loop);
      // If the loop is not counted, its length does not follow from its number
      // of passes. An example is the loop over work tiles.
      if (forms.getRanges().isCounted(loop))
        span.step = toSmallInteger(forms.get(loop.getStep())).value_or(0);
      span.isClamped = true;
      unsigned depth = synchronises(loop) ? loopsAround(loop).size() : 0;
      for (const auto &[monomial, coefficient] : span.trips)
        tripDepths[monomial] = std::max(tripDepths[monomial], depth);
    } else if (auto division = dyn_cast<arith::CeilDivSIOp>(op)) {
      span.length = forms.get(division.getLhs());
      span.trips = forms.get(division.getResult());
      span.step = toSmallInteger(forms.get(division.getRhs())).value_or(0);
    }
    // A length that is known, or that equals the number of passes, says nothing
    // new.
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
  FailureOr<LinearForm> form = toForm(forms.getTripCount(work), /*depth=*/0,
                                      /*countsPasses=*/true, work);
  if (failed(form))
    return failure();
  info.trips = *form;
  return success();
}

LogicalResult ProtocolNumbers::countPasses(scf::ForOp loop,
                                           ProtocolLoop &info) {
  if (!forms.getRanges().hasPositiveStep(loop))
    return loop.emitError("@")
           << nameOfRole(loop)
           << " executes channel operations in a loop whose step is not proven "
              "to be positive: such a loop may not end";
  IndexForm trips = forms.getTripCount(loop);
  unsigned depth = info.parents.size();
  FailureOr<LinearForm> form = toForm(trips, depth, true, loop);
  if (failed(form))
    return failure();
  info.trips = *form;
  IndexForm length =
      forms.get(loop.getUpperBound()) - forms.get(loop.getLowerBound());
  bool hasUnitStep = forms.get(loop.getStep()) == 1;
  if (hasUnitStep && forms.getRanges().isCounted(loop) && length != trips) {
    FailureOr<LinearForm> unclamped = toForm(length, depth, true, loop);
    if (failed(unclamped))
      return failure();
    model.clamped[form->terms.begin()->first.number()] = *unclamped;
  }
  info.firstPass = forms.getPass(loop).offset;
  info.atLeast = forms.runsAtLeastOnce(loop);
  for (int64_t least : {1, 2})
    if (forms.isNonNegative(trips - least))
      info.atLeast = least;
  return success();
}

/// Makes a linear form of a number: each monomial becomes an unknown of the
/// model. The number of passes of an inner loop gets a new unknown in each pass
/// of the `depth` outer loops, even where it is always the same. The verifier
/// can then forget the facts about it after the pass.
FailureOr<LinearForm> ProtocolNumbers::toForm(const IndexForm &number,
                                              unsigned depth, bool countsPasses,
                                              Operation *op) {
  LinearForm form;
  for (const auto &[monomial, factor] : number) {
    std::optional<int64_t> coefficient = toSmallInteger(factor);
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
    own = std::max(own, forms.getSymbols().getDepth(monomial));
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
  using Predicate = arith::CmpIPredicate;
  if (hasNegative && predicate >= Predicate::ult)
    return std::nullopt;
  switch (predicate) {
  case Predicate::eq:
    return ProtocolCondition::Equal;
  case Predicate::ne:
    return ProtocolCondition::NotEqual;
  case Predicate::slt:
  case Predicate::ult:
    return ProtocolCondition::Less;
  case Predicate::sle:
  case Predicate::ule:
    return ProtocolCondition::LessEqual;
  case Predicate::sgt:
  case Predicate::ugt:
    return ProtocolCondition::Greater;
  case Predicate::sge:
  case Predicate::uge:
    return ProtocolCondition::GreaterEqual;
  }
  llvm_unreachable("all predicates are above");
}

/// Returns the form that a condition compares with 0, and how. A comparison
/// gives `lhs - rhs`; any other condition asks whether its
/// value is not 0.
std::pair<IndexForm, ProtocolCondition::Predicate>
ProtocolNumbers::getComparison(Value condition) {
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    bool hasNegative = llvm::any_of(compare->getOperands(), [&](Value operand) {
      return forms.getRanges().get(operand).smin().isNegative();
    });
    if (auto predicate = getPredicate(compare.getPredicate(), hasNegative))
      return {forms.get(compare.getLhs()) - forms.get(compare.getRhs()),
              *predicate};
  }
  return {forms.get(condition), ProtocolCondition::NotEqual};
}

/// Moves the term of `form` that counts passes of a loop into the condition's
/// slope. Does nothing if another term depends on the same passes.
void ProtocolNumbers::takeSlope(IndexForm &form, ProtocolCondition &condition) {
  unsigned depth = 0, count = 0;
  for (const auto &[monomial, coefficient] : form) {
    unsigned own = forms.getSymbols().getDepth(monomial);
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
  auto pass = forms.getPass(around);
  std::optional<int64_t> slope =
      toSmallInteger(form.getCoefficient({pass.symbol}));
  if (!slope || *slope == 0)
    return;
  condition.slope = *slope;
  condition.loop = loop;
  form += *slope * (pass.offset - IndexForm::ofSymbol(pass.symbol));
}

/// Turns a comparison of a loop's length into one of its number of passes: with
/// steps of 128, `length > 256` says the same as `passes > 2`.
void ProtocolNumbers::compareTrips(IndexForm &form,
                                   ProtocolCondition &condition) {
  using Condition = ProtocolCondition;
  for (const Span &span : spans)
    for (int sign : {1, -1}) {
      auto rest = toSmallInteger(form - span.length * sign);
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
      } else if (isZero && forms.isNonNegative(span.length)) {
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
      form = span.trips - bound / span.step;
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
  IndexForm form;
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
