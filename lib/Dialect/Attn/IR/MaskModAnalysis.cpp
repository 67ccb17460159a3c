//===- MaskModAnalysis.cpp - bands in mask_mod regions -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskModAnalysis.h"
#include "LinearForm.h"
#include "fa4/Support/PostOrder.h"
#include "fa4/Support/Predicates.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::attn;

void Band::intersect(const Band &other) {
  auto meet = [](std::optional<int64_t> &a, std::optional<int64_t> b) {
    if (b)
      a = a ? std::min(*a, *b) : *b;
  };
  meet(left, other.left);
  meet(right, other.right);
}

void Band::unite(const Band &other) {
  auto join = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  };
  left = join(left, other.left);
  right = join(right, other.right);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {
/// A band that holds every key for which a comparison is true. It holds no
/// others if `isExact`.
struct ComparisonBand {
  Band band;
  bool isExact = false;

  ComparisonBand intersect(const ComparisonBand &other) const {
    Band both = band;
    both.intersect(other.band);
    return {both, isExact && other.isExact};
  }
};
} // namespace

/// Returns the band of keys for which `form` <= 0.
static ComparisonBand getBandWhereNotPositive(const LinearForm &form) {
  // For a form v, distance * (j - i) + low <= denominator * v <= 0.
  int64_t distance = form.key;
  if (distance == 0 || form.query != -distance)
    return {};
  int64_t bound = llvm::divideFloorSigned(-form.low, std::abs(distance));
  if (std::abs(bound) > kMaxConstant)
    return {};
  Band band;
  (distance > 0 ? band.right : band.left) = bound;
  return {band, form.isExact()};
}

/// Returns x if `value` is the absolute value of x, as `math.absi` or as the
/// maximum of x and -x.
static Value getOperandOfAbs(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto abs = dyn_cast_or_null<math::AbsIOp>(op))
    return abs.getOperand();
  auto max = dyn_cast_or_null<arith::MaxSIOp>(op);
  if (!max)
    return Value();
  auto isNegated = [](Value negative, Value x) {
    auto sub = negative.getDefiningOp<arith::SubIOp>();
    return sub && sub.getRhs() == x && matchPattern(sub.getLhs(), m_Zero());
  };
  if (isNegated(max.getRhs(), max.getLhs()))
    return max.getLhs();
  return isNegated(max.getLhs(), max.getRhs()) ? max.getRhs() : Value();
}

/// Returns the predicate that holds for (b, a) where `predicate` holds for
/// (a, b).
static arith::CmpIPredicate swapSides(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  case Predicate::ult:
    return Predicate::ugt;
  case Predicate::ule:
    return Predicate::uge;
  case Predicate::ugt:
    return Predicate::ult;
  case Predicate::uge:
    return Predicate::ule;
  case Predicate::eq:
  case Predicate::ne:
    return predicate;
  }
  llvm_unreachable("unknown predicate");
}

/// Returns the band of keys for which the absolute value of `x` is at most
/// `bound`.
static ComparisonBand getBandAround(const LinearForm &x,
                                    const LinearForm &bound) {
  return getBandWhereNotPositive(x - bound).intersect(
      getBandWhereNotPositive(-x - bound));
}

/// The band of a comparison of an absolute value with a constant, such as
/// |i - j| <= 128.
static ComparisonBand getBandOfAbs(arith::CmpIPredicate predicate, Value lhs,
                                   Value rhs, LinearForms &forms) {
  using Predicate = arith::CmpIPredicate;
  if (!getOperandOfAbs(lhs)) {
    std::swap(lhs, rhs);
    predicate = swapSides(predicate);
  }
  std::optional<LinearForm> x = forms.get(getOperandOfAbs(lhs));
  std::optional<LinearForm> bound = forms.get(rhs);
  // Of a negative bound, an unsigned comparison makes a large one.
  if (!x || !bound || !bound->isNonNegative)
    return {};
  if (predicate == Predicate::sle || predicate == Predicate::ule)
    return getBandAround(*x, *bound);
  if (predicate == Predicate::slt || predicate == Predicate::ult)
    return getBandAround(*x, *bound - LinearForm::getConstant(1));
  return {};
}

static ComparisonBand getBand(arith::CmpIPredicate predicate, Value left,
                              Value right, LinearForms &forms) {
  if (getOperandOfAbs(left) || getOperandOfAbs(right))
    return getBandOfAbs(predicate, left, right, forms);
  std::optional<LinearForm> lhs = forms.get(left);
  std::optional<LinearForm> rhs = forms.get(right);
  if (!lhs || !rhs)
    return {};
  if (lhs->isNonNegative && rhs->isNonNegative)
    predicate = fa4::getSigned(predicate);
  LinearForm difference = *lhs - *rhs, opposite = *rhs - *lhs;
  LinearForm one = LinearForm::getConstant(1);

  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::sle:
    return getBandWhereNotPositive(difference);
  case Predicate::slt:
    return getBandWhereNotPositive(difference + one);
  case Predicate::sge:
    return getBandWhereNotPositive(opposite);
  case Predicate::sgt:
    return getBandWhereNotPositive(opposite + one);
  case Predicate::eq:
    return getBandWhereNotPositive(difference)
        .intersect(getBandWhereNotPositive(opposite));
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Factors of a condition
//===----------------------------------------------------------------------===//

namespace {
/// A use of a condition whose value, or whose negation, is a factor of what a
/// mask_mod yields.
struct Factor {
  OpOperand *use;
  bool isNegated;
};
} // namespace

/// Adds the factors that a factor computed by `op` is the product of, if there
/// are any. What the factors become when they are taken out, true or false,
/// leaves the rest of the product as the value of `op`.
static void addFactors(Operation *op, bool isNegated,
                       SmallVectorImpl<Factor> &factors) {
  auto add = [&](unsigned operand, bool isNegated) {
    factors.push_back({&op->getOpOperand(operand), isNegated});
  };
  if (isa<arith::XOrIOp>(op)) {
    for (unsigned one : {0, 1})
      if (matchPattern(op->getOperand(one), m_One()))
        return add(1 - one, !isNegated);
    return;
  }
  // not (a or b) is (not a) and (not b).
  if (isNegated ? isa<arith::OrIOp>(op) : isa<arith::AndIOp>(op)) {
    add(1, isNegated);
    add(0, isNegated);
    return;
  }
  // c ? x : y, where one of x and y is what hides the key.
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return;
  for (unsigned hidden : {1, 2}) {
    Value value = op->getOperand(hidden);
    if (!(isNegated ? matchPattern(value, m_One())
                    : matchPattern(value, m_Zero())))
      continue;
    add(3 - hidden, isNegated);
    return add(0, /*isNegated=*/hidden == 1);
  }
}

SmallVector<BandConjunct> fa4::attn::findBandConjuncts(Region &maskMod) {
  Block &block = maskMod.front();
  LinearForms forms(block);
  SmallVector<BandConjunct> found;
  SmallVector<Factor> worklist = {
      {&block.getTerminator()->getOpOperand(0), /*isNegated=*/false}};
  while (!worklist.empty()) {
    auto [use, isNegated] = worklist.pop_back_val();
    Operation *op = use->get().getDefiningOp();
    if (!op)
      continue;
    if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
      if (isa<ShapedType>(cmp.getLhs().getType()))
        continue;
      auto predicate = isNegated ? arith::invertPredicate(cmp.getPredicate())
                                 : cmp.getPredicate();
      auto [band, isExact] =
          getBand(predicate, cmp.getLhs(), cmp.getRhs(), forms);
      if (isExact)
        found.push_back({use, band, /*neutral=*/!isNegated});
    } else if (op->hasOneUse()) {
      // A product with other users keeps its value, so its factors are not
      // taken out.
      addFactors(op, isNegated, worklist);
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// What a condition implies
//===----------------------------------------------------------------------===//

/// A band, or std::nullopt where there is no key at all.
using MaybeBand = std::optional<Band>;

static MaybeBand both(MaybeBand a, const MaybeBand &b) {
  if (!a || !b)
    return std::nullopt;
  a->intersect(*b);
  return a;
}

static MaybeBand either(MaybeBand a, const MaybeBand &b) {
  if (!a || !b)
    return a ? a : b;
  a->unite(*b);
  return a;
}

namespace {
/// Bands that hold the keys for which a condition is true, and those for which
/// it is false. Nothing is known of a condition by default.
struct ConditionBands {
  MaybeBand ifTrue = Band(), ifFalse = Band();

  ConditionBands operator!() const { return {ifFalse, ifTrue}; }
  ConditionBands operator&(const ConditionBands &other) const {
    return {both(ifTrue, other.ifTrue), either(ifFalse, other.ifFalse)};
  }
  ConditionBands operator|(const ConditionBands &other) const {
    return !(!*this & !other);
  }
};

/// The bands of conditions. Each condition is looked at once, however many
/// others are computed from it.
class Conditions {
public:
  explicit Conditions(Block &block) : forms(block) {}

  ConditionBands get(Value condition);

private:
  ConditionBands compute(Value condition);

  LinearForms forms;
  llvm::DenseMap<Value, ConditionBands> bands;
};
} // namespace

ConditionBands Conditions::get(Value condition) {
  fa4::visitPostOrder<Value>(
      condition, [&](Value each) { return bands.contains(each); },
      [](Value each, SmallVectorImpl<Value> &operands) {
        Operation *op = each.getDefiningOp();
        if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp,
                            arith::SelectOp>(op))
          operands.append(op->operand_begin(), op->operand_end());
      },
      [&](Value each) {
        ConditionBands found = compute(each);
        bands.try_emplace(each, found);
      });
  return bands.lookup(condition);
}

ConditionBands Conditions::compute(Value condition) {
  if (matchPattern(condition, m_One()))
    return {Band(), std::nullopt};
  if (matchPattern(condition, m_Zero()))
    return {std::nullopt, Band()};
  Operation *op = condition.getDefiningOp();
  if (!op)
    return {};
  auto operand = [&](unsigned i) { return bands.lookup(op->getOperand(i)); };
  auto choose = [](const ConditionBands &which, const ConditionBands &x,
                   const ConditionBands &y) {
    return (which & x) | (!which & y);
  };
  return llvm::TypeSwitch<Operation *, ConditionBands>(op)
      .Case([&](arith::CmpIOp cmp) -> ConditionBands {
        auto get = [&](arith::CmpIPredicate predicate) {
          return getBand(predicate, cmp.getLhs(), cmp.getRhs(), forms).band;
        };
        return {get(cmp.getPredicate()),
                get(arith::invertPredicate(cmp.getPredicate()))};
      })
      .Case([&](arith::AndIOp) { return operand(0) & operand(1); })
      .Case([&](arith::OrIOp) { return operand(0) | operand(1); })
      .Case([&](arith::XOrIOp) {
        return choose(operand(0), !operand(1), operand(1));
      })
      .Case([&](arith::SelectOp) {
        return choose(operand(0), operand(1), operand(2));
      })
      .Default(ConditionBands());
}

std::optional<Band> fa4::attn::findImpliedBand(Region &maskMod) {
  Block &block = maskMod.front();
  return Conditions(block).get(block.getTerminator()->getOperand(0)).ifTrue;
}
