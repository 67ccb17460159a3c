//===- LinearForm.cpp - integers as linear forms of positions ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearForm.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LinearForm LinearForm::getConstant(int64_t value) {
  return {1, 0, 0, value, value, value >= 0};
}

LinearForm LinearForm::reduce() const {
  int64_t factor = std::gcd(std::gcd(query, key), denominator);
  LinearForm reduced{denominator / factor,
                     query / factor,
                     key / factor,
                     llvm::divideCeilSigned(low, factor),
                     llvm::divideFloorSigned(high, factor),
                     isNonNegative};
  reduced.isNonNegative |=
      reduced.query >= 0 && reduced.key >= 0 && reduced.low >= 0;
  return reduced;
}

LinearForm LinearForm::operator-() const {
  return LinearForm{denominator, -query, -key, -high, -low}.reduce();
}

LinearForm LinearForm::operator+(const LinearForm &other) const {
  int64_t common = std::lcm(denominator, other.denominator);
  int64_t x = common / denominator, y = common / other.denominator;
  return LinearForm{common,
                    query * x + other.query * y,
                    key * x + other.key * y,
                    low * x + other.low * y,
                    high * x + other.high * y,
                    isNonNegative && other.isNonNegative}
      .reduce();
}

LinearForm LinearForm::operator*(int64_t factor) const {
  if (factor < 0)
    return -*this * -factor;
  return LinearForm{denominator,  query * factor, key * factor,
                    low * factor, high * factor,  isNonNegative}
      .reduce();
}

LinearForm LinearForm::floorDivide(int64_t divisor) const {
  // The remainder, of which denominator times as much is left over, is from 0
  // to divisor - 1.
  int64_t leftOver = denominator * (divisor - 1);
  return LinearForm{denominator * divisor, query, key,
                    low - leftOver,        high,  isNonNegative}
      .reduce();
}

LinearForm LinearForm::truncatingDivide(int64_t divisor) const {
  LinearForm quotient = floorDivide(divisor);
  if (isNonNegative)
    return quotient;
  // A negative number has a remainder that is not positive.
  int64_t leftOver = denominator * (divisor - 1);
  return LinearForm{denominator * divisor, query, key, low - leftOver,
                    high + leftOver}
      .reduce();
}

std::optional<int64_t> LinearForm::getConstantValue() const {
  if (query != 0 || key != 0 || !isExact())
    return std::nullopt;
  return low;
}

bool LinearForm::isSmall() const {
  int64_t coefficient = std::max(std::abs(query), std::abs(key));
  return coefficient <= 4 * denominator &&
         std::max({coefficient, denominator, std::abs(low), std::abs(high)}) <=
             kMaxConstant;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Whether linear forms pass through the conversion: it has to keep the numbers
/// that positions may have.
static bool keepsPositions(arith::IndexCastOp cast) {
  auto width = [](Type type) {
    return isa<IndexType>(type) ? 64u : type.getIntOrFloatBitWidth();
  };
  return !isa<ShapedType>(cast.getType()) && width(cast.getType()) >= 32 &&
         width(cast.getIn().getType()) >= 32;
}

static bool isBinary(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
             arith::DivSIOp, arith::DivUIOp, arith::ShRSIOp, arith::ShRUIOp>(
      op);
}

std::optional<LinearForm> LinearForms::get(Value value) {
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return forms.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        Operation *op = v.getDefiningOp();
        if (op && (isa<arith::IndexCastOp>(op) || isBinary(op)))
          operands.append(op->operand_begin(), op->operand_end());
      },
      [&](Value v) {
        std::optional<LinearForm> form = compute(v);
        if (form && !form->isSmall())
          form = std::nullopt;
        forms.try_emplace(v, form);
      });
  return forms.lookup(value);
}

std::optional<LinearForm> LinearForms::compute(Value value) {
  if (value == block.getArgument(kNumMaskModArgs - 2))
    return LinearForm::getQuery();
  if (value == block.getArgument(kNumMaskModArgs - 1))
    return LinearForm::getKey();

  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > 32)
      return std::nullopt;
    return LinearForm::getConstant(constant.getSExtValue());
  }

  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    return keepsPositions(cast) ? forms.lookup(cast.getIn()) : std::nullopt;
  return op && isBinary(op) ? computeBinary(op) : std::nullopt;
}

/// Returns the number by which a division or a shift to the right divides, if
/// `operand`, its right operand, says so for all positions.
static std::optional<int64_t> getDivisor(Operation *op,
                                         const LinearForm &operand) {
  std::optional<int64_t> number = operand.getConstantValue();
  if (!number)
    return std::nullopt;
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
    return *number >= 0 && *number < 31 ? std::optional(int64_t(1) << *number)
                                        : std::nullopt;
  return *number > 0 ? number : std::nullopt;
}

static std::optional<LinearForm> divide(Operation *op, const LinearForm &lhs,
                                        const LinearForm &rhs) {
  std::optional<int64_t> divisor = getDivisor(op, rhs);
  // A multiple of a position may wrap around in 32 bits. A difference of two
  // multiples makes up for it, one of their quotients does not.
  bool mayWrap =
      std::max(std::abs(lhs.query), std::abs(lhs.key)) > lhs.denominator;
  if (!divisor || *divisor > kMaxConstant || mayWrap)
    return std::nullopt;
  if (isa<arith::DivUIOp, arith::ShRUIOp>(op) && !lhs.isNonNegative)
    return std::nullopt;
  return isa<arith::DivSIOp>(op) ? lhs.truncatingDivide(*divisor)
                                 : lhs.floorDivide(*divisor);
}

std::optional<LinearForm> LinearForms::computeBinary(Operation *op) {
  std::optional<LinearForm> lhs = forms.lookup(op->getOperand(0)),
                            rhs = forms.lookup(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<LinearForm>>(op)
      .Case([&](arith::AddIOp) { return *lhs + *rhs; })
      .Case([&](arith::SubIOp) { return *lhs - *rhs; })
      .Case([&](arith::MulIOp) -> std::optional<LinearForm> {
        if (std::optional<int64_t> factor = rhs->getConstantValue())
          return *lhs * *factor;
        if (std::optional<int64_t> factor = lhs->getConstantValue())
          return *rhs * *factor;
        return std::nullopt;
      })
      .Default([&](Operation *) { return divide(op, *lhs, *rhs); });
}
