//===- VisibleRange.cpp - the positions that a mask_mod may show ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleRange.h"
#include "CaptureReads.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/PostOrder.h"
#include "fa4/Support/Predicates.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <memory>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// No integer of a kernel is as large: index arithmetic would wrap around.
static constexpr int64_t kIndexEnd = int64_t(1) << (kIndexBits - 1);
/// No position is as large, not even one of a tile's rows behind the last.
static constexpr int64_t kPositionEnd = kMaxSize + 1024;
/// Quotients of quotients beyond this depth have no form: each would add
/// operations to the bounds.
static constexpr unsigned kMaxDivisions = 8;

/// The numbers of mask_mod's arguments.
enum : unsigned { kBatch, kHead, kQuery, kKey };

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

namespace {
struct Form;

/// The position that is looked for, or the quotient of a form and a positive
/// number, rounded down.
struct Unknown {
  std::shared_ptr<const Form> numerator; ///< Null: the position itself.
  int64_t divisor = 1;
  unsigned divisions = 0; ///< As many as the position is divided by.
};

/// An integer of the region: `factor * unknown`, and a number from `low` to
/// `high` that depends on the positions of the tile. Without an unknown, the
/// factor is 0.
struct Form {
  Value low, high;
  int64_t factor = 0;
  std::shared_ptr<const Unknown> unknown;
  /// The integer's absolute value is below this, and so are those of `low`,
  /// `high` and of the part that has the unknown.
  int64_t end = kPositionEnd;
  /// The three parts are not negative.
  bool isNonNegative = false;
  /// True if the integer is a capture, `low`, of any size.
  bool isCapture = false;
};

/// A form, or std::nullopt if the integer has none.
using MaybeForm = std::optional<Form>;

/// Which positions a range has.
enum class RangeKind {
  /// Each one for which a condition holds in some row of the tile; further ones
  /// do no harm.
  Possible,
  /// Only such ones for which it holds in all rows.
  Certain
};

/// The ranges of the positions for which a condition is true, and for which it
/// is false.
struct Ranges {
  PositionRange ifTrue, ifFalse;
};

class RangeBuilder {
public:
  RangeBuilder(ImplicitLocOpBuilder &b, Region &maskMod,
               const MaskArguments &arguments, PositionRange tile,
               unsigned tileArgument, unsigned unknownArgument, RangeKind kind)
      : b(b), block(maskMod.front()), arguments(arguments), tile(tile),
        isCertain(kind == RangeKind::Certain),
        tilePosition(block.getArgument(tileArgument)),
        unknownPosition(block.getArgument(unknownArgument)) {}

  PositionRange build();

private:
  // Index arithmetic of the kernel, which is folded as it is built.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  template <typename Op> Value fold(Value x, Value y) {
    return b.createOrFold<Op>(x, y);
  }
  Value negate(Value x);
  /// The number from -end to end that is nearest to `x`.
  Value clamp(Value x, int64_t end) {
    return fold<arith::MinSIOp>(fold<arith::MaxSIOp>(x, index(-end)),
                                index(end));
  }

  // Forms of integers.
  MaybeForm computeForm(Value value);
  static MaybeForm makeCapture(Value number, ImplicitLocOpBuilder &b);
  MaybeForm getCapture(BlockArgument argument);
  MaybeForm getElement(Operation *read);
  MaybeForm computeBinary(Operation *op);
  MaybeForm addForms(const Form &x, const Form &y);
  Form multiply(const Form &x, int64_t factor);
  MaybeForm divide(Operation *op, const Form &x, int64_t divisor);

  // Ranges of conditions.
  /// The range of a condition of which nothing is known.
  PositionRange unknown() const { return {Value(), Value(), isCertain}; }
  Ranges computeRanges(Value condition);
  Form limit(const Form &capture, const Form &other);
  PositionRange compare(arith::CmpIPredicate predicate, const Form &x,
                        const Form &y);
  PositionRange whereNotPositive(Form form);
  PositionRange when(Value possible);
  PositionRange intersect(const PositionRange &x, const PositionRange &y);
  PositionRange unite(const PositionRange &x, const PositionRange &y);
  PositionRange chooseLonger(const PositionRange &x, const PositionRange &y);
  Ranges both(const Ranges &x, const Ranges &y) {
    return {intersect(x.ifTrue, y.ifTrue), unite(x.ifFalse, y.ifFalse)};
  }
  static Ranges negate(const Ranges &x) { return {x.ifFalse, x.ifTrue}; }
  Ranges either(const Ranges &x, const Ranges &y) {
    return negate(both(negate(x), negate(y)));
  }

  ImplicitLocOpBuilder &b;
  Block &block;
  const MaskArguments &arguments;
  PositionRange tile;
  bool isCertain;
  Value tilePosition, unknownPosition;
  llvm::DenseMap<Value, MaybeForm> forms;
  llvm::DenseMap<Value, Ranges> ranges;
};
} // namespace

Value RangeBuilder::negate(Value x) {
  if (auto sub = x.getDefiningOp<arith::SubIOp>())
    if (matchPattern(sub.getLhs(), m_Zero()))
      return sub.getRhs();
  return fold<arith::SubIOp>(index(0), x);
}

static bool isInteger(Type type) {
  return type.isIndex() ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= kIndexBits);
}

static std::optional<int64_t> getConstant(const MaybeForm &form) {
  if (!form || form->factor != 0 || form->low != form->high)
    return std::nullopt;
  return getConstantIntValue(form->low);
}

MaybeForm RangeBuilder::addForms(const Form &x, const Form &y) {
  Form sum = x.unknown ? x : y;
  if (x.unknown && y.unknown) {
    if (x.unknown != y.unknown)
      return std::nullopt;
    sum.factor = x.factor + y.factor;
    if (sum.factor == 0)
      sum.unknown = nullptr;
  }
  sum.low = fold<arith::AddIOp>(x.low, y.low);
  sum.high = x.low == x.high && y.low == y.high
                 ? sum.low
                 : fold<arith::AddIOp>(x.high, y.high);
  sum.end = x.end + y.end;
  sum.isNonNegative = x.isNonNegative && y.isNonNegative;
  return sum;
}

Form RangeBuilder::multiply(const Form &x, int64_t factor) {
  Form product = x;
  auto times = [&](Value value) {
    return factor == -1 ? negate(value)
                        : fold<arith::MulIOp>(value, index(factor));
  };
  product.low = times(x.low);
  product.high = x.low == x.high ? product.low : times(x.high);
  if (factor < 0)
    std::swap(product.low, product.high);
  product.factor *= factor;
  if (product.factor == 0)
    product.unknown = nullptr;
  product.end = (x.end - 1) * std::abs(factor) + 1;
  product.isNonNegative = x.isNonNegative && factor >= 0;
  return product;
}

MaybeForm RangeBuilder::divide(Operation *op, const Form &x, int64_t divisor) {
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    if (divisor < 0 || divisor >= kIndexBits - 1)
      return std::nullopt;
    divisor = int64_t(1) << divisor;
  }
  // A signed division of a negative number rounds towards zero, and to an
  // unsigned one a negative number is a large one.
  bool roundsDown = isa<arith::FloorDivSIOp, arith::ShRSIOp>(op);
  if (divisor <= 0 || (!roundsDown && !x.isNonNegative))
    return std::nullopt;
  Form quotient;
  quotient.end = x.end / divisor + 2;
  quotient.isNonNegative = x.isNonNegative;
  if (x.unknown) {
    unsigned divisions = x.unknown->divisions + 1;
    if (divisions > kMaxDivisions)
      return std::nullopt;
    quotient.low = quotient.high = index(0);
    quotient.factor = 1;
    quotient.unknown = std::make_shared<Unknown>(
        Unknown{std::make_shared<Form>(x), divisor, divisions});
    return quotient;
  }
  quotient.low = fold<arith::FloorDivSIOp>(x.low, index(divisor));
  quotient.high = x.low == x.high
                      ? quotient.low
                      : fold<arith::FloorDivSIOp>(x.high, index(divisor));
  return quotient;
}

MaybeForm RangeBuilder::computeBinary(Operation *op) {
  MaybeForm x = forms.lookup(op->getOperand(0)),
            y = forms.lookup(op->getOperand(1));
  if (!x || !y || x->isCapture || y->isCapture)
    return std::nullopt;
  std::optional<int64_t> left = getConstant(x), right = getConstant(y);
  if (isa<arith::AddIOp>(op))
    return addForms(*x, *y);
  if (isa<arith::SubIOp>(op)) {
    MaybeForm difference = addForms(*x, multiply(*y, -1));
    if (difference && x->isNonNegative && y->isNonNegative)
      difference->end = std::max(x->end, y->end);
    return difference;
  }
  if (isa<arith::MulIOp>(op)) {
    if (!left && !right)
      return std::nullopt;
    return right ? multiply(*x, *right) : multiply(*y, *left);
  }
  return right ? divide(op, *x, *right) : std::nullopt;
}

static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                         arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp,
                         arith::ShRSIOp, arith::ShRUIOp, arith::IndexCastOp>(
      op);
}

/// The form of a number of the kernel, if it has the bits of an index.
MaybeForm RangeBuilder::makeCapture(Value number, ImplicitLocOpBuilder &b) {
  Type type = number.getType();
  if (!type.isIndex() && !type.isInteger(kIndexBits))
    return std::nullopt;
  Form form;
  form.isCapture = true;
  form.low = form.high =
      b.createOrFold<arith::IndexCastOp>(b.getIndexType(), number);
  return form;
}

MaybeForm RangeBuilder::getCapture(BlockArgument argument) {
  if (argument.getArgNumber() < kNumMaskModArgs)
    return std::nullopt;
  Value scalar = arguments.captures[argument.getArgNumber() - kNumMaskModArgs];
  return scalar ? makeCapture(scalar, b) : std::nullopt;
}

/// An element of a captured tensor that is the same for the whole work tile.
/// Tensors have elements for each batch and head of a call.
MaybeForm RangeBuilder::getElement(Operation *read) {
  auto tensor = cast<BlockArgument>(getReadTensor(read));
  Value memref = arguments.captures[tensor.getArgNumber() - kNumMaskModArgs];
  if (!memref || !read->getResult(0).getType().isInteger(kIndexBits))
    return std::nullopt;
  SmallVector<Value> indices;
  for (Value index : read->getOperands().drop_front()) {
    indices.push_back(index == block.getArgument(kBatch)  ? arguments.batch
                      : index == block.getArgument(kHead) ? arguments.head
                                                          : Value());
    if (!indices.back())
      return std::nullopt;
  }
  return makeCapture(tile::LoadScalarOp::create(b, memref, indices), b);
}

MaybeForm RangeBuilder::computeForm(Value value) {
  Form form;
  form.isNonNegative = true;
  if (value == tilePosition) {
    form.low = tile.first;
    form.high = tile.last;
    return form;
  }
  if (value == unknownPosition) {
    form.low = form.high = index(0);
    form.factor = 1;
    form.unknown = std::make_shared<Unknown>();
    return form;
  }
  if (!isInteger(value.getType()))
    return std::nullopt;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > kIndexBits)
      return std::nullopt;
    int64_t number = constant.getSExtValue();
    form.low = form.high = index(number);
    form.end = std::abs(number) + 1;
    form.isNonNegative = number >= 0;
    return form;
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getCapture(argument);
  Operation *op = value.getDefiningOp();
  if (getReadTensor(op))
    return getElement(op);
  if (!isArithmetic(op))
    return std::nullopt;
  return isa<arith::IndexCastOp>(op) ? forms.lookup(op->getOperand(0))
                                     : computeBinary(op);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

PositionRange RangeBuilder::intersect(const PositionRange &x,
                                      const PositionRange &y) {
  if (x.isEmpty || y.isEmpty)
    return {Value(), Value(), /*isEmpty=*/true};
  auto meet = [](Value x, Value y, auto &&choose) {
    return !x ? y : !y ? x : choose(x, y);
  };
  return {meet(x.first, y.first,
               [&](Value x, Value y) { return fold<arith::MaxSIOp>(x, y); }),
          meet(x.last, y.last,
               [&](Value x, Value y) { return fold<arith::MinSIOp>(x, y); })};
}

/// Two ranges have a gap between them, unless both go on without end in one
/// direction.
PositionRange RangeBuilder::unite(const PositionRange &x,
                                  const PositionRange &y) {
  if (x.isEmpty || y.isEmpty)
    return x.isEmpty ? y : x;
  bool mayHaveGap = (x.first || y.first) && (x.last || y.last);
  if (isCertain && mayHaveGap)
    return chooseLonger(x, y);
  PositionRange all;
  if (x.first && y.first)
    all.first = fold<arith::MinSIOp>(x.first, y.first);
  if (x.last && y.last)
    all.last = fold<arith::MaxSIOp>(x.last, y.last);
  return all;
}

PositionRange RangeBuilder::chooseLonger(const PositionRange &x,
                                         const PositionRange &y) {
  auto close = [&](PositionRange range) -> PositionRange {
    return {range.first ? range.first : index(0),
            range.last ? range.last : index(kMaxSize)};
  };
  PositionRange a = close(x), c = close(y);
  Value isLonger = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::sge, fold<arith::SubIOp>(a.last, a.first),
      fold<arith::SubIOp>(c.last, c.first));
  return {b.createOrFold<arith::SelectOp>(isLonger, a.first, c.first),
          b.createOrFold<arith::SelectOp>(isLonger, a.last, c.last)};
}

/// All positions if `possible`, none otherwise.
PositionRange RangeBuilder::when(Value possible) {
  if (matchPattern(possible, m_One()))
    return {};
  if (matchPattern(possible, m_Zero()))
    return {Value(), Value(), /*isEmpty=*/true};
  Value all = index(0), end = index(kMaxSize), none = index(-1);
  return {b.createOrFold<arith::SelectOp>(possible, all, end),
          b.createOrFold<arith::SelectOp>(possible, end, none)};
}

/// Returns the range of positions for which `form` is 0 or less, in some row or
/// in all rows.
PositionRange RangeBuilder::whereNotPositive(Form form) {
  while (form.factor != 0) {
    // factor * u + number <= 0 bounds u from above, or from below. Some row has
    // the least number, and all rows have at most the largest.
    Value number = isCertain ? form.high : form.low;
    bool fromAbove = form.factor > 0;
    Value factor = index(std::abs(form.factor));
    Value bound = fromAbove ? fold<arith::FloorDivSIOp>(negate(number), factor)
                            : fold<arith::CeilDivSIOp>(number, factor);
    std::shared_ptr<const Unknown> unknown = form.unknown;
    if (!unknown->numerator)
      return fromAbove ? PositionRange{Value(), bound}
                       : PositionRange{bound, Value()};
    // numerator floordiv d <= u is numerator <= d * u + d - 1, and
    // numerator floordiv d >= u is numerator >= d * u.
    int64_t d = unknown->divisor, numeratorEnd = unknown->numerator->end;
    int64_t boundEnd = form.end + 1;
    if (numeratorEnd + boundEnd * d >= kIndexEnd) {
      // A bound beyond all quotients is as good as the nearest such bound.
      int64_t end = numeratorEnd / d + 2;
      bound = clamp(bound, end);
      boundEnd = end + 1;
    }
    int64_t end = numeratorEnd + boundEnd * d;
    if (end >= kIndexEnd)
      return this->unknown();
    Value limit = fold<arith::MulIOp>(bound, index(d));
    form = *unknown->numerator;
    if (fromAbove) {
      limit = fold<arith::AddIOp>(limit, index(d - 1));
      form.low = fold<arith::SubIOp>(form.low, limit);
      form.high = fold<arith::SubIOp>(form.high, limit);
    } else {
      Value low = fold<arith::SubIOp>(limit, form.high);
      form.high = fold<arith::SubIOp>(limit, form.low);
      form.low = low;
      form.factor = -form.factor;
    }
    form.end = end;
  }
  return when(b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::sle, isCertain ? form.high : form.low, index(0)));
}

/// Returns the form of a capture that is compared with `other`: a number beyond
/// all that `other` may be compares as the nearest one that is beyond, too.
Form RangeBuilder::limit(const Form &capture, const Form &other) {
  Form limited = capture;
  limited.isCapture = false;
  limited.low = limited.high = clamp(capture.low, other.end);
  limited.end = other.end + 1;
  return limited;
}

PositionRange RangeBuilder::compare(arith::CmpIPredicate predicate,
                                    const Form &x, const Form &y) {
  using Predicate = arith::CmpIPredicate;
  if (x.isCapture && y.isCapture)
    return unknown();
  if (x.isCapture)
    return compare(predicate, limit(x, y), y);
  if (y.isCapture)
    return compare(predicate, x, limit(y, x));
  // Differences of numbers that have no wrap-around may have one.
  if (x.end + y.end + 1 >= kIndexEnd)
    return unknown();
  if (x.isNonNegative && y.isNonNegative)
    predicate = getSigned(predicate);
  auto atMost = [&](const Form &x, const Form &y, int64_t offset) {
    MaybeForm difference = addForms(x, multiply(y, -1));
    if (!difference)
      return unknown();
    difference->low = fold<arith::AddIOp>(difference->low, index(offset));
    difference->high = fold<arith::AddIOp>(difference->high, index(offset));
    return whereNotPositive(*difference);
  };
  switch (predicate) {
  case Predicate::eq:
    return intersect(atMost(x, y, 0), atMost(y, x, 0));
  case Predicate::sle:
    return atMost(x, y, 0);
  case Predicate::slt:
    return atMost(x, y, 1);
  case Predicate::sge:
    return atMost(y, x, 0);
  case Predicate::sgt:
    return atMost(y, x, 1);
  default:
    return unknown();
  }
}

Ranges RangeBuilder::computeRanges(Value condition) {
  const Ranges nothingKnown{unknown(), unknown()};
  const PositionRange never{Value(), Value(), /*isEmpty=*/true};
  if (matchPattern(condition, m_One()))
    return {{}, never};
  if (matchPattern(condition, m_Zero()))
    return {never, {}};
  Operation *op = condition.getDefiningOp();
  if (!op)
    return nothingKnown;
  auto operand = [&](unsigned i) { return ranges.lookup(op->getOperand(i)); };
  auto choose = [&](const Ranges &which, const Ranges &x, const Ranges &y) {
    return either(both(which, x), both(negate(which), y));
  };
  return llvm::TypeSwitch<Operation *, Ranges>(op)
      .Case([&](arith::CmpIOp cmp) -> Ranges {
        MaybeForm x = forms.lookup(cmp.getLhs()),
                  y = forms.lookup(cmp.getRhs());
        if (!x || !y)
          return nothingKnown;
        return {compare(cmp.getPredicate(), *x, *y),
                compare(arith::invertPredicate(cmp.getPredicate()), *x, *y)};
      })
      .Case([&](arith::AndIOp) { return both(operand(0), operand(1)); })
      .Case([&](arith::OrIOp) { return either(operand(0), operand(1)); })
      .Case([&](arith::XOrIOp) {
        return choose(operand(0), negate(operand(1)), operand(1));
      })
      .Case([&](arith::SelectOp) {
        return choose(operand(0), operand(1), operand(2));
      })
      .Default(nothingKnown);
}

PositionRange RangeBuilder::build() {
  Value visible = block.getTerminator()->getOperand(0);
  auto visit = [&](const Value &value) {
    if (value.getType().isInteger(1)) {
      Ranges found = computeRanges(value);
      ranges.try_emplace(value, found);
      return;
    }
    MaybeForm form = computeForm(value);
    if (form && form->end >= kIndexEnd)
      form = std::nullopt;
    forms.try_emplace(value, form);
  };
  fa4::visitPostOrder<Value>(
      visible,
      [&](const Value &value) {
        return ranges.contains(value) || forms.contains(value);
      },
      [](const Value &value, SmallVectorImpl<Value> &operands) {
        Operation *op = value.getDefiningOp();
        if (isArithmetic(op) ||
            isa_and_nonnull<arith::CmpIOp, arith::AndIOp, arith::OrIOp,
                            arith::XOrIOp, arith::SelectOp>(op))
          operands.append(op->operand_begin(), op->operand_end());
      },
      visit);
  return ranges.lookup(visible).ifTrue;
}

/// Erases the operations behind `last`, and in front of `end`, that the bounds
/// do not need.
static void eraseUnused(Operation *last, Block *block, Block::iterator end,
                        const PositionRange &range) {
  Block::iterator begin =
      last ? std::next(Block::iterator(last)) : block->begin();
  SmallVector<Operation *> built(
      llvm::make_pointer_range(llvm::make_range(begin, end)));
  auto isBound = [&](Operation *op) {
    return (range.first && range.first.getDefiningOp() == op) ||
           (range.last && range.last.getDefiningOp() == op);
  };
  for (Operation *op : llvm::reverse(built))
    if (op->use_empty() && !isBound(op))
      op->erase();
}

static PositionRange buildRange(ImplicitLocOpBuilder &b, Region &maskMod,
                                const MaskArguments &arguments,
                                PositionRange tile, unsigned tileArgument,
                                unsigned unknownArgument, RangeKind kind) {
  Block::iterator end = b.getInsertionPoint();
  Block *block = b.getInsertionBlock();
  Operation *last = end == block->begin() ? nullptr : &*std::prev(end);
  PositionRange range = RangeBuilder(b, maskMod, arguments, tile, tileArgument,
                                     unknownArgument, kind)
                            .build();
  eraseUnused(last, block, end, range);
  return range;
}

/// A range that is known to be empty has bounds, too.
static PositionRange makeExplicit(ImplicitLocOpBuilder &b,
                                  const PositionRange &range) {
  if (!range.isEmpty)
    return range;
  return {arith::ConstantIndexOp::create(b, kMaxSize),
          arith::ConstantIndexOp::create(b, -1)};
}

PositionRange fa4::buildVisibleKeys(ImplicitLocOpBuilder &b, Region &maskMod,
                                    const MaskArguments &arguments,
                                    PositionRange queries) {
  return makeExplicit(b, buildRange(b, maskMod, arguments, queries, kQuery,
                                    kKey, RangeKind::Possible));
}

PositionRange fa4::buildFullKeys(ImplicitLocOpBuilder &b, Region &maskMod,
                                 const MaskArguments &arguments,
                                 PositionRange queries) {
  return buildRange(b, maskMod, arguments, queries, kQuery, kKey,
                    RangeKind::Certain);
}

PositionRange fa4::buildSeeingQueries(ImplicitLocOpBuilder &b, Region &maskMod,
                                      const MaskArguments &arguments,
                                      PositionRange keys) {
  return makeExplicit(b, buildRange(b, maskMod, arguments, keys, kKey, kQuery,
                                    RangeKind::Possible));
}

PositionRange fa4::buildFullQueries(ImplicitLocOpBuilder &b, Region &maskMod,
                                    const MaskArguments &arguments,
                                    PositionRange keys) {
  return buildRange(b, maskMod, arguments, keys, kKey, kQuery,
                    RangeKind::Certain);
}

std::optional<int64_t> fa4::countVisibleKeys(Region &maskMod, int64_t rows) {
  // Of a tile at a constant position, constant bounds fold to constants.
  constexpr int64_t middle = kMaxSize / 2;
  Block scratch;
  ImplicitLocOpBuilder b(maskMod.getLoc(), maskMod.getContext());
  b.setInsertionPointToStart(&scratch);
  PositionRange queries{arith::ConstantIndexOp::create(b, middle),
                        arith::ConstantIndexOp::create(b, middle + rows - 1)};
  SmallVector<Value> captures(maskMod.getNumArguments() - kNumMaskModArgs);
  PositionRange keys = buildVisibleKeys(b, maskMod, {captures}, queries);
  if (!keys.first || !keys.last)
    return std::nullopt;
  std::optional<int64_t> first = getConstantIntValue(keys.first),
                         last = getConstantIntValue(keys.last);
  return first && last ? std::optional(*last - *first + 1) : std::nullopt;
}
