//===- ElementRange.cpp - what an integer of an expression may be ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::attn;

ElementRange fa4::attn::getIndexRange(int64_t size) {
  constexpr int64_t most = (int64_t(1) << 31) - 1;
  return {0, ShapedType::isDynamic(size) ? most : size - 1};
}

static std::optional<ElementRange> getRange(AffineExpr index, DimRange ofDim) {
  if (auto constant = dyn_cast<AffineConstantExpr>(index))
    return ElementRange{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return ofDim(dim.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  std::optional<ElementRange> a, b;
  if (binary) {
    a = ::getRange(binary.getLHS(), ofDim);
    b = ::getRange(binary.getRHS(), ofDim);
  }
  if (!a || !b)
    return std::nullopt;
  if (index.getKind() == AffineExprKind::Add)
    return ElementRange{a->low + b->low, a->high + b->high};
  if (b->low != b->high || b->low <= 0 || !llvm::isInt<32>(b->low) ||
      a->low < 0 || !llvm::isInt<32>(a->high))
    return std::nullopt;
  if (index.getKind() == AffineExprKind::Mul)
    return ElementRange{a->low * b->low, a->high * b->low};
  if (index.getKind() == AffineExprKind::FloorDiv)
    return ElementRange{a->low / b->low, a->high / b->low};
  if (index.getKind() == AffineExprKind::Mod)
    return ElementRange{0, b->low - 1};
  return std::nullopt;
}

std::optional<ElementRange> fa4::attn::getRange(ElementRef element,
                                                DimRange ofDim) {
  if (element->kind == Element::Index)
    return ::getRange(element->indices.front(), ofDim);
  if (std::optional<double> number = element->getConstant();
      number && isa<IntegerAttr>(element->constant)) {
    int64_t exact =
        cast<IntegerAttr>(element->constant).getValue().getSExtValue();
    if (element->type.isInteger(1) || !llvm::isInt<32>(exact))
      return std::nullopt;
    return ElementRange{exact, exact};
  }
  if (element->kind != Element::Apply || !element->type.isIntOrIndex() ||
      element->type.isInteger(1))
    return std::nullopt;
  auto arg = [&](unsigned i) { return getRange(element->args[i], ofDim); };
  std::optional<ElementRange> result;
  if (element->isa<arith::IndexCastOp>() || element->isa<arith::ExtSIOp>() ||
      element->isa<arith::TruncIOp>()) {
    result = arg(0);
  } else if (element->isa<arith::ExtUIOp>()) {
    if (element->args[0]->type.isInteger(1))
      return ElementRange{0, 1};
    result = arg(0);
    if (result && result->low < 0)
      return std::nullopt;
  } else if (element->isa<arith::SelectOp>()) {
    std::optional<ElementRange> a = arg(1), b = arg(2);
    if (a && b)
      result =
          ElementRange{std::min(a->low, b->low), std::max(a->high, b->high)};
  } else if (element->args.size() == 2) {
    std::optional<ElementRange> a = arg(0), b = arg(1);
    if (!a || !b)
      return std::nullopt;
    // All of these fit into 32 bits, so that nothing here overflows.
    if (element->isa<arith::AddIOp>())
      result = ElementRange{a->low + b->low, a->high + b->high};
    else if (element->isa<arith::SubIOp>())
      result = ElementRange{a->low - b->high, a->high - b->low};
    else if (element->isa<arith::MulIOp>()) {
      auto corners = {a->low * b->low, a->low * b->high, a->high * b->low,
                      a->high * b->high};
      result = ElementRange{std::min(corners), std::max(corners)};
    } else if (element->isa<arith::MaxSIOp>())
      result =
          ElementRange{std::max(a->low, b->low), std::max(a->high, b->high)};
    else if (element->isa<arith::MinSIOp>())
      result =
          ElementRange{std::min(a->low, b->low), std::min(a->high, b->high)};
    else if (b->low > 0 && element->isa<arith::DivSIOp>())
      result = ElementRange{std::min(a->low, a->low / b->high),
                            std::max(a->high, a->high / b->low)};
    else if (b->low > 0 && element->isa<arith::RemSIOp>())
      result = ElementRange{a->low < 0 ? 1 - b->high : 0, b->high - 1};
  }
  unsigned width =
      element->type.isIndex() ? 32 : element->type.getIntOrFloatBitWidth();
  width = std::min(width, 32u);
  if (!result || !llvm::isIntN(width, result->low) ||
      !llvm::isIntN(width, result->high))
    return std::nullopt;
  return result;
}

/// Whether each number of `a` is less than each of `b`, or none is.
static std::optional<bool> isLess(ElementRange a, ElementRange b) {
  if (a.high < b.low)
    return true;
  if (a.low >= b.high)
    return false;
  return std::nullopt;
}

std::optional<bool> fa4::attn::getTruth(ElementRef condition, DimRange ofDim) {
  if (std::optional<double> constant = condition->getConstant())
    return *constant != 0;
  if (condition->kind != Element::Apply)
    return std::nullopt;
  if (condition->isa<arith::CmpIOp>()) {
    std::optional<ElementRange> a = getRange(condition->args[0], ofDim),
                                b = getRange(condition->args[1], ofDim);
    if (!a || !b)
      return std::nullopt;
    auto predicate =
        condition->attributes.getAs<arith::CmpIPredicateAttr>("predicate")
            .getValue();
    bool areUnsigned = a->low >= 0 && b->low >= 0;
    auto negate = [](std::optional<bool> truth) {
      return truth ? std::optional(!*truth) : std::nullopt;
    };
    switch (predicate) {
    case arith::CmpIPredicate::ult:
      return areUnsigned ? isLess(*a, *b) : std::nullopt;
    case arith::CmpIPredicate::ugt:
      return areUnsigned ? isLess(*b, *a) : std::nullopt;
    case arith::CmpIPredicate::ule:
      return areUnsigned ? negate(isLess(*b, *a)) : std::nullopt;
    case arith::CmpIPredicate::uge:
      return areUnsigned ? negate(isLess(*a, *b)) : std::nullopt;
    case arith::CmpIPredicate::slt:
      return isLess(*a, *b);
    case arith::CmpIPredicate::sgt:
      return isLess(*b, *a);
    case arith::CmpIPredicate::sle:
      return negate(isLess(*b, *a));
    case arith::CmpIPredicate::sge:
      return negate(isLess(*a, *b));
    default:
      return std::nullopt;
    }
  }
  bool isAnd = condition->isa<arith::AndIOp>();
  if (!isAnd && !condition->isa<arith::OrIOp>())
    return std::nullopt;
  std::optional<bool> a = getTruth(condition->args[0], ofDim),
                      b = getTruth(condition->args[1], ofDim);
  // One of them may be enough to know.
  if (a == !isAnd || b == !isAnd)
    return !isAnd;
  return a && b ? std::optional(isAnd) : std::nullopt;
}
