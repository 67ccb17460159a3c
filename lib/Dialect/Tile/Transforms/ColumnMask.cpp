//===- ColumnMask.cpp - conditions on columns as words of bits ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnMask.h"
#include "fa4/Support/PostOrder.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns `lhs - rhs` of a signed comparison if this difference grows or falls
/// by one from column to column.
std::optional<AffineColumn> ColumnMask::getDifference(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  if (!llvm::is_contained(
          {Predicate::slt, Predicate::sle, Predicate::sgt, Predicate::sge},
          op.getPredicate()))
    return std::nullopt;
  std::optional<AffineColumn> lhs = forms.get(op.getLhs());
  const std::optional<AffineColumn> &rhs = forms.get(op.getRhs());
  if (!lhs || !rhs || !lhs->add(*rhs, -1) ||
      (lhs->scale != 1 && lhs->scale != -1))
    return std::nullopt;
  return lhs;
}

bool ColumnMask::computeIsColumnMask(Value mask) {
  auto type = dyn_cast<VectorType>(mask.getType());
  if (!type || !type.getElementType().isInteger(1))
    return false;
  Operation *op = mask.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return getDifference(compare).has_value();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return isMask.lookup(op->getOperand(0)) && isMask.lookup(op->getOperand(1));
  return false;
}

/// The conditions that `mask` is put together from.
static void addMaskOperands(Value mask, SmallVectorImpl<Value> &operands) {
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    operands.append(op->operand_begin(), op->operand_end());
}

bool ColumnMask::isColumnMask(Value mask) {
  fa4::visitPostOrder<Value>(
      mask, [&](Value v) { return isMask.contains(v); }, addMaskOperands,
      [&](Value v) {
        bool answer = computeIsColumnMask(v);
        isMask.try_emplace(v, answer);
      });
  return isMask.lookup(mask);
}

/// Brings a comparison into one of two forms: `column < limit` (sets `upper`)
/// or `column >= limit`. Returns the limit.
AffineColumn ColumnMask::solveForColumn(arith::CmpIOp op, bool &upper) {
  using Predicate = arith::CmpIPredicate;
  AffineColumn difference = *getDifference(op);
  Predicate predicate = op.getPredicate();
  // The comparison is scale * column + rest against 0. A scale of -1 exchanges
  // the sides.
  int sign = -1;
  if (difference.scale < 0) {
    sign = 1;
    predicate = predicate == Predicate::slt   ? Predicate::sgt
                : predicate == Predicate::sle ? Predicate::sge
                : predicate == Predicate::sgt ? Predicate::slt
                                              : Predicate::sle;
  }
  AffineColumn limit;
  difference.scale = 0;
  limit.add(difference, sign);
  upper = predicate == Predicate::slt || predicate == Predicate::sle;
  // column <= l is column < l + 1; column > l is column >= l + 1.
  if (predicate == Predicate::sle || predicate == Predicate::sgt)
    limit.constant += 1;
  return limit;
}

/// Returns true if a term may be larger than kMaxColumnTerm, up to which limits
/// are computed.
bool ColumnMask::isUnbounded(Value term) {
  ConstantIntRanges range = ranges.get(term);
  return range.smin().slt(-kMaxColumnTerm) || range.smax().sgt(kMaxColumnTerm);
}

/// Returns true if 32 bits are too few for a limit, or for the limit minus what
/// buildWord subtracts.
bool ColumnMask::isWide(const AffineColumn &limit) {
  constexpr int64_t kMaxNarrow = (int64_t(1) << 31) - (int64_t(1) << 20);
  int64_t largest = std::abs(limit.constant);
  for (auto [term, coefficient] : limit.terms) {
    ConstantIntRanges range = ranges.get(term);
    int64_t bound = isUnbounded(term)
                        ? kMaxColumnTerm
                        : std::max(std::abs(range.smin().getSExtValue()),
                                   std::abs(range.smax().getSExtValue()));
    largest += std::abs(coefficient) * bound;
  }
  return largest > kMaxNarrow;
}

/// Adds up the terms of a limit. The limit of a comparison is an i32 that is
/// left of, right of or within the row as the exact one is.
Value ColumnMask::makeLimit(const AffineColumn &limit, Location loc,
                            OpBuilder &builder) {
  ImplicitLocOpBuilder b(loc, builder);
  bool wide = isWide(limit);
  Type type = wide ? b.getI64Type() : b.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, type, value);
  };
  auto clamp = [&](Value value, int64_t bound) -> Value {
    value = arith::MaxSIOp::create(b, value, constant(-bound));
    return arith::MinSIOp::create(b, value, constant(bound));
  };
  auto convert = [&](Value value) -> Value {
    value = scalars.lookupOrDefault(value);
    if (value.getType() == type)
      return value;
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(b, type, value);
    if (value.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
      return arith::TruncIOp::create(b, type, value);
    return arith::ExtSIOp::create(b, type, value);
  };
  Value sum = addTerms(b, limit, type, [&](Value term) {
    Value value = convert(term);
    return isUnbounded(term) ? clamp(value, kMaxColumnTerm) : value;
  });
  if (!sum || limit.constant != 0) {
    Value last = constant(limit.constant);
    sum = sum ? arith::AddIOp::create(b, sum, last) : last;
  }
  if (!wide)
    return sum;
  // Every column is between these bounds, so that the clamped limit decides the
  // same.
  return arith::TruncIOp::create(b, b.getI32Type(), clamp(sum, kMaxSize));
}

/// Shifts a word of ones by `amount`; a negative amount counts as 0, and a
/// shift by 32 or more gives 0. PTX's shifts do this by themselves, and
/// the lowering to LLVM recognises this form of it.
template <typename Shift>
static Value shiftOnes(ImplicitLocOpBuilder &b, Value amount) {
  Type i32 = b.getI32Type();
  Value zero = arith::ConstantIntOp::create(b, i32, 0);
  Value ones = arith::ConstantIntOp::create(b, i32, -1);
  Value bits = arith::ConstantIntOp::create(b, i32, 32);
  amount = arith::MaxSIOp::create(b, amount, zero);
  Value shifted = Shift::create(b, ones, amount);
  Value inRange =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, amount, bits);
  return arith::SelectOp::create(b, inRange, shifted, zero);
}

/// Builds an expression of a layout for an i32. Divisors are powers of two.
static Value expand(ImplicitLocOpBuilder &b, AffineExpr expr, Value number) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, b.getI32Type(), value);
  };
  if (isa<AffineDimExpr>(expr))
    return number;
  if (auto known = dyn_cast<AffineConstantExpr>(expr))
    return constant(known.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = expand(b, binary.getLHS(), number);
  if (expr.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(b, lhs, expand(b, binary.getRHS(), number));
  int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  return arith::ShRSIOp::create(b, lhs, constant(llvm::Log2_64(divisor)));
}

Value ColumnMask::buildWord(Value mask, int64_t word, OpBuilder &builder) {
  Operation *op = mask.getDefiningOp();
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  Type i32 = b.getI32Type();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    bool value =
        cast<SplatElementsAttr>(constant.getValue()).getSplatValue<bool>();
    return arith::ConstantIntOp::create(b, i32, value ? -1 : 0);
  }
  if (!isa<arith::CmpIOp>(op)) {
    Value lhs = words.lookup({op->getOperand(0), word});
    Value rhs = words.lookup({op->getOperand(1), word});
    return b
        .create(op->getLoc(), op->getName().getIdentifier(), {lhs, rhs}, i32)
        ->getResult(0);
  }
  bool upper;
  AffineColumn solved = solveForColumn(cast<arith::CmpIOp>(op), upper);
  // As many of the thread's columns are in front of the limit.
  Value limit = expand(b, layout.getRankOfColumn(b.getContext()).getResult(0),
                       getLimit(mask, builder));
  if (upper) {
    // The bits below `limit - 32 * word` are set: the shift moves the other
    // ones out.
    Value end = arith::ConstantIntOp::create(b, i32, 32 * (word + 1));
    return shiftOnes<arith::ShRUIOp>(b, arith::SubIOp::create(b, end, limit));
  }
  Value begin = arith::ConstantIntOp::create(b, i32, 32 * word);
  return shiftOnes<arith::ShLIOp>(b, arith::SubIOp::create(b, limit, begin));
}

Value ColumnMask::getWord(Value mask, int64_t word, OpBuilder &b) {
  fa4::visitPostOrder<Value>(
      mask, [&](Value v) { return words.contains({v, word}); }, addMaskOperands,
      [&](Value v) {
        Value built = buildWord(v, word, b);
        words[{v, word}] = built;
      });
  return words.lookup({mask, word});
}

void ColumnMask::makeWords(Value mask, OpBuilder &b) {
  int64_t columns = cast<VectorType>(mask.getType()).getNumElements();
  for (int64_t word = 0; 32 * word < columns; ++word)
    getWord(mask, word, b);
}

Value ColumnMask::testBit(Value word, int64_t number, Location loc,
                          OpBuilder &builder) {
  ImplicitLocOpBuilder b(loc, builder);
  Value bit = arith::ConstantIntOp::create(
      b, b.getI32Type(),
      static_cast<int64_t>(static_cast<int32_t>(1u << number)));
  Value zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
  Value both = arith::AndIOp::create(b, word, bit);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, both, zero);
}

Value ColumnMask::getBit(Value mask, int64_t column, OpBuilder &b) {
  Value word = getWord(mask, column / 32, b);
  return testBit(word, column % 32, mask.getLoc(), b);
}

Value ColumnMask::getLimit(Value comparison, OpBuilder &b) {
  Value &limit = limits[comparison];
  if (!limit) {
    auto op = comparison.getDefiningOp<arith::CmpIOp>();
    bool upper;
    limit = makeLimit(solveForColumn(op, upper), op.getLoc(), b);
  }
  return limit;
}

Value ColumnMask::compare(Value comparison, Value limit, Value column,
                          OpBuilder &b) {
  auto op = comparison.getDefiningOp<arith::CmpIOp>();
  bool upper;
  AffineColumn solved = solveForColumn(op, upper);
  if (!limit)
    limit = makeLimit(solved, op.getLoc(), b);
  return arith::CmpIOp::create(b, op.getLoc(),
                               upper ? arith::CmpIPredicate::slt
                                     : arith::CmpIPredicate::sge,
                               column, limit);
}
