//===- ReferenceAnalysis.cpp - what depends on an online reference ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ReferenceAnalysis.h"
#include "fa4/Dialect/Tile/Analysis/RowExponent.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

void ReferenceAnalysis::set(Value value, std::optional<Dependence> dependence) {
  dependences.erase(value);
  if (dependence)
    dependences.try_emplace(value, *dependence);
}

std::optional<Dependence> ReferenceAnalysis::get(Value value) const {
  auto found = dependences.find(value);
  if (found == dependences.end())
    return std::nullopt;
  return found->second;
}

static bool isLog(const Dependence &x) {
  return x.kind == Dependence::Log || x.kind == Dependence::ScaledLog;
}

/// Builds a dependence. A degree of 0 means that the value does not depend on
/// the reference.
static std::optional<Dependence> make(Dependence::Kind kind, int degree) {
  if (degree == 0)
    return std::nullopt;
  return Dependence{kind, degree};
}

/// Returns true if a change of the reference leaves the value as it is: 0 times
/// any factor is 0, and an infinity plus any number is an infinity.
static bool isFixedPoint(Value value, const Dependence &of) {
  std::optional<APFloat> splat = getSplat(value);
  return splat && ((of.kind == Dependence::Linear && splat->isZero()) ||
                   (isLog(of) && splat->isInfinity()));
}

ReferenceAnalysis::Result ReferenceAnalysis::multiply(Value x, Value y) const {
  std::optional<Dependence> dx = get(x), dy = get(y);
  if (!dx && !dy)
    return Result(std::optional<Dependence>());
  if (!dx) {
    std::swap(x, y);
    std::swap(dx, dy);
  }
  // The dependence of a product is that of its factors other than a Range.
  if (dx->kind == Dependence::Range && dy)
    return dy;
  if (dx->kind == Dependence::Range)
    return dx;
  if (dy && dy->kind == Dependence::Range)
    return dx;
  if (dy) {
    if ((dx->kind == Dependence::OldSum && dy->kind == Dependence::Factor) ||
        (dx->kind == Dependence::Factor && dy->kind == Dependence::OldSum))
      return make(Dependence::Linear, 1);
    if (dx->kind != Dependence::Linear || dy->kind != Dependence::Linear)
      return std::nullopt;
    return make(Dependence::Linear, dx->degree + dy->degree);
  }
  if (dx->kind == Dependence::Linear)
    return dx;
  std::optional<APFloat> constant = getSplat(y);
  if (dx->kind != Dependence::Log || !constant)
    return std::nullopt;
  if (constant->bitwiseIsEqual(scale))
    return make(Dependence::ScaledLog, dx->degree);
  if (constant->bitwiseIsEqual(neg(scale)))
    return make(Dependence::ScaledLog, -dx->degree);
  return std::nullopt;
}

ReferenceAnalysis::Result ReferenceAnalysis::add(std::optional<Dependence> x,
                                                 std::optional<Dependence> y,
                                                 Value xValue, Value yValue,
                                                 bool subtract) const {
  if (!x && !y)
    return Result(std::optional<Dependence>());
  // Both terms of an exponent are brought into range by the same factor.
  if (x && y && x->kind == Dependence::Range && isLog(*y))
    return add(std::nullopt, y, xValue, yValue, subtract);
  Dependence::Kind kind = x ? x->kind : y->kind;
  if (x && y && x->kind != y->kind)
    return std::nullopt;
  int sign = subtract ? -1 : 1;
  if (kind == Dependence::Log || kind == Dependence::ScaledLog)
    return make(kind, (x ? x->degree : 0) + sign * (y ? y->degree : 0));
  if (kind != Dependence::Linear)
    return std::nullopt;
  if (x && y && x->degree != y->degree)
    return std::nullopt;
  if (!x && !isFixedPoint(xValue, *y))
    return std::nullopt;
  if (!y && !isFixedPoint(yValue, *x))
    return std::nullopt;
  return x ? x : y;
}

/// Returns the dependence of a value that is either `x` or `y`.
ReferenceAnalysis::Result ReferenceAnalysis::merge(Value x, Value y) const {
  std::optional<Dependence> dx = get(x), dy = get(y);
  if (!dx && !dy)
    return Result(std::optional<Dependence>());
  if (dx && dy) {
    if (dx->kind != dy->kind || dx->degree != dy->degree)
      return std::nullopt;
    return dx;
  }
  if (!isFixedPoint(dx ? y : x, dx ? *dx : *dy))
    return std::nullopt;
  return dx ? dx : dy;
}

/// Returns true if row r of the result is made of row r of the operand. Each
/// row has its own reference, so other operations lose it.
static bool keepsRows(Operation *op) {
  auto from = dyn_cast<VectorType>(op->getOperand(0).getType());
  auto to = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!from || !to || from.getDimSize(0) != to.getDimSize(0))
    return false;
  // A broadcast vector becomes the columns of the result, so a change of rank
  // mixes rows.
  return isa<vector::ShapeCastOp>(op) || from.getRank() == to.getRank();
}

ReferenceAnalysis::Result ReferenceAnalysis::select(Value condition, Value x,
                                                    Value y) const {
  if (!get(condition))
    return merge(x, y);
  std::optional<APFloat> other = getSplat(y);
  if (get(condition)->kind != Dependence::InRange || !other || !other->isNaN())
    return std::nullopt;
  return get(x);
}

/// The least bound of a Magnitude, in units of exponents. Two references differ
/// by less than 2^7, the largest threshold of tile-lazy-rescale. Relative to
/// this bound, their difference is no more than a rounding in the types that
/// scores come from.
static constexpr double kLeastBound = 0x1p20;

bool ReferenceAnalysis::isLarge(const APFloat &bound) const {
  return bound.convertToDouble() * std::min(scale.convertToDouble(), 1.0) >=
         kLeastBound;
}

/// Returns the dependence of the smaller or larger of a Range and a constant of
/// at most 1.
ReferenceAnalysis::Result ReferenceAnalysis::limit(Value x, Value y) const {
  std::optional<Dependence> range = get(x) ? get(x) : get(y);
  std::optional<APFloat> constant = getSplat(get(x) ? y : x);
  if (range->kind != Dependence::Range || !constant ||
      constant->convertToDouble() > 1 || constant->convertToDouble() <= 0)
    return std::nullopt;
  return range;
}

ReferenceAnalysis::Result ReferenceAnalysis::compare(arith::CmpFOp op) const {
  using Predicate = arith::CmpFPredicate;
  std::optional<Dependence> x = get(op.getLhs());
  if (!x)
    return std::nullopt;
  bool isUpperBound = op.getPredicate() == Predicate::OLE ||
                      op.getPredicate() == Predicate::OLT;
  std::optional<APFloat> bound = getSplat(op.getRhs());
  if (x->kind == Dependence::Magnitude && isUpperBound && bound &&
      isLarge(*bound))
    return make(Dependence::InRange, 1);
  if (!isFixedPoint(op.getRhs(), *x))
    return std::nullopt;
  return std::optional<Dependence>();
}

ReferenceAnalysis::Result ReferenceAnalysis::divide(Value xValue,
                                                    Value yValue) const {
  std::optional<Dependence> x = get(xValue), y = get(yValue);
  std::optional<APFloat> bound = getSplat(xValue);
  if (!x && y && y->kind == Dependence::Magnitude && bound && isLarge(*bound))
    return make(Dependence::Range, 1);
  if ((x && x->kind != Dependence::Linear) ||
      (y && y->kind != Dependence::Linear))
    return std::nullopt;
  return make(Dependence::Linear, (x ? x->degree : 0) - (y ? y->degree : 0));
}

/// Returns the dependence of the sum of each row.
ReferenceAnalysis::Result
ReferenceAnalysis::reduce(vector::MultiDimReductionOp op) const {
  std::optional<Dependence> x = get(op.getSource());
  if (op.getKind() != vector::CombiningKind::ADD ||
      llvm::is_contained(op.getReductionDims(), 0) ||
      (x && x->kind != Dependence::Linear))
    return std::nullopt;
  return add(x, get(op.getAcc()), Value(), op.getAcc(), /*subtract=*/false);
}

/// The terms of one sum must have the same reference. If an MMA sums over rows,
/// they are relative to different row maxima: this is so if A is transposed, or
/// if B has a reference.
ReferenceAnalysis::Result ReferenceAnalysis::accumulate(MmaOp op) const {
  if (get(op.getB()) || (get(op.getA()) && op.getTransposeA()))
    return std::nullopt;
  Result product = multiply(op.getA(), op.getB());
  if (!op.getAcc() || !product)
    return product;
  if (*product && (*product)->kind != Dependence::Linear)
    return std::nullopt;
  return add(*product, get(op.getAcc()), Value(), op.getAcc(),
             /*subtract=*/false);
}

ReferenceAnalysis::Result ReferenceAnalysis::combine(Operation *op) const {
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  auto sum = [&](Result x, Value yValue, bool subtract,
                 Value xValue) -> Result {
    if (!x)
      return std::nullopt;
    return add(*x, get(yValue), xValue, yValue, subtract);
  };
  using Case = Result;
  auto invert = [&](Dependence::Kind from, Dependence::Kind to) -> Result {
    std::optional<Dependence> x = get(operand(0));
    return x->kind == from ? make(to, -x->degree) : Case();
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::MulFOp) { return multiply(operand(0), operand(1)); })
      .Case<arith::AddFOp, arith::SubFOp>([&](auto) {
        return sum(get(operand(0)), operand(1), isa<arith::SubFOp>(op),
                   operand(0));
      })
      .Case([&](math::FmaOp) {
        return sum(multiply(operand(0), operand(1)), operand(2), false,
                   Value());
      })
      .Case([&](arith::DivFOp) { return divide(operand(0), operand(1)); })
      .Case([&](math::Exp2Op) {
        return invert(Dependence::ScaledLog, Dependence::Linear);
      })
      .Case([&](math::Log2Op) {
        return invert(Dependence::Linear, Dependence::ScaledLog);
      })
      .Case<vector::ShapeCastOp, vector::BroadcastOp>([&](auto) -> Case {
        return keepsRows(op) ? get(operand(0)) : Case();
      })
      .Case<arith::TruncFOp, arith::ExtFOp>([&](auto) -> Case {
        std::optional<Dependence> x = get(operand(0));
        return x->kind == Dependence::Linear ? x : Case();
      })
      .Case([&](arith::NegFOp) -> Case {
        std::optional<Dependence> x = get(operand(0));
        return isLog(*x) ? make(x->kind, -x->degree) : Case();
      })
      .Case([&](math::AbsFOp) -> Case {
        return isLog(*get(operand(0))) ? make(Dependence::Magnitude, 1)
                                       : Case();
      })
      .Case<arith::MinimumFOp, arith::MaximumFOp>(
          [&](auto) { return limit(operand(0), operand(1)); })
      // A Range may lose some bits: where it is 1, it keeps its exponent's
      // field.
      .Case<arith::BitcastOp, arith::AndIOp>([&](auto) -> Case {
        std::optional<Dependence> x = get(operand(0));
        return x && x->kind == Dependence::Range ? x : Case();
      })
      .Case([&](arith::OrIOp) -> Case {
        for (unsigned i : {0, 1})
          if (get(operand(i)) && get(operand(i))->kind != Dependence::InRange)
            return std::nullopt;
        return make(Dependence::InRange, 1);
      })
      .Case([&](arith::SelectOp) {
        return select(operand(0), operand(1), operand(2));
      })
      .Case([&](arith::CmpFOp op) { return compare(op); })
      .Case([&](vector::MultiDimReductionOp op) { return reduce(op); })
      .Case([&](MmaOp op) { return accumulate(op); })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult ReferenceAnalysis::visit(Operation *op) {
  if (ignored.contains(op))
    return success();
  auto isKnown = [&](Value value) { return get(value).has_value(); };
  if (!fa4::anyIn(op, [&](Operation *nested) {
        return llvm::any_of(nested->getOperands(), isKnown);
      }))
    return success();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return failure();
  Result result = combine(op);
  if (!result)
    return failure();
  set(op->getResult(0), *result);
  return success();
}
