//===- ColumnMask.cpp - conditions on columns as words of bits ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnMask.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// `scale * column + constant + sum of the terms with their signs`.
struct AffineColumn {
  int64_t scale = 0;
  int64_t constant = 0;
  SmallVector<std::pair<Value, int>> terms;

  void add(const AffineColumn &other, int sign) {
    scale += sign * other.scale;
    constant += sign * other.constant;
    for (auto [value, s] : other.terms)
      terms.emplace_back(value, sign * s);
  }
};
} // namespace

static std::optional<AffineColumn> matchAffine(Value value) {
  AffineColumn result;
  APInt splat;
  if (matchPattern(value, m_ConstantInt(&splat))) {
    result.constant = splat.getSExtValue();
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<vector::StepOp>(op)) {
    result.scale = 1;
    return result;
  }
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op)) {
    if (isa<VectorType>(broadcast.getSource().getType()))
      return std::nullopt;
    result.terms.emplace_back(broadcast.getSource(), 1);
    return result;
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<AffineColumn> lhs = matchAffine(op->getOperand(0)),
                              rhs = matchAffine(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  lhs->add(*rhs, isa<arith::AddIOp>(op) ? 1 : -1);
  return lhs;
}

/// `lhs - rhs` of a signed comparison of two sides that differ by plus or minus
/// one column.
static std::optional<AffineColumn> matchCompare(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  if (!llvm::is_contained(
          {Predicate::slt, Predicate::sle, Predicate::sgt, Predicate::sge},
          op.getPredicate()))
    return std::nullopt;
  std::optional<AffineColumn> lhs = matchAffine(op.getLhs()),
                              rhs = matchAffine(op.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  lhs->add(*rhs, -1);
  if (lhs->scale != 1 && lhs->scale != -1)
    return std::nullopt;
  return lhs;
}

bool ColumnMask::isColumnMask(Value mask) {
  auto type = dyn_cast<VectorType>(mask.getType());
  if (!type || !type.getElementType().isInteger(1))
    return false;
  Operation *op = mask.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return matchCompare(compare).has_value();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return isColumnMask(op->getOperand(0)) && isColumnMask(op->getOperand(1));
  return false;
}

/// The condition is `column < limit` if `upper`, or `column >= limit`: brings
/// every comparison into one of the two forms.
static AffineColumn solveForColumn(arith::CmpIOp op, bool &upper) {
  using Predicate = arith::CmpIPredicate;
  AffineColumn difference = *matchCompare(op);
  Predicate predicate = op.getPredicate();
  // scale * column + rest <> 0, with scale of -1: exchange the sides.
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

/// What sizes and positions stay within, so that sums of a few have 32 bits.
static constexpr int64_t kMaxPosition = int64_t(1) << 29;

/// Whether nothing that the caller of the kernel chooses freely is in `value`.
static bool isPosition(Value value) {
  SetVector<Value> values;
  values.insert(value);
  for (unsigned i = 0; i < values.size(); ++i) {
    Value next = values[i];
    APInt constant;
    if (matchPattern(next, m_ConstantInt(&constant))) {
      if (constant.abs().sgt(kMaxPosition))
        return false;
    } else if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (isa<KernelOp>(argument.getOwner()->getParentOp()) &&
          !isa<MemRefType>(next.getType()))
        return false;
    } else {
      values.insert_range(next.getDefiningOp()->getOperands());
    }
  }
  return true;
}

static Value materialize(const AffineColumn &affine, const IRMapping &scalars,
                         ImplicitLocOpBuilder &b) {
  bool wide = std::abs(affine.constant) > kMaxPosition ||
              !llvm::all_of(affine.terms,
                            [](auto &term) { return isPosition(term.first); });
  Type type = wide ? b.getI64Type() : b.getI32Type();
  Value sum;
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
  for (auto [term, sign] : affine.terms) {
    Value value = convert(term);
    if (!sum && sign < 0)
      sum = arith::ConstantIntOp::create(b, type, 0);
    if (!sum)
      sum = value;
    else if (sign > 0)
      sum = arith::AddIOp::create(b, sum, value);
    else
      sum = arith::SubIOp::create(b, sum, value);
  }
  Value constant = arith::ConstantIntOp::create(b, type, affine.constant);
  if (!sum)
    sum = constant;
  else if (affine.constant != 0)
    sum = arith::AddIOp::create(b, sum, constant);
  if (!wide)
    return sum;
  // No column is beyond these.
  Value low = arith::ConstantIntOp::create(b, type, -kMaxPosition);
  Value high = arith::ConstantIntOp::create(b, type, kMaxPosition);
  sum = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, sum, low), high);
  return arith::TruncIOp::create(b, b.getI32Type(), sum);
}

/// All ones, shifted by `amount` in 0.., where a shift by 32 or more gives 0.
/// The shifts of PTX do just that, and LLVM knows this form of it.
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
    Value lhs = getWord(op->getOperand(0), word, builder);
    Value rhs = getWord(op->getOperand(1), word, builder);
    return b
        .create(op->getLoc(), op->getName().getIdentifier(), {lhs, rhs}, i32)
        ->getResult(0);
  }
  bool upper;
  AffineColumn solved = solveForColumn(cast<arith::CmpIOp>(op), upper);
  Value &limit = limits[mask];
  if (!limit)
    limit = materialize(solved, scalars, b);
  if (upper) {
    // Bits below limit - 32 word: ones from the top shifted out.
    Value end = arith::ConstantIntOp::create(b, i32, 32 * (word + 1));
    return shiftOnes<arith::ShRUIOp>(b, arith::SubIOp::create(b, end, limit));
  }
  Value begin = arith::ConstantIntOp::create(b, i32, 32 * word);
  return shiftOnes<arith::ShLIOp>(b, arith::SubIOp::create(b, limit, begin));
}

Value ColumnMask::getWord(Value mask, int64_t word, OpBuilder &b) {
  if (Value known = words.lookup({mask, word}))
    return known;
  Value built = buildWord(mask, word, b);
  words[{mask, word}] = built;
  return built;
}

void ColumnMask::makeWords(Value mask, OpBuilder &b) {
  int64_t columns = cast<VectorType>(mask.getType()).getNumElements();
  for (int64_t word = 0; 32 * word < columns; ++word)
    getWord(mask, word, b);
}

Value ColumnMask::getBit(Value mask, int64_t column, OpBuilder &builder) {
  Value word = getWord(mask, column / 32, builder);
  ImplicitLocOpBuilder b(mask.getLoc(), builder);
  Value bit = arith::ConstantIntOp::create(
      b, b.getI32Type(),
      static_cast<int64_t>(static_cast<int32_t>(1u << (column % 32))));
  Value zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
  Value both = arith::AndIOp::create(b, word, bit);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, both, zero);
}
