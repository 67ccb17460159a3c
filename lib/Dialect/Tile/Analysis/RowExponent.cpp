//===- RowExponent.cpp - exponents relative to a maximum of their row ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowExponent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa4::tile;

Value fa4::tile::getRowFactors(Value matrix) {
  auto broadcast = matrix.getDefiningOp<vector::BroadcastOp>();
  if (!broadcast)
    return {};
  auto cast = broadcast.getSource().getDefiningOp<vector::ShapeCastOp>();
  auto type = cast ? cast.getResultVectorType() : VectorType();
  if (!cast || cast.getSourceVectorType().getRank() != 1 ||
      type.getRank() != 2 || type.getDimSize(1) != 1)
    return {};
  return cast.getSource();
}

std::optional<APFloat> fa4::tile::getSplat(Value value) {
  SplatElementsAttr splat;
  if (!value || !matchPattern(value, m_Constant(&splat)) ||
      !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>();
}

static std::optional<double> getNumber(Value value) {
  std::optional<APFloat> splat = getSplat(value);
  if (!splat || !splat->isFinite())
    return std::nullopt;
  return splat->convertToDouble();
}

/// The search for a form goes so many operations deep. Each operation has two
/// operands, so the work is at most 2^kDepth.
static constexpr unsigned kDepth = 8;

//===----------------------------------------------------------------------===//
// Sums of values times numbers
//===----------------------------------------------------------------------===//

namespace {
struct LinearForm {
  llvm::SmallMapVector<Value, double, 4> terms;
  double offset = 0;

  /// Adds `factor` times `value`.
  void add(Value value, double factor, unsigned depth);
};
} // namespace

/// Returns the other operand and the constant of a product with a constant.
static std::optional<std::pair<Value, double>> splitProduct(Operation *op) {
  for (unsigned i = 0; i < 2; ++i)
    if (std::optional<double> number = getNumber(op->getOperand(1 - i)))
      return std::pair(op->getOperand(i), *number);
  return std::nullopt;
}

void LinearForm::add(Value value, double factor, unsigned depth) {
  if (std::optional<double> number = getNumber(value)) {
    offset += factor * *number;
    return;
  }
  if (Value rows = getRowFactors(value))
    return add(rows, factor, depth);
  Operation *op = depth ? value.getDefiningOp() : nullptr;
  if (isa_and_present<arith::AddFOp, arith::SubFOp>(op)) {
    add(op->getOperand(0), factor, depth - 1);
    return add(op->getOperand(1), isa<arith::SubFOp>(op) ? -factor : factor,
               depth - 1);
  }
  if (isa_and_present<arith::NegFOp>(op))
    return add(op->getOperand(0), -factor, depth - 1);
  if (isa_and_present<arith::MulFOp, math::FmaOp>(op))
    if (auto product = splitProduct(op)) {
      add(product->first, factor * product->second, depth - 1);
      if (isa<math::FmaOp>(op))
        add(op->getOperand(2), factor, depth - 1);
      return;
    }
  terms[value] += factor;
}

/// Returns true for max(min(x, 1), y) and min(x, 1), where x is not negative
/// and y is from 0 to 1. Some bits of the result may be masked away.
static bool isPartOfOne(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto number = dyn_cast_if_present<arith::BitcastOp>(op))
    if (auto bits = number.getIn().getDefiningOp<arith::AndIOp>())
      if (auto of = bits.getLhs().getDefiningOp<arith::BitcastOp>())
        return of.getIn().getType() == number.getType() &&
               isPartOfOne(of.getIn());
  if (auto max = dyn_cast_if_present<arith::MaximumFOp>(op)) {
    std::optional<double> least = getNumber(max.getRhs());
    return least && *least >= 0 && *least <= 1 && isPartOfOne(max.getLhs());
  }
  auto min = dyn_cast_if_present<arith::MinimumFOp>(op);
  auto quotient =
      min ? min.getLhs().getDefiningOp<arith::DivFOp>() : arith::DivFOp();
  if (!quotient || getNumber(min.getRhs()) != 1.0)
    return false;
  std::optional<double> dividend = getNumber(quotient.getLhs());
  return dividend && *dividend >= 0 &&
         isa_and_present<math::AbsFOp>(quotient.getRhs().getDefiningOp());
}

/// Matches `fma(scores, c * t, reference * t)`, where each row has a number t
/// from 0 to 1. Returns c and the reference.
static std::optional<std::pair<double, Value>> matchScaledDown(math::FmaOp op) {
  Value factors = getRowFactors(op.getB()), shifts = getRowFactors(op.getC());
  auto factor = factors ? factors.getDefiningOp<arith::MulFOp>() : nullptr;
  auto shift = shifts ? shifts.getDefiningOp<arith::MulFOp>() : nullptr;
  auto product = factor ? splitProduct(factor) : std::nullopt;
  if (!shift || !product || !isPartOfOne(product->first))
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i)
    if (shift->getOperand(i) == product->first)
      return std::pair(product->second, shift->getOperand(1 - i));
  return std::nullopt;
}

std::optional<RowExponent> fa4::tile::matchRowExponent(Value value) {
  LinearForm form;
  auto fma = value.getDefiningOp<math::FmaOp>();
  auto scaledDown = fma ? matchScaledDown(fma) : std::nullopt;
  if (scaledDown) {
    form.add(fma.getA(), scaledDown->first, kDepth);
    form.add(scaledDown->second, 1, kDepth);
  } else {
    form.add(value, 1, kDepth);
  }
  if (form.terms.size() != 2)
    return std::nullopt;
  auto scores = form.terms.front(), reference = form.terms.back();
  if (scores.second < 0)
    std::swap(scores, reference);
  if (!(scores.second > 0 && reference.second < 0) ||
      cast<VectorType>(reference.first.getType()).getRank() != 1)
    return std::nullopt;
  return RowExponent{scores.first,      scores.second, reference.first,
                     -reference.second, form.offset,   scaledDown.has_value()};
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

using Slack = std::optional<double>;

static Slack slackOf(Value reference, Value scores, double factor,
                     unsigned depth);

static bool isMaximum(vector::CombiningKind kind) {
  return kind == vector::CombiningKind::MAXNUMF ||
         kind == vector::CombiningKind::MAXIMUMF;
}

/// Returns the slack of `chosen` as the operand of a select, which takes it
/// only where `condition` holds.
static Slack slackWhere(Value condition, Value chosen, Value scores,
                        double factor, unsigned depth) {
  Slack slack = slackOf(chosen, scores, factor, depth);
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (slack || !compare)
    return slack;
  // The constant is chosen where y < bound or y = -inf. There the scores are
  // low as well, so a constant serves as reference.
  std::optional<double> constant = getNumber(chosen);
  std::optional<APFloat> bound = getSplat(compare.getRhs());
  arith::CmpFPredicate predicate = compare.getPredicate();
  bool isBelow = predicate == arith::CmpFPredicate::OLT ||
                 predicate == arith::CmpFPredicate::OLE ||
                 predicate == arith::CmpFPredicate::OEQ;
  if (constant && bound && !bound->isNaN() && isBelow)
    if (Slack low = slackOf(compare.getLhs(), scores, factor, depth))
      return *low + bound->convertToDouble() - *constant;
  // (y - chosen) * k <= threshold: `chosen` is at most threshold / k below y.
  if (bound && bound->isFinite() &&
      (predicate == arith::CmpFPredicate::OLT ||
       predicate == arith::CmpFPredicate::OLE)) {
    LinearForm grown;
    grown.add(compare.getLhs(), 1, depth);
    double k = -grown.terms.lookup(chosen);
    grown.terms.erase(chosen);
    if (k > 0 && grown.terms.size() == 1 && grown.terms.front().second == k)
      if (Slack high =
              slackOf(grown.terms.front().first, scores, factor, depth))
        return *high + (bound->convertToDouble() - grown.offset) / k;
  }
  return std::nullopt;
}

static Slack slackOf(Value reference, Value scores, double factor,
                     unsigned depth) {
  if (reference == scores && factor == 1)
    return 0.0;
  Operation *op = depth-- ? reference.getDefiningOp() : nullptr;
  if (auto reduction = dyn_cast_if_present<vector::MultiDimReductionOp>(op)) {
    if (isMaximum(reduction.getKind()) && reduction.getSource() == scores &&
        factor == 1)
      return 0.0;
    return std::nullopt;
  }
  if (isa_and_present<arith::MulFOp>(op)) {
    auto product = splitProduct(op);
    if (!product || product->second <= 0)
      return std::nullopt;
    Slack slack =
        slackOf(product->first, scores, factor / product->second, depth);
    return slack ? Slack(*slack * product->second) : slack;
  }
  if (isa_and_present<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    Slack x = slackOf(op->getOperand(0), scores, factor, depth);
    Slack y = slackOf(op->getOperand(1), scores, factor, depth);
    return x && y ? std::min(*x, *y) : x ? x : y;
  }
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    Slack x = slackWhere(select.getCondition(), select.getTrueValue(), scores,
                         factor, depth);
    Slack y = slackOf(select.getFalseValue(), scores, factor, depth);
    return x && y ? Slack(std::max(*x, *y)) : Slack();
  }
  return std::nullopt;
}

Slack fa4::tile::getSlack(Value reference, Value scores, double factor) {
  return slackOf(reference, scores, factor, kDepth);
}

std::optional<double> fa4::tile::getExponentBound(Value exponent) {
  std::optional<RowExponent> form = matchRowExponent(exponent);
  if (!form)
    return std::nullopt;
  Slack slack = getSlack(form->reference, form->scores,
                         form->scale / form->referenceScale);
  if (!slack)
    return std::nullopt;
  double bound = *slack * form->referenceScale + form->offset;
  return form->isScaledDown ? std::max(bound, 0.0) : bound;
}
