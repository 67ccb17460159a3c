//===- MaskModAnalysis.cpp - bands in mask_mod regions -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskModAnalysis.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APInt.h"

using namespace mlir;
using namespace fa4::attn;

/// A constant whose magnitude is larger is no sequence position, and a bound
/// beyond it is none that kernels take in the mask attribute. Sums of a few
/// constants within this limit do not overflow 64 bits.
static constexpr int64_t kMaxConstant = int64_t(1) << 30;

namespace {
/// The linear form query * q + key * k + constant, for query index q and key
/// index k.
struct LinearForm {
  int64_t query = 0, key = 0, constant = 0;

  LinearForm operator-() const { return {-query, -key, -constant}; }
  LinearForm operator-(const LinearForm &other) const {
    return {query - other.query, key - other.key, constant - other.constant};
  }
  LinearForm operator+(const LinearForm &other) const {
    return {query + other.query, key + other.key, constant + other.constant};
  }
  /// True if the form is proven not negative for all positions, which are not
  /// negative themselves.
  bool isNonNegative() const { return query >= 0 && key >= 0 && constant >= 0; }
  bool isSmall() const {
    return std::abs(constant) <= kMaxConstant && std::abs(query) <= 4 &&
           std::abs(key) <= 4;
  }
};
} // namespace

/// Whether linear forms pass through the conversion: it has to keep the numbers
/// that positions may have.
static bool keepsPositions(arith::IndexCastOp cast) {
  auto width = [](Type type) {
    return isa<IndexType>(type) ? 64u : type.getIntOrFloatBitWidth();
  };
  return !isa<ShapedType>(cast.getType()) && width(cast.getType()) >= 32 &&
         width(cast.getIn().getType()) >= 32;
}

namespace {
/// Values as linear forms of the query and key index arguments of `block`.
/// Each value is looked at once, however many others are computed from it.
class LinearForms {
public:
  explicit LinearForms(Block &block) : block(block) {}

  std::optional<LinearForm> get(Value value) {
    fa4::visitPostOrder<Value>(
        value, [&](Value v) { return forms.contains(v); },
        [](Value v, SmallVectorImpl<Value> &operands) {
          Operation *op = v.getDefiningOp();
          if (isa_and_nonnull<arith::IndexCastOp, arith::AddIOp, arith::SubIOp>(
                  op))
            operands.append(op->operand_begin(), op->operand_end());
        },
        [&](Value v) {
          std::optional<LinearForm> form = compute(v);
          forms.try_emplace(v, form);
        });
    return forms.lookup(value);
  }

private:
  std::optional<LinearForm> compute(Value value);

  Block &block;
  llvm::DenseMap<Value, std::optional<LinearForm>> forms;
};
} // namespace

std::optional<LinearForm> LinearForms::compute(Value value) {
  if (value == block.getArgument(kNumMaskModArgs - 2))
    return LinearForm{1, 0, 0};
  if (value == block.getArgument(kNumMaskModArgs - 1))
    return LinearForm{0, 1, 0};

  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > 64)
      return std::nullopt;
    LinearForm form{0, 0, constant.getSExtValue()};
    return form.isSmall() ? std::optional(form) : std::nullopt;
  }

  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    return keepsPositions(cast) ? forms.lookup(cast.getIn()) : std::nullopt;
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<LinearForm> lhs = forms.lookup(op->getOperand(0)),
                            rhs = forms.lookup(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  LinearForm form = isa<arith::AddIOp>(op) ? *lhs + *rhs : *lhs - *rhs;
  return form.isSmall() ? std::optional(form) : std::nullopt;
}

void Band::intersect(const Band &other) {
  auto meet = [](std::optional<int64_t> &a, std::optional<int64_t> b) {
    if (b)
      a = a ? std::min(*a, *b) : *b;
  };
  meet(left, other.left);
  meet(right, other.right);
}

/// Returns the band of keys for which `form` <= 0.
static std::optional<Band> getBandWhereNotPositive(const LinearForm &form) {
  if (std::abs(form.constant) > kMaxConstant)
    return std::nullopt;
  if (form.query == -1 && form.key == 1) // j <= i - c
    return Band{std::nullopt, -form.constant};
  if (form.query == 1 && form.key == -1) // j >= i + c
    return Band{-form.constant, std::nullopt};
  return std::nullopt;
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

/// Returns the band of keys for which the absolute value of `x` is at most
/// `bound`.
static std::optional<Band> getBandAround(Value x, const LinearForm &bound,
                                         LinearForms &forms) {
  std::optional<LinearForm> form = forms.get(x);
  if (!form)
    return std::nullopt;
  std::optional<Band> band = getBandWhereNotPositive(*form - bound);
  std::optional<Band> other = getBandWhereNotPositive(-*form - bound);
  if (!band || !other)
    return std::nullopt;
  band->intersect(*other);
  return band;
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

/// The band of a comparison of an absolute value with a constant, such as
/// |i - j| <= 128.
static std::optional<Band> getBandOfAbs(arith::CmpIPredicate predicate,
                                        Value lhs, Value rhs,
                                        LinearForms &forms) {
  using Predicate = arith::CmpIPredicate;
  if (!getOperandOfAbs(lhs)) {
    std::swap(lhs, rhs);
    predicate = swapSides(predicate);
  }
  Value x = getOperandOfAbs(lhs);
  std::optional<LinearForm> bound = forms.get(rhs);
  // Of a negative bound, an unsigned comparison makes a large one.
  if (!x || !bound || !bound->isNonNegative())
    return std::nullopt;
  if (predicate == Predicate::sle || predicate == Predicate::ule)
    return getBandAround(x, *bound, forms);
  if (predicate == Predicate::slt || predicate == Predicate::ult)
    return getBandAround(x, *bound - LinearForm{0, 0, 1}, forms);
  return std::nullopt;
}

static std::optional<Band> getBand(arith::CmpIPredicate predicate, Value left,
                                   Value right, LinearForms &forms) {
  if (getOperandOfAbs(left) || getOperandOfAbs(right))
    return getBandOfAbs(predicate, left, right, forms);
  std::optional<LinearForm> lhs = forms.get(left);
  std::optional<LinearForm> rhs = forms.get(right);
  if (!lhs || !rhs)
    return std::nullopt;
  LinearForm difference = *lhs - *rhs, opposite = *rhs - *lhs;
  LinearForm one{0, 0, 1};
  bool sameAsSigned = lhs->isNonNegative() && rhs->isNonNegative();

  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::ule:
    if (!sameAsSigned)
      return std::nullopt;
    [[fallthrough]];
  case Predicate::sle:
    return getBandWhereNotPositive(difference);
  case Predicate::ult:
    if (!sameAsSigned)
      return std::nullopt;
    [[fallthrough]];
  case Predicate::slt:
    return getBandWhereNotPositive(difference + one);
  case Predicate::uge:
    if (!sameAsSigned)
      return std::nullopt;
    [[fallthrough]];
  case Predicate::sge:
    return getBandWhereNotPositive(opposite);
  case Predicate::ugt:
    if (!sameAsSigned)
      return std::nullopt;
    [[fallthrough]];
  case Predicate::sgt:
    return getBandWhereNotPositive(opposite + one);
  case Predicate::eq: {
    std::optional<Band> band = getBandWhereNotPositive(difference);
    std::optional<Band> other = getBandWhereNotPositive(opposite);
    if (!band || !other)
      return std::nullopt;
    band->intersect(*other);
    return band;
  }
  case Predicate::ne:
    return std::nullopt;
  }
  return std::nullopt;
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
      if (std::optional<Band> band =
              getBand(predicate, cmp.getLhs(), cmp.getRhs(), forms))
        found.push_back({use, *band, /*neutral=*/!isNegated});
    } else if (op->hasOneUse()) {
      // A product with other users keeps its value, so its factors are not
      // taken out.
      addFactors(op, isNegated, worklist);
    }
  }
  return found;
}
