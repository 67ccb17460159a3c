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
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APInt.h"

using namespace mlir;
using namespace fa4::attn;

/// A constant whose magnitude is larger is no sequence position. Sums of a few
/// constants within this limit do not overflow 64 bits.
static constexpr int64_t kMaxConstant = int64_t(1) << 40;

namespace {
/// The linear form query * q + key * k + constant, for query index q and key
/// index k.
struct LinearForm {
  int64_t query = 0, key = 0, constant = 0;

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
  if (form.query == -1 && form.key == 1) // j <= i - c
    return Band{std::nullopt, -form.constant};
  if (form.query == 1 && form.key == -1) // j >= i + c
    return Band{-form.constant, std::nullopt};
  return std::nullopt;
}

static std::optional<Band> getBand(arith::CmpIOp cmp, LinearForms &forms) {
  std::optional<LinearForm> lhs = forms.get(cmp.getLhs());
  std::optional<LinearForm> rhs = forms.get(cmp.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  LinearForm difference = *lhs - *rhs, opposite = *rhs - *lhs;
  LinearForm one{0, 0, 1};
  bool sameAsSigned = lhs->isNonNegative() && rhs->isNonNegative();

  using Predicate = arith::CmpIPredicate;
  switch (cmp.getPredicate()) {
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

SmallVector<BandConjunct> fa4::attn::findBandConjuncts(Region &maskMod) {
  Block &block = maskMod.front();
  LinearForms forms(block);
  SmallVector<BandConjunct> found;
  SmallVector<OpOperand *> worklist = {&block.getTerminator()->getOpOperand(0)};
  while (!worklist.empty()) {
    OpOperand *use = worklist.pop_back_val();
    Operation *op = use->get().getDefiningOp();
    if (!op)
      continue;
    if (auto conjunction = dyn_cast<arith::AndIOp>(op)) {
      // A conjunction with other users keeps its value, so its factors are not
      // taken out.
      if (!conjunction->hasOneUse())
        continue;
      worklist.push_back(&conjunction->getOpOperand(1));
      worklist.push_back(&conjunction->getOpOperand(0));
    } else if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
      if (isa<ShapedType>(cmp.getLhs().getType()))
        continue;
      if (std::optional<Band> band = getBand(cmp, forms))
        found.push_back({use, *band});
    }
  }
  return found;
}
