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

/// The most terms, and the largest coefficient, of a form. Indices of masks
/// have fewer, and a chain of doublings would overflow.
static constexpr unsigned kMaxTerms = 8;
static constexpr int64_t kMaxCoefficient = 8;
/// The largest constant. A term that may be larger is clamped to it: even if
/// all terms have the largest coefficient, their sum is then below 2^62.
static constexpr int64_t kMaxTerm = int64_t(1) << 56;

bool AffineColumn::add(const AffineColumn &other, int64_t sign) {
  auto fits = [](int64_t value, int64_t limit) {
    return -limit <= value && value <= limit;
  };
  scale += sign * other.scale;
  constant += sign * other.constant;
  if (!fits(scale, kMaxCoefficient) || !fits(constant, kMaxTerm))
    return false;
  for (auto [value, coefficient] : other.terms) {
    int64_t &sum = terms[value];
    sum += sign * coefficient;
    if (!fits(sum, kMaxCoefficient))
      return false;
  }
  terms.remove_if([](auto &term) { return term.second == 0; });
  return terms.size() <= kMaxTerms;
}

/// Returns the columns that a thread has of rows of the type of `value`.
ArrayRef<int64_t> ColumnMask::getColumns(Value value) {
  int64_t count = cast<VectorType>(value.getType()).getNumElements();
  SmallVector<int64_t> &columns = columnsOf[count];
  if (columns.empty())
    columns = layout.getColumnsOfThread(value.getContext(),
                                        count * layout.getThreadsPerRow());
  return columns;
}

/// Returns true for a vector that has the number of each of the thread's
/// columns.
bool ColumnMask::isColumnNumber(Value value) {
  if (value.getDefiningOp<vector::StepOp>())
    return true;
  DenseIntElementsAttr numbers;
  if (!matchPattern(value, m_Constant(&numbers)) || numbers.isSplat())
    return false;
  ArrayRef<int64_t> columns = getColumns(value);
  return llvm::equal(numbers.getValues<APInt>(), columns,
                     [](const APInt &number, int64_t column) {
                       return number.getSExtValue() == column;
                     });
}

std::optional<AffineColumn> ColumnMask::computeAffine(Value value) {
  AffineColumn result;
  APInt splat;
  if (matchPattern(value, m_ConstantInt(&splat))) {
    if (splat.getSignificantBits() > 64 || splat.abs().ugt(kMaxTerm))
      return std::nullopt;
    result.constant = splat.getSExtValue();
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (isColumnNumber(value)) {
    result.scale = 1;
    return result;
  }
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op)) {
    if (isa<VectorType>(broadcast.getSource().getType()))
      return std::nullopt;
    result.terms.insert({broadcast.getSource(), 1});
    return result;
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  const std::optional<AffineColumn> &lhs = getAffine(op->getOperand(0)),
                                    &rhs = getAffine(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  result = *lhs;
  if (!result.add(*rhs, isa<arith::AddIOp>(op) ? 1 : -1))
    return std::nullopt;
  return result;
}

const std::optional<AffineColumn> &ColumnMask::getAffine(Value value) {
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return affine.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        Operation *op = v.getDefiningOp();
        if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
          operands.append(op->operand_begin(), op->operand_end());
      },
      [&](Value v) {
        std::optional<AffineColumn> form = computeAffine(v);
        affine.try_emplace(v, std::move(form));
      });
  return affine.find(value)->second;
}

/// Returns `lhs - rhs` of a signed comparison if this difference grows or falls
/// by one from column to column.
std::optional<AffineColumn> ColumnMask::getDifference(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  if (!llvm::is_contained(
          {Predicate::slt, Predicate::sle, Predicate::sgt, Predicate::sge},
          op.getPredicate()))
    return std::nullopt;
  std::optional<AffineColumn> lhs = getAffine(op.getLhs());
  const std::optional<AffineColumn> &rhs = getAffine(op.getRhs());
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

/// Returns true if a term may be larger than kMaxTerm, up to which limits are
/// computed.
bool ColumnMask::isUnbounded(Value term) {
  ConstantIntRanges range = ranges.get(term);
  return range.smin().slt(-kMaxTerm) || range.smax().sgt(kMaxTerm);
}

/// Returns true if 32 bits are too few for a limit, or for the limit minus what
/// buildWord subtracts.
bool ColumnMask::isWide(const AffineColumn &limit) {
  constexpr int64_t kMaxNarrow = (int64_t(1) << 31) - (int64_t(1) << 20);
  int64_t largest = std::abs(limit.constant);
  for (auto [term, coefficient] : limit.terms) {
    ConstantIntRanges range = ranges.get(term);
    int64_t bound = isUnbounded(term)
                        ? kMaxTerm
                        : std::max(std::abs(range.smin().getSExtValue()),
                                   std::abs(range.smax().getSExtValue()));
    largest += std::abs(coefficient) * bound;
  }
  return largest > kMaxNarrow;
}

/// Adds up the terms of `form`, each of which `build` gives as a value of
/// `type`. Returns null if there are none.
static Value addTerms(ImplicitLocOpBuilder &b, const AffineColumn &form,
                      Type type, llvm::function_ref<Value(Value)> build) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  Value sum;
  for (auto [term, coefficient] : form.terms) {
    Value product = build(term);
    if (std::abs(coefficient) != 1)
      product =
          arith::MulIOp::create(b, product, constant(std::abs(coefficient)));
    if (coefficient < 0)
      sum = arith::SubIOp::create(b, sum ? sum : constant(0), product);
    else
      sum = sum ? arith::AddIOp::create(b, sum, product) : product;
  }
  return sum;
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
    return isUnbounded(term) ? clamp(value, kMaxTerm) : value;
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

bool ColumnMask::isSum(Value value) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()) &&
         getAffine(value).has_value();
}

/// Adds up the terms of `sum`, once in a block for all values with these terms.
/// Returns null if there are none.
Value ColumnMask::getBase(Value value, const AffineColumn &sum,
                          OpBuilder &builder) {
  Type type = getElementTypeOrSelf(value.getType());
  SmallVector<std::pair<Value, int64_t>> terms(sum.terms.begin(),
                                               sum.terms.end());
  llvm::sort(terms, [](auto &a, auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  auto number = [](const void *pointer) {
    return reinterpret_cast<intptr_t>(pointer);
  };
  std::vector<intptr_t> key = {number(builder.getInsertionBlock()),
                               number(type.getAsOpaquePointer())};
  for (auto [term, coefficient] : terms)
    key.insert(key.end(), {number(term.getAsOpaquePointer()), coefficient});
  auto [known, isNew] = bases.try_emplace(std::move(key));
  if (!isNew || terms.empty())
    return known->second;
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  known->second = addTerms(
      b, sum, type, [&](Value term) { return scalars.lookupOrDefault(term); });
  return known->second;
}

/// Adds a constant to `base`, which may be null.
Value ColumnMask::addConstant(Value base, int64_t number, Type type,
                              Location loc, OpBuilder &builder) {
  unsigned bits = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                 : type.getIntOrFloatBitWidth();
  ImplicitLocOpBuilder b(loc, builder);
  APInt wrapped = APInt(64, number, /*isSigned=*/true).sextOrTrunc(bits);
  if (base && wrapped.isZero())
    return base;
  Value constant =
      arith::ConstantOp::create(b, b.getIntegerAttr(type, wrapped));
  return base ? arith::AddIOp::create(b, base, constant) : constant;
}

Value ColumnMask::getSum(Value value, int64_t column, OpBuilder &builder) {
  const AffineColumn &sum = *getAffine(value);
  Value base = getBase(value, sum, builder);
  return addConstant(base, sum.scale * getColumns(value)[column] + sum.constant,
                     getElementTypeOrSelf(value.getType()), value.getLoc(),
                     builder);
}

Value ColumnMask::getBase(Value value, OpBuilder &b) {
  return getBase(value, *getAffine(value), b);
}

Value ColumnMask::getSumAt(Value value, Value base, Value first, int64_t offset,
                           OpBuilder &builder) {
  const AffineColumn &sum = *getAffine(value);
  Type type = getElementTypeOrSelf(value.getType());
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  // Only sums of indices depend on the column.
  if (sum.scale != 0) {
    Value product = first;
    if (sum.scale != 1)
      product = arith::MulIOp::create(
          b, first, arith::ConstantIndexOp::create(b, sum.scale));
    base = base ? arith::AddIOp::create(b, base, product) : product;
  }
  return addConstant(base, sum.scale * offset + sum.constant, type,
                     value.getLoc(), builder);
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
  Value limit =
      expand(b, layout.getRankOfColumn(b.getContext()).getResult(0),
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
