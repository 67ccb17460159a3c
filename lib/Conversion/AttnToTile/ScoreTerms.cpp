//===- ScoreTerms.cpp - score_mods that add to a multiple of the score ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTerms.h"
#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "ExpandMath.h"
#include "PositionForms.h"
#include "ScoreDerivative.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// A sum of more terms is left as it is: where values are shared, the number of
/// terms is exponential in that of the operations.
static constexpr unsigned kMostVisits = 64;

namespace {
/// Finds the form of a region.
class LinearScoreFinder {
public:
  explicit LinearScoreFinder(Region &region)
      : score(region.getArgument(0)), ofScore(dependents(region, 0)),
        ofQuery(dependents(region, 1 + kQuery)),
        ofKey(dependents(region, 1 + kKey)) {}

  std::optional<LinearScore> find(Value result);

private:
  using Values = llvm::SmallPtrSet<Value, 16>;
  /// What a value is multiplied by.
  struct Product {
    double coefficient = 1;
    SmallVector<Value, 1> weights;
  };
  /// The integers from `low` to `high`.
  struct Interval {
    int64_t low, high;
  };

  static Values dependents(Region &region, unsigned argument) {
    return findDependents(region, region.getArgument(argument));
  }
  bool isUniform(Value value) const {
    return !ofScore.contains(value) && !ofQuery.contains(value) &&
           !ofKey.contains(value);
  }
  bool add(Value value, Product product);
  bool addProduct(Value x, Value y, Product product);
  std::optional<bool> addOperation(Operation *op, const Product &product);
  void addTerm(Value number, const Product &product);
  bool isSeparable(Value number);
  std::optional<Interval> getInterval(Value integer);
  std::optional<Interval> computeInterval(Value integer);

  Value score;
  const Values ofScore, ofQuery, ofKey;
  LinearScore linear;
  unsigned visits = 0;
};
} // namespace

/// Returns the range of an integer that is linear in the positions, if it holds
/// for all positions and the integer does not wrap around.
std::optional<LinearScoreFinder::Interval>
LinearScoreFinder::getInterval(Value integer) {
  std::optional<Interval> found = computeInterval(integer);
  if (!found || std::max(-found->low, found->high) >= kIndexEnd)
    return std::nullopt;
  return found;
}

std::optional<LinearScoreFinder::Interval>
LinearScoreFinder::computeInterval(Value integer) {
  Type type = integer.getType();
  if (!type.isIndex() && type.getIntOrFloatBitWidth() < kIndexBits)
    return std::nullopt;
  if (APInt constant; matchPattern(integer, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > kIndexBits)
      return std::nullopt;
    return Interval{constant.getSExtValue(), constant.getSExtValue()};
  }
  if (auto argument = dyn_cast<BlockArgument>(integer)) {
    if (argument.getArgNumber() >= kNumScoreModArgs)
      return std::nullopt;
    return Interval{0, kPositionEnd - 1};
  }
  Operation *op = integer.getDefiningOp();
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return getInterval(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Interval> x = getInterval(op->getOperand(0)),
                          y = getInterval(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Interval{x->low + y->low, x->high + y->high};
  if (isa<arith::SubIOp>(op))
    return Interval{x->low - y->high, x->high - y->low};
  if (x->low == x->high)
    std::swap(x, y);
  if (y->low != y->high)
    return std::nullopt;
  int64_t ends[] = {x->low * y->low, x->high * y->low};
  return Interval{std::min(ends[0], ends[1]), std::max(ends[0], ends[1])};
}

bool LinearScoreFinder::isSeparable(Value number) {
  if (!ofQuery.contains(number))
    return true;
  auto convert = number.getDefiningOp<arith::SIToFPOp>();
  return convert && getInterval(convert.getIn());
}

void LinearScoreFinder::addTerm(Value number, const Product &product) {
  linear.terms.push_back({number, product.weights, product.coefficient,
                          ofQuery.contains(number), isSeparable(number)});
}

/// Returns a number that is finite and not 0, if `value` is one.
static std::optional<double> getFactor(Value value) {
  APFloat number(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&number)) || !number.isFinite() ||
      number.isZero())
    return std::nullopt;
  return number.convertToDouble();
}

bool LinearScoreFinder::addProduct(Value x, Value y, Product product) {
  if (isUniform(x))
    std::swap(x, y);
  if (std::optional<double> factor = getFactor(y)) {
    product.coefficient *= *factor;
    return add(x, product);
  }
  if (!isUniform(y) || ofScore.contains(x))
    return false;
  product.weights.push_back(y);
  return add(x, product);
}

/// Adds the operation's result if the operation is linear. Returns false if the
/// score is in it otherwise, and nothing if the operation is not linear.
std::optional<bool> LinearScoreFinder::addOperation(Operation *op,
                                                    const Product &product) {
  Product negated = product;
  negated.coefficient = -product.coefficient;
  if (isa<arith::AddFOp>(op))
    return add(op->getOperand(0), product) && add(op->getOperand(1), product);
  if (isa<arith::SubFOp>(op))
    return add(op->getOperand(0), product) && add(op->getOperand(1), negated);
  if (isa<arith::NegFOp>(op))
    return add(op->getOperand(0), negated);
  bool isProduct =
      isa<arith::MulFOp, math::FmaOp>(op) &&
      (isUniform(op->getOperand(0)) || isUniform(op->getOperand(1)));
  if (isProduct)
    return addProduct(op->getOperand(0), op->getOperand(1), product) &&
           (op->getNumOperands() == 2 || add(op->getOperand(2), product));
  if (auto divide = dyn_cast<arith::DivFOp>(op))
    if (std::optional<double> divisor = getFactor(divide.getRhs())) {
      Product quotient = product;
      quotient.coefficient /= *divisor;
      return add(divide.getLhs(), quotient);
    }
  return std::nullopt;
}

/// Adds `value` times `product` to the sum. Returns false if that is not
/// linear in the score.
bool LinearScoreFinder::add(Value value, Product product) {
  if (++visits > kMostVisits)
    return false;
  if (value == score) {
    linear.factor += product.coefficient;
    return product.weights.empty();
  }
  bool isOfScore = ofScore.contains(value);
  Operation *op = value.getDefiningOp();
  // A sum that is a number of the key is as good as its parts.
  bool isSum = isa_and_nonnull<arith::AddFOp, arith::SubFOp, math::FmaOp>(op);
  if (op && (isOfScore || ofQuery.contains(value) || !isSum))
    if (std::optional<bool> added = addOperation(op, product))
      return *added;
  if (isOfScore)
    return false;
  addTerm(value, product);
  return true;
}

std::optional<LinearScore> LinearScoreFinder::find(Value result) {
  if (!add(result, {}) || linear.factor == 0 || !std::isfinite(linear.factor))
    return std::nullopt;
  return linear;
}

std::optional<LinearScore> fa4::findLinearScore(Region &scoreMod) {
  if (scoreMod.empty())
    return std::nullopt;
  return LinearScoreFinder(scoreMod).find(
      scoreMod.front().getTerminator()->getOperand(0));
}

bool fa4::movesRows(Region &scoreMod) {
  std::optional<LinearScore> linear = findLinearScore(scoreMod);
  return linear && linear->hasTerm(fa4::movesRows);
}

ScoreTerms::ScoreTerms(Region &scoreMod, const LinearScore &linear)
    : region(std::make_unique<Region>()), score(linear) {
  IRMapping mapping;
  scoreMod.cloneInto(region.get(), mapping);
  SmallVector<Value *> tracked;
  for (ScoreTerm &term : score.terms) {
    tracked.push_back(&term.number);
    for (Value &weight : term.weights)
      tracked.push_back(&weight);
  }
  for (Value *value : tracked)
    *value = mapping.lookup(*value);
  region->front().getTerminator()->erase();
  expandMath(*region, tracked);
}

bool ScoreTerms::isFinite() const {
  return llvm::all_of(score.terms, [](const ScoreTerm &term) {
    return term.isSeparable || mayOnlyBeFinite(term.number);
  });
}

std::unique_ptr<ScoreTerms> fa4::findScoreTerms(Region &scoreMod) {
  std::optional<LinearScore> linear = findLinearScore(scoreMod);
  return linear ? std::make_unique<ScoreTerms>(scoreMod, *linear) : nullptr;
}

/// Returns the constant by which `op` multiplies, and the other operand; no
/// operand if `op` is no such product.
static ScoreProduct matchProduct(Operation *op) {
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return {};
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isa<arith::MulFOp>(op) && getFactor(x))
    std::swap(x, y);
  std::optional<double> factor = getFactor(y);
  if (!factor)
    return {};
  return {x, isa<arith::MulFOp>(op) ? *factor : 1 / *factor};
}

ScoreProduct fa4::findScoreProduct(Region &scoreMod) {
  ScoreProduct result = {scoreMod.front().getTerminator()->getOperand(0)};
  ScoreProduct last = matchProduct(result.number.getDefiningOp());
  if (last.number && last.factor > 0 && isNormalScale(last.factor * kLog2E))
    result = last;
  return result;
}

void fa4::foldScoreFactor(AttentionOpInterface op) {
  Region &region = op.getScoreMod();
  if (region.empty() || region.getArgument(0).use_empty())
    return;
  Value score = region.getArgument(0);
  std::optional<double> factor;
  for (Operation *user : score.getUsers()) {
    ScoreProduct product = matchProduct(user);
    if (product.number != score ||
        product.factor != factor.value_or(product.factor))
      return;
    factor = product.factor;
  }
  double scale = getScale(op) * *factor;
  if (!isNormalScale(std::abs(scale)))
    return;
  op->setAttr("scale",
              FloatAttr::get(Float32Type::get(op.getContext()), scale));
  for (Operation *user : llvm::to_vector(score.getUsers())) {
    user->getResult(0).replaceAllUsesWith(score);
    user->erase();
  }
}
