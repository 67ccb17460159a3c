//===- SoftmaxMatch.cpp - a softmax in the expression of a number ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxMatch.h"
#include "Polynomial.h"
#include "TensorProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4::attn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Constants that programs compute in two ways are equal up to the rounding of
/// f32.
static bool isNear(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::abs(b);
}

//===----------------------------------------------------------------------===//
// Rows that see no key
//===----------------------------------------------------------------------===//

namespace {
/// `subject` compared with a number: equal to it, or not equal.
struct Equality {
  ElementRef subject = nullptr;
  double number = 0;
  bool isEqual = true;
};
} // namespace

/// An equality with a number that a condition stands for; `x > -inf` is one,
/// too, for all but NaN.
static std::optional<Equality> getEquality(ElementRef condition) {
  if (condition->isa<arith::XOrIOp>() && condition->args[1]->isConstant(1)) {
    std::optional<Equality> inner = getEquality(condition->args[0]);
    if (inner)
      inner->isEqual = !inner->isEqual;
    return inner;
  }
  if (!condition->isa<arith::CmpFOp>())
    return std::nullopt;
  auto attribute =
      condition->attributes.getAs<arith::CmpFPredicateAttr>("predicate");
  Equality equality;
  equality.subject = skipCasts(condition->args[0]);
  std::optional<double> number = condition->args[1]->getConstant();
  if (!number) {
    equality.subject = skipCasts(condition->args[1]);
    number = condition->args[0]->getConstant();
  }
  if (!number || !attribute)
    return std::nullopt;
  equality.number = *number;
  bool isLowest = *number == -kInfinity && condition->args[1]->getConstant();
  bool isHighest = *number == kInfinity && condition->args[1]->getConstant();
  switch (attribute.getValue()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return equality;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    equality.isEqual = false;
    return equality;
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
    equality.isEqual = false;
    return isLowest ? std::optional(equality) : std::nullopt;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    equality.isEqual = false;
    return isHighest ? std::optional(equality) : std::nullopt;
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return isLowest ? std::optional(equality) : std::nullopt;
  default:
    return std::nullopt;
  }
}

namespace {
/// Finds the conditions that hold only for rows that see no key (or whose
/// result is no number anyway).
class RowGuards {
public:
  RowGuards(unsigned key, ElementTracer &tracer, ElementRef scores,
            ElementRef sum)
      : key(key), tracer(tracer), scores(scores), sum(sum) {}

  /// The branch of `select` for rows that see a key, or null.
  ElementRef getOther(ElementRef select) {
    for (unsigned i : {1u, 2u})
      if (select->args[i]->getConstant() &&
          isDead(select->args[0], /*holds=*/i == 1))
        return select->args[3 - i];
    return nullptr;
  }

private:
  /// Whether rows for which the condition is `holds` see no key.
  bool isDead(ElementRef condition, bool holds);
  bool isMaximum(ElementRef element);
  AffineExpr dim() { return getAffineDimExpr(key, tracer.getContext()); }

  unsigned key;
  ElementTracer &tracer;
  ElementRef scores, sum;
};
} // namespace

bool RowGuards::isMaximum(ElementRef element) {
  double init = 0;
  ElementRef reduced = getReduced<arith::MaximumFOp, arith::MaxNumFOp>(
      element, dim(), tracer, init);
  return reduced && isEqual(skipCasts(reduced), skipCasts(scores));
}

bool RowGuards::isDead(ElementRef condition, bool holds) {
  if (condition->isa<arith::XOrIOp>() && condition->args[1]->isConstant(1))
    return isDead(condition->args[0], !holds);
  if (std::optional<Equality> equality = getEquality(condition)) {
    if (equality->isEqual != holds)
      return false;
    ElementRef subject = equality->subject;
    bool isInfinity = std::isinf(equality->number);
    if (isInfinity && subject->isa<math::AbsFOp>())
      subject = skipCasts(subject->args[0]);
    if (sum && equality->number == 0 && isEqual(subject, skipCasts(sum)))
      return true;
    return isInfinity && isMaximum(subject);
  }
  // All scores are -inf, or not one of them is more.
  double init = -1;
  ElementRef reduced = holds ? getReduced<arith::AndIOp, arith::MinUIOp>(
                                   condition, dim(), tracer, init)
                             : getReduced<arith::OrIOp, arith::MaxUIOp>(
                                   condition, dim(), tracer, init);
  if (!reduced || init != (holds ? 1 : 0))
    return false;
  std::optional<Equality> each = getEquality(reduced);
  return each && each->isEqual == holds && each->number == -kInfinity &&
         isEqual(each->subject, skipCasts(scores));
}

ElementRef fa4::attn::skipRowGuards(ElementRef element, unsigned key,
                                    ElementTracer &tracer,
                                    const SoftmaxMatch &match) {
  RowGuards guards(key, tracer, match.scores, match.sum);
  while (true) {
    element = skipCasts(element);
    ElementRef other =
        element->isa<arith::SelectOp>() ? guards.getOther(element) : nullptr;
    if (!other)
      return element;
    element = other;
  }
}

//===----------------------------------------------------------------------===//
// The parts
//===----------------------------------------------------------------------===//

namespace {
/// A product of numbers and of reciprocals, and the selects around it.
struct Quotient {
  SmallVector<ElementRef> numerators, divisors;
  SmallVector<ElementRef> selects;
  double factor = 1;
};

class SoftmaxMatcher {
public:
  SoftmaxMatcher(unsigned key, ElementTracer &tracer, SoftmaxMatch &match,
                 std::string &reason)
      : key(key), tracer(tracer), match(match), reason(reason) {}

  bool run(ElementRef probabilities);
  bool matchSum(ElementRef divisor);

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }
  AffineExpr dim() { return getAffineDimExpr(key, tracer.getContext()); }
  void take(ElementRef element, bool isDivisor, Quotient &quotient);
  bool matchNamed(ElementRef leaf);
  bool matchLogarithm(ElementRef exponential);
  bool matchExp(ElementRef exponential);
  bool matchMaximum(ElementRef scores, ElementRef subtracted);
  ElementRef skipMaximumGuards(ElementRef subtracted, ElementRef scores);

  unsigned key;
  ElementTracer &tracer;
  SoftmaxMatch &match;
  std::string &reason;
};
} // namespace

static bool isExp(ElementRef element) {
  return element->isa<math::ExpOp>() || element->isa<math::Exp2Op>();
}

/// Takes products and quotients apart. A select between a number and zero is
/// that number, if it turns out to guard a row.
void SoftmaxMatcher::take(ElementRef element, bool isDivisor,
                          Quotient &quotient) {
  element = skipCasts(element);
  if (std::optional<double> number = element->getConstant()) {
    quotient.factor *= isDivisor ? 1 / *number : *number;
  } else if (element->isa<arith::MulFOp>() || element->isa<arith::DivFOp>()) {
    take(element->args[0], isDivisor, quotient);
    take(element->args[1], isDivisor != element->isa<arith::DivFOp>(),
         quotient);
  } else if (element->isa<arith::SelectOp>() && !isDivisor &&
             (element->args[1]->isConstant(0) ||
              element->args[2]->isConstant(0))) {
    quotient.selects.push_back(element);
    take(element->args[element->args[1]->isConstant(0) ? 2 : 1], isDivisor,
         quotient);
  } else {
    (isDivisor ? quotient.divisors : quotient.numerators).push_back(element);
  }
}

/// The maximum that `subtracted` is for rows that see a key.
ElementRef SoftmaxMatcher::skipMaximumGuards(ElementRef subtracted,
                                             ElementRef scores) {
  RowGuards guards(key, tracer, scores, nullptr);
  while (true) {
    subtracted = skipCasts(subtracted);
    ElementRef inner = nullptr;
    if (subtracted->isa<arith::SelectOp>())
      inner = guards.getOther(subtracted);
    // The lowest number of f16 is the highest of these that are in use.
    else if (subtracted->isa<arith::MaximumFOp>() ||
             subtracted->isa<arith::MaxNumFOp>())
      for (unsigned i : {0u, 1u})
        if (std::optional<double> number = subtracted->args[i]->getConstant();
            number && *number <= -65504)
          inner = subtracted->args[1 - i];
    if (!inner)
      return subtracted;
    subtracted = inner;
  }
}

/// `subtracted` is the maximum of `scores` over the keys.
bool SoftmaxMatcher::matchMaximum(ElementRef scores, ElementRef subtracted) {
  double init = 0;
  ElementRef reduced = getReduced<arith::MaximumFOp, arith::MaxNumFOp>(
      skipMaximumGuards(subtracted, scores), dim(), tracer, init);
  if (!reduced)
    return fail("what is subtracted from the scores is not their maximum "
                "over the keys");
  if (!isEqual(skipCasts(reduced), skipCasts(scores)))
    return fail("the maximum that is subtracted is one of other numbers than "
                "the scores");
  if (!(init <= -65504))
    return fail(llvm::formatv("the maximum begins with {0}, which may be more "
                              "than a score",
                              init));
  return true;
}

bool SoftmaxMatcher::matchExp(ElementRef exponential) {
  match.exponential = exponential;
  auto [difference, factor] = splitFactor(exponential->args[0]);
  if (exponential->isa<math::Exp2Op>())
    factor *= std::log(2.0);
  if (!difference->isa<arith::SubFOp>())
    return fail("no row maximum is subtracted from the scores, so that they "
                "may overflow where attn.sdpa does not");
  ElementRef scores = difference->args[0], subtracted = difference->args[1];
  // The maximum may be of scores to which a factor comes only here.
  auto [inner, innerFactor] = splitFactor(scores);
  auto [maximum, maximumFactor] = splitFactor(subtracted);
  if (!matchMaximum(scores, subtracted)) {
    if (innerFactor <= 0 || !isNear(innerFactor, maximumFactor) ||
        innerFactor == 1)
      return false;
    std::string why = reason;
    if (!matchMaximum(inner, maximum)) {
      reason = why;
      return false;
    }
  }
  if (factor <= 0)
    return fail("the scores have a negative factor in the exponential");
  Type type = scores->type;
  match.scores = isNear(factor, 1)
                     ? scores
                     : tracer.apply<arith::MulFOp>(
                           type, {scores, tracer.constant(type, factor)});
  return true;
}

bool SoftmaxMatcher::matchSum(ElementRef divisor) {
  while (true) {
    divisor = skipRowGuards(divisor, key, tracer, match);
    ElementRef inner = nullptr;
    // The largest of the exponentials is 1, and so the sum is at least that.
    if (divisor->isa<arith::MaximumFOp>() || divisor->isa<arith::MaxNumFOp>())
      for (unsigned i : {0u, 1u})
        if (std::optional<double> number = divisor->args[i]->getConstant();
            number && *number <= 1)
          inner = divisor->args[1 - i];
    if (divisor->isa<arith::SelectOp>())
      for (unsigned i : {1u, 2u})
        if (std::optional<Equality> equality = getEquality(divisor->args[0]);
            equality && equality->number == 0 &&
            equality->isEqual == (i == 1) && divisor->args[i]->getConstant() &&
            isEqual(equality->subject, skipCasts(divisor->args[3 - i])))
          inner = divisor->args[3 - i];
    if (!inner)
      break;
    divisor = inner;
  }
  double init = -1;
  ElementRef reduced = getReduced<arith::AddFOp>(divisor, dim(), tracer, init);
  if (!reduced || init != 0)
    return fail("what the exponentials are divided by is not their sum over "
                "the keys");
  if (!isEqual(skipCasts(reduced), match.exponential))
    return fail("the sum that is divided by is one of other numbers than the "
                "exponentials");
  match.sum = divisor;
  return true;
}

/// exp(s - (m + log l)) is exp(s - m) / l.
bool SoftmaxMatcher::matchLogarithm(ElementRef exponential) {
  if (!exponential->isa<math::ExpOp>())
    return false;
  PolynomialMaker maker;
  Polynomial own = maker.make(exponential->args[0]);
  for (const auto &[monomial, number] : own.terms) {
    if (number != -1 || monomial.size() != 1 || monomial[0].second != 1)
      continue;
    ElementRef logarithm = maker.getElement(monomial[0].first);
    if (!logarithm || !logarithm->isa<math::LogOp>())
      continue;
    double init = -1;
    ElementRef sum = skipCasts(logarithm->args[0]);
    ElementRef reduced = getReduced<arith::AddFOp>(sum, dim(), tracer, init);
    if (!reduced || init != 0 || !skipCasts(reduced)->isa<math::ExpOp>())
      continue;
    Polynomial rest = own;
    rest.add(Polynomial::atom(monomial[0].first));
    rest.add(maker.make(skipCasts(reduced)->args[0]), -1);
    if (!rest.terms.empty() || !matchExp(skipCasts(reduced)))
      continue;
    match.sum = sum;
    return true;
  }
  return false;
}

bool SoftmaxMatcher::matchNamed(ElementRef leaf) {
  auto softmax = leaf->value.getDefiningOp<linalg::SoftmaxOp>();
  if (!softmax || !softmax.hasPureTensorSemantics())
    return fail("what is multiplied with the values is no softmax");
  if (leaf->indices[softmax.getDimension()] != dim())
    return fail("the softmax is not over the keys");
  match.scores = tracer.trace(softmax.getInput(), leaf->indices);
  match.softmax = leaf;
  return true;
}

bool SoftmaxMatcher::run(ElementRef probabilities) {
  Quotient quotient;
  take(probabilities, /*isDivisor=*/false, quotient);
  SmallVector<ElementRef> &numerators = quotient.numerators;
  auto isSoftmax = [](ElementRef element) {
    return isExp(element) ||
           (element->kind == Element::Leaf &&
            element->value.getDefiningOp<linalg::SoftmaxOp>());
  };
  auto *found = llvm::find_if(numerators, isSoftmax);
  // Other exponentials, as those of a SiLU, have nothing to do with rows.
  auto isReduced = [&](ElementRef element) {
    auto op = element->kind == Element::Leaf
                  ? element->value.getDefiningOp<linalg::LinalgOp>()
                  : linalg::LinalgOp();
    return op && op.getNumReductionLoops() != 0 && !isProduct(element, tracer);
  };
  if (found == numerators.end())
    return contains(probabilities, isReduced) &&
           fail("what is multiplied with the values is no softmax");
  ElementRef numerator = *found;
  numerators.erase(found);
  if (isExp(numerator) && quotient.divisors.empty() &&
      matchLogarithm(numerator))
    quotient.divisors.clear();
  else if (!isExp(numerator) ? !matchNamed(numerator) : !matchExp(numerator))
    return false;
  if (!numerators.empty() || !isNear(quotient.factor, 1))
    return fail("the probabilities are multiplied with something else, too, "
                "before they meet the values");
  if (quotient.divisors.size() > (match.softmax || match.sum ? 0 : 1))
    return fail("the exponentials are divided by more than their sum");
  if (!quotient.divisors.empty() && !matchSum(quotient.divisors.front()))
    return false;
  RowGuards guards(key, tracer, match.scores, match.sum);
  for (ElementRef select : quotient.selects)
    if (!guards.getOther(select))
      return fail("some of the probabilities are replaced by zeros");
  return true;
}

bool fa4::attn::matchSoftmax(ElementRef probabilities, unsigned key,
                             ElementTracer &tracer, SoftmaxMatch &match,
                             std::string &reason) {
  return SoftmaxMatcher(key, tracer, match, reason).run(probabilities);
}

bool fa4::attn::matchDivisor(ElementRef divisor, unsigned key,
                             ElementTracer &tracer, SoftmaxMatch &match,
                             std::string &reason) {
  return SoftmaxMatcher(key, tracer, match, reason).matchSum(divisor);
}
