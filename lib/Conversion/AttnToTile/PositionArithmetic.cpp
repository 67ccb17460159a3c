//===- PositionArithmetic.cpp - integers that mods compute from positions -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PositionArithmetic.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;

/// A tile's last row or column is at most this far beyond the largest position.
static constexpr int64_t kMaxTile = 1024;

PositionArithmetic::PositionArithmetic(Region &region) {
  // The arguments of the region: the batch, the query head, and the positions
  // of the query and of the key.
  unsigned head =
      cast<BlockArgument>(attn::getHeadArgument(region)).getArgNumber();
  for (unsigned number = head - 1; number < head + 3; ++number)
    ranges.try_emplace(
        region.getArgument(number),
        ConstantIntRanges::fromSigned(APInt(kIndexBits, 0),
                                      APInt(kIndexBits, kMaxSize + kMaxTile)));
}

ConstantIntRanges PositionArithmetic::getRange(Value value) {
  auto known = ranges.find(value);
  return known != ranges.end() ? known->second
                               : ConstantIntRanges::maxRange(
                                     tile::getIntegerBits(value.getType()));
}

void PositionArithmetic::computeRange(Operation &op) {
  SmallVector<ConstantIntRanges> operands = llvm::map_to_vector(
      op.getOperands(), [&](Value operand) { return getRange(operand); });
  ranges.try_emplace(op.getResult(0),
                     tile::IntegerRanges::infer(op.getResult(0), operands));
}

std::optional<APInt> PositionArithmetic::decide(Operation &op) {
  computeRange(op);
  return getRange(op.getResult(0)).getConstantValue();
}

bool PositionArithmetic::isNotNegative(Value value) {
  return getRange(value).smin().isNonNegative();
}

/// Returns the constant `value` if it is positive and has the width of an
/// index; otherwise nothing.
static std::optional<int64_t> getDivisor(Value value) {
  APInt number;
  if (tile::getIntegerBits(value.getType()) != kIndexBits ||
      !matchPattern(value, m_ConstantInt(&number)) ||
      !number.isStrictlyPositive() || !number.isSignedIntN(kIndexBits))
    return std::nullopt;
  return number.getSExtValue();
}

/// Builds a constant of the type of `like`, a scalar or a vector.
static Value makeConstant(ImplicitLocOpBuilder &b, Value like, int64_t number) {
  TypedAttr element =
      b.getIntegerAttr(getElementTypeOrSelf(like.getType()), number);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, Attribute(element)));
  return arith::ConstantOp::create(b, element);
}

static Value addConstant(ImplicitLocOpBuilder &b, Value value, int64_t number) {
  return number == 0
             ? value
             : arith::AddIOp::create(b, value, makeConstant(b, value, number));
}

/// Returns how many times `divisor` must be added to a number of this range so
/// that the sum is not negative. Returns nothing if the sum may then exceed an
/// unsigned integer.
static std::optional<int64_t> getShift(const ConstantIntRanges &range,
                                       int64_t divisor) {
  int64_t low = range.smin().getSExtValue(), high = range.smax().getSExtValue();
  int64_t shift = low < 0 ? llvm::divideCeil(uint64_t(-low), divisor) : 0;
  if (high + shift * divisor > int64_t(llvm::maxUIntN(kIndexBits)))
    return std::nullopt;
  return shift;
}

Value PositionArithmetic::buildFloorDivision(ImplicitLocOpBuilder &b,
                                             Value number, Value divisor,
                                             Value operand) {
  std::optional<int64_t> n = getDivisor(divisor);
  if (!n)
    return {};
  if (llvm::isPowerOf2_64(*n) && !isNotNegative(number))
    return arith::ShRSIOp::create(b, operand,
                                  makeConstant(b, operand, llvm::Log2_64(*n)));
  std::optional<int64_t> shift = getShift(getRange(number), *n);
  if (!shift)
    return {};
  Value quotient = arith::DivUIOp::create(
      b, addConstant(b, operand, *shift * *n), makeConstant(b, operand, *n));
  return addConstant(b, quotient, -*shift);
}

/// Builds `x - floordiv(x, n) * n`.
Value PositionArithmetic::buildFloorRemainder(ImplicitLocOpBuilder &b,
                                              Operation &op, Value operand) {
  Value number = op.getOperand(0);
  auto product = op.getOperand(1).getDefiningOp<arith::MulIOp>();
  if (!product)
    return {};
  for (unsigned i = 0; i < 2; ++i) {
    auto quotient = product->getOperand(i).getDefiningOp<arith::FloorDivSIOp>();
    if (!quotient || quotient.getLhs() != number)
      continue;
    std::optional<int64_t> n = getDivisor(quotient.getRhs());
    if (!n || getDivisor(product->getOperand(1 - i)) != n)
      continue;
    if (llvm::isPowerOf2_64(*n))
      return arith::AndIOp::create(b, operand,
                                   makeConstant(b, operand, *n - 1));
    std::optional<int64_t> shift = getShift(getRange(number), *n);
    if (!shift)
      return {};
    ranges.find(op.getResult(0))->second = ConstantIntRanges::fromSigned(
        APInt(kIndexBits, 0), APInt(kIndexBits, *n - 1));
    return arith::RemUIOp::create(b, addConstant(b, operand, *shift * *n),
                                  makeConstant(b, operand, *n));
  }
  return {};
}

void fa4::decideComparisons(Region &region) {
  if (region.empty())
    return;
  PositionArithmetic arithmetic(region);
  for (Operation &op : llvm::make_early_inc_range(region.front())) {
    if (op.getNumResults() != 1)
      continue;
    std::optional<APInt> decided = arithmetic.decide(op);
    if (!decided || !isa<arith::CmpIOp>(op))
      continue;
    OpBuilder b(&op);
    auto constant = arith::ConstantOp::create(b, op.getLoc(),
                                              b.getBoolAttr(decided->isOne()));
    op.replaceAllUsesWith(constant);
    op.erase();
  }
}

Value PositionArithmetic::build(ImplicitLocOpBuilder &b, Operation &op,
                                ValueRange operands) {
  if (op.getNumResults() != 1)
    return {};
  computeRange(op);
  if (op.getNumOperands() != 2)
    return {};
  Value lhs = op.getOperand(0), rhs = op.getOperand(1);
  return llvm::TypeSwitch<Operation *, Value>(&op)
      .Case([&](arith::FloorDivSIOp) {
        return buildFloorDivision(b, lhs, rhs, operands[0]);
      })
      .Case([&](arith::DivSIOp) {
        return isNotNegative(lhs) ? buildFloorDivision(b, lhs, rhs, operands[0])
                                  : Value();
      })
      .Case([&](arith::RemSIOp) -> Value {
        std::optional<int64_t> n = getDivisor(rhs);
        if (!n || !isNotNegative(lhs))
          return {};
        return arith::RemUIOp::create(b, operands[0],
                                      makeConstant(b, operands[0], *n));
      })
      .Case([&](arith::SubIOp) {
        return buildFloorRemainder(b, op, operands[0]);
      })
      .Case([&](arith::CmpIOp) -> Value {
        std::optional<APInt> decided =
            getRange(op.getResult(0)).getConstantValue();
        if (!decided)
          return {};
        Attribute value = b.getBoolAttr(decided->isOne());
        if (auto vector = dyn_cast<VectorType>(operands[0].getType()))
          return arith::ConstantOp::create(
              b, DenseElementsAttr::get(vector.clone(b.getI1Type()), value));
        return arith::ConstantOp::create(b, cast<TypedAttr>(value));
      })
      .Default(Value());
}
