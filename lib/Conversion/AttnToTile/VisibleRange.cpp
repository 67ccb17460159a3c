//===- VisibleRange.cpp - the positions that a mask_mod may show ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleRange.h"
#include "PositionForms.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Support/PostOrder.h"
#include "fa4/Support/Predicates.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
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

class RangeBuilder : PositionForms {
public:
  RangeBuilder(ImplicitLocOpBuilder &b, Region &maskMod,
               const MaskArguments &arguments, PositionRange tile,
               unsigned tileArgument, unsigned unknownArgument, RangeKind kind)
      : PositionForms(b, maskMod, arguments, tile, tileArgument,
                      unknownArgument),
        isCertain(kind == RangeKind::Certain) {}

  PositionRange build();

private:
  // Ranges of conditions.
  /// The range of a condition of which nothing is known.
  PositionRange unknown() const { return {Value(), Value(), isCertain}; }
  Ranges computeRanges(Value condition);
  PositionForm limit(const PositionForm &capture, const PositionForm &other);
  PositionRange compare(arith::CmpIPredicate predicate, const PositionForm &x,
                        const PositionForm &y);
  PositionRange whereNotPositive(PositionForm form);
  PositionRange when(Value possible);
  PositionRange unite(const PositionRange &x, const PositionRange &y);
  PositionRange chooseLonger(const PositionRange &x, const PositionRange &y);
  Ranges both(const Ranges &x, const Ranges &y) {
    return {intersect(b, x.ifTrue, y.ifTrue), unite(x.ifFalse, y.ifFalse)};
  }
  static Ranges invert(const Ranges &x) { return {x.ifFalse, x.ifTrue}; }
  Ranges either(const Ranges &x, const Ranges &y) {
    return invert(both(invert(x), invert(y)));
  }

  bool isCertain;
  unsigned numChoices = 0;
  llvm::DenseMap<Value, Ranges> ranges;
};
} // namespace

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

PositionRange fa4::intersect(ImplicitLocOpBuilder &b, const PositionRange &x,
                             const PositionRange &y) {
  if (x.isEmpty || y.isEmpty)
    return {Value(), Value(), /*isEmpty=*/true};
  PositionRange both{x.first ? x.first : y.first, x.last ? x.last : y.last};
  if (x.first && y.first)
    both.first = b.createOrFold<arith::MaxSIOp>(x.first, y.first);
  if (x.last && y.last)
    both.last = b.createOrFold<arith::MinSIOp>(x.last, y.last);
  return both;
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

/// Each role computes the choice for each of its work tiles: of many ranges,
/// the first ones are compared.
PositionRange RangeBuilder::chooseLonger(const PositionRange &x,
                                         const PositionRange &y) {
  constexpr unsigned kMaxChoices = 8;
  if (++numChoices > kMaxChoices)
    return x;
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
PositionRange RangeBuilder::whereNotPositive(PositionForm form) {
  while (form.factor != 0) {
    // factor * u + number <= 0 bounds u from above, or from below. Some row has
    // the least number, and all rows have at most the largest.
    Value number = isCertain ? form.high : form.low;
    bool fromAbove = form.factor > 0;
    Value factor = index(std::abs(form.factor));
    Value bound = fromAbove ? fold<arith::FloorDivSIOp>(negate(number), factor)
                            : fold<arith::CeilDivSIOp>(number, factor);
    std::shared_ptr<const PositionUnknown> unknown = form.unknown;
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
PositionForm RangeBuilder::limit(const PositionForm &capture,
                                 const PositionForm &other) {
  PositionForm limited = capture;
  limited.isCapture = false;
  limited.low = limited.high = clamp(capture.low, other.end);
  limited.end = other.end + 1;
  return limited;
}

PositionRange RangeBuilder::compare(arith::CmpIPredicate predicate,
                                    const PositionForm &x,
                                    const PositionForm &y) {
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
  auto atMost = [&](const PositionForm &x, const PositionForm &y,
                    int64_t offset) {
    MaybeForm difference = addForms(x, multiply(y, -1));
    if (!difference)
      return unknown();
    difference->low = fold<arith::AddIOp>(difference->low, index(offset));
    difference->high = fold<arith::AddIOp>(difference->high, index(offset));
    return whereNotPositive(*difference);
  };
  switch (predicate) {
  case Predicate::eq:
    return intersect(b, atMost(x, y, 0), atMost(y, x, 0));
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
    return either(both(which, x), both(invert(which), y));
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
        return choose(operand(0), invert(operand(1)), operand(1));
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
